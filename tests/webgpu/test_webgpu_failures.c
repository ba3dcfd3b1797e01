/* What a device can do wrong comes back as a status with its words; nothing hangs, and the next call goes on. */
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "webgpu/device.h"

static rmsnorm_webgpu *gpu;

static int open_gpu(void **state)
{
    (void)state;
    gpu = gpu_open(NULL);
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    rmsnorm_webgpu_close(gpu);
    return 0;
}

static void expect_it_still_works(rmsnorm_webgpu *device)
{
    trial t = rms_trial(SIMPLE, F32, F32, 3, 16);
    expect_host_run(device, &t, NULL);
    trial_end(&t);
}

/* A plan of one pass that reads input 0 and writes output 0. */
typedef struct handmade {
    rmsnorm_shader shader;
    rmsnorm_binding bindings[2];
    rmsnorm_pass pass;
    rmsnorm_plan plan;
} handmade;

static void make_plan(handmade *made, const char *wgsl, uint64_t bytes, uint32_t workgroups)
{
    memset(made, 0, sizeof *made);
    made->shader = (rmsnorm_shader){"handmade", wgsl, strlen(wgsl)};
    made->bindings[0] = (rmsnorm_binding){"x", RMSNORM_BUFFER_INPUT, 0, false, 0, 0, bytes};
    made->bindings[1] = (rmsnorm_binding){"y", RMSNORM_BUFFER_OUTPUT, 0, true, 1, 0, bytes};
    made->pass.bindings = made->bindings;
    made->pass.binding_count = 2;
    made->pass.workgroups[0] = workgroups;
    made->pass.workgroups[1] = made->pass.workgroups[2] = 1;
    made->plan.variant = "handmade";
    made->plan.shaders = &made->shader;
    made->plan.shader_count = 1;
    made->plan.passes = &made->pass;
    made->plan.pass_count = 1;
}

static const char copying[] = "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
                              "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
                              "@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {\n"
                              "    if (id.x < arrayLength(&y)) { y[id.x] = x[id.x]; }\n"
                              "}\n";

static rmsnorm_status run_handmade(rmsnorm_webgpu *device, const handmade *made, float *result)
{
    const float data[64] = {1, 2, 3};
    rmsnorm_webgpu_tensor x = {.tensor = {.dtype = F32, .rank = 1, .dims = {64}}};
    rmsnorm_webgpu_tensor y = x;
    gpu_must(rmsnorm_webgpu_tensor_create(device, &x));
    gpu_must(rmsnorm_webgpu_tensor_create(device, &y));
    gpu_must(rmsnorm_webgpu_upload(device, &x, data));
    const rmsnorm_webgpu_tensor *const inputs[] = {&x};
    const rmsnorm_webgpu_tensor *const outputs[] = {&y};
    rmsnorm_status status = rmsnorm_webgpu_run_plan(device, &made->plan, inputs, 1, outputs, 1, NULL);
    if (status == RMSNORM_OK) {
        status = rmsnorm_webgpu_download(device, &y, result);
    }
    rmsnorm_webgpu_tensor_release(device, &x);
    rmsnorm_webgpu_tensor_release(device, &y);
    return status;
}

static void test_a_plan_by_hand_runs(void **state)
{
    (void)state;
    float result[64] = {0};
    handmade made;
    make_plan(&made, copying, 256, 1);
    gpu_must(run_handmade(gpu, &made, result));
    assert_float_equal(result[2], 3, 0);
}

static void test_a_shader_that_does_not_compile_names_its_fault(void **state)
{
    (void)state;
    float result[64];
    handmade made;
    make_plan(&made, "@compute @workgroup_size(1) fn main() { let a: u32 = 1.5; }", 256, 1);
    gpu_must_fail(run_handmade(gpu, &made, result), RMSNORM_DEVICE_FAILED, "the shader handmade", "u32", NULL);
    expect_it_still_works(gpu);
}

static void test_bindings_that_do_not_fit_the_shader_are_an_error(void **state)
{
    (void)state;
    float result[64];
    handmade made;
    make_plan(&made, copying, 256, 1);
    made.bindings[1].binding = 7;
    gpu_must_fail(run_handmade(gpu, &made, result), RMSNORM_DEVICE_FAILED, "the plan", NULL);
    make_plan(&made, copying, 256, 1);
    made.bindings[0].size = 1 << 20;
    gpu_must_fail(run_handmade(gpu, &made, result), RMSNORM_DEVICE_FAILED, "the plan", NULL);
    make_plan(&made, copying, 256, 1);
    made.bindings[0].slot = 3;
    gpu_must_fail(run_handmade(gpu, &made, result), RMSNORM_INVALID_ARGUMENT, "input 3", NULL);
    expect_it_still_works(gpu);
}

/* Found when the commands are finished, on a device of ours. */
static void test_a_dispatch_the_device_does_not_do_is_an_error(void **state)
{
    (void)state;
    float result[64];
    handmade made;
    make_plan(&made, copying, 256, 1 << 24);
    gpu_must_fail(run_handmade(gpu, &made, result), RMSNORM_DEVICE_FAILED, "WebGPU", NULL);
    expect_it_still_works(gpu);
}

static void test_a_buffer_that_does_not_fit_is_out_of_memory(void **state)
{
    (void)state;
    rmsnorm_adapter adapter;
    rmsnorm_webgpu_describe(gpu, &adapter);
    rmsnorm_webgpu_tensor many[64] = {{.buffer = NULL}};
    rmsnorm_status status = RMSNORM_OK;
    size_t count = 0;
    while (status == RMSNORM_OK && count < 64) { /* of 4 GiB each; not touched, so that nothing is really taken */
        many[count].tensor = (rmsnorm_tensor){.dtype = F32, .rank = 1, .dims = {(int64_t)1 << 30}};
        many[count].tensor.dims[0] = (int64_t)(adapter.profile.max_buffer_size / 4 - 64);
        status = rmsnorm_webgpu_tensor_create(gpu, &many[count]);
        count++;
    }
    assert_true(status == RMSNORM_OK || status == RMSNORM_OUT_OF_MEMORY);
    for (size_t i = 0; i < count; i++) {
        rmsnorm_webgpu_tensor_release(gpu, &many[i]);
    }
    expect_it_still_works(gpu);
}

static void test_waits_are_bounded(void **state)
{
    (void)state;
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *hasty;
    float result[64];
    handmade made;
    options.tuning = "";
    gpu_must(rmsnorm_webgpu_open(&options, &hasty));
    make_plan(&made,
              "@group(0) @binding(0) var<storage, read> x: array<f32>;\n"
              "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n"
              "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {\n"
              "    var sum = 0.0;\n"
              "    for (var n = 0u; n < 20000000u; n = n + 1u) { sum = sum * 1.0001 + x[(n + i) % 64u]; }\n"
              "    y[i] = sum;\n"
              "}\n",
              256, 1);
    hasty->timeout = 1;
    gpu_must_fail(run_handmade(hasty, &made, result), RMSNORM_TIMED_OUT, "1 ms", NULL);
    hasty->timeout = 60000;
    gpu_must(rmsnorm_webgpu_wait(hasty));
    expect_it_still_works(hasty);
    rmsnorm_webgpu_close(hasty);
}

static void test_a_lost_device_says_so_every_time(void **state)
{
    (void)state;
    rmsnorm_webgpu *const lost = gpu_open(NULL);
    expect_it_still_works(lost);
    lost->functions.DeviceDestroy(lost->device);
    for (int i = 0; i < 2; i++) {
        trial t = rms_trial(SIMPLE, F32, F32, 3, 16);
        gpu_must_fail(gpu_run_host(lost, &t, NULL), RMSNORM_DEVICE_LOST, "the device was lost", NULL);
        trial_end(&t);
        gpu_must_fail(rmsnorm_webgpu_wait(lost), RMSNORM_DEVICE_LOST, "the device was lost", NULL);
    }
    rmsnorm_webgpu_close(lost);
}

/* A buffer of another device: refused by the device, nothing is left behind, and what follows is not taken for it. */
static void test_a_buffer_of_another_device(void **state)
{
    (void)state;
    rmsnorm_webgpu *const other = gpu_open(NULL);
    trial t = rms_trial(SIMPLE, F32, F32, 3, 16);
    trial cpu = trial_copy(&t);
    resident all = resident_start(gpu, &t);
    rmsnorm_webgpu_tensor foreign = {.tensor = t.in[0]};
    const rmsnorm_webgpu_tensor own = all.in[0];
    gpu_must(rmsnorm_webgpu_tensor_create(other, &foreign));
    rmsnorm_webgpu_tensor_release(gpu, &all.out[0]);
    for (int i = 0; i < 3; i++) {
        all.in[0] = foreign;
        all.out[0] = (rmsnorm_webgpu_tensor){.buffer = NULL};
        gpu_must_fail(resident_run(&all, NULL), RMSNORM_DEVICE_FAILED, "WebGPU", NULL);
        assert_null(all.out[0].buffer);
        all.in[0] = own;
        gpu_must(resident_run(&all, NULL)); /* the second time, the program is known */
        resident_finish(&all);
        trial_must_run(&cpu);
        expect_agreement(&t, &cpu, 4);
        rmsnorm_webgpu_tensor_release(gpu, &all.out[0]);
    }
    rmsnorm_webgpu_tensor_release(other, &foreign);
    resident_end(&all);
    trial_end(&cpu);
    trial_end(&t);
    rmsnorm_webgpu_close(other);
}

static void test_wrong_arguments_are_sentences(void **state)
{
    (void)state;
    rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
    trial t = rms_trial(SIMPLE, F32, F32, 3, 16);
    double seconds;
    options.variant = "no such variant";
    gpu_must_fail(gpu_run_host(gpu, &t, &options), RMSNORM_NOT_FOUND, "no such variant", NULL);
    options.variant = NULL;
    options.tunable_count = 9;
    gpu_must_fail(gpu_run_host(gpu, &t, &options), RMSNORM_INVALID_ARGUMENT, "9 tunables", NULL);
    options.tunable_count = 0;
    options.struct_size = 0;
    gpu_must_fail(gpu_run_host(gpu, &t, &options), RMSNORM_INVALID_ARGUMENT, "struct_size is 0", NULL);
    options.struct_size = sizeof options;
    options.seconds = &seconds;
    options.encoder = (struct WGPUCommandEncoderImpl *)&t;
    gpu_must_fail(gpu_run_host(gpu, &t, &options), RMSNORM_INVALID_ARGUMENT, "recorded", NULL);
    gpu_must_fail(rmsnorm_webgpu_run(NULL, t.op, NULL, NULL, 0, NULL, 0, NULL), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must_fail(rmsnorm_webgpu_run(gpu, t.op, NULL, NULL, 0, NULL, 0, NULL), RMSNORM_INVALID_ARGUMENT, "no output",
                  NULL);
    trial_end(&t);
}

static void expect_null_refused(rmsnorm_status status, const char *function)
{
    gpu_must_fail(status, RMSNORM_INVALID_ARGUMENT, function, "NULL", NULL);
}

static void test_null_is_refused(void **state)
{
    (void)state;
    rmsnorm_webgpu_tensor tensor = {.buffer = NULL};
    rmsnorm_adapter adapter = {.name = "x"};
    const rmsnorm_operator *const op = rmsnorm_operator_at(0);
    const rmsnorm_request request = RMSNORM_REQUEST_INIT;
    const rmsnorm_plan empty = {.variant = ""};
    rmsnorm_plan *plan;
    size_t count;
    expect_null_refused(rmsnorm_adapter_kind_from_name("any", NULL), "rmsnorm_adapter_kind_from_name");
    expect_null_refused(rmsnorm_webgpu_library(NULL, NULL, 1), "rmsnorm_webgpu_library");
    expect_null_refused(rmsnorm_webgpu_adapters(NULL, NULL, 1, &count), "rmsnorm_webgpu_adapters");
    expect_null_refused(rmsnorm_webgpu_adapters(NULL, &adapter, 1, NULL), "rmsnorm_webgpu_adapters");
    expect_null_refused(rmsnorm_webgpu_open(NULL, NULL), "rmsnorm_webgpu_open");
    expect_null_refused(rmsnorm_webgpu_wait(NULL), "rmsnorm_webgpu_wait");
    expect_null_refused(rmsnorm_webgpu_tensor_create(NULL, &tensor), "rmsnorm_webgpu_tensor_create");
    expect_null_refused(rmsnorm_webgpu_tensor_create(gpu, NULL), "rmsnorm_webgpu_tensor_create");
    expect_null_refused(rmsnorm_webgpu_upload(NULL, &tensor, ""), "rmsnorm_webgpu_upload");
    expect_null_refused(rmsnorm_webgpu_upload(gpu, NULL, ""), "rmsnorm_webgpu_upload");
    expect_null_refused(rmsnorm_webgpu_download(NULL, &tensor, &adapter), "rmsnorm_webgpu_download");
    expect_null_refused(rmsnorm_webgpu_download(gpu, NULL, &adapter), "rmsnorm_webgpu_download");
    expect_null_refused(rmsnorm_webgpu_run(gpu, NULL, NULL, NULL, 0, NULL, 0, NULL), "rmsnorm_webgpu_run");
    expect_null_refused(rmsnorm_webgpu_run(gpu, op, NULL, NULL, 1, NULL, 0, NULL), "rmsnorm_webgpu_run");
    expect_null_refused(rmsnorm_webgpu_run(gpu, op, NULL, NULL, 0, NULL, 1, NULL), "rmsnorm_webgpu_run");
    expect_null_refused(rmsnorm_webgpu_run_host(NULL, op, NULL, NULL, 0, NULL, 0, NULL), "rmsnorm_webgpu_run_host");
    expect_null_refused(rmsnorm_webgpu_plan(NULL, op, NULL, &request, &plan), "rmsnorm_webgpu_plan");
    expect_null_refused(rmsnorm_webgpu_plan(gpu, op, NULL, NULL, &plan), "rmsnorm_webgpu_plan");
    expect_null_refused(rmsnorm_webgpu_plan(gpu, op, NULL, &request, NULL), "rmsnorm_webgpu_plan");
    expect_null_refused(rmsnorm_webgpu_run_plan(NULL, &empty, NULL, 0, NULL, 0, NULL), "rmsnorm_webgpu_run_plan");
    expect_null_refused(rmsnorm_webgpu_run_plan(gpu, NULL, NULL, 0, NULL, 0, NULL), "rmsnorm_webgpu_run_plan");
    expect_null_refused(rmsnorm_webgpu_run_plan(gpu, &empty, NULL, 1, NULL, 0, NULL), "rmsnorm_webgpu_run_plan");
    expect_null_refused(rmsnorm_webgpu_run_plan(gpu, &empty, NULL, 0, NULL, 1, NULL), "rmsnorm_webgpu_run_plan");
    rmsnorm_webgpu_close(NULL);
    rmsnorm_webgpu_tensor_release(NULL, &tensor);
    rmsnorm_webgpu_tensor_release(gpu, NULL);
    rmsnorm_webgpu_describe(gpu, NULL);
    rmsnorm_webgpu_describe(NULL, &adapter);
    assert_string_equal(adapter.name, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_by_hand_runs),
        cmocka_unit_test(test_a_shader_that_does_not_compile_names_its_fault),
        cmocka_unit_test(test_bindings_that_do_not_fit_the_shader_are_an_error),
        cmocka_unit_test(test_a_dispatch_the_device_does_not_do_is_an_error),
        cmocka_unit_test(test_a_buffer_that_does_not_fit_is_out_of_memory),
        cmocka_unit_test(test_waits_are_bounded),
        cmocka_unit_test(test_a_lost_device_says_so_every_time),
        cmocka_unit_test(test_a_buffer_of_another_device),
        cmocka_unit_test(test_wrong_arguments_are_sentences),
        cmocka_unit_test(test_null_is_refused),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
