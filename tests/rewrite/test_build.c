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

static void refused(rmsnorm_status status, const char *function)
{
    assert_int_equal(status, RMSNORM_INVALID_ARGUMENT);
    assert_ptr_equal(strstr(rmsnorm_last_error(), function), rmsnorm_last_error());
}

static void null_is_refused(void **state)
{
    (void)state;
    build *const b = build_begin(18);
    const size_t x = build_value(b, "x", RMSNORM_FLOAT, "2");
    const size_t y = build_value(b, "y", RMSNORM_FLOAT, "2");
    const rmsnorm_ir_value value = {.name = "z"};
    const rmsnorm_ir_node node = {
        .name = "", .op_type = "Neg", .inputs = &x, .input_count = 1, .outputs = &y, .output_count = 1};
    const rmsnorm_operator *op = rmsnorm_operator_at(0);
    rmsnorm_attributes attributes;
    size_t index;
    refused(rmsnorm_ir_create(0, NULL), "rmsnorm_ir_create: ");
    refused(rmsnorm_ir_set_opset(NULL, "", 18), "rmsnorm_ir_set_opset: ");
    refused(rmsnorm_ir_add_function(NULL, "", "F"), "rmsnorm_ir_add_function: ");
    refused(rmsnorm_ir_add_function(b->ir, "", NULL), "rmsnorm_ir_add_function: ");
    refused(rmsnorm_ir_add_graph(NULL, 0, &index), "rmsnorm_ir_add_graph: ");
    refused(rmsnorm_ir_add_graph(b->ir, 0, NULL), "rmsnorm_ir_add_graph: ");
    refused(rmsnorm_ir_add_value(NULL, &value, &index), "rmsnorm_ir_add_value: ");
    refused(rmsnorm_ir_add_value(b->ir, NULL, &index), "rmsnorm_ir_add_value: ");
    refused(rmsnorm_ir_add_value(b->ir, &value, NULL), "rmsnorm_ir_add_value: ");
    refused(rmsnorm_ir_add_node(NULL, &node, &index), "rmsnorm_ir_add_node: ");
    refused(rmsnorm_ir_add_node(b->ir, NULL, &index), "rmsnorm_ir_add_node: ");
    refused(rmsnorm_ir_add_node(b->ir, &node, NULL), "rmsnorm_ir_add_node: ");
    rmsnorm_ir_node without = node;
    without.inputs = NULL;
    refused(rmsnorm_ir_add_node(b->ir, &without, &index), "rmsnorm_ir_add_node: ");
    without = node;
    without.outputs = NULL;
    refused(rmsnorm_ir_add_node(b->ir, &without, &index), "rmsnorm_ir_add_node: ");
    without = node;
    without.attribute_count = 1;
    refused(rmsnorm_ir_add_node(b->ir, &without, &index), "rmsnorm_ir_add_node: ");
    refused(rmsnorm_ir_infer(NULL), "rmsnorm_ir_infer: ");
    refused(rmsnorm_ir_fuse(NULL, NULL), "rmsnorm_ir_fuse: ");
    refused(rmsnorm_ir_convert(NULL, RMSNORM_TO_DECOMPOSED), "rmsnorm_ir_convert: ");
    refused(rmsnorm_ir_resolve(NULL, 0, &op, &attributes), "rmsnorm_ir_resolve: ");
    refused(rmsnorm_ir_resolve(b->ir, 0, NULL, &attributes), "rmsnorm_ir_resolve: ");
    refused(rmsnorm_ir_resolve(b->ir, 0, &op, NULL), "rmsnorm_ir_resolve: ");
    refused(rmsnorm_attributes_read(NULL, NULL, 0, &attributes), "rmsnorm_attributes_read: ");
    refused(rmsnorm_attributes_read(op, NULL, 1, &attributes), "rmsnorm_attributes_read: ");
    refused(rmsnorm_attributes_read(op, NULL, 0, NULL), "rmsnorm_attributes_read: ");
    refused(rmsnorm_opset_check_raise(NULL, 1, 2), "rmsnorm_opset_check_raise: ");
    assert_int_equal(rmsnorm_ir_value_count(b->ir), 2);
    assert_int_equal(rmsnorm_ir_node_count(b->ir), 0);
    build_end(b);
}

static void nothing_is_asked_of_null(void **state)
{
    (void)state;
    size_t count = 7;
    rmsnorm_ir_free(NULL);
    rmsnorm_ir_fix_opset(NULL, "why");
    assert_int_equal(rmsnorm_ir_opset(NULL, ""), 0);
    assert_int_equal(rmsnorm_ir_graph_count(NULL) + rmsnorm_ir_value_count(NULL) + rmsnorm_ir_node_count(NULL), 0);
    assert_null(rmsnorm_ir_graph_at(NULL, 0));
    assert_null(rmsnorm_ir_value_at(NULL, 0));
    assert_null(rmsnorm_ir_node_at(NULL, 0));
    assert_null(rmsnorm_ir_faults(NULL, &count));
    assert_int_equal(count, 0);
    count = 7;
    assert_null(rmsnorm_ir_findings(NULL, &count));
    assert_int_equal(count, 0);
    build *const b = build_begin(18);
    assert_null(rmsnorm_ir_faults(b->ir, NULL));
    assert_null(rmsnorm_ir_findings(b->ir, NULL));
    build_end(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_values_and_nodes),
        cmocka_unit_test(a_value_has_one_maker),
        cmocka_unit_test(null_is_refused),
        cmocka_unit_test(nothing_is_asked_of_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
