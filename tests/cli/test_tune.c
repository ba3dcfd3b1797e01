/* rmsnorm tune, and rmsnorm bench on a device: what is kept, what is thrown out, what is refused. No time is judged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pack.h"
#include "support.h"

#define TUNE "rmsnorm tune --device webgpu -o t.json "
#define BENCH                                                                                        \
    "{'cases': [{'name': 'small', 'inputs': {'x': {'dtype': 'float32', 'shape': [2, 64]}, 'scale': " \
    "{'dtype': 'float32', 'shape': [64]}}}], 'tunables': {'WORKGROUP_SIZE': [64, 256]}}"

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    pack_copy("ai.onnx.SimplifiedLayerNormalization", "s");
    pack_put("s", "bench.json", BENCH);
    return 0;
}

static void expect_state(const char *script, const char *state, bool tried)
{
    json_t *answer = json_of(script, 0);
    assert_string_equal(json_string_value(at(answer, "cases.0.state")), state);
    assert_int_equal(json_integer_value(at(answer, "cases.0.tried")) > 0, tried);
    assert_true(json_real_value(at(answer, "cases.0.default_us")) > 0);
    assert_true(json_real_value(at(answer, "cases.0.gain")) > 0);
    assert_int_equal(json_array_size(at(answer, "cases.0.thrown_out")), 0);
    json_decref(answer);
}

static void what_is_there_is_not_tried_again(void **state)
{
    (void)state;
    expect_state(TUNE "s --json", "tuned", true);
    assert_true(exists("t.json"));
    expect_state(TUNE "s --json", "kept", false);
    expect_state(TUNE "s --again --json", "tuned", true);
    DONE("rmsnorm tune --device webgpu -o t.json s", "ai.onnx.SimplifiedLayerNormalization\n", "default us", "small",
         " (there already)\n", "in t.json\n");
    DONE("ls -A | grep -c '^t.json'", "1\n"); /* no temporary file stays */
}

static void other_shapes_take_the_place_of_the_cases(void **state)
{
    (void)state;
    DONE(TUNE "s --shape 1x8 --shape 3x16", "1x8, float", "3x16, float");
    DONE(TUNE "com.microsoft::SkipSimplifiedLayerNormalization --shape 9x8 --time 0.000001",
         "the time is up: 4 of 4 cases were not begun\n"); /* float and float16, with the sum and without */
    DONE(TUNE "s --shape 9x8 --time 0.000001", "the time is up: 1 of 1 cases were not begun\n");
}

static void a_wrong_candidate_is_thrown_out(void **state)
{
    (void)state;
    DONE("cp -r s wrong && sed -i 's/\"width\": \"product(x.shape, axis)\"/\"width\": \"product(x.shape, axis) - "
         "(4 if tunables.WORKGROUP_SIZE == 64 else 0)\"/' wrong/build/webgpu/manifest.json && "
         "grep -q 'SIZE == 64' wrong/build/webgpu/manifest.json && rmsnorm package build wrong >build.txt");
    json_t *answer = json_of(TUNE "wrong --json", 0);
    assert_string_equal(json_string_value(at(answer, "cases.0.state")), "tuned");
    assert_non_null(strstr(json_string_value(at(answer, "cases.0.thrown_out.0")), "WORKGROUP_SIZE=64: output '0': "));
    json_decref(answer);
}

static void a_wrong_default_is_an_answer(void **state)
{
    (void)state;
    DONE("cp -r s off && sed -i 's/\"width\": \"product(x.shape, axis)\"/\"width\": \"product(x.shape, axis) - 4\"/' "
         "off/build/webgpu/manifest.json && rmsnorm package build off >build.txt");
    json_t *answer = json_of("rmsnorm tune --device webgpu -o off.json off --json", 1);
    assert_string_equal(json_string_value(at(answer, "cases.0.state")), "wrong");
    json_decref(answer);
    assert_false(exists("off.json"));
}

/* A name that a tuning file cannot hold is not cut to another one. */
static void a_name_too_long_is_refused(void **state)
{
    (void)state;
    DONE("cp -r s long && sed -i 's/WORKGROUP_SIZE/WORKGROUP_SIZE_OF_A_NAME_WITHOUT_AN_END/' "
         "long/build/webgpu/manifest.json long/build/webgpu/bench.json && rmsnorm package build long >build.txt");
    REFUSED(TUNE "long", "WORKGROUP_SIZE_OF_A_NAME_WITHOUT_AN_END is longer than the 31 bytes");
    DONE("cp -r s longer && sed -i \"s/\\\"name\\\": \\\"rows\\\"/\\\"name\\\": \\\"$(printf 'r%.0s' $(seq 64))\\\"/\" "
         "longer/build/webgpu/manifest.json && rmsnorm package build longer >build.txt");
    REFUSED(TUNE "longer", "rrrr is longer than the 63 bytes");
}

static void wrong_words_and_files_are_refused(void **state)
{
    (void)state;
    REFUSED("rmsnorm tune", "tune is for GPUs, write rmsnorm tune --device webgpu");
    REFUSED("rmsnorm tune --device cpu", "tune is for GPUs");
    REFUSED(TUNE "--shape 0x4", "--shape is '0x4', allowed is ROWSxWIDTH");
    REFUSED(TUNE "--time -1", "--time is '-1'");
    REFUSED(TUNE "Softmax", "Softmax");
    REFUSED(TUNE "--adapter zzz s", "zzz");
    REFUSED("echo '{' >broken.json; rmsnorm tune --device webgpu -o broken.json s", "tuning: broken.json: line 2");
    REFUSED("echo '[]' >list.json; rmsnorm tune --device webgpu -o list.json s",
            "tuning: list.json has no object \"adapters\"");
    REFUSED("RMSNORM_TUNING=broken.json rmsnorm bench --device webgpu --shape 1x8", "tuning: broken.json: line 2");
    REFUSED("mkdir folder; rmsnorm tune --device webgpu -o folder s", "folder");
    REFUSED("rmsnorm bench --bandwidth", "--bandwidth goes with --device webgpu");
    REFUSED("rmsnorm bench --device webgpu --dtype double", "WebGPU has the types float and float16 alone");
}

static void a_case_is_timed_on_a_device(void **state)
{
    (void)state;
    json_t *answer = json_of("RMSNORM_TUNING=none.json RMSNORM_ORT_LIBRARY=/nonexistent rmsnorm bench --device webgpu "
                             "--op com.microsoft::SkipSimplifiedLayerNormalization --sum --dtype float16 --shape 3x64 "
                             "--seconds 0.001 --json",
                             0);
    assert_string_equal(json_string_value(at(answer, "cases.0.case")), "skip+sum");
    assert_int_equal(json_integer_value(at(answer, "cases.0.bytes")), 4 * 2 * 3 * 64);
    static const char *const times[] = {"rmsnorm", "copy", "rmsnorm_alone", "host"};
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "cases.0.%s.median_us", times[i]);
        assert_true(json_real_value(at(answer, path)) > 0);
    }
    assert_non_null(json_string_value(at(answer, "cases.0.onnxruntime.not_run")));
    json_decref(answer);
    DONE("RMSNORM_ORT_LIBRARY=/nonexistent rmsnorm bench --device webgpu --shape 3x64 --seconds 0.001 --markdown",
         "| op | types | shape | variant | ours us |", "\n| rms | float | 3x64 | ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there_is_not_tried_again), cmocka_unit_test(other_shapes_take_the_place_of_the_cases),
        cmocka_unit_test(a_wrong_candidate_is_thrown_out),  cmocka_unit_test(a_wrong_default_is_an_answer),
        cmocka_unit_test(a_name_too_long_is_refused),       cmocka_unit_test(wrong_words_and_files_are_refused),
        cmocka_unit_test(a_case_is_timed_on_a_device),
    };
    return cmocka_run_group_tests_name("tune", tests, begin, folder_remove);
}
