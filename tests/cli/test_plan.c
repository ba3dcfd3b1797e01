/* rmsnorm plan: requests, devices, and what is printed. The planner's own choices are the matter of tests/plan. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pack.h"
#include "support.h"

#define SIMPLIFIED "rmsnorm plan --package s "
#define SKIP "rmsnorm plan --package k "
#define SMALL "X=float:2,4 scale=float:4 "
#define SMALL_SKIP "input=float:2,5 skip=float:2,5 gamma=float:5 "

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    pack_copy("ai.onnx.SimplifiedLayerNormalization", "s");
    pack_copy("com.microsoft.SkipSimplifiedLayerNormalization", "k");
    return 0;
}

static void expect_no(const char *script, const char *const *parts)
{
    outcome result = shell("%s", script);
    assert_int_equal(result.code, 1);
    result.code = 2;
    expect_refused(result, parts);
}
#define NO(script, ...) expect_no(script, (const char *const[]){__VA_ARGS__, NULL})

static void everything_is_named(void **state)
{
    (void)state;
    DONE(
        "rmsnorm plan --package s X=float16:4,65536 scale=float:65536 -o inv_std_var --feature shader-f16 --attr epsilon=1e-6",
        "ai.onnx::SimplifiedLayerNormalization axis=-1 epsilon=1e-6 keep_dims=1 stash_type=1\nvariant: splitk\n",
        "Y: float [4,65536]\ninv_std_var: float [4,1]\npass 0: SimplifiedLayerNormalization/splitk/",
        ", workgroups 16 x 4 x 1\n  binding 0 x: read X, offset 0, size 524288\n",
        "binding 1 partials: read_write scratch 0, offset 0, size ", "uniforms: 0 ",
        "pass 1: ", "scale: read scale, offset 0, size 262144\n", "y: read_write Y, offset 0, size 1048576\n",
        "invStdVar: read_write inv_std_var, offset 0, size 16\n", "partials: read scratch 0, ",
        "uniforms: 0 897988541 ", "scratch 0: ", " bytes\npeak memory: ", " bytes\n");
    DONE(SIMPLIFIED "X=float:0,4 scale=float:4",
         "Y: float [0,4]\nno passes: there are no elements\npeak memory: 0 bytes\n");
}

static void names_are_onnx_s_or_bind_keys(void **state)
{
    (void)state;
    DONE(SIMPLIFIED SMALL ">1 && " SIMPLIFIED "x=float32:2,4 scale=float32:4 >2 && cmp 1 2");
    REFUSED(SKIP SMALL_SKIP "-o residualT -o input_skip_bias_sum",
            "output 'input_skip_bias_sum' is asked for twice, once is allowed");
    DONE("rmsnorm plan --package k inputT=float:2,5 skipT=float:2,5 gammaT=float:5 biasT=float:5 -o invStdVarT",
         "output: float [2,5]\n", "inv_std_var: float [2,1]\n", "biasT: read bias, ");
    DONE(
        "rmsnorm plan --package k input=float:2,5 skip=float:2,5 gamma=float:5 -o residualT --in-place outputT=input --in-place input_skip_bias_sum=skipT",
        "input_skip_bias_sum: float [2,5]\n", "  binding 0 gammaT: read gamma, ",
        "  binding 1 outputT: read_write output, ", "  binding 2 residualT: read_write input_skip_bias_sum, ");
    REFUSED(SIMPLIFIED "Y=float:2,4", "SimplifiedLayerNormalization has no input 'Y', it has X (x), scale");
    REFUSED(SIMPLIFIED SMALL "-o inv", "has no output 'inv', it has Y (y), inv_std_var (invStdVar)");
}

static void wrong_requests_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *words, *sentence;
    } cases[] = {
        {"", "X is missing"},
        {"X", "'X' is no input, write INPUT=DTYPE:DIM,DIM,..."},
        {"X=float", "X: 'float' has no dims"},
        {"X=float32:2,N", "X: dim 1 is 'N', allowed are whole numbers from 0"},
        {"X=int8:2", "X: unknown element type 'int8'"},
        {"X=float:2,4 x=float:2,4", "input 'X' is given twice"},
        {"X=float:2,4", "scale is missing"},
        {"X=double:2,4 scale=float:4", "X has element type double; allowed on WebGPU: float32, float16"},
        {SMALL "--attr axis=2", "axis is 2; allowed: -2 to 1"},
        {SMALL "--attr axes=2", "no attribute 'axes'; did you mean 'axis'?"},
        {SMALL "--attr axis=1 --attr axis=1", "--attr 'axis' is given twice"},
        {SMALL "--in-place Y", "--in-place is 'Y', allowed is OUTPUT=INPUT"},
        {SMALL "--in-place Z=X", "has no output 'Z'"},
        {SMALL "--in-place Y=Z", "has no input 'Z'"},
        {SMALL "--in-place Y=X --in-place y=scale", "--in-place: output 'Y' is given twice"},
        {SMALL "--in-place invStdVar=X", "--in-place: output 'inv_std_var' is not asked for, add --output inv_std_var"},
        {SMALL "--in-place Y=scale", "Y is to share the buffer of scale; allowed for tensors of one type and shape"},
        {"X=float:2,4 --in-place Y=scale", "--in-place: input 'scale' is not given"},
        {SMALL "--tunable VECTOR", "--tunable is 'VECTOR', allowed is NAME=NUMBER"},
        {SMALL "--tunable VECTOR=4x", "--tunable is 'VECTOR=4x', allowed is NAME=NUMBER"},
        {SMALL "--tunable VECTOR=1 --tunable VECTOR=4", "--tunable 'VECTOR' is given twice"},
        {SMALL "--tunable VECTORS=1", "there is no tunable VECTORS"},
        {SMALL "$(for i in 1 2 3 4 5 6 7 8 9; do echo --tunable T$i=1; done)", "--tunable: more than 8 are given"},
        {SMALL "--variant fast", "variant fast is not in the package; it has splitk, rows"},
        {SMALL "--limit maxBufferSize", "--limit is 'maxBufferSize', allowed is NAME=NUMBER"},
        {SMALL "--limit maxBufferSize=-1", "--limit is 'maxBufferSize=-1', allowed is NAME=NUMBER"},
        {SMALL "--limit maxBuferSize=1", "unknown limit 'maxBuferSize', did you mean 'maxBufferSize'?"},
        {SMALL "--limit shader-f16=1", "unknown limit 'shader-f16', allowed are WebGPU's"},
        {SMALL "--limit maxComputeWorkgroupSizeX=4294967296", "maxComputeWorkgroupSizeX is 4294967296; allowed: 0 to "},
        {SMALL "--limit maxComputeWorkgroupSizeX=0", "allowed: at least 1 workgroup of 1 invocation"},
        {SMALL "--feature f16", "unknown feature 'f16', allowed are WebGPU's, as 'shader-f16'"},
        {SMALL "--feature shader_f16", "unknown feature 'shader_f16', did you mean 'shader-f16'?"},
        {SMALL "--op SimplifiedLayerNormalization", "--op and --package both name what to plan: give one"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        expect_refused(shell(SIMPLIFIED "%s", cases[i].words), (const char *const[]){cases[i].sentence, NULL});
    }
    REFUSED("rmsnorm plan " SMALL, "nothing to plan is given, write --op [DOMAIN::]NAME or --package DIR");
    REFUSED("rmsnorm plan --op SimplifiedLayerNorm " SMALL,
            "no operator SimplifiedLayerNorm; did you mean ai.onnx::SimplifiedLayerNormalization?");
    REFUSED("rmsnorm plan --package nowhere " SMALL, "nowhere");
    REFUSED("cp -r s t; printf ' ' >>t/build/webgpu/head.wgsl.jinja; rmsnorm plan --package t " SMALL,
            "head.wgsl.jinja");
    REFUSED(
        "rmsnorm package new com.example.Scale >new.txt; rmsnorm plan --package com.example.Scale X=float:3 --attr a=1",
        "--attr 'a=1': com.example::Scale is no operator of this library");
    DONE("rmsnorm plan --package com.example.Scale X=float:3", "com.example::Scale\nvariant: plain\nY: float [3]\n",
         "workgroups 1 x 1 x 1\n");
}

static void no_variant_is_an_answer(void **state)
{
    (void)state;
    NO(SIMPLIFIED SMALL "--variant splitk",
       "rmsnorm: SimplifiedLayerNormalization: no variant fits this request on this device: splitk: not ");
    NO(SIMPLIFIED SMALL "--limit maxStorageBuffersPerShaderStage=2 --wgsl",
       "rows: it binds 3 storage buffers, the device at most 2");
    json_t *root = json_of(SIMPLIFIED SMALL "--variant splitk --json", 1);
    assert_true(json_is_false(at(root, "fits")));
    assert_non_null(strstr(json_string_value(at(root, "reason")), "no variant fits"));
    json_decref(root);
    DONE(SIMPLIFIED "X=float:4,65536 scale=float:65536", "variant: splitk\n");
    DONE(SIMPLIFIED "X=float:4,65536 scale=float:65536 --batch-invariant", "variant: rows\n");
    DONE(SIMPLIFIED "X=float:4,65536 scale=float:65536 --variant rows", "variant: rows\n");
    DONE(SIMPLIFIED "X=float:4,32768 scale=float:32768 --tunable SPLITK_GROUPS=16384", "variant: rows\n");
}

/* Each way to say it gives the same plan, and another one than no word at all. */
static void the_device_comes_from_file_stream_or_words(void **state)
{
    (void)state;
#define HALF "X=float16:128,64 scale=float16:64 --json "
    DONE("printf '%s' '{\"limits\": {\"maxComputeInvocationsPerWorkgroup\": 64, \"maxTextureDimension1D\": 8192,"
         "\"maxComputeWorkgroupSizeX\": 64}, \"features\": [\"timestamp-query\", \"shader-f16\"]}' >d.json");
    DONE(SIMPLIFIED HALF "--device-profile d.json >1 && grep -q f16 1");
    DONE("cat d.json | " SIMPLIFIED HALF "--device-profile - >2 && cmp 1 2");
    DONE(SIMPLIFIED HALF "--feature shader-f16 --limit maxComputeWorkgroupSizeX=64 --limit "
                         "maxComputeInvocationsPerWorkgroup=64 >2 && cmp 1 2");
    DONE(SIMPLIFIED HALF ">2 && ! cmp -s 1 2");
    DONE("printf '%s' '{\"limits\": {\"maxComputeWorkgroupSizeX\": 64}}' >e.json");
    DONE(SIMPLIFIED HALF "--feature shader-f16 --limit maxComputeInvocationsPerWorkgroup=64 --device-profile e.json >2 "
                         "&& cmp 1 2");
    DONE(SIMPLIFIED HALF "--device-profile d.json --limit maxComputeWorkgroupSizeX=32 >2 && ! cmp -s 1 2");
    DONE(SIMPLIFIED SMALL "--json >1 && echo '{}' | " SIMPLIFIED SMALL "--device-profile - --json >2 && cmp 1 2");
}

static void hostile_profiles_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "line 1, column 0: "},
        {"[]", "no object, allowed is {\"limits\": {...}, \"features\": [...]}"},
        {"{\"limit\": {}}", "a field 'limit', allowed are limits and features"},
        {"{\"limits\": []}", "limits is no object"},
        {"{\"features\": {}}", "features is no list"},
        {"{\"features\": [1]}", "features: element 0 is no string"},
        {"{\"features\": [\"subgroup\"]}", "unknown feature 'subgroup', did you mean 'subgroups'?"},
        {"{\"limits\": {\"maxBufferSise\": 1}}", "unknown limit 'maxBufferSise', did you mean 'maxBufferSize'?"},
        {"{\"limits\": {\"maxBufferSize\": 1.5}}", "limits: maxBufferSize is no whole number from 0 on"},
        {"{\"limits\": {\"maxBufferSize\": -1}}", "limits: maxBufferSize is no whole number from 0 on"},
        {"{\"limits\": {\"maxBufferSize\": 1, \"maxBufferSize\": 1}}", "duplicate object key"},
        {"{\"limits\": {\"subgroupMinSize\": 4294967296}}", "subgroupMinSize is 4294967296; allowed: 0 to 4294967295"},
        {"{\"limits\": {\"\\u001b[2J\": 1}}", "unknown limit '?[2J'"},
        {"{} {}", "end of file expected"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        write_bytes("bad.json", cases[i].text, strlen(cases[i].text));
        REFUSED(SIMPLIFIED SMALL "--device-profile bad.json", "rmsnorm: bad.json: ", cases[i].sentence);
        REFUSED(SIMPLIFIED SMALL "--device-profile - <bad.json", "rmsnorm: standard input: ", cases[i].sentence);
    }
    REFUSED(SIMPLIFIED SMALL "--device-profile none.json", "none.json");
    REFUSED(SIMPLIFIED SMALL "--device-profile .", "Is a directory");
    REFUSED("head -c 3000000 /dev/zero | tr '\\0' '[' | " SIMPLIFIED SMALL "--device-profile -", "rmsnorm: ");
    REFUSED("yes '[' | " SIMPLIFIED SMALL "--device-profile - 2>err; code=$?; cat err >&2; exit $code", "rmsnorm: ");
}

/* Every limit that a plan depends on is taken by the library under the name that the command knows. */
static void every_limit_is_the_library_s(void **state)
{
    (void)state;
    static const char *const names[] = {"maxStorageBufferBindingSize",
                                        "maxBufferSize",
                                        "minStorageBufferOffsetAlignment",
                                        "maxStorageBuffersPerShaderStage",
                                        "maxComputeWorkgroupStorageSize",
                                        "maxComputeInvocationsPerWorkgroup",
                                        "maxComputeWorkgroupSizeX",
                                        "maxComputeWorkgroupsPerDimension",
                                        "subgroupMinSize",
                                        "subgroupMaxSize"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        char words[256];
        (void)snprintf(words, sizeof words, SIMPLIFIED SMALL "--limit %s=1048576", names[i]);
        DONE(words, "variant: rows\n");
        (void)snprintf(words, sizeof words, SIMPLIFIED SMALL "--limit %s=4294967296", names[i]);
        if (strcmp(names[i], "maxBufferSize") != 0 && strcmp(names[i], "maxStorageBufferBindingSize") != 0) {
            REFUSED(words, names[i], "is 4294967296; allowed: 0 to 4294967295");
        }
    }
}

static void json_has_everything(void **state)
{
    (void)state;
    json_t *root = json_of(SIMPLIFIED "X=float:4,65536 scale=float:65536 -o invStdVar --json", 0);
    assert_true(json_is_true(at(root, "fits")));
    assert_string_equal(json_string_value(at(root, "operator")), "SimplifiedLayerNormalization");
    assert_string_equal(json_string_value(at(root, "domain")), "ai.onnx");
    assert_non_null(strstr(json_string_value(at(root, "package")), "_ai_onnx_simplifiedlayernormalization_webgpu_"));
    assert_true(json_real_value(at(root, "attributes.epsilon")) == 1e-5);
    assert_string_equal(json_string_value(at(root, "variant")), "splitk");
    assert_string_equal(json_string_value(at(root, "outputs.1.name")), "inv_std_var");
    assert_string_equal(json_string_value(at(root, "outputs.1.key")), "invStdVar");
    assert_string_equal(json_string_value(at(root, "outputs.1.dtype")), "float");
    assert_int_equal(json_integer_value(at(root, "outputs.1.shape.0")), 4);
    assert_int_equal(json_array_size(at(root, "passes")), 2);
    assert_string_equal(json_string_value(at(root, "passes.0.bindings.0.name")), "x");
    assert_string_equal(json_string_value(at(root, "passes.0.bindings.0.buffer")), "input");
    assert_string_equal(json_string_value(at(root, "passes.0.bindings.0.tensor")), "X");
    assert_string_equal(json_string_value(at(root, "passes.0.bindings.0.access")), "read");
    assert_string_equal(json_string_value(at(root, "passes.0.bindings.1.buffer")), "scratch");
    assert_int_equal(json_integer_value(at(root, "passes.0.bindings.1.scratch")), 0);
    assert_string_equal(json_string_value(at(root, "passes.0.bindings.1.access")), "read_write");
    assert_int_equal(json_integer_value(at(root, "passes.0.bindings.0.size")), 4 * 65536 * 4);
    assert_int_equal(json_array_size(at(root, "passes.0.workgroups")), 3);
    assert_int_equal(json_integer_value(at(root, "passes.1.uniforms.1")), 0x3727c5ac); /* 1e-5f */
    assert_int_equal(json_array_size(at(root, "scratch")), 1);
    assert_true(json_integer_value(at(root, "peak_memory")) >= json_integer_value(at(root, "scratch.0")));
    for (size_t i = 0; i < 2; ++i) {
        const json_t *shader = json_array_get(
            at(root, "shaders"),
            (size_t)json_integer_value(json_object_get(json_array_get(at(root, "passes"), i), "shader")));
        assert_non_null(strstr(json_string_value(json_object_get(shader, "wgsl")), "@compute"));
        assert_non_null(
            strstr(json_string_value(json_object_get(shader, "label")), "SimplifiedLayerNormalization/splitk/"));
    }
    json_decref(root);
}

static void wgsl_has_the_plan_as_comments(void **state)
{
    (void)state;
    DONE("rmsnorm plan --package s --wgsl X=float:2,4 scale=float:4", "// ai.onnx::SimplifiedLayerNormalization ",
         "// variant: rows\n// Y: float [2,4]\n// pass 0: ", "//   binding 0 x: read X",
         "// peak memory: ", "\n\n// SimplifiedLayerNormalization/rows/", "@compute", "fn main(");
    /* The comments are the plan, and the rest is the text of --json. */
    DONE(SIMPLIFIED SMALL ">plan && " SIMPLIFIED SMALL "--wgsl >wgsl && sed 's|^|// |' plan >head && "
                          "head -n \"$(wc -l <head)\" wgsl | cmp - head");
    DONE(SIMPLIFIED "X=float:4,65536 scale=float:65536 --wgsl | grep -c @compute", "2\n");
}

static void the_same_words_give_the_same_bytes(void **state)
{
    (void)state;
    DONE(SKIP
         "input=float16:8,16384 skip=float16:8,16384 gamma=float16:16384 -o residualT --json >1 && " SKIP
         "gamma=float16:16384 skip=float16:8,16384 input=float16:8,16384 --output=input_skip_bias_sum --json >2 && "
         "cmp 1 2");
}

static void operators_have_a_package_built_in(void **state)
{
    (void)state;
    DONE("rmsnorm plan --op SimplifiedLayerNormalization " SMALL, "ai.onnx::SimplifiedLayerNormalization ",
         "variant: rows\n");
    DONE("rmsnorm plan --op com.microsoft::SkipSimplifiedLayerNormalization " SMALL_SKIP,
         "com.microsoft::SkipSimplifiedLayerNormalization ");
    DONE("rmsnorm plan --op RMSNormalization " SMALL "--attr axis=0", "ai.onnx::RMSNormalization axis=0 ",
         "Y: float [2,4]\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_named),
        cmocka_unit_test(names_are_onnx_s_or_bind_keys),
        cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(no_variant_is_an_answer),
        cmocka_unit_test(the_device_comes_from_file_stream_or_words),
        cmocka_unit_test(hostile_profiles_are_refused),
        cmocka_unit_test(every_limit_is_the_library_s),
        cmocka_unit_test(json_has_everything),
        cmocka_unit_test(wgsl_has_the_plan_as_comments),
        cmocka_unit_test(the_same_words_give_the_same_bytes),
        cmocka_unit_test(operators_have_a_package_built_in),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
