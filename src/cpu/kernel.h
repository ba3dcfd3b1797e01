/* kernel.h: what the kernels compute and may assume. Lanes, order of additions and error bounds: docs/numerics.md. */
#ifndef RMSNORM_CPU_KERNEL_H
#define RMSNORM_CPU_KERNEL_H

#include "rmsnorm/rmsnorm.h"

/* The four element types as table indices. */
typedef enum rmsnorm_type { F32, F16, BF16, F64, TYPE_COUNT } rmsnorm_type;

/* How the row r is made: input; input + skip; (input + skip) + bias; in float, in this order. */
typedef enum rmsnorm_residual { PLAIN, SKIP, SKIP_BIAS, RESIDUAL_COUNT } rmsnorm_residual;

/* How squares are added up. */
typedef enum rmsnorm_method {
    CHAIN, /* narrow types: chains of float multiply-adds, added up in double. The sum may leave float's range */
    EXACT, /* squares of floats, which are exact in double, added up in double. No range to leave */
    WIDE,  /* squares of doubles and their rounding errors, added up with compensation */
    METHOD_COUNT
} rmsnorm_method;

/* How an element is scaled. The stage in float or double; ONCE: y = V((r * inv) * gamma); TWICE: y = V(T(r * inv) * gamma). */
typedef enum rmsnorm_form { ONCE, ONCE_WIDE, TWICE, TWICE_WIDE, FORM_COUNT } rmsnorm_form;

/* Elements that are in flight together: the kernels' loops step by it, and element i belongs to lane i % LANES. */
#define RMSNORM_LANES 32

/* The start of one row in every buffer. skip and bias are read, and sum written, by the kernels made for them only. */
typedef struct rmsnorm_row {
    const void *input, *skip, *bias;
    void *output, *sum;
    float *kept; /* where the sum kernels that keep r put it for the second pass */
} rmsnorm_row;

/* high + low is the sum of squares; low is 0 except for WIDE. */
typedef struct rmsnorm_sum {
    double high, low;
} rmsnorm_sum;

/* The sum of both, with what the addition loses in low (Knuth's two-sum). An infinite or NaN high is right, its low is not. */
static inline rmsnorm_sum rmsnorm_sum_add(rmsnorm_sum a, rmsnorm_sum b)
{
    const double high = a.high + b.high;
    const double added = high - a.high;
    const double lost = (a.high - (high - added)) + (b.high - added);
    const rmsnorm_sum sum = {high, lost + (a.low + b.low)};
    return sum;
}

/* The sum of squares of the elements [begin, end) of a row; begin is a multiple of RMSNORM_LANES. */
typedef rmsnorm_sum rmsnorm_sum_kernel(const rmsnorm_row *row, int64_t begin, int64_t end);

/* Scales the elements [begin, end) of a row. gamma is that of element begin; gamma_step is the way from one group of
 * RMSNORM_LANES elements to the next: RMSNORM_LANES, or 0 when gamma holds RMSNORM_LANES equal elements for all.
 * r is finite, inv is a normal positive number of the stage's type. Reads every group of lanes before it writes it, so output and sum may be input or skip. */
typedef void rmsnorm_scale_kernel(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, double inv,
                                  int64_t begin, int64_t end);

/* n elements of a narrow gamma as floats, in the order in which sum_kept leaves r: whole groups of RMSNORM_LANES are written. */
typedef void rmsnorm_widen_kernel(const void *gamma, float *wide, int64_t n);

/* The straight path: floats of at most four bytes, gamma as a scale kernel takes it. Scales row as a scale kernel does, and returns
 * the sum of squares of next as the sum kernel does; asks for ahead, which is read some calls later. All have n elements, a
 * multiple of RMSNORM_LANES. */
typedef rmsnorm_sum rmsnorm_step_kernel(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, double inv,
                                        const rmsnorm_row *next, const rmsnorm_row *ahead, int64_t n);

/* One instruction set. Which entries exist is the list kernels.inc; choose.c picks no other. */
typedef struct rmsnorm_kernels {
    void (*fence)(void); /* makes stores past the cache visible to other threads in order */
    rmsnorm_sum_kernel *sum[METHOD_COUNT][TYPE_COUNT][RESIDUAL_COUNT];
    rmsnorm_sum_kernel *sum_kept[TYPE_COUNT][RESIDUAL_COUNT]; /* EXACT for F32, which keeps r as a row; else CHAIN */
    rmsnorm_scale_kernel *scale[FORM_COUNT][TYPE_COUNT][TYPE_COUNT];     /* by T, V, without residual */
    rmsnorm_scale_kernel *scale_residual[TYPE_COUNT][RESIDUAL_COUNT][2]; /* by T = V; with the sum output or not */
    rmsnorm_scale_kernel *scale_kept[TYPE_COUNT][2][2]; /* the same, of r as a narrow sum_kept left it; gamma
                                                                     * narrow, or as widen leaves it */
    rmsnorm_widen_kernel *widen[TYPE_COUNT];
    rmsnorm_step_kernel
        *step_kept[TYPE_COUNT][RESIDUAL_COUNT]; /* scales r as sum_kept left it, and leaves the next there */
    rmsnorm_step_kernel
        *step[FORM_COUNT][TYPE_COUNT][TYPE_COUNT][RESIDUAL_COUNT][2][2]; /* by T, V; ... ; past the cache */
} rmsnorm_kernels;

extern const rmsnorm_kernels rmsnorm_kernels_scalar, rmsnorm_kernels_neon, rmsnorm_kernels_avx2, rmsnorm_kernels_avx512;

#endif
