/* naive.c: tensors of doubles and their arithmetic, in the plainest way. */
#include "naive.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rmsnorm/graph.h"
#include "support.h"

static const struct {
    rmsnorm_dtype dtype;
    int bits, lowest, highest; /* of the significand; exponents as frexp has them */
} formats[] = {{RMSNORM_FLOAT, 24, -125, 128}, {RMSNORM_FLOAT16, 11, -13, 16}, {RMSNORM_BFLOAT16, 8, -125, 128}};

double rounded(rmsnorm_dtype dtype, double value)
{
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; ++i) {
        if (formats[i].dtype == dtype && isfinite(value) && value != 0) {
            int exponent;
            (void)frexp(value, &exponent);
            exponent = exponent > formats[i].lowest ? exponent : formats[i].lowest;
            const double unit = ldexp(1, exponent - formats[i].bits);
            const double result = nearbyint(value / unit) * unit;
            return fabs(result) < ldexp(1, formats[i].highest) ? result : copysign((double)INFINITY, value);
        }
    }
    return value;
}

static uint64_t seed;

/* Numbers of the type of about the size 2^-spread to 2^spread; no subnormal ones. */
static double random_number(rmsnorm_dtype dtype, int spread)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const int exponent = (int)((seed >> 40) % (uint64_t)(2 * spread + 1)) - spread;
    const double fraction = 1 + (double)(seed >> 12) * 0x1p-52;
    return rounded(dtype, ldexp((seed >> 63) != 0 ? -fraction : fraction, exponent));
}

tensor shaped(const char *dims)
{
    tensor result = {.count = 1};
    for (const char *next = dims; *next != '\0'; ++result.rank) {
        char *end;
        result.dims[result.rank] = strtoll(next, &end, 10);
        result.count *= (size_t)result.dims[result.rank];
        next = end + (*end == ',');
    }
    assert_true(result.count <= MOST);
    return result;
}

tensor random_tensor(rmsnorm_dtype dtype, const char *dims, int spread)
{
    tensor result = shaped(dims);
    for (size_t i = 0; i < result.count; ++i) {
        result.values[i] = random_number(dtype, spread);
    }
    return result;
}

static double half_value(uint16_t bits, int fraction_bits)
{
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int top = (1 << (15 - fraction_bits)) - 1;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == top) {
        return fraction == 0 ? sign * (double)INFINITY : (double)NAN;
    }
    const int whole = exponent == 0 ? fraction : fraction + (1 << fraction_bits);
    return sign * ldexp(whole, (exponent == 0 ? 1 : exponent) - top / 2 - fraction_bits);
}

static double element(const rmsnorm_tensor *from, size_t index)
{
    const char *data = from->data;
    uint16_t half;
    float single;
    double wide;
    switch (from->dtype) {
    case RMSNORM_DOUBLE:
        memcpy(&wide, data + 8 * index, 8);
        return wide;
    case RMSNORM_FLOAT:
        memcpy(&single, data + 4 * index, 4);
        return (double)single;
    default:
        memcpy(&half, data + 2 * index, 2);
        return half_value(half, from->dtype == RMSNORM_FLOAT16 ? 10 : 7);
    }
}

tensor read_tensor(const char *path, rmsnorm_dtype dtype)
{
    rmsnorm_tensor from;
    tensor result = {.count = 0};
    if (rmsnorm_tensor_read(path, &from, NULL) != RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
    assert_int_equal(from.dtype, dtype);
    result.rank = from.rank;
    result.count = (size_t)rmsnorm_tensor_count(&from);
    assert_true(result.count <= MOST);
    memcpy(result.dims, from.dims, sizeof result.dims);
    for (size_t i = 0; i < result.count; ++i) {
        result.values[i] = element(&from, i);
    }
    rmsnorm_tensor_file_release(&from);
    return result;
}

const char *path_of(const char *name, rmsnorm_dtype dtype, char path[64])
{
    (void)snprintf(path, 64, "%s.npy%s", name, dtype == RMSNORM_BFLOAT16 ? ":bfloat16" : "");
    return path;
}

void expect_same(const char *what, const tensor *got, const tensor *wanted)
{
    assert_int_equal(got->rank, wanted->rank);
    assert_memory_equal(got->dims, wanted->dims, (size_t)wanted->rank * sizeof wanted->dims[0]);
    for (size_t i = 0; i < wanted->count; ++i) {
        const double a = got->values[i];
        const double b = wanted->values[i];
        const bool same = (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b));
        if (!same) {
            fail_msg("%s: element %zu is %a, not %a", what, i, a, b);
        }
    }
}

double operand(const tensor *from, const tensor *result, size_t index)
{
    size_t at = 0;
    size_t stride = 1;
    for (int i = 1; i <= result->rank; ++i) {
        const size_t dim = (size_t)result->dims[result->rank - i];
        const size_t position = index % dim;
        index /= dim;
        if (i <= from->rank) {
            const size_t own = (size_t)from->dims[from->rank - i];
            at += own == 1 ? 0 : position * stride;
            stride *= own;
        }
    }
    return from->values[at];
}
