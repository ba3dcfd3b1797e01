/* vec_avx512.h: the vector verbs in AVX-512 (F, BW, DQ, VL): 16 lanes. The verbs: vec_scalar.h. */
#ifndef RMSNORM_CPU_VEC_AVX512_H
#define RMSNORM_CPU_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>

#define VF 16
typedef __m512 vf;
typedef struct vw {
    __m512d low, high;
} vw;

static inline vf vf_zero(void) { return _mm512_setzero_ps(); }
static inline vf vf_set(float a) { return _mm512_set1_ps(a); }
static inline vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }

static inline vf widen_bf16(__m256i a) { return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(a), 16)); }

/* To nearest even by integer addition, in the upper halves of the lanes. A NaN that comes here is gamma's: its lower half is 0, it
 * stays one. */
static inline __m512i nearest_even_bf16(vf a)
{
    const __m512i bits = _mm512_castps_si512(a);
    const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    const __m512i biased = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    return _mm512_mask_sub_epi32(biased, odd, biased, _mm512_set1_epi32(-1));
}

static inline vf vf_load_f32(const void *p) { return _mm512_loadu_ps(p); }
static inline vf vf_load_f16(const void *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
static inline vf vf_load_bf16(const void *p) { return widen_bf16(_mm256_loadu_si256((const __m256i *)p)); }
static inline void vf_store_f32(void *p, vf a) { _mm512_storeu_ps(p, a); }

/* The masked form with a full mask: gcc's unmasked one is a macro that does not pass -Wconversion without optimization. */
static inline __m256i narrow_f16(vf a)
{
    return _mm512_maskz_cvtps_ph((__mmask16)0xffff, a, _MM_FROUND_TO_NEAREST_INT);
}
static inline __m256i narrow_bf16(vf a) { return _mm512_cvtepi32_epi16(_mm512_srli_epi32(nearest_even_bf16(a), 16)); }
static inline void vf_store_f16(void *p, vf a) { _mm256_storeu_si256((__m256i *)p, narrow_f16(a)); }
static inline void vf_store_bf16(void *p, vf a) { _mm256_storeu_si256((__m256i *)p, narrow_bf16(a)); }

static inline __mmask16 first_lanes(int n) { return (__mmask16)((1u << n) - 1u); }
static inline vf vf_load_n_f32(const void *p, int n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
static inline vf vf_load_n_f16(const void *p, int n)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
static inline vf vf_load_n_bf16(const void *p, int n)
{
    return widen_bf16(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
static inline void vf_store_n_f32(void *p, vf a, int n) { _mm512_mask_storeu_ps(p, first_lanes(n), a); }
static inline void vf_store_n_f16(void *p, vf a, int n) { _mm256_mask_storeu_epi16(p, first_lanes(n), narrow_f16(a)); }
static inline void vf_store_n_bf16(void *p, vf a, int n)
{
    _mm256_mask_storeu_epi16(p, first_lanes(n), narrow_bf16(a));
}

/* Pairs of bfloat16 vectors, 32 elements: the even ones and the odd ones, which sit in a 32-bit lane where a float has them. */
static inline void even_and_odd(__m512i a, vf *even, vf *odd)
{
    *even = _mm512_castsi512_ps(_mm512_slli_epi32(a, 16));
    *odd = _mm512_castsi512_ps(_mm512_and_si512(a, _mm512_set1_epi32((int)0xffff0000u)));
}

static inline void vf_load2_bf16(const void *p, vf *even, vf *odd) { even_and_odd(_mm512_loadu_si512(p), even, odd); }

static inline void vf_load2_n_bf16(const void *p, int n, vf *even, vf *odd)
{
    even_and_odd(_mm512_maskz_loadu_epi16((__mmask32)(((uint64_t)1 << n) - 1), p), even, odd);
}

static inline __m512i merge_bf16(vf even, vf odd)
{
    return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(nearest_even_bf16(even), 16), nearest_even_bf16(odd));
}

static inline void vf_store2_bf16(void *p, vf even, vf odd) { _mm512_storeu_si512(p, merge_bf16(even, odd)); }

/* Macros, because gcc 12 takes a function that does nothing but this for one without effect. */
#define vf_prefetch_input(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)
#define vf_prefetch_output(p) __builtin_prefetch(p, 1, 3)

static inline void vf_stream_fence(void) { _mm_sfence(); }
static inline void vf_stream_f32(void *p, vf a) { _mm512_stream_ps(p, a); }

static inline void vf_stream2_f16(void *p, vf first, vf second)
{
    _mm512_stream_si512(p, _mm512_inserti64x4(_mm512_castsi256_si512(narrow_f16(first)), narrow_f16(second), 1));
}

static inline void vf_stream_two_bf16(void *p, vf first, vf second)
{
    _mm512_stream_si512(p, _mm512_inserti64x4(_mm512_castsi256_si512(narrow_bf16(first)), narrow_bf16(second), 1));
}

static inline void vf_stream2_bf16(void *p, vf even, vf odd) { _mm512_stream_si512(p, merge_bf16(even, odd)); }

static inline void vf_store2_n_bf16(void *p, vf even, vf odd, int n)
{
    _mm512_mask_storeu_epi16(p, (__mmask32)(((uint64_t)1 << n) - 1), merge_bf16(even, odd));
}

static inline vf vf_round_f16(vf a) { return _mm512_cvtph_ps(narrow_f16(a)); }
static inline vf vf_round_bf16(vf a)
{
    return _mm512_castsi512_ps(_mm512_and_si512(nearest_even_bf16(a), _mm512_set1_epi32((int)0xffff0000u)));
}

static inline vw vw_pair(__m512d low, __m512d high)
{
    const vw pair = {low, high};
    return pair;
}

static inline vw vw_set(double a) { return vw_pair(_mm512_set1_pd(a), _mm512_set1_pd(a)); }
static inline vw vw_zero(void) { return vw_set(0.0); }
static inline vw vw_add(vw a, vw b) { return vw_pair(_mm512_add_pd(a.low, b.low), _mm512_add_pd(a.high, b.high)); }
static inline vw vw_sub(vw a, vw b) { return vw_pair(_mm512_sub_pd(a.low, b.low), _mm512_sub_pd(a.high, b.high)); }
static inline vw vw_mul(vw a, vw b) { return vw_pair(_mm512_mul_pd(a.low, b.low), _mm512_mul_pd(a.high, b.high)); }

static inline vw vw_fms(vw a, vw b, vw c)
{
    return vw_pair(_mm512_fmsub_pd(a.low, b.low, c.low), _mm512_fmsub_pd(a.high, b.high, c.high));
}

static inline vw vw_add_square(vw a, vw c)
{
    return vw_pair(_mm512_fmadd_pd(a.low, a.low, c.low), _mm512_fmadd_pd(a.high, a.high, c.high));
}

static inline vf vf_mul_gamma(vf a, vf g) { return vf_mul(a, g); }
static inline vw vw_mul_gamma(vw a, vw g) { return vw_mul(a, g); }

/* The lanes added up in halves. */
static inline double vw_fold(vw a)
{
    const __m512d eight = _mm512_add_pd(a.low, a.high);
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd(eight, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
}

static inline vw vw_load(const void *p) { return vw_pair(_mm512_loadu_pd(p), _mm512_loadu_pd((const double *)p + 8)); }

static inline void vw_store(void *p, vw a)
{
    _mm512_storeu_pd(p, a.low);
    _mm512_storeu_pd((double *)p + 8, a.high);
}

static inline vw vw_load_n(const void *p, int n)
{
    const unsigned lanes = first_lanes(n);
    return vw_pair(_mm512_maskz_loadu_pd((__mmask8)lanes, p),
                   _mm512_maskz_loadu_pd((__mmask8)(lanes >> 8), (const double *)p + 8));
}

static inline void vw_store_n(void *p, vw a, int n)
{
    const unsigned lanes = first_lanes(n);
    _mm512_mask_storeu_pd(p, (__mmask8)lanes, a.low);
    _mm512_mask_storeu_pd((double *)p + 8, (__mmask8)(lanes >> 8), a.high);
}

static inline vw vw_widen(vf a)
{
    return vw_pair(_mm512_cvtps_pd(_mm512_castps512_ps256(a)), _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)));
}

static inline vw vw_load_f32(const void *p)
{
    return vw_pair(_mm512_cvtps_pd(_mm256_loadu_ps((const float *)p)),
                   _mm512_cvtps_pd(_mm256_loadu_ps((const float *)p + 8)));
}

static inline vf vf_narrow(vw a)
{
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a.low)), _mm512_cvtpd_ps(a.high), 1);
}

/* convert.h's float_of_double_odd, up to the conversion */
static inline __m512d keep_lost_bits(__m512d a)
{
    const __m512i bits = _mm512_castpd_si512(a);
    const __m512i low = _mm512_set1_epi64(0x1fffffff);
    const __m512i kept = _mm512_andnot_si512(low, bits);
    return _mm512_castsi512_pd(
        _mm512_mask_or_epi64(kept, _mm512_test_epi64_mask(bits, low), kept, _mm512_set1_epi64(0x20000000)));
}

static inline vf vf_narrow_odd(vw a) { return vf_narrow(vw_pair(keep_lost_bits(a.low), keep_lost_bits(a.high))); }

#endif
