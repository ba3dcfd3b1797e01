#include "cpu/special.h"

#include <math.h>

#include "cpu/convert.h"

rmsnorm_sum rmsnorm_special_sum(const void *x, double pre, int64_t n)
{
    rmsnorm_sum total = {0.0, 0.0};
    for (int64_t i = 0; i < n; i++) {
        double value;
        memcpy(&value, (const char *)x + i * (int64_t)sizeof value, sizeof value);
        value *= pre;
        const double square = value * value;
        const rmsnorm_sum one = {square, fma(value, value, -square)};
        total = rmsnorm_sum_add(total, one);
    }
    return total;
}

static double load(rmsnorm_type type, const void *base, int64_t i)
{
    const char *bytes = base;
    uint16_t half;
    float single;
    double value;
    switch (type) {
    case F16: memcpy(&half, bytes + i * 2, sizeof half); return (double)float_of_f16(half);
    case BF16: memcpy(&half, bytes + i * 2, sizeof half); return (double)float_of_bf16(half);
    case F32: memcpy(&single, bytes + i * 4, sizeof single); return (double)single;
    default: memcpy(&value, bytes + i * 8, sizeof value); return value;
    }
}

/* value is of type F64, or a float. */
static void store(rmsnorm_type type, void *base, int64_t i, double value)
{
    char *bytes = base;
    uint16_t half;
    float single;
    if (isnan(value)) {
        value = (double)float_of_bits(0x7fc00000u);
    }
    switch (type) {
    case F16:
        half = f16_of_float(float_of_double_odd(value));
        memcpy(bytes + i * 2, &half, sizeof half);
        break;
    case BF16:
        half = bf16_of_float(float_of_double_odd(value));
        memcpy(bytes + i * 2, &half, sizeof half);
        break;
    case F32:
        single = (float)value;
        memcpy(bytes + i * 4, &single, sizeof single);
        break;
    default: memcpy(bytes + i * 8, &value, sizeof value); break;
    }
}

/* T(value) as a double */
static double round_to(rmsnorm_type type, double value)
{
    switch (type) {
    case F16: return (double)float_of_f16(f16_of_float(float_of_double_odd(value)));
    case BF16: return (double)float_of_bf16(bf16_of_float(float_of_double_odd(value)));
    case F32: return (double)(float)value;
    default: return value;
    }
}

static float residual_sum(const rmsnorm_choice *choice, const rmsnorm_row *row, int64_t i)
{
    float r = (float)load(choice->type_x, row->input, i);
    if (choice->residual != PLAIN) {
        r += (float)load(choice->type_x, row->skip, i);
    }
    if (choice->residual == SKIP_BIAS) {
        r += (float)load(choice->type_x, row->bias, i);
    }
    return r;
}

void rmsnorm_special_scale(const rmsnorm_choice *choice, const rmsnorm_row *row, const void *gamma, int64_t gamma_step,
                           double pre, double inv, int64_t begin, int64_t end)
{
    const bool wide = rmsnorm_stage_is_wide(choice->form);
    const bool twice = choice->form == TWICE || choice->form == TWICE_WIDE;
    const bool multiply_wide = choice->form == ONCE_WIDE || choice->type_x == F64 || choice->type_y == F64;
    for (int64_t i = begin; i < end; i++) {
        const float r = wide ? 0.0f : residual_sum(choice, row, i);
        double y = wide ? (load(choice->type_x, row->input, i) * pre) * inv : (double)((r * (float)pre) * (float)inv);
        if (twice) {
            y = round_to(choice->type_x, y);
        }
        const double g = load(choice->type_y, gamma, (i - begin) * gamma_step);
        y = multiply_wide ? y * g : (double)((float)y * (float)g);
        if (row->sum != NULL) {
            store(choice->type_x, row->sum, i, (double)r);
        }
        store(choice->type_y, row->output, i, y);
    }
}
