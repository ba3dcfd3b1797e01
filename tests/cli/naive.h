/* naive.h: tensors of doubles and their arithmetic, in the plainest way: what the tests of the primitives expect. Nothing here is
 * from the command. */
#ifndef RMSNORM_TESTS_CLI_NAIVE_H
#define RMSNORM_TESTS_CLI_NAIVE_H

#include <stddef.h>
#include <stdint.h>

#include "rmsnorm/rmsnorm.h"

enum { MOST = 4096 };

typedef struct tensor {
    int rank;
    int64_t dims[RMSNORM_MAX_RANK];
    size_t count;
    double values[MOST];
} tensor;

/* To nearest even, by the definition of the format. */
double rounded(rmsnorm_dtype dtype, double value);

/* Zeros. */
tensor shaped(const char *dims);
/* Numbers of the type of about the size 2^-spread to 2^spread. */
tensor random_tensor(rmsnorm_dtype dtype, const char *dims, int spread);
/* Asserts the type. */
tensor read_tensor(const char *path, rmsnorm_dtype dtype);
/* "NAME.npy" or "NAME.npy:bfloat16". */
const char *path_of(const char *name, rmsnorm_dtype dtype, char path[64]);

/* Asserts shape and values; NaN is NaN, and -0 is not 0. */
void expect_same(const char *what, const tensor *got, const tensor *wanted);

/* The element of an operand that belongs to an element of the result: NumPy's rule, index by index. */
double operand(const tensor *from, const tensor *result, size_t index);

#endif
