/* What the kernels are checked by, checked itself: conversions against the machine's own, the operators against numbers
 * worked out by hand. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kerncheck/oracle.h"
#include "kerncheck/rng.h"
#include "support.h"

static void test_every_narrow_number_survives_loading_and_storing(void **state)
{
    (void)state;
    static const rmsnorm_dtype narrow[] = {F16, BF16};
    for (size_t d = 0; d < 2; d++) {
        for (unsigned bits = 0; bits <= 0xFFFF; bits++) {
            const uint16_t in = (uint16_t)bits;
            uint16_t out = 0;
            const double value = element_load(narrow[d], &in, 0);
            element_store(narrow[d], &out, 0, value);
            assert_true(isnan(value) ? isnan(element_load(narrow[d], &out, 0)) : in == out);
        }
    }
}

static void test_known_narrow_numbers(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype dtype;
        uint16_t bits;
        double value;
    } known[] = {{F16, 0x3C00, 1},         {F16, 0xC000, -2},         {F16, 0x7BFF, 65504},
                 {F16, 0x0001, 0x1p-24},   {F16, 0x0400, 0x1p-14},    {F16, 0x7C00, INFINITY},
                 {BF16, 0x3F80, 1},        {BF16, 0xC000, -2},        {BF16, 0x7F7F, 0x1.fep127},
                 {BF16, 0x0001, 0x1p-133}, {BF16, 0xFF80, -INFINITY}, {BF16, 0x4049, 3.140625}};
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        assert_true(element_load(known[i].dtype, &known[i].bits, 0) == known[i].value);
    }
}

static void test_midpoints_go_to_even_and_past_the_end_to_infinity(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype dtype;
        double value, rounded;
    } cases[] = {{F16, 1 + 0x1p-11, 1},
                 {F16, 1 + 3 * 0x1p-11, 1 + 0x1p-9},
                 {F16, 1 + 0x1.000001p-11, 1 + 0x1p-10},
                 {F16, 65519.99, 65504},
                 {F16, 65520, INFINITY},
                 {F16, -65520, -INFINITY},
                 {F16, 0x1p-25, 0},
                 {F16, 0x1.8p-24, 0x1p-23},
                 {F16, 0x1.000001p-25, 0x1p-24},
                 {BF16, 1 + 0x1p-8, 1},
                 {BF16, 1 + 3 * 0x1p-8, 1 + 0x1p-6},
                 {BF16, 0x1.ffp127, INFINITY},
                 {F32, 1 + 0x1p-24, 1},
                 {F32, 1 + 3 * 0x1p-24, 1 + 0x1p-22},
                 {F32, 0x1p-150, 0}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_true(round_double(cases[i].value, format_of(cases[i].dtype)) == cases[i].rounded);
    }
}

static void test_rounding_to_float_is_the_machines(void **state)
{
    (void)state;
    rng r = rng_seeded(1);
    for (int i = 0; i < 200000; i++) {
        const double significand = rng_normal(&r);
        const double value = ldexp(significand, (int)rng_between(&r, -160, 120));
        assert_true(round_double(value, format_of(F32)) == (double)(float)value);
    }
}

/* Beyond what a double holds: 1/3 and the root of 2 to twice its digits. */
static void test_reals_hold_twice_a_doubles_digits(void **state)
{
    (void)state;
    const real third = real_divide(real_from(1), real_from(3));
    const real rest = real_add(real_multiply(third, real_from(3)), real_from(-1));
    assert_true(rest.hi == 0 || rest.exponent < -100);
    const real root = real_root(real_from(2));
    const real off = real_add(real_multiply(root, root), real_from(-2));
    assert_true(off.hi == 0 || off.exponent < -98);
    square_sum sum = square_sum_start(1e200);
    square_sum_add(&sum, 1e200);
    square_sum_add(&sum, -1e200);
    assert_true(real_round(real_root(real_divide(square_sum_real(&sum), real_from(2))), format_of(F64)) == 1e200);
}

static void test_distances_are_in_units_of_the_last_place(void **state)
{
    (void)state;
    assert_true(real_ulps(real_from(1), 1 + 0x1p-10, format_of(F16)) == 1);
    assert_true(real_ulps(real_from(1.5), 1.5 - 0x1.8p-23, format_of(F32)) == 1.5);
    assert_true(real_ulps(real_from(65504), INFINITY, format_of(F16)) == 1);
    assert_true(real_ulps(real_from(70000), INFINITY, format_of(F16)) == 0);
    assert_true(real_ulps(real_from(0x1p-24), 0, format_of(F16)) == 1);
    assert_true(format_step(1, -1, format_of(F16)) == 1 - 0x1p-11);
    assert_true(format_step(1, 1, format_of(F16)) == 1 + 0x1p-10);
    assert_true(format_step(0, -2, format_of(BF16)) == -0x1p-132);
    assert_true(isinf(format_step(65504, 1, format_of(F16))));
    double other = 0;
    assert_true(real_tie_distance(real_from(1 + 0x1p-11), format_of(F16), &other) == 0);
    assert_true(other == 1 + 0x1p-10);
}

/* X of two float16 numbers, scale of two; everything else as an argument. */
static oracle_call pair(rmsnorm_operator_kind kind, const uint16_t *x, const uint16_t *scale, float epsilon)
{
    return (oracle_call){.kind = kind,
                         .t = F16,
                         .v = F16,
                         .stash = F32,
                         .rank = 2,
                         .axis = 1,
                         .dims = {1, 2},
                         .scale_rank = 1,
                         .scale_dims = {2},
                         .epsilon = epsilon,
                         .input = x,
                         .scale = scale};
}

static void test_the_oracle_knows_right_from_wrong(void **state)
{
    (void)state;
    uint16_t x[2];
    uint16_t scale[2];
    element_store(F16, x, 0, 3);
    element_store(F16, x, 1, 4);
    element_store(F16, scale, 0, 1);
    element_store(F16, scale, 1, -2);
    const oracle_call call = pair(SIMPLE, x, scale, 3.5F); /* mean 12.5 + 3.5: the root is 4 */
    const oracle_row row = oracle_row_of(&call, 0);
    assert_true(oracle_output(&call, &row, 0, 0.75).rounded);
    assert_true(oracle_output(&call, &row, 1, -2).rounded);
    assert_true(oracle_output(&call, &row, 0, 0.75 + 0x1p-11).fits); /* 1 ulp, of which there may be 1 in 1000 */
    assert_false(oracle_output(&call, &row, 0, 0.75 + 0x1p-11).rounded);
    assert_false(oracle_output(&call, &row, 0, 0.75 + 0x1p-10).fits);
    assert_false(oracle_output(&call, &row, 0, -0.75).fits);
    assert_false(oracle_output(&call, &row, 0, NAN).fits);
    assert_true(oracle_inverse(&call, &row, 0.25).rounded);
    assert_false(oracle_inverse(&call, &row, 0.2500001).fits);
}

/* One rounding for SimplifiedLayerNormalization, two for RMSNormalization: a quarter of float16 products differ. */
static void test_the_oracle_rounds_where_the_operator_does(void **state)
{
    (void)state;
    int differ = 0;
    int excused = 0; /* the middle value is so close to a midpoint that float cannot tell the sides */
    for (int i = 0; i < 200; i++) {
        uint16_t x[2];
        uint16_t scale[2];
        element_store(F16, x, 0, 1);
        element_store(F16, x, 1, 1 + i * 0x1p-10);
        element_store(F16, scale, 0, 1);
        element_store(F16, scale, 1, 2 - (i + 1) * 0x1p-10);
        const oracle_call once = pair(SIMPLE, x, scale, 0.3F);
        const oracle_call twice = pair(PLAIN, x, scale, 0.3F);
        const oracle_row row = oracle_row_of(&once, 0);
        const double second = element_load(F16, x, 1);
        const double middle = second / sqrt((1 + second * second) / 2 + (double)0.3F);
        const double gamma = element_load(F16, scale, 1);
        const double single = round_double(middle * gamma, format_of(F16));
        const double rounded = round_double(round_double(middle, format_of(F16)) * gamma, format_of(F16));
        assert_true(oracle_output(&once, &row, 1, single).rounded);
        assert_true(oracle_output(&twice, &row, 1, rounded).rounded);
        if (single != rounded) {
            differ++;
            excused += oracle_output(&twice, &row, 1, single).fits ? 1 : 0;
        }
    }
    assert_true(differ > 20);
    assert_true(excused <= 2);
}

static void test_the_oracle_broadcasts_like_numpy(void **state)
{
    (void)state;
    oracle_call call = {.kind = PLAIN, .rank = 3, .axis = 2, .dims = {2, 3, 4}, .scale_rank = 2, .scale_dims = {3, 1}};
    assert_int_equal(oracle_scale_index(&call, 5, 3), 2); /* X[1,2,3] */
    call.scale_dims[0] = 1;
    call.scale_dims[1] = 4;
    assert_int_equal(oracle_scale_index(&call, 5, 3), 3);
    call =
        (oracle_call){.kind = PLAIN, .rank = 3, .axis = 1, .dims = {2, 3, 4}, .scale_rank = 3, .scale_dims = {2, 1, 4}};
    assert_int_equal(oracle_scale_index(&call, 1, 11), 7); /* X[1,2,3] */
    call.scale_rank = 0;
    assert_int_equal(oracle_scale_index(&call, 1, 11), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_narrow_number_survives_loading_and_storing),
        cmocka_unit_test(test_known_narrow_numbers),
        cmocka_unit_test(test_midpoints_go_to_even_and_past_the_end_to_infinity),
        cmocka_unit_test(test_rounding_to_float_is_the_machines),
        cmocka_unit_test(test_reals_hold_twice_a_doubles_digits),
        cmocka_unit_test(test_distances_are_in_units_of_the_last_place),
        cmocka_unit_test(test_the_oracle_knows_right_from_wrong),
        cmocka_unit_test(test_the_oracle_rounds_where_the_operator_does),
        cmocka_unit_test(test_the_oracle_broadcasts_like_numpy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
