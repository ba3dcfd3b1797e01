/* vec_avx2.h: the vector verbs in AVX2 with FMA and F16C: 8 lanes. The verbs: vec_scalar.h. */
#ifndef RMSNORM_CPU_VEC_AVX2_H
#define RMSNORM_CPU_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define VF 8
typedef __m256 vf;
typedef struct vw {
    __m256d low, high;
} vw;

static inline vf vf_zero(void) { return _mm256_setzero_ps(); }
static inline vf vf_set(float a) { return _mm256_set1_ps(a); }
static inline vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
static inline vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
static inline vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }

/* 8 bfloat16 <-> the upper halves of 8 floats */
static inline vf widen_bf16(__m128i a) { return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(a), 16)); }

/* To nearest even by integer addition, in the upper halves of the lanes. A NaN that comes here is gamma's: its lower half is 0, it
 * stays one. */
static inline __m256i nearest_even_bf16(vf a)
{
    const __m256i bits = _mm256_castps_si256(a);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
}

static inline __m128i narrow_bf16(vf a)
{
    const __m256i halves = _mm256_srli_epi32(nearest_even_bf16(a), 16);
    return _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

static inline vf vf_load_f32(const void *p) { return _mm256_loadu_ps((const float *)p); }
static inline vf vf_load_f16(const void *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
static inline vf vf_load_bf16(const void *p) { return widen_bf16(_mm_loadu_si128((const __m128i *)p)); }
static inline void vf_store_f32(void *p, vf a) { _mm256_storeu_ps((float *)p, a); }

static inline void vf_store_f16(void *p, vf a)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

static inline void vf_store_bf16(void *p, vf a) { _mm_storeu_si128((__m128i *)p, narrow_bf16(a)); }

/* The first n of 8 32-bit lanes, as the masked moves want them. */
static inline __m256i first_lanes(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* There is no masked move of 16-bit elements: the last ones of a row go through 16 bytes of stack. */
static inline __m128i load_n_16(const void *p, int n)
{
    uint16_t part[8] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    return _mm_loadu_si128((const __m128i *)part);
}

static inline void store_n_16(void *p, __m128i a, int n)
{
    uint16_t part[8];
    _mm_storeu_si128((__m128i *)part, a);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}

static inline vf vf_load_n_f32(const void *p, int n) { return _mm256_maskload_ps((const float *)p, first_lanes(n)); }
static inline vf vf_load_n_f16(const void *p, int n) { return _mm256_cvtph_ps(load_n_16(p, n)); }
static inline vf vf_load_n_bf16(const void *p, int n) { return widen_bf16(load_n_16(p, n)); }
static inline void vf_store_n_f32(void *p, vf a, int n) { _mm256_maskstore_ps((float *)p, first_lanes(n), a); }

static inline void vf_store_n_f16(void *p, vf a, int n)
{
    store_n_16(p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT), n);
}

static inline void vf_store_n_bf16(void *p, vf a, int n) { store_n_16(p, narrow_bf16(a), n); }

/* Pairs of bfloat16 vectors, 16 elements: the even ones and the odd ones, which sit in a 32-bit lane where a float has them. */
static inline void even_and_odd(__m256i a, vf *even, vf *odd)
{
    *even = _mm256_castsi256_ps(_mm256_slli_epi32(a, 16));
    *odd = _mm256_castsi256_ps(_mm256_and_si256(a, _mm256_set1_epi32((int)0xffff0000u)));
}

static inline void vf_load2_bf16(const void *p, vf *even, vf *odd)
{
    even_and_odd(_mm256_loadu_si256((const __m256i *)p), even, odd);
}

static inline void vf_load2_n_bf16(const void *p, int n, vf *even, vf *odd)
{
    uint16_t part[16] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    vf_load2_bf16(part, even, odd);
}

static inline __m256i merge_bf16(vf even, vf odd)
{
    return _mm256_blend_epi16(_mm256_srli_epi32(nearest_even_bf16(even), 16), nearest_even_bf16(odd), 0xaa);
}

static inline void vf_store2_bf16(void *p, vf even, vf odd)
{
    _mm256_storeu_si256((__m256i *)p, merge_bf16(even, odd));
}

/* Macros, because gcc 12 takes a function that does nothing but this for one without effect. */
#define vf_prefetch_input(p) _mm_prefetch((const char *)(p), _MM_HINT_T1)
#define vf_prefetch_output(p) __builtin_prefetch(p, 1, 3)

static inline void vf_stream_fence(void) { _mm_sfence(); }
static inline void vf_stream_f32(void *p, vf a) { _mm256_stream_ps((float *)p, a); }

static inline void vf_stream2_f16(void *p, vf first, vf second)
{
    const __m128i low = _mm256_cvtps_ph(first, _MM_FROUND_TO_NEAREST_INT);
    const __m128i high = _mm256_cvtps_ph(second, _MM_FROUND_TO_NEAREST_INT);
    _mm256_stream_si256((__m256i *)p, _mm256_set_m128i(high, low));
}

static inline void vf_stream_two_bf16(void *p, vf first, vf second)
{
    _mm256_stream_si256((__m256i *)p, _mm256_set_m128i(narrow_bf16(second), narrow_bf16(first)));
}

static inline void vf_stream2_bf16(void *p, vf even, vf odd)
{
    _mm256_stream_si256((__m256i *)p, merge_bf16(even, odd));
}

static inline void vf_store2_n_bf16(void *p, vf even, vf odd, int n)
{
    uint16_t part[16];
    vf_store2_bf16(part, even, odd);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}

static inline vf vf_round_f16(vf a) { return _mm256_cvtph_ps(_mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT)); }
static inline vf vf_round_bf16(vf a)
{
    return _mm256_castsi256_ps(_mm256_and_si256(nearest_even_bf16(a), _mm256_set1_epi32((int)0xffff0000u)));
}

static inline vw vw_pair(__m256d low, __m256d high)
{
    const vw pair = {low, high};
    return pair;
}

static inline vw vw_set(double a) { return vw_pair(_mm256_set1_pd(a), _mm256_set1_pd(a)); }
static inline vw vw_zero(void) { return vw_set(0.0); }
static inline vw vw_add(vw a, vw b) { return vw_pair(_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)); }
static inline vw vw_sub(vw a, vw b) { return vw_pair(_mm256_sub_pd(a.low, b.low), _mm256_sub_pd(a.high, b.high)); }
static inline vw vw_mul(vw a, vw b) { return vw_pair(_mm256_mul_pd(a.low, b.low), _mm256_mul_pd(a.high, b.high)); }

static inline vw vw_fms(vw a, vw b, vw c)
{
    return vw_pair(_mm256_fmsub_pd(a.low, b.low, c.low), _mm256_fmsub_pd(a.high, b.high, c.high));
}

static inline vw vw_add_square(vw a, vw c)
{
    return vw_pair(_mm256_fmadd_pd(a.low, a.low, c.low), _mm256_fmadd_pd(a.high, a.high, c.high));
}

static inline vf vf_mul_gamma(vf a, vf g) { return vf_mul(a, g); }
static inline vw vw_mul_gamma(vw a, vw g) { return vw_mul(a, g); }

/* The lanes added up in halves. */
static inline double vw_fold(vw a)
{
    const __m256d four = _mm256_add_pd(a.low, a.high);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two));
}

static inline vw vw_load(const void *p)
{
    return vw_pair(_mm256_loadu_pd((const double *)p), _mm256_loadu_pd((const double *)p + 4));
}

static inline void vw_store(void *p, vw a)
{
    _mm256_storeu_pd((double *)p, a.low);
    _mm256_storeu_pd((double *)p + 4, a.high);
}

static inline vw vw_load_n(const void *p, int n)
{
    double part[8] = {0};
    memcpy(part, p, (size_t)n * sizeof part[0]);
    return vw_load(part);
}

static inline void vw_store_n(void *p, vw a, int n)
{
    double part[8];
    vw_store(part, a);
    memcpy(p, part, (size_t)n * sizeof part[0]);
}

static inline vw vw_widen(vf a)
{
    return vw_pair(_mm256_cvtps_pd(_mm256_castps256_ps128(a)), _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)));
}

static inline vw vw_load_f32(const void *p)
{
    return vw_pair(_mm256_cvtps_pd(_mm_loadu_ps((const float *)p)),
                   _mm256_cvtps_pd(_mm_loadu_ps((const float *)p + 4)));
}

static inline vf vf_narrow(vw a) { return _mm256_set_m128(_mm256_cvtpd_ps(a.high), _mm256_cvtpd_ps(a.low)); }

/* convert.h's float_of_double_odd, up to the conversion */
static inline __m256d keep_lost_bits(__m256d a)
{
    const __m256i bits = _mm256_castpd_si256(a);
    const __m256i low = _mm256_set1_epi64x(0x1fffffff);
    const __m256i none_lost = _mm256_cmpeq_epi64(_mm256_and_si256(bits, low), _mm256_setzero_si256());
    const __m256i sticky = _mm256_andnot_si256(none_lost, _mm256_set1_epi64x(0x20000000));
    return _mm256_castsi256_pd(_mm256_or_si256(_mm256_andnot_si256(low, bits), sticky));
}

static inline vf vf_narrow_odd(vw a) { return vf_narrow(vw_pair(keep_lost_bits(a.low), keep_lost_bits(a.high))); }

#endif
