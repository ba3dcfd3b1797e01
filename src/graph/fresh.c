#include "graph/fresh.h"

#include "graph/bytes.h"
#include "operator/error.h"

#include <string.h>

typedef struct maker {
    rmsnorm_pieces *pieces;
    const rmsnorm_document *document;
} maker;

static void *allocate(const maker *m, size_t count, size_t size)
{
    return rmsnorm_arena_allocate(&m->pieces->arena, (count + 1) * size);
}

/* protobuf-c's structures are for both ways; packing only reads. */
static char *text(const char *string)
{
    return (char *)string;
}

/* raw_data is little-endian. */
static rmsnorm_status make_tensor(const maker *m, const char *name, const rmsnorm_tensor *tensor,
                                  Onnx__TensorProto **result)
{
    const size_t bits = rmsnorm_external_bits((int32_t)tensor->dtype);
    const int64_t count = tensor->rank >= 0 ? rmsnorm_tensor_count(tensor) : RMSNORM_UNKNOWN;
    RMSNORM_CHECK(tensor->data != NULL && bits > 0 && bits % 8 == 0 && count >= 0, RMSNORM_UNSUPPORTED,
                  "%s: the tensor \"" RMSNORM_NAME "\" of a new node cannot be written: its elements are not known",
                  m->document->input.file, name);
    const size_t size = (size_t)count * (bits / 8);
    Onnx__TensorProto *const proto = allocate(m, 1, sizeof *proto);
    uint8_t *const data = allocate(m, size, 1);
    if (proto == NULL || data == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    memcpy(data, tensor->data, size);
    rmsnorm_bytes_reorder(data, (size_t)count, bits / 8, false);
    onnx__tensor_proto__init(proto);
    proto->n_dims = (size_t)tensor->rank;
    proto->dims = (int64_t *)tensor->dims;
    proto->has_data_type = true;
    proto->data_type = (int32_t)tensor->dtype;
    proto->name = name[0] != '\0' ? text(name) : NULL;
    proto->has_raw_data = true;
    proto->raw_data = (ProtobufCBinaryData){size, data};
    *result = proto;
    return RMSNORM_OK;
}

static rmsnorm_status make_attribute(const maker *m, const rmsnorm_node_attribute *attribute,
                                     Onnx__AttributeProto **result)
{
    Onnx__AttributeProto *const proto = allocate(m, 1, sizeof *proto);
    if (proto == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    onnx__attribute_proto__init(proto);
    proto->name = text(attribute->name);
    proto->has_type = true;
    *result = proto;
    switch (attribute->kind) {
    case RMSNORM_NODE_ATTRIBUTE_INT:
        proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
        proto->has_i = true;
        proto->i = attribute->i;
        return RMSNORM_OK;
    case RMSNORM_NODE_ATTRIBUTE_FLOAT:
        proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT;
        proto->has_f = true;
        proto->f = attribute->f;
        return RMSNORM_OK;
    case RMSNORM_NODE_ATTRIBUTE_INTS:
        proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS;
        proto->n_ints = attribute->count;
        proto->ints = (int64_t *)attribute->ints;
        return RMSNORM_OK;
    case RMSNORM_NODE_ATTRIBUTE_FLOATS:
        proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS;
        proto->n_floats = attribute->count;
        proto->floats = (float *)attribute->floats;
        return RMSNORM_OK;
    case RMSNORM_NODE_ATTRIBUTE_TENSOR:
        proto->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
        return make_tensor(m, "", &attribute->tensor, &proto->t);
    default:
        return rmsnorm_fail(RMSNORM_UNSUPPORTED,
                            "%s: attribute \"" RMSNORM_NAME "\" of a new node cannot be written: its kind is not known",
                            m->document->input.file, attribute->name);
    }
}

/* A value's name where it is seen: the same name in a graph further inside may be another value's. */
static rmsnorm_status name_in(const maker *m, size_t graph, size_t value, char **name)
{
    static char nothing[] = "";
    *name = nothing;
    if (value == RMSNORM_NO_INDEX) {
        return RMSNORM_OK;
    }
    const rmsnorm_ir_value *const shown = rmsnorm_ir_value_at(m->document->ir, value);
    *name = text(shown->name);
    const rmsnorm_definition *const seen =
        shown->made ? NULL : rmsnorm_scopes_find(&m->document->scopes, graph, shown->name);
    RMSNORM_CHECK(shown->made || (seen != NULL && seen->value == value), RMSNORM_UNSUPPORTED,
                  "%s: a new node in %s needs the value \"" RMSNORM_NAME
                  "\" of a graph around it, which another of the same name hides; rename one of them",
                  m->document->input.file, rmsnorm_scope_label(&m->document->scopes, graph).text, shown->name);
    return RMSNORM_OK;
}

static rmsnorm_status make_names(const maker *m, size_t graph, const size_t *values, size_t count, char ***names)
{
    *names = allocate(m, count, sizeof **names);
    if (*names == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        RMSNORM_TRY(name_in(m, graph, values[i], &(*names)[i]));
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_fresh_node(rmsnorm_pieces *pieces, const rmsnorm_document *document, size_t node)
{
    const maker m = {pieces, document};
    const rmsnorm_ir_node *const shown = rmsnorm_ir_node_at(document->ir, node);
    Onnx__NodeProto proto = ONNX__NODE_PROTO__INIT;
    proto.n_input = shown->input_count;
    proto.n_output = shown->output_count;
    proto.n_attribute = shown->attribute_count;
    proto.name = shown->name[0] != '\0' ? text(shown->name) : NULL;
    proto.op_type = text(shown->op_type);
    proto.domain = shown->domain[0] != '\0' ? text(shown->domain) : NULL;
    RMSNORM_TRY(make_names(&m, shown->graph, shown->inputs, shown->input_count, &proto.input));
    RMSNORM_TRY(make_names(&m, shown->graph, shown->outputs, shown->output_count, &proto.output));
    proto.attribute = allocate(&m, shown->attribute_count, sizeof *proto.attribute);
    if (proto.attribute == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < shown->attribute_count; i++) {
        RMSNORM_TRY(make_attribute(&m, &shown->attributes[i], &proto.attribute[i]));
    }
    return rmsnorm_pieces_message(pieces, RMSNORM_GRAPH_NODE, &proto.base);
}

rmsnorm_status rmsnorm_fresh_constant(rmsnorm_pieces *pieces, const rmsnorm_document *document, size_t value,
                                      bool as_node)
{
    const maker m = {pieces, document};
    const rmsnorm_ir_value *const shown = rmsnorm_ir_value_at(document->ir, value);
    Onnx__TensorProto *tensor;
    RMSNORM_TRY(make_tensor(&m, as_node ? "" : shown->name, &shown->type, &tensor));
    if (!as_node) {
        return rmsnorm_pieces_message(pieces, RMSNORM_GRAPH_INITIALIZER, &tensor->base);
    }
    char *output = text(shown->name);
    Onnx__AttributeProto attribute = ONNX__ATTRIBUTE_PROTO__INIT;
    Onnx__AttributeProto *attributes = &attribute;
    attribute.name = text("value");
    attribute.has_type = true;
    attribute.type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR;
    attribute.t = tensor;
    Onnx__NodeProto node = ONNX__NODE_PROTO__INIT;
    node.op_type = text("Constant");
    node.n_output = 1;
    node.output = &output;
    node.n_attribute = 1;
    node.attribute = &attributes;
    return rmsnorm_pieces_message(pieces, RMSNORM_GRAPH_NODE, &node.base);
}
