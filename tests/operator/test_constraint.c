#include "call_text.h"

static void format(const char *inputs, rmsnorm_constraint constraint, const char *expected)
{
    call_side side;
    char text[128];
    call_parse(inputs, 0x1000, &side);
    const size_t length = rmsnorm_constraint_format(
        rmsnorm_operator_parse(SKIP), (const rmsnorm_tensor *const *)side.slots, &constraint, text, sizeof text);
    assert_string_equal(text, expected);
    assert_int_equal(length, strlen(expected));
}

static void each_kind_reads_as_a_formula(void **state)
{
    (void)state;
    const char *const inputs = "float:B,S,H | float:?,S,7 | float:K | _";
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_EQUAL, {2, 0}, {0, 2}, 0, 0}, "gamma[0] (K) = input[2] (H)");
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_EQUAL, {1, 2}, {0, 2}, 0, 0}, "skip[2] (7) = input[2] (H)");
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_ONE_OR_EQUAL, {1, 0}, {0, 0}, 0, 0},
           "skip[0] (?) = 1 or input[0] (B)");
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_RANGE, {0, 2}, {0, 2}, 1, 5}, "1 <= input[2] (H) <= 5");
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_RANGE, {0, 2}, {0, 2}, 1, INT64_MAX}, "1 <= input[2] (H)");
}

static void what_is_not_there_is_a_question_mark(void **state)
{
    (void)state;
    const char *const inputs = "float:B,S,H | float:* | float:K | _";
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_EQUAL, {3, 0}, {1, 0}, 0, 0}, "bias[0] (?) = skip[0] (?)");
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_EQUAL, {0, 3}, {0, -1}, 0, 0}, "input[3] (?) = input[-1] (?)");
    format(inputs, (rmsnorm_constraint){RMSNORM_DIM_EQUAL, {4, 0}, {-1, 0}, 0, 0}, "? = ?");
    char text[8] = "before";
    const rmsnorm_constraint any = {RMSNORM_DIM_EQUAL, {0, 0}, {0, 0}, 0, 0};
    assert_int_equal(rmsnorm_constraint_format(NULL, NULL, &any, text, sizeof text), 0);
    assert_string_equal(text, "");
    assert_int_equal(rmsnorm_constraint_format(rmsnorm_operator_at(0), NULL, NULL, text, sizeof text), 0);
    assert_int_equal(rmsnorm_constraint_format(rmsnorm_operator_at(0), NULL, &any, NULL, 0),
                     strlen("X[0] (?) = X[0] (?)"));
}

static void the_length_needed_is_told_and_the_size_kept(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_parse(SKIP);
    const rmsnorm_constraint constraint = {RMSNORM_DIM_EQUAL, {2, 0}, {0, 2}, 0, 0};
    static const char whole[] = "gamma[0] (K) = input[2] (H)";
    call_side side;
    call_parse("float:B,S,H | float:B,S,H | float:K", 0x1000, &side);
    for (size_t size = 0; size <= sizeof whole; ++size) {
        char text[sizeof whole + 1];
        memset(text, '#', sizeof text);
        assert_int_equal(rmsnorm_constraint_format(op, (const rmsnorm_tensor *const *)side.slots, &constraint,
                                                   size > 0 ? text : NULL, size),
                         sizeof whole - 1);
        assert_int_equal(text[size], '#');
        if (size > 0) {
            assert_int_equal(strlen(text), size - 1);
            assert_memory_equal(text, whole, size - 1);
        }
    }
}

static void hostile_names_are_cleaned(void **state)
{
    (void)state;
    rmsnorm_tensor input = {
        .dtype = RMSNORM_FLOAT, .rank = 1, .dims = {RMSNORM_UNKNOWN}, .dim_names = {"\x1b[2J\n\xff"}};
    const rmsnorm_tensor *const inputs[] = {&input, &input, &input, &input};
    const rmsnorm_constraint constraint = {RMSNORM_DIM_RANGE, {0, 0}, {0, 0}, 1, 2};
    char text[64];
    rmsnorm_constraint_format(rmsnorm_operator_parse(SKIP), inputs, &constraint, text, sizeof text);
    assert_string_equal(text, "1 <= input[0] (?[2J?"
                              "?) <= 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_kind_reads_as_a_formula),
        cmocka_unit_test(what_is_not_there_is_a_question_mark),
        cmocka_unit_test(the_length_needed_is_told_and_the_size_kept),
        cmocka_unit_test(hostile_names_are_cleaned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
