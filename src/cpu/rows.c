#include "cpu/rows.h"

#include <float.h>
#include <math.h>

#include "cpu/convert.h"
#include "cpu/factor.h"
#include "cpu/float_environment.h"
#include "cpu/special.h"
#include "operator/size.h"

/* ---- gamma ----------------------------------------------------------------------------------- */

/* The offset of gamma for a row, or for the start of a piece of a row. */
static int64_t walk(const rmsnorm_loop *loops, int count, int64_t index)
{
    int64_t offset = 0;
    for (int i = count - 1; i >= 0; i--) {
        if (loops[i].stride != 0) {
            offset += index % loops[i].count * loops[i].stride;
        }
        index = i > 0 ? index / loops[i].count : 0;
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
                        size_t gamma_size, const rmsnorm_factor *by, int64_t begin, int64_t end)
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
                      const char *gamma, const rmsnorm_factor *by)
{
    const int64_t n = problem->rows.hidden_size;
    const size_t size = rmsnorm_float_size(problem->rows.gamma_dtype);
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
    const size_t size_x = rmsnorm_float_size(rows->dtype);
    const size_t size_y = rmsnorm_float_size(rows->gamma_dtype);
    const int64_t skip = rows->skip == NULL || index < rows->skip_rows ? index : index % rows->skip_rows;
    const rmsnorm_row row = {
        .input = const_at(rows->input, index * rows->input_stride, size_x),
        .skip = const_at(rows->skip, skip * rows->skip_stride, size_x),
        .bias = rows->bias,
        .output = at(rows->output, index * rows->output_stride, size_y),
        .sum = at(rows->sum, index * rows->sum_stride, size_x),
    };
    return row;
}

/* The row as the first pass needs it: with the place for r. */
static rmsnorm_row first_pass_row(const rmsnorm_rows *rows, const rmsnorm_choice *choice, int64_t index, float *aside)
{
    rmsnorm_row row = row_at(rows, index);
    if (choice->keeping == KEPT_IN_OUTPUT) {
        row.kept = row.sum != NULL ? row.sum : row.output;
    } else if (choice->keeping == KEPT_ASIDE) {
        row.kept = aside;
    }
    return row;
}

/* The row as the second pass sees it: with r in its input when that was KEPT_IN_OUTPUT. */
static rmsnorm_row second_pass_row(const rmsnorm_choice *choice, const rmsnorm_row *first)
{
    rmsnorm_row row = *first;
    if (choice->keeping == KEPT_IN_OUTPUT) {
        row.input = row.kept;
    }
    return row;
}

static void store_statistic(const rmsnorm_rows *rows, int64_t index, const rmsnorm_factor *by)
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

/* wide: gamma as choice->widen left it, when there is one. */
static void finish_row(const rmsnorm_problem *problem, const rmsnorm_choice *choice, int64_t index,
                       const rmsnorm_row *row, const float *wide, const rmsnorm_factor *by)
{
    if (choice->widen != NULL && !by->special) {
        choice->scale(row, wide, RMSNORM_LANES, by->inv, 0, problem->rows.hidden_size);
        return;
    }
    const int64_t gamma_offset = walk(problem->outer, problem->outer_count, index);
    const size_t gamma_size = rmsnorm_float_size(problem->rows.gamma_dtype);
    const rmsnorm_row second = second_pass_row(choice, row);
    scale_row(problem, choice, &second, const_at(problem->rows.gamma, gamma_offset, gamma_size), by);
}

/* Scales a row that is one piece, and sums the next one. */
static rmsnorm_sum step_row(const rmsnorm_problem *problem, const rmsnorm_choice *choice, int64_t index,
                            const rmsnorm_row *row, double inv, const rmsnorm_row *next, const rmsnorm_row *ahead)
{
    const int64_t n = problem->rows.hidden_size;
    const size_t size = rmsnorm_float_size(problem->rows.gamma_dtype);
    const int64_t offset = walk(problem->outer, problem->outer_count, index);
    const void *const gamma = const_at(problem->rows.gamma, offset, size);
    if (problem->inner[0].stride != 0) {
        return choice->step(row, gamma, RMSNORM_LANES, inv, next, ahead, n);
    }
    repeated same;
    repeat(&same, gamma, size);
    return choice->step(row, &same, 0, inv, next, ahead, n);
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
    const bool steps = choice->step != NULL && n <= rmsnorm_block_length(n);
    const int64_t bytes = n * (int64_t)rmsnorm_float_size(rows->dtype);
    const int64_t ahead = 1 + (end - begin > 1 && bytes > 0 ? AHEAD_BYTES / bytes : 0);
    float aside[RMSNORM_KEPT_MAXIMUM];
    float wide[RMSNORM_KEPT_MAXIMUM];
    if (choice->widen != NULL) {
        choice->widen(rows->gamma, wide, n);
    }
    rmsnorm_row row = first_pass_row(rows, choice, begin, aside);
    rmsnorm_factor by = rmsnorm_factor_of(choice, &row, rmsnorm_sum_row(choice->sum, &row, n), n, epsilon);
    for (int64_t index = begin; index < end; index++) {
        const rmsnorm_row next = index + 1 < end ? first_pass_row(rows, choice, index + 1, aside) : row;
        const rmsnorm_factor now = by;
        if (index + 1 == end) {
            finish_row(problem, choice, index, &row, wide, &now);
        } else if (steps && !now.special) {
            const rmsnorm_row later = row_at(rows, index + 1 + ahead < end ? index + 1 + ahead : index);
            const rmsnorm_sum sum = step_row(problem, choice, index, &row, now.inv, &next, &later);
            by = rmsnorm_factor_of(choice, &next, sum, n, epsilon);
        } else {
            finish_row(problem, choice, index, &row, wide, &now);
            by = rmsnorm_factor_of(choice, &next, rmsnorm_sum_row(choice->sum, &next, n), n, epsilon);
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
    rmsnorm_sum sums[RMSNORM_BLOCKS_MAXIMUM];
    const char *gamma;
    rmsnorm_factor by;
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
    const size_t size = rmsnorm_float_size(problem->rows.gamma_dtype);
    const int64_t begin = (int64_t)index * job->length;
    const char *const gamma = one_gamma ? job->gamma : job->gamma + begin * (int64_t)size;
    scale_piece(job->choice, &job->row, gamma, one_gamma, size, &job->by, begin, block_end(job, index));
    float_environment_leave(before);
}

bool rmsnorm_rows_can_split(const rmsnorm_problem *problem)
{
    const int64_t n = problem->rows.hidden_size;
    return problem->inner_count == 1 && n >= 2 * rmsnorm_block_length(n);
}

void rmsnorm_rows_split(const rmsnorm_problem *problem, const rmsnorm_choice *choice, const rmsnorm_runner *runner)
{
    const rmsnorm_rows *const rows = &problem->rows;
    const int64_t n = rows->hidden_size;
    split job = {.problem = problem, .choice = choice, .length = rmsnorm_block_length(n)};
    const size_t blocks = (size_t)((n + job.length - 1) / job.length);
    for (int64_t index = 0; index < rows->rows; index++) {
        job.row = first_pass_row(rows, choice, index, NULL);
        runner->run(runner->user, sum_block, &job, blocks);
        const float_environment before = float_environment_enter();
        rmsnorm_sum total = {0.0, 0.0};
        for (size_t b = 0; b < blocks; b++) {
            total = rmsnorm_sum_add(total, job.sums[b]);
        }
        job.by = rmsnorm_factor_of(choice, &job.row, total, n, (double)rows->epsilon);
        if (rows->inv_std_var != NULL) {
            store_statistic(rows, index, &job.by);
        }
        float_environment_leave(before);
        const int64_t gamma_offset = walk(problem->outer, problem->outer_count, index);
        job.row = second_pass_row(choice, &job.row);
        job.gamma = const_at(rows->gamma, gamma_offset, rmsnorm_float_size(rows->gamma_dtype));
        runner->run(runner->user, scale_block, &job, blocks);
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
    const rmsnorm_choice choice = rmsnorm_choose_apart(&problem, kernels_within(max_isa));
    const float_environment before = float_environment_enter();
    for (int64_t index = begin; index < end; index++) {
        const rmsnorm_row row = row_at(rows, index);
        const rmsnorm_sum sum =
            rmsnorm_sum_row(choice.sum_in_range != NULL ? choice.sum_in_range : choice.sum, &row, rows->hidden_size);
        sums[index - begin] = isfinite(sum.high) ? sum.high + sum.low : sum.high;
    }
    float_environment_leave(before);
}

void rmsnorm_partial_normalize(const rmsnorm_rows *rows, int64_t begin, int64_t end, const double *sums,
                               int64_t whole_hidden_size, rmsnorm_isa max_isa)
{
    rmsnorm_problem problem;
    problem_of(rows, &problem);
    const rmsnorm_choice choice = rmsnorm_choose_apart(&problem, kernels_within(max_isa));
    const bool wide = rmsnorm_stage_is_wide(choice.form);
    const float_environment before = float_environment_enter();
    for (int64_t index = begin; index < end; index++) {
        const rmsnorm_row row = row_at(rows, index);
        const rmsnorm_sum sum = {sums[index - begin], 0.0};
        const double inv = rmsnorm_inverse_root(sum, whole_hidden_size, (double)rows->epsilon);
        const rmsnorm_factor by = rmsnorm_split_factor(inv, 1.0, wide ? DBL_MIN : FLT_MIN, wide ? DBL_MAX : FLT_MAX);
        finish_row(&problem, &choice, index, &row, NULL, &by);
        if (rows->inv_std_var != NULL) {
            store_statistic(rows, index, &by);
        }
    }
    float_environment_leave(before);
}
