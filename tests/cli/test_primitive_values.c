/* rmsnorm run MODEL: primitives that make values, and whole models of primitives. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "naive.h"
#include "rmsnorm/graph.h"
#include "support.h"

static model file;

/* ---- Values ---------------------------------------------------------------------------------- */

static void constants_come_in_five_ways(void **state)
{
    (void)state;
    model_begin(&file);
    model_node(&file, "", "", "Constant", NULL, "float", "value_float=2.5");
    model_node(&file, "", "", "Constant", NULL, "floats", "value_floats=[0.5,-1.5]");
    model_node(&file, "", "", "Constant", NULL, "int", "value_int=-3");
    model_node(&file, "", "", "Constant", NULL, "ints", "value_ints=[4,5]");
    model_node(&file, "", "", "Constant", NULL, "empty", "value_ints=[]");
    model_value_node(&file, "", "Constant", NULL, "value", RMSNORM_DOUBLE, 8, "1,2", (const double[]){6, 7});
    static const char *const names[] = {"int", "ints", "empty"};
    for (size_t i = 0; i < 3; ++i) {
        char output[16];
        (void)snprintf(output, sizeof output, "%s_cast", names[i]);
        model_node(&file, "", "", "Cast", names[i], output, "to=1");
        model_output(&file, output, RMSNORM_FLOAT, NULL);
    }
    model_output(&file, "float", RMSNORM_FLOAT, "");
    model_output(&file, "floats", RMSNORM_FLOAT, "2");
    model_output(&file, "value", RMSNORM_DOUBLE, "1,2");
    model_write(&file, 13, "constants.onnx");
    DONE("rmsnorm run constants.onnx --output-dir constants");
    EXPECT("constants/float.npy", RMSNORM_FLOAT, "", 2.5);
    EXPECT("constants/floats.npy", RMSNORM_FLOAT, "2", 0.5, -1.5);
    EXPECT("constants/int_cast.npy", RMSNORM_FLOAT, "", -3);
    EXPECT("constants/ints_cast.npy", RMSNORM_FLOAT, "2", 4, 5);
    expect_tensor("constants/empty_cast.npy", RMSNORM_FLOAT, "0", NULL, 0);
    EXPECT("constants/value.npy", RMSNORM_DOUBLE, "1,2", 6, 7);
}

static void shapes_become_values(void **state)
{
    (void)state;
    static const struct {
        const char *words, *dims;
        double values[3];
        size_t count;
    } cases[] = {
        {"", "3", {2, 3, 4}, 3},        {"start=1", "2", {3, 4}, 2},    {"start=-1", "1", {4}, 1},
        {"end=-1", "2", {2, 3}, 2},     {"start=1 end=2", "1", {3}, 1}, {"start=-9 end=9", "3", {2, 3, 4}, 3},
        {"start=2 end=1", "0", {0}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        model_begin(&file);
        model_input(&file, "x", RMSNORM_FLOAT, NULL);
        model_node(&file, "", "", "Shape", "x", "shape", cases[i].words);
        model_node(&file, "", "", "Cast", "shape", "y", "to=1");
        model_output(&file, "y", RMSNORM_FLOAT, NULL);
        model_write(&file, 15, "shape.onnx");
        DONE("rmsnorm run shape.onnx random:float:2,3,4 --output y=y.npy");
        expect_tensor("y.npy", RMSNORM_FLOAT, cases[i].dims, cases[i].values, cases[i].count);
    }
}

static void tensors_are_filled_by_shape(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, NULL);
    model_node(&file, "", "", "Shape", "x", "shape", "");
    model_node(&file, "", "", "Size", "x", "size", "");
    model_node(&file, "zeros", "", "ConstantOfShape", "shape", "zeros", "");
    model_value_node(&file, "ones", "ConstantOfShape", "shape", "ones", RMSNORM_DOUBLE, 8, "1", (const double[]){1.5});
    model_integers(&file, "none", "0", NULL);
    model_value_node(&file, "whole", "ConstantOfShape", "none", "seven", RMSNORM_INT64, 8, "1", (const int64_t[]){7});
    model_node(&file, "", "", "Cast", "size", "count", "to=1");
    model_node(&file, "", "", "Cast", "seven", "scalar", "to=1");
    model_output(&file, "zeros", RMSNORM_FLOAT, NULL);
    model_output(&file, "ones", RMSNORM_DOUBLE, NULL);
    model_output(&file, "count", RMSNORM_FLOAT, "");
    model_output(&file, "scalar", RMSNORM_FLOAT, "");
    model_write(&file, 9, "filled.onnx");
    DONE("rmsnorm run filled.onnx random:float:2,3 --output-dir filled", "zeros = ai.onnx::ConstantOfShape\n",
         "ones = ai.onnx::ConstantOfShape value=1.5\n", "whole = ai.onnx::ConstantOfShape value=7\n");
    EXPECT("filled/zeros.npy", RMSNORM_FLOAT, "2,3", 0, 0, 0, 0, 0, 0);
    EXPECT("filled/ones.npy", RMSNORM_DOUBLE, "2,3", 1.5, 1.5, 1.5, 1.5, 1.5, 1.5);
    EXPECT("filled/count.npy", RMSNORM_FLOAT, "", 6);
    EXPECT("filled/scalar.npy", RMSNORM_FLOAT, "", 7);
}

static void ranges_count_from_start_to_limit(void **state)
{
    (void)state;
    static const struct {
        int64_t start, limit, delta;
        const char *dims;
        double values[4];
        size_t count;
    } cases[] = {
        {0, 4, 1, "4", {0, 1, 2, 3}, 4},
        {5, 0, -2, "3", {5, 3, 1}, 3},
        {3, 3, 1, "0", {0}, 0},
        {3, 1, 1, "0", {0}, 0},
        {1, 8, 3, "3", {1, 4, 7}, 3},
        {-1, 3, 4, "1", {-1}, 1},
        {INT64_MIN, INT64_MAX, INT64_MAX, "3", {-0x1p63, -1, 0x1p63}, 3},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        model_begin(&file);
        model_integers(&file, "start", "", &cases[i].start);
        model_integers(&file, "limit", "", &cases[i].limit);
        model_integers(&file, "delta", "", &cases[i].delta);
        model_node(&file, "", "", "Range", "start,limit,delta", "range", "");
        model_node(&file, "", "", "Cast", "range", "y", "to=1");
        model_output(&file, "y", RMSNORM_FLOAT, NULL);
        model_write(&file, 11, "range.onnx");
        DONE("rmsnorm run range.onnx --output y=y.npy");
        expect_tensor("y.npy", RMSNORM_FLOAT, cases[i].dims, cases[i].values, cases[i].count);
    }
    model_begin(&file);
    model_initializer(&file, "start", "", (const float[]){1});
    model_initializer(&file, "limit", "", (const float[]){2});
    model_initializer(&file, "delta", "", (const float[]){0.375f});
    model_node(&file, "", "", "Range", "start,limit,delta", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 11, "floats.onnx");
    DONE("rmsnorm run floats.onnx --output y=y.npy");
    EXPECT("y.npy", RMSNORM_FLOAT, "3", 1, 1.375, 1.75);
}

static void integers_add_subtract_and_multiply(void **state)
{
    (void)state;
    model_begin(&file);
    model_integers(&file, "a", "2,1", (const int64_t[]){INT64_C(1) << 53, -3});
    model_integers(&file, "b", "2", (const int64_t[]){1, 5});
    model_node(&file, "", "", "Add", "a,b", "sum", "");
    model_node(&file, "", "", "Sub", "sum,a", "difference", "");
    model_node(&file, "", "", "Mul", "difference,b", "product", "");
    model_node(&file, "", "", "Identity", "product", "same", "");
    model_node(&file, "", "", "Cast", "same", "y", "to=11");
    model_output(&file, "y", RMSNORM_DOUBLE, NULL);
    model_write(&file, 7, "integers.onnx");
    DONE("rmsnorm run integers.onnx --output y=y.npy");
    EXPECT("y.npy", RMSNORM_DOUBLE, "2,2", 1, 25, 1, 25);
}

static void identity_keeps_every_bit(void **state)
{
    (void)state;
    const uint32_t bits[] = {0x7fa00001, 0x80000000, 0xffc12345, 1};
    const rmsnorm_tensor given = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {4}, .data = (void *)bits};
    rmsnorm_tensor back;
    assert_int_equal(rmsnorm_tensor_write("bits.npy", &given, NULL), RMSNORM_OK);
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_node(&file, "", "", "Identity", "x", "same", "");
    model_node(&file, "", "", "Cast", "same", "y", "to=1");
    model_output(&file, "y", RMSNORM_FLOAT, "4");
    model_write(&file, 25, "same.onnx");
    DONE("rmsnorm run same.onnx bits.npy --output y=y.npy");
    assert_int_equal(rmsnorm_tensor_read("y.npy", &back, NULL), RMSNORM_OK);
    assert_memory_equal(back.data, bits, sizeof bits);
    rmsnorm_tensor_file_release(&back);
}

/* ---- Together -------------------------------------------------------------------------------- */

/* (x / sqrt(mean(x^2) + epsilon)) * g beside the operator that means the same, on one input; then both go on. */
static void a_decomposed_norm_gives_what_the_operator_gives(void **state)
{
    (void)state;
    const float gamma[] = {1, -2, 0.5f, 3, 1, 1, 1, 0.25f};
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "B,8");
    model_initializer(&file, "g", "8", gamma);
    model_node(&file, "", "", "Constant", NULL, "two", "value_float=2.0");
    model_node(&file, "", "", "Constant", NULL, "epsilon", "value_float=0.0625");
    model_node(&file, "", "", "Constant", NULL, "axes", "value_ints=[-1]");
    model_node(&file, "", "", "Pow", "x,two", "square", "");
    model_node(&file, "", "", "ReduceMean", "square,axes", "mean", "");
    model_node(&file, "", "", "Add", "mean,epsilon", "sum", "");
    model_node(&file, "", "", "Sqrt", "sum", "root", "");
    model_node(&file, "", "", "Div", "x,root", "normal", "");
    model_node(&file, "", "", "Mul", "g,normal", "plain", "");
    model_node(&file, "fused", "", "SimplifiedLayerNormalization", "x,g", "fused", "epsilon=0.0625");
    model_node(&file, "", "", "Sub", "plain,fused", "difference", "");
    model_node(&file, "", "", "SimplifiedLayerNormalization", "plain,g", "twice", "");
    model_output(&file, "plain", RMSNORM_FLOAT, "B,8");
    model_output(&file, "fused", RMSNORM_FLOAT, "B,8");
    model_output(&file, "difference", RMSNORM_FLOAT, "B,8");
    model_output(&file, "twice", RMSNORM_FLOAT, "B,8");
    model_write(&file, 18, "both.onnx");
    DONE("rmsnorm run both.onnx random:float:32,8 --output-dir both");
    const tensor fused = read_tensor("both/fused.npy", RMSNORM_FLOAT);
    const tensor plain = read_tensor("both/plain.npy", RMSNORM_FLOAT);
    const tensor difference = read_tensor("both/difference.npy", RMSNORM_FLOAT);
    assert_int_equal(fused.count, 256);
    for (size_t i = 0; i < 256; ++i) {
        assert_true(fabs(plain.values[i] - fused.values[i]) <= 4 * 0x1p-24 * fabs(fused.values[i]));
        assert_true(difference.values[i] == rounded(RMSNORM_FLOAT, plain.values[i] - fused.values[i]));
    }
}

/* Axes that follow from the shape, and two data sets of different rank through one model. */
static void values_of_shapes_are_made_anew_for_every_data_set(void **state)
{
    (void)state;
    outcome made = shell("mkdir -p sets/test_data_set_0 sets/test_data_set_1");
    assert_int_equal(made.code, 0);
    outcome_free(&made);
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, NULL);
    model_integers(&file, "one", "", (const int64_t[]){1});
    model_node(&file, "", "", "Shape", "x", "shape", "");
    model_node(&file, "", "", "Size", "shape", "rank", "");
    model_node(&file, "", "", "Range", "one,rank,one", "axes", "");
    model_node(&file, "", "", "ReduceMean", "x,axes", "y", "keepdims=0");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 18, "sets/model.onnx");
    WRITE("sets/test_data_set_0/input_0.pb", RMSNORM_FLOAT, "2,2", 1, 3, 5, 7);
    WRITE("sets/test_data_set_0/output_0.pb", RMSNORM_FLOAT, "2", 2, 6);
    WRITE("sets/test_data_set_1/input_0.pb", RMSNORM_FLOAT, "1,2,2", 1, 3, 5, 7);
    WRITE("sets/test_data_set_1/output_0.pb", RMSNORM_FLOAT, "1", 4);
    DONE("rmsnorm test sets", "2 passed, 0 failed\n");
}

static void the_report_lists_primitives_with_their_attributes(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2,4");
    model_constant(&file, "c", "g", "4", (const float[]){1, 1, 1, 1});
    model_node(&file, "up", "", "Cast", "x", "wide", "to=11");
    model_node(&file, "mean", "", "ReduceMean", "wide", "average", "axes=[-1,0] keepdims=0");
    model_node(&file, "", "", "Cast", "average", "y", "to=10 ");
    model_node(&file, "norm", "", "SimplifiedLayerNormalization", "x,g", "z", "");
    model_output(&file, "y", RMSNORM_FLOAT16, NULL);
    model_output(&file, "z", RMSNORM_FLOAT, NULL);
    model_write(&file, 17, "report.onnx");
    DONE("rmsnorm run report.onnx random:float:2,4",
         "up = ai.onnx::Cast to=double\nmean = ai.onnx::ReduceMean axes=[-1,0] keepdims=0\nai.onnx::Cast "
         "to=float16\nnorm = ai.onnx::SimplifiedLayerNormalization axis=-1 ");
    json_t *root = json_of("rmsnorm run report.onnx random:float:2,4 --json", 0);
    assert_int_equal(json_array_size(at(root, "nodes")), 4);
    assert_string_equal(json_string_value(at(root, "nodes.0.operator")), "Cast");
    assert_string_equal(json_string_value(at(root, "nodes.0.domain")), "ai.onnx");
    assert_string_equal(json_string_value(at(root, "nodes.0.attributes.to")), "double");
    assert_int_equal(json_integer_value(at(root, "nodes.1.attributes.axes.0")), -1);
    assert_int_equal(json_integer_value(at(root, "nodes.1.attributes.keepdims")), 0);
    assert_string_equal(json_string_value(at(root, "nodes.3.name")), "norm");
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_come_in_five_ways),
        cmocka_unit_test(shapes_become_values),
        cmocka_unit_test(tensors_are_filled_by_shape),
        cmocka_unit_test(ranges_count_from_start_to_limit),
        cmocka_unit_test(integers_add_subtract_and_multiply),
        cmocka_unit_test(identity_keeps_every_bit),
        cmocka_unit_test(a_decomposed_norm_gives_what_the_operator_gives),
        cmocka_unit_test(values_of_shapes_are_made_anew_for_every_data_set),
        cmocka_unit_test(the_report_lists_primitives_with_their_attributes),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
