/* vec_neon.h: the vector verbs in NEON (aarch64): 4 lanes. The verbs: vec_scalar.h. */
#ifndef RMSNORM_CPU_VEC_NEON_H
#define RMSNORM_CPU_VEC_NEON_H

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

#define VF 4
typedef float32x4_t vf;
typedef struct vw {
    float64x2_t low, high;
} vw;

static inline vf vf_zero(void) { return vdupq_n_f32(0.0f); }
static inline vf vf_set(float a) { return vdupq_n_f32(a); }
static inline vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
static inline vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }

/* x86 makes the NaN of 0 * infinity negative, aarch64 positive; here as there. Another NaN is g's, on both. */
static inline vf vf_mul_gamma(vf a, vf g)
{
    const vf y = vmulq_f32(a, g);
    const uint32x4_t made = vbicq_u32(vceqq_f32(g, g), vceqq_f32(y, y));
    const uint32x4_t sign = vandq_u32(made, vdupq_n_u32(0x80000000u));
    return vreinterpretq_f32_u32(vorrq_u32(vreinterpretq_u32_f32(y), sign));
}

/* Elements come as bytes, so that no address needs to be aligned. */
static inline uint16x4_t load_4x16(const void *p) { return vreinterpret_u16_u8(vld1_u8((const uint8_t *)p)); }
static inline void store_4x16(void *p, uint16x4_t a) { vst1_u8((uint8_t *)p, vreinterpret_u8_u16(a)); }

static inline vf widen_f16(uint16x4_t a) { return vcvt_f32_f16(vreinterpret_f16_u16(a)); }
static inline uint16x4_t narrow_f16(vf a) { return vreinterpret_u16_f16(vcvt_f16_f32(a)); }
static inline vf widen_bf16(uint16x4_t a) { return vreinterpretq_f32_u32(vshll_n_u16(a, 16)); }

/* To nearest even by integer addition, in the upper halves of the lanes. A NaN that comes here is gamma's: its lower half is 0,
 * it stays one. */
static inline uint32x4_t nearest_even_bf16(vf a)
{
    const uint32x4_t bits = vreinterpretq_u32_f32(a);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    return vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7fff)), odd);
}

static inline uint16x4_t narrow_bf16(vf a) { return vshrn_n_u32(nearest_even_bf16(a), 16); }

static inline vf vf_load_f32(const void *p) { return vreinterpretq_f32_u8(vld1q_u8((const uint8_t *)p)); }
static inline vf vf_load_f16(const void *p) { return widen_f16(load_4x16(p)); }
static inline vf vf_load_bf16(const void *p) { return widen_bf16(load_4x16(p)); }
static inline void vf_store_f32(void *p, vf a) { vst1q_u8((uint8_t *)p, vreinterpretq_u8_f32(a)); }
static inline void vf_store_f16(void *p, vf a) { store_4x16(p, narrow_f16(a)); }
static inline void vf_store_bf16(void *p, vf a) { store_4x16(p, narrow_bf16(a)); }

/* There is no masked move: the last elements of a row go through one vector of stack. */
static inline uint16x4_t load_n_4x16(const void *p, int n)
{
    uint16_t part[4] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    return load_4x16(part);
}

static inline void store_n_4x16(void *p, uint16x4_t a, int n)
{
    uint16_t part[4];
    store_4x16(part, a);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}

static inline vf vf_load_n_f32(const void *p, int n)
{
    float part[4] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    return vf_load_f32(part);
}

static inline vf vf_load_n_f16(const void *p, int n) { return widen_f16(load_n_4x16(p, n)); }
static inline vf vf_load_n_bf16(const void *p, int n) { return widen_bf16(load_n_4x16(p, n)); }

static inline void vf_store_n_f32(void *p, vf a, int n)
{
    float part[4];
    vf_store_f32(part, a);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}

static inline void vf_store_n_f16(void *p, vf a, int n) { store_n_4x16(p, narrow_f16(a), n); }
static inline void vf_store_n_bf16(void *p, vf a, int n) { store_n_4x16(p, narrow_bf16(a), n); }

/* Pairs of bfloat16 vectors, 8 elements: the even ones and the odd ones, which sit in a 32-bit lane where a float has them. */
static inline void vf_load2_bf16(const void *p, vf *even, vf *odd)
{
    const uint32x4_t both = vreinterpretq_u32_u8(vld1q_u8((const uint8_t *)p));
    *even = vreinterpretq_f32_u32(vshlq_n_u32(both, 16));
    *odd = vreinterpretq_f32_u32(vandq_u32(both, vdupq_n_u32(0xffff0000u)));
}

static inline void vf_load2_n_bf16(const void *p, int n, vf *even, vf *odd)
{
    uint16_t part[8] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    vf_load2_bf16(part, even, odd);
}

static inline void vf_store2_bf16(void *p, vf even, vf odd)
{
    const uint32x4_t low = vshrq_n_u32(nearest_even_bf16(even), 16);
    const uint32x4_t high = vandq_u32(nearest_even_bf16(odd), vdupq_n_u32(0xffff0000u));
    vst1q_u8((uint8_t *)p, vreinterpretq_u8_u32(vorrq_u32(low, high)));
}

static inline void vf_store2_n_bf16(void *p, vf even, vf odd, int n)
{
    uint16_t part[8];
    vf_store2_bf16(part, even, odd);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}

/* Intrinsics have no store past the cache. */
/* Macros, because gcc 12 takes a function that does nothing but this for one without effect. */
#define vf_prefetch_input(p) __builtin_prefetch(p, 0, 2)
#define vf_prefetch_output(p) __builtin_prefetch(p, 1, 3)

static inline void vf_stream_fence(void) {}
static inline void vf_stream_f32(void *p, vf a) { vf_store_f32(p, a); }

static inline void vf_stream2_f16(void *p, vf first, vf second)
{
    vf_store_f16(p, first);
    vf_store_f16((char *)p + 8, second);
}

static inline void vf_stream_two_bf16(void *p, vf first, vf second)
{
    vf_store_bf16(p, first);
    vf_store_bf16((uint16_t *)p + VF, second);
}

static inline void vf_stream2_bf16(void *p, vf even, vf odd) { vf_store2_bf16(p, even, odd); }

static inline vf vf_round_f16(vf a) { return widen_f16(narrow_f16(a)); }

static inline vf vf_round_bf16(vf a)
{
    return vreinterpretq_f32_u32(vandq_u32(nearest_even_bf16(a), vdupq_n_u32(0xffff0000u)));
}

static inline vw vw_pair(float64x2_t low, float64x2_t high)
{
    const vw pair = {low, high};
    return pair;
}

static inline vw vw_set(double a) { return vw_pair(vdupq_n_f64(a), vdupq_n_f64(a)); }
static inline vw vw_zero(void) { return vw_set(0.0); }
static inline vw vw_add(vw a, vw b) { return vw_pair(vaddq_f64(a.low, b.low), vaddq_f64(a.high, b.high)); }
static inline vw vw_sub(vw a, vw b) { return vw_pair(vsubq_f64(a.low, b.low), vsubq_f64(a.high, b.high)); }
static inline vw vw_mul(vw a, vw b) { return vw_pair(vmulq_f64(a.low, b.low), vmulq_f64(a.high, b.high)); }

static inline vw vw_mul_gamma(vw a, vw g)
{
    const uint64x2_t sign = vdupq_n_u64((uint64_t)1 << 63);
    const vw y = vw_mul(a, g);
    const uint64x2_t low = vandq_u64(vbicq_u64(vceqq_f64(g.low, g.low), vceqq_f64(y.low, y.low)), sign);
    const uint64x2_t high = vandq_u64(vbicq_u64(vceqq_f64(g.high, g.high), vceqq_f64(y.high, y.high)), sign);
    return vw_pair(vreinterpretq_f64_u64(vorrq_u64(vreinterpretq_u64_f64(y.low), low)),
                   vreinterpretq_f64_u64(vorrq_u64(vreinterpretq_u64_f64(y.high), high)));
}

/* a * b - c: vfms is c - a * b */
static inline vw vw_fms(vw a, vw b, vw c)
{
    return vw_pair(vnegq_f64(vfmsq_f64(c.low, a.low, b.low)), vnegq_f64(vfmsq_f64(c.high, a.high, b.high)));
}

static inline vw vw_add_square(vw a, vw c)
{
    return vw_pair(vfmaq_f64(c.low, a.low, a.low), vfmaq_f64(c.high, a.high, a.high));
}

/* The lanes added up in halves. */
static inline double vw_fold(vw a)
{
    const float64x2_t two = vaddq_f64(a.low, a.high);
    return vgetq_lane_f64(two, 0) + vgetq_lane_f64(two, 1);
}

static inline vw vw_load(const void *p)
{
    return vw_pair(vreinterpretq_f64_u8(vld1q_u8((const uint8_t *)p)),
                   vreinterpretq_f64_u8(vld1q_u8((const uint8_t *)p + 16)));
}

static inline void vw_store(void *p, vw a)
{
    vst1q_u8((uint8_t *)p, vreinterpretq_u8_f64(a.low));
    vst1q_u8((uint8_t *)p + 16, vreinterpretq_u8_f64(a.high));
}

static inline vw vw_load_n(const void *p, int n)
{
    double part[4] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    return vw_load(part);
}

static inline void vw_store_n(void *p, vw a, int n)
{
    double part[4];
    vw_store(part, a);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}

static inline vw vw_widen(vf a) { return vw_pair(vcvt_f64_f32(vget_low_f32(a)), vcvt_high_f64_f32(a)); }
static inline vw vw_load_f32(const void *p) { return vw_widen(vf_load_f32(p)); }
static inline vf vf_narrow(vw a) { return vcvt_high_f32_f64(vcvt_f32_f64(a.low), a.high); }
/* The hardware rounds to odd, as convert.h's float_of_double_odd does. */
static inline vf vf_narrow_odd(vw a) { return vcvtx_high_f32_f64(vcvtx_f32_f64(a.low), a.high); }

#endif
