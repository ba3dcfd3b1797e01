#include "cpu/rows.h"

#include <float.h>
#include <math.h>

#include "cpu/convert.h"
#include "cpu/float_environment.h"
#include "cpu/special.h"

/* ---- the inverse root of a row --------------------------------------------------------------- */

/* What the scale kernels multiply by: r * inv, or in a special row (r * pre) * inv. */
typedef struct factor {
    double inv, pre;
    bool special;
} factor;

/* Sums are made in blocks that depend on n alone, so that threads which share a long row add up the same numbers.
 * At most 64 blocks, so that their sums fit on a stack. */
#define BLOCK_MINIMUM 16384
#define BLOCKS_MAXIMUM 64

static int64_t block_length(int64_t n)
{
    const int64_t lanes = (n / BLOCKS_MAXIMUM + RMSNORM_LANES) / RMSNORM_LANES * RMSNORM_LANES;
    return lanes > BLOCK_MINIMUM ? lanes : BLOCK_MINIMUM;
}

static rmsnorm_sum sum_row(rmsnorm_sum_kernel *kernel, const rmsnorm_row *row, int64_t n)
{
    const int64_t length = block_length(n);
    rmsnorm_sum total = {0.0, 0.0};
    for (int64_t begin = 0; begin < n; begin += length) {
        const int64_t left = n - begin;
        total = rmsnorm_sum_add(total, kernel(row, begin, begin + (left < length ? left : length)));
    }
    return total;
}

/* mean + epsilon in double: three roundings of 2^-53 are far below float's precision. */
static double mean_square(rmsnorm_sum sum, int64_t n, double epsilon)
{
    const double total = isfinite(sum.high) ? sum.high + sum.low : sum.high;
    return total / (double)n + epsilon;
}

/* The same for results in double: mean + epsilon as v + v_low, then one Newton step on 1 / sqrt(v), so that inv is within
 * one rounding; without that step where v or 1 / v is near the end of the range. */
static double inverse_root_wide(rmsnorm_sum sum, int64_t n, double epsilon)
{
    const double plain_v = mean_square(sum, n, epsilon);
    if (!(plain_v >= 0x1p-960 && plain_v <= 0x1p960)) {
        return 1.0 / sqrt(plain_v);
    }
    const double count = (double)n;
    const double total = sum.high + sum.low;
    const double total_low = sum.low - (total - sum.high);
    const double mean = total / count;
    const double mean_low = (fma(-mean, count, total) + total_low) / count;
    const rmsnorm_sum mean_parts = {mean, mean_low};
    const rmsnorm_sum epsilon_parts = {epsilon, 0.0};
    const rmsnorm_sum v = rmsnorm_sum_add(mean_parts, epsilon_parts);
    const double inv = 1.0 / sqrt(v.high);
    const double square = inv * inv;
    const double square_low = fma(inv, inv, -square);
    const double residual = fma(-v.high, square, 1.0) - v.high * square_low - v.low * square;
    return inv + 0.5 * inv * residual;
}

/* The factor inv * scale, scale being a power of two. Where that is no normal number of the stage's type, a power of two is
 * left to the elements: it loses bits of those alone whose result is below all numbers anyway. */
static factor split_factor(double inv, double scale, double smallest, double largest)
{
    const double whole = inv * scale;
    factor out = {whole, 1.0, false};
    if (whole >= smallest && whole <= largest) {
        return out;
    }
    out.special = true;
    if (inv > 0.0 && isfinite(inv)) {
        out.pre = whole < 1.0 ? 0x1p-64 : 0x1p64;
        out.inv = inv * (scale / out.pre);
    }
    return out;
}

/* Squares of doubles may leave the range of double: then once more with every element times a power of two. With a nonzero
 * epsilon (at least 2^-149) squares below 2^-900 do not matter. */
static factor wide_factor(const rmsnorm_choice *choice, const rmsnorm_row *row, rmsnorm_sum sum, int64_t n,
                          double epsilon)
{
    const double v = mean_square(sum, n, epsilon);
    double scale = 1.0;
    const bool leaves = !(v >= 0x1p-900 && v <= 0x1p900);
    if (leaves && choice->type_x == F64 && !(v < 0x1p-900 && epsilon != 0.0)) {
        scale = v < 0x1p-900 ? 0x1p600 : 0x1p-600;
        sum = rmsnorm_special_sum(row->input, scale, n);
        epsilon = epsilon * scale * scale;
    }
    return split_factor(inverse_root_wide(sum, n, epsilon), scale, DBL_MIN, DBL_MAX);
}

/* From the sum of the row's squares that choice->sum gives. */
static factor factor_of(const rmsnorm_choice *choice, const rmsnorm_row *row, rmsnorm_sum sum, int64_t n,
                        double epsilon)
{
    if (rmsnorm_stage_is_wide(choice->form)) {
        return wide_factor(choice, row, sum, n, epsilon);
    }
    double v = mean_square(sum, n, epsilon);
    /* Float chains lose at most 2^-149 for each square that underflows: nothing, when the mean is above 2^-100. */
    if (choice->sum_in_range != NULL && !(v >= 0x1p-100 && v <= DBL_MAX)) {
        sum = sum_row(choice->sum_in_range, row, n);
        v = mean_square(sum, n, epsilon);
    }
    return split_factor(1.0 / sqrt(v), 1.0, FLT_MIN, FLT_MAX);
}

/* ---- gamma ----------------------------------------------------------------------------------- */

/* The offset of gamma for a row, or for the start of a piece of a row. */
static int64_t walk(const rmsnorm_loop *loops, int count, int64_t index)
{
    int64_t offset = 0;
    for (int i = count - 1; i >= 0; i--) {
        if (loops[i].stride != 0) {
            offset += index % loops[i].count * loops[i].stride;
        }
        index /= loops[i].count;
    }
    return offset;
}

/* One element of gamma for a whole piece, in the form the scale kernels read. */
typedef struct repeated {
    union {
        uint16_t halves[RMSNORM_LANES];
        float singles[RMSNORM_LANES];
        double doubles[RMSNORM_LANES];
    } lanes;
} repeated;

static void repeat(repeated *out, const void *element, size_t size)
{
    char *bytes = (char *)&out->lanes;
    for (size_t i = 0; i < RMSNORM_LANES; i++) {
        memcpy(bytes + i * size, element, size);
    }
}

static void scale_piece(const rmsnorm_choice *choice, const rmsnorm_row *row, const void *gamma, bool one_gamma,
                        size_t gamma_size, const factor *by, int64_t begin, int64_t end)
{
    if (by->special) {
        rmsnorm_special_scale(choice, row, gamma, one_gamma ? 0 : 1, by->pre, by->inv, begin, end);
    } else if (one_gamma) {
        repeated same;
        repeat(&same, gamma, gamma_size);
        choice->scale(row, &same, 0, by->inv, begin, end);
    } else {
        choice->scale(row, gamma, RMSNORM_LANES, by->inv, begin, end);
    }
}

/* A row is one piece, unless gamma's broadcast breaks it: then as many as its innermost loop runs. */
static void scale_row(const rmsnorm_problem *problem, const rmsnorm_choice *choice, const rmsnorm_row *row,
                      const char *gamma, const factor *by)
{
    const int64_t n = problem->rows.hidden_size;
    const size_t size = rmsnorm_dtype_size(problem->rows.gamma_dtype);
    const int last = problem->inner_count - 1;
    const int64_t length = last < 0 ? n : problem->inner[last].count;
    const bool one_gamma = last >= 0 && problem->inner[last].stride == 0;
    for (int64_t begin = 0; begin < n; begin += length) {
        const int64_t offset = last > 0 ? walk(problem->inner, last, begin / length) : 0;
        scale_piece(choice, row, gamma + offset * (int64_t)size, one_gamma, size, by, begin, begin + length);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static const void *const_at(const void *base, int64_t elements, size_t size)
{
    return base == NULL ? NULL : (const char *)base + elements * (int64_t)size;
}

static void *at(void *base, int64_t elements, size_t size)
{
    return base == NULL ? NULL : (char *)base + elements * (int64_t)size;
}

static rmsnorm_row row_at(const rmsnorm_rows *rows, int64_t index)
{
    const size_t size_x = rmsnorm_dtype_size(rows->dtype);
    const size_t size_y = rmsnorm_dtype_size(rows->gamma_dtype);
    const rmsnorm_row row = {
        .input = const_at(rows->input, index * rows->input_stride, size_x),
        .skip = rows->skip == NULL ? NULL : const_at(rows->skip, index % rows->skip_rows * rows->skip_stride, size_x),
        .bias = rows->bias,
        .output = at(rows->output, index * rows->output_stride, size_y),
        .sum = at(rows->sum, index * rows->sum_stride, size_x),
    };
    return row;
}

static void store_statistic(const rmsnorm_rows *rows, int64_t index, const factor *by)
{
    const double inv = by->inv * by->pre;
    if (rows->stash_dtype == RMSNORM_DOUBLE) {
        const double value = isnan(inv) ? (double)float_of_bits(0x7fc00000u) : inv;
        memcpy((char *)rows->inv_std_var + index * 8, &value, sizeof value);
    } else {
        const float value = isnan(inv) ? float_of_bits(0x7fc00000u) : (float)inv;
        memcpy((char *)rows->inv_std_var + index * 4, &value, sizeof value);
    }
}

static void finish_row(const rmsnorm_problem *problem, const rmsnorm_choice *choice, int64_t index,
                       const rmsnorm_row *row, const factor *by)
{
    const int64_t gamma_offset = walk(problem->outer, problem->outer_count, index);
    const size_t gamma_size = rmsnorm_dtype_size(problem->rows.gamma_dtype);
    scale_row(problem, choice, row, const_at(problem->rows.gamma, gamma_offset, gamma_size), by);
}

/* How far ahead of its first pass a row is asked for from memory. */
#define AHEAD_BYTES 8192

void rmsnorm_rows_range(const rmsnorm_problem *problem, const rmsnorm_choice *choice, int64_t begin, int64_t end)
{
    if (begin >= end) {
        return;
    }
    const float_environment before = float_environment_enter();
    const rmsnorm_rows *rows = &problem->rows;
    const int64_t n = rows->hidden_size;
    const double epsilon = (double)rows->epsilon;
    const bool steps = choice->step != NULL && n <= block_length(n);
    const int64_t ahead = 1 + AHEAD_BYTES / (n * (int64_t)rmsnorm_dtype_size(rows->dtype));
    rmsnorm_row row = row_at(rows, begin);
    factor by = factor_of(choice, &row, sum_row(choice->sum, &row, n), n, epsilon);
    for (int64_t index = begin; index < end; index++) {
        const rmsnorm_row next = index + 1 < end ? row_at(rows, index + 1) : row;
        const factor now = by;
        if (index + 1 == end) {
            finish_row(problem, choice, index, &row, &now);
        } else if (steps && !now.special) {
            const rmsnorm_row later = row_at(rows, index + 1 + ahead < end ? index + 1 + ahead : index);
            by = factor_of(choice, &next, choice->step(&row, rows->gamma, now.inv, &next, &later, n), n, epsilon);
        } else {
            finish_row(problem, choice, index, &row, &now);
            by = factor_of(choice, &next, sum_row(choice->sum, &next, n), n, epsilon);
        }
        if (rows->inv_std_var != NULL) {
            store_statistic(rows, index, &now);
        }
        row = next;
    }
    if (choice->fence != NULL) {
        choice->fence();
    }
    float_environment_leave(before);
}

/* ---- one row by several threads -------------------------------------------------------------- */

typedef struct split {
    const rmsnorm_problem *problem;
    const rmsnorm_choice *choice;
    rmsnorm_row row;
    int64_t length; /* of a block */
    rmsnorm_sum sums[BLOCKS_MAXIMUM];
    const char *gamma;
    factor by;
} split;

static int64_t block_end(const split *job, size_t index)
{
    const int64_t end = ((int64_t)index + 1) * job->length;
    return end < job->problem->rows.hidden_size ? end : job->problem->rows.hidden_size;
}

static void sum_block(void *user, size_t index)
{
    split *const job = user;
    const float_environment before = float_environment_enter();
    job->sums[index] = job->choice->sum(&job->row, (int64_t)index * job->length, block_end(job, index));
    float_environment_leave(before);
}

static void scale_block(void *user, size_t index)
{
    const split *const job = user;
    const rmsnorm_problem *const problem = job->problem;
    const float_environment before = float_environment_enter();
    const bool one_gamma = problem->inner_count == 1 && problem->inner[0].stride == 0;
    const size_t size = rmsnorm_dtype_size(problem->rows.gamma_dtype);
    const int64_t begin = (int64_t)index * job->length;
    const char *const gamma = one_gamma ? job->gamma : job->gamma + begin * (int64_t)size;
    scale_piece(job->choice, &job->row, gamma, one_gamma, size, &job->by, begin, block_end(job, index));
    float_environment_leave(before);
}

bool rmsnorm_rows_can_split(const rmsnorm_problem *problem)
{
    const int64_t n = problem->rows.hidden_size;
    return problem->inner_count == 1 && n >= 2 * block_length(n);
}

void rmsnorm_rows_split(const rmsnorm_problem *problem, const rmsnorm_choice *choice, const rmsnorm_runner *runner)
{
    const rmsnorm_rows *const rows = &problem->rows;
    const int64_t n = rows->hidden_size;
    split job = {.problem = problem, .choice = choice, .length = block_length(n)};
    const size_t blocks = (size_t)((n + job.length - 1) / job.length);
    for (int64_t index = 0; index < rows->rows; index++) {
        job.row = row_at(rows, index);
        runner->run(runner->user, sum_block, &job, blocks);
        const float_environment before = float_environment_enter();
        rmsnorm_sum total = {0.0, 0.0};
        for (size_t b = 0; b < blocks; b++) {
            total = rmsnorm_sum_add(total, job.sums[b]);
        }
        job.by = factor_of(choice, &job.row, total, n, (double)rows->epsilon);
        float_environment_leave(before);
        const int64_t gamma_offset = walk(problem->outer, problem->outer_count, index);
        job.gamma = const_at(rows->gamma, gamma_offset, rmsnorm_dtype_size(rows->gamma_dtype));
        runner->run(runner->user, scale_block, &job, blocks);
        if (rows->inv_std_var != NULL) {
            store_statistic(rows, index, &job.by);
        }
    }
}

/* ---- plain pointers -------------------------------------------------------------------------- */

static const rmsnorm_kernels *kernels_within(rmsnorm_isa max_isa)
{
    const rmsnorm_kernels *kernels = NULL;
    /* A limit that names nothing here: plain C, whose bits are the same. */
    return rmsnorm_kernels_find(max_isa, &kernels) == RMSNORM_OK ? kernels : &rmsnorm_kernels_scalar;
}

static void problem_of(const rmsnorm_rows *rows, rmsnorm_problem *problem)
{
    problem->rows = *rows;
    problem->outer[0] = (rmsnorm_loop){rows->rows, rows->gamma_stride};
    problem->outer_count = 1;
    problem->inner[0] = (rmsnorm_loop){rows->hidden_size, 1};
    problem->inner_count = 1;
    problem->mean = NULL;
}

void rmsnorm_rows_run(const rmsnorm_rows *rows, int64_t begin, int64_t end, rmsnorm_isa max_isa)
{
    rmsnorm_problem problem;
    problem_of(rows, &problem);
    const rmsnorm_choice choice = rmsnorm_choose(&problem, true, kernels_within(max_isa));
    rmsnorm_rows_range(&problem, &choice, begin, end);
}

/* Without chains, whose sum could leave its range: here nobody sees the whole row to notice. */
void rmsnorm_partial_sums(const rmsnorm_rows *rows, int64_t begin, int64_t end, double *sums, rmsnorm_isa max_isa)
{
    rmsnorm_problem problem;
    problem_of(rows, &problem);
    const rmsnorm_choice choice = rmsnorm_choose(&problem, true, kernels_within(max_isa));
    const float_environment before = float_environment_enter();
    for (int64_t index = begin; index < end; index++) {
        const rmsnorm_row row = row_at(rows, index);
        const rmsnorm_sum sum =
            sum_row(choice.sum_in_range != NULL ? choice.sum_in_range : choice.sum, &row, rows->hidden_size);
        sums[index - begin] = isfinite(sum.high) ? sum.high + sum.low : sum.high;
    }
    float_environment_leave(before);
}

void rmsnorm_partial_normalize(const rmsnorm_rows *rows, int64_t begin, int64_t end, const double *sums,
                               int64_t whole_hidden_size, rmsnorm_isa max_isa)
{
    rmsnorm_problem problem;
    problem_of(rows, &problem);
    const rmsnorm_choice choice = rmsnorm_choose(&problem, true, kernels_within(max_isa));
    const bool wide = rmsnorm_stage_is_wide(choice.form);
    const float_environment before = float_environment_enter();
    for (int64_t index = begin; index < end; index++) {
        const rmsnorm_row row = row_at(rows, index);
        const rmsnorm_sum sum = {sums[index - begin], 0.0};
        const double inv = inverse_root_wide(sum, whole_hidden_size, (double)rows->epsilon);
        const factor by = split_factor(inv, 1.0, wide ? DBL_MIN : FLT_MIN, wide ? DBL_MAX : FLT_MAX);
        finish_row(&problem, &choice, index, &row, &by);
        if (rows->inv_std_var != NULL) {
            store_statistic(rows, index, &by);
        }
    }
    float_environment_leave(before);
}
