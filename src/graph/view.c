/* From the unpacked file to rmsnorm_graph. Strings stay where protobuf-c put them; weights move to aligned memory. */
#include "graph/bytes.h"
#include "graph/model.h"
#include "graph/names.h"
#include "graph/node.h"
#include "graph/tensor_proto.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct builder {
    const char *file;
    rmsnorm_model *model;
    const Onnx__GraphProto *proto;
    rmsnorm_names initializers; /* sorted */
    rmsnorm_names scratch;
} builder;

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static void *allocate(builder *b, size_t count, size_t size)
{
    return rmsnorm_budget_allocate(&b->model->budget, count + 1, size);
}

/* The message's own copy, once the view has one. */
static void drop_data(Onnx__TensorProto *proto)
{
    free(proto->raw_data.data);
    free(proto->float_data);
    free(proto->double_data);
    free(proto->int32_data);
    free(proto->int64_data);
    proto->raw_data = (ProtobufCBinaryData){0, NULL};
    proto->float_data = NULL;
    proto->double_data = NULL;
    proto->int32_data = NULL;
    proto->int64_data = NULL;
    proto->n_float_data = proto->n_double_data = proto->n_int32_data = proto->n_int64_data = 0;
}

static rmsnorm_status convert(const builder *b, const char *where, Onnx__TensorProto *proto, rmsnorm_tensor *tensor)
{
    const char *name;
    RMSNORM_TRY(rmsnorm_tensor_proto_convert(where, proto, true, &b->model->external, tensor, &name));
    if (tensor->data != NULL) {
        drop_data(proto);
    }
    return RMSNORM_OK;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* dim_value -1 and dim_param "" are what older exporters write for unknown. */
static rmsnorm_status view_dim(const char *where, const Onnx__TensorShapeProto__Dimension *dim, rmsnorm_tensor *tensor,
                               size_t i)
{
    tensor->dims[i] = RMSNORM_UNKNOWN;
    if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
        RMSNORM_CHECK(dim->dim_value >= -1, RMSNORM_MALFORMED,
                      "%s has dim %zu = %" PRId64 "; 0 and more, or -1 for unknown, are allowed", where, i,
                      dim->dim_value);
        tensor->dims[i] = dim->dim_value;
    } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && dim->dim_param[0] != '\0') {
        tensor->dim_names[i] = dim->dim_param;
    }
    return RMSNORM_OK;
}

/* NULL: a tensor, or nothing is said. A kind that onnx.proto gained later stands among the unknown fields. */
static const char *other_kind(const Onnx__TypeProto *type)
{
    switch (type->value_case) {
    case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE:
        return NULL;
    case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE:
        return "a sequence";
    case ONNX__TYPE_PROTO__VALUE_MAP_TYPE:
        return "a map";
    case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE:
        return "an optional";
    case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
        return "a sparse tensor";
    default:
        return type->base.n_unknown_fields > 0 ? "of a kind that is not known" : NULL;
    }
}

static rmsnorm_status view_type(const char *where, const Onnx__TypeProto *type, rmsnorm_tensor *tensor)
{
    *tensor = (rmsnorm_tensor){.rank = RMSNORM_UNKNOWN};
    const char *const other = type != NULL ? other_kind(type) : NULL;
    RMSNORM_CHECK(other == NULL, RMSNORM_UNSUPPORTED, "%s is declared as %s; a tensor is allowed", where, other);
    if (type == NULL || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE) {
        return RMSNORM_OK;
    }
    const int32_t dtype = type->tensor_type->elem_type;
    RMSNORM_CHECK(dtype >= 0, RMSNORM_MALFORMED, "%s has element type %" PRId32 "; it must not be negative", where,
                  dtype);
    tensor->dtype = (rmsnorm_dtype)dtype;
    const Onnx__TensorShapeProto *const shape = type->tensor_type->shape;
    if (shape == NULL) {
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(shape->n_dim <= RMSNORM_MAX_RANK, RMSNORM_UNSUPPORTED, "%s has %zu dims; at most %d are supported",
                  where, shape->n_dim, RMSNORM_MAX_RANK);
    tensor->rank = (int32_t)shape->n_dim;
    for (size_t i = 0; i < shape->n_dim; i++) {
        RMSNORM_TRY(view_dim(where, shape->dim[i], tensor, i));
    }
    return RMSNORM_OK;
}

/* Graph inputs or outputs: those that are initializers too, or those that are not; outputs may be either. */
typedef enum choice { WITHOUT_INITIALIZER, WITH_INITIALIZER, EITHER } choice;

static rmsnorm_status view_values(builder *b, const char *role, Onnx__ValueInfoProto *const *protos, size_t count,
                                  choice chosen, rmsnorm_value *values, size_t *used)
{
    char where[600];
    for (size_t i = 0; i < count; i++) {
        const char *const name = or_empty(protos[i]->name);
        RMSNORM_CHECK(name[0] != '\0', RMSNORM_MALFORMED, "%s: graph %s %zu has no name", b->file, role, i);
        if (chosen != EITHER && (chosen == WITH_INITIALIZER) != rmsnorm_names_contain(&b->initializers, name)) {
            continue;
        }
        snprintf(where, sizeof where, "%s: graph %s \"" RMSNORM_NAME "\"", b->file, role, name);
        values[*used].name = name;
        RMSNORM_TRY(view_type(where, protos[i]->type, &values[*used].tensor));
        *used += 1;
    }
    return RMSNORM_OK;
}

static rmsnorm_status view_initializers(builder *b)
{
    char where[600];
    rmsnorm_model *const model = b->model;
    RMSNORM_CHECK(b->proto->n_sparse_initializer == 0, RMSNORM_UNSUPPORTED,
                  "%s: has sparse initializers, which are not read; make them dense", b->file);
    for (size_t i = 0; i < b->proto->n_initializer; i++) {
        Onnx__TensorProto *const proto = b->proto->initializer[i];
        rmsnorm_value *const value = &model->initializers[i];
        value->name = or_empty(proto->name);
        RMSNORM_CHECK(value->name[0] != '\0', RMSNORM_MALFORMED, "%s: initializer %zu has no name", b->file, i);
        snprintf(where, sizeof where, "%s: initializer \"" RMSNORM_NAME "\"", b->file, value->name);
        RMSNORM_TRY(convert(b, where, proto, &value->tensor));
        model->graph.initializer_count = i + 1;
        b->initializers.items[b->initializers.count++] = value->name;
    }
    rmsnorm_names_sort(&b->initializers);
    return RMSNORM_OK;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static rmsnorm_status view_attribute(const builder *b, const rmsnorm_node *node, const Onnx__AttributeProto *proto,
                                     rmsnorm_node_attribute *attribute)
{
    char label[RMSNORM_NODE_LABEL];
    char where[1000];
    attribute->name = or_empty(proto->name);
    if (!rmsnorm_attribute_kind_of(proto, &attribute->kind)) {
        rmsnorm_node_label(node, label);
        return rmsnorm_fail(RMSNORM_MALFORMED,
                            "%s: %s: attribute \"" RMSNORM_NAME "\" has a value of another type than it says", b->file,
                            label, attribute->name);
    }
    attribute->i = proto->i;
    attribute->f = proto->f;
    if (attribute->kind == RMSNORM_NODE_ATTRIBUTE_INTS) {
        attribute->ints = proto->ints;
        attribute->count = proto->n_ints;
    } else if (attribute->kind == RMSNORM_NODE_ATTRIBUTE_FLOATS) {
        attribute->floats = proto->floats;
        attribute->count = proto->n_floats;
    }
    if (attribute->kind != RMSNORM_NODE_ATTRIBUTE_TENSOR) {
        return RMSNORM_OK;
    }
    rmsnorm_node_label(node, label);
    snprintf(where, sizeof where, "%s: %s: attribute \"" RMSNORM_NAME "\"", b->file, label, attribute->name);
    return convert(b, where, proto->t, &attribute->tensor);
}

static rmsnorm_status check_attribute_names(builder *b, const rmsnorm_node *node)
{
    b->scratch.count = 0;
    for (size_t i = 0; i < node->attribute_count; i++) {
        b->scratch.items[b->scratch.count++] = node->attributes[i].name;
    }
    rmsnorm_names_sort(&b->scratch);
    const char *const twice = rmsnorm_names_duplicate(&b->scratch);
    if (twice == NULL) {
        return RMSNORM_OK;
    }
    char label[RMSNORM_NODE_LABEL];
    rmsnorm_node_label(node, label);
    return rmsnorm_fail(RMSNORM_MALFORMED, "%s: %s has attribute \"" RMSNORM_NAME "\" twice", b->file, label, twice);
}

static rmsnorm_status view_nodes(builder *b)
{
    rmsnorm_model *const model = b->model;
    for (size_t i = 0; i < b->proto->n_node; i++) {
        const Onnx__NodeProto *const proto = b->proto->node[i];
        rmsnorm_node *const node = &model->nodes[i];
        rmsnorm_node_attribute *const attributes = model->attributes + model->attribute_count;
        *node = (rmsnorm_node){.name = or_empty(proto->name),
                               .op_type = or_empty(proto->op_type),
                               .domain = rmsnorm_domain_normalize(proto->domain),
                               .inputs = (const char *const *)proto->input,
                               .input_count = proto->n_input,
                               .outputs = (const char *const *)proto->output,
                               .output_count = proto->n_output,
                               .attributes = attributes,
                               .attribute_count = proto->n_attribute};
        for (size_t a = 0; a < proto->n_attribute; a++) {
            RMSNORM_TRY(view_attribute(b, node, proto->attribute[a], &attributes[a]));
            model->attribute_count++;
        }
        RMSNORM_TRY(check_attribute_names(b, node));
    }
    return RMSNORM_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static rmsnorm_status check_listed(builder *b, const char *role, const rmsnorm_value *values, size_t count)
{
    b->scratch.count = 0;
    for (size_t i = 0; i < count; i++) {
        b->scratch.items[b->scratch.count++] = values[i].name;
    }
    rmsnorm_names_sort(&b->scratch);
    const char *const twice = rmsnorm_names_duplicate(&b->scratch);
    RMSNORM_CHECK(twice == NULL, RMSNORM_MALFORMED, "%s: \"" RMSNORM_NAME "\" is listed twice as a graph %s", b->file,
                  twice, role);
    return RMSNORM_OK;
}

/* A value has one origin: an initializer, a true input, or one node's output. Graph outputs only refer, but once
 * each. */
static rmsnorm_status check_names(builder *b)
{
    const rmsnorm_model *const model = b->model;
    rmsnorm_names *const names = &b->scratch;
    names->count = 0;
    for (size_t i = 0; i < b->initializers.count; i++) {
        names->items[names->count++] = b->initializers.items[i];
    }
    for (size_t i = 0; i < model->graph.input_count; i++) {
        names->items[names->count++] = model->inputs[i].name;
    }
    for (size_t i = 0; i < b->proto->n_node; i++) {
        for (size_t o = 0; o < model->nodes[i].output_count; o++) {
            if (model->nodes[i].outputs[o][0] != '\0') {
                names->items[names->count++] = model->nodes[i].outputs[o];
            }
        }
    }
    rmsnorm_names_sort(names);
    const char *const twice = rmsnorm_names_duplicate(names);
    RMSNORM_CHECK(twice == NULL, RMSNORM_MALFORMED,
                  "%s: value \"" RMSNORM_NAME "\" is defined twice, by inputs, initializers or node outputs", b->file,
                  twice);
    RMSNORM_TRY(check_listed(b, "input", model->inputs + model->graph.input_count, model->graph.default_count));
    return check_listed(b, "output", model->outputs, model->graph.output_count);
}

static rmsnorm_status allocate_arrays(builder *b)
{
    const Onnx__GraphProto *const proto = b->proto;
    rmsnorm_model *const model = b->model;
    size_t attributes = 0;
    size_t outputs = 0;
    for (size_t i = 0; i < proto->n_node; i++) {
        attributes += proto->node[i]->n_attribute;
        outputs += proto->node[i]->n_output;
    }
    const size_t values = proto->n_initializer + proto->n_input + outputs;
    const size_t names = values > attributes ? values : attributes;
    model->nodes = allocate(b, proto->n_node, sizeof *model->nodes);
    model->attributes = allocate(b, attributes, sizeof *model->attributes);
    model->inputs = allocate(b, proto->n_input, sizeof *model->inputs);
    model->outputs = allocate(b, proto->n_output, sizeof *model->outputs);
    model->initializers = allocate(b, proto->n_initializer, sizeof *model->initializers);
    b->initializers.items = allocate(b, proto->n_initializer, sizeof *b->initializers.items);
    b->scratch.items = allocate(b, names > proto->n_output ? names : proto->n_output, sizeof *b->scratch.items);
    const bool complete = model->nodes != NULL && model->attributes != NULL && model->inputs != NULL &&
                          model->outputs != NULL && model->initializers != NULL && b->initializers.items != NULL &&
                          b->scratch.items != NULL;
    return complete ? RMSNORM_OK : rmsnorm_budget_fail(&model->budget, b->file);
}

static rmsnorm_status build(builder *b)
{
    rmsnorm_model *const model = b->model;
    rmsnorm_graph *const graph = &model->graph;
    const Onnx__GraphProto *const proto = b->proto;
    RMSNORM_TRY(allocate_arrays(b));
    RMSNORM_TRY(view_initializers(b));
    RMSNORM_TRY(
        view_values(b, "input", proto->input, proto->n_input, WITHOUT_INITIALIZER, model->inputs, &graph->input_count));
    RMSNORM_TRY(view_values(b, "input", proto->input, proto->n_input, WITH_INITIALIZER,
                            model->inputs + graph->input_count, &graph->default_count));
    RMSNORM_TRY(view_values(b, "output", proto->output, proto->n_output, EITHER, model->outputs, &graph->output_count));
    RMSNORM_TRY(view_nodes(b));
    RMSNORM_TRY(check_names(b));
    graph->name = or_empty(proto->name);
    graph->nodes = model->nodes;
    graph->node_count = proto->n_node;
    graph->inputs = model->inputs;
    graph->outputs = model->outputs;
    graph->initializers = model->initializers;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_model_view(const char *file, rmsnorm_model *model)
{
    builder b = {.file = file, .model = model, .proto = model->proto->graph};
    const rmsnorm_status status = build(&b);
    free(b.initializers.items);
    free(b.scratch.items);
    return status;
}
