/* The command on a WebGPU device: run, test, info, selftest. The null backend, which computes nothing, is the bad driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "pack.h"
#include "support.h"

#define SIMPLE "rmsnorm run --op SimplifiedLayerNormalization "
#define SKIP "rmsnorm run --op SkipSimplifiedLayerNormalization "
#define NAME "ai.onnx.SimplifiedLayerNormalization"

static void expect_failed(const char *script, const char *const *parts)
{
    outcome result = shell("%s", script);
    assert_string_equal(result.err, "");
    assert_int_equal(result.code, 1);
    result.code = 0;
    expect_done(result, parts);
}
#define FAILED(script, ...) expect_failed(script, (const char *const[]){__VA_ARGS__, NULL})

/* ---- run ------------------------------------------------------------------------------------- */

static void an_operator_gives_what_it_gives_on_the_cpu(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "2,2", 2, -2, 4, 4);
    WRITE("half.npy", RMSNORM_FLOAT16, "2,2", 1, -3, 3, -5);
    WRITE("skip.npy", RMSNORM_FLOAT16, "2,2", .5, .5, .5, .5);
    WRITE("gamma.npy", RMSNORM_FLOAT16, "2", 2, -3);
    WRITE("bias.npy", RMSNORM_FLOAT16, "2", .5, .5);
    WRITE("scale.npy", RMSNORM_FLOAT, "2", 1, 2);
    static const char script[] = SIMPLE "--device webgpu --attr epsilon=0 x.npy scale.npy -o Y=y.npy -o inv_std_var";
    DONE(script, "ai.onnx::SimplifiedLayerNormalization axis=-1 epsilon=0", "on WebGPU: ", "Y: float [2,2] -> y.npy\n",
         "inv_std_var: float [2,1]\n", "first 0.5, 0.25\n");
    EXPECT("y.npy", RMSNORM_FLOAT, "2,2", 1, -2, 1, 2);
    DONE(SKIP "--device=webgpu --batch-invariant --attr epsilon=0 half.npy skip.npy gamma.npy bias.npy -o output=o.npy "
              "-o input_skip_bias_sum=s.npy -o mean=m.npy");
    EXPECT("o.npy", RMSNORM_FLOAT16, "2,2", 2, 3, 2, 3);
    EXPECT("s.npy", RMSNORM_FLOAT16, "2,2", 2, -2, 4, -4);
    EXPECT("m.npy", RMSNORM_FLOAT, "2,1", 0, 0);
    DONE(SIMPLE "--device webgpu random:float:0,4 random:float:4", "Y: float [0,4]\n  no elements\n");
    json_t *root = json_of(SIMPLE "--device webgpu --json x.npy scale.npy", 0);
    assert_string_equal(json_string_value(at(root, "device")), "webgpu");
    assert_true(json_string_length(at(root, "adapter")) > 0);
    (void)at(root, "backend");
    assert_null(json_object_get(root, "isa"));
    json_decref(root);
    root = json_of(SIMPLE "--json x.npy scale.npy", 0);
    assert_string_equal(json_string_value(at(root, "device")), "cpu");
    json_decref(root);
}

static void what_webgpu_does_not_take_is_refused(void **state)
{
    (void)state;
    REFUSED(SIMPLE "--device webgpu random:bfloat16:2,4 random:bfloat16:4",
            "bfloat16; allowed on WebGPU: float, float16");
    REFUSED(SIMPLE "--device webgpu random:double:2,4 random:double:4 -o Y=d.npy",
            "double; allowed on WebGPU: float, float16");
    REFUSED(SIMPLE "--device webgpu --attr stash_type=11 random:float:2,4 random:float:4", "stash_type is 11");
    REFUSED(SIMPLE "--device webgpu random:float:2,4 random:float:3", "scale has the shape (3)");
    REFUSED(SIMPLE "--device webgpu --threads 2 random:float:2,4 random:float:4", "--threads goes with the CPU");
    REFUSED(SIMPLE "--device webgpu --isa scalar random:float:2,4 random:float:4", "--isa goes with the CPU");
    REFUSED(SIMPLE "--device webgpu --adapter 'no such thing' random:float:2,4 random:float:4",
            "no WebGPU adapter has 'no such thing' in its name, there is '");
    assert_false(exists("d.npy"));
}

/* Two nodes, so that one reads what the other left. */
static void a_model_gives_what_it_gives_on_the_cpu(void **state)
{
    (void)state;
    static model file;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "N,2");
    model_input(&file, "scale", RMSNORM_FLOAT, "2");
    model_node(&file, "first", "", "SimplifiedLayerNormalization", "x,scale", "h", "epsilon=0.0");
    model_node(&file, "second", "com.microsoft", "SkipSimplifiedLayerNormalization", "h,x,scale", "y,,,s",
               "epsilon=0.0");
    model_output(&file, "y", RMSNORM_FLOAT, "N,2");
    model_output(&file, "s", RMSNORM_FLOAT, "N,2");
    model_write(&file, 23, "two.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "2,2", 2, -2, 4, 4);
    WRITE("ones.npy", RMSNORM_FLOAT, "2", 1, 1);
    DONE("rmsnorm run --device webgpu two.onnx x.npy ones.npy --output y=y.npy --output s=s.npy",
         "first = ", "second = ", "on WebGPU: ");
    EXPECT("y.npy", RMSNORM_FLOAT, "2,2", 1, -1, 1, 1);
    EXPECT("s.npy", RMSNORM_FLOAT, "2,2", 3, -3, 5, 5);
}

/* ---- test ------------------------------------------------------------------------------------ */

/* One of float, one of float16, one of bfloat16. */
static const char three[] = "{'cases':[{'name':'single','inputs':{'x':{'dtype':'float32','shape':[1,2],'data':[2,-2]},"
                            "'scale':{'dtype':'float32','shape':[2],'data':[1,2]}},'attributes':{'epsilon':12},"
                            "'outputs':{'y':{'dtype':'float32','shape':[1,2],'data':[0.5,-1],'ulp':2}}},"
                            "{'name':'half','inputs':{'x':{'dtype':'float16','shape':[1,2],'data':[2,-2]},"
                            "'scale':{'dtype':'float16','shape':[2],'data':[1,2]}},'attributes':{'epsilon':12},"
                            "'outputs':{'y':{'dtype':'float16','shape':[1,2],'data':[0.5,-1],'ulp':0}}},"
                            "{'name':'brain','inputs':{'x':{'dtype':'bfloat16','shape':[1,2],'data':[2,-2]},"
                            "'scale':{'dtype':'bfloat16','shape':[2],'data':[1,2]}},'attributes':{'epsilon':12},"
                            "'outputs':{'y':{'dtype':'bfloat16','shape':[1,2],'data':[0.5,-1],'ulp':0}}}]}";

static void cases_pass_fail_and_are_skipped(void **state)
{
    (void)state;
    pack_copy(NAME, "p/one");
    pack_put("p/one", "test.json", three);
    DONE("rmsnorm test p", "3 passed, 0 failed\n");
    DONE("rmsnorm test --device webgpu p",
         "on WebGPU: ", "ok      p/one: single: ", "ok      p/one: half: ", "skipped p/one: brain: ", "bfloat16",
         "2 passed, 0 failed, 1 skipped\n");
    json_t *root = json_of("rmsnorm test --device webgpu --json p", 0);
    assert_int_equal(json_integer_value(at(root, "passed")), 2);
    assert_int_equal(json_integer_value(at(root, "skipped")), 1);
    assert_true(json_is_true(at(root, "tests.1.ok")));
    assert_true(json_string_length(at(root, "tests.1.adapter")) > 0);
    assert_non_null(strstr(json_string_value(at(root, "tests.2.skipped")), "bfloat16"));
    assert_null(json_object_get(at(root, "tests.2"), "ok"));
    json_decref(root);
    pack_put("p/one", "test.json", pack_replaced(three, "'data':[0.5,-1],'ulp':2", "'data':[0.5,-2],'ulp':2"));
    FAILED("rmsnorm test --device webgpu p", "FAILED  p/one: single: output 'y': 1 of 2 elements",
           "ok      p/one: half: ", "1 passed, 1 failed, 1 skipped\n");
}

/* Neither passed nor failed: that is no success. */
static void nothing_that_ran_is_no_success(void **state)
{
    (void)state;
    pack_copy(NAME, "q/one");
    pack_put("q/one", "test.json", three);
    FAILED("rmsnorm test --device webgpu --limit maxBufferSize=1 q", "skipped q/one: single: ", "the largest buffer of",
           "0 passed, 0 failed, 3 skipped\n");
    outcome result = shell("RMSNORM_WEBGPU_LIBRARY=/nonexistent rmsnorm test --device webgpu q");
    assert_int_equal(result.code, 2);
    assert_string_equal(result.out, "");
    outcome_free(&result);
}

/* The shaders are those of the package that is tested, not those that are built in. */
static void a_package_is_tested_with_its_own_shaders(void **state)
{
    (void)state;
    pack_copy(NAME, "r/one");
    pack_put("r/one", "test.json", three);
    DONE("sed -i 's/@compute/@compute no WGSL/' r/one/build/webgpu/*.jinja && rmsnorm package build r/one");
    FAILED("rmsnorm test --device webgpu r",
           "FAILED  r/one: single: ", "FAILED  r/one: half: ", "0 passed, 2 failed, 1 skipped\n");
    DONE("rmsnorm test r", "3 passed, 0 failed\n");
}

static void a_device_is_limited_on_purpose(void **state)
{
    (void)state;
    pack_copy(NAME, "s/one");
    pack_put("s/one", "test.json", three);
    DONE("rmsnorm test --device webgpu --without shader-f16 --without subgroups s",
         "without shader-f16, without subgroups\n", "2 passed, 0 failed, 1 skipped\n");
    DONE(
        "rmsnorm test --device webgpu --limit maxComputeWorkgroupSizeX=64 --limit maxComputeInvocationsPerWorkgroup=64 s",
        "2 passed, 0 failed, 1 skipped\n");
}

/* F67. The first is right, and a device that takes the inputs for zeros may give NaN; the second is wrong either way. */
static void a_subnormal_input_may_be_zero(void **state)
{
    (void)state;
    static const char text[] =
        "{'cases':[{'name':'tiny','inputs':{'x':{'dtype':'float32','shape':[1,2],'data':[1.401298464324817e-45]},"
        "'scale':{'dtype':'float32','shape':[2],'data':[1]}},'attributes':{'epsilon':0},"
        "'outputs':{'y':{'dtype':'float32','shape':[1,2],'data':[1,1],'ulp':6}}}]}";
    pack_copy(NAME, "t/one");
    pack_put("t/one", "test.json", text);
    DONE("rmsnorm test t", "1 passed, 0 failed\n");
    DONE("rmsnorm test --device webgpu t", "1 passed, 0 failed, 0 skipped\n");
    pack_put("t/one", "test.json", pack_replaced(text, "'data':[1,1]", "'data':[2]"));
    FAILED("rmsnorm test --device webgpu t", "0 passed, 1 failed, 0 skipped\n");
}

/* ---- info and selftest ----------------------------------------------------------------------- */

static void info_shows_the_adapters(void **state)
{
    (void)state;
    DONE("rmsnorm info", "\nWebGPU   ", "    driver    ", "    features  ", "shader-f16", "subgroups", "timestamps\n",
         "    limits    maxStorageBufferBindingSize ", "maxComputeWorkgroupsPerDimension ");
    json_t *root = json_of("rmsnorm info --json", 0);
    assert_string_equal(json_string_value(at(root, "webgpu.library")), getenv("RMSNORM_WEBGPU_LIBRARY"));
    json_t *adapter = at(root, "webgpu.adapters.0");
    assert_true(json_string_length(at(adapter, "name")) > 0);
    (void)at(adapter, "kind");
    (void)at(adapter, "driver");
    (void)at(adapter, "backend");
    assert_true(json_integer_value(at(adapter, "profile.limits.maxComputeWorkgroupSizeX")) >= 256);
    assert_int_equal(json_dump_file(at(adapter, "profile"), "profile.json", 0), 0);
    json_decref(root);
    DONE("rmsnorm plan --op SimplifiedLayerNormalization --device-profile profile.json X=float:2,4 scale=float:4",
         "variant: ");
}

static void selftest_tells_a_good_driver_from_a_bad_one(void **state)
{
    (void)state;
    DONE("rmsnorm selftest", "CPU, scalar: pass, ", "WebGPU, ", ": pass, 38 examples\n");
    DONE("rmsnorm selftest --device webgpu --without shader-f16 --without subgroups", ": pass, 38 examples\n");
    DONE("rmsnorm selftest --device webgpu --limit maxBufferSize=65536", ": pass, 33 examples, 5 skipped\n");
    FAILED("rmsnorm selftest --device webgpu --limit maxBufferSize=1", ": FAIL, no example could be run: ");
    FAILED("rmsnorm selftest --device webgpu --adapter null", "WebGPU, Null backend, Null: FAIL, ",
           " of 38 examples, the first: input [[1,-3],[3,-5]], ", "output 'output': ");
    json_t *root = json_of("rmsnorm selftest --device webgpu --adapter null --json", 1);
    assert_int_equal(json_integer_value(at(root, "failed")), 1);
    assert_true(json_is_false(at(root, "devices.0.ok")));
    assert_true(json_array_size(at(root, "devices.0.failures")) > 30);
    assert_string_equal(json_string_value(at(root, "devices.0.failures.0.dtype")), "float");
    json_decref(root);
    REFUSED("rmsnorm selftest --device webgpu --adapter nothing",
            "no WebGPU adapter has 'nothing' in its name, there is '");
}

/* Where no driver is found, Dawn offers its null backend instead. */
static void the_null_backend_is_no_device_unless_asked_for(void **state)
{
    (void)state;
    outcome result = shell("VK_ICD_FILENAMES=/nonexistent " SIMPLE "--device webgpu random:float:2,4 random:float:4");
    assert_int_equal(result.code, 2);
    assert_string_equal(result.out, "");
    assert_non_null(strstr(result.err, "there is no WebGPU adapter here"));
    outcome_free(&result);
    result = shell("VK_ICD_FILENAMES=/nonexistent rmsnorm info");
    assert_int_equal(result.code, 0);
    assert_null(strstr(result.out, "Null"));
    outcome_free(&result);
}

/* A machine without a GPU, or a build without devices: shown as skipped. */
static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    outcome result =
        shell("rmsnorm run --device webgpu --op SimplifiedLayerNormalization random:float:1,1 random:float:1");
    const int code = result.code;
    (void)fputs(result.err, stdout);
    outcome_free(&result);
    return code;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_gives_what_it_gives_on_the_cpu),
        cmocka_unit_test(what_webgpu_does_not_take_is_refused),
        cmocka_unit_test(a_model_gives_what_it_gives_on_the_cpu),
        cmocka_unit_test(cases_pass_fail_and_are_skipped),
        cmocka_unit_test(nothing_that_ran_is_no_success),
        cmocka_unit_test(a_package_is_tested_with_its_own_shaders),
        cmocka_unit_test(a_device_is_limited_on_purpose),
        cmocka_unit_test(a_subnormal_input_may_be_zero),
        cmocka_unit_test(info_shows_the_adapters),
        cmocka_unit_test(selftest_tells_a_good_driver_from_a_bad_one),
        cmocka_unit_test(the_null_backend_is_no_device_unless_asked_for),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
