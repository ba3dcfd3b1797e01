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

void put_graph_attribute(bytes *node, const char *name, bytes *graph)
{
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, name);
    field_message(&attribute, ATTRIBUTE_G, graph);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_GRAPH);
    field_message(node, NODE_ATTRIBUTE, &attribute);
}

void put_entry(bytes *to, unsigned field, const char *key, const char *value)
{
    bytes entry = {0};
    field_text(&entry, 1, key);
    field_text(&entry, 2, value);
    field_message(to, field, &entry);
}

bytes external_tensor(const char *name, int64_t count, const char *location, const char *offset, const char *length)
{
    bytes tensor = {0};
    field_varint(&tensor, TENSOR_DIMS, (uint64_t)count);
    field_varint(&tensor, TENSOR_TYPE, RMSNORM_FLOAT);
    field_text(&tensor, TENSOR_NAME, name);
    if (location != NULL) {
        put_entry(&tensor, TENSOR_EXTERNAL, "location", location);
    }
    if (offset != NULL) {
        put_entry(&tensor, TENSOR_EXTERNAL, "offset", offset);
    }
    if (length != NULL) {
        put_entry(&tensor, TENSOR_EXTERNAL, "length", length);
    }
    field_varint(&tensor, TENSOR_LOCATION, 1);
    return tensor;
}

static void put_unknown(bytes *to)
{
    static const uint8_t filler[3000] = {1, 2, 3};
    field_varint(to, 1000, 77);
    field_text(to, 1001, "kept");
    field_bytes(to, 1002, filler, sizeof filler);
    field_float(to, 1003, 1.5f);
}

static void put_node(bytes *graph, const char *type, const char *inputs, const char *outputs, const char *name)
{
    bytes node = begin_node(type, "", inputs, outputs);
    field_text(&node, NODE_NAME, name);
    put_unknown(&node);
    field_message(graph, GRAPH_NODE, &node);
}

static bytes loop_body(void)
{
    bytes body = {0};
    field_text(&body, GRAPH_NAME, "body");
    put_value(&body, GRAPH_INPUT, "i", 7, "");
    put_value(&body, GRAPH_INPUT, "cond", 9, "");
    put_value(&body, GRAPH_INPUT, "carried", RMSNORM_FLOAT, "2,4");
    put_node(&body, "Identity", "cond", "cond_out", "again");
    put_node(&body, "Mul", "carried y", "next", "inner");
    put_unknown(&body);
    put_value(&body, GRAPH_INFO, "next", RMSNORM_FLOAT, "2,4");
    put_value(&body, GRAPH_OUTPUT, "cond_out", 9, "");
    put_value(&body, GRAPH_OUTPUT, "next", RMSNORM_FLOAT, "2,4");
    return body;
}

static void put_branches(bytes *graph)
{
    bytes then_graph = {0};
    field_text(&then_graph, GRAPH_NAME, "then");
    put_node(&then_graph, "Neg", "y", "then_out", "negative");
    put_value(&then_graph, GRAPH_OUTPUT, "then_out", RMSNORM_FLOAT, "2,4");
    bytes else_graph = {0};
    field_text(&else_graph, GRAPH_NAME, "else");
    bytes loop = begin_node("Loop", "", "trips flag y", "else_out");
    bytes body = loop_body();
    put_graph_attribute(&loop, "body", &body);
    field_message(&else_graph, GRAPH_NODE, &loop);
    put_value(&else_graph, GRAPH_OUTPUT, "else_out", RMSNORM_FLOAT, "2,4");
    bytes node = begin_node("If", "", "flag", "z");
    put_attribute_int(&node, "other", 3);
    put_graph_attribute(&node, "then_branch", &then_graph);
    put_graph_attribute(&node, "else_branch", &else_graph);
    put_unknown(&node);
    field_message(graph, GRAPH_NODE, &node);
}

static void put_tensors(bytes *graph)
{
    static const float weights[2000] = {1.0f, 2.0f};
    const int64_t dim = 2000;
    bytes tensor = tensor_message("weights", RMSNORM_FLOAT, &dim, 1, weights, sizeof weights);
    put_unknown(&tensor);
    field_message(graph, GRAPH_INITIALIZER, &tensor);
    tensor = (bytes){0}; /* numbers one by one, with paddings */
    field_varint(&tensor, TENSOR_DIMS, 1000);
    field_varint(&tensor, TENSOR_TYPE, RMSNORM_FLOAT);
    for (int i = 0; i < 1000; i++) {
        field_float(&tensor, TENSOR_FLOATS, (float)i);
    }
    put(&tensor,
        "\x42\x85\x80\x00"
        "loose",
        9);
    field_message(graph, GRAPH_INITIALIZER, &tensor);
    tensor = (bytes){0};
    field_varint(&tensor, TENSOR_TYPE, 8);
    field_varint(&tensor, TENSOR_DIMS, 900);
    for (int i = 0; i < 900; i++) {
        field_text(&tensor, 6, "text");
    }
    field_text(&tensor, TENSOR_NAME, "texts");
    field_message(graph, GRAPH_INITIALIZER, &tensor);
    const float epsilon = 0.25f;
    tensor = tensor_message("epsilon", RMSNORM_FLOAT, NULL, 0, &epsilon, sizeof epsilon);
    field_message(graph, GRAPH_INITIALIZER, &tensor);
    const int64_t trips = 3;
    tensor = tensor_message("trips", 7, NULL, 0, &trips, sizeof trips);
    field_message(graph, GRAPH_INITIALIZER, &tensor);
    bytes sparse = {0};
    const int64_t two = 2;
    const int64_t places[] = {0, 3};
    tensor = tensor_message("thin", RMSNORM_FLOAT, &two, 1, weights, 8);
    field_message(&sparse, 1, &tensor);
    tensor = tensor_message("", 7, &two, 1, places, sizeof places);
    field_message(&sparse, 2, &tensor);
    field_varint(&sparse, 3, 4);
    field_message(graph, GRAPH_SPARSE, &sparse);
}

static void put_sequence(bytes *graph)
{
    bytes sequence = {0};
    bytes type = {0};
    bytes value = {0};
    field_bytes(&sequence, 1, NULL, 0);
    field_message(&type, 4, &sequence);
    field_text(&value, 1, "list");
    field_message(&value, 2, &type);
    field_message(graph, GRAPH_INPUT, &value);
}

static void put_outside(bytes *model)
{
    bytes function = {0};
    field_text(&function, 1, "Own");
    field_text(&function, 4, "a");
    field_text(&function, 5, "b");
    bytes node = begin_node("Neg", "", "a", "b");
    field_message(&function, 7, &node);
    put_opset(&function, "", 18);
    field_text(&function, 10, "local");
    put_unknown(&function);
    field_message(model, MODEL_FUNCTION, &function);
    bytes training = {0};
    bytes initialization = {0};
    field_text(&initialization, GRAPH_NAME, "start");
    field_message(&training, 1, &initialization);
    field_message(model, MODEL_TRAINING, &training);
    put_entry(model, MODEL_METADATA, "author", "somebody");
    put_unknown(model);
}

bytes strange_model(void)
{
    static char prose[5000];
    memset(prose, 'p', sizeof prose - 1);
    bytes graph = {0};
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, "2,4");
    put_node(&graph, "Mul", "x x", "sq", "square");
    put_value(&graph, GRAPH_INFO, "sq", RMSNORM_FLOAT, "2,4");
    field_text(&graph, GRAPH_NAME, "main");
    put_node(&graph, "ReduceMean", "sq", "ms", "mean");
    put_tensors(&graph);
    put_node(&graph, "Sqrt", "ms", "root", "root");
    put_value(&graph, GRAPH_INFO, "root", RMSNORM_FLOAT, "2,1");
    put_value(&graph, GRAPH_INFO, "elsewhere", RMSNORM_FLOAT, "2,1");
    field_text(&graph, GRAPH_DOC, prose);
    put_node(&graph, "Div", "x root", "y", "divide");
    put_unknown(&graph);
    bytes own = begin_node("Own", "local", "y", "called");
    field_message(&graph, GRAPH_NODE, &own);
    put_branches(&graph);
    bytes annotation = {0};
    field_text(&annotation, 1, "root");
    put_entry(&annotation, 2, "SCALE_TENSOR", "epsilon");
    field_message(&graph, GRAPH_ANNOTATION, &annotation);
    field_text(&annotation, 1, "y");
    field_message(&graph, GRAPH_ANNOTATION, &annotation);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2,4");
    put_value(&graph, GRAPH_INPUT, "flag", 9, "");
    put_sequence(&graph);
    bytes model = {0};
    field_text(&model, MODEL_DOC, prose);
    bytes opset = {0};
    field_varint(&opset, 2, 18);
    put_unknown(&opset);
    field_message(&model, MODEL_OPSET, &opset);
    put_opset(&model, "local", 1);
    put_varint(&model, MODEL_GRAPH << 3 | 2); /* its length in five bytes */
    for (int i = 0; i < 5; i++) {
        const uint8_t digit = (uint8_t)((graph.size >> (7 * i) & 0x7f) | (i < 4 ? 0x80 : 0));
        put(&model, &digit, 1);
    }
    put(&model, graph.data, graph.size);
    release(&graph);
    put_outside(&model);
    field_varint(&model, MODEL_IR, 8);
    return model;
}

static void put_chain(bytes *graph, const char *output)
{
    bytes node = begin_node("Pow", "", "x two", "sq");
    field_message(graph, GRAPH_NODE, &node);
    node = begin_node("ReduceMean", "", "sq", "ms");
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, "axes");
    field_varint(&attribute, ATTRIBUTE_INTS, UINT64_MAX);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_INTS);
    field_message(&node, NODE_ATTRIBUTE, &attribute);
    field_message(graph, GRAPH_NODE, &node);
    node = begin_node("Add", "", "ms epsilon", "sum");
    field_message(graph, GRAPH_NODE, &node);
    node = begin_node("Sqrt", "", "sum", "root");
    field_message(graph, GRAPH_NODE, &node);
    node = begin_node("Div", "", "x root", "quotient");
    field_message(graph, GRAPH_NODE, &node);
    node = begin_node("Mul", "", "quotient gamma", output);
    field_message(graph, GRAPH_NODE, &node);
}

bytes chain_model(void)
{
    const float numbers[] = {2.0f, 1e-5f};
    const float gamma[] = {1.0f, 2.0f, 3.0f, 4.0f};
    const int64_t dim = 4;
    bytes graph = {0};
    put_chain(&graph, "n");
    bytes node = begin_node("Identity", "", "n", "y");
    field_text(&node, NODE_NAME, "tail");
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("If", "", "flag", "z");
    for (int i = 0; i < 2; i++) {
        bytes inner = {0};
        put_chain(&inner, "given");
        field_text(&inner, GRAPH_NAME, "inner");
        put_value(&inner, GRAPH_OUTPUT, "given", RMSNORM_FLOAT, "N,4");
        put_graph_attribute(&node, i == 0 ? "then_branch" : "else_branch", &inner);
    }
    field_message(&graph, GRAPH_NODE, &node);
    bytes tensor = tensor_message("two", RMSNORM_FLOAT, NULL, 0, &numbers[0], 4);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    tensor = tensor_message("epsilon", RMSNORM_FLOAT, NULL, 0, &numbers[1], 4);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    tensor = tensor_message("gamma", RMSNORM_FLOAT, &dim, 1, gamma, sizeof gamma);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    tensor = tensor_message("spare", RMSNORM_FLOAT, &dim, 1, gamma, sizeof gamma);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "N,4");
    put_value(&graph, GRAPH_INPUT, "flag", 9, "");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "N,4");
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, "N,4");
    bytes model = {0};
    field_varint(&model, MODEL_IR, 8);
    put_opset(&model, "", 17);
    field_message(&model, MODEL_GRAPH, &graph);
    return model;
}
