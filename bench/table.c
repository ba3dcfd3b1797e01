/* table.c: the cases of the published table: both operators, three types, decode to prefill, one thread and two. */
#include "bench.h"

static const struct {
    int64_t rows, hidden_size;
    size_t threads;
} shapes[] = {{1, 4096, 1}, {16, 2048, 2}, {128, 4096, 1}, {128, 4096, 2}, {4096, 8192, 1}, {4096, 8192, 2}};

static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};

enum {
    SHAPES = sizeof shapes / sizeof shapes[0],
    DTYPES = sizeof dtypes / sizeof dtypes[0],
    OPERATORS = 2,
    SUM_CASES = 2, /* skip with the sum output, float, 128x4096 */
    CASES = OPERATORS * DTYPES * SHAPES + SUM_CASES
};

size_t bench_table(bench_case *cases, size_t capacity)
{
    const rmsnorm_operator *const operators[OPERATORS] = {
        rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0),
        rmsnorm_operator_find("com.microsoft", "SkipSimplifiedLayerNormalization", 0),
    };
    for (size_t i = 0; i < CASES && i < capacity; i++) {
        const bool sum = i >= CASES - SUM_CASES;
        const size_t shape = sum ? 2 + (i - (CASES - SUM_CASES)) : i % SHAPES;
        const rmsnorm_dtype dtype = sum ? RMSNORM_FLOAT : dtypes[i / SHAPES % DTYPES];
        cases[i] = (bench_case){.op = operators[sum ? 1 : i / SHAPES / DTYPES],
                                .dtype = dtype,
                                .gamma_dtype = dtype,
                                .rows = shapes[shape].rows,
                                .hidden_size = shapes[shape].hidden_size,
                                .sum = sum,
                                .threads = shapes[shape].threads};
    }
    return CASES;
}
