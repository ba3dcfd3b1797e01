/* rows_scalar.c: the kernels in plain C: the last line of the dispatch, on every machine. */
#include "cpu/vec_scalar.h"

#define TABLE rmsnorm_kernels_scalar
#include "cpu/rows.inl"
