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

INLINE int64_t size_of(rmsnorm_type type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

INLINE const void *at(rmsnorm_type type, const void *base, int64_t i) { return (const char *)base + i * size_of(type); }

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
    void *p = (char *)base + i * size_of(type);
    const bool whole = n >= VF;
    switch (type) {
    case F32: whole ? vf_store_f32(p, a) : vf_store_n_f32(p, a, n); break;
    case F16: whole ? vf_store_f16(p, a) : vf_store_n_f16(p, a, n); break;
    default: whole ? vf_store_bf16(p, a) : vf_store_n_bf16(p, a, n); break;
    }
}

INLINE vf narrow_for(rmsnorm_type type, vw a) { return type == F32 ? vf_narrow(a) : vf_narrow_odd(a); }

INLINE void store_wide(rmsnorm_type type, void *base, int64_t i, vw a, int n)
{
    if (type == F64) {
        void *p = (char *)base + i * size_of(type);
        n >= VF ? vw_store(p, a) : vw_store_n(p, a, n);
    } else {
        store(type, base, i, narrow_for(type, a), n);
    }
}

INLINE vf round_to(rmsnorm_type type, vf a)
{
    return type == F16 ? vf_round_f16(a) : type == BF16 ? vf_round_bf16(a) : a;
}

/* ---- groups of lanes ------------------------------------------------------------------------- */

/* How many of a group's n elements vector v may touch, of those that hold `each`. */
INLINE int part(int n, int v, int each)
{
    const int left = n - v * VF;
    return left >= each ? each : left > 0 ? left : 0;
}

/* The elements [i, i + n) as a group. paired: two vectors of bfloat16 hold the even and the odd elements of twice as many,
 * which a shift and a mask separate; good wherever all buffers of a loop do it, and undone by `fold`. */
INLINE void load_group(rmsnorm_type type, bool paired, const void *base, int64_t i, int n, vf *group)
{
    UNROLL
    for (int v = 0; v < VECTORS; v += paired ? 2 : 1) {
        if (!paired) {
            group[v] = load(type, base, i + v * VF, part(n, v, VF));
        } else if (part(n, v, 2 * VF) == 2 * VF) {
            vf_load2_bf16(at(type, base, i + v * VF), &group[v], &group[v + 1]);
        } else {
            vf_load2_n_bf16(at(type, base, i + v * VF), part(n, v, 2 * VF), &group[v], &group[v + 1]);
        }
    }
}

INLINE void store_group(rmsnorm_type type, bool paired, void *base, int64_t i, int n, const vf *group)
{
    UNROLL
    for (int v = 0; v < VECTORS; v += paired ? 2 : 1) {
        void *p = (char *)base + (i + v * VF) * size_of(type);
        if (!paired) {
            store(type, base, i + v * VF, group[v], part(n, v, VF));
        } else if (part(n, v, 2 * VF) == 2 * VF) {
            vf_store2_bf16(p, group[v], group[v + 1]);
        } else {
            vf_store2_n_bf16(p, group[v], group[v + 1], part(n, v, 2 * VF));
        }
    }
}

/* store_group past the cache: n is whole and the place a multiple of 64 bytes. */
INLINE void stream_group(rmsnorm_type type, bool paired, void *base, int64_t i, const vf *group)
{
    UNROLL
    for (int v = 0; v < VECTORS; v += type == F32 ? 1 : 2) {
        void *p = (char *)base + (i + v * VF) * size_of(type);
        if (type == F32) {
            vf_stream_f32(p, group[v]);
        } else if (type == F16) {
            vf_stream2_f16(p, group[v], group[v + 1]);
        } else if (paired) {
            vf_stream2_bf16(p, group[v], group[v + 1]);
        }
    }
}

INLINE void load_r(rmsnorm_type type, rmsnorm_residual residual, bool paired, const rmsnorm_row *row, int64_t i, int n,
                   vf *r)
{
    vf term[VECTORS];
    load_group(type, paired, row->input, i, n, r);
    if (residual != PLAIN) {
        load_group(type, paired, row->skip, i, n, term);
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            r[v] = vf_add(r[v], term[v]);
        }
    }
    if (residual == SKIP_BIAS) {
        load_group(type, paired, row->bias, i, n, term);
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            r[v] = vf_add(r[v], term[v]);
        }
    }
}

/* ---- pass 1 ---------------------------------------------------------------------------------- */

INLINE void clear(vw *lanes)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_zero();
    }
}

/* Folds the lanes in halves: lane i + lane i + 16, then + 8, and so on: first whole vectors, then within one. Of a pair the even
 * and the odd lanes are folded apart, and the last half is the one of the other. */
INLINE rmsnorm_sum fold(bool paired, vw *lanes)
{
    const int apart = paired ? 2 : 1;
    UNROLL
    for (int half = VECTORS / 2; half >= apart; half /= 2) {
        for (int v = 0; v < half; v++) {
            lanes[v] = vw_add(lanes[v], lanes[v + half]);
        }
    }
    const rmsnorm_sum sum = {paired ? vw_fold(lanes[0]) + vw_fold(lanes[1]) : vw_fold(lanes[0]), 0.0};
    return sum;
}

INLINE void add_exact(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i, int n, vw *lanes)
{
    if (type == F32 && residual == PLAIN && n == RMSNORM_LANES) { /* widened as they are loaded, without a shuffle */
        UNROLL
        for (int v = 0; v < VECTORS; v++) {
            lanes[v] = vw_add_square(vw_load_f32(at(type, row->input, i + v * VF)), lanes[v]);
        }
        return;
    }
    vf r[VECTORS];
    load_r(type, residual, type == BF16, row, i, n, r);
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_add_square(vw_widen(r[v]), lanes[v]);
    }
}

INLINE rmsnorm_sum sum_exact(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t begin,
                             int64_t end)
{
    vw lanes[VECTORS];
    clear(lanes);
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        add_exact(type, residual, row, i, RMSNORM_LANES, lanes);
    }
    if (i < end) {
        add_exact(type, residual, row, i, (int)(end - i), lanes);
    }
    return fold(type == BF16, lanes);
}

INLINE void start_chain(vf *chain)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        chain[v] = vf_zero();
    }
}

INLINE void add_link(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i, int n, vf *chain)
{
    vf r[VECTORS];
    load_r(type, residual, type == BF16, row, i, n, r);
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        chain[v] = vf_fma(r[v], r[v], chain[v]);
    }
}

INLINE void add_chain(const vf *chain, vw *lanes)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        lanes[v] = vw_add(lanes[v], vw_widen(chain[v]));
    }
}

INLINE rmsnorm_sum sum_chain(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t begin,
                             int64_t end)
{
    vw lanes[VECTORS];
    vf chain[VECTORS];
    clear(lanes);
    int64_t i = begin;
    while (i <= end - CHAIN_LENGTH * RMSNORM_LANES) {
        start_chain(chain);
        UNROLL
        for (int link = 0; link < CHAIN_LENGTH; link++, i += RMSNORM_LANES) {
            add_link(type, residual, row, i, RMSNORM_LANES, chain);
        }
        add_chain(chain, lanes);
    }
    if (i < end) { /* the last chain is shorter, and its last link may be */
        start_chain(chain);
        for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
            add_link(type, residual, row, i, RMSNORM_LANES, chain);
        }
        if (i < end) {
            add_link(type, residual, row, i, (int)(end - i), chain);
        }
        add_chain(chain, lanes);
    }
    return fold(type == BF16, lanes);
}

/* s + square, with what the addition and the squaring lose gathered in errors (Ogita, Rump and Oishi, "Accurate sum and dot
 * product", 2005: as if computed in twice the precision). */
INLINE void add_wide(rmsnorm_type type, const rmsnorm_row *row, int64_t i, int n, vw *sums, vw *errors)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const vw x = load_wide(type, row->input, i + v * VF, part(n, v, VF));
        const vw square = vw_mul(x, x);
        const vw square_error = vw_fms(x, x, square);
        const vw sum = vw_add(sums[v], square);
        const vw added = vw_sub(sum, sums[v]);
        const vw sum_error = vw_add(vw_sub(sums[v], vw_sub(sum, added)), vw_sub(square, added));
        errors[v] = vw_add(errors[v], vw_add(sum_error, square_error));
        sums[v] = sum;
    }
}

INLINE rmsnorm_sum sum_wide(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t begin,
                            int64_t end)
{
    (void)residual;
    vw sums[VECTORS];
    vw errors[VECTORS];
    clear(sums);
    clear(errors);
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        add_wide(type, row, i, RMSNORM_LANES, sums, errors);
    }
    if (i < end) {
        add_wide(type, row, i, (int)(end - i), sums, errors);
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

INLINE bool multiplies_wide(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y)
{
    return form == ONCE_WIDE || type_x == F64 || type_y == F64;
}

/* All in float: r, its scaling, gamma and the results as groups; every load comes before the first store. */
INLINE void scale_floats(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual,
                         bool sum, bool stream, const rmsnorm_row *row, const void *gamma, vf inv, int64_t i, int n)
{
    const bool paired = type_x == BF16 && type_y == BF16;
    vf r[VECTORS];
    vf g[VECTORS];
    vf y[VECTORS];
    load_r(type_x, residual, paired, row, i, n, r);
    load_group(type_y, paired, gamma, 0, n, g);
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        y[v] = vf_mul(r[v], inv);
        if (form == TWICE) {
            y[v] = round_to(type_x, y[v]);
        }
        y[v] = vf_mul_gamma(y[v], g[v]);
    }
    if (sum) {
        stream ? stream_group(type_x, paired, row->sum, i, r) : store_group(type_x, paired, row->sum, i, n, r);
    }
    stream ? stream_group(type_y, paired, row->output, i, y) : store_group(type_y, paired, row->output, i, n, y);
}

/* One vector of T(r * inv) where double is involved: in the stage, in the last product, or in both. */
INLINE vw normalize_wide(rmsnorm_form form, rmsnorm_type type, const rmsnorm_row *row, vf inv, vw inv_wide, int64_t i,
                         int n)
{
    if (form == TWICE) {
        return vw_widen(round_to(type, vf_mul(load(type, row->input, i, n), inv)));
    }
    const vw y = vw_mul(load_wide(type, row->input, i, n), inv_wide);
    return form == ONCE_WIDE ? y : vw_widen(round_to(type, narrow_for(type, y)));
}

INLINE void scale_doubles(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, const rmsnorm_row *row,
                          const void *gamma, vf inv, vw inv_wide, int64_t i, int n)
{
    vw y[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        const int touched = part(n, v, VF);
        y[v] = normalize_wide(form, type_x, row, inv, inv_wide, i + v * VF, touched);
        if (multiplies_wide(form, type_x, type_y)) {
            y[v] = vw_mul_gamma(y[v], load_wide(type_y, gamma, v * VF, touched));
        } else { /* both factors are floats, and so is the product */
            y[v] = vw_widen(vf_mul_gamma(vf_narrow(y[v]), load(type_y, gamma, v * VF, touched)));
        }
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        store_wide(type_y, row->output, i + v * VF, y[v], part(n, v, VF));
    }
}

INLINE void scale_group(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual,
                        bool sum, const rmsnorm_row *row, const void *gamma, vf inv, vw inv_wide, int64_t i, int n)
{
    if (form == ONCE || (form == TWICE && !multiplies_wide(form, type_x, type_y))) {
        scale_floats(form, type_x, type_y, residual, sum, false, row, gamma, inv, i, n);
    } else {
        scale_doubles(form, type_x, type_y, row, gamma, inv, inv_wide, i, n);
    }
}

INLINE void scale(rmsnorm_form form, rmsnorm_type type_x, rmsnorm_type type_y, rmsnorm_residual residual, bool sum,
                  const rmsnorm_row *row, const void *gamma, int64_t gamma_step, double inv, int64_t begin, int64_t end)
{
    const vf inv_float = vf_set((float)inv);
    const vw inv_wide = vw_set(inv);
    int64_t i = begin;
    for (; i <= end - RMSNORM_LANES; i += RMSNORM_LANES) {
        scale_group(form, type_x, type_y, residual, sum, row, gamma, inv_float, inv_wide, i, RMSNORM_LANES);
        gamma = at(type_y, gamma, gamma_step);
    }
    if (i < end) {
        scale_group(form, type_x, type_y, residual, sum, row, gamma, inv_float, inv_wide, i, (int)(end - i));
    }
}

/* ---- both passes at once --------------------------------------------------------------------- */

#define LINE 64 /* bytes */
/* How far ahead of its stores a row's outputs are asked for, in bytes. */
#define OUTPUT_AHEAD 2048
/* A row that comes from memory is read ahead, and written, at several places in turn: so many pages are looked up, and so
 * many banks of memory busy, at once. */
#define PLACES_MAXIMUM 4
#define PLACE 4096 /* bytes, at least: a page */

INLINE void prefetch_inputs(rmsnorm_type type, rmsnorm_residual residual, const rmsnorm_row *row, int64_t i)
{
    UNROLL
    for (int64_t byte = 0; byte < RMSNORM_LANES * size_of(type); byte += LINE) {
        vf_prefetch_input((const char *)at(type, row->input, i) + byte);
        if (residual != PLAIN) {
            vf_prefetch_input((const char *)at(type, row->skip, i) + byte);
        }
    }
}

INLINE void prefetch_outputs(rmsnorm_type type, bool sum, const rmsnorm_row *row, int64_t i)
{
    UNROLL
    for (int64_t byte = OUTPUT_AHEAD; byte < OUTPUT_AHEAD + RMSNORM_LANES * size_of(type); byte += LINE) {
        vf_prefetch_output((const char *)at(type, row->output, i) + byte);
        if (sum) {
            vf_prefetch_output((const char *)at(type, row->sum, i) + byte);
        }
    }
}

/* The groups of a row, one place after the other, each of a group's first element; those that are left over come last. */
typedef struct places {
    int64_t count, length, place, begin, next;
} places;

INLINE places places_of(rmsnorm_type type, int64_t n)
{
    const int64_t pages = n * size_of(type) / PLACE;
    const int64_t count = pages < 1 ? 1 : pages < PLACES_MAXIMUM ? pages : PLACES_MAXIMUM;
    const places all = {count, n / (count * RMSNORM_LANES) * RMSNORM_LANES, 0, 0, 0};
    return all;
}

INLINE int64_t next_group(places *all)
{
    const int64_t i = all->next;
    all->place++;
    all->next += all->length;
    if (all->place >= all->count) {
        all->begin += RMSNORM_LANES;
        if (all->begin < all->length) {
            all->place = 0;
            all->next = all->begin;
        } else {
            all->next = all->count * all->length + (all->begin - all->length);
        }
    }
    return i;
}

/* Scales a row while it sums the next one: reading from memory and writing to it overlap. The sum is that of the sum kernels:
 * the same links, chains and lanes. */
INLINE rmsnorm_sum step(rmsnorm_form form, rmsnorm_type type, rmsnorm_residual residual, bool sum, bool stream,
                        const rmsnorm_row *row, const void *gamma, double inv, const rmsnorm_row *next,
                        const rmsnorm_row *ahead, int64_t n)
{
    const bool chains = type != F32;
    const int64_t chain_elements = CHAIN_LENGTH * RMSNORM_LANES;
    const vf inv_float = vf_set((float)inv);
    vw lanes[VECTORS];
    vf chain[VECTORS];
    places turn = places_of(type, n);
    clear(lanes);
    for (int64_t i = 0; i < n;) {
        const int64_t end = chains && n - i > chain_elements ? i + chain_elements : n;
        start_chain(chain);
        for (; i < end; i += RMSNORM_LANES) {
            if (chains) {
                add_link(type, residual, next, i, RMSNORM_LANES, chain);
            } else {
                add_exact(type, residual, next, i, RMSNORM_LANES, lanes);
            }
            const int64_t j = stream ? next_group(&turn) : i;
            if (stream) {
                prefetch_inputs(type, residual, ahead, j);
            } else {
                prefetch_outputs(type, sum, row, i);
            }
            scale_floats(form, type, type, residual, sum, stream, row, at(type, gamma, j), inv_float, j, RMSNORM_LANES);
        }
        if (chains) {
            add_chain(chain, lanes);
        }
    }
    return fold(type == BF16, lanes);
}

/* ---- the instances and their table ----------------------------------------------------------- */

#define SUM_CHAIN sum_chain
#define SUM_EXACT sum_exact
#define SUM_WIDE sum_wide
#define SUM(method, type, residual)                                                                           \
    static rmsnorm_sum sum_##method##_##type##_##residual(const rmsnorm_row *row, int64_t begin, int64_t end) \
    {                                                                                                         \
        return SUM_##method(type, residual, row, begin, end);                                                 \
    }
#define SCALE(form, type_x, type_y)                                                                               \
    static void scale_##form##_##type_x##_##type_y(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, \
                                                   double inv, int64_t begin, int64_t end)                        \
    {                                                                                                             \
        scale(form, type_x, type_y, PLAIN, false, row, gamma, gamma_step, inv, begin, end);                       \
    }
#define SCALE_RESIDUAL(type, residual, sum)                                                                      \
    static void scale_##residual##_##type##_##sum(const rmsnorm_row *row, const void *gamma, int64_t gamma_step, \
                                                  double inv, int64_t begin, int64_t end)                        \
    {                                                                                                            \
        scale(ONCE, type, type, residual, sum, row, gamma, gamma_step, inv, begin, end);                         \
    }
#define STEP(form, type, residual, sum)                                                                       \
    static rmsnorm_sum step_##form##_##type##_##residual##_##sum(const rmsnorm_row *row, const void *gamma,   \
                                                                 double inv, const rmsnorm_row *next,         \
                                                                 const rmsnorm_row *ahead, int64_t n)         \
    {                                                                                                         \
        return step(form, type, residual, sum, false, row, gamma, inv, next, ahead, n);                       \
    }                                                                                                         \
    static rmsnorm_sum stream_##form##_##type##_##residual##_##sum(const rmsnorm_row *row, const void *gamma, \
                                                                   double inv, const rmsnorm_row *next,       \
                                                                   const rmsnorm_row *ahead, int64_t n)       \
    {                                                                                                         \
        return step(form, type, residual, sum, true, row, gamma, inv, next, ahead, n);                        \
    }
#include "cpu/kernels.inc"

static void fence(void) { vf_stream_fence(); }

const rmsnorm_kernels TABLE = {
    .fence = fence,
#define SUM(method, type, residual) .sum[method][type][residual] = sum_##method##_##type##_##residual,
#define SCALE(form, type_x, type_y) .scale[form][type_x][type_y] = scale_##form##_##type_x##_##type_y,
#define SCALE_RESIDUAL(type, residual, with) .scale_residual[type][residual][with] = scale_##residual##_##type##_##with,
#define STEP(form, type, residual, with)                                             \
    .step[form][type][residual][with] = {step_##form##_##type##_##residual##_##with, \
                                         stream_##form##_##type##_##residual##_##with},
#include "cpu/kernels.inc"
};
