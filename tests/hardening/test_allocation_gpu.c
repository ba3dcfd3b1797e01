/* Memory that ends anywhere while a device is opened and runs, and in its table of tuned variants. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hardening/memory.h"
#include "webgpu/support.h"

static rmsnorm_webgpu *gpu;

static rmsnorm_status open_device(void)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *opened = UNTOUCHED;
    options.tuning = "";
    const rmsnorm_status status = rmsnorm_webgpu_open(&options, &opened);
    if (status != RMSNORM_OK) {
        assert_no_handle(opened);
        return status;
    }
    rmsnorm_webgpu_close(opened);
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

static rmsnorm_status use_tuning(void)
{
    static const char path[] = "allocation-tuning.json";
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
    memory_sweep("a device", open_device, 0, 3);
    memory_sweep("a run", open_and_run, BIT(RMSNORM_MALFORMED), 10);
}

static void test_tuning(void **state)
{
    (void)state;
    memory_sweep("tuning", use_tuning, BIT(RMSNORM_MALFORMED) | BIT(RMSNORM_IO), 5);
    (void)unlink("allocation-tuning.json");
}

int main(void)
{
    memory_begin(40);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tuning),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_runs_of_an_open_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
