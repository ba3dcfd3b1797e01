#include <string.h>

#include "operator/call.h"
#include "operator/error.h"

static const char *const device_names[RMSNORM_DEVICE_COUNT] = {"CPU", "WebGPU"};

rmsnorm_status rmsnorm_peak_memory(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                   const rmsnorm_tensor *const *inputs, size_t input_count,
                                   rmsnorm_tensor *const *outputs, size_t output_count, rmsnorm_device device,
                                   rmsnorm_memory *memory)
{
    rmsnorm_call call;
    RMSNORM_TRY(rmsnorm_call_check(&call, op, attributes, inputs, input_count, outputs, output_count, false, NULL));
    RMSNORM_CHECK(memory != NULL, RMSNORM_INVALID_ARGUMENT, "%s: peak memory: the result is NULL", op->name);
    RMSNORM_CHECK((unsigned)device < RMSNORM_DEVICE_COUNT, RMSNORM_INVALID_ARGUMENT,
                  "%s: peak memory: the device is number %d; allowed: 0 (%s) and 1 (%s)", op->name, (int)device,
                  device_names[RMSNORM_DEVICE_CPU], device_names[RMSNORM_DEVICE_WEBGPU]);
    RMSNORM_CHECK(op->support[device].peak_memory, RMSNORM_NOT_BUILT,
                  "%s: peak memory: this build is without %s; available: %s", op->name, device_names[device],
                  device_names[RMSNORM_DEVICE_CPU]);
    memory->bytes = 0;
    strcpy(memory->expression, "0");
    return RMSNORM_OK;
}
