/* rows_avx2.c: the kernels for x86 with AVX2, FMA and F16C. */
#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "cpu/vec_avx2.h"

#define TABLE rmsnorm_kernels_avx2
#include "cpu/rows.inl"
#else
typedef int rmsnorm_no_avx2; /* a translation unit may not be empty */
#endif
