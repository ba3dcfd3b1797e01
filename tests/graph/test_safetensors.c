#include "graph/support.h"

#include "graph/safetensors.h"

#include <stdlib.h>
#include <string.h>

/* Two tensors, out of the order of their bytes, one without elements between them, and metadata. */
#define TWO                                                                \
    "{\"__metadata__\":{\"format\":\"pt\"},"                               \
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[2],\"data_offsets\":[8,12]},"    \
    "\"none\":{\"dtype\":\"F64\",\"shape\":[4,0],\"data_offsets\":[8,8]}," \
    "\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}  "

static const uint8_t twelve[] = {0, 0, 0x80, 0x3f, 0, 0, 0x20, 0xc0, 0x80, 0x3f, 0x20, 0xc0};

static void expect_no(const char *header, size_t size, const char *wanted, rmsnorm_status status, const char *part)
{
    rmsnorm_tensor tensor = {.rank = 77};
    bytes file = safetensors_file(header, twelve, size);
    expect_refusal(read_safetensors(&file, wanted, &tensor), status, part);
    assert_int_equal(tensor.rank, 77);
    release(&file);
}

static void test_reads_the_tensor_asked_for(void **state)
{
    (void)state;
    const float a[] = {1.0f, -2.5f};
    const uint16_t b[] = {0x3f80, 0xc020};
    const int64_t dims[][2] = {{1, 2}, {2, 0}, {4, 0}};
    rmsnorm_tensor tensor;
    bytes file = safetensors_file(TWO, twelve, sizeof twelve);
    assert_int_equal(read_safetensors(&file, "a", &tensor), RMSNORM_OK);
    expect_tensor(&tensor, RMSNORM_FLOAT, dims[0], 2, a, sizeof a);
    rmsnorm_tensor_file_release(&tensor);
    assert_int_equal(read_safetensors(&file, "b", &tensor), RMSNORM_OK);
    expect_tensor(&tensor, RMSNORM_BFLOAT16, dims[1], 1, b, sizeof b);
    rmsnorm_tensor_file_release(&tensor);
    assert_int_equal(read_safetensors(&file, "none", &tensor), RMSNORM_OK);
    expect_tensor(&tensor, RMSNORM_DOUBLE, dims[2], 2, NULL, 0);
    rmsnorm_tensor_file_release(&tensor);
    release(&file);
}

static void test_the_only_tensor_needs_no_name(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    bytes file = safetensors_file("{\"x\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]}}", twelve, 2);
    assert_int_equal(read_safetensors(&file, NULL, &tensor), RMSNORM_OK);
    expect_tensor(&tensor, RMSNORM_FLOAT16, NULL, 0, twelve, 2);
    rmsnorm_tensor_file_release(&tensor);
    release(&file);
    expect_no(TWO, 12, NULL, RMSNORM_INVALID_ARGUMENT,
              "holds 3 tensors; name one as FILE.safetensors:TENSOR (a, none, b)");
    expect_no(TWO, 12, "c", RMSNORM_NOT_FOUND, "no tensor \"c\"; it holds 3 (a, none, b)");
    expect_no("{}", 0, NULL, RMSNORM_NOT_FOUND, "holds no tensors; a file with at least one is needed");
    expect_no("{}", 0, "c", RMSNORM_NOT_FOUND, "holds no tensors");
}

#define ONE(dtype, shape, offsets) "{\"x\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"

static void test_refuses_entries_that_contradict_themselves(void **state)
{
    (void)state;
    static const struct {
        const char *header, *part;
    } cases[] = {
        {ONE("\"F32\"", "[3]", "[0,8]"), "has 8 bytes by data_offsets, but its shape and type need 12"},
        {ONE("\"F32\"", "[3]", "[8,0]"), "0 <= begin <= end"},
        {ONE("\"F32\"", "[3]", "[-12,0]"), "0 <= begin <= end"},
        {ONE("\"F32\"", "[3]", "[0]"), "[begin, end]"},
        {ONE("\"F32\"", "[3]", "[0,6,12]"), "[begin, end]"},
        {ONE("\"F32\"", "[3]", "[0,12.0]"), "[begin, end]"},
        {ONE("\"F32\"", "[-3]", "[0,12]"), "no integer >= 0"},
        {ONE("\"F32\"", "[3.0]", "[0,12]"), "no integer >= 0"},
        {ONE("\"F32\"", "[\"3\"]", "[0,12]"), "no integer >= 0"},
        {ONE("\"F32\"", "[4611686018427387904,4]", "[0,12]"), "do not fit"},
        {ONE("\"F32\"", "[4611686018427387904,0]", "[0,12]"), "need 0"},
        {ONE("\"U8\"", "[3]", "[0,12]"), "need 3"},
        {ONE("\"F32\"", "3", "[0,12]"), "lacks a dtype"},
        {ONE("1", "[3]", "[0,12]"), "lacks a dtype"},
        {ONE("\"F32\"", "[3]", "{}"), "lacks a dtype"},
        {"{\"x\":[]}", "lacks a dtype"},
        {"{\"x\":{}}", "lacks a dtype"},
        {"{\"__metadata__\":{\"a\":1}}", "not strings by name"},
        {"{\"__metadata__\":[]}", "not strings by name"},
        {ONE("\"F32\"", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,3]", "[0,12]"), "at most 16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_no(cases[i].header, 12, NULL, RMSNORM_MALFORMED, cases[i].part);
    }
    expect_no(ONE("\"I32\"", "[3]", "[0,12]"), 12, NULL, RMSNORM_UNSUPPORTED, "\"I32\"; F32, F64, F16 and BF16");
    expect_no(ONE("\"F4\"", "[24]", "[0,12]"), 12, NULL, RMSNORM_UNSUPPORTED, "\"F4\"; F32, F64, F16 and BF16");
}

#define PAIR(first, second)                                               \
    "{\"x\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" first "}," \
    "\"y\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":" second "}}"

static void test_refuses_holes_and_overlaps(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    bytes file = safetensors_file(PAIR("[0,4]", "[4,8]"), twelve, 8);
    assert_int_equal(read_safetensors(&file, "y", &tensor), RMSNORM_OK);
    rmsnorm_tensor_file_release(&tensor);
    release(&file);
    expect_no(PAIR("[0,4]", "[5,9]"), 9, "y", RMSNORM_MALFORMED, "begins at byte 5 of the data, after 4");
    expect_no(PAIR("[0,4]", "[3,7]"), 7, "y", RMSNORM_MALFORMED, "begins at byte 3 of the data, before 4");
    expect_no(PAIR("[0,4]", "[0,4]"), 4, "y", RMSNORM_MALFORMED, "before 4");
    expect_no(PAIR("[1,5]", "[5,9]"), 9, "y", RMSNORM_MALFORMED, "begins at byte 1 of the data, after 0");
}

static void test_refuses_files_of_another_size(void **state)
{
    (void)state;
    expect_no(TWO, 11, "a", RMSNORM_MALFORMED, "has 11 bytes after the header, but its tensors take 12");
    bytes longer = safetensors_file(TWO, twelve, sizeof twelve);
    put(&longer, "x", 1);
    rmsnorm_tensor tensor;
    expect_refusal(read_safetensors(&longer, "a", &tensor), RMSNORM_MALFORMED, "has 13 bytes after the header");
    release(&longer);
}

static void test_refuses_headers_that_are_not_json(void **state)
{
    (void)state;
    static const char *const headers[] = {
        "{",
        "{\"x\":}",
        "{\"x\":1}}",
        "{'x':1}",
        "{\"x\":\"\xff\"}",
        "{\"x\":1,\"x\":2}",
        "{\"\\u0000\":1}",
        "{} x",
        "{\"x\":99999999999999999999}",
        "{\"x\":nul}",
    };
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        expect_no(headers[i], 0, NULL, RMSNORM_MALFORMED, "is not the JSON it must be");
    }
    expect_no("", 0, NULL, RMSNORM_MALFORMED, "does not begin with a brace");
    expect_no(" {}", 0, NULL, RMSNORM_MALFORMED, "does not begin with a brace");
    expect_no("{\"x\":{\"shape\":[[1]]}}", 0, NULL, RMSNORM_MALFORMED, "nested deeper");
    expect_no("{\"x\":{\"a\":{\"b\":{}}}}", 0, NULL, RMSNORM_MALFORMED, "nested deeper");
}

static void test_refuses_lying_header_lengths(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    bytes file = safetensors_file(TWO, twelve, sizeof twelve);
    file.data[2] = 1;
    expect_refusal(read_safetensors(&file, "a", &tensor), RMSNORM_MALFORMED, "the safetensors header needs");
    file.data[5] = 1;
    expect_refusal(read_safetensors(&file, "a", &tensor), RMSNORM_MALFORMED, "at most 100000000");
    release(&file);
}

static void test_unknown_keys_of_a_tensor_are_passed_over(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    bytes file = safetensors_file("{\"x\":{\"dtype\":\"F16\",\"new\":\"\\\"{[\",\"shape\":[1],\"data_offsets\":[0,2]}}",
                                  twelve, 2);
    assert_int_equal(read_safetensors(&file, "x", &tensor), RMSNORM_OK);
    rmsnorm_tensor_file_release(&tensor);
    release(&file);
}

static void test_written_headers_are_padded_to_8_bytes(void **state)
{
    (void)state;
    const rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT, .rank = 2, .dims = {2, 3}};
    char name[12] = "";
    for (size_t length = 0; length < 10; length++) {
        uint8_t *header;
        size_t size;
        assert_int_equal(rmsnorm_safetensors_header_write("FILE", &tensor, name, &header, &size), RMSNORM_OK);
        assert_int_equal(size % 8, 0);
        assert_int_equal(header[0] + 256 * header[1], size - 8);
        assert_int_equal(header[8], '{');
        free(header);
        name[length] = 'n';
    }
    uint8_t *none;
    size_t size;
    expect_refusal(rmsnorm_safetensors_header_write("FILE", &tensor, "__metadata__", &none, &size),
                   RMSNORM_INVALID_ARGUMENT, "cannot be called \"__metadata__\"");
    expect_refusal(rmsnorm_safetensors_header_write("FILE", &tensor, "\xff", &none, &size), RMSNORM_INVALID_ARGUMENT,
                   "UTF-8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_the_tensor_asked_for),
        cmocka_unit_test(test_the_only_tensor_needs_no_name),
        cmocka_unit_test(test_refuses_entries_that_contradict_themselves),
        cmocka_unit_test(test_refuses_holes_and_overlaps),
        cmocka_unit_test(test_refuses_files_of_another_size),
        cmocka_unit_test(test_refuses_headers_that_are_not_json),
        cmocka_unit_test(test_refuses_lying_header_lengths),
        cmocka_unit_test(test_unknown_keys_of_a_tensor_are_passed_over),
        cmocka_unit_test(test_written_headers_are_padded_to_8_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
