#include "real.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- Double-double, the textbook error-free transformations ---- */

typedef struct pair {
    double hi, lo;
} pair;

static pair quick_two_sum(double large, double small)
{
    const double sum = large + small;
    return (pair){sum, small - (sum - large)};
}

static pair two_sum(double a, double b)
{
    const double sum = a + b;
    const double b_part = sum - a;
    return (pair){sum, (a - (sum - b_part)) + (b - b_part)};
}

static pair two_product(double a, double b)
{
    const double product = a * b;
    return (pair){product, fma(a, b, -product)};
}

static pair pair_add(pair a, pair b)
{
    const pair high = two_sum(a.hi, b.hi);
    const pair low = two_sum(a.lo, b.lo);
    const pair middle = quick_two_sum(high.hi, high.lo + low.hi);
    return quick_two_sum(middle.hi, middle.lo + low.lo);
}

static pair pair_multiply(pair a, pair b)
{
    const pair product = two_product(a.hi, b.hi);
    return quick_two_sum(product.hi, product.lo + (a.hi * b.lo + a.lo * b.hi));
}

static pair pair_divide(pair a, pair b)
{
    const double first = a.hi / b.hi;
    const pair rest = pair_add(a, pair_multiply((pair){-first, 0}, b));
    const double second = rest.hi / b.hi;
    const pair last = pair_add(rest, pair_multiply((pair){-second, 0}, b));
    const pair quotient = quick_two_sum(first, second);
    return pair_add(quotient, (pair){last.hi / b.hi, 0});
}

/* ---- Reals ---- */

static real real_normal(pair value, int exponent)
{
    int shift = 0;
    const double hi = frexp(value.hi, &shift);
    return (real){hi, ldexp(value.lo, -shift), value.hi == 0 ? 0 : exponent + shift};
}

real real_from(double value)
{
    return real_normal((pair){value, 0}, 0);
}

real real_add(real a, real b)
{
    if (a.hi == 0 || (b.hi != 0 && b.exponent > a.exponent)) {
        const real swap = a;
        a = b;
        b = swap;
    }
    const int down = b.exponent - a.exponent;
    if (b.hi == 0 || down < -400) {
        return a;
    }
    return real_normal(pair_add((pair){a.hi, a.lo}, (pair){ldexp(b.hi, down), ldexp(b.lo, down)}), a.exponent);
}

real real_multiply(real a, real b)
{
    return real_normal(pair_multiply((pair){a.hi, a.lo}, (pair){b.hi, b.lo}), a.exponent + b.exponent);
}

real real_divide(real a, real b)
{
    return real_normal(pair_divide((pair){a.hi, a.lo}, (pair){b.hi, b.lo}), a.exponent - b.exponent);
}

real real_root(real a)
{
    const int odd = a.exponent & 1;
    const pair value = {ldexp(a.hi, odd), ldexp(a.lo, odd)};
    const double guess = sqrt(value.hi);
    const pair square = two_product(guess, guess);
    const pair rest = pair_add(value, (pair){-square.hi, -square.lo});
    return real_normal(quick_two_sum(guess, rest.hi / (2 * guess)), (a.exponent - odd) / 2);
}

square_sum square_sum_start(double largest)
{
    square_sum sum = {0, 0, 0};
    (void)frexp(largest, &sum.exponent);
    return sum;
}

void square_sum_add(square_sum *sum, double value)
{
    const double scaled = ldexp(value, -sum->exponent);
    const pair total = pair_add((pair){sum->hi, sum->lo}, two_product(scaled, scaled));
    sum->hi = total.hi;
    sum->lo = total.lo;
}

real square_sum_real(const square_sum *sum)
{
    return real_normal((pair){sum->hi, sum->lo}, 2 * sum->exponent);
}

/* ---- Formats ---- */

const format *format_of(rmsnorm_dtype dtype)
{
    static const format float16 = {11, -14, 65504.0};
    static const format bfloat16 = {8, -126, 0x1.fep127};
    static const format float32 = {24, -126, (double)FLT_MAX};
    static const format float64 = {53, -1022, DBL_MAX};
    switch (dtype) {
    case RMSNORM_FLOAT16:
        return &float16;
    case RMSNORM_BFLOAT16:
        return &bfloat16;
    case RMSNORM_FLOAT:
        return &float32;
    case RMSNORM_DOUBLE:
        return &float64;
    default:
        abort();
    }
}

int real_ulp_exponent(real value, const format *in)
{
    const int exponent = value.hi == 0 ? in->least_exponent : value.exponent - 1;
    return (exponent > in->least_exponent ? exponent : in->least_exponent) - in->precision + 1;
}

/* The value in ulps: whole + rest, with 0 <= rest < 1, by magnitude. */
static void split_ulps(real value, const format *in, double *whole, double *rest)
{
    const double sign = value.hi < 0 ? -1.0 : 1.0;
    const int shift = value.exponent - real_ulp_exponent(value, in);
    const double hi = ldexp(sign * value.hi, shift);
    const double lo = ldexp(sign * value.lo, shift);
    *whole = floor(hi);
    *rest = (hi - *whole) + lo;
    if (*rest < 0) {
        *whole -= 1;
        *rest = ((hi - *whole) + lo);
    }
}

static double with_overflow(double ulps, int ulp_exponent, bool negative, const format *to)
{
    const double magnitude = ldexp(ulps, ulp_exponent);
    const double bounded = magnitude > to->largest ? INFINITY : magnitude;
    return negative ? -bounded : bounded;
}

double real_round(real value, const format *to)
{
    double whole = 0;
    double rest = 0;
    split_ulps(value, to, &whole, &rest);
    const bool up = rest > 0.5 || (rest == 0.5 && fmod(whole, 2) == 1);
    return with_overflow(whole + (up ? 1 : 0), real_ulp_exponent(value, to), signbit(value.hi) != 0, to);
}

double round_double(double value, const format *to)
{
    return isfinite(value) ? real_round(real_from(value), to) : value;
}

double real_ulps(real value, double got, const format *in)
{
    const int ulp = real_ulp_exponent(value, in);
    if (isinf(got)) {
        if (real_round(value, in) == got) {
            return 0;
        }
        const int past = (in->least_exponent < -200 ? 1024 : in->least_exponent < -20 ? 128 : 16) - ulp;
        const double end = copysign(ldexp(1, past), got);
        return fabs(end - ldexp(value.hi, value.exponent - ulp));
    }
    const int shift = value.exponent - ulp;
    return fabs((ldexp(got, -ulp) - ldexp(value.hi, shift)) - ldexp(value.lo, shift));
}

double real_tie_distance(real value, const format *to, double *other)
{
    double whole = 0;
    double rest = 0;
    split_ulps(value, to, &whole, &rest);
    const bool negative = signbit(value.hi) != 0;
    const int ulp = real_ulp_exponent(value, to);
    const double down = with_overflow(whole, ulp, negative, to);
    const double up = with_overflow(whole + 1, ulp, negative, to);
    *other = real_round(value, to) == down ? up : down;
    return fabs(rest - 0.5);
}

double format_step(double value, int steps, const format *in)
{
    const double direction = steps < 0 ? -1 : 1;
    for (int i = abs(steps); i > 0 && isfinite(value); i--) {
        const real at = real_from(value);
        int ulp = real_ulp_exponent(at, in);
        const bool shrinks = value * direction < 0;
        if (shrinks && fabs(at.hi) == 0.5 && at.exponent - 1 > in->least_exponent) {
            ulp--; /* below a power of two the values lie twice as close */
        }
        value += direction * ldexp(1, ulp);
        if (fabs(value) > in->largest) {
            value = copysign(INFINITY, value);
        }
    }
    return value;
}

/* ---- Elements ---- */

static double decode_narrow(uint16_t bits, int precision, int least_exponent)
{
    const int fraction_bits = precision - 1;
    const int exponent_bits = 15 - fraction_bits;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int exponent = (bits >> fraction_bits) & ((1 << exponent_bits) - 1);
    double magnitude = 0;
    if (exponent == (1 << exponent_bits) - 1) {
        magnitude = fraction == 0 ? INFINITY : NAN;
    } else if (exponent == 0) {
        magnitude = ldexp(fraction, least_exponent - fraction_bits);
    } else {
        magnitude = ldexp(fraction + (1 << fraction_bits), exponent - 1 + least_exponent - fraction_bits);
    }
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

static uint16_t encode_narrow(double value, const format *to)
{
    const int fraction_bits = to->precision - 1;
    const unsigned exponent_mask = 0x7FFFu & ~((1u << fraction_bits) - 1);
    const unsigned sign = signbit(value) ? 0x8000u : 0;
    if (isnan(value)) {
        return (uint16_t)(sign | exponent_mask | 1u << (fraction_bits - 1));
    }
    const double magnitude = fabs(round_double(value, to));
    if (isinf(magnitude)) {
        return (uint16_t)(sign | exponent_mask);
    }
    int exponent = 0;
    (void)frexp(magnitude, &exponent);
    exponent -= 1;
    if (magnitude == 0 || exponent < to->least_exponent) {
        return (uint16_t)(sign | (unsigned)ldexp(magnitude, fraction_bits - to->least_exponent));
    }
    const unsigned fraction = (unsigned)ldexp(magnitude, fraction_bits - exponent) - (1u << fraction_bits);
    return (uint16_t)(sign | (unsigned)(exponent - to->least_exponent + 1) << fraction_bits | fraction);
}

double element_load(rmsnorm_dtype dtype, const void *data, size_t index)
{
    const char *const at = (const char *)data + index * rmsnorm_dtype_size(dtype);
    if (dtype == RMSNORM_DOUBLE) {
        double value = 0;
        memcpy(&value, at, sizeof(value));
        return value;
    }
    if (dtype == RMSNORM_FLOAT) {
        float value = 0;
        memcpy(&value, at, sizeof(value));
        return (double)value;
    }
    uint16_t bits = 0;
    memcpy(&bits, at, sizeof(bits));
    const format *const narrow = format_of(dtype);
    return decode_narrow(bits, narrow->precision, narrow->least_exponent);
}

void element_store(rmsnorm_dtype dtype, void *data, size_t index, double value)
{
    char *const at = (char *)data + index * rmsnorm_dtype_size(dtype);
    if (dtype == RMSNORM_DOUBLE) {
        memcpy(at, &value, sizeof(value));
    } else if (dtype == RMSNORM_FLOAT) {
        const float rounded = (float)round_double(value, format_of(dtype));
        memcpy(at, &rounded, sizeof(rounded));
    } else {
        const uint16_t bits = encode_narrow(value, format_of(dtype));
        memcpy(at, &bits, sizeof(bits));
    }
}
