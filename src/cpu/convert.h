/* convert.h: one element between float and the narrow types, bit for bit what the vector instructions give.
 *
 * Rounding is to nearest, ties to even; NaNs stay NaNs and become quiet. Layouts: IEEE 754 binary16 and binary32; bfloat16 is
 * the upper half of binary32. */
#ifndef RMSNORM_CPU_CONVERT_H
#define RMSNORM_CPU_CONVERT_H

#include <stdint.h>
#include <string.h>

static inline uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float float_of_f16(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t magnitude = half & 0x7fffu;
    if (magnitude > 0x7c00u) {
        return float_of_bits(sign | 0x7fc00000u | magnitude << 13);
    }
    if (magnitude == 0x7c00u) {
        return float_of_bits(sign | 0x7f800000u);
    }
    if (magnitude < 0x0400u) { /* subnormal: magnitude * 2^-24, exact in float */
        return float_of_bits(sign | float_bits((float)magnitude * 0x1p-24f));
    }
    return float_of_bits(sign | ((magnitude << 13) + ((127u - 15u) << 23)));
}

static inline uint16_t f16_of_float(float value)
{
    const uint32_t bits = float_bits(value);
    const uint32_t sign = bits >> 16 & 0x8000u;
    const uint32_t magnitude = bits & 0x7fffffffu;
    uint32_t half;
    if (magnitude > 0x7f800000u) {
        half = 0x7e00u | (magnitude >> 13 & 0x3ffu);
    } else if (magnitude >= 0x47800000u) { /* 2^16 and beyond, infinity */
        half = 0x7c00u;
    } else if (magnitude < 0x38800000u) { /* below 2^-14: the float adder rounds to multiples of 2^-24 */
        half = float_bits(float_of_bits(magnitude) + 0.5f) - float_bits(0.5f);
    } else { /* a carry out of the mantissa moves on to the exponent, up to infinity */
        half = (magnitude - ((127u - 15u) << 23) + 0x0fffu + (magnitude >> 13 & 1u)) >> 13;
    }
    return (uint16_t)(sign | half);
}

static inline float float_of_bf16(uint16_t bits) { return float_of_bits((uint32_t)bits << 16); }

static inline uint16_t bf16_of_float(float value)
{
    const uint32_t bits = float_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Rounds to odd: what is lost in the 29 low bits of the mantissa stays visible in the last bit of the float, so that a
 * second rounding to a narrower type is right (Boldo and Melquiond, "When double rounding is odd", 2005). */
static inline float float_of_double_odd(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t lost = bits & 0x1fffffffu;
    bits = (bits & ~(uint64_t)0x1fffffffu) | (uint64_t)(lost != 0) << 29;
    memcpy(&value, &bits, sizeof value);
    return (float)value;
}

#endif
