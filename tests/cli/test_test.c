/* rmsnorm test: folders made here, passing, failing and broken. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "support.h"

static model file;

static void make_directory(const char *path)
{
    char command[512];
    (void)snprintf(command, sizeof command, "mkdir -p %s", path);
    DONE(command);
}

/* FOLDER/model.onnx: y = SimplifiedLayerNormalization(x, scale) of `dtype`, and v, with epsilon 12. */
static void write_model(const char *folder, rmsnorm_dtype dtype)
{
    char path[256];
    make_directory(folder);
    model_begin(&file);
    model_input(&file, "x", (int)dtype, "N,2");
    model_input(&file, "scale", (int)dtype, "2");
    model_node(&file, "norm", "", "SimplifiedLayerNormalization", "x,scale", "y,v", "epsilon=12.0");
    model_output(&file, "y", (int)dtype, "N,2");
    model_output(&file, "v", RMSNORM_FLOAT, "N,1");
    (void)snprintf(path, sizeof path, "%s/model.onnx", folder);
    model_write(&file, 23, path);
}

/* One data set for it, with the expected y0 and y1; right are 0.5 and -1. */
static void write_set(const char *folder, int number, rmsnorm_dtype dtype, double y0, double y1)
{
    char path[320];
    (void)snprintf(path, sizeof path, "%s/test_data_set_%d", folder, number);
    make_directory(path);
    const size_t length = strlen(path);
    (void)snprintf(path + length, sizeof path - length, "/input_0.pb");
    WRITE(path, dtype, "1,2", 2, -2);
    (void)snprintf(path + length, sizeof path - length, "/input_1.pb");
    WRITE(path, dtype, "2", 1, 2);
    (void)snprintf(path + length, sizeof path - length, "/output_0.pb");
    WRITE(path, dtype, "1,2", y0, y1);
    (void)snprintf(path + length, sizeof path - length, "/output_1.pb");
    WRITE(path, RMSNORM_FLOAT, "1,1", 0.25);
}

static void expect_failed(const char *script, const char *const *parts)
{
    outcome result = shell("%s", script);
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, 1);
    result.code = 0;
    expect_done(result, parts);
}
#define FAILED(script, ...) expect_failed(script, (const char *const[]){__VA_ARGS__, NULL})

static void right_results_pass(void **state)
{
    (void)state;
    write_model("ok/float", RMSNORM_FLOAT);
    write_set("ok/float", 0, RMSNORM_FLOAT, 0.5, -1);
    write_set("ok/float", 10, RMSNORM_FLOAT, 0.5, -1 - 0x1p-20);
    write_set("ok/float", 2, RMSNORM_FLOAT, 0.5, -1);
    write_model("ok/half", RMSNORM_FLOAT16);
    write_set("ok/half", 0, RMSNORM_FLOAT16, 0.5, -1 - 0x1p-10);
    DONE("rmsnorm test ok", "differences allowed: float 1e-7 + 1e-5 * |expected|, double 1e-14 + 1e-12 * |expected|, ",
         "float16 1 ulp, bfloat16 1 ulp\n", "ok      ok/float/test_data_set_0: largest difference 0 in y, 0 in v\n",
         "ok      ok/float/test_data_set_2: ",
         "ok      ok/float/test_data_set_10: largest difference 9.53674e-7 in y, 0 in v\n",
         "ok      ok/half/test_data_set_0: largest difference 0.000976562 (1 ulp) in y, 0 in v\n",
         "4 passed, 0 failed\n");
    DONE("rmsnorm test ok/float/ ok/half/", "ok      ok/float/test_data_set_0: ", "4 passed, 0 failed\n");
    DONE("cd ok/half && rmsnorm test .", "ok      ./test_data_set_0: ", "1 passed, 0 failed\n");
    json_t *root = json_of("rmsnorm test ok --json", 0);
    assert_int_equal(json_integer_value(at(root, "passed")), 4);
    assert_int_equal(json_integer_value(at(root, "failed")), 0);
    assert_true(json_is_true(at(root, "tests.2.ok")));
    assert_string_equal(json_string_value(at(root, "tests.2.name")), "ok/float/test_data_set_10");
    assert_true(json_real_value(at(root, "tests.2.largest_difference.y")) == 0x1p-20);
    assert_non_null(strstr(json_string_value(at(root, "allowed_differences")), "float16 1 ulp"));
    json_decref(root);
}

static void a_difference_beyond_the_tolerance_fails(void **state)
{
    (void)state;
    write_model("off", RMSNORM_FLOAT);
    write_set("off", 0, RMSNORM_FLOAT, 0.5, -1 - 0x1p-16);
    FAILED("rmsnorm test off",
           "FAILED  off/test_data_set_0: output 'y': 1 of 2 elements are off by more than "
           "1e-7 + 1e-5 * |expected|; [0,1] is -1, expected -1.0000153; largest difference 1.52588e-5\n",
           "0 passed, 1 failed\n");
    DONE("rmsnorm test off --rtol 1e-4", "differences allowed: float 1e-7 + 0.0001 * |expected|",
         "1 passed, 0 failed\n");
    DONE("rmsnorm test off --rtol=0 --atol=2e-5", "1 passed, 0 failed\n");
    FAILED("rmsnorm test off --rtol=0 --atol=1e-5", "0 passed, 1 failed\n");
    json_t *root = json_of("rmsnorm test off ok --json", 1);
    assert_true(json_is_false(at(root, "tests.0.ok")));
    assert_non_null(strstr(json_string_value(at(root, "tests.0.error")), "1 of 2 elements"));
    assert_int_equal(json_integer_value(at(root, "failed")), 1);
    json_decref(root);
    write_model("offhalf", RMSNORM_FLOAT16);
    write_set("offhalf", 0, RMSNORM_FLOAT16, 0.5, -1 - 0x1p-9);
    FAILED("rmsnorm test offhalf", "elements are off by more than 1 ulp; [0,1] is -1, expected -1.0019531",
           "0 passed, 1 failed\n");
    write_model("offbfloat", RMSNORM_BFLOAT16);
    write_set("offbfloat", 0, RMSNORM_BFLOAT16, 0.5 + 0x1p-7, -1);
    FAILED("rmsnorm test offbfloat", "[0,0] is 0.5, expected 0.5078125", "0 passed, 1 failed\n");
}

static void nan_and_infinity_must_be_where_expected(void **state)
{
    (void)state;
    const double nan = (double)NAN;
    const double infinity = (double)INFINITY;
    write_model("special", RMSNORM_FLOAT);
    write_set("special", 0, RMSNORM_FLOAT, nan, nan);
    WRITE("special/test_data_set_0/input_0.pb", RMSNORM_FLOAT, "1,2", nan, 1);
    WRITE("special/test_data_set_0/output_1.pb", RMSNORM_FLOAT, "1,1", nan);
    DONE("rmsnorm test special", "largest difference 0 in y, 0 in v\n", "1 passed, 0 failed\n");
    WRITE("special/test_data_set_0/output_0.pb", RMSNORM_FLOAT, "1,2", nan, 0);
    FAILED("rmsnorm test special --rtol 1e300 --atol 1e300", "1 of 2 elements",
           "[0,1] is nan, expected 0; largest difference inf\n");
    WRITE("special/test_data_set_0/output_0.pb", RMSNORM_FLOAT, "1,2", nan, infinity);
    FAILED("rmsnorm test special", "[0,1] is nan, expected inf");
    json_t *root = json_of("rmsnorm test special --json", 1);
    assert_string_equal(json_string_value(at(root, "tests.0.largest_difference.y")), "inf");
    json_decref(root);
}

static void files_are_matched_by_name_or_position(void **state)
{
    (void)state;
    write_model("names", RMSNORM_FLOAT);
    write_set("names", 0, RMSNORM_FLOAT, 0.5, -1);
    /* The same two tensors under each other's number, named: safetensors has no part in this, .pb names come from outputs. */
    model_begin(&file);
    model_input(&file, "a", RMSNORM_FLOAT, "1,2");
    model_input(&file, "b", RMSNORM_FLOAT, "2");
    model_output(&file, "scale", RMSNORM_FLOAT, NULL);
    model_output(&file, "x", RMSNORM_FLOAT, NULL);
    model_node(&file, "", "", "SimplifiedLayerNormalization", "a,b", "unused", "");
    model_write(&file, 23, "passing.onnx");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "1,2");
    model_input(&file, "scale", RMSNORM_FLOAT, "2");
    model_output(&file, "x", RMSNORM_FLOAT, NULL);
    model_output(&file, "scale", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "rename.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 2, -2);
    WRITE("scale.npy", RMSNORM_FLOAT, "2", 1, 2);
    DONE("rmsnorm run rename.onnx x.npy scale.npy --output x=names/test_data_set_0/input_1.pb "
         "--output scale=names/test_data_set_0/input_0.pb");
    DONE("rmsnorm test names", "1 passed, 0 failed\n");
    /* A name that is declared and one that is not: by position, which is the wrong way round here. */
    DONE("cp names/test_data_set_0/input_0.pb keep.pb");
    WRITE("names/test_data_set_0/input_0.pb", RMSNORM_FLOAT, "2", 1, 2);
    FAILED("rmsnorm test names", "input 'x' is float [2], the model declares float [N,2]");
}

static void a_broken_folder_fails_with_its_sentence(void **state)
{
    (void)state;
    static const struct {
        const char *change, *sentence;
    } cases[] = {
        {"rm model.onnx", "model.onnx: "},
        {"printf x >model.onnx", "model.onnx: "},
        {"rm -r test_data_set_0", "has a model and no test_data_set_0"},
        {"rm test_data_set_0/input_1.pb", "has 1 files input_K.pb, the model declares 2 inputs"},
        {"cp test_data_set_0/input_1.pb test_data_set_0/input_2.pb", "has 3 files input_K.pb"},
        {"mv test_data_set_0/input_1.pb test_data_set_0/input_2.pb", "input_1.pb' is missing"},
        {"mv test_data_set_0/input_1.pb test_data_set_0/input_01.pb", "input_01.pb' is no data file"},
        {"rm test_data_set_0/output_1.pb", "has 1 files output_K.pb, the model declares 2 outputs"},
        {"printf x >test_data_set_0/input_0.pb", "x: broken/test_data_set_0/input_0.pb: "},
        {"cp test_data_set_0/input_0.pb test_data_set_0/input_1.pb", "input 'scale' is float [1,2]"},
        {"cp test_data_set_0/output_1.pb test_data_set_0/output_0.pb",
         "output 'y' is float [1,2], expected is float [1,1]"},
        {"rm -r test_data_set_0/*", "has 0 files input_K.pb"},
        {"rm -r test_data_set_0 && : >test_data_set_0", "test_data_set_0' cannot be read: Not a directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        DONE("rm -rf broken");
        write_model("broken", RMSNORM_FLOAT);
        write_set("broken", 0, RMSNORM_FLOAT, 0.5, -1);
        char script[256];
        (void)snprintf(script, sizeof script, "(cd broken && %s) && rmsnorm test broken ok", cases[i].change);
        FAILED(script, "FAILED  broken", cases[i].sentence, "4 passed, 1 failed\n");
    }
}

static void a_model_with_other_operators_fails_by_name(void **state)
{
    (void)state;
    make_directory("other/test_data_set_0");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2");
    model_node(&file, "square", "", "Relu", "x,x", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, "2");
    model_write(&file, 23, "other/model.onnx");
    FAILED("rmsnorm test other", "FAILED  other: model.onnx: ", "square", "Relu", "0 passed, 1 failed\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results_pass),
        cmocka_unit_test(a_difference_beyond_the_tolerance_fails),
        cmocka_unit_test(nan_and_infinity_must_be_where_expected),
        cmocka_unit_test(files_are_matched_by_name_or_position),
        cmocka_unit_test(a_broken_folder_fails_with_its_sentence),
        cmocka_unit_test(a_model_with_other_operators_fails_by_name),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
