/* factor.h: from the sum of a row's squares to what its elements are multiplied by. */
#ifndef RMSNORM_CPU_FACTOR_H
#define RMSNORM_CPU_FACTOR_H

#include "cpu/choose.h"

/* What the scale kernels multiply by: r * inv, or in a special row (r * pre) * inv. */
typedef struct rmsnorm_factor {
    double inv, pre;
    bool special;
} rmsnorm_factor;

/* Sums are made in blocks that depend on n alone, so that threads which share a long row add up the same numbers.
 * At most 64 blocks, so that their sums fit on a stack. */
#define RMSNORM_BLOCKS_MAXIMUM 64

int64_t rmsnorm_block_length(int64_t n);

/* The sum of a whole row of n elements, block by block. */
rmsnorm_sum rmsnorm_sum_row(rmsnorm_sum_kernel *kernel, const rmsnorm_row *row, int64_t n);

/* From the sum of the row's squares that choice->sum gives. */
rmsnorm_factor rmsnorm_factor_of(const rmsnorm_choice *choice, const rmsnorm_row *row, rmsnorm_sum sum, int64_t n,
                                 double epsilon);

/* 1 / sqrt(sum / n + epsilon) within one rounding of double. */
double rmsnorm_inverse_root(rmsnorm_sum sum, int64_t n, double epsilon);

/* The factor inv * scale, scale being a power of two, for a stage whose normal numbers are [smallest, largest]. */
rmsnorm_factor rmsnorm_split_factor(double inv, double scale, double smallest, double largest);

#endif
