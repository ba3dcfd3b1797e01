/* size.h: sizes of elements, and arithmetic on element counts that tells when it does not fit. */
#ifndef RMSNORM_OPERATOR_SIZE_H
#define RMSNORM_OPERATOR_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "rmsnorm/rmsnorm.h"

/* rmsnorm_dtype_size, for where it is asked in every call. */
static inline size_t rmsnorm_float_size(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT                                  ? 4
           : dtype == RMSNORM_FLOAT16 || dtype == RMSNORM_BFLOAT16 ? 2
           : dtype == RMSNORM_DOUBLE                               ? 8
                                                                   : 0;
}

/* Bytes per element of the types that a tensor may hold data of: the four, int32 and int64; else 0. */
static inline size_t rmsnorm_item_size(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_INT32 ? 4 : dtype == RMSNORM_INT64 ? 8 : rmsnorm_float_size(dtype);
}

/* product = a * b; false, and product unchanged, when it does not fit. Meant for a, b >= 0: a negative one may be said not to fit. */
static inline bool rmsnorm_multiply(int64_t a, int64_t b, int64_t *product)
{
#if defined(__GNUC__)
    int64_t wide;
    if (__builtin_mul_overflow(a, b, &wide)) {
        return false;
    }
    *product = wide;
#else
    if (a < 0 || b < 0 || (b != 0 && a > INT64_MAX / b)) {
        return false;
    }
    *product = a * b;
#endif
    return true;
}

#endif
