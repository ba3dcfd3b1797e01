#include "custom_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "provider.h"

typedef struct custom_kernel {
    plugin_kernel kernel;
    OrtOp *other; /* the runtime's own, for what the contract refuses; NULL: not needed */
} custom_kernel;

/* Refuses types that the contract does not take, and results of other types than it gives: memory is made by what the runtime has
 * inferred, and it infers that statistics are float. */
static OrtStatus *check_types(const plugin_kernel *kernel, const OrtKernelInfo *info)
{
    rmsnorm_tensor tensors[2][PLUGIN_SLOTS] = {0};
    const rmsnorm_tensor *inputs[PLUGIN_SLOTS] = {NULL};
    rmsnorm_tensor *outputs[PLUGIN_SLOTS] = {NULL};
    for (size_t i = 0; i < kernel->input_count; i++) {
        tensors[0][i] = (rmsnorm_tensor){.dtype = kernel->types[i], .rank = RMSNORM_UNKNOWN};
        inputs[i] = kernel->types[i] != RMSNORM_UNDEFINED ? &tensors[0][i] : NULL;
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        outputs[i] = i == 0 || kernel->outputs[i] != PLUGIN_OMITTED ? &tensors[1][i] : NULL;
    }
    const rmsnorm_status status = rmsnorm_infer(kernel->op, &kernel->attributes, inputs, kernel->input_count, outputs,
                                                kernel->output_count, NULL);
    if (status != RMSNORM_OK) {
        return plugin_kernel_refuse(kernel, status);
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        rmsnorm_dtype dtype;
        if (kernel->outputs[i] != PLUGIN_OMITTED && plugin_kernel_type(kernel->api, info, true, i, &dtype) &&
            dtype != tensors[1][i].dtype) {
            return plugin_fail(kernel->api, ORT_INVALID_ARGUMENT,
                               "node \"%s\": %s: the model or ONNX Runtime says that %s is %s; it is %s", kernel->name,
                               kernel->op->name, kernel->op->outputs[i].name, rmsnorm_dtype_name(dtype),
                               rmsnorm_dtype_name(tensors[1][i].dtype));
        }
    }
    return NULL;
}

enum { MOST_ATTRIBUTES = 8 };

/* The node's attributes as they stand, whether or not the contract takes them; defaults too: a kernel without a schema has none. */
static size_t copy_attributes(const plugin_kernel *kernel, const OrtKernelInfo *info,
                              OrtOpAttr *copies[MOST_ATTRIBUTES])
{
    const OrtApi *const api = kernel->api;
    size_t count = 0;
    for (size_t i = 0; i < kernel->op->attribute_count && count < MOST_ATTRIBUTES; i++) {
        const rmsnorm_attribute *const attribute = &kernel->op->attributes[i];
        const bool is_int = attribute->kind == RMSNORM_ATTRIBUTE_INT;
        rmsnorm_node_attribute value = {.i = attribute->default_int, .f = attribute->default_float};
        (void)plugin_attribute_of_kernel(api, info, attribute->name, &value);
        const void *const data = is_int ? (const void *)&value.i : (const void *)&value.f;
        count += plugin_passed(api, api->CreateOpAttr(attribute->name, data, 1,
                                                      is_int ? ORT_OP_ATTR_INT : ORT_OP_ATTR_FLOAT, &copies[count]));
    }
    return count;
}

/* The runtime's own kernel; NULL where it has none for these types. */
static OrtOp *find_other(const plugin_kernel *kernel, const OrtKernelInfo *info)
{
    const OrtApi *const api = kernel->api;
    const rmsnorm_operator *const op = kernel->op;
    const char *names[] = {op->inputs[0].type, op->inputs[1].type};
    ONNXTensorElementDataType types[2];
    OrtOpAttr *attributes[MOST_ATTRIBUTES];
    OrtOp *other = NULL;
    size_t inputs, outputs;
    for (size_t i = 0; i < 2; i++) {
        rmsnorm_dtype dtype;
        if (!plugin_kernel_type(api, info, false, i, &dtype)) {
            return NULL;
        }
        types[i] = (ONNXTensorElementDataType)dtype;
    }
    if (!plugin_passed(api, api->KernelInfo_GetInputCount(info, &inputs)) ||
        !plugin_passed(api, api->KernelInfo_GetOutputCount(info, &outputs))) {
        return NULL;
    }
    const size_t count = copy_attributes(kernel, info, attributes);
    if (!plugin_passed(api, api->CreateOp(info, op->name, op->domain, op->since_version, names, types,
                                          strcmp(names[0], names[1]) == 0 ? 1 : 2, (const OrtOpAttr *const *)attributes,
                                          (int)count, (int)inputs, (int)outputs, &other))) {
        other = NULL;
    }
    for (size_t i = 0; i < count; i++) {
        api->ReleaseOpAttr(attributes[i]);
    }
    return other;
}

/* Those of the session's provider, for nodes that it has. */
static OrtStatus *find_options(const plugin_custom_op *custom, const OrtKernelInfo *info, plugin_options *options)
{
    const OrtEp *provider;
    *options = plugin_options_default();
    if (custom->provider != NULL) {
        PLUGIN_TRY(custom->runtime->newer->kernel_provider(info, &provider));
        *options = ((const plugin_provider *)provider)->options;
    }
    return plugin_options_check(custom->runtime->api, options);
}

static OrtStatus *make(custom_kernel *kernel, const OrtKernelInfo *info)
{
    const rmsnorm_status status = plugin_kernel_read(&kernel->kernel, info);
    if (status == RMSNORM_UNSUPPORTED) {
        kernel->other = find_other(&kernel->kernel, info);
    }
    if (status != RMSNORM_OK && kernel->other == NULL) {
        return plugin_kernel_refuse(&kernel->kernel, status);
    }
    PLUGIN_TRY(plugin_kernel_read_slots(&kernel->kernel, info));
    return check_types(&kernel->kernel, info);
}

OrtStatus *ORT_API_CALL plugin_custom_create(const OrtCustomOp *self, const OrtApi *api, const OrtKernelInfo *info,
                                             void **made)
{
    const plugin_custom_op *const custom = (const plugin_custom_op *)self;
    plugin_options options;
    PLUGIN_TRY(find_options(custom, info, &options));
    custom_kernel *const kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return plugin_fail(api, ORT_FAIL, "rmsnorm: no memory is left");
    }
    plugin_kernel_init(&kernel->kernel, custom->runtime, &options, custom->op);
    OrtStatus *const status = make(kernel, info);
    if (status != NULL) {
        plugin_custom_destroy(kernel);
        return status;
    }
    *made = kernel;
    return NULL;
}

OrtStatus *ORT_API_CALL plugin_custom_compute(void *self, OrtKernelContext *context)
{
    const custom_kernel *const kernel = self;
    return kernel->other != NULL ? plugin_kernel_invoke(&kernel->kernel, context, kernel->other)
                                 : plugin_kernel_run(&kernel->kernel, context);
}

void ORT_API_CALL plugin_custom_destroy(void *self)
{
    custom_kernel *const kernel = self;
    if (kernel->other != NULL) {
        kernel->kernel.api->ReleaseOp(kernel->other);
    }
    free(kernel);
}
