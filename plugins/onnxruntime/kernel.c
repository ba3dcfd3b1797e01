#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attributes.h"

plugin_options plugin_options_default(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (plugin_options){.threads = cores > 0 ? (size_t)cores : 1,
                            .isa = RMSNORM_ISA_AUTO,
                            .fuse = true,
                            .compile = true,
                            .level = ORT_LOGGING_LEVEL_INFO};
}

OrtStatus *plugin_options_check(const OrtApi *api, const plugin_options *options)
{
    rmsnorm_isa isa;
    const rmsnorm_status status = rmsnorm_isa_in_use(options->isa, &isa);
    return status == RMSNORM_OK ? NULL : plugin_fail(api, plugin_code(status), "rmsnorm: %s", rmsnorm_last_error());
}

void plugin_kernel_init(plugin_kernel *kernel, const plugin_runtime *runtime, const plugin_options *options,
                        const rmsnorm_operator *op)
{
    memset(kernel, 0, sizeof *kernel);
    kernel->api = runtime->api;
    kernel->newer = runtime->newer_api;
    kernel->options = *options;
    kernel->op = op;
    rmsnorm_attributes_init(op, &kernel->attributes);
    kernel->input_count = op->input_count;
    kernel->output_count = op->output_count;
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        kernel->inputs[i] = i < op->input_count ? i : PLUGIN_OMITTED;
        kernel->outputs[i] = i < op->output_count ? i : PLUGIN_OMITTED;
    }
}

void plugin_kernel_finish(plugin_kernel *kernel)
{
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        if (kernel->inputs[i] == PLUGIN_CONSTANT) {
            free(kernel->constants[i].data);
        }
    }
}

OrtStatus *plugin_kernel_refuse(const plugin_kernel *kernel, rmsnorm_status status)
{
    return plugin_fail(kernel->api, plugin_code(status), "node \"%s\": %s", kernel->name, rmsnorm_last_error());
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static OrtStatus *refuse_rank(const plugin_kernel *kernel, size_t rank)
{
    return plugin_fail(kernel->api, ORT_INVALID_ARGUMENT,
                       "node \"%s\": %s: a tensor has %zu dims; at most %d are taken", kernel->name, kernel->op->name,
                       rank, RMSNORM_MAX_RANK);
}

/* By a copy of the shape that the runtime makes. */
static OrtStatus *read_copy(const plugin_kernel *kernel, const OrtTensorTypeAndShapeInfo *info, rmsnorm_tensor *tensor)
{
    enum ONNXTensorElementDataType type;
    size_t rank;
    PLUGIN_TRY(kernel->api->GetTensorElementType(info, &type));
    PLUGIN_TRY(kernel->api->GetDimensionsCount(info, &rank));
    if (rank > RMSNORM_MAX_RANK) {
        return refuse_rank(kernel, rank);
    }
    tensor->dtype = (rmsnorm_dtype)type; /* the runtime counts the types of its enum as ONNX does */
    tensor->rank = (int32_t)rank;
    return kernel->api->GetDimensions(info, tensor->dims, rank);
}

static OrtStatus *read_shape(const plugin_kernel *kernel, const OrtValue *value, rmsnorm_tensor *tensor)
{
    if (kernel->newer == NULL) {
        OrtTensorTypeAndShapeInfo *info;
        PLUGIN_TRY(kernel->api->GetTensorTypeAndShape(value, &info));
        OrtStatus *const status = read_copy(kernel, info, tensor);
        kernel->api->ReleaseTensorTypeAndShapeInfo(info);
        return status;
    }
    enum ONNXTensorElementDataType type;
    const int64_t *dims;
    size_t rank;
    PLUGIN_TRY(kernel->newer->tensor_shape(value, &type, &dims, &rank));
    if (rank > RMSNORM_MAX_RANK) {
        return refuse_rank(kernel, rank);
    }
    tensor->dtype = (rmsnorm_dtype)type;
    tensor->rank = (int32_t)rank;
    for (size_t i = 0; i < rank; i++) {
        tensor->dims[i] = dims[i];
    }
    return NULL;
}

OrtStatus *plugin_tensor_read(const plugin_kernel *kernel, size_t slot, const OrtValue *value, rmsnorm_tensor *tensor)
{
    static const double nothing; /* where a tensor without elements points to */
    const void *data;
    PLUGIN_TRY(kernel->api->GetTensorData(value, &data));
    tensor->data = data != NULL ? (void *)data : (void *)&nothing;
    tensor->row_stride = 0;
    PLUGIN_TRY(read_shape(kernel, value, tensor));
    return kernel->types[slot] == RMSNORM_UNDEFINED || kernel->types[slot] == tensor->dtype
               ? NULL
               : plugin_fail(kernel->api, ORT_INVALID_ARGUMENT,
                             "node \"%s\": %s: %s is %s; the model says that it is %s", kernel->name, kernel->op->name,
                             kernel->op->inputs[slot].name, rmsnorm_dtype_name(tensor->dtype),
                             rmsnorm_dtype_name(kernel->types[slot]));
}

/* ---- From the runtime's node ----------------------------------------------------------------- */

/* A long one is cut. */
static void read_name(plugin_kernel *kernel, const OrtKernelInfo *info)
{
    const OrtApi *const api = kernel->api;
    size_t size = sizeof kernel->name;
    if (plugin_passed(api, api->KernelInfo_GetNodeName(info, kernel->name, &size))) {
        return;
    }
    char *const whole = malloc(size);
    kernel->name[0] = '\0';
    if (whole != NULL && plugin_passed(api, api->KernelInfo_GetNodeName(info, whole, &size))) {
        snprintf(kernel->name, sizeof kernel->name, "%.*s...", (int)sizeof kernel->name - 4, whole);
    }
    free(whole);
}

rmsnorm_status plugin_kernel_read(plugin_kernel *kernel, const OrtKernelInfo *info)
{
    const OrtApi *const api = kernel->api;
    read_name(kernel, info);
    return plugin_attributes_read(api, kernel->op, plugin_attribute_of_kernel, info, &kernel->attributes);
}

bool plugin_kernel_type(const OrtApi *api, const OrtKernelInfo *info, bool output, size_t index, rmsnorm_dtype *dtype)
{
    OrtTypeInfo *type = NULL;
    const OrtTensorTypeAndShapeInfo *tensor = NULL;
    enum ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    if (!plugin_passed(api, output ? api->KernelInfo_GetOutputTypeInfo(info, index, &type)
                                   : api->KernelInfo_GetInputTypeInfo(info, index, &type)) ||
        type == NULL) {
        return false;
    }
    const bool known = plugin_passed(api, api->CastTypeInfoToTensorInfo(type, &tensor)) && tensor != NULL &&
                       plugin_passed(api, api->GetTensorElementType(tensor, &element));
    api->ReleaseTypeInfo(type);
    *dtype = (rmsnorm_dtype)element;
    return known && element != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

static OrtStatus *read_constant(plugin_kernel *kernel, const OrtKernelInfo *info, size_t slot)
{
    const OrtApi *const api = kernel->api;
    int constant = 0;
    const OrtValue *value = NULL;
    if (!plugin_passed(api, api->KernelInfoGetConstantInput_tensor(info, slot, &constant, &value)) || constant == 0) {
        return NULL;
    }
    kernel->inputs[slot] = PLUGIN_CONSTANT;
    return plugin_tensor_read(kernel, slot, value, &kernel->constants[slot]);
}

/* Left out, or left out by an empty name before one that is there. */
static bool has_output(const plugin_kernel *kernel, const OrtKernelInfo *info, size_t slot)
{
    char name[2];
    size_t size = sizeof name;
    OrtStatus *const status = kernel->api->KernelInfo_GetOutputName(info, slot, name, &size);
    return !plugin_passed(kernel->api, status) || name[0] != '\0';
}

OrtStatus *plugin_kernel_read_slots(plugin_kernel *kernel, const OrtKernelInfo *info)
{
    const OrtApi *const api = kernel->api;
    size_t input_count, output_count;
    PLUGIN_TRY(api->KernelInfo_GetInputCount(info, &input_count));
    PLUGIN_TRY(api->KernelInfo_GetOutputCount(info, &output_count));
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        if (i >= input_count) {
            kernel->inputs[i] = PLUGIN_OMITTED;
        } else if (!plugin_kernel_type(api, info, false, i, &kernel->types[i])) {
            kernel->types[i] = RMSNORM_UNDEFINED;
        }
        if (i >= output_count || !has_output(kernel, info, i)) {
            kernel->outputs[i] = PLUGIN_OMITTED;
        }
        if (kernel->inputs[i] != PLUGIN_OMITTED) {
            PLUGIN_TRY(read_constant(kernel, info, i));
        }
    }
    return NULL;
}
