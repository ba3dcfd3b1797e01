/* special.h: rows that the kernels' arithmetic cannot hold: infinities, NaNs, and inverse roots beyond the normal numbers.
 * Plain C on every instruction set, so the bits of such rows cannot differ either. */
#ifndef RMSNORM_CPU_SPECIAL_H
#define RMSNORM_CPU_SPECIAL_H

#include "cpu/choose.h"

/* The sum of (x[i] * pre)^2 over a row of doubles. */
rmsnorm_sum rmsnorm_special_sum(const void *x, double pre, int64_t n);

/* y = V((r * pre) * inv * gamma) as the choice's form rounds it, over the elements [begin, end); pre is a power of two.
 * gamma is that of element begin, gamma_step 0 or 1. Every NaN is stored as the positive quiet NaN without payload. */
void rmsnorm_special_scale(const rmsnorm_choice *choice, const rmsnorm_row *row, const void *gamma, int64_t gamma_step,
                           double pre, double inv, int64_t begin, int64_t end);

#endif
