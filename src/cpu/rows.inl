/* rows.inl: the one kernel body. An instruction set's file includes its vec_<isa>.h, then this, and gets the table TABLE.
 *
 *   inv = 1 / sqrt(sum of r[i]^2 / n + epsilon)     r = input, input + skip or (input + skip) + bias
 *   y[i] = V((r[i] * inv) * gamma[i])               or V(T(r[i] * inv) * gamma[i])
 *
 * Pass 1 is a sum kernel, pass 2 a scale kernel; the row is read twice, the second time from cache, and r is made twice,
 * or kept in a buffer that is in cache anyway. Types, residual and form are constants in every instance, so that the branches on them fold away. */
#include "cpu/kernel.h"
#include "cpu/groups.inl"
#include "cpu/sum.inl"
#include "cpu/scale.inl"
#include "cpu/step.inl"

#define SUM_CHAIN(type, residual, row, begin, end) sum_chain(type, residual, false, row, begin, end)
#define SUM_EXACT(type, residual, row, begin, end) sum_exact(type, residual, false, row, begin, end)
#define SUM_WIDE(type, residual, row, begin, end) sum_wide(type, row, begin, end)
#define KEEP_CHAIN(type, residual, row, begin, end) sum_chain(type, residual, true, row, begin, end)
#define KEEP_EXACT(type, residual, row, begin, end) sum_exact(type, residual, true, row, begin, end)
#define SUM(method, type, residual)                                                                           \
    static rmsnorm_sum sum_##method##_##type##_##residual(const rmsnorm_row *row, int64_t begin, int64_t end) \
    {                                                                                                         \
        return SUM_##method(type, residual, row, begin, end);                                                 \
    }
#define SUM_KEPT(method, type, residual)                                                                \
    static rmsnorm_sum sum_kept_##type##_##residual(const rmsnorm_row *row, int64_t begin, int64_t end) \
    {                                                                                                   \
        return KEEP_##method(type, residual, row, begin, end);                                          \
    }
#define SCALE_KEPT(type, sum, wide)                                                                               \
    static void scale_kept_##type##_##sum##_##wide(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, \
                                                   double inv, int64_t begin, int64_t end)                        \
    {                                                                                                             \
        scale(ONCE, type, type, SKIP, true, wide, sum, row, gamma, gamma_step, inv, begin, end);                  \
    }
#define WIDEN(type) \
    static void widen_##type(const void *gamma, float *wide, int64_t n) { widen(type, gamma, wide, n); }
#define SCALE(form, type_x, type_y)                                                                               \
    static void scale_##form##_##type_x##_##type_y(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, \
                                                   double inv, int64_t begin, int64_t end)                        \
    {                                                                                                             \
        scale(form, type_x, type_y, PLAIN, false, false, false, row, gamma, gamma_step, inv, begin, end);         \
    }
#define SCALE_RESIDUAL(type, residual, sum)                                                                      \
    static void scale_##residual##_##type##_##sum(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, \
                                                  double inv, int64_t begin, int64_t end)                        \
    {                                                                                                            \
        scale(ONCE, type, type, residual, false, false, sum, row, gamma, gamma_step, inv, begin, end);           \
    }
#define STEP(form, type_x, type_y, residual, sum)                                                                    \
    static rmsnorm_sum step_##form##_##type_x##_##type_y##_##residual##_##sum(                                       \
        const rmsnorm_row *row, const void *gamma, int64_t gamma_step, double inv, const rmsnorm_row *next,          \
        const rmsnorm_row *ahead, int64_t n)                                                                         \
    {                                                                                                                \
        return step(form, type_x, type_y, residual, sum, false, false, row, gamma, gamma_step, inv, next, ahead, n); \
    }                                                                                                                \
    static rmsnorm_sum stream_##form##_##type_x##_##type_y##_##residual##_##sum(                                     \
        const rmsnorm_row *row, const void *gamma, int64_t gamma_step, double inv, const rmsnorm_row *next,          \
        const rmsnorm_row *ahead, int64_t n)                                                                         \
    {                                                                                                                \
        return step(form, type_x, type_y, residual, sum, true, false, row, gamma, gamma_step, inv, next, ahead, n);  \
    }
#define STEP_KEPT(type, residual)                                                                                   \
    static rmsnorm_sum step_kept_##type##_##residual(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, \
                                                     double inv, const rmsnorm_row *next, const rmsnorm_row *ahead, \
                                                     int64_t n)                                                     \
    {                                                                                                               \
        return step(ONCE, type, type, residual, false, false, true, row, gamma, gamma_step, inv, next, ahead, n);   \
    }
#include "cpu/kernels.inc"

static void fence(void) { vf_stream_fence(); }

const rmsnorm_kernels TABLE = {
    .fence = fence,
#define SUM(method, type, residual) .sum[method][type][residual] = sum_##method##_##type##_##residual,
#define SCALE(form, type_x, type_y) .scale[form][type_x][type_y] = scale_##form##_##type_x##_##type_y,
#define SCALE_RESIDUAL(type, residual, with) .scale_residual[type][residual][with] = scale_##residual##_##type##_##with,
#define SUM_KEPT(method, type, residual) .sum_kept[type][residual] = sum_kept_##type##_##residual,
#define SCALE_KEPT(type, with, wide) .scale_kept[type][with][wide] = scale_kept_##type##_##with##_##wide,
#define WIDEN(type) .widen[type] = widen_##type,
#define STEP(form, type_x, type_y, residual, with)                                                          \
    .step[form][type_x][type_y][residual][with] = {step_##form##_##type_x##_##type_y##_##residual##_##with, \
                                                   stream_##form##_##type_x##_##type_y##_##residual##_##with},
#define STEP_KEPT(type, residual) .step_kept[type][residual] = step_kept_##type##_##residual,
#include "cpu/kernels.inc"
};
