/* vec_scalar.h: the vector verbs for one lane, in plain C. The other vec_<isa>.h spell the same verbs.
 *
 * vf: VF floats. vw: as many doubles. load_n and store_n touch the first n <= VF elements only; missing ones load as 0. */
#ifndef RMSNORM_CPU_VEC_SCALAR_H
#define RMSNORM_CPU_VEC_SCALAR_H

#include <math.h>

#include "cpu/convert.h"

#define VF 1
typedef float vf;
typedef double vw;

static inline vf vf_zero(void) { return 0.0f; }
static inline vf vf_set(float a) { return a; }
static inline vf vf_add(vf a, vf b) { return a + b; }
static inline vf vf_mul(vf a, vf b) { return a * b; }
static inline vf vf_fma(vf a, vf b, vf c) { return fmaf(a, b, c); }

static inline vf vf_load_f32(const void *p)
{
    float a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline vf vf_load_f16(const void *p)
{
    uint16_t a;
    memcpy(&a, p, sizeof a);
    return float_of_f16(a);
}

static inline vf vf_load_bf16(const void *p)
{
    uint16_t a;
    memcpy(&a, p, sizeof a);
    return float_of_bf16(a);
}

static inline void vf_store_f32(void *p, vf a) { memcpy(p, &a, sizeof a); }

static inline void vf_store_f16(void *p, vf a)
{
    const uint16_t half = f16_of_float(a);
    memcpy(p, &half, sizeof half);
}

static inline void vf_store_bf16(void *p, vf a)
{
    const uint16_t half = bf16_of_float(a);
    memcpy(p, &half, sizeof half);
}

/* Stores past the cache, to multiples of 64 bytes. */
#define vf_prefetch_input(p) ((void)(p))
#define vf_prefetch_output(p) ((void)(p))

static inline void vf_stream_fence(void) {}
static inline void vf_stream_f32(void *p, vf a) { vf_store_f32(p, a); }

static inline void vf_stream2_f16(void *p, vf first, vf second)
{
    vf_store_f16(p, first);
    vf_store_f16((char *)p + 2, second);
}

static inline void vf_stream_two_bf16(void *p, vf first, vf second)
{
    vf_store_bf16(p, first);
    vf_store_bf16((uint16_t *)p + VF, second);
}

static inline void vf_stream2_bf16(void *p, vf even, vf odd)
{
    vf_store_bf16(p, even);
    vf_store_bf16((char *)p + 2, odd);
}

static inline vf vf_load_n_f32(const void *p, int n) { return n > 0 ? vf_load_f32(p) : 0.0f; }
static inline vf vf_load_n_f16(const void *p, int n) { return n > 0 ? vf_load_f16(p) : 0.0f; }
static inline vf vf_load_n_bf16(const void *p, int n) { return n > 0 ? vf_load_bf16(p) : 0.0f; }

static inline void vf_store_n_f32(void *p, vf a, int n)
{
    if (n > 0) {
        vf_store_f32(p, a);
    }
}

static inline void vf_store_n_f16(void *p, vf a, int n)
{
    if (n > 0) {
        vf_store_f16(p, a);
    }
}

static inline void vf_store_n_bf16(void *p, vf a, int n)
{
    if (n > 0) {
        vf_store_bf16(p, a);
    }
}

/* Two vectors at once: the elements at even places, and those at odd ones. */
static inline void vf_load2_bf16(const void *p, vf *even, vf *odd)
{
    *even = vf_load_bf16(p);
    *odd = vf_load_bf16((const char *)p + 2);
}

static inline void vf_load2_n_bf16(const void *p, int n, vf *even, vf *odd)
{
    *even = vf_load_n_bf16(p, n);
    *odd = n > 1 ? vf_load_bf16((const char *)p + 2) : 0.0f;
}

static inline void vf_store2_bf16(void *p, vf even, vf odd)
{
    vf_store_bf16(p, even);
    vf_store_bf16((char *)p + 2, odd);
}

static inline void vf_store2_n_bf16(void *p, vf even, vf odd, int n)
{
    vf_store_n_bf16(p, even, n);
    if (n > 1) {
        vf_store_bf16((char *)p + 2, odd);
    }
}

/* To the narrow type and back. */
static inline vf vf_round_f16(vf a) { return float_of_f16(f16_of_float(a)); }
static inline vf vf_round_bf16(vf a) { return float_of_bf16(bf16_of_float(a)); }

static inline vw vw_zero(void) { return 0.0; }
static inline vw vw_set(double a) { return a; }
static inline vw vw_add(vw a, vw b) { return a + b; }
static inline vw vw_sub(vw a, vw b) { return a - b; }
static inline vw vw_mul(vw a, vw b) { return a * b; }
/* a * b - c, fused */
static inline vw vw_fms(vw a, vw b, vw c) { return fma(a, b, -c); }
/* a * a + c for an a that was a float: the square is exact, so fused and unfused are the same */
static inline vw vw_add_square(vw a, vw c) { return c + a * a; }

/* The last product: where 0 * infinity makes a positive NaN, as on aarch64, it becomes negative as on x86. Another NaN is g's. */
static inline vf vf_mul_gamma(vf a, vf g)
{
    const vf y = a * g;
    return isnan(y) && !isnan(g) ? -fabsf(y) : y;
}

static inline vw vw_mul_gamma(vw a, vw g)
{
    const vw y = a * g;
    return isnan(y) && !isnan(g) ? -fabs(y) : y;
}

/* The lanes added up in halves. */
static inline double vw_fold(vw a) { return a; }
static inline vw vw_load(const void *p)
{
    double a;
    memcpy(&a, p, sizeof a);
    return a;
}

static inline void vw_store(void *p, vw a) { memcpy(p, &a, sizeof a); }
static inline vw vw_load_f32(const void *p) { return vf_load_f32(p); }
static inline vw vw_load_n(const void *p, int n) { return n > 0 ? vw_load(p) : 0.0; }

static inline void vw_store_n(void *p, vw a, int n)
{
    if (n > 0) {
        vw_store(p, a);
    }
}

static inline vw vw_widen(vf a) { return a; }
static inline vf vf_narrow(vw a) { return (float)a; }
static inline vf vf_narrow_odd(vw a) { return float_of_double_odd(a); }

#endif
