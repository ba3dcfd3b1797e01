#include "cpu/choose.h"

#include <assert.h>

static rmsnorm_type type_of(rmsnorm_dtype dtype)
{
    switch (dtype) {
    case RMSNORM_FLOAT16: return F16;
    case RMSNORM_BFLOAT16: return BF16;
    case RMSNORM_DOUBLE: return F64;
    default: return F32;
    }
}

static bool is_narrow(rmsnorm_type type)
{
    return type == F16 || type == BF16;
}

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

rmsnorm_choice rmsnorm_choose(const rmsnorm_rows *rows, const rmsnorm_kernels *kernels)
{
    const rmsnorm_type x = type_of(rows->dtype);
    const rmsnorm_type y = type_of(rows->gamma_dtype);
    const rmsnorm_residual residual = rows->skip == NULL ? PLAIN : rows->bias == NULL ? SKIP : SKIP_BIAS;
    const rmsnorm_form form = form_of(rows, x, y);
    const rmsnorm_method method = method_of(rows, form, x, y);
    const rmsnorm_choice choice = {
        .type_x = x,
        .type_y = y,
        .residual = residual,
        .form = form,
        .sum = kernels->sum[method][x][residual],
        .sum_in_range = method == CHAIN && x == BF16 ? kernels->sum[EXACT][x][residual] : NULL,
        .scale = residual == PLAIN ? kernels->scale[form][x][y] : kernels->scale_residual[x][residual][rows->sum != NULL],
    };
    assert(choice.sum != NULL && choice.scale != NULL);
    return choice;
}
