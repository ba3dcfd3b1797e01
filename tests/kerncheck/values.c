#include "values.h"

#include <string.h>

#include "real.h"

const char *value_class_name(value_class values)
{
    static const char *const names[] = {"normal",   "constant", "spike",    "alternating", "subnormal", "zero rows",
                                        "outliers", "ties",     "any bits", "largest",     "special"};
    return names[values];
}

const char *gamma_class_name(gamma_class gamma)
{
    static const char *const names[] = {"normal", "ones", "wide", "large", "special"};
    return names[gamma];
}

/* The numbers whose squares, sums or inverses leave a range on the way. */
static double extreme(rng *r, rmsnorm_dtype dtype)
{
    static const double float_like[] = {1e-30, 1e18, 1e25, 3e38, 1, 7e9};
    static const double half_like[] = {180, 300, 12000, 30000, 65504, 0x1p-24};
    static const double double_like[] = {1e200, 1e-200, 1e308, 1e-310, 1e-30, 3};
    const int64_t pick = rng_between(r, 0, 5);
    return dtype == RMSNORM_FLOAT16 ? half_like[pick] : dtype == RMSNORM_DOUBLE ? double_like[pick] : float_like[pick];
}

static double signed_unit(rng *r)
{
    const double magnitude = 1 + rng_unit(r);
    return rng_chance(r, 2) ? -magnitude : magnitude;
}

static double any_magnitude(rng *r, rmsnorm_dtype dtype)
{
    const format *const in = format_of(dtype);
    int highest = 0;
    (void)frexp(in->largest, &highest);
    const double significand = signed_unit(r);
    return ldexp(significand, (int)rng_between(r, in->least_exponent - in->precision, highest - 2));
}

static double subnormal(rng *r, rmsnorm_dtype dtype)
{
    const format *const in = format_of(dtype);
    const double steps = (double)rng_between(r, 0, (INT64_C(1) << (in->precision - 1)) - 1);
    return ldexp(rng_chance(r, 2) ? -steps : steps, in->least_exponent - in->precision + 1);
}

static void store_nan(rng *r, rmsnorm_dtype dtype, void *data, size_t index)
{
    const size_t bytes = rmsnorm_dtype_size(dtype);
    const int fraction_bits = format_of(dtype)->precision - 1;
    const uint64_t exponent = ((UINT64_C(1) << (8 * bytes - 1)) - 1) >> fraction_bits << fraction_bits;
    const uint64_t fraction = rng_next(r) & ((UINT64_C(1) << fraction_bits) - 2); /* never the poison's payload */
    const uint64_t bits =
        exponent | (fraction == 0 ? 2 : fraction) | (rng_chance(r, 2) ? UINT64_C(1) << (8 * bytes - 1) : 0);
    for (size_t i = 0; i < bytes; i++) {
        const uint16_t probe = 1;
        unsigned char little = 0;
        memcpy(&little, &probe, 1);
        const size_t at = little == 1 ? i : bytes - 1 - i;
        ((unsigned char *)data)[index * bytes + at] = (unsigned char)(bits >> (8 * i));
    }
}

static void spoil_row(rng *r, rmsnorm_dtype dtype, int64_t start, int64_t width, void *data)
{
    const int64_t kind = rng_between(r, 0, 5);
    const int64_t count = kind == 0 ? 0 : kind == 1 ? width : rng_between(r, 1, 3);
    for (int64_t i = 0; i < count; i++) {
        const size_t at = (size_t)(start + (kind == 1 ? i : rng_between(r, 0, width - 1)));
        const bool nan = kind == 1 || kind == 2 || (kind == 3 && i == 0);
        if (nan) {
            store_nan(r, dtype, data, at);
        } else {
            element_store(dtype, data, at, rng_chance(r, 2) ? INFINITY : -INFINITY);
        }
    }
}

/* Sixteenths below 1: exact in every type, and so are their squares' sums. Later rows hold the first one's numbers in
 * another order and with other signs, so that one epsilon fits all. */
static void fill_ties(rng *r, rmsnorm_dtype dtype, int64_t rows, int64_t width, void *data)
{
    for (int64_t i = 0; i < width && rows > 0; i++) {
        element_store(dtype, data, (size_t)i, (double)rng_between(r, -15, 15) / 16);
    }
    for (int64_t row = 1; row < rows; row++) {
        const int64_t turn = rng_between(r, 0, width - 1);
        for (int64_t i = 0; i < width; i++) {
            const double again = element_load(dtype, data, (size_t)((i + turn) % width));
            element_store(dtype, data, (size_t)(row * width + i), rng_chance(r, 2) ? -again : again);
        }
    }
}

float values_ties_epsilon(rmsnorm_dtype dtype, int64_t width, const void *data)
{
    double sum = 0;
    for (int64_t i = 0; i < width; i++) {
        const double x = element_load(dtype, data, (size_t)i);
        sum += x * x;
    }
    return (float)(1 - sum / (double)width);
}

typedef struct row_shape {
    double constant, spread;
    int64_t spike;
    bool zero;
} row_shape;

static row_shape shape_of_row(value_class values, rng *r, int64_t row, int64_t width, row_shape shape)
{
    static const double magnitudes[] = {1e-3, 1, 1e3};
    shape.spike = rng_between(r, 0, width - 1);
    shape.zero = values == VALUES_ZERO_ROWS && rng_chance(r, 2);
    if (values == VALUES_ALTERNATING) {
        shape.spread = magnitudes[row % 3];
    }
    return shape;
}

/* In double with all its bits: rng_normal alone gives 24, whose squares a double holds, so that no kernel could lose any. */
static double normal(rng *r, rmsnorm_dtype dtype)
{
    const double coarse = rng_normal(r);
    return dtype == RMSNORM_DOUBLE ? coarse + 0x1p-21 * rng_unit(r) : coarse;
}

static double element_of(value_class values, rng *r, rmsnorm_dtype dtype, row_shape shape, int64_t column)
{
    switch (values) {
    case VALUES_CONSTANT:
        return shape.constant;
    case VALUES_SPIKE:
        return column == shape.spike ? shape.constant : 1;
    case VALUES_SUBNORMAL:
        return subnormal(r, dtype);
    case VALUES_BITS:
        return any_magnitude(r, dtype);
    case VALUES_LARGEST:
        return format_of(dtype)->largest * signed_unit(r) / 2;
    case VALUES_OUTLIERS:
        return normal(r, dtype) * shape.spread * (column % 512 == 511 ? 40 : 1);
    default:
        return shape.zero ? copysign(0, rng_normal(r)) : normal(r, dtype) * shape.spread;
    }
}

void values_fill(value_class values, rng *r, rmsnorm_dtype dtype, int64_t rows, int64_t width, void *data)
{
    if (values == VALUES_TIES) {
        fill_ties(r, dtype, rows, width, data);
        return;
    }
    row_shape tensor = {extreme(r, dtype), 1, 0, false};
    tensor.spread = ldexp(1, (int)rng_between(r, -6, 6));
    for (int64_t row = 0; row < rows; row++) {
        const row_shape shape = shape_of_row(values, r, row, width, tensor);
        for (int64_t i = 0; i < width; i++) {
            element_store(dtype, data, (size_t)(row * width + i), element_of(values, r, dtype, shape, i));
        }
        if (values == VALUES_SPECIAL) {
            spoil_row(r, dtype, row * width, width, data);
        }
    }
}

void values_fill_half_steps(rng *r, rmsnorm_dtype dtype, int64_t count, int64_t input_count, const void *input,
                            void *data)
{
    for (int64_t i = 0; i < count; i++) {
        const double near = input_count > 0 ? element_load(dtype, input, (size_t)(i % input_count)) : 1;
        const double step = isfinite(near) ? ldexp(1, real_ulp_exponent(real_from(near), format_of(dtype)) - 1) : 1;
        element_store(dtype, data, (size_t)i, step * (double)rng_between(r, -3, 3));
    }
}

static double gamma_of(gamma_class gamma, rng *r, rmsnorm_dtype dtype)
{
    const double plain = 1 + 0.1 * rng_normal(r);
    switch (gamma) {
    case GAMMA_ONES:
        return 1;
    case GAMMA_WIDE:
        return (rng_chance(r, 16) ? 0.0 : ldexp(1, (int)rng_between(r, -12, 12))) * copysign(plain, plain - 1);
    case GAMMA_LARGE:
        return format_of(dtype)->largest / 16 * signed_unit(r);
    case GAMMA_SPECIAL:
        return rng_chance(r, 8)   ? copysign(INFINITY, rng_normal(r))
               : rng_chance(r, 8) ? copysign(0, rng_normal(r))
                                  : plain;
    default:
        return plain;
    }
}

void values_fill_gamma(gamma_class gamma, rng *r, rmsnorm_dtype dtype, int64_t count, void *data)
{
    for (int64_t i = 0; i < count; i++) {
        element_store(dtype, data, (size_t)i, gamma_of(gamma, r, dtype));
        if (gamma == GAMMA_SPECIAL && rng_chance(r, 8)) {
            store_nan(r, dtype, data, (size_t)i);
        }
    }
}
