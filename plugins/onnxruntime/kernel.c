#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Below it the runtime's pool takes longer to wake than the work: 32 rows of 4096. */
enum { PARALLEL_FROM = 131072 };

plugin_options plugin_options_default(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (plugin_options){.threads = cores > 0 ? (size_t)cores : 1,
                            .isa = RMSNORM_ISA_AUTO,
                            .fuse = true,
                            .level = ORT_LOGGING_LEVEL_INFO};
}

void plugin_kernel_init(plugin_kernel *kernel, const OrtApi *api, const plugin_options *options,
                        const rmsnorm_operator *op)
{
    memset(kernel, 0, sizeof *kernel);
    kernel->api = api;
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
        free(kernel->constants[i].data);
    }
}

OrtStatus *plugin_kernel_refuse(const plugin_kernel *kernel, rmsnorm_status status)
{
    return plugin_fail(kernel->api, plugin_code(status), "node \"%s\": %s", kernel->name, rmsnorm_last_error());
}

/* ---- From the runtime's node ----------------------------------------------------------------- */

/* Takes a status that only says that something is not there. */
static bool got(const OrtApi *api, OrtStatus *status)
{
    if (status != NULL) {
        api->ReleaseStatus(status);
    }
    return status == NULL;
}

OrtStatus *plugin_kernel_read(plugin_kernel *kernel, const OrtKernelInfo *info)
{
    const OrtApi *const api = kernel->api;
    OrtStatus *refusal = NULL;
    size_t size = sizeof kernel->name;
    if (!got(api, api->KernelInfo_GetNodeName(info, kernel->name, &size))) {
        kernel->name[0] = '\0';
    }
    for (size_t i = 0; i < kernel->op->attribute_count; i++) {
        const rmsnorm_attribute *const attribute = &kernel->op->attributes[i];
        const bool is_int = attribute->kind == RMSNORM_ATTRIBUTE_INT;
        int64_t whole;
        float real;
        rmsnorm_status status = RMSNORM_OK;
        if (is_int && got(api, api->KernelInfoGetAttribute_int64(info, attribute->name, &whole))) {
            status = rmsnorm_attributes_set_int(kernel->op, &kernel->attributes, attribute->name, whole);
        } else if (!is_int && got(api, api->KernelInfoGetAttribute_float(info, attribute->name, &real))) {
            status = rmsnorm_attributes_set_float(kernel->op, &kernel->attributes, attribute->name, real);
        }
        if (status != RMSNORM_OK && refusal == NULL) {
            refusal = plugin_kernel_refuse(kernel, status);
        }
    }
    return refusal;
}

/* ---- A run ----------------------------------------------------------------------------------- */

typedef struct call {
    const plugin_kernel *kernel;
    OrtKernelContext *context;
    rmsnorm_tensor tensors[2][PLUGIN_SLOTS]; /* inputs, outputs */
    rmsnorm_tensor *slots[2][PLUGIN_SLOTS];
} call;

static OrtStatus *read_shape(const OrtApi *api, const plugin_kernel *kernel, const OrtTensorTypeAndShapeInfo *info,
                             rmsnorm_tensor *tensor)
{
    enum ONNXTensorElementDataType type;
    size_t rank;
    PLUGIN_TRY(api->GetTensorElementType(info, &type));
    PLUGIN_TRY(api->GetDimensionsCount(info, &rank));
    if (rank > RMSNORM_MAX_RANK) {
        return plugin_fail(api, ORT_INVALID_ARGUMENT, "node \"%s\": %s: a tensor has %zu dims; at most %d are taken",
                           kernel->name, kernel->op->name, rank, RMSNORM_MAX_RANK);
    }
    tensor->dtype = (rmsnorm_dtype)type; /* the runtime counts the types of its enum as ONNX does */
    tensor->rank = (int32_t)rank;
    return api->GetDimensions(info, tensor->dims, rank);
}

static OrtStatus *read_input(call *c, size_t slot)
{
    static const double nothing; /* where a tensor without elements points to */
    const OrtApi *const api = c->kernel->api;
    rmsnorm_tensor *const tensor = &c->tensors[0][slot];
    const OrtValue *value;
    OrtTensorTypeAndShapeInfo *info;
    if (c->kernel->inputs[slot] == PLUGIN_OMITTED) {
        *tensor = c->kernel->constants[slot];
        c->slots[0][slot] = tensor->data != NULL ? tensor : NULL;
        return NULL;
    }
    PLUGIN_TRY(api->KernelContext_GetInput(c->context, c->kernel->inputs[slot], &value));
    if (value == NULL) {
        return NULL;
    }
    const void *data;
    PLUGIN_TRY(api->GetTensorData(value, &data));
    PLUGIN_TRY(api->GetTensorTypeAndShape(value, &info));
    OrtStatus *const status = read_shape(api, c->kernel, info, tensor);
    api->ReleaseTensorTypeAndShapeInfo(info);
    tensor->data = data != NULL ? (void *)data : (void *)&nothing;
    c->slots[0][slot] = tensor;
    return status;
}

static OrtStatus *make_output(call *c, size_t slot)
{
    const OrtApi *const api = c->kernel->api;
    rmsnorm_tensor *const tensor = &c->tensors[1][slot];
    OrtValue *value;
    PLUGIN_TRY(api->KernelContext_GetOutput(c->context, c->kernel->outputs[slot], tensor->dims, (size_t)tensor->rank,
                                            &value));
    return value != NULL ? api->GetTensorMutableData(value, &tensor->data) : NULL;
}

/* The runtime's pool as a runner. It refuses before it has begun, or not at all. */
static void run_parallel(void *user, rmsnorm_task task, void *job, size_t count)
{
    const call *const c = user;
    if (!got(c->kernel->api, c->kernel->api->KernelContext_ParallelFor(c->context, task, count, 0, job))) {
        for (size_t i = 0; i < count; i++) {
            task(job, i);
        }
    }
}

static rmsnorm_options options_of(call *c)
{
    rmsnorm_options options = RMSNORM_OPTIONS_INIT;
    const plugin_options *const chosen = &c->kernel->options;
    options.max_isa = chosen->isa;
    options.outputs_read_soon = false;
    if (chosen->threads > 1 && c->slots[0][0] != NULL && rmsnorm_tensor_count(c->slots[0][0]) >= PARALLEL_FROM) {
        options.runner = (rmsnorm_runner){run_parallel, c, chosen->threads};
    }
    return options;
}

/* What the context holds, and memory for the results: all checks of shapes stand before it. */
static OrtStatus *prepare(call *c)
{
    const plugin_kernel *const kernel = c->kernel;
    size_t given, wanted;
    PLUGIN_TRY(kernel->api->KernelContext_GetInputCount(c->context, &given));
    PLUGIN_TRY(kernel->api->KernelContext_GetOutputCount(c->context, &wanted));
    for (size_t i = 0; i < kernel->input_count; i++) {
        if (kernel->inputs[i] == PLUGIN_OMITTED || kernel->inputs[i] < given) {
            PLUGIN_TRY(read_input(c, i));
        }
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        c->slots[1][i] = kernel->outputs[i] < wanted ? &c->tensors[1][i] : NULL;
    }
    const rmsnorm_status status =
        rmsnorm_infer(kernel->op, &kernel->attributes, (const rmsnorm_tensor *const *)c->slots[0],
                      kernel->input_count, c->slots[1], kernel->output_count, NULL);
    if (status != RMSNORM_OK) {
        return plugin_kernel_refuse(kernel, status);
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        if (c->slots[1][i] != NULL) {
            PLUGIN_TRY(make_output(c, i));
        }
    }
    return NULL;
}

OrtStatus *plugin_kernel_run(const plugin_kernel *kernel, OrtKernelContext *context)
{
    call c = {.kernel = kernel, .context = context};
    PLUGIN_TRY(prepare(&c));
    const rmsnorm_options options = options_of(&c);
    const rmsnorm_status status =
        rmsnorm_run(kernel->op, &kernel->attributes, (const rmsnorm_tensor *const *)c.slots[0], kernel->input_count,
                    c.slots[1], kernel->output_count, &options);
    return status == RMSNORM_OK ? NULL : plugin_kernel_refuse(kernel, status);
}

OrtStatus *plugin_kernel_invoke(const plugin_kernel *kernel, OrtKernelContext *context, const OrtOp *other)
{
    call c = {.kernel = kernel, .context = context};
    PLUGIN_TRY(prepare(&c));
    const OrtValue *inputs[PLUGIN_SLOTS] = {NULL};
    OrtValue *outputs[PLUGIN_SLOTS] = {NULL};
    size_t input_count = 0, output_count = 0;
    for (size_t i = 0; i < kernel->input_count; i++) {
        if (c.slots[0][i] != NULL) {
            PLUGIN_TRY(kernel->api->KernelContext_GetInput(context, kernel->inputs[i], &inputs[i]));
            input_count = i + 1;
        }
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        const rmsnorm_tensor *const tensor = &c.tensors[1][i];
        if (c.slots[1][i] != NULL) {
            PLUGIN_TRY(kernel->api->KernelContext_GetOutput(context, kernel->outputs[i], tensor->dims,
                                                            (size_t)tensor->rank, &outputs[i]));
            output_count = i + 1;
        }
    }
    return kernel->api->InvokeOp(context, other, inputs, (int)input_count, outputs, (int)output_count);
}
