/* rmsnorm test on kernel packages: cases that pass, fail, and are malformed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pack.h"
#include "support.h"

#define NAME "ai.onnx.SimplifiedLayerNormalization"

/* A case that passes, with other words than its neighbours' in every place, so that each can be replaced. */
static const char good[] =
    "{'name':'good','inputs':{'x':{'dtype':'float32','shape':[1,2],'data':[2,-2]},"
    "'scale':{'dtype':'float16','shape':[2],'data':[1,2.0]}},'attributes':{'epsilon':12,'axis':1},"
    "'outputs':{'y':{'dtype':'float16','shape':[1, 2],'data':[0.5,-1],'ulp':1},"
    "'invStdVar':{'dtype':'float32','shape':[1,1],'data':[0.25],'ulp':3}}}";

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    pack_copy(NAME, "p/one");
    return 0;
}

static void put_cases(const char *cases)
{
    char text[4200];
    (void)snprintf(text, sizeof text, "{'cases':[%.4000s]}", cases);
    pack_put("p/one", "test.json", text);
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

static void a_good_case_passes(void **state)
{
    (void)state;
    put_cases(good);
    outcome result = shell("rmsnorm test p/one");
    assert_string_equal(result.out,
                        "ok      p/one: good: largest difference 0 in y, 0 in invStdVar\n1 passed, 0 failed\n");
    outcome_free(&result);
    DONE("rmsnorm test --device cpu p/one/build/webgpu", "ok      p/one/build/webgpu: good: ", "1 passed, 0 failed\n");
    DONE("rmsnorm test p/", "ok      p/one: good: ", "1 passed, 0 failed\n");
    DONE("rmsnorm test p p/one/", "ok      p/one: good: ", "ok      p/one: good: ", "2 passed, 0 failed\n");
    json_t *root = json_of("rmsnorm test p --json", 0);
    assert_int_equal(json_integer_value(at(root, "passed")), 1);
    assert_string_equal(json_string_value(at(root, "tests.0.name")), "p/one: good");
    assert_true(json_number_value(at(root, "tests.0.largest_difference.invStdVar")) == 0);
    json_decref(root);
}

static void what_a_case_leaves_out_has_its_default(void **state)
{
    (void)state;
    put_cases(pack_replaced(good, ",'axis':1", ""));
    DONE("rmsnorm test p/one", "1 passed, 0 failed\n");
    put_cases("{'name':'no attributes','inputs':{'x':{'dtype':'float32','shape':[2,3],'data':[0]},"
              "'scale':{'dtype':'float32','shape':[],'data':[-1]}},"
              "'outputs':{'y':{'dtype':'float32','shape':[2,3],'data':[-0.0],'ulp':0}}}");
    outcome result = shell("rmsnorm test p/one");
    assert_string_equal(result.out, "ok      p/one: no attributes: largest difference 0 in y\n1 passed, 0 failed\n");
    outcome_free(&result);
}

static void fewer_values_repeat(void **state)
{
    (void)state;
    put_cases("{'name':'pattern','inputs':{'x':{'dtype':'float32','shape':[3,4],'data':[1,-1]},"
              "'scale':{'dtype':'float16','shape':[4],'data':[2,3]}},'attributes':{'epsilon':0},"
              "'outputs':{'y':{'dtype':'float16','shape':[3,4],'data':[2,-3,2,-3,2,-3],'ulp':0}}}");
    DONE("rmsnorm test p/one", "1 passed, 0 failed\n");
}

static void an_output_that_is_not_listed_is_not_asked_for(void **state)
{
    (void)state;
    const char *text = pack_replaced(good, "'y':{'dtype':'float16','shape':[1, 2],'data':[0.5,-1],'ulp':1},", "");
    put_cases(text);
    FAILED("rmsnorm test p/one", "FAILED  p/one: good: ", "Y (output slot 0) is missing");
}

/* One step of float32 below 0.25 is 2^-26, above it 2^-25; of float16 around 1 it is 2^-11 and 2^-10. */
static void steps_are_those_of_the_output_type(void **state)
{
    (void)state;
    put_cases(pack_replaced(good, "[0.25]", "[0.249999955296516418]")); /* 3 steps below */
    DONE("rmsnorm test p/one", "largest difference 0 in y, 4.47035e-8 (3 ulp) in invStdVar\n");
    put_cases(pack_replaced(good, "[0.25]", "[0.249999940395355225]")); /* 4 */
    FAILED("rmsnorm test p/one",
           "FAILED  p/one: good: output 'invStdVar': 1 of 1 elements are off by more than 3 ulp; ",
           "[0,0] is 0.25, expected 0.24999994; largest difference 5.96046e-8\n", "0 passed, 1 failed\n");
    put_cases(pack_replaced(good, "[0.5,-1]", "[0.5,-1.0009765625]"));
    DONE("rmsnorm test p/one", "(1 ulp) in y");
    put_cases(pack_replaced(good, "[0.5,-1]", "[0.5,-1.001953125]"));
    FAILED("rmsnorm test p/one",
           "output 'y': 1 of 2 elements are off by more than 1 ulp; [0,1] is -1, expected -1.0019531");
    put_cases(pack_replaced(good, "[0.25]", "['NaN']"));
    FAILED("rmsnorm test p/one", "output 'invStdVar'", "[0,0] is 0.25, expected nan; largest difference inf\n");
}

static void nan_and_infinity_are_values(void **state)
{
    (void)state;
    put_cases("{'name':'nan','inputs':{'x':{'dtype':'float32','shape':[2,2],'data':['NaN',1,1,'-Infinity']},"
              "'scale':{'dtype':'float32','shape':[2],'data':[1]}},'attributes':{},"
              "'outputs':{'y':{'dtype':'float32','shape':[2,2],'data':['NaN','NaN',0,'NaN'],'ulp':0}}}");
    DONE("rmsnorm test p/one", "1 passed, 0 failed\n");
    put_cases("{'name':'beyond','inputs':{'x':{'dtype':'float32','shape':[2],'data':[1,-1]},"
              "'scale':{'dtype':'float16','shape':[],'data':[65504]}},'attributes':{'epsilon':0},"
              "'outputs':{'y':{'dtype':'float16','shape':[2],'data':['Infinity','-Infinity'],'ulp':9}}}");
    FAILED("rmsnorm test p/one", "[0] is 65504, expected inf");
}

static void a_malformed_case_fails_with_its_field(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *sentence;
    } cases[] = {
        {"'name':'good',", "", "case 0: the case has no field 'name'"},
        {"'name':'good'", "'name':7", "case 0: name is no string"},
        {"'attributes'", "'atributes'",
         "good: the case has a field 'atributes', allowed are name, inputs, attributes, outputs"},
        {"'inputs'", "'outputz'", "good: the case has no field 'inputs'"},
        {"{'epsilon':12,'axis':1}", "[]", "attributes is no object"},
        {"'axis'", "'axes'", "attributes.axes: SimplifiedLayerNormalization: no attribute 'axes'"},
        {"'axis':1", "'axis':1.5", "attributes.axis: SimplifiedLayerNormalization: axis is an int attribute"},
        {"'axis':1", "'axis':'1'", "attributes.axis is no number"},
        {"'axis':1", "'axis':2", "axis is 2"},
        {"'x':", "'X':", "inputs has 'X', the package's bind keys are x, scale"},
        {"'invStdVar':", "'inv_std_var':", "outputs has 'inv_std_var', the package's bind keys are y, invStdVar"},
        {"'shape':[1,2],", "", "inputs.x has no field 'shape'"},
        {"'ulp':1", "'ulps':1", "outputs.y has no field 'ulp'"},
        {"'ulp':1", "'ulp':-1", "outputs.y.ulp is no whole number from 0 on"},
        {"[1,2.0]", "[1,2.0],'ulp':1", "inputs.scale has a field 'ulp', allowed are dtype, shape, data"},
        {"'float32','shape':[1,2]", "'int8','shape':[1,2]", "inputs.x.dtype is 'int8', allowed are float32, float16"},
        {"'float32','shape':[1,2]", "1,'shape':[1,2]", "inputs.x.dtype is 'no string'"},
        {"[1,2],", "[1,-2],", "inputs.x.shape: dim 1 is no whole number from 0 on"},
        {"[1,2],", "2,", "inputs.x.shape is no list of at most 16 dims"},
        {"[1,2],", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2],", "inputs.x.shape is no list of at most 16 dims"},
        {"[1,2],", "[4294967296,4294967296],", "inputs.x.shape has more than 67108864 elements"},
        {"[1,2],", "[1,67108865],", "inputs.x.shape has more than 67108864 elements"},
        {"[2,-2]", "2", "inputs.x.data is no list"},
        {"[2,-2]", "[]", "inputs.x.data has 0 values for 2 elements"},
        {"[2,-2]", "[2,-2,2]", "inputs.x.data has 3 values for 2 elements"},
        {"[1,2],'data':[2,-2]", "[2,2],'data':[2,-2,2]", "inputs.x.data has 3 values for 4 elements"},
        {"[2,-2]", "[2,'nan']", "inputs.x.data: value 1 is neither a number"},
        {"[2,-2]", "[2,null]", "inputs.x.data: value 1 is neither a number"},
        {"[2,-2]", "[2,9007199254740993]", "inputs.x.data: value 1 is neither a number that a double holds"},
        {"[2,-2]", "[2,9223372036854775807]", "inputs.x.data: value 1 is neither a number that a double holds"},
        {"[2,-2]", "[2,0.1]", "inputs.x.data: value 1 is 0.1, which no float is"},
        {"[2,-2]", "[2,1e300]", "inputs.x.data: value 1 is 1e300, which no float is"},
        {"[1,2.0]", "[1,2049]", "inputs.scale.data: value 1 is 2049, which no float16 is"},
        {"[1,2.0]", "[1,65536]", "inputs.scale.data: value 1 is 65536, which no float16 is"},
        {"[0.5,-1]", "[0.5,1e-8]", "outputs.y.data: value 1 is 1e-8, which no float16 is"},
        {"[1, 2]", "[2]", "output 'y' is float16 [1,2], expected is float16 [2]"},
        {"'y':{'dtype':'float16'", "'y':{'dtype':'float32'", "output 'y' is float16 [1,2], expected is float [1,2]"},
        {"'scale':{'dtype':'float16'", "'scale':{'dtype':'float32'", "output 'y' is float [1,2], expected is float16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char both[4096];
        (void)snprintf(both, sizeof both, "%s,%s", pack_replaced(good, cases[i].from, cases[i].to), good);
        put_cases(both);
        FAILED("rmsnorm test p/one", "FAILED  p/one: ", cases[i].sentence,
               "ok      p/one: good: ", "1 passed, 1 failed\n");
    }
    put_cases("7,{'name':'empty','inputs':{},'outputs':{}},{'name':'\\u001b[2J','inputs':{},'outputs':[]}");
    FAILED("rmsnorm test p/one", "FAILED  p/one: case 0: the case is no object\n",
           "FAILED  p/one: empty: outputs lists none\n", "FAILED  p/one: ?[2J: outputs is no object\n",
           "0 passed, 3 failed\n");
}

static void a_package_that_is_wrong_is_refused(void **state)
{
    (void)state;
    pack_copy(NAME, "q/a");
    pack_put("q/a", "test.json", "{'cases':[]}");
    REFUSED("rmsnorm test p q", "q/a: test.json has no cases, allowed is {\"cases\": [...]} with at least one");
    pack_put("q/a", "test.json", "{'case':[7]}");
    REFUSED("rmsnorm test p q", "q/a: test.json has no cases");
    pack_put("q/a", "test.json", "[]");
    REFUSED("rmsnorm test p q --json", "q/a: test.json has no cases");
    DONE("printf '{\"cases\":[}' >q/a/build/webgpu/test.json");
    REFUSED("rmsnorm test p q", "q/a", "test.json");
    DONE("rm q/a/build/webgpu/test.json && rmsnorm package build q/a");
    REFUSED("rmsnorm test p q", "q/a: the package has no test.json");
    REFUSED("rmsnorm test q/a/build/webgpu", "q/a/build/webgpu: the package has no test.json");
    pack_copy(NAME, "q/b");
    DONE("rm -r q/a && printf ' ' >>q/b/build/webgpu/head.wgsl.jinja");
    REFUSED("rmsnorm test p q", "q/b", "head.wgsl.jinja");
    DONE("rm q/b/build/webgpu/metadata.json");
    REFUSED("rmsnorm test p q", "q/b", "metadata.json is missing");
    DONE("mkdir -p q/c && rm -r q/b");
    REFUSED("rmsnorm test q", "'q' is no test folder and holds none",
            "or is a kernel package, with build/webgpu/metadata.json");
    DONE("rmsnorm package new com.example.Scale --into q");
    REFUSED("rmsnorm test q", "q/com.example.Scale: ");
}

static void broken_json_is_refused(void **state)
{
    (void)state;
    pack_copy(NAME, "r/a");
    static const char *const texts[] = {"", "{", "{\"cases\":[}", "nul", "{\"cases\":[],\"cases\":[]}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        write_bytes("r/a/build/webgpu/test.json", texts[i], strlen(texts[i]));
        outcome result = shell("rmsnorm package build r/a");
        const bool sealed = result.code == 0;
        outcome_free(&result);
        REFUSED("rmsnorm test r", sealed ? "r/a: test.json, line " : "test.json");
    }
}

static void the_device_is_the_cpu_unless_another_is_asked_for(void **state)
{
    (void)state;
    put_cases(good);
    DONE("rmsnorm test --device=cpu --isa scalar --threads 1 p", "1 passed, 0 failed\n");
    REFUSED("RMSNORM_WEBGPU_LIBRARY=/nonexistent rmsnorm test --device webgpu p", "WebGPU");
    REFUSED("rmsnorm test --device gpu p", "--device is 'gpu', allowed are cpu and webgpu");
}

static void onnx_folders_and_packages_mix(void **state)
{
    (void)state;
    put_cases(good);
    DONE("mkdir -p p/other/test_data_set_0 && : >p/other/model.onnx");
    FAILED("rmsnorm test p", "differences allowed: float ",
           "ok      p/one: good: ", "FAILED  p/other: model.onnx: ", "1 passed, 1 failed\n");
    DONE("rm -r p/other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_case_passes),
        cmocka_unit_test(what_a_case_leaves_out_has_its_default),
        cmocka_unit_test(fewer_values_repeat),
        cmocka_unit_test(an_output_that_is_not_listed_is_not_asked_for),
        cmocka_unit_test(steps_are_those_of_the_output_type),
        cmocka_unit_test(nan_and_infinity_are_values),
        cmocka_unit_test(a_malformed_case_fails_with_its_field),
        cmocka_unit_test(a_package_that_is_wrong_is_refused),
        cmocka_unit_test(broken_json_is_refused),
        cmocka_unit_test(the_device_is_the_cpu_unless_another_is_asked_for),
        cmocka_unit_test(onnx_folders_and_packages_mix),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
