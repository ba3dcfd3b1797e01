#include "graph/model.h"
#include "graph/models.h"

#include <string.h>

static void expect_no_model(bytes *file, rmsnorm_status wanted, const char *part)
{
    rmsnorm_model *const untouched = (rmsnorm_model *)&wanted;
    rmsnorm_model *model = untouched;
    expect_refusal(read_model(file, &model), wanted, part);
    assert_ptr_equal(model, untouched);
    release(file);
}

static void expect_no_graph(bytes *graph, rmsnorm_status wanted, const char *part)
{
    bytes file = finish_model(graph);
    expect_no_model(&file, wanted, part);
}

static void test_values_and_initializers(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes file = rich_model();
    assert_int_equal(read_model(&file, &model), RMSNORM_OK);
    release(&file); /* the model stands alone */
    const rmsnorm_graph *const graph = rmsnorm_model_graph(model);
    assert_string_equal(graph->name, "main");
    assert_int_equal(graph->input_count, 2);
    const rmsnorm_value *const x = &graph->inputs[0];
    assert_string_equal(x->name, "x");
    assert_int_equal(x->tensor.dtype, RMSNORM_FLOAT);
    assert_int_equal(x->tensor.rank, 4);
    assert_null(x->tensor.data);
    assert_int_equal(x->tensor.dims[0], RMSNORM_UNKNOWN);
    assert_string_equal(x->tensor.dim_names[0], "S");
    assert_int_equal(x->tensor.dims[1], 2);
    assert_int_equal(x->tensor.dims[2], RMSNORM_UNKNOWN);
    assert_null(x->tensor.dim_names[2]);
    assert_int_equal(x->tensor.dims[3], RMSNORM_UNKNOWN);
    assert_null(x->tensor.dim_names[3]);
    assert_string_equal(graph->inputs[1].name, "free");
    assert_int_equal(graph->inputs[1].tensor.dtype, RMSNORM_FLOAT16);
    assert_int_equal(graph->inputs[1].tensor.rank, RMSNORM_UNKNOWN);
    assert_int_equal(graph->default_count, 1);
    assert_string_equal(graph->inputs[2].name, "gamma");
    assert_int_equal(graph->inputs[2].tensor.dims[0], 2);
    assert_null(graph->inputs[2].tensor.data);
    assert_int_equal(graph->output_count, 2);
    assert_int_equal(graph->outputs[0].tensor.dims[0], RMSNORM_UNKNOWN);
    assert_int_equal(graph->outputs[1].tensor.rank, 0);
    assert_int_equal(graph->initializer_count, 2);
    const int64_t dim = 2;
    const float gamma[] = {1.0f, 2.0f};
    assert_string_equal(graph->initializers[0].name, "gamma");
    expect_tensor(&graph->initializers[0].tensor, RMSNORM_FLOAT, &dim, 1, gamma, sizeof gamma);
    assert_string_equal(graph->initializers[1].name, "axes");
    const int64_t axes = -1;
    expect_tensor(&graph->initializers[1].tensor, RMSNORM_INT64, NULL, 0, &axes, sizeof axes);
    rmsnorm_model_free(model);
}

/* A model of one initializer. */
static rmsnorm_status read_initializer(bytes *tensor, rmsnorm_model **model)
{
    bytes graph = {0};
    field_message(&graph, GRAPH_INITIALIZER, tensor);
    bytes file = finish_model(&graph);
    const rmsnorm_status status = read_model(&file, model);
    release(&file);
    return status;
}

static bytes begin_tensor(int32_t dtype, int64_t dim)
{
    return tensor_message("w", dtype, &dim, 1, NULL, 0);
}

static void test_integers_keep_their_data(void **state)
{
    (void)state;
    rmsnorm_model *model;
    const int64_t dim = 2;
    const int64_t wide[] = {INT64_MIN, 3};
    const int32_t single[] = {INT32_MIN, 3};
    bytes numbers = {0};
    put_varint(&numbers, (uint64_t)INT64_MIN);
    put_varint(&numbers, 3);
    bytes tensors[] = {tensor_message("w", RMSNORM_INT64, &dim, 1, wide, sizeof wide),
                       tensor_message("w", RMSNORM_INT32, &dim, 1, single, sizeof single),
                       begin_tensor(RMSNORM_INT64, 2), begin_tensor(RMSNORM_INT32, 2)};
    field_bytes(&tensors[2], 7, numbers.data, numbers.size);
    release(&numbers);
    field_varint(&tensors[3], 5, (uint64_t)INT32_MIN);
    field_varint(&tensors[3], 5, 3);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(read_initializer(&tensors[i], &model), RMSNORM_OK);
        const rmsnorm_tensor *const tensor = &rmsnorm_model_graph(model)->initializers[0].tensor;
        if (i % 2 == 0) {
            expect_tensor(tensor, RMSNORM_INT64, &dim, 1, wide, sizeof wide);
        } else {
            expect_tensor(tensor, RMSNORM_INT32, &dim, 1, single, sizeof single);
        }
        assert_int_equal(model->proto->graph->initializer[0]->n_int64_data, 0);
        rmsnorm_model_free(model);
    }
    bytes bools = tensor_message("w", 9, &dim, 1, "\1\1", 2);
    assert_int_equal(read_initializer(&bools, &model), RMSNORM_OK);
    assert_int_equal(rmsnorm_model_graph(model)->initializers[0].tensor.dims[0], 2);
    assert_null(rmsnorm_model_graph(model)->initializers[0].tensor.data);
    rmsnorm_model_free(model);
}

static void test_integers_are_checked_like_the_other_types(void **state)
{
    (void)state;
    rmsnorm_model *model;
    const int64_t dim = 2;
    bytes shorter = tensor_message("w", RMSNORM_INT64, &dim, 1, "12345678", 8);
    expect_refusal(read_initializer(&shorter, &model), RMSNORM_MALFORMED,
                   "initializer \"w\" has 8 bytes in raw_data, but its shape and type need 16");
    bytes none = begin_tensor(RMSNORM_INT64, 2);
    expect_refusal(read_initializer(&none, &model), RMSNORM_MALFORMED, "no data for the 2 elements");
    bytes wrong = begin_tensor(RMSNORM_INT64, 1);
    field_varint(&wrong, 5, 1);
    expect_refusal(read_initializer(&wrong, &model), RMSNORM_MALFORMED, "raw_data and int64_data are allowed");
    bytes both = tensor_message("w", RMSNORM_INT32, &dim, 1, "12345678", 8);
    field_varint(&both, 5, 1);
    expect_refusal(read_initializer(&both, &model), RMSNORM_MALFORMED, "both raw_data and int32_data");
    bytes vast = begin_tensor(RMSNORM_INT64, INT64_C(1) << 60); /* its bytes are 2^63 */
    expect_refusal(read_initializer(&vast, &model), RMSNORM_MALFORMED, "do not fit 63 bits");
    bytes elsewhere = begin_tensor(RMSNORM_INT64, 2);
    field_varint(&elsewhere, 14, 1);
    expect_refusal(read_initializer(&elsewhere, &model), RMSNORM_MALFORMED,
                   "in another file but does not say in which");
}

/* A model of one node with an attribute "list" of the message. */
static const rmsnorm_node_attribute *read_list(bytes *attribute, rmsnorm_model **model)
{
    field_text(attribute, ATTRIBUTE_NAME, "list");
    bytes node = begin_node("Any", "", "", "y");
    field_message(&node, NODE_ATTRIBUTE, attribute);
    bytes graph = {0};
    field_message(&graph, GRAPH_NODE, &node);
    bytes file = finish_model(&graph);
    assert_int_equal(read_model(&file, model), RMSNORM_OK);
    release(&file);
    return &rmsnorm_model_graph(*model)->nodes[0].attributes[0];
}

static void test_lists_of_numbers_are_attributes(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes ints = {0};
    field_varint(&ints, ATTRIBUTE_INTS, (uint64_t)-2);
    field_varint(&ints, ATTRIBUTE_INTS, 5);
    field_varint(&ints, ATTRIBUTE_TYPE, TYPE_INTS);
    const rmsnorm_node_attribute *list = read_list(&ints, &model);
    assert_int_equal(list->kind, RMSNORM_NODE_ATTRIBUTE_INTS);
    assert_int_equal(list->count, 2);
    assert_int_equal(list->ints[0], -2);
    assert_int_equal(list->ints[1], 5);
    rmsnorm_model_free(model);
    bytes floats = {0};
    field_float(&floats, ATTRIBUTE_FLOATS, 0.5f);
    field_varint(&floats, ATTRIBUTE_TYPE, TYPE_FLOATS);
    list = read_list(&floats, &model);
    assert_int_equal(list->kind, RMSNORM_NODE_ATTRIBUTE_FLOATS);
    assert_int_equal(list->count, 1);
    assert_true(list->floats[0] == 0.5f);
    rmsnorm_model_free(model);
    bytes empty = {0};
    field_varint(&empty, ATTRIBUTE_TYPE, TYPE_INTS);
    list = read_list(&empty, &model);
    assert_int_equal(list->kind, RMSNORM_NODE_ATTRIBUTE_INTS);
    assert_int_equal(list->count, 0);
    rmsnorm_model_free(model);
}

static void test_weights_are_held_once(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes file = rich_model();
    assert_int_equal(read_model(&file, &model), RMSNORM_OK);
    release(&file);
    assert_int_equal(model->proto->graph->initializer[0]->raw_data.len, 0);
    assert_null(model->proto->graph->initializer[0]->raw_data.data);
    rmsnorm_model_free(model);
}

static void test_nodes_keep_their_slots(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes file = rich_model();
    assert_int_equal(read_model(&file, &model), RMSNORM_OK);
    release(&file);
    const rmsnorm_graph *const graph = rmsnorm_model_graph(model);
    assert_int_equal(graph->node_count, 4);
    const rmsnorm_node *const constant = &graph->nodes[0];
    const float values[] = {0.25f, 4.0f};
    const int64_t dim = 2;
    assert_string_equal(constant->name, "");
    assert_int_equal(constant->attribute_count, 1);
    assert_string_equal(constant->attributes[0].name, "value");
    assert_int_equal(constant->attributes[0].kind, RMSNORM_NODE_ATTRIBUTE_TENSOR);
    expect_tensor(&constant->attributes[0].tensor, RMSNORM_FLOAT, &dim, 1, values, sizeof values);
    const rmsnorm_node *const first = &graph->nodes[1];
    assert_string_equal(first->name, "first");
    assert_string_equal(first->domain, "");
    assert_int_equal(first->attributes[0].kind, RMSNORM_NODE_ATTRIBUTE_INT);
    assert_int_equal(first->attributes[0].i, 1);
    assert_int_equal(first->attributes[1].kind, RMSNORM_NODE_ATTRIBUTE_FLOAT);
    assert_true(first->attributes[1].f == 0.5f);
    const rmsnorm_node *const skip = &graph->nodes[2];
    assert_string_equal(skip->domain, "com.microsoft");
    assert_int_equal(skip->input_count, 4);
    assert_string_equal(skip->inputs[3], "");
    assert_int_equal(skip->output_count, 4);
    assert_string_equal(skip->outputs[0], "z");
    assert_string_equal(skip->outputs[1], "");
    assert_string_equal(skip->outputs[2], "");
    assert_string_equal(skip->outputs[3], "sum");
    assert_int_equal(graph->nodes[3].attributes[0].kind, RMSNORM_NODE_ATTRIBUTE_OTHER);
    rmsnorm_model_free(model);
}

static void test_resolve_finds_operator_and_attributes(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes file = rich_model();
    assert_int_equal(read_model(&file, &model), RMSNORM_OK);
    release(&file);
    const rmsnorm_node *const nodes = rmsnorm_model_graph(model)->nodes;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    assert_int_equal(rmsnorm_node_resolve(model, &nodes[1], &op, &attributes), RMSNORM_OK);
    assert_int_equal(op->kind, RMSNORM_RMS_NORMALIZATION);
    assert_int_equal(attributes.axis, 1);
    assert_true(attributes.epsilon == 0.5f);
    assert_int_equal(attributes.stash_type, 1);
    assert_int_equal(rmsnorm_node_resolve(model, &nodes[2], &op, &attributes), RMSNORM_OK);
    assert_int_equal(op->kind, RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION);
    assert_true(attributes.epsilon == 1e-12f);
    const rmsnorm_operator *const before = op;
    expect_refusal(rmsnorm_node_resolve(model, &nodes[3], &op, &attributes), RMSNORM_NOT_FOUND,
                   "node If of \"last\": ");
    expect_refusal(rmsnorm_node_resolve(model, &nodes[0], &op, &attributes), RMSNORM_NOT_FOUND,
                   "node Constant of \"scale\": ");
    assert_ptr_equal(op, before);
    assert_int_equal(rmsnorm_model_opset(model, ""), 23);
    assert_int_equal(rmsnorm_model_opset(model, "ai.onnx"), 23);
    assert_int_equal(rmsnorm_model_opset(model, "com.microsoft"), 1);
    assert_int_equal(rmsnorm_model_opset(model, "ai.onnx.ml"), 0);
    rmsnorm_model_free(model);
}

/* Reads a model of the one node and resolves it. */
static rmsnorm_status resolve_alone(bytes *node, bytes *model_start, const rmsnorm_operator **op,
                                    rmsnorm_attributes *attributes)
{
    bytes graph = {0};
    field_message(&graph, GRAPH_NODE, node);
    field_message(model_start, MODEL_GRAPH, &graph);
    rmsnorm_model *model;
    rmsnorm_status status = read_model(model_start, &model);
    assert_int_equal(status, RMSNORM_OK);
    release(model_start);
    status = rmsnorm_node_resolve(model, &rmsnorm_model_graph(model)->nodes[0], op, attributes);
    rmsnorm_model_free(model);
    return status;
}

static void test_resolve_goes_by_the_imported_opset(void **state)
{
    (void)state;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    static const struct {
        const char *type, *domain, *import;
        int64_t ir, version;
        rmsnorm_status wanted;
        const char *part;
    } cases[] = {
        {"RMSNormalization", "", "", 10, 23, RMSNORM_OK, ""},
        {"RMSNormalization", "", "ai.onnx", 10, 25, RMSNORM_OK, ""},
        {"RMSNormalization", "ai.onnx", "", 10, 24, RMSNORM_OK, ""},
        {"RMSNormalization", "", "", 10, 22, RMSNORM_NOT_FOUND, "node \"n\": "},
        {"SimplifiedLayerNormalization", "", "", 10, 1, RMSNORM_OK, ""},
        {"SimplifiedLayerNormalization", "com.microsoft", "com.microsoft", 10, 1, RMSNORM_OK, ""},
        {"SimplifiedLayerNormalization", "", NULL, 2, 0, RMSNORM_OK, ""},
        {"RMSNormalization", "", NULL, 2, 0, RMSNORM_NOT_FOUND, "node \"n\": "},
        {"SimplifiedLayerNormalization", "", NULL, 3, 0, RMSNORM_NOT_FOUND,
         "\"ai.onnx\", but the model imports no opset"},
        {"SkipSimplifiedLayerNormalization", "com.microsoft", "", 10, 23, RMSNORM_NOT_FOUND,
         "node \"n\": SkipSimplifiedLayerNormalization is of domain \"com.microsoft\", but the model imports no opset"},
        {"SkipSimplifiedLayerNormalization", "com.microsoft", NULL, 2, 0, RMSNORM_NOT_FOUND, "imports no opset"},
        {"Relu", "", "", 10, 23, RMSNORM_NOT_FOUND, "node \"n\": "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes model = {0};
        field_varint(&model, MODEL_IR, (uint64_t)cases[i].ir);
        if (cases[i].import != NULL) {
            put_opset(&model, cases[i].import, cases[i].version);
        }
        bytes node = begin_node(cases[i].type, cases[i].domain, "x s", "y");
        field_text(&node, NODE_NAME, "n");
        const rmsnorm_status status = resolve_alone(&node, &model, &op, &attributes);
        if (cases[i].wanted == RMSNORM_OK) {
            assert_int_equal(status, RMSNORM_OK);
            assert_string_equal(op->name, cases[i].type);
        } else {
            expect_refusal(status, cases[i].wanted, cases[i].part);
        }
    }
}

static void test_resolve_refuses_attributes_of_another_type_or_name(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        const rmsnorm_operator *op;
        rmsnorm_attributes attributes;
        bytes model = {0};
        put_opset(&model, "", 23);
        bytes node = begin_node("RMSNormalization", "", "x s", "y");
        if (i == 0) {
            put_attribute_float(&node, "axis", 1.0f);
        } else if (i == 1) {
            put_attribute_int(&node, "epsilon", 1);
        } else if (i == 2) {
            put_attribute_int(&node, "axes", 1);
        } else {
            bytes attribute = {0};
            field_text(&attribute, ATTRIBUTE_NAME, "epsilon");
            field_varint(&attribute, ATTRIBUTE_TYPE, i == 3 ? TYPE_FLOATS : TYPE_FLOAT);
            if (i == 4) {
                field_text(&attribute, ATTRIBUTE_REFERENCE, "eps");
            }
            field_message(&node, NODE_ATTRIBUTE, &attribute);
        }
        const char *const part = i == 2 ? "\"axes\"" : i == 0 ? "axis" : "epsilon";
        const rmsnorm_status status = resolve_alone(&node, &model, &op, &attributes);
        expect_refusal(status, RMSNORM_INVALID_ARGUMENT, "node RMSNormalization of \"y\": ");
        expect_refusal(status, RMSNORM_INVALID_ARGUMENT, i == 2 ? "axes" : part);
    }
}

static void test_numbers_that_are_zero_may_be_left_out(void **state)
{
    (void)state;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    bytes model = {0};
    put_opset(&model, "", 23);
    bytes node = begin_node("RMSNormalization", "", "x s", "y");
    static const struct {
        const char *name;
        uint64_t type;
    } zeros[] = {{"axis", TYPE_INT}, {"epsilon", TYPE_FLOAT}};
    for (size_t i = 0; i < 2; i++) {
        bytes attribute = {0};
        field_text(&attribute, ATTRIBUTE_NAME, zeros[i].name);
        field_varint(&attribute, ATTRIBUTE_TYPE, zeros[i].type);
        field_message(&node, NODE_ATTRIBUTE, &attribute);
    }
    assert_int_equal(resolve_alone(&node, &model, &op, &attributes), RMSNORM_OK);
    assert_int_equal(attributes.axis, 0);
    assert_true(attributes.epsilon == 0.0f);
}

static void test_untyped_attributes_go_by_their_field(void **state)
{
    (void)state;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    bytes model = {0};
    put_opset(&model, "", 23);
    bytes node = begin_node("RMSNormalization", "", "x s", "y");
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, "epsilon");
    field_float(&attribute, ATTRIBUTE_F, 0.25f);
    field_message(&node, NODE_ATTRIBUTE, &attribute);
    assert_int_equal(resolve_alone(&node, &model, &op, &attributes), RMSNORM_OK);
    assert_true(attributes.epsilon == 0.25f);
}

static void test_refuses_attributes_that_contradict_their_type(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        bytes attribute = {0};
        field_text(&attribute, ATTRIBUTE_NAME, "axis");
        if (i == 0) {
            field_float(&attribute, ATTRIBUTE_F, 1.0f);
        } else if (i == 1) {
            field_varint(&attribute, ATTRIBUTE_I, 1);
            field_float(&attribute, ATTRIBUTE_FLOATS, 1.0f);
        }
        field_varint(&attribute, ATTRIBUTE_TYPE, i == 2 ? TYPE_TENSOR : TYPE_INT);
        bytes node = begin_node("RMSNormalization", "", "x s", "y");
        field_message(&node, NODE_ATTRIBUTE, &attribute);
        bytes graph = {0};
        field_message(&graph, GRAPH_NODE, &node);
        expect_no_graph(&graph, RMSNORM_MALFORMED,
                        "FILE: node RMSNormalization of \"y\": attribute \"axis\" has a value of another type");
    }
}

static void test_refuses_names_that_are_missing_or_doubled(void **state)
{
    (void)state;
    const int64_t dim = 1;
    static const char *const parts[] = {
        "value \"w\" is defined twice", "value \"y\" is defined twice", "value \"w\" is defined twice",
        "value \"x\" is defined twice", "\"y\" is listed twice",        "graph input 0 has no name",
        "graph output 0 has no name",   "initializer 0 has no name",    "has attribute \"axis\" twice",
        "value \"x\" is defined twice", "\"w\" is listed twice",
    };
    for (int i = 0; i < 11; i++) {
        bytes graph = {0};
        bytes first = tensor_message(i == 7 ? "" : "w", RMSNORM_FLOAT, &dim, 1, "1234", 4);
        field_message(&graph, GRAPH_INITIALIZER, &first);
        bytes node = begin_node("RMSNormalization", "", "x w", i == 2 ? "w" : i == 3 ? "x" : "y");
        for (int k = 0; k < 2 && i == 8; k++) {
            put_attribute_int(&node, "axis", 1);
        }
        field_message(&graph, GRAPH_NODE, &node);
        if (i == 0) {
            bytes second = tensor_message("w", RMSNORM_FLOAT, &dim, 1, "1234", 4);
            field_message(&graph, GRAPH_INITIALIZER, &second);
        } else if (i == 1) {
            bytes second = begin_node("Relu", "", "x", "- y");
            field_message(&graph, GRAPH_NODE, &second);
        }
        put_value(&graph, GRAPH_INPUT, i == 5 ? "" : "x", RMSNORM_FLOAT, "1");
        put_value(&graph, GRAPH_OUTPUT, i == 6 ? "" : "y", RMSNORM_FLOAT, "1");
        if (i == 4) {
            put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "1");
        } else if (i == 9) {
            put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "1");
        } else if (i == 10) {
            put_value(&graph, GRAPH_INPUT, "w", RMSNORM_FLOAT, "1");
            put_value(&graph, GRAPH_INPUT, "w", RMSNORM_FLOAT, "1");
        }
        expect_no_graph(&graph, RMSNORM_MALFORMED, parts[i]);
    }
}

static void test_omitted_slots_do_not_collide(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes graph = {0};
    for (int i = 0; i < 2; i++) {
        bytes node =
            begin_node("SkipSimplifiedLayerNormalization", "com.microsoft", "x - -", i == 0 ? "a - -" : "b - -");
        field_message(&graph, GRAPH_NODE, &node);
    }
    bytes file = finish_model(&graph);
    assert_int_equal(read_model(&file, &model), RMSNORM_OK);
    rmsnorm_model_free(model);
    release(&file);
}

static void test_refuses_what_is_no_model(void **state)
{
    (void)state;
    bytes empty = {0};
    expect_no_model(&empty, RMSNORM_MALFORMED, "FILE: holds no graph");
    bytes text = {0};
    put_text(&text, "hello, this is no model");
    expect_no_model(&text, RMSNORM_MALFORMED, "FILE: is no valid ONNX protobuf");
    static const int64_t versions[] = {0, -1};
    for (size_t i = 0; i < 2; i++) {
        bytes graph = {0};
        bytes model = finish_model(&graph);
        put_opset(&model, "ai.onnx.ml", versions[i]);
        expect_no_model(&model, RMSNORM_MALFORMED, "of domain \"ai.onnx.ml\"; 1 and more are allowed");
    }
    bytes graph = {0};
    bytes model = finish_model(&graph);
    put_opset(&model, "ai.onnx", 23);
    expect_no_model(&model, RMSNORM_MALFORMED, "imports domain \"\" twice");
}

static void test_refuses_shapes_and_tensors_it_cannot_hold(void **state)
{
    (void)state;
    bytes graph = {0};
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1");
    expect_no_graph(&graph, RMSNORM_UNSUPPORTED, "graph input \"x\" has 17 dims; at most 16");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "-2");
    expect_no_graph(&graph, RMSNORM_MALFORMED, "graph output \"y\" has dim 0 = -2");
    put_value(&graph, GRAPH_OUTPUT, "y", -2, "2");
    expect_no_graph(&graph, RMSNORM_MALFORMED, "graph output \"y\" has element type -2");
    const int64_t dim = -1;
    bytes tensor = tensor_message("w", RMSNORM_FLOAT, &dim, 1, "1234", 4);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    expect_no_graph(&graph, RMSNORM_MALFORMED, "FILE: initializer \"w\" has dim 0 = -1");
    field_bytes(&graph, GRAPH_SPARSE, NULL, 0);
    expect_no_graph(&graph, RMSNORM_UNSUPPORTED, "sparse initializers");
}

static void test_files_are_read_by_name(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes file = rich_model();
    save(path_of("m.onnx"), &file);
    release(&file);
    assert_int_equal(rmsnorm_model_read(path_of("m.onnx"), &model), RMSNORM_OK);
    assert_int_equal(rmsnorm_model_graph(model)->node_count, 4);
    rmsnorm_model_free(model);
    rmsnorm_model_free(NULL);
    expect_refusal(rmsnorm_model_read(path_of("absent.onnx"), &model), RMSNORM_NOT_FOUND,
                   "absent.onnx: cannot be opened");
    expect_refusal(rmsnorm_model_read(path_of("."), &model), RMSNORM_IO, "is a directory");
    expect_refusal(rmsnorm_model_read("", &model), RMSNORM_INVALID_ARGUMENT, "name is empty");
    expect_refusal(rmsnorm_model_read(NULL, &model), RMSNORM_INVALID_ARGUMENT, "name is empty");
    expect_refusal(rmsnorm_model_read("m.onnx", NULL), RMSNORM_INVALID_ARGUMENT, "model is NULL");
}

static void test_null_is_refused(void **state)
{
    (void)state;
    bytes file = rich_model();
    rmsnorm_model *model;
    assert_int_equal(read_model(&file, &model), RMSNORM_OK);
    release(&file);
    const rmsnorm_node *const node = rmsnorm_model_graph(model)->nodes;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    assert_null(rmsnorm_model_graph(NULL));
    assert_int_equal(rmsnorm_model_opset(NULL, ""), 0);
    expect_refusal(rmsnorm_node_resolve(NULL, node, &op, &attributes), RMSNORM_INVALID_ARGUMENT, "is NULL");
    expect_refusal(rmsnorm_node_resolve(model, NULL, &op, &attributes), RMSNORM_INVALID_ARGUMENT, "is NULL");
    expect_refusal(rmsnorm_node_resolve(model, node, NULL, &attributes), RMSNORM_INVALID_ARGUMENT, "is NULL");
    expect_refusal(rmsnorm_node_resolve(model, node, &op, NULL), RMSNORM_INVALID_ARGUMENT, "is NULL");
    expect_refusal(rmsnorm_tensor_read("x.npy", NULL, NULL), RMSNORM_INVALID_ARGUMENT, "is NULL");
    expect_refusal(rmsnorm_tensor_write(path_of("x.npy"), NULL, NULL), RMSNORM_INVALID_ARGUMENT, "is NULL");
    expect_refusal(rmsnorm_tensor_write_check(NULL, NULL), RMSNORM_INVALID_ARGUMENT, "the name is empty");
    expect_refusal(rmsnorm_bytes_write(path_of("x"), NULL, 1), RMSNORM_INVALID_ARGUMENT, "is NULL");
    expect_refusal(rmsnorm_bytes_write(NULL, "x", 1), RMSNORM_INVALID_ARGUMENT, "the path is empty");
    rmsnorm_tensor_file_release(NULL);
    rmsnorm_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values_and_initializers),
        cmocka_unit_test(test_integers_keep_their_data),
        cmocka_unit_test(test_integers_are_checked_like_the_other_types),
        cmocka_unit_test(test_lists_of_numbers_are_attributes),
        cmocka_unit_test(test_weights_are_held_once),
        cmocka_unit_test(test_nodes_keep_their_slots),
        cmocka_unit_test(test_resolve_finds_operator_and_attributes),
        cmocka_unit_test(test_resolve_goes_by_the_imported_opset),
        cmocka_unit_test(test_resolve_refuses_attributes_of_another_type_or_name),
        cmocka_unit_test(test_numbers_that_are_zero_may_be_left_out),
        cmocka_unit_test(test_untyped_attributes_go_by_their_field),
        cmocka_unit_test(test_refuses_attributes_that_contradict_their_type),
        cmocka_unit_test(test_refuses_names_that_are_missing_or_doubled),
        cmocka_unit_test(test_omitted_slots_do_not_collide),
        cmocka_unit_test(test_refuses_what_is_no_model),
        cmocka_unit_test(test_refuses_shapes_and_tensors_it_cannot_hold),
        cmocka_unit_test(test_files_are_read_by_name),
        cmocka_unit_test(test_null_is_refused),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
