/* Models opened for rewriting: what the graph without a file says, and that a model that is only saved is what it was. */
#define _XOPEN_SOURCE 700

#include "graph/models.h"

#include "graph/document.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static rmsnorm_document *open_bytes(bytes *content)
{
    rmsnorm_document *document;
    save(path_of("in.onnx"), content);
    release(content);
    const rmsnorm_status status = rmsnorm_document_open(path_of("in.onnx"), &document);
    if (status != RMSNORM_OK) {
        print_error("%s\n", rmsnorm_last_error());
    }
    assert_int_equal(status, RMSNORM_OK);
    return document;
}

static void expect_refused(bytes *graph, const char *part)
{
    rmsnorm_document *document;
    bytes model = finish_model(graph);
    save(path_of("in.onnx"), &model);
    release(&model);
    expect_refusal(rmsnorm_document_open(path_of("in.onnx"), &document), RMSNORM_MALFORMED, part);
}

static void expect_same_file(const char *left, const char *right)
{
    bytes one = load(left);
    bytes other = load(right);
    assert_int_equal(one.size, other.size);
    assert_memory_equal(one.data, other.data, one.size);
    release(&one);
    release(&other);
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

static void test_a_model_that_is_only_saved_is_the_same(void **state)
{
    (void)state;
    bytes (*const models[])(void) = {rich_model, strange_model};
    for (size_t i = 0; i < 2; i++) {
        bytes content = models[i]();
        rmsnorm_document *const document = open_bytes(&content);
        assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
        expect_same_file(path_of("in.onnx"), path_of("out.onnx"));
        assert_int_equal(rmsnorm_document_save(document, path_of("in.onnx"), NULL), RMSNORM_OK); /* over itself */
        expect_same_file(path_of("in.onnx"), path_of("out.onnx"));
        assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
        rmsnorm_document_free(document);
        assert_int_equal(directory_count(), 2);
    }
}

static void test_a_stream_is_kept_in_memory(void **state)
{
    (void)state;
    const char *const pipe_path = path_of("pipe");
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    bytes content = strange_model();
    save(path_of("in.onnx"), &content);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        save(pipe_path, &content);
        _exit(0);
    }
    release(&content);
    rmsnorm_document *document;
    assert_int_equal(rmsnorm_document_open(pipe_path, &document), RMSNORM_OK);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_OK);
    expect_same_file(path_of("in.onnx"), path_of("out.onnx"));
    rmsnorm_document_free(document);
    assert_int_equal(remove(pipe_path), 0);
}

static void test_the_ir_has_all_graphs(void **state)
{
    (void)state;
    bytes content = strange_model();
    rmsnorm_document *const document = open_bytes(&content);
    const rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    assert_int_equal(rmsnorm_ir_graph_count(ir), 4); /* main, then, else, body */
    assert_int_equal(rmsnorm_ir_node_count(ir), 10);
    const rmsnorm_ir_node *const branch = rmsnorm_ir_node_at(ir, rmsnorm_ir_graph_at(ir, 1)->owner);
    assert_string_equal(branch->op_type, "If");
    assert_int_equal(branch->origin, 5);
    assert_int_equal(rmsnorm_ir_graph_at(ir, 2)->owner, rmsnorm_ir_graph_at(ir, 1)->owner);
    assert_string_equal(rmsnorm_ir_node_at(ir, rmsnorm_ir_graph_at(ir, 3)->owner)->op_type, "Loop");
    const size_t y = value_named(ir, "y", 0);
    const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(ir, y);
    assert_int_equal(value->user_count, 4); /* Own, Neg, Loop, and Mul inside the loop */
    const rmsnorm_ir_node *const inner = rmsnorm_ir_node_at(ir, rmsnorm_ir_graph_at(ir, 3)->last);
    assert_string_equal(inner->op_type, "Mul");
    assert_int_equal(inner->inputs[1], y);
    const rmsnorm_ir_node *const own = rmsnorm_ir_node_at(ir, 4);
    assert_true(own->function);
    assert_false(branch->function);
    assert_int_equal(rmsnorm_ir_opset(ir, "ai.onnx"), 18);
    assert_int_equal(rmsnorm_ir_opset(ir, "local"), 1);
    rmsnorm_document_free(document);
}

static void test_types_and_small_constants_are_known(void **state)
{
    (void)state;
    bytes content = strange_model();
    rmsnorm_document *const document = open_bytes(&content);
    const rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    const rmsnorm_ir_value *value = rmsnorm_ir_value_at(ir, value_named(ir, "epsilon", 0));
    assert_true(value->constant);
    assert_int_equal(value->type.rank, 0);
    assert_true(value->type.data != NULL && *(const float *)value->type.data == 0.25f);
    value = rmsnorm_ir_value_at(ir, value_named(ir, "weights", 0));
    assert_true(value->constant && value->type.data == NULL);
    assert_int_equal(value->type.dims[0], 2000);
    value = rmsnorm_ir_value_at(ir, value_named(ir, "texts", 0));
    assert_int_equal(value->type.dtype, 8);
    value = rmsnorm_ir_value_at(ir, value_named(ir, "thin", 0));
    assert_true(value->constant && value->type.data == NULL);
    assert_int_equal(value->type.dims[0], 4);
    value = rmsnorm_ir_value_at(ir, value_named(ir, "root", 0));
    assert_true(value->type.rank == 2 && value->type.dims[1] == 1 && !value->open && !value->output);
    value = rmsnorm_ir_value_at(ir, value_named(ir, "list", 0));
    assert_true(value->open && value->type.dtype == RMSNORM_UNDEFINED);
    value = rmsnorm_ir_value_at(ir, value_named(ir, "z", 0));
    assert_true(value->output && value->type.rank == 2);
    value = rmsnorm_ir_value_at(ir, value_named(ir, "next", 3));
    assert_true(value->output && value->type.dims[1] == 4);
    rmsnorm_document_free(document);
}

/* An initializer that is an input too: before IR version 4 it had to be one. */
static void test_defaults_are_constants_before_ir_version_4(void **state)
{
    (void)state;
    for (int version = 3; version <= 4; version++) {
        const float two = 2.0f;
        bytes graph = {0};
        bytes node = begin_node("Mul", "", "x two", "y");
        field_message(&graph, GRAPH_NODE, &node);
        bytes tensor = tensor_message("two", RMSNORM_FLOAT, NULL, 0, &two, sizeof two);
        field_message(&graph, GRAPH_INITIALIZER, &tensor);
        put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "S");
        put_value(&graph, GRAPH_INPUT, "two", RMSNORM_FLOAT, "");
        put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "S");
        bytes model = {0};
        field_varint(&model, MODEL_IR, (uint64_t)version);
        put_opset(&model, "", 7);
        field_message(&model, MODEL_GRAPH, &graph);
        rmsnorm_document *const document = open_bytes(&model);
        const rmsnorm_ir *const ir = rmsnorm_document_ir(document);
        const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(ir, value_named(ir, "two", 0));
        assert_int_equal(value->constant, version == 3);
        assert_int_equal(value->type.data != NULL, version == 3);
        assert_int_equal(value->type.rank, 0);
        assert_string_equal(rmsnorm_ir_value_at(ir, value_named(ir, "x", 0))->type.dim_names[0], "S");
        rmsnorm_document_free(document);
    }
}

static void test_attributes_of_all_kinds(void **state)
{
    (void)state;
    bytes node = begin_node("Constant", "", "", "c");
    put_attribute_int(&node, "i", -5);
    put_attribute_float(&node, "f", 0.5f);
    bytes attribute = {0};
    field_text(&attribute, ATTRIBUTE_NAME, "fs");
    field_float(&attribute, ATTRIBUTE_FLOATS, 1.0f);
    field_float(&attribute, ATTRIBUTE_FLOATS, 2.0f);
    field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_FLOATS);
    field_message(&node, NODE_ATTRIBUTE, &attribute);
    const float values[100] = {3.0f};
    for (int large = 0; large < 2; large++) {
        const int64_t dim = large ? 100 : 1;
        bytes tensor = tensor_message("", RMSNORM_FLOAT, &dim, 1, values, (size_t)dim * 4);
        field_text(&attribute, ATTRIBUTE_NAME, large ? "large" : "small");
        field_message(&attribute, ATTRIBUTE_T, &tensor);
        field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_TENSOR);
        field_message(&node, NODE_ATTRIBUTE, &attribute);
    }
    bytes graph = {0};
    field_message(&graph, GRAPH_NODE, &node);
    bytes model = finish_model(&graph);
    rmsnorm_document *const document = open_bytes(&model);
    const rmsnorm_ir_node *const shown = rmsnorm_ir_node_at(rmsnorm_document_ir(document), 0);
    assert_int_equal(shown->attribute_count, 5);
    assert_int_equal(shown->attributes[0].i, -5);
    assert_true(shown->attributes[1].f == 0.5f);
    assert_int_equal(shown->attributes[3].kind, RMSNORM_NODE_ATTRIBUTE_TENSOR);
    assert_true(*(const float *)shown->attributes[3].tensor.data == 3.0f);
    assert_true(shown->attributes[4].tensor.data == NULL && shown->attributes[4].tensor.dims[0] == 100);
    rmsnorm_document_free(document);
}

static bytes one_node(const char *type, const char *inputs, const char *outputs)
{
    bytes graph = {0};
    bytes node = begin_node(type, "", inputs, outputs);
    field_message(&graph, GRAPH_NODE, &node);
    return graph;
}

static void test_names_must_be_defined_once(void **state)
{
    (void)state;
    bytes graph = one_node("Neg", "nothing", "y");
    expect_refused(&graph, "node 0 of the main graph uses \"nothing\", which nothing defines");
    graph = one_node("Neg", "", "y");
    put_value(&graph, GRAPH_INPUT, "y", RMSNORM_FLOAT, "2");
    expect_refused(&graph, "value \"y\" is defined twice in the main graph");
    graph = one_node("Neg", "", "y");
    put_value(&graph, GRAPH_OUTPUT, "w", RMSNORM_FLOAT, "2");
    expect_refused(&graph, "\"w\" is an output of the main graph, but nothing defines it");
    graph = one_node("Neg", "", "y y");
    expect_refused(&graph, "defined twice");
    graph = one_node("Neg", "", "y");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2");
    expect_refused(&graph, "defined twice");
    /* Outer graphs do not see into inner ones. */
    bytes inner = one_node("Neg", "", "hidden");
    bytes node = begin_node("If", "", "", "y");
    field_text(&inner, GRAPH_NAME, "deep");
    put_graph_attribute(&node, "g", &inner);
    graph = one_node("Neg", "hidden", "z");
    field_message(&graph, GRAPH_NODE, &node);
    expect_refused(&graph, "uses \"hidden\", which nothing defines");
    inner = one_node("Neg", "lost", "hidden");
    field_text(&inner, GRAPH_NAME, "deep");
    node = begin_node("If", "", "", "y");
    put_graph_attribute(&node, "g", &inner);
    graph = (bytes){0};
    field_message(&graph, GRAPH_NODE, &node);
    expect_refused(&graph, "node 0 of graph \"deep\" inside uses \"lost\"");
}

static bytes shadowing(bool late)
{
    bytes inner = {0};
    field_text(&inner, GRAPH_NAME, "inner");
    bytes node = begin_node("Neg", "", "x", "n");
    if (late) {
        field_message(&inner, GRAPH_NODE, &node);
    }
    bytes shadow = begin_node("Abs", "", "w", "x");
    field_message(&inner, GRAPH_NODE, &shadow);
    if (!late) {
        field_message(&inner, GRAPH_NODE, &node);
    }
    put_value(&inner, GRAPH_OUTPUT, "n", RMSNORM_FLOAT, "2");
    bytes graph = {0};
    node = begin_node("If", "", "c", "y");
    put_graph_attribute(&node, "then_branch", &inner);
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "c", 9, "");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2");
    put_value(&graph, GRAPH_INPUT, "w", RMSNORM_FLOAT, "2");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "2");
    return graph;
}

static void test_an_inner_name_hides_an_outer_one(void **state)
{
    (void)state;
    bytes graph = shadowing(false);
    bytes model = finish_model(&graph);
    rmsnorm_document *const document = open_bytes(&model);
    const rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    assert_int_equal(rmsnorm_ir_value_at(ir, value_named(ir, "x", 0))->user_count, 0);
    assert_int_equal(rmsnorm_ir_value_at(ir, value_named(ir, "x", 1))->user_count, 1);
    assert_int_equal(rmsnorm_ir_value_at(ir, value_named(ir, "w", 0))->user_count, 1);
    rmsnorm_document_free(document);
    graph = shadowing(true);
    expect_refused(&graph, "which is meant is not clear");
}

/* A branch may give an outer value; then nobody may take that away. */
static void test_an_outer_value_can_be_an_inner_output(void **state)
{
    (void)state;
    bytes inner = {0};
    field_text(&inner, GRAPH_NAME, "inner");
    put_value(&inner, GRAPH_OUTPUT, "m", RMSNORM_FLOAT, "2");
    bytes graph = one_node("Neg", "x", "m");
    bytes node = begin_node("If", "", "x", "y");
    put_graph_attribute(&node, "then_branch", &inner);
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2");
    bytes model = finish_model(&graph);
    rmsnorm_document *const document = open_bytes(&model);
    const rmsnorm_ir *const ir = rmsnorm_document_ir(document);
    assert_true(rmsnorm_ir_value_at(ir, value_named(ir, "m", 0))->output);
    rmsnorm_document_free(document);
}

/* Every prefix of a model is refused or, where it ends between fields, a smaller model. */
static void test_truncated_files_are_refused(void **state)
{
    (void)state;
    bytes model = rich_model();
    const size_t whole = model.size;
    size_t refused = 0;
    for (size_t size = 0; size < whole; size++) {
        rmsnorm_document *document;
        model.size = size;
        save(path_of("in.onnx"), &model);
        const rmsnorm_status status = rmsnorm_document_open(path_of("in.onnx"), &document);
        if (status == RMSNORM_OK) {
            rmsnorm_document_free(document);
        } else {
            expect_refusal(status, RMSNORM_MALFORMED, "in.onnx: ");
            refused++;
        }
    }
    assert_true(refused > whole - 4);
    release(&model);
}

/* Behind data that were left out, the sentence still tells the byte of the file. */
static void test_a_sentence_tells_the_byte_of_the_file(void **state)
{
    (void)state;
    static const float zeros[3000];
    const int64_t dim = 3000;
    bytes graph = {0};
    bytes tensor = tensor_message("w", RMSNORM_FLOAT, &dim, 1, zeros, sizeof zeros);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    bytes node = {0};
    field_bytes(&node, NODE_NAME, "\xff", 1);
    field_message(&graph, GRAPH_NODE, &node);
    bytes model = {0};
    field_message(&model, MODEL_GRAPH, &graph);
    char part[100];
    snprintf(part, sizeof part, "byte %zu, in NodeProto: a name is not UTF-8", model.size - 1);
    save(path_of("in.onnx"), &model);
    release(&model);
    rmsnorm_document *document;
    expect_refusal(rmsnorm_document_open(path_of("in.onnx"), &document), RMSNORM_MALFORMED, part);
}

static void test_a_file_that_changes_meanwhile_is_not_saved(void **state)
{
    (void)state;
    bytes content = strange_model();
    rmsnorm_document *const document = open_bytes(&content);
    assert_int_equal(truncate(path_of("in.onnx"), 100), 0);
    remove(path_of("out.onnx"));
    const size_t before = directory_count();
    expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), NULL), RMSNORM_IO,
                   "in.onnx: has been written to since it was opened");
    assert_int_equal(directory_count(), before);
    rmsnorm_document_free(document);
}

static void test_bad_arguments(void **state)
{
    (void)state;
    rmsnorm_document *document;
    expect_refusal(rmsnorm_document_open("", &document), RMSNORM_INVALID_ARGUMENT, "the name is empty");
    expect_refusal(rmsnorm_document_open(path_of("absent.onnx"), &document), RMSNORM_NOT_FOUND, "absent.onnx");
    expect_refusal(rmsnorm_document_open(path_of("."), &document), RMSNORM_IO, "is a directory");
    rmsnorm_document_free(NULL);
    assert_null(rmsnorm_document_ir(NULL));
    expect_refusal(rmsnorm_document_open(path_of("m.onnx"), NULL), RMSNORM_INVALID_ARGUMENT, "document is NULL");
    expect_refusal(rmsnorm_document_save(NULL, path_of("out.onnx"), NULL), RMSNORM_INVALID_ARGUMENT,
                   "document is NULL");
    bytes content = rich_model();
    document = open_bytes(&content);
    expect_refusal(rmsnorm_document_save(document, "", NULL), RMSNORM_INVALID_ARGUMENT, "the name is empty");
    expect_refusal(rmsnorm_document_save(document, path_of("no/folder.onnx"), NULL), RMSNORM_IO, "folder.onnx");
    const rmsnorm_document_save_options unset = {0};
    expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), &unset), RMSNORM_INVALID_ARGUMENT,
                   "struct_size is 0");
    rmsnorm_document_save_options wrong = RMSNORM_DOCUMENT_SAVE_OPTIONS_INIT;
    wrong.data_files = (rmsnorm_data_files)7;
    expect_refusal(rmsnorm_document_save(document, path_of("out.onnx"), &wrong), RMSNORM_INVALID_ARGUMENT,
                   "none of COPY, LINK and LEAVE");
    rmsnorm_document_free(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_model_that_is_only_saved_is_the_same),
        cmocka_unit_test(test_a_stream_is_kept_in_memory),
        cmocka_unit_test(test_the_ir_has_all_graphs),
        cmocka_unit_test(test_types_and_small_constants_are_known),
        cmocka_unit_test(test_defaults_are_constants_before_ir_version_4),
        cmocka_unit_test(test_attributes_of_all_kinds),
        cmocka_unit_test(test_names_must_be_defined_once),
        cmocka_unit_test(test_an_inner_name_hides_an_outer_one),
        cmocka_unit_test(test_an_outer_value_can_be_an_inner_output),
        cmocka_unit_test(test_truncated_files_are_refused),
        cmocka_unit_test(test_a_sentence_tells_the_byte_of_the_file),
        cmocka_unit_test(test_a_file_that_changes_meanwhile_is_not_saved),
        cmocka_unit_test(test_bad_arguments),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
