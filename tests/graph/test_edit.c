/* Rewritten models: what changed is there, and all else is the bytes it was. */
#define _XOPEN_SOURCE 700

#include "graph/models.h"

#include "graph/document.h"
#include "rewrite/ir.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static rmsnorm_document *open_bytes(bytes *content)
{
    rmsnorm_document *document;
    save(path_of("in.onnx"), content);
    assert_int_equal(rmsnorm_document_open(path_of("in.onnx"), &document), RMSNORM_OK);
    return document;
}

static size_t value_named(const rmsnorm_ir *ir, const char *name, size_t graph)
{
    for (size_t i = 0; i < rmsnorm_ir_value_count(ir); i++) {
        const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(ir, i);
        if (strcmp(value->name, name) == 0 && value->graph == graph) {
            return i;
        }
    }
    fail_msg("no value %s in graph %zu", name, graph);
    return 0;
}

static size_t node_named(const rmsnorm_ir *ir, const char *name)
{
    for (size_t i = 0; i < rmsnorm_ir_node_count(ir); i++) {
        if (strcmp(rmsnorm_ir_node_at(ir, i)->name, name) == 0) {
            return i;
        }
    }
    fail_msg("no node %s", name);
    return 0;
}

/* A scalar that stays until the ir goes. */
static size_t make_scalar(rmsnorm_ir *ir, size_t graph, float number)
{
    float *const element = rmsnorm_ir_allocate(ir, 1, sizeof *element);
    assert_non_null(element);
    *element = number;
    size_t index;
    const rmsnorm_tensor type = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {1}, .data = element};
    assert_int_equal(rmsnorm_ir_make_value(ir, graph, "y", "_scale", &type, &index), RMSNORM_OK);
    return index;
}

/* Puts a norm in the place of the last of some nodes, which must end in `output`. */
static size_t replace(rmsnorm_ir *ir, const char *const *names, size_t count, size_t input, size_t scale, size_t output)
{
    static const int64_t ints[] = {3, -4};
    static const float floats[] = {0.5f};
    static float two[] = {2.0f, 3.0f};
    static const rmsnorm_node_attribute attributes[] = {
        {.name = "axis", .kind = RMSNORM_NODE_ATTRIBUTE_INT, .i = -1},
        {.name = "epsilon", .kind = RMSNORM_NODE_ATTRIBUTE_FLOAT, .f = 1e-6f},
        {.name = "ints", .kind = RMSNORM_NODE_ATTRIBUTE_INTS, .ints = ints, .count = 2},
        {.name = "floats", .kind = RMSNORM_NODE_ATTRIBUTE_FLOATS, .floats = floats, .count = 1},
        {.name = "tensor",
         .kind = RMSNORM_NODE_ATTRIBUTE_TENSOR,
         .tensor = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {2}, .data = two}}};
    const size_t last = node_named(ir, names[count - 1]);
    for (size_t i = 0; i + 1 < count; i++) {
        rmsnorm_ir_remove(ir, node_named(ir, names[i]));
    }
    const size_t before = ir->nodes[last].shown.next;
    assert_int_not_equal(before, RMSNORM_NO_INDEX);
    rmsnorm_ir_remove(ir, last);
    const size_t inputs[] = {input, scale};
    const size_t outputs[] = {output, RMSNORM_NO_INDEX};
    const rmsnorm_ir_node node = {.name = "divide",
                                  .op_type = "RMSNormalization",
                                  .domain = "",
                                  .inputs = inputs,
                                  .input_count = 2,
                                  .outputs = outputs,
                                  .output_count = 2,
                                  .attributes = attributes,
                                  .attribute_count = 5};
    size_t index;
    assert_int_equal(rmsnorm_ir_insert(ir, &node, before, &index), RMSNORM_OK);
    rmsnorm_ir_settle(ir);
    return index;
}

static const char *const chain[] = {"square", "mean", "root", "divide"};

static Onnx__ModelProto *decode(const char *path)
{
    bytes content = load(path);
    Onnx__ModelProto *const proto = onnx__model_proto__unpack(NULL, content.size, content.data);
    assert_non_null(proto);
    release(&content);
    return proto;
}

/* A field of a message, tag and length included. */
typedef struct part {
    const uint8_t *bytes, *content;
    size_t size;
    unsigned number;
} part;

static uint64_t number_at(const uint8_t **at)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return value;
        }
    }
}

static size_t split(const uint8_t *at, const uint8_t *end, part parts[64])
{
    size_t count = 0;
    while (at < end) {
        assert_true(count < 64);
        part *const p = &parts[count++];
        p->bytes = at;
        const uint64_t tag = number_at(&at);
        p->number = (unsigned)(tag >> 3);
        const size_t length = (tag & 7) == 2 ? (size_t)number_at(&at) : (tag & 7) == 1 ? 8 : (tag & 7) == 5 ? 4 : 0;
        p->content = at;
        if ((tag & 7) == 0) {
            (void)number_at(&at);
        }
        at += length;
        p->size = (size_t)(at - p->bytes);
    }
    assert_ptr_equal(at, end);
    return count;
}

static bool is_same(const part *left, const part *right)
{
    return left->size == right->size && memcmp(left->bytes, right->bytes, left->size) == 0;
}

/* Fields of the one are found in the other, to the byte and in their order, except so many; and the other has so many that
 * are new. */
static void expect_kept(const part *before, size_t before_count, const part *after, size_t after_count, size_t dropped,
                        size_t added)
{
    size_t at = 0;
    for (size_t i = 0; i < before_count; i++) {
        size_t found = at;
        while (found < after_count && !is_same(&before[i], &after[found])) {
            found++;
        }
        if (found == after_count) {
            assert_true(dropped-- > 0);
        } else {
            assert_true(added >= found - at);
            added -= found - at;
            at = found + 1;
        }
    }
    assert_int_equal(dropped, 0);
    assert_int_equal(added, after_count - at);
}

/* The n-th field of a number, opened. */
static size_t open_part(const part *parts, size_t count, unsigned number, size_t n, part inner[64])
{
    for (size_t i = 0; i < count; i++) {
        if (parts[i].number == number && n-- == 0) {
            return split(parts[i].content, parts[i].bytes + parts[i].size, inner);
        }
    }
    fail_msg("no such field: %u", number);
    return 0;
}

/* The files of a test, taken apart field by field. */
typedef struct pair {
    bytes old, new;
    part before[64], after[64];
    size_t before_count, after_count;
} pair;

static void open_pair(pair *p)
{
    p->old = load(path_of("in.onnx"));
    p->new = load(path_of("out.onnx"));
    p->before_count = split(p->old.data, p->old.data + p->old.size, p->before);
    p->after_count = split(p->new.data, p->new.data + p->new.size, p->after);
}

static void enter(pair *p, unsigned number, size_t before, size_t after)
{
    part inner[64];
    size_t count = open_part(p->before, p->before_count, number, before, inner);
    memcpy(p->before, inner, sizeof inner);
    p->before_count = count;
    count = open_part(p->after, p->after_count, number, after, inner);
    memcpy(p->after, inner, sizeof inner);
    p->after_count = count;
}

static void expect_pair(const pair *p, size_t dropped, size_t added)
{
    expect_kept(p->before, p->before_count, p->after, p->after_count, dropped, added);
}

static void close_pair(pair *p)
{
    release(&p->old);
    release(&p->new);
}

static void check_new_node(const Onnx__NodeProto *node)
{
    assert_string_equal(node->op_type, "RMSNormalization");
    assert_string_equal(node->name, "divide_1");
    assert_null(node->domain);
    assert_int_equal(node->n_input, 2);
    assert_string_equal(node->input[0], "x");
    assert_string_equal(node->input[1], "y_scale");
    assert_int_equal(node->n_output, 2);
    assert_string_equal(node->output[0], "y");
    assert_string_equal(node->output[1], "");
    assert_int_equal(node->n_attribute, 5);
    assert_int_equal(node->attribute[0]->type, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);
    assert_int_equal(node->attribute[0]->i, -1);
    assert_true(node->attribute[1]->f == 1e-6f);
    assert_int_equal(node->attribute[2]->n_ints, 2);
    assert_int_equal(node->attribute[2]->ints[1], -4);
    assert_true(node->attribute[3]->n_floats == 1 && node->attribute[3]->floats[0] == 0.5f);
    assert_int_equal(node->attribute[4]->t->raw_data.len, 8);
    assert_memory_equal(node->attribute[4]->t->raw_data.data, "\0\0\0@\0\0@@", 8);
}

static void test_a_chain_is_replaced_and_all_else_kept(void **state)
{
    (void)state;
    bytes content = strange_model();
    rmsnorm_document *const document = open_bytes(&content);
    rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    replace(ir, chain, 4, value_named(ir, "x", 0), make_scalar(ir, 0, 1.5f), value_named(ir, "y", 0));
    assert_int_equal(rmsnorm_ir_set_opset(ir, "", 23), RMSNORM_OK);
    assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
    pair p;
    open_pair(&p);
    expect_pair(&p, 2, 2); /* the opset and the graph */
    enter(&p, MODEL_GRAPH, 0, 0);
    expect_pair(&p, 4 + 2 + 1, 2); /* nodes, what was said of sq and root; a node and a constant */
    close_pair(&p);
    Onnx__ModelProto *const after = decode(path_of("out.onnx"));
    const Onnx__GraphProto *const graph = after->graph;
    assert_int_equal(graph->n_node, 3);
    check_new_node(graph->node[0]);
    assert_string_equal(graph->node[1]->op_type, "Own");
    assert_int_equal(graph->n_value_info, 1);
    assert_string_equal(graph->value_info[0]->name, "elsewhere");
    assert_string_equal(graph->quantization_annotation[0]->tensor_name, "y");
    const Onnx__TensorProto *const scale = graph->initializer[graph->n_initializer - 1];
    assert_string_equal(scale->name, "y_scale");
    assert_true(scale->n_dims == 1 && scale->dims[0] == 1 && scale->data_type == 1);
    assert_memory_equal(scale->raw_data.data, "\0\0\xc0?", 4);
    assert_int_equal(after->opset_import[0]->version, 23);
    assert_int_equal(after->opset_import[0]->base.n_unknown_fields, 4);
    onnx__model_proto__free_unpacked(after, NULL);
    rmsnorm_document *again; /* what was written is a model, and stays as it is */
    assert_int_equal(rmsnorm_document_open(path_of("out.onnx"), &again), RMSNORM_OK);
    assert_int_equal(rmsnorm_document_save(again, path_of("in.onnx"), NULL), RMSNORM_OK);
    open_pair(&p);
    expect_pair(&p, 0, 0);
    close_pair(&p);
    rmsnorm_document_free(again);
    rmsnorm_document_free(document);
    release(&content);
}

/* A change in the deepest graph: only what encloses it gets new lengths. */
static void test_a_change_inside_is_local(void **state)
{
    (void)state;
    bytes content = strange_model();
    rmsnorm_document *const document = open_bytes(&content);
    rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    const size_t inner = node_named(ir, "inner");
    rmsnorm_ir_node node = *rmsnorm_ir_node_at(ir, inner);
    node.op_type = "Add";
    size_t index;
    const size_t again = node_named(ir, "again");
    rmsnorm_ir_remove(ir, inner);
    assert_int_equal(rmsnorm_ir_insert(ir, &node, again, &index), RMSNORM_OK);
    rmsnorm_ir_settle(ir);
    assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
    pair p;
    open_pair(&p);
    expect_pair(&p, 1, 1);
    enter(&p, MODEL_GRAPH, 0, 0);
    expect_pair(&p, 1, 1);
    enter(&p, GRAPH_NODE, 5, 5); /* If */
    expect_pair(&p, 1, 1);
    enter(&p, NODE_ATTRIBUTE, 2, 2); /* else_branch */
    expect_pair(&p, 1, 1);
    enter(&p, ATTRIBUTE_G, 0, 0);
    expect_pair(&p, 1, 1);
    enter(&p, GRAPH_NODE, 0, 0); /* Loop */
    expect_pair(&p, 1, 1);
    enter(&p, NODE_ATTRIBUTE, 0, 0);
    enter(&p, ATTRIBUTE_G, 0, 0);
    expect_pair(&p, 1, 1);
    enter(&p, GRAPH_NODE, 0, 1); /* the one that stays, now second */
    expect_pair(&p, 0, 0);
    close_pair(&p);
    rmsnorm_document_free(document);
    release(&content);
}

/* A domain that the file does not import; and the new nodes' place behind the last one that went. */
static void test_a_domain_is_imported_when_nodes_need_it(void **state)
{
    (void)state;
    bytes content = strange_model();
    rmsnorm_document *const document = open_bytes(&content);
    rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    const size_t inner = node_named(ir, "inner");
    rmsnorm_ir_node node = *rmsnorm_ir_node_at(ir, inner);
    node.domain = "com.microsoft";
    size_t index;
    assert_int_equal(rmsnorm_ir_set_opset(ir, "com.microsoft", 1), RMSNORM_OK);
    const size_t output = node.outputs[0];
    ir->values[output].shown.maker = RMSNORM_NO_INDEX; /* for the new node, which takes the old one's place */
    assert_int_equal(rmsnorm_ir_insert(ir, &node, inner, &index), RMSNORM_OK);
    rmsnorm_ir_remove(ir, inner);
    ir->values[output].shown.maker = index;
    rmsnorm_ir_settle(ir);
    assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
    Onnx__ModelProto *const after = decode(path_of("out.onnx"));
    assert_int_equal(after->n_opset_import, 3);
    assert_string_equal(after->opset_import[2]->domain, "com.microsoft");
    assert_int_equal(after->opset_import[2]->version, 1);
    const Onnx__GraphProto *const body = after->graph->node[5]->attribute[2]->g->node[0]->attribute[0]->g;
    assert_int_equal(body->n_node, 2);
    assert_string_equal(body->node[1]->domain, "com.microsoft");
    onnx__model_proto__free_unpacked(after, NULL);
    rmsnorm_document_free(document);
    release(&content);
}

static bytes old_model(int version)
{
    bytes graph = {0};
    bytes node = begin_node("Neg", "", "x", "n");
    field_text(&node, NODE_NAME, "square");
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("Abs", "", "n", "y");
    field_text(&node, NODE_NAME, "last");
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "2");
    bytes model = {0};
    if (version > 0) {
        field_varint(&model, MODEL_IR, (uint64_t)version);
    }
    if (version >= 3) {
        put_opset(&model, "", 7);
    }
    field_message(&model, MODEL_GRAPH, &graph);
    return model;
}

static rmsnorm_document *replaced_old_model(int version, const char *domain)
{
    static const char *const names[] = {"square"};
    bytes content = old_model(version);
    rmsnorm_document *const document = open_bytes(&content);
    release(&content);
    rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    const size_t made =
        replace(ir, names, 1, value_named(ir, "x", 0), make_scalar(ir, 0, 1.5f), value_named(ir, "n", 0));
    ir->nodes[made].shown.domain = domain;
    return document;
}

/* An initializer would have to be an input there, which callers would have to give. */
static void test_new_constants_are_nodes_before_ir_version_4(void **state)
{
    (void)state;
    for (int version = 3; version <= 4; version++) {
        rmsnorm_document *const document = replaced_old_model(version, "");
        assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
        Onnx__ModelProto *const after = decode(path_of("out.onnx"));
        const Onnx__GraphProto *const graph = after->graph;
        assert_int_equal(graph->n_initializer, version == 4);
        assert_int_equal(graph->n_node, version == 4 ? 2 : 3);
        assert_int_equal(graph->n_input, 1);
        const Onnx__NodeProto *const first = graph->node[0];
        assert_string_equal(first->op_type, version == 4 ? "RMSNormalization" : "Constant");
        if (version == 3) {
            assert_string_equal(first->output[0], "y_scale");
            assert_string_equal(first->attribute[0]->name, "value");
            assert_memory_equal(first->attribute[0]->t->raw_data.data, "\0\0\xc0?", 4);
        }
        onnx__model_proto__free_unpacked(after, NULL);
        rmsnorm_document_free(document);
    }
}

static void test_models_without_opsets_get_none(void **state)
{
    (void)state;
    rmsnorm_document *document = replaced_old_model(2, "");
    assert_int_equal(rmsnorm_ir_opset(rmsnorm_document_ir(document), ""), 1);
    assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
    rmsnorm_document_free(document);
    document = replaced_old_model(2, "com.microsoft");
    expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_UNSUPPORTED,
                   "is of IR version 2, which imports no opsets, and new nodes need one of \"com.microsoft\"");
    rmsnorm_document_free(document);
    document = replaced_old_model(8, "com.microsoft");
    expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_INVALID_ARGUMENT,
                   "of which no opset was set");
    rmsnorm_document_free(document);
}

static void test_what_cannot_be_written_is_refused(void **state)
{
    (void)state;
    static const rmsnorm_node_attribute attributes[] = {
        {.name = "body", .kind = RMSNORM_NODE_ATTRIBUTE_OTHER},
        {.name = "table", .kind = RMSNORM_NODE_ATTRIBUTE_TENSOR, .tensor = {.dtype = RMSNORM_FLOAT, .rank = 0}}};
    static const char *const parts[] = {"attribute \"body\" of a new node cannot be written", "elements are not known"};
    for (size_t i = 0; i < 2; i++) {
        rmsnorm_document *const document = replaced_old_model(8, "");
        rmsnorm_ir *const ir = rmsnorm_document_ir(document);
        rmsnorm_ir_node *const made = &ir->nodes[rmsnorm_ir_graph_at(ir, 0)->first].shown;
        made->attributes = &attributes[i];
        made->attribute_count = 1;
        remove(path_of("out.onnx"));
        expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_UNSUPPORTED, parts[i]);
        assert_int_equal(directory_count(), 1);
        rmsnorm_document_free(document);
    }
}

static void test_a_value_that_is_needed_has_a_node(void **state)
{
    (void)state;
    static const char *const names[] = {"square", "last"};
    static const char *const parts[] = {"makes \"n\", which is still needed", "makes \"y\", which is still needed"};
    for (size_t i = 0; i < 2; i++) {
        bytes content = old_model(8);
        rmsnorm_document *const document = open_bytes(&content);
        release(&content);
        rmsnorm_ir *const ir = rmsnorm_document_ir(document);
        rmsnorm_ir_remove(ir, node_named(ir, names[i]));
        expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_INVALID_ARGUMENT, parts[i]);
        rmsnorm_document_free(document);
    }
}

/* In the inner graph "x" is another value, so the outer one cannot be named there. */
static void test_a_hidden_value_is_not_named(void **state)
{
    (void)state;
    bytes inner = {0};
    field_text(&inner, GRAPH_NAME, "inner");
    bytes node = begin_node("Abs", "", "w", "x");
    field_message(&inner, GRAPH_NODE, &node);
    node = begin_node("Neg", "", "x", "n");
    field_text(&node, NODE_NAME, "square");
    field_message(&inner, GRAPH_NODE, &node);
    put_value(&inner, GRAPH_OUTPUT, "n", RMSNORM_FLOAT, "2");
    node = begin_node("Abs", "", "n", "last");
    field_message(&inner, GRAPH_NODE, &node);
    bytes graph = {0};
    node = begin_node("If", "", "w", "y");
    put_graph_attribute(&node, "then_branch", &inner);
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2");
    put_value(&graph, GRAPH_INPUT, "w", RMSNORM_FLOAT, "2");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "2");
    bytes content = finish_model(&graph);
    for (size_t seen = 0; seen < 2; seen++) {
        static const char *const names[] = {"square"};
        rmsnorm_document *const document = open_bytes(&content);
        rmsnorm_ir *const ir = rmsnorm_document_ir(document);
        replace(ir, names, 1, value_named(ir, "x", seen), make_scalar(ir, 1, 1.5f), value_named(ir, "n", 1));
        const rmsnorm_status status = rmsnorm_document_save(document, path_of("out.onnx"), NULL);
        if (seen == 1) {
            assert_int_equal(status, RMSNORM_OK);
        } else {
            expect_refusal(status, RMSNORM_UNSUPPORTED,
                           "a new node in graph \"inner\" inside needs the value \"x\" of a graph around it");
        }
        rmsnorm_document_free(document);
    }
    release(&content);
}

static bool has_type(const Onnx__GraphProto *graph, const char *op_type)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        if (strcmp(graph->node[i]->op_type, op_type) == 0) {
            return true;
        }
    }
    return false;
}

/* The whole way, with the rules of rewriting. */
static void test_chains_are_fused_in_all_graphs(void **state)
{
    (void)state;
    bytes content = chain_model();
    rmsnorm_document *document = open_bytes(&content);
    rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    assert_int_equal(rmsnorm_ir_fuse(ir, NULL), RMSNORM_OK);
    assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
    const int64_t opset = rmsnorm_ir_opset(ir, "");
    rmsnorm_document_free(document);
    Onnx__ModelProto *const after = decode(path_of("out.onnx"));
    const Onnx__NodeProto *const branch = after->graph->node[after->graph->n_node - 1];
    const Onnx__GraphProto *const graphs[] = {after->graph, branch->attribute[0]->g, branch->attribute[1]->g};
    for (size_t i = 0; i < 3; i++) {
        assert_false(has_type(graphs[i], "Pow"));
        assert_true(has_type(graphs[i], "RMSNormalization") || has_type(graphs[i], "SimplifiedLayerNormalization"));
        assert_int_equal(graphs[i]->n_node, i == 0 ? 3 : 1);
    }
    assert_int_equal(after->opset_import[0]->version, opset);
    assert_int_equal(after->graph->n_initializer, 2); /* two and epsilon went with the nodes that used them */
    assert_string_equal(after->graph->initializer[0]->name, "gamma");
    assert_string_equal(after->graph->initializer[1]->name, "spare");
    onnx__model_proto__free_unpacked(after, NULL);
    assert_int_equal(rmsnorm_document_open(path_of("out.onnx"), &document), RMSNORM_OK);
    rmsnorm_document_free(document);
    release(&content);
}

/* A model of 2 GiB - 1, most of it a hole: it can be opened and saved in little memory, and cannot grow. */
static void test_a_model_of_the_largest_size_cannot_grow(void **state)
{
    (void)state;
    const uint64_t whole = INT32_MAX;
    bytes content = old_model(8);
    /* An unknown field up to the end. */
    put_varint(&content, 1000 << 3 | 2);
    put_varint(&content, whole - content.size - 5);
    assert_true(content.size < 1000);
    save(path_of("in.onnx"), &content);
    release(&content);
    assert_int_equal(truncate(path_of("in.onnx"), (off_t)whole), 0);
    rmsnorm_document *document;
    assert_int_equal(rmsnorm_document_open(path_of("in.onnx"), &document), RMSNORM_OK);
    static const char *const names[] = {"square"};
    rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    replace(ir, names, 1, value_named(ir, "x", 0), make_scalar(ir, 0, 1.5f), value_named(ir, "n", 0));
    expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_UNSUPPORTED,
                   "bytes when rewritten; a model can have 2147483647");
    rmsnorm_document_free(document);
    assert_int_equal(truncate(path_of("in.onnx"), (off_t)whole + 1), 0);
    expect_refusal(rmsnorm_document_open(path_of("in.onnx"), &document), RMSNORM_UNSUPPORTED,
                   "is larger than the 2147483647 bytes this format can have");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_chain_is_replaced_and_all_else_kept),
        cmocka_unit_test(test_a_change_inside_is_local),
        cmocka_unit_test(test_a_domain_is_imported_when_nodes_need_it),
        cmocka_unit_test(test_new_constants_are_nodes_before_ir_version_4),
        cmocka_unit_test(test_models_without_opsets_get_none),
        cmocka_unit_test(test_what_cannot_be_written_is_refused),
        cmocka_unit_test(test_a_value_that_is_needed_has_a_node),
        cmocka_unit_test(test_a_hidden_value_is_not_named),
        cmocka_unit_test(test_chains_are_fused_in_all_graphs),
        cmocka_unit_test(test_a_model_of_the_largest_size_cannot_grow),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
