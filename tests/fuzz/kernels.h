/* kernels.h: the packages of kernels/, for the fuzzers whose input is for one of them. */
#ifndef RMSNORM_TESTS_FUZZ_KERNELS_H
#define RMSNORM_TESTS_FUZZ_KERNELS_H

#include "fuzz/stop.h"
#include "rmsnorm/package.h"

enum { FUZZ_KERNELS = 3 };

/* Opened once. */
static inline const rmsnorm_package *fuzz_kernel(size_t index)
{
    static const char *const names[FUZZ_KERNELS] = {KERNELS "/ai.onnx.SimplifiedLayerNormalization",
                                                    KERNELS "/ai.onnx.RMSNormalization",
                                                    KERNELS "/com.microsoft.SkipSimplifiedLayerNormalization"};
    static rmsnorm_package *packages[FUZZ_KERNELS];
    FUZZ_CHECK(packages[index] != NULL || rmsnorm_package_open(names[index], &packages[index]) == RMSNORM_OK);
    return packages[index];
}

#endif
