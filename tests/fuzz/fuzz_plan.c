#include <string.h>

#include "fuzz/kernels.h"

enum { INPUTS = 5 };

typedef struct reader {
    const uint8_t *data;
    size_t size;
} reader;

static uint64_t take(reader *from, size_t size)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size && from->size > 0; i++) {
        number = number << 8 | *from->data;
        from->data++;
        from->size--;
    }
    return number;
}

static int64_t take_number(reader *from)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, INT32_MAX, UINT32_MAX, -1, 0, 65535, 65536};
    const uint64_t kind = take(from, 1);
    return kind < 128   ? (int64_t)(kind % 16)
           : kind < 192 ? (int64_t)take(from, 2)
           : kind < 240 ? ends[kind % 8]
                        : (int64_t)take(from, 8);
}

static void take_tensor(reader *from, rmsnorm_tensor *tensor)
{
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16};
    const uint64_t kind = take(from, 1);
    *tensor = (rmsnorm_tensor){.dtype = kind < 224 ? dtypes[kind % 2] : (rmsnorm_dtype)(kind - 224)};
    const uint64_t rank = take(from, 1);
    tensor->rank = rank < 250 ? (int32_t)(rank % 4) : (int32_t)(int8_t)rank;
    for (int32_t i = 0; i < tensor->rank; i++) {
        tensor->dims[i] = take_number(from);
    }
}

static void take_device(reader *from, rmsnorm_device_profile *device)
{
    static const char *const limits[] = {"maxStorageBufferBindingSize",
                                         "maxBufferSize",
                                         "minStorageBufferOffsetAlignment",
                                         "maxStorageBuffersPerShaderStage",
                                         "maxComputeWorkgroupStorageSize",
                                         "maxComputeInvocationsPerWorkgroup",
                                         "maxComputeWorkgroupSizeX",
                                         "maxComputeWorkgroupsPerDimension",
                                         "subgroupMinSize",
                                         "subgroupMaxSize",
                                         "shader-f16",
                                         "subgroups"};
    *device = (rmsnorm_device_profile)RMSNORM_DEVICE_PROFILE_INIT;
    for (uint64_t count = take(from, 1) % 8; count > 0; count--) {
        const char *const name = limits[take(from, 1) % (sizeof limits / sizeof limits[0])];
        (void)rmsnorm_device_profile_set(device, name, (uint64_t)take_number(from));
    }
}

/* A plan stays within the device, and each binding within what it may bind. */
static void check_plan(const rmsnorm_plan *plan, const rmsnorm_device_profile *device)
{
    FUZZ_CHECK(plan->pass_count == 0 || plan->shader_count > 0);
    for (size_t i = 0; i < plan->pass_count; i++) {
        const rmsnorm_pass *const pass = &plan->passes[i];
        FUZZ_CHECK(pass->shader < plan->shader_count);
        for (size_t k = 0; k < 3; k++) {
            FUZZ_CHECK(pass->workgroups[k] >= 1 && pass->workgroups[k] <= device->max_compute_workgroups_per_dimension);
        }
        for (size_t k = 0; k < pass->binding_count; k++) {
            const rmsnorm_binding *const binding = &pass->bindings[k];
            FUZZ_CHECK(binding->size > 0 && binding->size <= device->max_storage_buffer_binding_size);
            FUZZ_CHECK(binding->offset % device->min_storage_buffer_offset_alignment == 0);
            FUZZ_CHECK(binding->size % 4 == 0);
        }
    }
    for (size_t i = 0; i < plan->shader_count; i++) {
        FUZZ_CHECK(strlen(plan->shaders[i].wgsl) == plan->shaders[i].length);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reader from = {data, size};
    const rmsnorm_package *const package = fuzz_kernel(take(&from, 1) % FUZZ_KERNELS);
    static const char *const variants[] = {NULL, NULL, NULL, NULL, "rows", "splitk", "", "no such variant"};
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    rmsnorm_tensor inputs[INPUTS];
    rmsnorm_device_profile device;
    const uint64_t there = take(&from, 1), wanted = take(&from, 1), shared = take(&from, 1);
    for (size_t i = 0; i < INPUTS; i++) {
        take_tensor(&from, &inputs[i]);
        request.inputs[i] = (there >> i & 1) != 0 ? &inputs[i] : NULL;
        request.wanted[i] = (wanted >> i & 1) != 0;
        request.beside_output[i] = (shared >> i & 1) != 0;
        request.in_place[i] = (wanted & 0x40) != 0 ? (int)(int8_t)take(&from, 1) : 0;
    }
    take_device(&from, &device);
    request.device = &device;
    request.batch_invariant = (shared & 0x80) != 0;
    request.variant = variants[take(&from, 1) % 8];
    rmsnorm_attributes attributes = {take_number(&from), 1e-5F, take_number(&from), take_number(&from)};
    request.attributes = (there & 0x80) != 0 ? &attributes : NULL;
    if ((shared & 0x40) != 0) {
        request.tunable_count = 1;
        request.tunables[0] = (rmsnorm_tunable){"WORKGROUP_SIZE", take_number(&from)};
    }
    rmsnorm_plan *plan = NULL;
    const rmsnorm_status status = rmsnorm_plan_make(package, &request, &plan);
    FUZZ_CHECK((status == RMSNORM_OK) == (plan != NULL));
    if (status == RMSNORM_OK) {
        check_plan(plan, &device);
        rmsnorm_plan_release(plan);
    } else {
        FUZZ_CHECK(rmsnorm_last_error()[0] != '\0' && strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL);
    }
    return 0;
}
