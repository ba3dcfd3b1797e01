#include "graph/models.h"

#include <stdlib.h>
#include <string.h>

void put_opset(bytes *model, const char *domain, int64_t version)
{
    bytes opset = {0};
    if (domain != NULL) {
        field_text(&opset, 1, domain);
    }
    field_varint(&opset, 2, (uint64_t)version);
    field_message(model, MODEL_OPSET, &opset);
}

static bytes one_dim(const char *text, size_t length)
{
    char copy[32] = "";
    char *end;
    bytes dim = {0};
    memcpy(copy, text, length);
    const long long number = strtoll(copy, &end, 10);
    if (length > 0 && *end == '\0') {
        field_varint(&dim, 1, (uint64_t)number);
    } else if (strcmp(copy, "?") != 0) {
        field_text(&dim, 2, copy);
    }
    return dim;
}

void put_value(bytes *graph, unsigned field, const char *name, int32_t type, const char *dims)
{
    bytes tensor = {0};
    field_varint(&tensor, 1, (uint64_t)type);
    if (dims != NULL) {
        bytes shape = {0};
        for (const char *at = dims; at != NULL && dims[0] != '\0';) {
            const size_t length = strcspn(at, ",");
            bytes dim = one_dim(at, length);
            field_message(&shape, 1, &dim);
            at = at[length] == ',' ? at + length + 1 : NULL;
        }
        field_message(&tensor, 2, &shape);
    }
    bytes type_message = {0};
    field_message(&type_message, 1, &tensor);
    bytes value = {0};
    field_text(&value, 1, name);
    field_message(&value, 2, &type_message);
    field_message(graph, field, &value);
}

static void put_names(bytes *node, unsigned field, const char *names)
{
    while (*names != '\0') {
        const size_t length = strcspn(names, " ");
        const bool omitted = length == 1 && names[0] == '-';
        field_bytes(node, field, names, omitted ? 0 : length);
        names += length + (names[length] == ' ');
    }
}

bytes begin_node(const char *type, const char *domain, const char *inputs, const char *outputs)
{
    bytes node = {0};
    put_names(&node, NODE_INPUT, inputs);
    put_names(&node, NODE_OUTPUT, outputs);
    field_text(&node, NODE_TYPE, type);
    if (domain[0] != '\0') {
        field_text(&node, NODE_DOMAIN, domain);
    }
    return node;
}

void put_attribute_int(bytes *node, const char *name, int64_t value)
{
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, name);
    field_varint(&attribute, ATTRIBUTE_I, (uint64_t)value);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_INT);
    field_message(node, NODE_ATTRIBUTE, &attribute);
}

void put_attribute_float(bytes *node, const char *name, float value)
{
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, name);
    field_float(&attribute, ATTRIBUTE_F, value);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_FLOAT);
    field_message(node, NODE_ATTRIBUTE, &attribute);
}

bytes finish_model(bytes *graph)
{
    bytes model = {0};
    field_varint(&model, MODEL_IR, 8);
    put_opset(&model, NULL, 23);
    put_opset(&model, "com.microsoft", 1);
    field_message(&model, MODEL_GRAPH, graph);
    return model;
}

static void put_constant(bytes *graph)
{
    const int64_t dim = 2;
    const float values[] = {0.25f, 4.0f};
    bytes tensor = tensor_message("", RMSNORM_FLOAT, &dim, 1, values, sizeof values);
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, "value");
    field_message(&attribute, ATTRIBUTE_T, &tensor);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_TENSOR);
    bytes node = begin_node("Constant", "", "", "scale");
    field_message(&node, NODE_ATTRIBUTE, &attribute);
    field_message(graph, GRAPH_NODE, &node);
}

static void put_if(bytes *graph)
{
    bytes inner = {0};
    field_text(&inner, GRAPH_NAME, "branch");
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, "then_branch");
    field_message(&attribute, ATTRIBUTE_G, &inner);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_GRAPH);
    bytes node = begin_node("If", "ai.onnx", "sum", "last");
    field_message(&node, NODE_ATTRIBUTE, &attribute);
    field_message(graph, GRAPH_NODE, &node);
}

bytes rich_model(void)
{
    const int64_t dim = 2;
    const int64_t axes = -1;
    const float gamma[] = {1.0f, 2.0f};
    bytes graph = {0};
    field_text(&graph, GRAPH_NAME, "main");
    put_constant(&graph);
    bytes node = begin_node("RMSNormalization", "ai.onnx", "x scale", "y");
    field_text(&node, NODE_NAME, "first");
    put_attribute_int(&node, "axis", 1);
    put_attribute_float(&node, "epsilon", 0.5f);
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("SkipSimplifiedLayerNormalization", "com.microsoft", "y x gamma -", "z - - sum");
    field_message(&graph, GRAPH_NODE, &node);
    put_if(&graph);
    bytes tensor = tensor_message("gamma", RMSNORM_FLOAT, &dim, 1, gamma, sizeof gamma);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    tensor = tensor_message("axes", 7, NULL, 0, &axes, sizeof axes);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "S,2,?,");
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, "2");
    put_value(&graph, GRAPH_INPUT, "free", RMSNORM_FLOAT16, NULL);
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, "-1");
    put_value(&graph, GRAPH_OUTPUT, "last", RMSNORM_FLOAT, "");
    return finish_model(&graph);
}
