/* The graph itself, and the lines that build one for all tests here. */
#include "build.h"

static void lines_become_values_and_nodes(void **state)
{
    (void)state;
    build *const b = build_begin(18);
    (void)build_value(b, "x", RMSNORM_FLOAT16, "B,S,64");
    (void)build_value(b, "z", RMSNORM_INT64, "...,?,2");
    (void)build_constant(b, "two", RMSNORM_FLOAT, "", "2");
    (void)build_constant(b, "half", RMSNORM_FLOAT16, "1", "0.5");
    (void)build_constant(b, "shape", RMSNORM_INT64, "3", "1,-1,8");
    const size_t node = build_node(b, "Pow", "x,two", "sq");
    const size_t split = build_node(b, "com.microsoft::F axes=[-1] eps=1e-5 n=7 mode=\"sum\" @split", "sq,,z", "a,,b");
    assert_string_equal(build_type(b, "x"), "float16:B,S,64");
    assert_string_equal(build_type(b, "z"), "int64:...,?,2");
    assert_string_equal(build_type(b, "sq"), "?:*");
    assert_string_equal(build_nodes(b, 0), "Pow(x, two) = sq; F(sq, , z) = a, , b");
    double number;
    int32_t rank;
    assert_true(rmsnorm_ir_scalar(b->ir, build_find(b, "half"), &number, &rank));
    assert_true(number == 0.5 && rank == 1);
    int64_t numbers[4];
    size_t count;
    assert_true(rmsnorm_ir_integers(b->ir, build_find(b, "shape"), numbers, 4, &count));
    assert_true(count == 3 && numbers[0] == 1 && numbers[1] == -1 && numbers[2] == 8);
    assert_string_equal(rmsnorm_ir_label(b->ir, node).text, "node \"sq\"");
    assert_string_equal(rmsnorm_ir_label(b->ir, split).text, "node \"split\"");
    assert_int_equal(rmsnorm_ir_attribute(b->ir, split, "axes")->ints[0], -1);
    assert_true(rmsnorm_ir_attribute(b->ir, split, "eps")->f == 1e-5f);
    assert_int_equal(rmsnorm_ir_attribute(b->ir, split, "n")->i, 7);
    assert_int_equal(rmsnorm_ir_attribute(b->ir, split, "mode")->kind, RMSNORM_NODE_ATTRIBUTE_OTHER);
    build_end(b);
}

static void a_value_has_one_maker(void **state)
{
    (void)state;
    build *const b = build_begin(18);
    const size_t x = build_value(b, "x", RMSNORM_FLOAT, "2");
    (void)build_node(b, "Neg", "x", "y");
    const size_t y = build_find(b, "y");
    size_t index;
    const rmsnorm_ir_node second = {
        .name = "", .op_type = "Neg", .domain = "", .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1};
    assert_int_equal(rmsnorm_ir_add_node(b->ir, &second, &index), RMSNORM_INVALID_ARGUMENT);
    assert_string_equal(build_nodes(b, 0), "Neg(x) = y");
    build_end(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_values_and_nodes),
        cmocka_unit_test(a_value_has_one_maker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
