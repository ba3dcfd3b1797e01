#include "call.h"

#include <string.h>

/* Below it the runtime's pool takes longer to wake than the work: 32 rows of 4096. */
enum { PARALLEL_FROM = 131072 };

static void begin(plugin_call *c, const plugin_kernel *kernel, OrtKernelContext *context)
{
    c->kernel = kernel;
    c->context = context;
    memset(c->slots, 0, sizeof c->slots);
}

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

static OrtStatus *read_input(plugin_call *c, size_t slot)
{
    static const double nothing; /* where a tensor without elements points to */
    const OrtApi *const api = c->kernel->api;
    rmsnorm_tensor *const tensor = &c->tensors[0][slot];
    const OrtValue *value;
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
    tensor->data = data != NULL ? (void *)data : (void *)&nothing;
    tensor->row_stride = 0;
    c->slots[0][slot] = tensor;
    return read_shape(c->kernel, value, tensor);
}

/* Types and shapes of the results. Where the input is as it has to be they follow from it in a few steps; rmsnorm_run checks them
 * all the same. What is not goes through rmsnorm_infer, for its sentence. */
static rmsnorm_status shape_outputs(plugin_call *c)
{
    const plugin_kernel *const kernel = c->kernel;
    const bool skip = kernel->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const rmsnorm_tensor *const input = c->slots[0][0], *const scale = c->slots[0][1];
    int64_t axis = skip ? -1 : kernel->attributes.axis;
    axis += input != NULL && axis < 0 ? input->rank : 0;
    if (input == NULL || scale == NULL || axis < 0 || axis >= input->rank) {
        for (size_t i = 0; i < kernel->output_count; i++) {
            c->tensors[1][i] = (rmsnorm_tensor){0};
        }
        return rmsnorm_infer(kernel->op, &kernel->attributes, (const rmsnorm_tensor *const *)c->slots[0],
                             kernel->input_count, c->slots[1], kernel->output_count, NULL);
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        rmsnorm_tensor *const output = &c->tensors[1][i];
        const bool statistic = skip ? i == 1 || i == 2 : i == 1;
        output->dtype = !statistic                                                 ? scale->dtype
                        : !skip && kernel->attributes.stash_type == RMSNORM_DOUBLE ? RMSNORM_DOUBLE
                                                                                   : RMSNORM_FLOAT;
        output->rank = input->rank;
        for (int32_t d = 0; d < input->rank; d++) {
            output->dims[d] = statistic && d >= axis ? 1 : input->dims[d];
        }
        output->data = NULL;
        output->row_stride = 0;
    }
    return RMSNORM_OK;
}

OrtStatus *plugin_call_output(plugin_call *c, size_t slot)
{
    const OrtApi *const api = c->kernel->api;
    rmsnorm_tensor *const tensor = &c->tensors[1][slot];
    OrtValue *value;
    PLUGIN_TRY(
        api->KernelContext_GetOutput(c->context, c->kernel->outputs[slot], tensor->dims, (size_t)tensor->rank, &value));
    return value != NULL ? api->GetTensorMutableData(value, &tensor->data) : NULL;
}

/* The runtime's pool as a runner. It refuses before it has begun, or not at all. */
static void run_parallel(void *user, rmsnorm_task task, void *job, size_t count)
{
    const plugin_call *const c = user;
    if (!plugin_passed(c->kernel->api, c->kernel->api->KernelContext_ParallelFor(c->context, task, count, 0, job))) {
        for (size_t i = 0; i < count; i++) {
            task(job, i);
        }
    }
}

rmsnorm_options plugin_call_options(plugin_call *c)
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

/* What the context holds. */
static OrtStatus *read_context(plugin_call *c)
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
    return NULL;
}

static OrtStatus *make_outputs(plugin_call *c)
{
    const plugin_kernel *const kernel = c->kernel;
    const rmsnorm_status status = shape_outputs(c);
    if (status != RMSNORM_OK) {
        return plugin_kernel_refuse(kernel, status);
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        if (c->slots[1][i] != NULL) {
            PLUGIN_TRY(plugin_call_output(c, i));
        }
    }
    return NULL;
}

static bool is_float(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT || dtype == RMSNORM_FLOAT16 || dtype == RMSNORM_BFLOAT16;
}

static bool is_row(const rmsnorm_tensor *tensor, int64_t size)
{
    return tensor == NULL || (tensor->rank == 1 && tensor->dims[0] == size);
}

/* And the slot of inv_std_var among the results. */
static size_t gamma_slot(const plugin_call *c)
{
    return c->kernel->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION ? 2 : 1;
}

/* Whether the inputs are those of the usual call: last axis, one gamma, nothing to broadcast, statistics in float. */
static bool is_usual(const plugin_call *c)
{
    const bool skip = gamma_slot(c) == 2;
    const plugin_kernel *const kernel = c->kernel;
    const rmsnorm_tensor *const input = c->slots[0][0], *const added = skip ? c->slots[0][1] : NULL;
    const rmsnorm_tensor *const gamma = c->slots[0][gamma_slot(c)], *const bias = skip ? c->slots[0][3] : NULL;
    if (input == NULL || gamma == NULL || (skip && added == NULL) || input->rank < 1 || !is_float(input->dtype) ||
        !is_float(gamma->dtype) || kernel->attributes.stash_type != RMSNORM_FLOAT) {
        return false;
    }
    const int64_t size = input->dims[input->rank - 1];
    const bool last = skip || kernel->attributes.axis == -1 || kernel->attributes.axis == input->rank - 1;
    const bool same = !skip || (added->rank == input->rank && added->dtype == input->dtype &&
                                gamma->dtype == input->dtype && (bias == NULL || bias->dtype == input->dtype) &&
                                memcmp(added->dims, input->dims, (size_t)input->rank * sizeof input->dims[0]) == 0);
    return last && same && is_row(gamma, size) && is_row(bias, size) && size > 0 &&
           (!skip || input->rank == 2 || input->rank == 3);
}

/* Whether a fused node gets inputs that the contract takes, as the names of their dims said when it was claimed. */
static bool is_as_claimed(plugin_call *c)
{
    const plugin_kernel *const kernel = c->kernel;
    rmsnorm_tensor results[PLUGIN_SLOTS] = {0};
    rmsnorm_tensor *outputs[PLUGIN_SLOTS];
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        outputs[i] = c->slots[1][i] != NULL ? &results[i] : NULL;
    }
    return rmsnorm_infer(kernel->op, &kernel->attributes, (const rmsnorm_tensor *const *)c->slots[0],
                         kernel->input_count, outputs, kernel->output_count, NULL) == RMSNORM_OK;
}

/* Where a tensor lies: nowhere, if it is omitted or has no elements. */
typedef struct range {
    uintptr_t begin, end;
} range;

static range range_of(const rmsnorm_tensor *tensor)
{
    const size_t size = tensor != NULL ? (size_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype) : 0;
    const uintptr_t begin = size != 0 ? (uintptr_t)tensor->data : 0;
    return (range){begin, begin + size};
}

static bool meet(range a, range b)
{
    return a.begin < b.end && b.begin < a.end;
}

bool plugin_call_is_apart(const plugin_call *c, bool in_place)
{
    range ranges[2][PLUGIN_SLOTS];
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        ranges[0][i] = range_of(c->slots[0][i]);
        ranges[1][i] = range_of(c->slots[1][i]);
    }
    for (size_t o = 0; o < PLUGIN_SLOTS; o++) {
        const range output = ranges[1][o];
        for (size_t i = 0; output.end != 0 && i < PLUGIN_SLOTS; i++) {
            const range input = ranges[0][i];
            const bool same = in_place && i < gamma_slot(c) && output.begin == input.begin && output.end == input.end &&
                              c->slots[1][o]->dtype == c->slots[0][i]->dtype;
            if ((meet(output, input) && !same) || (i < o && meet(output, ranges[1][i]))) {
                return false;
            }
        }
    }
    return true;
}

/* The usual call while it is small, which takes less time than the checks of rmsnorm_run. What else the contract wants was seen
 * when the node was taken. */
static bool describe_rows(const plugin_call *c, rmsnorm_rows *rows)
{
    const plugin_kernel *const kernel = c->kernel;
    const size_t slot = gamma_slot(c);
    const bool skip = slot == 2;
    const rmsnorm_tensor *const input = c->slots[0][0], *const gamma = c->slots[0][slot];
    const rmsnorm_tensor *const *const outputs = (const rmsnorm_tensor *const *)c->slots[1];
    const int64_t count = rmsnorm_tensor_count(input), size = input->dims[input->rank - 1];
    if (count < 1 || count >= PARALLEL_FROM || outputs[0] == NULL || outputs[0]->data == NULL ||
        (skip && outputs[1] != NULL) || !plugin_call_is_apart(c, true)) { /* the mean is no matter of rows */
        return false;
    }
    *rows = (rmsnorm_rows){
        .rows = count / size,
        .hidden_size = size,
        .dtype = input->dtype,
        .gamma_dtype = gamma->dtype,
        .stash_dtype = RMSNORM_FLOAT,
        .rounding = kernel->op->kind == RMSNORM_RMS_NORMALIZATION ? RMSNORM_ROUND_TWICE : RMSNORM_ROUND_ONCE,
        .epsilon = kernel->attributes.epsilon,
        .input = input->data,
        .input_stride = size,
        .skip = skip ? c->slots[0][1]->data : NULL,
        .skip_stride = size,
        .skip_rows = count / size,
        .bias = skip && c->slots[0][3] != NULL ? c->slots[0][3]->data : NULL,
        .gamma = gamma->data,
        .output = outputs[0]->data,
        .output_stride = size,
        .sum = skip && outputs[3] != NULL ? outputs[3]->data : NULL,
        .sum_stride = size,
        .inv_std_var = outputs[slot] != NULL ? outputs[slot]->data : NULL,
    };
    return true;
}

OrtStatus *plugin_kernel_run(const plugin_kernel *kernel, OrtKernelContext *context)
{
    plugin_call c;
    rmsnorm_rows rows;
    begin(&c, kernel, context);
    PLUGIN_TRY(read_context(&c));
    const bool usual = is_usual(&c);
    if (kernel->fused && !usual && !is_as_claimed(&c)) {
        return plugin_call_spread(&c);
    }
    PLUGIN_TRY(make_outputs(&c));
    if (usual && describe_rows(&c, &rows)) {
        rmsnorm_rows_run(&rows, 0, rows.rows, kernel->options.isa);
        return NULL;
    }
    const rmsnorm_options options = plugin_call_options(&c);
    const rmsnorm_status status =
        rmsnorm_run(kernel->op, &kernel->attributes, (const rmsnorm_tensor *const *)c.slots[0], kernel->input_count,
                    c.slots[1], kernel->output_count, &options);
    return status == RMSNORM_OK ? NULL : plugin_kernel_refuse(kernel, status);
}

OrtStatus *plugin_kernel_invoke(const plugin_kernel *kernel, OrtKernelContext *context, const OrtOp *other)
{
    plugin_call c;
    begin(&c, kernel, context);
    PLUGIN_TRY(read_context(&c));
    PLUGIN_TRY(make_outputs(&c));
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
