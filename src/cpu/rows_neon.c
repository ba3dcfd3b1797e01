/* rows_neon.c: the kernels for aarch64, whose every processor has NEON. */
#if defined(__aarch64__)
#include "cpu/vec_neon.h"

#define TABLE rmsnorm_kernels_neon
#include "cpu/rows.inl"
#else
typedef int rmsnorm_no_neon; /* a translation unit may not be empty */
#endif
