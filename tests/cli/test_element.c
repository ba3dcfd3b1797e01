/* element.c: the command's own conversions, against arithmetic instead of bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/element.h"

static double element_of(rmsnorm_dtype dtype, uint16_t bits)
{
    const rmsnorm_tensor tensor = {.dtype = dtype, .data = &bits};
    return rmsnorm_cli_element(&tensor, 0);
}

/* sign * fraction * 2^(exponent - bias), by the definition of the format. */
static double by_definition(uint16_t bits, int fraction_bits)
{
    const int exponent = (bits & 0x7fff) >> fraction_bits;
    const int fraction = bits & ((1 << fraction_bits) - 1);
    const int top = (1 << (15 - fraction_bits)) - 1;
    const int bias = top / 2;
    const double sign = (bits & 0x8000) != 0 ? -1 : 1;
    if (exponent == top) {
        return fraction == 0 ? sign * (double)INFINITY : (double)NAN;
    }
    const double whole = exponent == 0 ? fraction : (1 << fraction_bits) + fraction;
    return sign * ldexp(whole, (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
}

static void every_16_bit_value_is_read_as_defined(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < 0x10000; ++i) {
        const double half = element_of(RMSNORM_FLOAT16, (uint16_t)i);
        const double brain = element_of(RMSNORM_BFLOAT16, (uint16_t)i);
        const double wanted_half = by_definition((uint16_t)i, 10);
        const double wanted_brain = by_definition((uint16_t)i, 7);
        assert_true(half == wanted_half || (isnan(half) && isnan(wanted_half)));
        assert_true(signbit(half) == signbit(wanted_half) || isnan(half));
        assert_true(brain == wanted_brain || (isnan(brain) && isnan(wanted_brain)));
    }
}

static uint16_t stored(rmsnorm_dtype dtype, double value)
{
    uint16_t bits = 0x5555;
    rmsnorm_tensor tensor = {.dtype = dtype, .data = &bits};
    rmsnorm_cli_element_store(&tensor, 0, value);
    return bits;
}

/* Each value, and the middles to its neighbours: down to the even one, up to the even one. */
static void storing_rounds_to_nearest_even(void **state)
{
    (void)state;
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    for (int t = 0; t < 2; ++t) {
        for (uint16_t bits = 0; isfinite(element_of(types[t], (uint16_t)(bits + 1))); ++bits) {
            const double low = element_of(types[t], bits);
            const double high = element_of(types[t], (uint16_t)(bits + 1));
            const double middle = (low + high) / 2;
            assert_int_equal(stored(types[t], low), bits);
            assert_int_equal(stored(types[t], -high), 0x8000 | (bits + 1));
            if ((float)middle > 0 && (double)(float)middle == middle) {
                assert_int_equal(stored(types[t], middle), bits + (bits & 1));
                assert_int_equal(stored(types[t], (double)nextafterf((float)middle, INFINITY)), bits + 1);
                assert_int_equal(stored(types[t], (double)nextafterf((float)middle, 0)), bits);
                /* Rounded to float first, these would be the middle itself. */
                assert_int_equal(stored(types[t], nextafter(middle, INFINITY)), bits + 1);
                assert_int_equal(stored(types[t], nextafter(middle, 0)), bits);
                assert_int_equal(stored(types[t], -nextafter(middle, INFINITY)), 0x8000 | (bits + 1));
            }
        }
    }
}

static void what_is_beyond_the_range_is_infinity(void **state)
{
    (void)state;
    assert_int_equal(stored(RMSNORM_FLOAT16, 65519.996), 0x7bff);
    assert_int_equal(stored(RMSNORM_FLOAT16, 65519.999999999), 0x7bff);
    assert_int_equal(stored(RMSNORM_FLOAT16, -65520), 0xfc00);
    assert_int_equal(stored(RMSNORM_FLOAT16, 1e300), 0x7c00);
    assert_int_equal(stored(RMSNORM_FLOAT16, (double)-INFINITY), 0xfc00);
    assert_int_equal(stored(RMSNORM_BFLOAT16, (double)INFINITY), 0x7f80);
    assert_int_equal(stored(RMSNORM_BFLOAT16, 3.4e38), 0x7f80);
    assert_true(isnan(element_of(RMSNORM_FLOAT16, stored(RMSNORM_FLOAT16, (double)NAN))));
    assert_true(isnan(element_of(RMSNORM_BFLOAT16, stored(RMSNORM_BFLOAT16, (double)NAN))));
}

static void wide_types_pass_through(void **state)
{
    (void)state;
    float singles[2] = {0, 1.5f};
    double doubles[2] = {0, 0.1};
    rmsnorm_tensor single = {.dtype = RMSNORM_FLOAT, .data = singles};
    rmsnorm_tensor wide = {.dtype = RMSNORM_DOUBLE, .data = doubles};
    rmsnorm_cli_element_store(&single, 0, 0.1);
    rmsnorm_cli_element_store(&wide, 0, 0.3);
    assert_true(rmsnorm_cli_element(&single, 0) == (double)0.1f && rmsnorm_cli_element(&single, 1) == 1.5);
    assert_true(rmsnorm_cli_element(&wide, 0) == 0.3 && rmsnorm_cli_element(&wide, 1) == 0.1);
}

static void integers_are_loaded_and_stored(void **state)
{
    (void)state;
    int32_t narrow[2] = {7, INT32_MIN};
    int64_t wide[2] = {7, INT64_MIN};
    rmsnorm_tensor singles = {.dtype = RMSNORM_INT32, .data = narrow};
    rmsnorm_tensor doubles = {.dtype = RMSNORM_INT64, .data = wide};
    rmsnorm_cli_element_store_integer(&singles, 0, INT64_C(0x1fffffffe));
    rmsnorm_cli_element_store_integer(&doubles, 0, INT64_C(0x1fffffffe));
    assert_int_equal(rmsnorm_cli_element_integer(&singles, 0), -2);
    assert_int_equal(rmsnorm_cli_element_integer(&singles, 1), INT32_MIN);
    assert_true(rmsnorm_cli_element_integer(&doubles, 0) == INT64_C(0x1fffffffe));
    assert_true(rmsnorm_cli_element_integer(&doubles, 1) == INT64_MIN);
    assert_int_equal(rmsnorm_cli_element_size(RMSNORM_INT32), 4);
    assert_int_equal(rmsnorm_cli_element_size(RMSNORM_INT64), 8);
    assert_int_equal(rmsnorm_cli_element_size(RMSNORM_BFLOAT16), 2);
    assert_int_equal(rmsnorm_cli_element_size((rmsnorm_dtype)9), 0);
}

static void steps_count_the_values_between(void **state)
{
    (void)state;
    static const struct {
        uint16_t a, b;
        uint64_t steps;
    } cases[] = {{0x3c00, 0x3c00, 0}, {0x3c00, 0x3c01, 1}, {0x3bff, 0x3c01, 2},
                 {0x0000, 0x8000, 0}, {0x0001, 0x8001, 2}, {0x7bff, 0xfbff, 63486}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        uint16_t bits[2] = {cases[i].a, cases[i].b};
        const rmsnorm_tensor a = {.dtype = RMSNORM_FLOAT16, .data = &bits[0]};
        const rmsnorm_tensor b = {.dtype = RMSNORM_FLOAT16, .data = &bits[1]};
        assert_int_equal(rmsnorm_cli_element_steps(&a, &b, 0), cases[i].steps);
        assert_int_equal(rmsnorm_cli_element_steps(&b, &a, 0), cases[i].steps);
    }
}

static void steps_of_wide_types(void **state)
{
    (void)state;
    float singles[] = {1, 1 + 0x1p-23f, 1 - 0x1p-24f, 0x1p-149f, -0x1p-149f, 0, -0.0f, -3.4028235e38f, 3.4028235e38f};
    double doubles[] = {
        1, 1 + 0x1p-52, 1 - 0x1p-53, 0x1p-1074, -0x1p-1074, 0, -0.0, -0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023};
    static const struct {
        size_t a, b;
        uint64_t steps[2];
    } cases[] = {{0, 0, {0, 0}}, {0, 1, {1, 1}}, {1, 2, {2, 2}},
                 {3, 4, {2, 2}}, {5, 6, {0, 0}}, {7, 8, {UINT64_C(0xfefffffe), UINT64_C(0xffdffffffffffffe)}}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const rmsnorm_tensor a = {.dtype = RMSNORM_FLOAT, .data = &singles[cases[i].a]};
        const rmsnorm_tensor b = {.dtype = RMSNORM_FLOAT, .data = &singles[cases[i].b]};
        const rmsnorm_tensor c = {.dtype = RMSNORM_DOUBLE, .data = &doubles[cases[i].a]};
        const rmsnorm_tensor d = {.dtype = RMSNORM_DOUBLE, .data = &doubles[cases[i].b]};
        assert_true(rmsnorm_cli_element_steps(&a, &b, 0) == cases[i].steps[0]);
        assert_true(rmsnorm_cli_element_steps(&b, &a, 0) == cases[i].steps[0]);
        assert_true(rmsnorm_cli_element_steps(&c, &d, 0) == cases[i].steps[1]);
        assert_true(rmsnorm_cli_element_steps(&d, &c, 0) == cases[i].steps[1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_16_bit_value_is_read_as_defined), cmocka_unit_test(storing_rounds_to_nearest_even),
        cmocka_unit_test(what_is_beyond_the_range_is_infinity),  cmocka_unit_test(wide_types_pass_through),
        cmocka_unit_test(steps_count_the_values_between),        cmocka_unit_test(steps_of_wide_types),
        cmocka_unit_test(integers_are_loaded_and_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
