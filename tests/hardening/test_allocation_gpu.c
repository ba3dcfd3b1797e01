/* Memory that ends anywhere while a device is opened and runs, and in its table of tuned variants. */
#define _XOPEN_SOURCE 700

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hardening/memory.h"
#include "webgpu/device.h"
#include "webgpu/support.h"

static rmsnorm_webgpu *gpu;

/* ---- A library whose error scopes are counted: one that stays would keep all later errors ---- */

static long scopes;
static void (*push_scope)(WGPUDevice device, WGPUErrorFilter filter);
static WGPUFuture (*pop_scope)(WGPUDevice device, WGPUPopErrorScopeCallbackInfo callback);

static void push_counted(WGPUDevice device, WGPUErrorFilter filter)
{
    scopes++;
    push_scope(device, filter);
}

static WGPUFuture pop_counted(WGPUDevice device, WGPUPopErrorScopeCallbackInfo callback)
{
    scopes--;
    return pop_scope(device, callback);
}

static void *find_counted(void *library, const char *name)
{
    static void (*const push)(WGPUDevice device, WGPUErrorFilter filter) = push_counted;
    static WGPUFuture (*const pop)(WGPUDevice device, WGPUPopErrorScopeCallbackInfo callback) = pop_counted;
    void *found = dlsym(library, name);
    if (found != NULL && strcmp(name, "wgpuDevicePushErrorScope") == 0) {
        memcpy(&push_scope, &found, sizeof found);
        memcpy(&found, &push, sizeof found);
    } else if (found != NULL && strcmp(name, "wgpuDevicePopErrorScope") == 0) {
        memcpy(&pop_scope, &found, sizeof found);
        memcpy(&found, &pop, sizeof found);
    }
    return found;
}

static const char path[] = "allocation-tuning.json";
static void *library;

static rmsnorm_webgpu_options counted(const char *tuning)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    options.get_function = find_counted;
    options.user = library;
    options.tuning = tuning;
    return options;
}

static int load_library(void **state)
{
    (void)state;
    (void)unlink(path);
    library = dlopen(getenv("RMSNORM_WEBGPU_LIBRARY"), RTLD_NOW);
    return library == NULL;
}

/* ---- Devices --------------------------------------------------------------------------------- */

static rmsnorm_adapter complete; /* what the device can do when there is memory */

/* A device that is opened lacks nothing, be it of its own or the caller's. */
static rmsnorm_status open_as(const rmsnorm_webgpu_options *options)
{
    rmsnorm_webgpu *opened = UNTOUCHED;
    rmsnorm_adapter adapter;
    const rmsnorm_status status = rmsnorm_webgpu_open(options, &opened);
    assert_int_equal(scopes, 0);
    if (status != RMSNORM_OK) {
        assert_no_handle(opened);
        return status;
    }
    rmsnorm_webgpu_describe(opened, &adapter);
    assert_string_equal(adapter.name, complete.name);
    assert_int_equal(adapter.profile.shader_f16, complete.profile.shader_f16);
    assert_int_equal(adapter.profile.subgroups, complete.profile.subgroups);
    assert_int_equal(adapter.timestamps, complete.timestamps);
    rmsnorm_webgpu_close(opened);
    return RMSNORM_OK;
}

static rmsnorm_status open_device(void)
{
    const rmsnorm_webgpu_options options = counted("");
    return open_as(&options);
}

static rmsnorm_status adopt_device(void)
{
    rmsnorm_webgpu_options options = counted("");
    options.instance = gpu->instance;
    options.device = gpu->device;
    return open_as(&options);
}

static rmsnorm_status list_adapters(void)
{
    rmsnorm_adapter adapters[4];
    size_t count = SIZE_MAX;
    const rmsnorm_status status = rmsnorm_webgpu_adapters(NULL, adapters, 4, &count);
    assert_true(status == RMSNORM_OK ? count > 0 : count == 0);
    return status;
}

/* What the system loads is the system's. */
static rmsnorm_status name_things(void)
{
    char file[4096];
    rmsnorm_adapter_kind kind;
    rmsnorm_adapter adapter;
    CALL_TRY(rmsnorm_webgpu_library(NULL, file, sizeof file));
    assert_true(file[0] != '\0');
    CALL_TRY(rmsnorm_adapter_kind_from_name(rmsnorm_adapter_kind_name(RMSNORM_ADAPTER_DISCRETE), &kind));
    assert_int_equal(kind, RMSNORM_ADAPTER_DISCRETE);
    rmsnorm_webgpu_describe(gpu, &adapter);
    assert_string_equal(adapter.name, complete.name);
    return RMSNORM_OK;
}

/* What a run keeps for the next one is the device's: it is opened and closed around the count. */
static rmsnorm_status open_and_run(void)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *opened = NULL;
    options.tuning = "";
    rmsnorm_status status = rmsnorm_webgpu_open(&options, &opened);
    if (status == RMSNORM_OK) {
        float x[6] = {1, 2, 3, 4, 5, 6};
        float y[6] = {0};
        const float scale[3] = {1, 1, 1};
        rmsnorm_tensor in = {.dtype = F32, .rank = 2, .dims = {2, 3}, .data = x};
        rmsnorm_tensor gamma = {.dtype = F32, .rank = 1, .dims = {3}, .data = (void *)scale};
        rmsnorm_tensor out = {.dtype = F32, .rank = 2, .dims = {2, 3}, .data = y};
        status =
            rmsnorm_webgpu_run_host(opened, rmsnorm_operator_at(0), NULL, (const rmsnorm_tensor *const[]){&in, &gamma},
                                    2, (rmsnorm_tensor *[]){&out}, 1, NULL);
        assert_true(status != RMSNORM_OK || (y[0] > 0.46F && y[0] < 0.47F));
        assert_true(status == RMSNORM_OK || y[0] == 0);
        rmsnorm_webgpu_close(opened);
    }
    return status;
}

/* On one device that stays: after every refusal the same run succeeds. */
static void test_runs_of_an_open_device(void **state)
{
    (void)state;
    gpu = gpu_open(NULL);
    size_t refused = 0;
    for (size_t request = 0;; request++) {
        trial t = skip_trial(F16, 3, 40 + (int64_t)request); /* a program of its own */
        trial_want(&t, 0x9);
        memory_fail(request, false);
        const rmsnorm_status status = gpu_run_host(gpu, &t, NULL);
        const size_t count = memory_succeed();
        if (status != RMSNORM_OK) {
            assert_int_equal(status, RMSNORM_OUT_OF_MEMORY);
            assert_true(rmsnorm_last_error()[0] != '\0');
            refused++;
        }
        expect_host_run(gpu, &t, NULL);
        trial_end(&t);
        if (count <= request) {
            break;
        }
    }
    print_message("  %zu refused\n", refused);
    assert_true(refused > 5);
    rmsnorm_webgpu_close(gpu);
}

/* ---- Tensors that stay on the device --------------------------------------------------------- */

enum { ROWS = 1, WIDTH = 65536 }; /* few and long: the package has two variants for them */
static const char *tuned;         /* the variant that the table names */

/* All buffers that are made are taken back, whatever fails. */
typedef struct on_device {
    rmsnorm_webgpu_tensor x, scale, y;
    float data[ROWS * WIDTH];
} on_device;

static rmsnorm_status run_and_read(on_device *t)
{
    const rmsnorm_webgpu_tensor *const inputs[] = {&t->x, &t->scale};
    const rmsnorm_status status =
        rmsnorm_webgpu_run(gpu, rmsnorm_operator_at(0), NULL, inputs, 2, (rmsnorm_webgpu_tensor *[]){&t->y}, 1, NULL);
    assert_true((t->y.buffer != NULL) == (status == RMSNORM_OK));
    CALL_TRY(status);
    CALL_TRY(rmsnorm_webgpu_wait(gpu));
    CALL_TRY(rmsnorm_webgpu_download(gpu, &t->y, t->data));
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++) {
        assert_true(t->data[i] > 0.99F && t->data[i] < 1.01F);
    }
    return RMSNORM_OK;
}

static rmsnorm_status plan_and_run(on_device *t)
{
    const rmsnorm_webgpu_tensor *const inputs[] = {&t->x, &t->scale};
    const rmsnorm_webgpu_tensor *const outputs[] = {&t->y};
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    rmsnorm_plan *plan = UNTOUCHED;
    request.inputs[0] = &t->x.tensor;
    request.inputs[1] = &t->scale.tensor;
    rmsnorm_status status = rmsnorm_webgpu_plan(gpu, rmsnorm_operator_at(0), NULL, &request, &plan);
    if (status != RMSNORM_OK) {
        assert_no_handle(plan);
        return status;
    }
    assert_string_equal(plan->variant, tuned);
    status = rmsnorm_webgpu_run_plan(gpu, plan, inputs, 2, outputs, 1, NULL);
    rmsnorm_plan_release(plan);
    return status;
}

static rmsnorm_status create_and_fill(on_device *t, rmsnorm_webgpu_tensor *tensor)
{
    const rmsnorm_status status = rmsnorm_webgpu_tensor_create(gpu, tensor);
    assert_true((tensor->buffer != NULL) == (status == RMSNORM_OK));
    return status == RMSNORM_OK ? rmsnorm_webgpu_upload(gpu, tensor, t->data) : status;
}

static rmsnorm_status use_tensors(void)
{
    static on_device t;
    memset(&t, 0, sizeof t);
    t.x.tensor = (rmsnorm_tensor){.dtype = F32, .rank = 2, .dims = {ROWS, WIDTH}};
    t.scale.tensor = (rmsnorm_tensor){.dtype = F32, .rank = 1, .dims = {WIDTH}};
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++) {
        t.data[i] = 1;
    }
    rmsnorm_status status = create_and_fill(&t, &t.x);
    status = status == RMSNORM_OK ? create_and_fill(&t, &t.scale) : status;
    status = status == RMSNORM_OK ? run_and_read(&t) : status;
    status = status == RMSNORM_OK ? plan_and_run(&t) : status;
    rmsnorm_webgpu_tensor_release(gpu, &t.x);
    rmsnorm_webgpu_tensor_release(gpu, &t.scale);
    rmsnorm_webgpu_tensor_release(gpu, &t.y);
    assert_int_equal(scopes, 0);
    return status;
}

/* Puts a variant into the table that the planner would not take by itself. */
static void tune(const rmsnorm_package *package, const rmsnorm_request *request)
{
    static char other[64];
    rmsnorm_tuning *table;
    rmsnorm_tuning_choice choice = {.tunable_count = 0};
    char request_class[192];
    rmsnorm_plan *plan;
    gpu_must(rmsnorm_plan_make(package, request, &plan));
    (void)snprintf(other, sizeof other, "%s", strcmp(plan->variant, "rows") == 0 ? "splitk" : "rows");
    rmsnorm_plan_release(plan);
    (void)snprintf(choice.variant, sizeof choice.variant, "%s", other);
    gpu_must(rmsnorm_tuning_class(package, request, request_class, sizeof request_class));
    gpu_must(rmsnorm_tuning_open(path, &table));
    gpu_must(rmsnorm_tuning_put(table, &complete, request_class, &choice));
    gpu_must(rmsnorm_tuning_save(table));
    rmsnorm_tuning_close(table);
    tuned = other;
}

static rmsnorm_package *package;
static rmsnorm_request to_classify;
static rmsnorm_tuning *table;

static rmsnorm_status classify(void)
{
    char request_class[192];
    assert_string_equal(rmsnorm_tuning_path(table), path);
    return rmsnorm_tuning_class(package, &to_classify, request_class, sizeof request_class);
}

static void test_tensors_of_an_open_device(void **state)
{
    (void)state;
    const rmsnorm_tensor x = {.dtype = F32, .rank = 2, .dims = {ROWS, WIDTH}};
    const rmsnorm_tensor scale = {.dtype = F32, .rank = 1, .dims = {WIDTH}};
    const rmsnorm_operator *const op = rmsnorm_operator_at(0);
    gpu_must(rmsnorm_package_open_operator(op->domain, op->name, &package));
    to_classify = (rmsnorm_request)RMSNORM_REQUEST_INIT;
    to_classify.inputs[0] = &x;
    to_classify.inputs[1] = &scale;
    to_classify.device = &complete.profile;
    tune(package, &to_classify);
    gpu_must(rmsnorm_tuning_open(path, &table));
    memory_none("the class of a request", classify);
    rmsnorm_tuning_close(table);
    rmsnorm_package_close(package);
    const rmsnorm_webgpu_options options = counted(path);
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    memory_none("names", name_things);
    gpu_must(use_tensors()); /* what the device keeps is made */
    memory_sweep("tensors on a device", use_tensors, 0, 20);
    rmsnorm_webgpu_close(gpu);
    (void)unlink(path);
}

/* ---- Tuning ---------------------------------------------------------------------------------- */

static rmsnorm_status use_tuning(void)
{
    rmsnorm_tuning *tuning = UNTOUCHED;
    rmsnorm_adapter adapter = {.name = "a", .driver = "b"};
    rmsnorm_tuning_choice choice = {.variant = "rows", .tunables = {{"WORKGROUP", 64}}, .tunable_count = 1};
    rmsnorm_status status = rmsnorm_tuning_open(path, &tuning);
    if (status != RMSNORM_OK) {
        assert_no_handle(tuning);
        return status;
    }
    status = rmsnorm_tuning_put(tuning, &adapter, "class", &choice);
    if (status == RMSNORM_OK) {
        assert_true(rmsnorm_tuning_find(tuning, &adapter, "class", &choice));
        status = rmsnorm_tuning_save(tuning);
    }
    rmsnorm_tuning_close(tuning);
    return status;
}

static void test_devices(void **state)
{
    (void)state;
    const rmsnorm_webgpu_options options = counted("");
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    rmsnorm_webgpu_describe(gpu, &complete);
    memory_sweep("a device of the caller's", adopt_device, 0, 3);
    rmsnorm_webgpu_close(gpu);
    memory_sweep("a device", open_device, 0, 3);
    memory_sweep("adapters", list_adapters, 0, 3);
    memory_sweep("a run", open_and_run, BIT(RMSNORM_MALFORMED), 10);
}

static void test_tuning(void **state)
{
    (void)state;
    memory_sweep("tuning", use_tuning, BIT(RMSNORM_MALFORMED), 5);
    (void)unlink(path);
}

int main(void)
{
    memory_begin(40);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_tensors_of_an_open_device),
        cmocka_unit_test(test_runs_of_an_open_device),
    };
    return cmocka_run_group_tests(tests, load_library, NULL);
}
