/* data.c: the buffers of a case, filled with the same numbers every time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define PAGE 4096

/* Uniform in [-1, 1), from a 64-bit congruential generator (Knuth's MMIX constants). */
static double next_value(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-52 - 1.0;
}

static void put(rmsnorm_dtype dtype, void *buffer, int64_t i, double value)
{
    const float single = (float)value;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    /* Cut, not rounded: any number will do. Values are 0 or at least 2^-14 in size. */
    const uint16_t bf16 = (uint16_t)(bits >> 16);
    const uint32_t magnitude = ((bits & 0x7fffffffu) >> 13) - ((127u - 15u) << 10);
    const uint16_t f16 = (uint16_t)((bits >> 16 & 0x8000u) | magnitude);
    switch (dtype) {
    case RMSNORM_DOUBLE:
        ((double *)buffer)[i] = value;
        break;
    case RMSNORM_FLOAT16:
        ((uint16_t *)buffer)[i] = f16;
        break;
    case RMSNORM_BFLOAT16:
        ((uint16_t *)buffer)[i] = bf16;
        break;
    default:
        ((float *)buffer)[i] = single;
        break;
    }
}

static double half_value(unsigned bits)
{
    const int exponent = (int)(bits >> 10 & 31u);
    const double fraction = (double)(bits & 1023u);
    const double size = exponent == 31  ? (fraction > 0.0 ? NAN : INFINITY)
                        : exponent == 0 ? ldexp(fraction, -24)
                                        : ldexp(fraction + 1024.0, exponent - 25);
    return (bits & 0x8000u) != 0 ? -size : size;
}

double bench_data_get(rmsnorm_dtype dtype, const void *buffer, int64_t i)
{
    uint32_t bits;
    float single;
    switch (dtype) {
    case RMSNORM_DOUBLE:
        return ((const double *)buffer)[i];
    case RMSNORM_FLOAT16:
        return half_value(((const uint16_t *)buffer)[i]);
    case RMSNORM_BFLOAT16:
        bits = (uint32_t)((const uint16_t *)buffer)[i] << 16;
        memcpy(&single, &bits, sizeof single);
        return (double)single;
    default:
        return (double)((const float *)buffer)[i];
    }
}

static void *make(rmsnorm_dtype dtype, int64_t count, uint64_t seed)
{
    const size_t bytes = (size_t)count * rmsnorm_dtype_size(dtype);
    void *const buffer = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (buffer == NULL) {
        return NULL;
    }
    for (int64_t i = 0; i < count; i++) {
        const double value = next_value(&seed);
        put(dtype, buffer, i, value < 0 ? value - 0x1p-10 : value + 0x1p-10);
    }
    return buffer;
}

void bench_data_release(bench_data *data)
{
    free(data->input);
    free(data->skip);
    free(data->bias);
    free(data->gamma);
    free(data->output);
    free(data->sum);
}

bool bench_data_make(const bench_case *what, bench_data *data)
{
    const int64_t count = what->rows * what->hidden_size;
    const bool skip = what->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    memset(data, 0, sizeof *data);
    data->input = make(what->dtype, count, 1);
    data->skip = skip ? make(what->dtype, count, 2) : NULL;
    data->bias = what->bias ? make(what->dtype, what->hidden_size, 3) : NULL;
    data->gamma = make(what->gamma_dtype, what->hidden_size, 4);
    data->output = make(what->gamma_dtype, count, 5);
    data->sum = what->sum ? make(what->dtype, count, 6) : NULL;
    const int64_t narrow = 1 + (skip ? 1 : 0) + (what->sum ? 1 : 0);
    data->bytes =
        count * (narrow * (int64_t)rmsnorm_dtype_size(what->dtype) + (int64_t)rmsnorm_dtype_size(what->gamma_dtype));
    return data->input != NULL && (data->skip != NULL || !skip) && (data->bias != NULL || !what->bias) &&
           data->gamma != NULL && data->output != NULL && (data->sum != NULL || !what->sum);
}
