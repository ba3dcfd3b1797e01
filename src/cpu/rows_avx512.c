/* rows_avx512.c: the kernels for x86 with AVX-512 F, BW, DQ and VL. */
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "cpu/vec_avx512.h"

#define TABLE rmsnorm_kernels_avx512
#include "cpu/rows.inl"
#else
typedef int rmsnorm_no_avx512; /* a translation unit may not be empty */
#endif
