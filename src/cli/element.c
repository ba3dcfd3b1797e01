/* element.c: the elements of a tensor one by one, as doubles. */
#include "element.h"

#include <math.h>
#include <string.h>

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint16_t load16(const rmsnorm_tensor *tensor, int64_t index)
{
    uint16_t bits;
    memcpy(&bits, (const char *)tensor->data + 2 * index, sizeof bits);
    return bits;
}

static float float_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000U) << 16;
    const uint32_t rest = half & 0x7fffU;
    if (rest < 0x0400U) { /* zero and subnormals: multiples of 2^-24 */
        const float magnitude = (float)rest * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    const uint32_t exponent_shift = rest >= 0x7c00U ? (255U - 31U) << 23 : (127U - 15U) << 23;
    return float_of_bits(sign | ((rest << 13) + exponent_shift));
}

/* To nearest even: from half a step above the largest finite value on that is infinity. */
static uint16_t half_of_float(float value)
{
    const uint32_t bits = bits_of_float(value);
    const uint32_t sign = (bits >> 16) & 0x8000U;
    const uint32_t rest = bits & 0x7fffffffU;
    if (rest >= 0x477ff000U) {
        return (uint16_t)(sign | (rest > 0x7f800000U ? 0x7e00U : 0x7c00U));
    }
    if (rest < 0x38800000U) { /* below 2^-14: adding 0.5 leaves multiples of 2^-24 in the last bits */
        return (uint16_t)(sign | (bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000U));
    }
    return (uint16_t)(sign | ((rest - 0x38000000U + 0xfffU + ((rest >> 13) & 1U)) >> 13));
}

/* Rounded to odd: where the float is not exact, that neighbour of the value whose last bit is 1. Rounding it on to a narrower
 * type then gives what rounding the double at once would give, with no middle that the first rounding made. */
static float odd_float(double value)
{
    const float nearest = (float)value;
    const uint32_t bits = bits_of_float(nearest);
    if (isnan(value) || (double)nearest == value || (bits & 1U) != 0) {
        return nearest;
    }
    return float_of_bits(fabs((double)nearest) > fabs(value) ? bits - 1 : bits + 1);
}

size_t rmsnorm_cli_element_size(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_INT32 ? 4 : dtype == RMSNORM_INT64 ? 8 : rmsnorm_dtype_size(dtype);
}

double rmsnorm_cli_element(const rmsnorm_tensor *tensor, int64_t index)
{
    float single;
    double value;
    switch (tensor->dtype) {
    case RMSNORM_FLOAT16:
        return (double)float_of_half(load16(tensor, index));
    case RMSNORM_BFLOAT16:
        return (double)float_of_bits((uint32_t)load16(tensor, index) << 16);
    case RMSNORM_DOUBLE:
        memcpy(&value, (const char *)tensor->data + 8 * index, sizeof value);
        return value;
    default:
        memcpy(&single, (const char *)tensor->data + 4 * index, sizeof single);
        return (double)single;
    }
}

double rmsnorm_cli_smallest_normal(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT16 ? 0x1p-14 : dtype == RMSNORM_DOUBLE ? 0x1p-1022 : 0x1p-126;
}

void rmsnorm_cli_element_store(rmsnorm_tensor *tensor, int64_t index, double value)
{
    const float single = (float)value;
    const float odd = odd_float(value);
    const uint32_t bits = bits_of_float(odd);
    uint16_t narrow;
    switch (tensor->dtype) {
    case RMSNORM_FLOAT16:
        narrow = half_of_float(odd);
        memcpy((char *)tensor->data + 2 * index, &narrow, sizeof narrow);
        break;
    case RMSNORM_BFLOAT16:
        narrow = isnan(odd) ? 0x7fc0U : (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
        memcpy((char *)tensor->data + 2 * index, &narrow, sizeof narrow);
        break;
    case RMSNORM_DOUBLE:
        memcpy((char *)tensor->data + 8 * index, &value, sizeof value);
        break;
    default:
        memcpy((char *)tensor->data + 4 * index, &single, sizeof single);
        break;
    }
}

int64_t rmsnorm_cli_element_integer(const rmsnorm_tensor *tensor, int64_t index)
{
    int32_t narrow;
    int64_t wide;
    if (tensor->dtype == RMSNORM_INT32) {
        memcpy(&narrow, (const char *)tensor->data + 4 * index, sizeof narrow);
        return narrow;
    }
    memcpy(&wide, (const char *)tensor->data + 8 * index, sizeof wide);
    return wide;
}

void rmsnorm_cli_element_store_integer(rmsnorm_tensor *tensor, int64_t index, int64_t value)
{
    const uint32_t narrow = (uint32_t)(uint64_t)value;
    if (tensor->dtype == RMSNORM_INT32) {
        memcpy((char *)tensor->data + 4 * index, &narrow, sizeof narrow);
    } else {
        memcpy((char *)tensor->data + 8 * index, &value, sizeof value);
    }
}

/* An element's bits, the sign in the highest of `width`. */
static uint64_t load_bits(const rmsnorm_tensor *tensor, int64_t index, int *width)
{
    uint64_t wide;
    uint32_t single;
    switch (tensor->dtype) {
    case RMSNORM_DOUBLE:
        *width = 64;
        memcpy(&wide, (const char *)tensor->data + 8 * index, sizeof wide);
        return wide;
    case RMSNORM_FLOAT:
        *width = 32;
        memcpy(&single, (const char *)tensor->data + 4 * index, sizeof single);
        return single;
    default:
        *width = 16;
        return load16(tensor, index);
    }
}

uint64_t rmsnorm_cli_element_steps(const rmsnorm_tensor *a, const rmsnorm_tensor *b, int64_t index)
{
    int width;
    const uint64_t bits[2] = {load_bits(a, index, &width), load_bits(b, index, &width)};
    const uint64_t sign = UINT64_C(1) << (width - 1);
    /* Without their signs the bits count the representable values from zero. */
    const uint64_t steps[2] = {bits[0] & (sign - 1), bits[1] & (sign - 1)};
    if (((bits[0] ^ bits[1]) & sign) != 0) {
        return steps[0] + steps[1];
    }
    return steps[0] > steps[1] ? steps[0] - steps[1] : steps[1] - steps[0];
}
