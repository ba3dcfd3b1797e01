/* What hostile files cost, and what happens when memory ends. malloc and its kin are wrapped at link time; jansson
 * is told to use the same ones. */
#define _XOPEN_SOURCE 700

#include "graph/models.h"

#include "rewrite/ir.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static size_t allocated;          /* bytes since reset, never less: freeing is not counted */
static size_t requests;           /* since reset */
static size_t failing = SIZE_MAX; /* this request and all later ones get nothing */

static void reset(size_t fail_from)
{
    allocated = 0;
    requests = 0;
    failing = fail_from;
}

static bool grant(size_t size)
{
    allocated += size;
    return requests++ < failing;
}

void *__wrap_malloc(size_t size)
{
    return grant(size) ? __real_malloc(size) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return grant(count * size) ? __real_calloc(count, size) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return grant(size) ? __real_aligned_alloc(alignment, size) : NULL;
}

void *__wrap_realloc(void *memory, size_t size)
{
    return grant(size) ? __real_realloc(memory, size) : NULL;
}

/* All memory ever taken for it, which is more than the peak. */
static size_t cost_of_model(const bytes *file, rmsnorm_status wanted, const char *part)
{
    rmsnorm_model *model;
    reset(SIZE_MAX);
    const rmsnorm_status status = read_model(file, &model);
    if (wanted == RMSNORM_OK) {
        assert_int_equal(status, RMSNORM_OK);
        rmsnorm_model_free(model);
    } else {
        expect_refusal(status, wanted, part);
    }
    return allocated;
}

#define MIB ((size_t)1 << 20)

/* The budget, the file itself, and a little. */
static size_t bound_for(size_t file_size)
{
    return 64 * MIB + 26 * file_size;
}

static void test_empty_messages_do_not_multiply(void **state)
{
    (void)state;
    /* Two bytes each in the file, a hundred or hundreds in memory. */
    static const unsigned fields[] = {GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        bytes graph = {0};
        for (int k = 0; k < 1 << 20; k++) {
            field_bytes(&graph, fields[i], NULL, 0);
        }
        bytes file = finish_model(&graph);
        assert_true(cost_of_model(&file, RMSNORM_MALFORMED, "FILE: ") < bound_for(file.size));
        expect_refusal(RMSNORM_MALFORMED, RMSNORM_MALFORMED, "would unpack to more than");
        release(&file);
    }
}

static void test_empty_attributes_do_not_multiply(void **state)
{
    (void)state;
    bytes node = begin_node("X", "", "a", "b");
    for (int k = 0; k < 1 << 20; k++) {
        field_bytes(&node, NODE_ATTRIBUTE, NULL, 0);
    }
    bytes graph = {0};
    field_message(&graph, GRAPH_NODE, &node);
    bytes file = finish_model(&graph);
    assert_true(cost_of_model(&file, RMSNORM_MALFORMED, "would unpack to more than") < bound_for(file.size));
    release(&file);
}

/* Fewer, so that unpacking fits the budget and the view alone would pass it. */
static void test_the_view_is_paid_from_the_same_budget(void **state)
{
    (void)state;
    bytes node = begin_node("X", "", "a", "b");
    for (int k = 0; k < 150000; k++) {
        field_bytes(&node, NODE_ATTRIBUTE, NULL, 0);
    }
    bytes graph = {0};
    field_message(&graph, GRAPH_NODE, &node);
    bytes file = finish_model(&graph);
    assert_true(cost_of_model(&file, RMSNORM_MALFORMED, "would unpack to more than") < bound_for(file.size));
    release(&file);
}

static void test_unknown_fields_do_not_multiply(void **state)
{
    (void)state;
    bytes file = {0};
    for (int k = 0; k < 4 << 20; k++) {
        field_varint(&file, 9, 1);
    }
    assert_true(cost_of_model(&file, RMSNORM_MALFORMED, "would unpack to more than") < bound_for(file.size));
    release(&file);
}

static void test_honest_models_fit_the_budget(void **state)
{
    (void)state;
    /* A graph of nothing but short nodes with attributes, 100,000 of them, is the dearest an exporter writes. */
    bytes graph = {0};
    for (int i = 0; i < 100000; i++) {
        char input[16];
        char output[16];
        snprintf(input, sizeof input, "v%d s%d", i, i);
        snprintf(output, sizeof output, "v%d", i + 1);
        bytes node = begin_node("LayerNormalization", "", input, output);
        put_attribute_int(&node, "axis", -1);
        put_attribute_float(&node, "epsilon", 1e-5f);
        field_message(&graph, GRAPH_NODE, &node);
    }
    bytes file = finish_model(&graph);
    const size_t cost = cost_of_model(&file, RMSNORM_OK, "");
    print_message("%zu bytes of nodes cost %zu\n", file.size, cost);
    assert_true(cost < bound_for(file.size));
    release(&file);
    /* Numbers of one byte become eight. */
    const size_t count = 16 * MIB;
    bytes tensor = {0};
    uint8_t *const ones = calloc(count, 1);
    assert_non_null(ones);
    field_varint(&tensor, 1, count);
    field_varint(&tensor, 2, 7);
    field_bytes(&tensor, 7, ones, count);
    field_text(&tensor, 8, "long");
    free(ones);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    file = finish_model(&graph);
    assert_true(cost_of_model(&file, RMSNORM_OK, "") < bound_for(file.size));
    release(&file);
}

static void test_weights_cost_what_they_weigh(void **state)
{
    (void)state;
    const size_t size = 32 * MIB;
    const int64_t dim = (int64_t)size / 4;
    uint8_t *const zeros = calloc(size, 1);
    assert_non_null(zeros);
    bytes tensor = tensor_message("w", RMSNORM_FLOAT, &dim, 1, zeros, size);
    free(zeros);
    rmsnorm_tensor read;
    reset(SIZE_MAX);
    assert_int_equal(read_pb(&tensor, &read), RMSNORM_OK);
    assert_true(allocated < 3 * size + MIB);
    rmsnorm_tensor_file_release(&read);
    release(&tensor);
}

static void test_json_does_not_multiply(void **state)
{
    (void)state;
    static const char *const items[] = {"[],", "0,", "\"\",", "{},", "1:"};
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        rmsnorm_tensor tensor;
        bytes header = {0};
        put_text(&header, "{\"x\":[");
        for (int k = 0; k < 1 << 20; k++) {
            put_text(&header, items[i]);
        }
        put(&header, "", 1);
        bytes file = safetensors_file((const char *)header.data, NULL, 0);
        reset(SIZE_MAX);
        expect_refusal(read_safetensors(&file, "x", &tensor), RMSNORM_MALFORMED, "FILE: the safetensors header");
        assert_true(allocated < bound_for(file.size));
        release(&file);
        release(&header);
    }
}

static void test_lying_sizes_are_not_allocated(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    bytes npy = npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}", NULL, 0);
    reset(SIZE_MAX);
    expect_refusal(read_npy(&npy, &tensor), RMSNORM_MALFORMED, "needs");
    assert_true(allocated < 4096);
    release(&npy);
    bytes safetensors = safetensors_file("{\"x\":{\"dtype\":\"F64\",\"shape\":[1099511627776],"
                                         "\"data_offsets\":[0,8796093022208]}}",
                                         NULL, 0);
    reset(SIZE_MAX);
    expect_refusal(read_safetensors(&safetensors, "x", &tensor), RMSNORM_MALFORMED, "tensors take 8796093022208");
    assert_true(allocated < 65536);
    safetensors.data[3] = 5; /* a header of 80 MiB */
    reset(SIZE_MAX);
    expect_refusal(read_safetensors(&safetensors, "x", &tensor), RMSNORM_MALFORMED, "needs");
    assert_true(allocated < 4096);
    release(&safetensors);
    bytes pb = {0};
    field_varint(&pb, 1, (uint64_t)1 << 40);
    field_varint(&pb, 2, RMSNORM_DOUBLE);
    reset(SIZE_MAX);
    expect_refusal(read_pb(&pb, &tensor), RMSNORM_MALFORMED, "no data");
    assert_true(allocated < 4096);
    release(&pb);
}

/* A pipe that claims 32 GiB and delivers 200,000 bytes: what is taken follows what came. */
static void test_a_stream_is_paid_for_what_it_delivers(void **state)
{
    (void)state;
    const char *const path = path_of("stream.npy");
    assert_int_equal(mkfifo(path, 0600), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        static uint8_t zeros[200000];
        bytes file = npy_file("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296,)}", zeros, sizeof zeros);
        save(path, &file);
        _exit(0);
    }
    rmsnorm_tensor tensor;
    reset(SIZE_MAX);
    expect_refusal(rmsnorm_tensor_read(path, &tensor, NULL), RMSNORM_MALFORMED, "needs 34359538368 more");
    assert_true(allocated < (size_t)4 * 200000);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(remove(path), 0);
}

static rmsnorm_status read_first(const bytes *file, rmsnorm_tensor *tensor)
{
    return read_safetensors(file, NULL, tensor);
}

/* Every request in turn is the first to fail: a status, a sentence, and (under the address sanitizer) no leak. */
static void test_every_failed_request_is_an_error(void **state)
{
    (void)state;
    const int64_t dim = 2;
    bytes npy = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", "12345678", 8);
    bytes pb = tensor_message("w", RMSNORM_FLOAT, &dim, 1, "12345678", 8);
    bytes safetensors =
        safetensors_file("{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "12345678", 8);
    rmsnorm_status (*const readers[])(const bytes *, rmsnorm_tensor *) = {read_npy, read_pb, read_first};
    const bytes *const files[] = {&npy, &pb, &safetensors};
    for (size_t i = 0; i < 3; i++) {
        size_t from = 0;
        for (;; from++) {
            rmsnorm_tensor tensor;
            reset(from);
            const rmsnorm_status status = readers[i](files[i], &tensor);
            reset(SIZE_MAX);
            if (status == RMSNORM_OK) {
                rmsnorm_tensor_file_release(&tensor);
                break;
            }
            if (i < 2 || status != RMSNORM_MALFORMED) { /* jansson may take it for bad JSON */
                expect_refusal(status, RMSNORM_OUT_OF_MEMORY, "no memory");
            }
        }
        assert_true(from >= 2);
    }
    release(&npy);
    release(&pb);
    release(&safetensors);
    bytes file = rich_model();
    size_t from = 0;
    for (;; from++) {
        rmsnorm_model *model;
        reset(from);
        const rmsnorm_status status = read_model(&file, &model);
        reset(SIZE_MAX);
        if (status == RMSNORM_OK) {
            rmsnorm_model_free(model);
            break;
        }
        expect_refusal(status, RMSNORM_OUT_OF_MEMORY, "no memory");
    }
    assert_true(from > 20);
    release(&file);
}

static void test_every_failed_request_of_a_writer_is_an_error(void **state)
{
    (void)state;
    float values[] = {1.0f, 2.0f};
    const rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {2}, .data = values};
    static const char *const names[] = {"w.npy", "w.pb", "w.safetensors"};
    for (size_t i = 0; i < 3; i++) {
        size_t from = 0;
        for (;; from++) {
            const char *const path = path_of(names[i]);
            reset(from);
            const rmsnorm_status status = rmsnorm_tensor_write(path, &tensor, "w");
            reset(SIZE_MAX);
            if (status == RMSNORM_OK) {
                break;
            }
            expect_refusal(status, RMSNORM_OUT_OF_MEMORY, "no memory");
            assert_int_equal(directory_count(), i);
        }
        assert_true(from >= 2);
    }
}

/* Opening, and saving to another folder with a data file and a change. */
static void test_every_failed_request_of_a_rewriting_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(mkdir(path_of("in"), 0700), 0);
    assert_int_equal(mkdir(path_of("out"), 0700), 0);
    bytes data = {0};
    put_text(&data, "0123456789abcdef");
    save(path_of("in/w.bin"), &data);
    release(&data);
    bytes graph = {0};
    bytes tensor = external_tensor("w", 4, "w.bin", NULL, NULL);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    bytes node = begin_node("Neg", "", "w", "n");
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("Constant", "", "", "unused");
    put_attribute_float(&node, "value_float", 1.0f);
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_OUTPUT, "n", RMSNORM_FLOAT, "4");
    bytes file = finish_model(&graph);
    save(path_of("in/m.onnx"), &file);
    release(&file);
    size_t from = 0;
    for (;; from++) {
        rmsnorm_document *document;
        reset(from);
        rmsnorm_status status = rmsnorm_document_open(path_of("in/m.onnx"), &document);
        if (status == RMSNORM_OK) {
            rmsnorm_ir_remove(rmsnorm_document_ir(document), 1);
            status = rmsnorm_document_save(document, path_of("out/m.onnx"), NULL);
            rmsnorm_document_free(document);
        }
        reset(SIZE_MAX);
        if (status == RMSNORM_OK) {
            break;
        }
        assert_true(status == RMSNORM_OUT_OF_MEMORY || status == RMSNORM_IO); /* realpath() takes memory too */
        assert_true(rmsnorm_last_error()[0] != '\0');
        assert_int_equal(rmdir(path_of("out")), 0); /* nothing is left in it */
        assert_int_equal(mkdir(path_of("out"), 0700), 0);
    }
    print_message("%zu requests\n", from);
    assert_true(from > 50);
    static const char *const names[] = {"out/m.onnx", "out/w.bin", "in/m.onnx", "in/w.bin", "in", "out"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_int_equal(remove(path_of(names[i])), 0);
    }
}

int main(void)
{
    json_set_alloc_funcs(__wrap_malloc, free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_messages_do_not_multiply),
        cmocka_unit_test(test_empty_attributes_do_not_multiply),
        cmocka_unit_test(test_the_view_is_paid_from_the_same_budget),
        cmocka_unit_test(test_unknown_fields_do_not_multiply),
        cmocka_unit_test(test_honest_models_fit_the_budget),
        cmocka_unit_test(test_weights_cost_what_they_weigh),
        cmocka_unit_test(test_json_does_not_multiply),
        cmocka_unit_test(test_lying_sizes_are_not_allocated),
        cmocka_unit_test(test_a_stream_is_paid_for_what_it_delivers),
        cmocka_unit_test(test_every_failed_request_is_an_error),
        cmocka_unit_test(test_every_failed_request_of_a_writer_is_an_error),
        cmocka_unit_test(test_every_failed_request_of_a_rewriting_is_an_error),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
