/* rows.inl: the one kernel body. An instruction set's file includes its vec_<isa>.h, then this, and gets the table TABLE.
 *
 *   inv = 1 / sqrt(sum of r[i]^2 / n + epsilon)     r = input, input + skip or (input + skip) + bias
 *   y[i] = V((r[i] * inv) * gamma[i])               or V(T(r[i] * inv) * gamma[i])
 *
 * Pass 1 is a sum kernel, pass 2 a scale kernel; the row is read twice, the second time from cache, and r is made twice
 * instead of stored. Types, residual and form are constants in every instance, so that the branches on them fold away. */
#include "cpu/kernel.h"

#define VECTORS (RMSNORM_LANES / VF)

#if defined(__GNUC__)
#define INLINE static inline __attribute__((always_inline))
#else
#define INLINE static inline
#endif

/* The lanes of vectors stay in registers; those of plain C are too many, they are arrays. */
#if VF > 1 && defined(__clang__)
#define UNROLL _Pragma("unroll")
#elif VF > 1 && defined(__GNUC__)
#define UNROLL _Pragma("GCC unroll 16")
#else
#define UNROLL
#endif

/* Groups of lanes in one chain of float multiply-adds: the bound 2.25 * 2^-24 on its share of the error of inv. */
#define CHAIN_LENGTH 8

INLINE const void *at(rmsnorm_type type, const void *base, int64_t i)
{
    const int64_t size = type == F64 ? 8 : type == F32 ? 4 : 2;
    return (const char *)base + i * size;
}

/* n < VF: only the first n elements. */
INLINE vf load(rmsnorm_type type, const void *base, int64_t i, int n)
{
    const void *p = at(type, base, i);
    const bool whole = n >= VF;
    switch (type) {
    case F32: return whole ? vf_load_f32(p) : vf_load_n_f32(p, n);
    case F16: return whole ? vf_load_f16(p) : vf_load_n_f16(p, n);
    case BF16: return whole ? vf_load_bf16(p) : vf_load_n_bf16(p, n);
    default: return vf_narrow(whole ? vw_load(p) : vw_load_n(p, n));
    }
}

INLINE vw load_wide(rmsnorm_type type, const void *base, int64_t i, int n)
{
    if (type == F64) {
        const void *p = at(type, base, i);
        return n >= VF ? vw_load(p) : vw_load_n(p, n);
    }
    return vw_widen(load(type, base, i, n));
}

INLINE void store(rmsnorm_type type, void *base, int64_t i, vf a, int n)
{
    void *p = (char *)base + ((const char *)at(type, base, i) - (const char *)base);
    const bool whole = n >= VF;
    switch (type) {
    case F32: whole ? vf_store_f32(p, a) : vf_store_n_f32(p, a, n); break;
    case F16: whole ? vf_store_f16(p, a) : vf_store_n_f16(p, a, n); break;
    default: whole ? vf_store_bf16(p, a) : vf_store_n_bf16(p, a, n); break;
    }
}

INLINE vf narrow_for(rmsnorm_type type, vw a)
{
    return type == F32 ? vf_narrow(a) : vf_narrow_odd(a);
}

INLINE void store_wide(rmsnorm_type type, void *base, int64_t i, vw a, int n)
{
    if (type == F64) {
        double *p = (double *)base + i;
        n >= VF ? vw_store(p, a) : vw_store_n(p, a, n);
    } else {
        store(type, base, i, narrow_for(type, a), n);
    }
}

INLINE vf round_to(rmsnorm_type type, vf a)
{
    return type == F16 ? vf_round_f16(a) : type == BF16 ? vf_round_bf16(a) : a;
}

INLINE vf load_r(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i, int n)
{
    vf r = load(type, row->input, i, n);
    if (residual != PLAIN) {
        r = vf_add(r, load(type, row->skip, i, n));
    }
    if (residual == SKIP_BIAS) {
        r = vf_add(r, load(type, row->bias, i, n));
    }
    return r;
}

/* How many of the elements from i on that vector v of a group may touch. */
INLINE int part(int64_t i, int v, int64_t end)
{
    const int64_t left = end - i - (int64_t)v * VF;
    return left >= VF ? VF : left > 0 ? (int)left : 0;
}

/* ---- pass 1 ---------------------------------------------------------------------------------- */

/* Folds the lanes in halves: lane i + lane i + 16, then + 8, and so on. */
INLINE double fold(const vw *lanes)
{
    double part_sums[RMSNORM_LANES];
    for (int v = 0; v < VECTORS; v++) {
        vw_store(part_sums + v * VF, lanes[v]);
    }
    for (int half = RMSNORM_LANES / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            part_sums[i] += part_sums[i + half];
        }
    }
    return part_sums[0];
}

INLINE void add_exact(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i, int64_t end, vw *lanes)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const vf r = load_r(type, residual, row, i + (int64_t)v * VF, part(i, v, end));
        lanes[v] = vw_add_square(vw_widen(r), lanes[v]);
    }
}

INLINE rmsnorm_sum sum_exact(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t begin, int64_t end)
{
    vw lanes[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_zero();
    }
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        add_exact(type, residual, row, i, i + RMSNORM_LANES, lanes);
    }
    if (i < end) {
        add_exact(type, residual, row, i, end, lanes);
    }
    const rmsnorm_sum sum = {fold(lanes), 0.0};
    return sum;
}

/* One chain: up to CHAIN_LENGTH groups of lanes from i on. */
INLINE void add_chain(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i, int64_t end, vw *lanes)
{
    vf chain[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const vf r = load_r(type, residual, row, i + (int64_t)v * VF, part(i, v, end));
        chain[v] = vf_mul(r, r);
    }
    for (i += RMSNORM_LANES; i < end; i += RMSNORM_LANES) {
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            const vf r = load_r(type, residual, row, i + (int64_t)v * VF, part(i, v, end));
            chain[v] = vf_fma(r, r, chain[v]);
        }
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_add(lanes[v], vw_widen(chain[v]));
    }
}

/* The same with every group whole and their number known, so that the loop unrolls. */
INLINE void add_whole_chain(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i, vw *lanes)
{
    vf chain[VECTORS];
    UNROLL
    for (int g = 0; g < CHAIN_LENGTH; g++) {
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            const vf r = load_r(type, residual, row, i + (int64_t)g * RMSNORM_LANES + (int64_t)v * VF, VF);
            chain[v] = g == 0 ? vf_mul(r, r) : vf_fma(r, r, chain[v]);
        }
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_add(lanes[v], vw_widen(chain[v]));
    }
}

INLINE rmsnorm_sum sum_chain(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t begin, int64_t end)
{
    vw lanes[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_zero();
    }
    int64_t i = begin;
    for (; i <= end - CHAIN_LENGTH * RMSNORM_LANES; i += CHAIN_LENGTH * RMSNORM_LANES) {
        add_whole_chain(type, residual, row, i, lanes);
    }
    if (i < end) {
        add_chain(type, residual, row, i, end, lanes);
    }
    const rmsnorm_sum sum = {fold(lanes), 0.0};
    return sum;
}

/* s + square, with what the addition and the squaring lose gathered in c (Ogita, Rump and Oishi, "Accurate sum and dot
 * product", 2005: as if computed in twice the precision). */
INLINE void add_wide(rmsnorm_type type, const rmsnorm_row *row, int64_t i, int64_t end, vw *sums, vw *errors)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const vw x = load_wide(type, row->input, i + (int64_t)v * VF, part(i, v, end));
        const vw square = vw_mul(x, x);
        const vw square_error = vw_fms(x, x, square);
        const vw sum = vw_add(sums[v], square);
        const vw added = vw_sub(sum, sums[v]);
        const vw sum_error = vw_add(vw_sub(sums[v], vw_sub(sum, added)), vw_sub(square, added));
        errors[v] = vw_add(errors[v], vw_add(sum_error, square_error));
        sums[v] = sum;
    }
}

INLINE rmsnorm_sum sum_wide(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t begin, int64_t end)
{
    (void)residual;
    vw sums[VECTORS];
    vw errors[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        sums[v] = vw_zero();
        errors[v] = vw_zero();
    }
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        add_wide(type, row, i, i + RMSNORM_LANES, sums, errors);
    }
    if (i < end) {
        add_wide(type, row, i, end, sums, errors);
    }
    double high[RMSNORM_LANES];
    double low[RMSNORM_LANES];
    for (int v = 0; v < VECTORS; v++) {
        vw_store(high + v * VF, sums[v]);
        vw_store(low + v * VF, errors[v]);
    }
    rmsnorm_sum total = {0.0, 0.0};
    for (int lane = 0; lane < RMSNORM_LANES; lane++) {
        const rmsnorm_sum one = {high[lane], low[lane]};
        total = rmsnorm_sum_add(total, one);
    }
    return total;
}

/* ---- pass 2 ---------------------------------------------------------------------------------- */

/* One vector of results, before they are stored: y in float, or in double when the last product is one of doubles. */
typedef struct result {
    vf y;
    vw wide;
    vf r;
} result;

INLINE bool multiplies_wide(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y)
{
    return form == ONCE_WIDE || type_x == F64 || type_y == F64;
}

INLINE result scale_one(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual,
                        const rmsnorm_row *row, const void *gamma, int64_t gamma_index, vf inv, vw inv_wide, int64_t i, int n)
{
    result out;
    if (form == ONCE || form == TWICE) {
        out.r = load_r(type_x, residual, row, i, n);
        out.y = vf_mul(out.r, inv);
        if (form == TWICE) {
            out.y = round_to(type_x, out.y);
        }
        if (multiplies_wide(form, type_x, type_y)) {
            out.wide = vw_widen(out.y);
        }
    } else {
        out.wide = vw_mul(load_wide(type_x, row->input, i, n), inv_wide);
        if (form == TWICE_WIDE) {
            out.y = round_to(type_x, narrow_for(type_x, out.wide));
            out.wide = vw_widen(out.y);
        }
    }
    if (multiplies_wide(form, type_x, type_y)) {
        out.wide = vw_mul(out.wide, load_wide(type_y, gamma, gamma_index, n));
    } else {
        out.y = vf_mul(out.y, load(type_y, gamma, gamma_index, n));
    }
    return out;
}

INLINE void scale_group(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual, bool sum,
                        const rmsnorm_row *row, const void *gamma, vf inv, vw inv_wide, int64_t i, int64_t end)
{
    result out[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        out[v] = scale_one(form, type_x, type_y, residual, row, gamma, (int64_t)v * VF, inv, inv_wide, i + (int64_t)v * VF,
                           part(i, v, end));
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const int n = part(i, v, end);
        if (sum) {
            store(type_x, row->sum, i + (int64_t)v * VF, out[v].r, n);
        }
        if (multiplies_wide(form, type_x, type_y)) {
            store_wide(type_y, row->output, i + (int64_t)v * VF, out[v].wide, n);
        } else {
            store(type_y, row->output, i + (int64_t)v * VF, out[v].y, n);
        }
    }
}

INLINE void scale(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual, bool sum,
                  const rmsnorm_row *row, const void *gamma, int64_t gamma_step, double inv, int64_t begin, int64_t end)
{
    const vf inv_float = vf_set((float)inv);
    const vw inv_wide = vw_set(inv);
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        scale_group(form, type_x, type_y, residual, sum, row, gamma, inv_float, inv_wide, i, i + RMSNORM_LANES);
        gamma = at(type_y, gamma, gamma_step);
    }
    if (i < end) {
        scale_group(form, type_x, type_y, residual, sum, row, gamma, inv_float, inv_wide, i, end);
    }
}

/* ---- the instances and their table ----------------------------------------------------------- */

#define SUM_CHAIN sum_chain
#define SUM_EXACT sum_exact
#define SUM_WIDE sum_wide
#define SUM(method, type, residual)                                                                                   \
    static rmsnorm_sum sum_##method##_##type##_##residual(const rmsnorm_row *row, int64_t begin, int64_t end)         \
    {                                                                                                                 \
        return SUM_##method(type, residual, row, begin, end);                                                         \
    }
#define SCALE(form, type_x, type_y)                                                                                   \
    static void scale_##form##_##type_x##_##type_y(const rmsnorm_row *row, const void *gamma, int64_t gamma_step,     \
                                                   double inv, int64_t begin, int64_t end)                            \
    {                                                                                                                 \
        scale(form, type_x, type_y, PLAIN, false, row, gamma, gamma_step, inv, begin, end);                           \
    }
#define SCALE_RESIDUAL(type, residual, sum)                                                                           \
    static void scale_##residual##_##type##_##sum(const rmsnorm_row *row, const void *gamma, int64_t gamma_step,      \
                                                  double inv, int64_t begin, int64_t end)                             \
    {                                                                                                                 \
        scale(ONCE, type, type, residual, sum, row, gamma, gamma_step, inv, begin, end);                              \
    }
#include "cpu/kernels.inc"

const rmsnorm_kernels TABLE = {
#define SUM(method, type, residual) .sum[method][type][residual] = sum_##method##_##type##_##residual,
#define SCALE(form, type_x, type_y) .scale[form][type_x][type_y] = scale_##form##_##type_x##_##type_y,
#define SCALE_RESIDUAL(type, residual, with) .scale_residual[type][residual][with] = scale_##residual##_##type##_##with,
#include "cpu/kernels.inc"
};
