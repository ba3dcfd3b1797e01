/* values.h: what the buffers hold: ordinary numbers, and those that break kernels. */
#ifndef KERNCHECK_VALUES_H
#define KERNCHECK_VALUES_H

#include <stdint.h>

#include "rmsnorm/rmsnorm.h"
#include "rng.h"

typedef enum value_class {
    VALUES_NORMAL,      /* normal, one power of two as spread per tensor */
    VALUES_CONSTANT,    /* one number everywhere, where squares leave the range */
    VALUES_SPIKE,       /* ones and one large element */
    VALUES_ALTERNATING, /* rows of 1e-3, 1 and 1e3 in turn */
    VALUES_SUBNORMAL,   /* subnormal numbers only */
    VALUES_ZERO_ROWS,   /* normal, some rows zero (of either sign) */
    VALUES_OUTLIERS,    /* normal, every 512th channel 40 times larger */
    VALUES_TIES,        /* mean square and epsilon add to exactly 1: products land on midpoints */
    VALUES_BITS,        /* any exponent */
    VALUES_LARGEST,     /* the upper half of the finite numbers */
    VALUES_SPECIAL,     /* NaNs of any payload and infinities in some rows */
    VALUES_CLASSES
} value_class;

typedef enum gamma_class {
    GAMMA_NORMAL, /* 1 +- 0.1 */
    GAMMA_ONES,
    GAMMA_WIDE,    /* any exponent within 12 of 0, either sign, some zeros */
    GAMMA_LARGE,   /* results may leave the range */
    GAMMA_SPECIAL, /* some NaNs, infinities and zeros of either sign */
    GAMMA_CLASSES
} gamma_class;

const char *value_class_name(value_class values);
const char *gamma_class_name(gamma_class gamma);

void values_fill(value_class values, rng *r, rmsnorm_dtype dtype, int64_t rows, int64_t width, void *data);

/* For VALUES_TIES: the epsilon that makes the sum 1 where the width is a power of two. */
float values_ties_epsilon(rmsnorm_dtype dtype, int64_t width, const void *data);

/* Half units in the last place of the input: sums that are ties, or that a double rounding moves. */
void values_fill_half_steps(rng *r, rmsnorm_dtype dtype, int64_t count, int64_t input_count, const void *input,
                            void *data);

void values_fill_gamma(gamma_class gamma, rng *r, rmsnorm_dtype dtype, int64_t count, void *data);

#endif
