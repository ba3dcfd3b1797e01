#include "cpu/choose.h"

#include <assert.h>

#include "operator/size.h"

static rmsnorm_type type_of(rmsnorm_dtype dtype)
{
    switch (dtype) {
    case RMSNORM_FLOAT16: return F16;
    case RMSNORM_BFLOAT16: return BF16;
    case RMSNORM_DOUBLE: return F64;
    default: return F32;
    }
}

static bool is_narrow(rmsnorm_type type) { return type == F16 || type == BF16; }

/* contract.md 1 and 3. A rounding to T that changes nothing is left out: TWICE is then ONCE. */
static rmsnorm_form form_of(const rmsnorm_rows *rows, rmsnorm_type x, rmsnorm_type y)
{
    if (rows->rounding == RMSNORM_ROUND_ONCE) {
        return x == F64 || y == F64 ? ONCE_WIDE : ONCE;
    }
    if (rows->stash_dtype == RMSNORM_DOUBLE) {
        return x == F64 ? ONCE_WIDE : TWICE_WIDE;
    }
    return x == F32 && y != F64 ? ONCE : TWICE;
}

/* The chains' error is too large for a result with the precision of float. */
static rmsnorm_method method_of(const rmsnorm_rows *rows, rmsnorm_form form, rmsnorm_type x, rmsnorm_type y)
{
    if (rmsnorm_stage_is_wide(form) || rows->stash_dtype == RMSNORM_DOUBLE) {
        return WIDE;
    }
    return is_narrow(x) && is_narrow(y) ? CHAIN : EXACT;
}

/* Bytes of inputs and outputs from which on outputs are written past the cache: docs/performance.md. */
#define STREAM_BYTES 0x1p24
/* Up to here r is kept: what is larger does better scaling a row while it sums the next. */
#define KEEP_BYTES 0x1p20

/* Bytes of inputs and outputs. */
static double footprint(const rmsnorm_rows *rows)
{
    const int64_t buffers = 1 + (rows->skip != NULL) + (rows->sum != NULL);
    const int64_t bytes =
        (int64_t)rmsnorm_float_size(rows->dtype) * buffers + (int64_t)rmsnorm_float_size(rows->gamma_dtype);
    return (double)rows->rows * (double)rows->hidden_size * (double)bytes;
}

static bool on_lines(const void *base, int64_t stride, size_t size)
{
    return (uintptr_t)base % 64 == 0 && stride * (int64_t)size % 64 == 0;
}

/* Whether an output is larger than what the cache keeps of it, is read by nobody soon, and starts every row on a cache line. */
static bool streams(const rmsnorm_rows *rows, double bytes)
{
    const bool apart = rows->output != rows->input && rows->output != rows->skip &&
                       (rows->sum == NULL || (rows->sum != rows->input && rows->sum != rows->skip));
    return bytes > STREAM_BYTES && apart &&
           on_lines(rows->output, rows->output_stride, rmsnorm_float_size(rows->gamma_dtype)) &&
           on_lines(rows->sum, rows->sum_stride, rmsnorm_float_size(rows->dtype));
}

static bool has_one_gamma(const rmsnorm_problem *problem)
{
    const bool one = problem->outer_count == 0 || (problem->outer_count == 1 && problem->outer[0].stride == 0);
    return one && problem->inner_count == 1 && problem->inner[0].stride == 1;
}

static bool is_straight(const rmsnorm_problem *problem)
{
    const rmsnorm_rows *const rows = &problem->rows;
    const bool floats = rows->dtype != RMSNORM_DOUBLE && rows->gamma_dtype != RMSNORM_DOUBLE;
    return floats && rows->stash_dtype != RMSNORM_DOUBLE && problem->inner_count == 1 &&
           rows->hidden_size % RMSNORM_LANES == 0;
}

/* Rows from which on it pays to widen a narrow gamma once for all of them. */
#define WIDEN_ROWS 4

static bool widens(const rmsnorm_problem *problem, rmsnorm_keeping keeping)
{
    return keeping == KEPT_ASIDE && problem->rows.rows >= WIDEN_ROWS && has_one_gamma(problem);
}

/* While all is in cache, r that is a sum; plain rows are as fast converted twice. */
static rmsnorm_keeping keeping_of(const rmsnorm_problem *problem, rmsnorm_type x, rmsnorm_residual residual,
                                  double bytes)
{
    if (residual == PLAIN || bytes > KEEP_BYTES) {
        return KEPT_NOT;
    }
    if (x == F32) {
        return KEPT_IN_OUTPUT;
    }
    const bool whole = problem->inner_count == 1 && problem->rows.hidden_size <= RMSNORM_KEPT_MAXIMUM;
    return whole ? KEPT_ASIDE : KEPT_NOT;
}

/* Larger rows of float16, which are bound by conversions: r is kept while it is stepped from row to row. With the sum output,
 * and for the other types, making it twice is as fast. */
static rmsnorm_step_kernel *step_kept_of(const rmsnorm_kernels *kernels, const rmsnorm_rows *rows, rmsnorm_type x,
                                         rmsnorm_residual residual, double bytes)
{
    const bool kept = bytes > KEEP_BYTES && rows->hidden_size <= RMSNORM_KEPT_MAXIMUM && rows->sum == NULL;
    return kept ? kernels->step_kept[x][residual] : NULL;
}

static rmsnorm_scale_kernel *scale_of(const rmsnorm_kernels *kernels, rmsnorm_keeping keeping, rmsnorm_form form,
                                      rmsnorm_type x, rmsnorm_type y, rmsnorm_residual residual, bool sum, bool wide)
{
    switch (keeping) {
    case KEPT_IN_OUTPUT: return kernels->scale[form][F32][F32];
    case KEPT_ASIDE: return kernels->scale_kept[x][sum][wide];
    default: return residual == PLAIN ? kernels->scale[form][x][y] : kernels->scale_residual[x][residual][sum];
    }
}

static rmsnorm_choice choose(const rmsnorm_problem *problem, bool may_keep, bool read_soon,
                             const rmsnorm_kernels *kernels)
{
    const rmsnorm_rows *const rows = &problem->rows;
    const rmsnorm_type x = type_of(rows->dtype);
    const rmsnorm_type y = type_of(rows->gamma_dtype);
    const rmsnorm_residual residual = rows->skip == NULL ? PLAIN : rows->bias == NULL ? SKIP : SKIP_BIAS;
    const rmsnorm_form form = form_of(rows, x, y);
    const rmsnorm_method method = method_of(rows, form, x, y);
    const bool straight = is_straight(problem);
    const double bytes = footprint(rows);
    const bool past_cache = straight && !read_soon && streams(rows, bytes);
    rmsnorm_step_kernel *const step_kept =
        may_keep && straight && !past_cache ? step_kept_of(kernels, rows, x, residual, bytes) : NULL;
    const rmsnorm_keeping keeping = !may_keep           ? KEPT_NOT
                                    : step_kept != NULL ? KEPT_ASIDE
                                                        : keeping_of(problem, x, residual, bytes);
    const bool wide = step_kept == NULL && widens(problem, keeping);
    const rmsnorm_choice choice = {
        .type_x = x,
        .type_y = y,
        .residual = keeping == KEPT_IN_OUTPUT ? PLAIN : residual,
        .form = form,
        .keeping = keeping,
        .sum = keeping == KEPT_NOT ? kernels->sum[method][x][residual] : kernels->sum_kept[x][residual],
        .sum_in_range = method == CHAIN && x == BF16 ? kernels->sum[EXACT][x][residual] : NULL,
        .scale = scale_of(kernels, keeping, form, x, y, residual, rows->sum != NULL, wide),
        .step = straight && keeping == KEPT_NOT ? kernels->step[form][x][y][residual][rows->sum != NULL][past_cache]
                                                : step_kept,
        .widen = wide ? kernels->widen[x] : NULL,
        .fence = past_cache ? kernels->fence : NULL,
    };
    assert(choice.sum != NULL && choice.scale != NULL);
    return choice;
}

rmsnorm_choice rmsnorm_choose(const rmsnorm_problem *problem, bool read_soon, const rmsnorm_kernels *kernels)
{
    return choose(problem, true, read_soon, kernels);
}

rmsnorm_choice rmsnorm_choose_apart(const rmsnorm_problem *problem, const rmsnorm_kernels *kernels)
{
    return choose(problem, false, true, kernels);
}
