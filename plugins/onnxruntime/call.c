#include "call.h"

#include <string.h>

/* Below it the runtime's pool takes longer to wake than the work: 32 rows of 4096. */
enum { PARALLEL_FROM = 131072 };

static void begin(plugin_call *c, const plugin_kernel *kernel, OrtKernelContext *context)
{
    c->kernel = kernel;
    c->context = context;
    memset(c->inputs, 0, sizeof c->inputs);
    memset(c->outputs, 0, sizeof c->outputs);
}

static OrtStatus *read_input(plugin_call *c, size_t slot)
{
    const plugin_kernel *const kernel = c->kernel;
    rmsnorm_tensor *const tensor = &c->tensors[0][slot];
    const OrtValue *value;
    if (kernel->inputs[slot] == PLUGIN_CONSTANT) {
        c->inputs[slot] = &kernel->constants[slot];
        return NULL;
    }
    if (kernel->inputs[slot] == PLUGIN_OMITTED) {
        return NULL;
    }
    PLUGIN_TRY(kernel->api->KernelContext_GetInput(c->context, kernel->inputs[slot], &value));
    if (value == NULL) {
        return NULL;
    }
    c->inputs[slot] = tensor;
    return plugin_tensor_read(kernel, slot, value, tensor);
}

/* Types and shapes of the results. Where the input is as it has to be they follow from it in a few steps; rmsnorm_run checks them
 * all the same. What is not goes through rmsnorm_infer, for its sentence. */
static rmsnorm_status shape_outputs(plugin_call *c)
{
    const plugin_kernel *const kernel = c->kernel;
    const bool skip = kernel->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const rmsnorm_tensor *const input = c->inputs[0], *const scale = c->inputs[1];
    int64_t axis = skip ? -1 : kernel->attributes.axis;
    axis += input != NULL && axis < 0 ? input->rank : 0;
    if (input == NULL || scale == NULL || axis < 0 || axis >= input->rank) {
        for (size_t i = 0; i < kernel->output_count; i++) {
            c->tensors[1][i] = (rmsnorm_tensor){0};
        }
        return rmsnorm_infer(kernel->op, &kernel->attributes, c->inputs, kernel->input_count, c->outputs,
                             kernel->output_count, NULL);
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        rmsnorm_tensor *const output = c->outputs[i];
        if (output == NULL) {
            continue;
        }
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
    if (value == NULL) {
        c->outputs[slot] = NULL;
        return NULL;
    }
    return api->GetTensorMutableData(value, &tensor->data);
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
    if (chosen->threads > 1 && c->inputs[0] != NULL && rmsnorm_tensor_count(c->inputs[0]) >= PARALLEL_FROM) {
        options.runner = (rmsnorm_runner){run_parallel, c, chosen->threads};
    }
    return options;
}

/* What the context holds. */
static OrtStatus *read_context(plugin_call *c)
{
    const plugin_kernel *const kernel = c->kernel;
    for (size_t i = 0; i < kernel->input_count; i++) {
        PLUGIN_TRY(read_input(c, i));
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        c->outputs[i] = kernel->outputs[i] != PLUGIN_OMITTED ? &c->tensors[1][i] : NULL;
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
        if (c->outputs[i] != NULL) {
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
    const rmsnorm_tensor *const input = c->inputs[0], *const added = skip ? c->inputs[1] : NULL;
    const rmsnorm_tensor *const gamma = c->inputs[gamma_slot(c)], *const bias = skip ? c->inputs[3] : NULL;
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
        outputs[i] = c->outputs[i] != NULL ? &results[i] : NULL;
    }
    return rmsnorm_infer(kernel->op, &kernel->attributes, c->inputs, kernel->input_count, outputs, kernel->output_count,
                         NULL) == RMSNORM_OK;
}

/* Where a tensor lies: nowhere, if it is omitted or has no elements. */
typedef struct range {
    uintptr_t begin, end;
} range;

static range range_of(const rmsnorm_tensor *tensor)
{
    if (tensor == NULL) {
        return (range){0, 0};
    }
    size_t size = rmsnorm_dtype_size(tensor->dtype);
    for (int32_t d = 0; d < tensor->rank; d++) {
        size *= (size_t)tensor->dims[d]; /* it is in memory, so this fits */
    }
    const uintptr_t begin = size != 0 ? (uintptr_t)tensor->data : 0;
    return (range){begin, begin + size};
}

static bool meet(range a, range b)
{
    return a.begin < b.end && b.begin < a.end;
}

bool plugin_call_is_apart(const plugin_call *c, bool in_place)
{
    const size_t rows = in_place ? gamma_slot(c) : 0; /* so many inputs may be results too */
    range inputs[PLUGIN_SLOTS], outputs[PLUGIN_SLOTS];
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        inputs[i] = range_of(c->inputs[i]);
    }
    for (size_t o = 0; o < PLUGIN_SLOTS; o++) {
        const range output = outputs[o] = range_of(c->outputs[o]);
        for (size_t i = 0; output.end != 0 && i < PLUGIN_SLOTS; i++) {
            const range input = inputs[i];
            const bool same = i < rows && output.begin == input.begin && output.end == input.end &&
                              c->outputs[o]->dtype == c->inputs[i]->dtype;
            if ((meet(output, input) && !same) || (i < o && meet(output, outputs[i]))) {
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
    const rmsnorm_tensor *const input = c->inputs[0], *const gamma = c->inputs[slot];
    const rmsnorm_tensor *const *const outputs = (const rmsnorm_tensor *const *)c->outputs;
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
        .skip = skip ? c->inputs[1]->data : NULL,
        .skip_stride = size,
        .skip_rows = count / size,
        .bias = skip && c->inputs[3] != NULL ? c->inputs[3]->data : NULL,
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
    const rmsnorm_status status = rmsnorm_run(kernel->op, &kernel->attributes, c.inputs, kernel->input_count, c.outputs,
                                              kernel->output_count, &options);
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
    for (size_t i = 0; i < kernel->input_count; i++) { /* a node as it stands: slots are indices */
        if (c.inputs[i] != NULL) {
            PLUGIN_TRY(kernel->api->KernelContext_GetInput(context, i, &inputs[i]));
            input_count = i + 1;
        }
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        const rmsnorm_tensor *const tensor = &c.tensors[1][i];
        if (c.outputs[i] != NULL) {
            PLUGIN_TRY(
                kernel->api->KernelContext_GetOutput(context, i, tensor->dims, (size_t)tensor->rank, &outputs[i]));
            output_count = i + 1;
        }
    }
    return kernel->api->InvokeOp(context, other, inputs, (int)input_count, outputs, (int)output_count);
}
