#include "graph.h"

#include <stdio.h>
#include <string.h>

#include "attributes.h"

/* Constants of up to this many elements are shown to the rewriter: scalars and lists of axes. */
enum { SMALL = RMSNORM_MAX_RANK };

/* A slot of the table of names. */
typedef struct plugin_named {
    const char *name;
    size_t value;
} plugin_named;

#define API(graph) ((graph)->runtime->api)

static OrtStatus *no_memory(const plugin_graph *graph)
{
    return plugin_fail(API(graph), ORT_EP_FAIL, "rmsnorm: no memory is left");
}

static OrtStatus *checked(const plugin_graph *graph, rmsnorm_status status)
{
    return status == RMSNORM_OK
               ? NULL
               : plugin_fail(API(graph), ORT_EP_FAIL, "rmsnorm: the graph is not read: %s", rmsnorm_last_error());
}

/* Room for `count` elements of the type that `to` points to. */
#define TAKE(graph, to, count)                                            \
    do {                                                                  \
        (to) = plugin_arena_take(&(graph)->arena, (count), sizeof *(to)); \
        if ((to) == NULL) {                                               \
            return no_memory(graph);                                      \
        }                                                                 \
    } while (0)

/* ---- Names ----------------------------------------------------------------------------------- */

static plugin_named *find_name(const plugin_graph *graph, const char *name)
{
    uint64_t hash = 14695981039346656037U; /* FNV-1a */
    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211U;
    }
    size_t at = (size_t)hash & (graph->name_capacity - 1);
    plugin_named *const names = (plugin_named *)graph->names;
    while (names[at].name != NULL && strcmp(names[at].name, name) != 0) {
        at = (at + 1) & (graph->name_capacity - 1);
    }
    return &names[at];
}

static OrtStatus *make_names(plugin_graph *graph, size_t most)
{
    plugin_named *names;
    graph->name_capacity = 16;
    while (graph->name_capacity < 2 * most) {
        graph->name_capacity *= 2;
    }
    TAKE(graph, names, graph->name_capacity);
    graph->names = names;
    return NULL;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static OrtStatus *read_type(plugin_graph *graph, const OrtValueInfo *info, rmsnorm_ir_value *value)
{
    const OrtApi *const api = API(graph);
    const OrtTypeInfo *type;
    const OrtTensorTypeAndShapeInfo *tensor = NULL;
    enum ONNXTensorElementDataType element;
    size_t rank;
    value->open = true;
    PLUGIN_TRY(api->GetValueInfoTypeInfo(info, &type));
    if (type != NULL) {
        PLUGIN_TRY(api->CastTypeInfoToTensorInfo(type, &tensor));
    }
    if (tensor == NULL) {
        return NULL;
    }
    PLUGIN_TRY(api->GetTensorElementType(tensor, &element));
    PLUGIN_TRY(api->GetDimensionsCount(tensor, &rank));
    value->type.dtype = (rmsnorm_dtype)element;
    if (rank > RMSNORM_MAX_RANK) { /* that many at the end, and others before them */
        value->type.rank = RMSNORM_MAX_RANK;
        for (size_t i = 0; i < RMSNORM_MAX_RANK; i++) {
            value->type.dims[i] = RMSNORM_UNKNOWN;
        }
        return NULL;
    }
    if (rank == 0) {
        return NULL; /* no dims: a scalar, or a shape that is not known */
    }
    value->open = false;
    value->type.rank = (int32_t)rank;
    PLUGIN_TRY(api->GetDimensions(tensor, value->type.dims, rank));
    PLUGIN_TRY(api->GetSymbolicDimensions(tensor, value->type.dim_names, rank));
    for (size_t i = 0; i < rank; i++) {
        if (value->type.dims[i] < 0) {
            value->type.dims[i] = RMSNORM_UNKNOWN;
        }
        if (value->type.dim_names[i] != NULL && value->type.dim_names[i][0] == '\0') {
            value->type.dim_names[i] = NULL;
        }
    }
    return NULL;
}

static bool is_small(const rmsnorm_tensor *type)
{
    const bool kept =
        rmsnorm_dtype_size(type->dtype) != 0 || type->dtype == RMSNORM_INT64 || type->dtype == RMSNORM_INT32;
    int64_t count = 1;
    for (int32_t i = 0; i < type->rank && count >= 0; i++) {
        count = type->dims[i] < 0 || type->dims[i] > SMALL ? -1 : count * type->dims[i];
    }
    return kept && count >= 0 && count <= SMALL;
}

/* A constant's numbers, and that a constant without dims is a scalar. */
static OrtStatus *read_constant(plugin_graph *graph, const OrtValueInfo *info, rmsnorm_ir_value *value)
{
    const OrtApi *const api = API(graph);
    const OrtValue *tensor = NULL;
    const void *data = NULL;
    PLUGIN_TRY(api->ValueInfo_IsConstantInitializer(info, &value->constant));
    if (!value->constant || !is_small(&value->type)) {
        return NULL;
    }
    PLUGIN_TRY(api->ValueInfo_GetInitializerValue(info, &tensor));
    if (tensor == NULL) {
        return NULL;
    }
    size_t size, element = rmsnorm_dtype_size(value->type.dtype);
    element = element != 0 ? element : value->type.dtype == RMSNORM_INT64 ? 8 : 4;
    PLUGIN_TRY(api->GetTensorSizeInBytes(tensor, &size));
    int64_t count = 1;
    for (int32_t i = 0; i < value->type.rank; i++) {
        count *= value->type.dims[i];
    }
    if (size != (size_t)count * element) {
        return NULL; /* no dims were told, yet it is no scalar */
    }
    value->open = false;
    PLUGIN_TRY(api->GetTensorData(tensor, &data));
    value->type.data = (void *)data;
    return NULL;
}

static OrtStatus *add_value(plugin_graph *graph, const OrtValueInfo *info, size_t *index)
{
    const OrtApi *const api = API(graph);
    const char *name = NULL;
    *index = RMSNORM_NO_INDEX;
    if (info != NULL) {
        PLUGIN_TRY(api->GetValueInfoName(info, &name));
    }
    if (name == NULL || name[0] == '\0') {
        return NULL;
    }
    plugin_named *const known = find_name(graph, name);
    if (known->name == NULL) {
        rmsnorm_ir_value value = {.name = name};
        bool outer = false;
        PLUGIN_TRY(api->ValueInfo_IsFromOuterScope(info, &outer));
        graph->inside = graph->inside || outer;
        PLUGIN_TRY(api->ValueInfo_IsGraphOutput(info, &value.output));
        PLUGIN_TRY(read_type(graph, info, &value));
        PLUGIN_TRY(read_constant(graph, info, &value));
        PLUGIN_TRY(checked(graph, rmsnorm_ir_add_value(graph->ir, &value, &known->value)));
        known->name = name;
    }
    *index = known->value;
    return NULL;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static OrtStatus *read_attribute(plugin_graph *graph, const OrtOpAttr *from, rmsnorm_node_attribute *to)
{
    const OrtApi *const api = API(graph);
    OrtOpAttrType type;
    size_t size = 0;
    PLUGIN_TRY(api->OpAttr_GetName(from, &to->name));
    PLUGIN_TRY(api->OpAttr_GetType(from, &type));
    if (type != ORT_OP_ATTR_INTS) {
        return plugin_attribute_read(api, from, to);
    }
    OrtStatus *const told = api->ReadOpAttr(from, type, NULL, 0, &size); /* refuses, and says how much room it takes */
    if (told != NULL) {
        api->ReleaseStatus(told);
    }
    int64_t *ints;
    TAKE(graph, ints, size / sizeof *ints);
    to->kind = RMSNORM_NODE_ATTRIBUTE_INTS;
    to->ints = ints;
    to->count = size / sizeof *ints;
    return size == 0 ? NULL : api->ReadOpAttr(from, type, ints, size, &size);
}

/* What is known of a node before it is added. */
typedef struct node_parts {
    rmsnorm_ir_node node;
    const OrtValueInfo **inputs, **outputs; /* inputs: and what the graphs inside use */
    size_t axes;                            /* a value that stands for an attribute; RMSNORM_NO_INDEX: none */
} node_parts;

static OrtStatus *read_attributes(plugin_graph *graph, const OrtNode *node, rmsnorm_ir_node *to)
{
    const OrtApi *const api = API(graph);
    const OrtOpAttr **from;
    rmsnorm_node_attribute *attributes;
    PLUGIN_TRY(api->Node_GetNumAttributes(node, &to->attribute_count));
    TAKE(graph, from, to->attribute_count);
    TAKE(graph, attributes, to->attribute_count);
    PLUGIN_TRY(api->Node_GetAttributes(node, from, to->attribute_count));
    for (size_t i = 0; i < to->attribute_count; i++) {
        PLUGIN_TRY(read_attribute(graph, from[i], &attributes[i]));
    }
    to->attributes = attributes;
    return NULL;
}

/* The graph is shown at an opset where a mean has its axes as an input: what an older model has as an attribute becomes a constant. */
static OrtStatus *move_axes(plugin_graph *graph, size_t position, node_parts *parts)
{
    enum { LONGEST_NAME = 40 };
    rmsnorm_ir_node *const node = &parts->node;
    rmsnorm_node_attribute *const attributes = (rmsnorm_node_attribute *)node->attributes;
    parts->axes = RMSNORM_NO_INDEX;
    for (size_t i = 0; i < node->attribute_count && node->domain[0] == '\0' && strcmp(node->op_type, "ReduceMean") == 0;
         i++) {
        if (attributes[i].kind == RMSNORM_NODE_ATTRIBUTE_INTS && strcmp(attributes[i].name, "axes") == 0) {
            char *name;
            rmsnorm_ir_value value = {.type = {.dtype = RMSNORM_INT64, .rank = 1}, .constant = true};
            TAKE(graph, name, LONGEST_NAME);
            snprintf(name, LONGEST_NAME, "\n%zu", position); /* no name of a model's */
            value.name = name;
            value.type.dims[0] = (int64_t)attributes[i].count;
            value.type.data = (void *)attributes[i].ints;
            attributes[i] = attributes[--node->attribute_count];
            return checked(graph, rmsnorm_ir_add_value(graph->ir, &value, &parts->axes));
        }
    }
    return NULL;
}

static OrtStatus *list_values(plugin_graph *graph, const OrtNode *node, node_parts *parts)
{
    const OrtApi *const api = API(graph);
    rmsnorm_ir_node *const to = &parts->node;
    size_t explicit_count, implicit_count, graphs;
    PLUGIN_TRY(api->Node_GetNumInputs(node, &explicit_count));
    PLUGIN_TRY(api->Node_GetNumImplicitInputs(node, &implicit_count));
    PLUGIN_TRY(api->Node_GetNumOutputs(node, &to->output_count));
    PLUGIN_TRY(api->Node_GetNumSubgraphs(node, &graphs));
    to->input_count = explicit_count + implicit_count;
    to->function = graphs != 0 || implicit_count != 0;
    TAKE(graph, parts->inputs, to->input_count);
    TAKE(graph, parts->outputs, to->output_count);
    PLUGIN_TRY(api->Node_GetInputs(node, parts->inputs, explicit_count));
    if (implicit_count != 0) {
        PLUGIN_TRY(api->Node_GetImplicitInputs(node, parts->inputs + explicit_count, implicit_count));
    }
    return api->Node_GetOutputs(node, parts->outputs, to->output_count);
}

static OrtStatus *is_taken(const plugin_graph *graph, const OrtNode *node, bool *taken)
{
    const char *provider = NULL;
    PLUGIN_TRY(API(graph)->Node_GetEpName(node, &provider));
    *taken = provider != NULL && provider[0] != '\0' && strcmp(provider, PLUGIN_PROVIDER) != 0;
    return NULL;
}

/* Whether the node has an operator's name where the runtime has no schema of that name: it is a function of the model's, or
 * another custom operator. Where there is a schema it wins over a function. */
static bool is_foreign(const plugin_graph *graph, const rmsnorm_ir_node *node)
{
    return !graph->runtime->has_spelling && strcmp(node->domain, "com.microsoft") == 0 &&
           strcmp(node->op_type, "SimplifiedLayerNormalization") == 0;
}

static OrtStatus *read_node(plugin_graph *graph, size_t position, node_parts *parts)
{
    const OrtApi *const api = API(graph);
    const OrtNode *const node = graph->nodes[position];
    rmsnorm_ir_node *const to = &parts->node;
    to->origin = position;
    PLUGIN_TRY(list_values(graph, node, parts));
    PLUGIN_TRY(api->Node_GetName(node, &to->name));
    PLUGIN_TRY(api->Node_GetOperatorType(node, &to->op_type));
    PLUGIN_TRY(api->Node_GetDomain(node, &to->domain));
    PLUGIN_TRY(is_taken(graph, node, &graph->taken[position]));
    to->function = to->function || graph->taken[position] || is_foreign(graph, to);
    return to->function ? NULL : read_attributes(graph, node, to);
}

static OrtStatus *add_values(plugin_graph *graph, const OrtValueInfo *const *infos, size_t count, size_t *indices)
{
    for (size_t i = 0; i < count; i++) {
        PLUGIN_TRY(add_value(graph, infos[i], &indices[i]));
    }
    return NULL;
}

static OrtStatus *add_node_values(plugin_graph *graph, size_t position, node_parts *parts)
{
    rmsnorm_ir_node *const to = &parts->node;
    size_t *inputs, *outputs;
    TAKE(graph, inputs, to->input_count + 2);
    TAKE(graph, outputs, to->output_count);
    PLUGIN_TRY(add_values(graph, parts->inputs, to->input_count, inputs));
    PLUGIN_TRY(add_values(graph, parts->outputs, to->output_count, outputs));
    PLUGIN_TRY(move_axes(graph, position, parts));
    if (parts->axes != RMSNORM_NO_INDEX && to->input_count == 1) {
        inputs[to->input_count++] = parts->axes;
    }
    to->inputs = inputs;
    to->outputs = outputs;
    return NULL;
}

static OrtStatus *add_nodes(plugin_graph *graph)
{
    node_parts *parts;
    size_t most = 0, index;
    TAKE(graph, parts, graph->node_count);
    for (size_t i = 0; i < graph->node_count; i++) {
        PLUGIN_TRY(read_node(graph, i, &parts[i]));
        most += parts[i].node.input_count + parts[i].node.output_count;
    }
    PLUGIN_TRY(make_names(graph, most));
    for (size_t i = 0; i < graph->node_count; i++) { /* values first, as rmsnorm_ir wants them */
        PLUGIN_TRY(add_node_values(graph, i, &parts[i]));
    }
    for (size_t i = 0; i < graph->node_count; i++) {
        PLUGIN_TRY(checked(graph, rmsnorm_ir_add_node(graph->ir, &parts[i].node, &index)));
    }
    return NULL;
}

/* The newest opset where the model's is older: what is fused runs here, so that no model has to be raised for it. */
static OrtStatus *set_opsets(plugin_graph *graph, const OrtGraph *from)
{
    enum { STANDARD_SINCE = 23 };
    const OrtApi *const api = API(graph);
    const char **domains;
    int64_t *versions;
    size_t count;
    PLUGIN_TRY(api->Graph_GetNumOperatorSets(from, &count));
    TAKE(graph, domains, count);
    TAKE(graph, versions, count);
    PLUGIN_TRY(api->Graph_GetOperatorSets(from, domains, versions, count));
    for (size_t i = 0; i < count; i++) {
        const bool standard = domains[i][0] == '\0' || strcmp(domains[i], "ai.onnx") == 0;
        const int64_t version = standard && versions[i] < STANDARD_SINCE ? STANDARD_SINCE : versions[i];
        PLUGIN_TRY(checked(graph, rmsnorm_ir_set_opset(graph->ir, standard ? "" : domains[i], version)));
    }
    if (rmsnorm_ir_opset(graph->ir, "com.microsoft") == 0) {
        return checked(graph, rmsnorm_ir_set_opset(graph->ir, "com.microsoft", 1));
    }
    return NULL;
}

OrtStatus *plugin_graph_read(plugin_graph *graph, const plugin_runtime *runtime, const OrtGraph *from)
{
    memset(graph, 0, sizeof *graph);
    graph->runtime = runtime;
    const OrtNode *parent = NULL;
    PLUGIN_TRY(runtime->api->Graph_GetParentNode(from, &parent));
    graph->inside = parent != NULL;
    PLUGIN_TRY(checked(graph, rmsnorm_ir_create(0, &graph->ir)));
    PLUGIN_TRY(runtime->api->Graph_GetNumNodes(from, &graph->node_count));
    TAKE(graph, graph->nodes, graph->node_count);
    TAKE(graph, graph->taken, graph->node_count);
    PLUGIN_TRY(runtime->api->Graph_GetNodes(from, graph->nodes, graph->node_count));
    PLUGIN_TRY(set_opsets(graph, from));
    PLUGIN_TRY(add_nodes(graph));
    return checked(graph, rmsnorm_ir_infer(graph->ir));
}

void plugin_graph_release(plugin_graph *graph)
{
    rmsnorm_ir_free(graph->ir);
    plugin_arena_release(&graph->arena);
}
