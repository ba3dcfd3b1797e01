/* groups.inl: part of rows.inl. Groups of lanes: how they are loaded, made and stored. */
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

/* Groups of lanes in one chain of float multiply-adds: the bound 2 * 2^-24 on its share of the error of inv. */
#define CHAIN_LENGTH 4

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
        } else {
            vf_stream_two_bf16(p, group[v], group[v + 1]);
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

/* r as it is in registers, group by group: whole groups, so n does not matter. */
INLINE void load_kept(const float *kept, int64_t i, vf *r)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        r[v] = vf_load_f32(kept + i + v * VF);
    }
}

INLINE void keep_r(rmsnorm_type type, float *kept, int64_t i, int n, const vf *r)
{
    UNROLL
    for (int v = 0; v < VECTORS; v++) {
        store(F32, kept, i + v * VF, r[v], type == F32 ? part(n, v, VF) : VF);
    }
}

INLINE void widen(rmsnorm_type type, const void *gamma, float *wide, int64_t n)
{
    vf g[VECTORS];
    for (int64_t i = 0; i < n; i += RMSNORM_LANES) {
        const int left = n - i < RMSNORM_LANES ? (int)(n - i) : RMSNORM_LANES;
        load_group(type, type == BF16, at(type, gamma, i), 0, left, g);
        keep_r(type, wide, i, left, g);
    }
}
