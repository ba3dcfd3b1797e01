/* Damaged files of every format: whatever the damage, a reader answers with a status and a sentence. Run under the
 * address and undefined sanitizers this is a proof about memory; without them, about crashes. The seed is fixed;
 * RMSNORM_SEED=N gives another, RMSNORM_MUTATIONS=N more of them. */
#include "graph/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct victim {
    const char *name;
    bytes file;
    rmsnorm_status (*read)(const bytes *file);
    bool any_end; /* cut short between two fields, it is a smaller file of its format */
} victim;

static rmsnorm_status read_and_release(rmsnorm_status (*read)(const bytes *, rmsnorm_tensor *), const bytes *file)
{
    rmsnorm_tensor tensor = {.data = NULL};
    const rmsnorm_status status = read(file, &tensor);
    if (status == RMSNORM_OK) {
        const size_t size = (size_t)rmsnorm_tensor_count(&tensor) * rmsnorm_dtype_size(tensor.dtype);
        uint8_t sum = 0;
        for (size_t i = 0; i < size; i++) {
            sum = (uint8_t)(sum + ((const uint8_t *)tensor.data)[i]);
        }
        (void)sum;
    }
    rmsnorm_tensor_file_release(&tensor);
    return status;
}

static rmsnorm_status try_npy(const bytes *file)
{
    return read_and_release(read_npy, file);
}

static rmsnorm_status try_npy_bfloat16(const bytes *file)
{
    return read_and_release(read_npy_bfloat16, file);
}

static rmsnorm_status try_pb(const bytes *file)
{
    return read_and_release(read_pb, file);
}

static rmsnorm_status read_second(const bytes *file, rmsnorm_tensor *tensor)
{
    return read_safetensors(file, "second", tensor);
}

static rmsnorm_status try_safetensors(const bytes *file)
{
    return read_and_release(read_second, file);
}

static rmsnorm_status try_model(const bytes *file)
{
    rmsnorm_model *model;
    const rmsnorm_status status = read_model(file, &model);
    if (status != RMSNORM_OK) {
        return status;
    }
    const rmsnorm_graph *const graph = rmsnorm_model_graph(model);
    size_t letters = 0;
    for (size_t i = 0; i < graph->node_count; i++) {
        const rmsnorm_operator *op;
        rmsnorm_attributes attributes;
        (void)rmsnorm_node_resolve(model, &graph->nodes[i], &op, &attributes);
        for (size_t k = 0; k < graph->nodes[i].input_count; k++) {
            letters += strlen(graph->nodes[i].inputs[k]);
        }
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        letters += strlen(graph->inputs[i].name);
    }
    assert_true(letters < file->size);
    rmsnorm_model_free(model);
    return RMSNORM_OK;
}

#define VICTIMS 6

static void make_victims(victim *victims)
{
    static const uint8_t data[24] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
    const int64_t dims[] = {2, 3};
    bytes numbers = {0};
    for (int i = 0; i < 6; i++) {
        put_varint(&numbers, 0x3c00u + (unsigned)i);
    }
    bytes typed = {0};
    field_varint(&typed, 1, 6);
    field_varint(&typed, 2, RMSNORM_FLOAT16);
    field_message(&typed, 5, &numbers);
    const victim all[VICTIMS] = {
        {"npy", npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data, 24), try_npy, false},
        {"npy:bfloat16", npy_file("{'descr': '<u2', 'fortran_order': False, 'shape': (12,), }", data, 24),
         try_npy_bfloat16, false},
        {"pb", tensor_message("w", RMSNORM_FLOAT, dims, 2, data, 24), try_pb, false},
        {"pb, typed", typed, try_pb, false},
        {"safetensors",
         safetensors_file("{\"__metadata__\":{\"a\":\"b\"},"
                          "\"first\":{\"dtype\":\"F16\",\"shape\":[4],\"data_offsets\":[0,8]},"
                          "\"second\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[8,24]}}",
                          data, 24),
         try_safetensors, false},
        {"onnx", rich_model(), try_model, true},
    };
    memcpy(victims, all, sizeof all);
}

static void free_victims(victim *victims)
{
    for (size_t i = 0; i < VICTIMS; i++) {
        release(&victims[i].file);
    }
}

/* Statuses a file can earn; memory must not be among them. */
static bool is_answer(rmsnorm_status status)
{
    const bool refused = status == RMSNORM_MALFORMED || status == RMSNORM_UNSUPPORTED || status == RMSNORM_NOT_FOUND ||
                         status == RMSNORM_INVALID_ARGUMENT;
    return status == RMSNORM_OK || (refused && strncmp(rmsnorm_last_error(), "FILE", 4) == 0);
}

static void test_files_cut_at_every_byte_are_refused(void **state)
{
    (void)state;
    victim victims[VICTIMS];
    make_victims(victims);
    for (size_t i = 0; i < VICTIMS; i++) {
        assert_int_equal(victims[i].read(&victims[i].file), RMSNORM_OK);
        for (size_t size = 0; size < victims[i].file.size; size++) {
            /* A copy of just that size, so that a read beyond it is one beyond its memory. */
            bytes cut = {malloc(size + (size == 0)), size, size};
            assert_non_null(cut.data);
            memcpy(cut.data, victims[i].file.data, size);
            const rmsnorm_status status = victims[i].read(&cut);
            if (!is_answer(status) || (status == RMSNORM_OK && !victims[i].any_end)) {
                print_error("%s cut at %zu: status %d, %s\n", victims[i].name, size, status, rmsnorm_last_error());
                fail();
            }
            release(&cut);
        }
    }
    free_victims(victims);
}

static uint64_t next_random(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u; /* splitmix64 */
    uint64_t value = *state;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *const text = getenv(variable);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* One to four changes: a byte, a bit, one of the values parsers stumble over, a byte gone, a byte doubled. */
static void damage(bytes *file, uint64_t *random)
{
    static const uint8_t special[] = {0x00, 0x01, 0x7f, 0x80, 0xff, '{', '"', ','};
    for (uint64_t changes = 1 + next_random(random) % 4; changes > 0 && file->size > 1; changes--) {
        const size_t at = (size_t)(next_random(random) % file->size);
        const uint64_t value = next_random(random);
        switch (next_random(random) % 5) {
        case 0:
            file->data[at] = (uint8_t)value;
            break;
        case 1:
            file->data[at] ^= (uint8_t)(1u << value % 8);
            break;
        case 2:
            file->data[at] = special[value % sizeof special];
            break;
        case 3:
            memmove(file->data + at, file->data + at + 1, file->size - at - 1);
            file->size--;
            break;
        default:
            put(file, "", 1);
            memmove(file->data + at + 1, file->data + at, file->size - at - 1);
            break;
        }
    }
}

static void test_damaged_files_get_an_answer(void **state)
{
    (void)state;
    victim victims[VICTIMS];
    make_victims(victims);
    const uint64_t seed = number_from("RMSNORM_SEED", 20240229);
    const uint64_t rounds = number_from("RMSNORM_MUTATIONS", 4000);
    uint64_t random = seed;
    size_t accepted = 0;
    for (size_t i = 0; i < VICTIMS; i++) {
        for (uint64_t round = 0; round < rounds; round++) {
            bytes file = {0};
            put(&file, victims[i].file.data, victims[i].file.size);
            damage(&file, &random);
            bytes exact = {malloc(file.size), file.size, file.size};
            assert_non_null(exact.data);
            memcpy(exact.data, file.data, file.size);
            release(&file);
            const rmsnorm_status status = victims[i].read(&exact);
            if (!is_answer(status)) {
                print_error("%s, seed %llu, round %llu: status %d, %s\n", victims[i].name, (unsigned long long)seed,
                            (unsigned long long)round, status, rmsnorm_last_error());
                fail();
            }
            accepted += status == RMSNORM_OK;
            release(&exact);
        }
    }
    /* Damage that always or never shows would test little. */
    assert_true(accepted > rounds * VICTIMS / 50 && accepted < rounds * VICTIMS * 4 / 5);
    free_victims(victims);
}

/* A subgraph in an attribute in a node in a graph, `levels` times; written from the inside out, from the end of the
 * memory. */
static bytes nest(size_t levels)
{
    const size_t most = levels * 3 * 7 + 16;
    uint8_t *const memory = malloc(most);
    assert_non_null(memory);
    size_t at = most;
    static const uint8_t tags[] = {GRAPH_NODE << 3 | 2, ATTRIBUTE_G << 3 | 2, NODE_ATTRIBUTE << 3 | 2};
    for (size_t i = 0; i < levels * 3; i++) {
        bytes head = {0};
        const uint8_t tag = tags[i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 0];
        put(&head, &tag, 1);
        put_varint(&head, most - at);
        at -= head.size;
        memcpy(memory + at, head.data, head.size);
        release(&head);
    }
    bytes graph = {0};
    put(&graph, memory + at, most - at);
    free(memory);
    bytes model = {0};
    field_varint(&model, MODEL_IR, 8);
    put_opset(&model, "", 23);
    field_message(&model, MODEL_GRAPH, &graph);
    return model;
}

static void test_depth_is_limited_before_the_stack_is(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes shallow = nest(20);
    assert_int_equal(read_model(&shallow, &model), RMSNORM_OK);
    rmsnorm_model_free(model);
    release(&shallow);
    bytes deeper = nest(22);
    expect_refusal(read_model(&deeper, &model), RMSNORM_MALFORMED, "nested too deeply");
    release(&deeper);
    bytes deep = nest(100000);
    expect_refusal(read_model(&deep, &model), RMSNORM_MALFORMED, "nested too deeply");
    release(&deep);
}

static void test_fields_that_would_be_merged_are_refused(void **state)
{
    (void)state;
    rmsnorm_model *model;
    bytes file = {0};
    for (int i = 0; i < 100000; i++) {
        field_bytes(&file, MODEL_GRAPH, "\x0a\x00", 2);
    }
    expect_refusal(read_model(&file, &model), RMSNORM_MALFORMED,
                   "in ModelProto: a field that may stand once stands twice");
    release(&file);
    bytes dim = {0};
    field_varint(&dim, 1, 2);
    field_text(&dim, 2, "S");
    bytes shape = {0};
    field_message(&shape, 1, &dim);
    bytes tensor = {0};
    field_message(&tensor, 2, &shape);
    bytes type = {0};
    field_message(&type, 1, &tensor);
    bytes value = {0};
    field_text(&value, 1, "x");
    field_message(&value, 2, &type);
    bytes graph = {0};
    field_message(&graph, GRAPH_INPUT, &value);
    bytes both = finish_model(&graph);
    expect_refusal(read_model(&both, &model), RMSNORM_MALFORMED,
                   "in Dimension: a field that may stand once stands twice");
    release(&both);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_cut_at_every_byte_are_refused),
        cmocka_unit_test(test_damaged_files_get_an_answer),
        cmocka_unit_test(test_depth_is_limited_before_the_stack_is),
        cmocka_unit_test(test_fields_that_would_be_merged_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
