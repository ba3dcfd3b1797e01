/* Finding a library and an adapter; the caller's own device. */
#define _POSIX_C_SOURCE 200809L /* setenv */

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support.h"
#include "webgpu/adapter.h"
#include "webgpu/device.h"

/* With another RMSNORM_WEBGPU_LIBRARY, or none. */
static rmsnorm_status open_with_library(const char *library)
{
    const char *const usual = getenv("RMSNORM_WEBGPU_LIBRARY");
    char kept[4096] = "";
    assert_true(usual != NULL && strlen(usual) < sizeof kept);
    strcpy(kept, usual);
    rmsnorm_webgpu *gpu = NULL;
    if (library == NULL) {
        unsetenv("RMSNORM_WEBGPU_LIBRARY");
    } else {
        setenv("RMSNORM_WEBGPU_LIBRARY", library, 1);
    }
    const rmsnorm_status status = rmsnorm_webgpu_open(NULL, &gpu);
    setenv("RMSNORM_WEBGPU_LIBRARY", kept, 1);
    assert_null(gpu);
    return status;
}

static void test_a_missing_library_is_one_sentence_and_the_cpu_goes_on(void **state)
{
    (void)state;
    gpu_must_fail(open_with_library("/nonexistent/libwebgpu.so"), RMSNORM_NOT_FOUND, "/nonexistent/libwebgpu.so",
                  "RMSNORM_WEBGPU_LIBRARY", NULL);
    gpu_must_fail(open_with_library(NULL), RMSNORM_NOT_FOUND, "no library found", "libwebgpu_dawn", "libwgpu_native",
                  "The CPU needs none", NULL);
    trial t = rms_trial(SIMPLE, F32, F32, 2, 8);
    trial_must_run(&t);
    trial_end(&t);
}

static void test_a_library_of_something_else_is_refused(void **state)
{
    (void)state;
    gpu_must_fail(open_with_library("libm.so.6"), RMSNORM_UNSUPPORTED, "libm.so.6", "wgpuAdapterGetInfo", NULL);
}

static void test_adapters_are_listed_and_chosen_by_name_and_kind(void **state)
{
    (void)state;
    rmsnorm_adapter adapters[8];
    size_t count;
    gpu_must(rmsnorm_webgpu_adapters(NULL, adapters, 8, &count));
    assert_true(count >= 1);
    assert_true(adapters[0].name[0] != '\0');
    assert_true(adapters[0].profile.max_storage_buffer_binding_size >= (uint64_t)128 << 20);

    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *gpu;
    options.adapter = "no such adapter";
    gpu_must(rmsnorm_webgpu_adapters(&options, adapters, 8, &count));
    assert_int_equal(count, 0);
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_NOT_FOUND, "no such adapter", "rmsnorm info", NULL);
    options.adapter = "LLVMPIPE"; /* in any case */
    options.kind = RMSNORM_ADAPTER_SOFTWARE;
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    rmsnorm_webgpu_describe(gpu, adapters);
    assert_non_null(strstr(adapters[0].name, "llvmpipe"));
    assert_int_equal(adapters[0].kind, RMSNORM_ADAPTER_SOFTWARE);
    assert_string_equal(adapters[0].backend, "Vulkan");
    rmsnorm_webgpu_close(gpu);
    options.kind = RMSNORM_ADAPTER_DISCRETE;
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_NOT_FOUND, "discrete", "LLVMPIPE", NULL);
    options.kind = (rmsnorm_adapter_kind)99;
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_INVALID_ARGUMENT, "kind is 99", NULL);
}

/* Whatever the library calls them: on Mesa's software GPU all three are there. */
static void test_features_are_found_by_trying(void **state)
{
    (void)state;
    rmsnorm_webgpu *const gpu = gpu_open(NULL);
    rmsnorm_adapter adapter;
    rmsnorm_webgpu_describe(gpu, &adapter);
    assert_true(adapter.profile.shader_f16);
    assert_true(adapter.profile.subgroups);
    assert_true(adapter.timestamps);
    assert_true(adapter.profile.subgroup_min_size >= 4);
    rmsnorm_webgpu_close(gpu);
}

static void test_kinds_have_names(void **state)
{
    (void)state;
    for (int i = RMSNORM_ADAPTER_ANY; i <= RMSNORM_ADAPTER_UNKNOWN; i++) {
        rmsnorm_adapter_kind kind = RMSNORM_ADAPTER_ANY;
        gpu_must(rmsnorm_adapter_kind_from_name(rmsnorm_adapter_kind_name((rmsnorm_adapter_kind)i), &kind));
        assert_int_equal(kind, i);
    }
    rmsnorm_adapter_kind kind;
    gpu_must_fail(rmsnorm_adapter_kind_from_name("quantum", &kind), RMSNORM_NOT_FOUND, "quantum", "discrete", NULL);
}

static void test_opening_and_closing_again_and_again(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        rmsnorm_webgpu *const gpu = gpu_open(NULL);
        trial t = rms_trial(SIMPLE, F32, F32, 2, 8);
        gpu_must(gpu_run_host(gpu, &t, NULL));
        trial_end(&t);
        rmsnorm_webgpu_close(gpu);
    }
    rmsnorm_webgpu_close(NULL);
}

/* ---- The caller's device --------------------------------------------------------------------- */

static void *function_of(void *library, const char *name)
{
    return dlsym(library, name);
}

typedef struct theirs {
    rmsnorm_webgpu_functions functions;
    void *library;
    WGPUInstance instance;
    WGPUDevice device;
} theirs;

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void *first,
                      void *second)
{
    (void)status;
    (void)message;
    (void)second;
    *(WGPUDevice *)first = device;
}

static void on_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message, void *first, void *second)
{
    (void)device;
    (void)type;
    (void)message;
    (void)second;
    ++*(int *)first;
}

static int their_errors;

/* A device without any feature, with WebGPU's default limits. */
static theirs make_theirs(void)
{
    theirs all = {.library = dlopen(getenv("RMSNORM_WEBGPU_LIBRARY"), RTLD_NOW)};
    assert_non_null(all.library);
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    options.get_function = function_of;
    options.user = all.library;
    gpu_must(rmsnorm_webgpu_load(&options, &all.functions));
    all.instance = all.functions.CreateInstance(NULL);
    const rmsnorm_adapter_way way = {WGPUBackendType_Undefined, WGPUPowerPreference_Undefined, false};
    WGPUAdapter adapter;
    gpu_must(rmsnorm_adapter_request(&all.functions, all.instance, &way, 10000, &adapter));
    assert_non_null(adapter);
    their_errors = 0;
    const WGPUDeviceDescriptor descriptor = {
        .uncapturedErrorCallbackInfo = {.callback = on_error, .userdata1 = &their_errors}};
    const WGPURequestDeviceCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_device, .userdata1 = &all.device};
    all.functions.AdapterRequestDevice(adapter, &descriptor, callback);
    for (int i = 0; i < 10000 && all.device == NULL; i++) {
        all.functions.InstanceProcessEvents(all.instance);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    all.functions.AdapterRelease(adapter);
    assert_non_null(all.device);
    return all;
}

static void drop_theirs(theirs *all)
{
    all->functions.DeviceRelease(all->device);
    all->functions.InstanceRelease(all->instance);
}

static rmsnorm_webgpu *adopt(const theirs *all)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *gpu;
    options.instance = all->instance;
    options.device = all->device;
    options.get_function = function_of;
    options.user = all->library;
    options.tuning = "";
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    return gpu;
}

static void test_the_callers_device_buffers_and_encoder(void **state)
{
    (void)state;
    theirs all = make_theirs();
    rmsnorm_webgpu *const gpu = adopt(&all);
    rmsnorm_adapter adapter;
    rmsnorm_webgpu_describe(gpu, &adapter);
    assert_false(adapter.profile.shader_f16); /* it was not asked for */

    trial t = skip_trial(F16, 4, 65);
    trial_want(&t, 0xF);
    trial cpu = trial_copy(&t);
    resident mine = resident_start(gpu, &t);
    const WGPUBufferDescriptor descriptor = {.usage = WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc, .size = 4096};
    WGPUBuffer buffer = all.functions.DeviceCreateBuffer(all.device, &descriptor);
    rmsnorm_webgpu_tensor_release(gpu, &mine.out[0]);
    mine.out[0].buffer = buffer;
    mine.out[0].offset = 1024;
    mine.borrowed[5] = true;
    gpu_must_fail(rmsnorm_webgpu_upload(gpu, &mine.out[0], t.out[0].data), RMSNORM_INVALID_ARGUMENT, "CopyDst", NULL);

    WGPUCommandEncoder encoder = all.functions.DeviceCreateCommandEncoder(all.device, NULL);
    rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
    options.encoder = encoder;
    gpu_must(resident_run(&mine, &options));
    unsigned char word[4] = {0};
    gpu_must(
        rmsnorm_webgpu_download(gpu, &(rmsnorm_webgpu_tensor){{.dtype = F32, .rank = 0}, mine.out[3].buffer, 0}, word));
    assert_int_equal(word[0], 0xFF); /* recorded is not run */
    WGPUCommandBuffer commands = all.functions.CommandEncoderFinish(encoder, NULL);
    WGPUQueue queue = all.functions.DeviceGetQueue(all.device);
    all.functions.QueueSubmit(queue, 1, &commands);
    resident_finish(&mine);
    trial_must_run(&cpu);
    expect_agreement(&t, &cpu, 4);
    assert_int_equal(their_errors, 0);

    all.functions.QueueRelease(queue);
    all.functions.CommandBufferRelease(commands);
    all.functions.CommandEncoderRelease(encoder);
    all.functions.BufferRelease(buffer);
    resident_end(&mine);
    trial_end(&cpu);
    trial_end(&t);
    rmsnorm_webgpu_close(gpu);
    drop_theirs(&all); /* it was not destroyed */
}

static void test_a_device_without_its_instance_is_refused(void **state)
{
    (void)state;
    theirs all = make_theirs();
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *gpu;
    options.device = all.device;
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_INVALID_ARGUMENT, "without its instance", NULL);
    drop_theirs(&all);
}

static void test_the_callers_lost_device_is_an_error_soon(void **state)
{
    (void)state;
    theirs all = make_theirs();
    rmsnorm_webgpu *const gpu = adopt(&all);
    trial t = rms_trial(SIMPLE, F32, F32, 2, 8);
    gpu_must(gpu_run_host(gpu, &t, NULL));
    all.functions.DeviceDestroy(all.device);
    gpu_must_fail(gpu_run_host(gpu, &t, NULL), RMSNORM_DEVICE_LOST, "lost", NULL); /* it waits */
    resident nothing = {.gpu = gpu, .t = &t};
    gpu_must_fail(resident_run(&nothing, NULL), RMSNORM_DEVICE_LOST, "lost", NULL); /* from then on so do others */
    gpu_must_fail(rmsnorm_webgpu_wait(gpu), RMSNORM_DEVICE_LOST, "lost", NULL);
    trial_end(&t);
    rmsnorm_webgpu_close(gpu);
    rmsnorm_webgpu *dead;
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    options.instance = all.instance;
    options.device = all.device;
    gpu_must_fail(rmsnorm_webgpu_open(&options, &dead), RMSNORM_DEVICE_LOST, "lost", NULL);
    drop_theirs(&all);
}

/* ---- Callbacks of the caller's --------------------------------------------------------------- */

typedef struct visitor {
    rmsnorm_webgpu *gpu;
    rmsnorm_webgpu_tensor tensor;
    bool came;
} visitor;

static void on_mapped(WGPUMapAsyncStatus status, WGPUStringView message, void *first, void *second)
{
    visitor *const guest = first;
    (void)status;
    (void)message;
    (void)second;
    rmsnorm_webgpu_tensor_release(guest->gpu, &guest->tensor);
    guest->came = true;
}

/* They run while we wait, and may call us. */
static void test_a_callback_of_the_callers_may_call_us(void **state)
{
    (void)state;
    theirs all = make_theirs();
    visitor guest = {.gpu = adopt(&all), .tensor = {.tensor = {.dtype = F32, .rank = 1, .dims = {8}}}};
    gpu_must(rmsnorm_webgpu_tensor_create(guest.gpu, &guest.tensor));
    const WGPUBufferDescriptor descriptor = {.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst, .size = 64};
    WGPUBuffer buffer = all.functions.DeviceCreateBuffer(all.device, &descriptor);
    const WGPUBufferMapCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_mapped, .userdata1 = &guest};
    all.functions.BufferMapAsync(buffer, WGPUMapMode_Read, 0, 64, callback);
    for (int i = 0; i < 100 && !guest.came; i++) {
        gpu_must(rmsnorm_webgpu_wait(guest.gpu));
    }
    assert_true(guest.came);
    all.functions.BufferRelease(buffer);
    rmsnorm_webgpu_close(guest.gpu);
    drop_theirs(&all);
}

/* ---- Without timestamps ---------------------------------------------------------------------- */

typedef struct worker {
    rmsnorm_webgpu *gpu;
    bool timed;
    size_t wrong;
} worker;

static void *work(void *user)
{
    worker *const own = user;
    for (int i = 0; i < 40; i++) {
        trial t = rms_trial(SIMPLE, F32, F32, own->timed ? 4 : 4 + i % 2, 64);
        for (size_t j = 0; j < tensor_elements(&t.in[0]); j++) {
            tensor_set(&t.in[0], j, own->timed ? 1 : 2);
        }
        for (size_t j = 0; j < tensor_elements(&t.in[1]); j++) {
            tensor_set(&t.in[1], j, own->timed ? 3 : 5);
        }
        double seconds;
        rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
        options.seconds = own->timed ? &seconds : NULL;
        own->wrong += gpu_run_host(own->gpu, &t, &options) != RMSNORM_OK;
        own->wrong += fabs(tensor_get(&t.out[0], 63) - (own->timed ? 3 : 5)) > 1e-3;
        trial_end(&t);
    }
    return NULL;
}

/* A timed run waits in its middle, and others use its program meanwhile. */
static void test_timed_runs_of_several_threads_keep_their_tensors(void **state)
{
    (void)state;
    theirs all = make_theirs();
    rmsnorm_webgpu *const gpu = adopt(&all);
    rmsnorm_adapter adapter;
    rmsnorm_webgpu_describe(gpu, &adapter);
    assert_false(adapter.timestamps);
    pthread_t threads[4];
    worker workers[4];
    for (size_t i = 0; i < 4; i++) {
        workers[i] = (worker){.gpu = gpu, .timed = i % 2 == 0};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
    rmsnorm_webgpu_close(gpu);
    drop_theirs(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_missing_library_is_one_sentence_and_the_cpu_goes_on),
        cmocka_unit_test(test_a_library_of_something_else_is_refused),
        cmocka_unit_test(test_adapters_are_listed_and_chosen_by_name_and_kind),
        cmocka_unit_test(test_features_are_found_by_trying),
        cmocka_unit_test(test_kinds_have_names),
        cmocka_unit_test(test_opening_and_closing_again_and_again),
        cmocka_unit_test(test_the_callers_device_buffers_and_encoder),
        cmocka_unit_test(test_a_device_without_its_instance_is_refused),
        cmocka_unit_test(test_the_callers_lost_device_is_an_error_soon),
        cmocka_unit_test(test_a_callback_of_the_callers_may_call_us),
        cmocka_unit_test(test_timed_runs_of_several_threads_keep_their_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
