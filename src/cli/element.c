/* element.c: the elements of a tensor one by one, as doubles. */
#include "element.h"

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

/* A finite value below 65504 to nearest even. */
static uint16_t half_of_float(float value)
{
    const uint32_t bits = bits_of_float(value);
    const uint32_t sign = (bits >> 16) & 0x8000U;
    const uint32_t rest = bits & 0x7fffffffU;
    if (rest < 0x38800000U) { /* below 2^-14: adding 0.5 leaves multiples of 2^-24 in the last bits */
        return (uint16_t)(sign | (bits_of_float(float_of_bits(rest) + 0.5f) - 0x3f000000U));
    }
    return (uint16_t)(sign | ((rest - 0x38000000U + 0xfffU + ((rest >> 13) & 1U)) >> 13));
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

void rmsnorm_cli_element_store(rmsnorm_tensor *tensor, int64_t index, double value)
{
    const float single = (float)value;
    const uint32_t bits = bits_of_float(single);
    uint16_t narrow;
    switch (tensor->dtype) {
    case RMSNORM_FLOAT16:
        narrow = half_of_float(single);
        memcpy((char *)tensor->data + 2 * index, &narrow, sizeof narrow);
        break;
    case RMSNORM_BFLOAT16:
        narrow = (uint16_t)((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
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

/* Sign and magnitude as a number that counts the representable values from zero. */
static int32_t rank_of(uint16_t bits)
{
    const int32_t magnitude = bits & 0x7fff;
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

int32_t rmsnorm_cli_element_steps(const rmsnorm_tensor *a, const rmsnorm_tensor *b, int64_t index)
{
    const int32_t steps = rank_of(load16(a, index)) - rank_of(load16(b, index));
    return steps < 0 ? -steps : steps;
}
