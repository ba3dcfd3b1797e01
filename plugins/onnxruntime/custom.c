#include "custom.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "entries.h"
#include "provider.h"

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

static int ORT_API_CALL get_start(const OrtCustomOp *op)
{
    return custom_of(op)->op->since_version;
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

static bool passed(const OrtApi *api, OrtStatus *status)
{
    if (status != NULL) {
        api->ReleaseStatus(status);
    }
    return status == NULL;
}

/* An input that is not there, or of which nothing is known, gives false. */
static bool read_input(const OrtApi *api, const OrtShapeInferContext *context, size_t index, rmsnorm_tensor *tensor)
{
    OrtTensorTypeAndShapeInfo *info = NULL; /* the context's own */
    enum ONNXTensorElementDataType type;
    size_t rank;
    if (!passed(api, api->ShapeInferContext_GetInputTypeShape(context, index, &info)) || info == NULL ||
        !passed(api, api->GetTensorElementType(info, &type)) || !passed(api, api->GetDimensionsCount(info, &rank)) ||
        type == ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED) {
        return false;
    }
    tensor->dtype = (rmsnorm_dtype)type;
    tensor->rank = rank > RMSNORM_MAX_RANK || rank == 0 ? RMSNORM_UNKNOWN : (int32_t)rank;
    if (tensor->rank > 0 && (!passed(api, api->GetDimensions(info, tensor->dims, rank)) ||
                             !passed(api, api->GetSymbolicDimensions(info, tensor->dim_names, rank)))) {
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

static void read_attributes(const OrtApi *api, const OrtShapeInferContext *context, const rmsnorm_operator *op,
                            rmsnorm_attributes *attributes)
{
    rmsnorm_attributes_init(op, attributes);
    for (size_t i = 0; i < op->attribute_count; i++) {
        const OrtOpAttr *attribute = NULL;
        size_t size;
        int64_t whole;
        if (op->attributes[i].kind == RMSNORM_ATTRIBUTE_INT &&
            passed(api, api->ShapeInferContext_GetAttribute(context, op->attributes[i].name, &attribute)) &&
            attribute != NULL &&
            passed(api, api->ReadOpAttr(attribute, ORT_OP_ATTR_INT, &whole, sizeof whole, &size))) {
            (void)rmsnorm_attributes_set_int(op, attributes, op->attributes[i].name, whole);
        }
    }
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

/* No call says how many results a node has. Before the runtime checked that the one that is set is there, only the first can be. */
static OrtStatus *ORT_API_CALL infer(const OrtCustomOp *self, OrtShapeInferContext *context)
{
    const plugin_custom_op *const custom = custom_of(self);
    const OrtApi *const api = custom->runtime->api;
    const rmsnorm_operator *const op = custom->op;
    rmsnorm_tensor tensors[2][PLUGIN_SLOTS] = {0};
    const rmsnorm_tensor *inputs[PLUGIN_SLOTS] = {NULL};
    rmsnorm_tensor *outputs[PLUGIN_SLOTS] = {NULL};
    rmsnorm_attributes attributes;
    const size_t output_count = custom->runtime->checks_outputs ? op->output_count : 1;
    size_t count;
    PLUGIN_TRY(api->ShapeInferContext_GetInputCount(context, &count));
    read_attributes(api, context, op, &attributes);
    for (size_t i = 0; i < op->input_count && i < count; i++) {
        inputs[i] = read_input(api, context, i, &tensors[0][i]) ? &tensors[0][i] : NULL;
    }
    for (size_t i = 0; i < output_count; i++) {
        outputs[i] = &tensors[1][i];
    }
    const rmsnorm_status status = rmsnorm_infer(op, &attributes, inputs, op->input_count, outputs, output_count, NULL);
    if (status != RMSNORM_OK) {
        return plugin_fail(api, plugin_code(status), "%s", rmsnorm_last_error());
    }
    PLUGIN_TRY(set_output(api, context, 0, outputs[0]));
    for (size_t i = 1; i < output_count; i++) {
        (void)passed(api, set_output(api, context, i, outputs[i]));
    }
    return NULL;
}

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct custom_kernel {
    plugin_kernel kernel;
    OrtOp *other; /* the runtime's own, for what the contract refuses; NULL: not needed */
} custom_kernel;

/* Of an input or output; false where it is omitted. */
static bool read_type(const OrtApi *api, const OrtKernelInfo *info, bool output, size_t index, rmsnorm_dtype *dtype)
{
    OrtTypeInfo *type = NULL;
    const OrtTensorTypeAndShapeInfo *tensor = NULL;
    enum ONNXTensorElementDataType element = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    if (!passed(api, output ? api->KernelInfo_GetOutputTypeInfo(info, index, &type)
                            : api->KernelInfo_GetInputTypeInfo(info, index, &type)) ||
        type == NULL) {
        return false;
    }
    const bool known = passed(api, api->CastTypeInfoToTensorInfo(type, &tensor)) && tensor != NULL &&
                       passed(api, api->GetTensorElementType(tensor, &element));
    api->ReleaseTypeInfo(type);
    *dtype = (rmsnorm_dtype)element;
    return known && element != ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
}

/* Refuses types that the contract does not take, and results of other types than it gives: memory is made by what the runtime has
 * inferred, and it infers that statistics are float. */
static OrtStatus *check_types(const plugin_kernel *kernel, const OrtKernelInfo *info)
{
    rmsnorm_tensor tensors[2][PLUGIN_SLOTS] = {0};
    const rmsnorm_tensor *inputs[PLUGIN_SLOTS] = {NULL};
    rmsnorm_tensor *outputs[PLUGIN_SLOTS] = {NULL};
    size_t given, wanted;
    PLUGIN_TRY(kernel->api->KernelInfo_GetInputCount(info, &given));
    PLUGIN_TRY(kernel->api->KernelInfo_GetOutputCount(info, &wanted));
    for (size_t i = 0; i < kernel->input_count && i < given; i++) {
        tensors[0][i].rank = RMSNORM_UNKNOWN;
        inputs[i] = read_type(kernel->api, info, false, i, &tensors[0][i].dtype) ? &tensors[0][i] : NULL;
    }
    for (size_t i = 0; i < kernel->output_count; i++) {
        outputs[i] = i == 0 || i < wanted ? &tensors[1][i] : NULL;
    }
    const rmsnorm_status status = rmsnorm_infer(kernel->op, &kernel->attributes, inputs, kernel->input_count, outputs,
                                                kernel->output_count, NULL);
    if (status != RMSNORM_OK) {
        return plugin_kernel_refuse(kernel, status);
    }
    for (size_t i = 0; i < kernel->output_count && i < wanted; i++) {
        rmsnorm_dtype dtype;
        if (read_type(kernel->api, info, true, i, &dtype) && dtype != tensors[1][i].dtype) {
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
        int64_t whole;
        float real;
        if (is_int && !passed(api, api->KernelInfoGetAttribute_int64(info, attribute->name, &whole))) {
            whole = attribute->default_int;
        }
        if (!is_int && !passed(api, api->KernelInfoGetAttribute_float(info, attribute->name, &real))) {
            real = attribute->default_float;
        }
        const void *const value = is_int ? (const void *)&whole : (const void *)&real;
        count += passed(api, api->CreateOpAttr(attribute->name, value, 1, is_int ? ORT_OP_ATTR_INT : ORT_OP_ATTR_FLOAT,
                                               &copies[count]));
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
        if (!read_type(api, info, false, i, &dtype)) {
            return NULL;
        }
        types[i] = (ONNXTensorElementDataType)dtype;
    }
    if (!passed(api, api->KernelInfo_GetInputCount(info, &inputs)) ||
        !passed(api, api->KernelInfo_GetOutputCount(info, &outputs))) {
        return NULL;
    }
    const size_t count = copy_attributes(kernel, info, attributes);
    if (!passed(api, api->CreateOp(info, op->name, op->domain, op->since_version, names, types,
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

static OrtStatus *ORT_API_CALL create_kernel(const OrtCustomOp *self, const OrtApi *api, const OrtKernelInfo *info,
                                             void **made)
{
    const plugin_custom_op *const custom = custom_of(self);
    plugin_options options;
    PLUGIN_TRY(find_options(custom, info, &options));
    custom_kernel *const kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return plugin_fail(api, ORT_FAIL, "rmsnorm: no memory is left");
    }
    plugin_kernel_init(&kernel->kernel, custom->runtime, &options, custom->op);
    OrtStatus *status = plugin_kernel_read(&kernel->kernel, info);
    if (status != NULL) {
        kernel->other = find_other(&kernel->kernel, info);
        if (kernel->other != NULL) {
            api->ReleaseStatus(status);
            status = NULL;
        }
    }
    if (status == NULL) {
        status = check_types(&kernel->kernel, info);
    }
    if (status != NULL) {
        api->ReleaseOp(kernel->other);
        free(kernel);
        return status;
    }
    *made = kernel;
    return NULL;
}

static OrtStatus *ORT_API_CALL compute(void *self, OrtKernelContext *context)
{
    const custom_kernel *const kernel = self;
    return kernel->other != NULL ? plugin_kernel_invoke(&kernel->kernel, context, kernel->other)
                                 : plugin_kernel_run(&kernel->kernel, context);
}

static void ORT_API_CALL destroy(void *self)
{
    custom_kernel *const kernel = self;
    if (kernel->other != NULL) {
        kernel->kernel.api->ReleaseOp(kernel->other);
    }
    free(kernel);
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
        .KernelDestroy = destroy,
        .GetInputCharacteristic = get_input_kind,
        .GetOutputCharacteristic = get_output_kind,
        .GetInputMemoryType = get_memory,
        .GetVariadicInputMinArity = get_arity,
        .GetVariadicInputHomogeneity = get_arity,
        .GetVariadicOutputMinArity = get_arity,
        .GetVariadicOutputHomogeneity = get_arity,
        .CreateKernelV2 = create_kernel,
        .KernelComputeV2 = compute,
        .InferOutputShapeFn = infer,
        .GetStartVersion = get_start,
        .GetEndVersion = get_end,
        .GetMayInplace = one_type ? get_in_place : NULL,
        .ReleaseMayInplace = one_type ? release_in_place : NULL,
    };
}

static OrtStatus *add(const plugin_runtime *runtime, plugin_custom_domain *domain, rmsnorm_operator_kind kind,
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
    return add(runtime, domain, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, PLUGIN_PROVIDER);
}

void plugin_custom_release(const plugin_runtime *runtime, plugin_custom_domain *domain)
{
    if (domain->domain != NULL) {
        runtime->api->ReleaseCustomOpDomain(domain->domain);
        domain->domain = NULL;
    }
}

/* ---- The entry ------------------------------------------------------------------------------- */

/* Domains are shared by all sessions of a runtime, and go with the library. */
typedef struct registered {
    struct registered *next;
    plugin_runtime runtime;
    plugin_custom_domain standard, microsoft;
} registered;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static registered *all;

static void release(registered *one)
{
    plugin_custom_release(&one->runtime, &one->standard);
    plugin_custom_release(&one->runtime, &one->microsoft);
    free(one);
}

__attribute__((destructor)) static void release_all(void)
{
    while (all != NULL) {
        registered *const one = all;
        all = one->next;
        release(one);
    }
}

static OrtStatus *make_domains(registered *one)
{
    const plugin_runtime *const runtime = &one->runtime;
    PLUGIN_TRY(runtime->api->CreateCustomOpDomain("", &one->standard.domain));
    PLUGIN_TRY(runtime->api->CreateCustomOpDomain("com.microsoft", &one->microsoft.domain));
    PLUGIN_TRY(add(runtime, &one->standard, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, NULL));
    PLUGIN_TRY(add(runtime, &one->standard, RMSNORM_RMS_NORMALIZATION, NULL));
    PLUGIN_TRY(add(runtime, &one->microsoft, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, NULL));
    return add(runtime, &one->microsoft, RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION, NULL);
}

/* Under the lock. */
static OrtStatus *find_domains(const plugin_runtime *runtime, registered **found)
{
    for (*found = all; *found != NULL; *found = (*found)->next) {
        if ((*found)->runtime.api == runtime->api) {
            return NULL;
        }
    }
    registered *const made = calloc(1, sizeof *made);
    if (made == NULL) {
        return plugin_fail(runtime->api, ORT_FAIL, "rmsnorm: no memory is left");
    }
    made->runtime = *runtime;
    OrtStatus *const status = make_domains(made);
    if (status != NULL) {
        release(made);
        return status;
    }
    made->next = all;
    *found = all = made;
    return NULL;
}

OrtStatus *ORT_API_CALL RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base)
{
    plugin_runtime runtime;
    bool known;
    registered *domains = NULL;
    PLUGIN_TRY(plugin_runtime_find(base, &runtime, &known));
    if (!known) {
        return NULL; /* no table to make a status with */
    }
    pthread_mutex_lock(&lock);
    OrtStatus *const status = find_domains(&runtime, &domains);
    pthread_mutex_unlock(&lock);
    PLUGIN_TRY(status);
    PLUGIN_TRY(runtime.api->AddCustomOpDomain(options, domains->standard.domain));
    return runtime.api->AddCustomOpDomain(options, domains->microsoft.domain);
}
