/* compare: what a tolerance lets pass. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/cli.h"
#include "cli/compare.h"

enum { COUNT = 3 };

static rmsnorm_tensor floats(float values[COUNT])
{
    return (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {COUNT}, .data = values};
}

static int compare(const rmsnorm_tensor *actual, const rmsnorm_tensor *expected, bool flushes)
{
    const rmsnorm_cli_tolerance tolerance = {0, 0, 0, flushes};
    rmsnorm_cli_difference difference;
    return rmsnorm_cli_compare("y", actual, expected, &tolerance, &difference);
}

/* F67: on WebGPU zero will do, and nothing else will. */
static void zero_will_do_for_a_subnormal_number_where_flushing_is_allowed(void **state)
{
    (void)state;
    float expected_values[COUNT] = {1e-39F, -0x1p-149F, 0x1p-126F};
    float same_values[COUNT] = {1e-39F, -0x1p-149F, 0x1p-126F};
    float zeros_values[COUNT] = {0, -0.0F, 0x1p-126F};
    float normal_values[COUNT] = {0, 0, 0};
    float other_values[COUNT] = {2e-39F, 0, 0x1p-126F};
    const rmsnorm_tensor expected = floats(expected_values);
    const rmsnorm_tensor same = floats(same_values);
    const rmsnorm_tensor zeros = floats(zeros_values);
    const rmsnorm_tensor normal = floats(normal_values);
    const rmsnorm_tensor other = floats(other_values);
    assert_int_equal(compare(&same, &expected, true), RMSNORM_CLI_DONE);
    assert_int_equal(compare(&same, &expected, false), RMSNORM_CLI_DONE);
    assert_int_equal(compare(&zeros, &expected, true), RMSNORM_CLI_DONE);
    assert_int_equal(compare(&zeros, &expected, false), RMSNORM_CLI_BAD);
    assert_int_equal(compare(&normal, &expected, true), RMSNORM_CLI_BAD);
    assert_non_null(strstr(rmsnorm_cli_sentence(), "1 of 3 elements"));
    assert_int_equal(compare(&other, &expected, true), RMSNORM_CLI_BAD);
    assert_int_equal(compare(&expected, &zeros, true), RMSNORM_CLI_BAD); /* zero expected, a subnormal number come */
}

static void float16_has_its_own_smallest_normal_number(void **state)
{
    (void)state;
    uint16_t expected_bits[COUNT] = {0x0001, 0x83ff, 0x0400};
    uint16_t zeros_bits[COUNT] = {0, 0, 0x0400};
    uint16_t normal_bits[COUNT] = {0, 0, 0};
    rmsnorm_tensor expected = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {COUNT}, .data = expected_bits};
    rmsnorm_tensor actual = expected;
    actual.data = zeros_bits;
    assert_int_equal(compare(&actual, &expected, true), RMSNORM_CLI_DONE);
    actual.data = normal_bits;
    assert_int_equal(compare(&actual, &expected, true), RMSNORM_CLI_BAD);
}

/* Results that may be either of two, element by element; NaN is near to NaN alone. */
static void the_nearer_of_two_is_taken(void **state)
{
    (void)state;
    float actual_values[COUNT] = {1, NAN, 5};
    float expected_values[COUNT] = {1.5F, 1, 5};
    float other_values[COUNT] = {1, NAN, NAN};
    rmsnorm_tensor expected = floats(expected_values);
    const rmsnorm_tensor actual = floats(actual_values);
    const rmsnorm_tensor other = floats(other_values);
    rmsnorm_cli_take_nearer(&actual, &expected, &other);
    assert_true(expected_values[0] == 1 && isnan(expected_values[1]) && expected_values[2] == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_will_do_for_a_subnormal_number_where_flushing_is_allowed),
        cmocka_unit_test(float16_has_its_own_smallest_normal_number),
        cmocka_unit_test(the_nearer_of_two_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
