#include "custom.h"

#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "custom_kernel.h"

static const plugin_custom_op *custom_of(const OrtCustomOp *op)
{
    return (const plugin_custom_op *)op;
}

/* ---- Schemas --------------------------------------------------------------------------------- */

static bool is_statistic(const rmsnorm_operator *op, size_t output)
{
    return strcmp(op->outputs[output].type, "U") == 0;
}

static const char *ORT_API_CALL get_name(const OrtCustomOp *op)
{
    return custom_of(op)->op->name;
}

static const char *ORT_API_CALL get_provider(const OrtCustomOp *op)
{
    return custom_of(op)->provider;
}

static size_t ORT_API_CALL get_input_count(const OrtCustomOp *op)
{
    return custom_of(op)->op->input_count;
}

static size_t ORT_API_CALL get_output_count(const OrtCustomOp *op)
{
    return custom_of(op)->op->output_count;
}

/* Any type here; what is taken is the contract's business, when a kernel is made. */
static ONNXTensorElementDataType ORT_API_CALL get_input_type(const OrtCustomOp *op, size_t index)
{
    (void)op;
    (void)index;
    return ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

/* Where nothing is said, the runtime gives a result the type of the last input, which is right for all that are no statistics;
 * where it lets `infer` set all of them, that one says what is right. Else the type of statistics stands here, and cannot follow
 * an attribute: float. */
static ONNXTensorElementDataType ORT_API_CALL get_output_type(const OrtCustomOp *op, size_t index)
{
    const plugin_custom_op *const custom = custom_of(op);
    const bool fixed =
        is_statistic(custom->op, index) &&
        (custom->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION || !custom->runtime->checks_outputs);
    return fixed ? ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

static OrtCustomOpInputOutputCharacteristic ORT_API_CALL get_input_kind(const OrtCustomOp *op, size_t index)
{
    return custom_of(op)->op->inputs[index].required ? INPUT_OUTPUT_REQUIRED : INPUT_OUTPUT_OPTIONAL;
}

/* All optional, as the runtime sees it: it wants a required result's type to follow from a single input. */
static OrtCustomOpInputOutputCharacteristic ORT_API_CALL get_output_kind(const OrtCustomOp *op, size_t index)
{
    (void)op;
    (void)index;
    return INPUT_OUTPUT_OPTIONAL;
}

static OrtMemType ORT_API_CALL get_memory(const OrtCustomOp *op, size_t index)
{
    (void)op;
    (void)index;
    return OrtMemTypeDefault;
}

/* Another version than that of the kernels that providers of the runtime have: where the versions are the same, its constant folding
 * and providers for a GPU compare a node's types with a kernel's by names that a custom operator's schema does not have, and the
 * session fails. The one before is in every opset that has the operator. */
static int ORT_API_CALL get_start(const OrtCustomOp *op)
{
    return custom_of(op)->op->since_version - 1;
}

/* The last one the interface can say. */
static int ORT_API_CALL get_end(const OrtCustomOp *op)
{
    (void)op;
    return 0x7fffffff;
}

static int ORT_API_CALL get_arity(const OrtCustomOp *op)
{
    (void)op;
    return 0; /* nothing is variadic */
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* An input that is not there, or of which nothing is known, gives false. */
static bool read_input(const OrtApi *api, const OrtShapeInferContext *context, size_t index, rmsnorm_tensor *tensor)
{
    OrtTensorTypeAndShapeInfo *info = NULL; /* the context's own */
    enum ONNXTensorElementDataType type;
    size_t rank;
    if (!plugin_passed(api, api->ShapeInferContext_GetInputTypeShape(context, index, &info)) || info == NULL ||
        !plugin_passed(api, api->GetTensorElementType(info, &type)) ||
        !plugin_passed(api, api->GetDimensionsCount(info, &rank)) || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
        return false;
    }
    tensor->dtype = (rmsnorm_dtype)type;
    tensor->rank = rank > RMSNORM_MAX_RANK || rank == 0 ? RMSNORM_UNKNOWN : (int32_t)rank;
    if (tensor->rank > 0 && (!plugin_passed(api, api->GetDimensions(info, tensor->dims, rank)) ||
                             !plugin_passed(api, api->GetSymbolicDimensions(info, tensor->dim_names, rank)))) {
        tensor->rank = RMSNORM_UNKNOWN;
    }
    for (int32_t i = 0; i < tensor->rank; i++) {
        tensor->dims[i] = tensor->dims[i] < 0 ? RMSNORM_UNKNOWN : tensor->dims[i];
        if (tensor->dim_names[i] != NULL && tensor->dim_names[i][0] == '\0') {
            tensor->dim_names[i] = NULL;
        }
    }
    return true;
}

static OrtStatus *set_output(const OrtApi *api, OrtShapeInferContext *context, size_t index,
                             const rmsnorm_tensor *tensor)
{
    OrtTensorTypeAndShapeInfo *info;
    const char *names[RMSNORM_MAX_RANK];
    PLUGIN_TRY(api->CreateTensorTypeAndShapeInfo(&info));
    OrtStatus *status = api->SetTensorElementType(info, (ONNXTensorElementDataType)tensor->dtype);
    if (status == NULL && tensor->rank > 0) {
        for (int32_t i = 0; i < tensor->rank; i++) {
            names[i] = tensor->dims[i] < 0 && tensor->dim_names[i] != NULL ? tensor->dim_names[i] : "";
        }
        status = api->SetDimensions(info, tensor->dims, (size_t)tensor->rank);
        status = status == NULL ? api->SetSymbolicDimensions(info, names, (size_t)tensor->rank) : status;
    }
    if (status == NULL) {
        status = api->ShapeInferContext_SetOutputTypeShape(context, index, info);
    }
    api->ReleaseTensorTypeAndShapeInfo(info);
    return status;
}

/* What the contract refuses has no shape here: its sentence comes when the kernel is made, or run. */
static void infer_shapes(const plugin_custom_op *custom, OrtShapeInferContext *context, size_t input_count)
{
    const OrtApi *const api = custom->runtime->api;
    const rmsnorm_operator *const op = custom->op;
    rmsnorm_tensor tensors[2][PLUGIN_SLOTS] = {0};
    const rmsnorm_tensor *inputs[PLUGIN_SLOTS] = {NULL};
    rmsnorm_tensor *outputs[PLUGIN_SLOTS] = {NULL};
    rmsnorm_attributes attributes;
    const size_t output_count = custom->runtime->checks_outputs ? op->output_count : 1;
    (void)plugin_attributes_read(api, op, plugin_attribute_of_shapes, context, &attributes);
    for (size_t i = 0; i < op->input_count && i < input_count; i++) {
        inputs[i] = read_input(api, context, i, &tensors[0][i]) ? &tensors[0][i] : NULL;
    }
    for (size_t i = 0; i < output_count; i++) {
        outputs[i] = &tensors[1][i];
    }
    const bool inferred =
        rmsnorm_infer(op, &attributes, inputs, op->input_count, outputs, output_count, NULL) == RMSNORM_OK;
    /* Of others than statistics the type is said already; and a shape that is not known would be a scalar's. */
    for (size_t i = 0; inferred && i < output_count; i++) {
        if (outputs[i]->rank >= 0 || is_statistic(op, i)) {
            (void)plugin_passed(api, set_output(api, context, i, outputs[i]));
        }
    }
}

/* No call says how many results a node has. Before the runtime checked that the one that is set is there, only the first can be.
 * Never a status: the runtime neither looks at it nor releases it. */
static OrtStatus *ORT_API_CALL infer(const OrtCustomOp *self, OrtShapeInferContext *context)
{
    const plugin_custom_op *const custom = custom_of(self);
    size_t count;
    if (plugin_passed(custom->runtime->api, custom->runtime->api->ShapeInferContext_GetInputCount(context, &count))) {
        infer_shapes(custom, context, count);
    }
    return NULL;
}

/* ---- In place -------------------------------------------------------------------------------- */

/* For the operator whose tensors are all of one type: where types may differ the runtime would reuse memory of another one. */
static size_t ORT_API_CALL get_in_place(int **inputs, int **outputs)
{
    static const int from[] = {0, 0, 1, 1}, to[] = {0, 3, 0, 3};
    *inputs = malloc(sizeof from);
    *outputs = malloc(sizeof to);
    if (*inputs == NULL || *outputs == NULL) {
        free(*inputs);
        free(*outputs);
        *inputs = *outputs = NULL;
        return 0;
    }
    memcpy(*inputs, from, sizeof from);
    memcpy(*outputs, to, sizeof to);
    return sizeof from / sizeof from[0];
}

static void ORT_API_CALL release_in_place(int *inputs, int *outputs)
{
    free(inputs);
    free(outputs);
}

/* ---- Domains --------------------------------------------------------------------------------- */

/* Before 1.24 the runtime ends its own process where it is to show the shape of an input that is omitted by an empty name. */
static bool shows_omitted_inputs(const plugin_custom_op *custom)
{
    const rmsnorm_operator *const op = custom->op;
    return custom->runtime->newer_api != NULL || op->inputs[op->input_count - 1].required;
}

static void describe(plugin_custom_op *custom)
{
    const bool one_type = custom->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    custom->table = (OrtCustomOp){
        .version = PLUGIN_OLDEST_API,
        .GetName = get_name,
        .GetExecutionProviderType = get_provider,
        .GetInputType = get_input_type,
        .GetInputTypeCount = get_input_count,
        .GetOutputType = get_output_type,
        .GetOutputTypeCount = get_output_count,
        .KernelDestroy = plugin_custom_destroy,
        .GetInputCharacteristic = get_input_kind,
        .GetOutputCharacteristic = get_output_kind,
        .GetInputMemoryType = get_memory,
        .GetVariadicInputMinArity = get_arity,
        .GetVariadicInputHomogeneity = get_arity,
        .GetVariadicOutputMinArity = get_arity,
        .GetVariadicOutputHomogeneity = get_arity,
        .CreateKernelV2 = plugin_custom_create,
        .KernelComputeV2 = plugin_custom_compute,
        .InferOutputShapeFn = shows_omitted_inputs(custom) ? infer : NULL,
        .GetStartVersion = get_start,
        .GetEndVersion = get_end,
        .GetMayInplace = one_type ? get_in_place : NULL,
        .ReleaseMayInplace = one_type ? release_in_place : NULL,
    };
}

OrtStatus *plugin_custom_add(const plugin_runtime *runtime, plugin_custom_domain *domain, rmsnorm_operator_kind kind,
                             const char *provider)
{
    plugin_custom_op *const custom = &domain->ops[domain->count++];
    custom->runtime = runtime;
    custom->provider = provider;
    for (size_t i = 0; rmsnorm_operator_at(i) != NULL; i++) {
        custom->op = rmsnorm_operator_at(i)->kind == kind ? rmsnorm_operator_at(i) : custom->op;
    }
    describe(custom);
    return runtime->api->CustomOpDomain_Add(domain->domain, &custom->table);
}

OrtStatus *plugin_custom_spelling(const plugin_runtime *runtime, plugin_custom_domain *domain)
{
    PLUGIN_TRY(runtime->api->CreateCustomOpDomain("com.microsoft", &domain->domain));
    return plugin_custom_add(runtime, domain, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, PLUGIN_PROVIDER);
}

void plugin_custom_release(const plugin_runtime *runtime, plugin_custom_domain *domain)
{
    if (domain->domain != NULL) {
        runtime->api->ReleaseCustomOpDomain(domain->domain);
        domain->domain = NULL;
    }
}
