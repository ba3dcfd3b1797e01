#include "graph/support.h"

#include "graph/tensor_proto.h"

#include <stdlib.h>
#include <string.h>

enum {
    DIMS = 1,
    DATA_TYPE = 2,
    SEGMENT = 3,
    FLOAT_DATA = 4,
    INT32_DATA = 5,
    STRING_DATA = 6,
    INT64_DATA = 7,
    NAME = 8,
    RAW_DATA = 9,
    DOUBLE_DATA = 10,
    UINT64_DATA = 11,
    EXTERNAL_DATA = 13,
    DATA_LOCATION = 14
};

/* Type and dims only. */
static bytes begin(int32_t type, int64_t dim)
{
    bytes message = {0};
    field_varint(&message, DIMS, (uint64_t)dim);
    field_varint(&message, DATA_TYPE, (uint64_t)type);
    return message;
}

static void expect_read(bytes *message, rmsnorm_dtype dtype, int64_t dim, const void *data, size_t size)
{
    rmsnorm_tensor tensor;
    assert_int_equal(read_pb(message, &tensor), RMSNORM_OK);
    expect_tensor(&tensor, dtype, &dim, 1, data, size);
    rmsnorm_tensor_file_release(&tensor);
    release(message);
}

static void expect_no(bytes *message, rmsnorm_status wanted, const char *part)
{
    rmsnorm_tensor tensor = {.rank = 77};
    expect_refusal(read_pb(message, &tensor), wanted, part);
    assert_int_equal(tensor.rank, 77);
    release(message);
}

static void test_reads_raw_data_of_the_four_types(void **state)
{
    (void)state;
    static const int32_t types[] = {RMSNORM_FLOAT, RMSNORM_DOUBLE, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    const uint64_t patterns[] = {0x7ff4000000000001u, 0xffffffffffffffffu, 0x8000000000000000u, 1};
    for (size_t i = 0; i < 4; i++) {
        const size_t item = rmsnorm_dtype_size((rmsnorm_dtype)types[i]);
        const int64_t dim = (int64_t)(sizeof patterns / item);
        bytes message = tensor_message("w", types[i], &dim, 1, patterns, sizeof patterns);
        expect_read(&message, (rmsnorm_dtype)types[i], dim, patterns, sizeof patterns);
    }
}

static void test_reads_float_data_packed_and_one_by_one(void **state)
{
    (void)state;
    const float values[] = {1.5f, -2.0f};
    bytes packed = begin(RMSNORM_FLOAT, 2);
    field_bytes(&packed, FLOAT_DATA, values, sizeof values);
    expect_read(&packed, RMSNORM_FLOAT, 2, values, sizeof values);
    bytes single = begin(RMSNORM_FLOAT, 2);
    field_float(&single, FLOAT_DATA, values[0]);
    field_float(&single, FLOAT_DATA, values[1]);
    expect_read(&single, RMSNORM_FLOAT, 2, values, sizeof values);
    const double wide = 0.1;
    bytes doubles = begin(RMSNORM_DOUBLE, 1);
    field_bytes(&doubles, DOUBLE_DATA, &wide, sizeof wide);
    expect_read(&doubles, RMSNORM_DOUBLE, 1, &wide, sizeof wide);
}

static void test_reads_16_bit_patterns_from_int32_data(void **state)
{
    (void)state;
    static const int32_t types[] = {RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    const uint16_t wanted[] = {0x3c00, 0xffff, 0};
    for (size_t i = 0; i < 2; i++) {
        bytes numbers = {0};
        for (size_t k = 0; k < 3; k++) {
            put_varint(&numbers, wanted[k]);
        }
        bytes message = begin(types[i], 3);
        field_message(&message, INT32_DATA, &numbers);
        expect_read(&message, (rmsnorm_dtype)types[i], 3, wanted, sizeof wanted);
        bytes high = begin(types[i], 1);
        field_varint(&high, INT32_DATA, 65536);
        expect_no(&high, RMSNORM_MALFORMED, "65536 as element 0 of int32_data; 0 to 65535");
        bytes negative = begin(types[i], 1);
        field_varint(&negative, INT32_DATA, (uint64_t)-1);
        expect_no(&negative, RMSNORM_MALFORMED, "-1 as element 0");
    }
}

static void test_reads_scalars_and_tensors_without_elements(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    const float one = 1.0f;
    bytes scalar = {0};
    field_varint(&scalar, DATA_TYPE, RMSNORM_FLOAT);
    field_bytes(&scalar, RAW_DATA, &one, sizeof one);
    assert_int_equal(read_pb(&scalar, &tensor), RMSNORM_OK);
    expect_tensor(&tensor, RMSNORM_FLOAT, NULL, 0, &one, sizeof one);
    rmsnorm_tensor_file_release(&tensor);
    release(&scalar);
    bytes none = begin(RMSNORM_DOUBLE, 0);
    expect_read(&none, RMSNORM_DOUBLE, 0, NULL, 0);
    bytes empty = begin(RMSNORM_BFLOAT16, 0);
    field_bytes(&empty, RAW_DATA, NULL, 0);
    expect_read(&empty, RMSNORM_BFLOAT16, 0, NULL, 0);
}

static void test_refuses_missing_and_unsupported_types(void **state)
{
    (void)state;
    bytes nothing = {0};
    expect_no(&nothing, RMSNORM_MALFORMED, "no element type");
    bytes undefined = begin(0, 1);
    expect_no(&undefined, RMSNORM_MALFORMED, "no element type");
    bytes negative = begin(-3, 1);
    expect_no(&negative, RMSNORM_MALFORMED, "no element type");
    const int64_t value = 1;
    const int64_t dim = 1;
    bytes int64 = tensor_message("w", 7, &dim, 1, &value, sizeof value);
    expect_no(&int64, RMSNORM_UNSUPPORTED, "int64 (data_type 7); float, double, float16 and bfloat16");
    bytes unknown = begin(5000, 1);
    expect_no(&unknown, RMSNORM_UNSUPPORTED, "has element type unknown (data_type 5000)");
}

static void test_refuses_data_that_differs_from_the_shape(void **state)
{
    (void)state;
    const int64_t dim = 3;
    bytes shorter = tensor_message("w", RMSNORM_FLOAT, &dim, 1, "12345678901", 11);
    expect_no(&shorter, RMSNORM_MALFORMED, "11 bytes in raw_data, but its shape and type need 12");
    bytes longer = tensor_message("w", RMSNORM_FLOAT, &dim, 1, "1234567890123", 13);
    expect_no(&longer, RMSNORM_MALFORMED, "13 bytes in raw_data");
    bytes few = begin(RMSNORM_FLOAT, 3);
    field_float(&few, FLOAT_DATA, 1.0f);
    expect_no(&few, RMSNORM_MALFORMED, "1 elements in float_data, but its shape and type need 3");
    bytes none = begin(RMSNORM_FLOAT, 3);
    expect_no(&none, RMSNORM_MALFORMED, "no data for the 3 elements");
    bytes surplus = begin(RMSNORM_FLOAT, 0);
    field_float(&surplus, FLOAT_DATA, 1.0f);
    expect_no(&surplus, RMSNORM_MALFORMED, "need 0");
    bytes claims = begin(RMSNORM_FLOAT, INT64_C(1) << 60);
    field_float(&claims, FLOAT_DATA, 1.0f);
    expect_no(&claims, RMSNORM_MALFORMED, "need 1152921504606846976");
    bytes negative = begin(RMSNORM_FLOAT, -1);
    expect_no(&negative, RMSNORM_MALFORMED, "dim 0 = -1");
    bytes overflow = begin(RMSNORM_FLOAT, INT64_MAX);
    field_varint(&overflow, DIMS, 2);
    expect_no(&overflow, RMSNORM_MALFORMED, "do not fit");
}

static void test_refuses_wrong_and_doubled_data_fields(void **state)
{
    (void)state;
    bytes both = begin(RMSNORM_FLOAT, 1);
    field_float(&both, FLOAT_DATA, 1.0f);
    field_bytes(&both, RAW_DATA, "1234", 4);
    expect_no(&both, RMSNORM_MALFORMED, "both raw_data and float_data");
    bytes wrong = begin(RMSNORM_FLOAT, 1);
    field_bytes(&wrong, DOUBLE_DATA, "12345678", 8);
    expect_no(&wrong, RMSNORM_MALFORMED, "elements in double_data; raw_data and float_data are allowed");
    static const unsigned others[] = {INT64_DATA, UINT64_DATA, STRING_DATA, INT32_DATA};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        bytes other = begin(RMSNORM_DOUBLE, 1);
        field_bytes(&other, others[i], "\x01", 1);
        expect_no(&other, RMSNORM_MALFORMED, "raw_data and double_data are allowed");
    }
}

static void test_refuses_segments_and_data_in_other_files(void **state)
{
    (void)state;
    bytes part = begin(RMSNORM_FLOAT, 0);
    field_bytes(&part, SEGMENT, NULL, 0);
    expect_no(&part, RMSNORM_UNSUPPORTED, "segment");
    bytes external = begin(RMSNORM_FLOAT, 0);
    field_varint(&external, DATA_LOCATION, 1);
    expect_no(&external, RMSNORM_UNSUPPORTED, "in another file");
    bytes entry = {0};
    field_text(&entry, 1, "location");
    field_text(&entry, 2, "/etc/passwd");
    bytes location = begin(RMSNORM_FLOAT, 0);
    field_message(&location, EXTERNAL_DATA, &entry);
    expect_no(&location, RMSNORM_UNSUPPORTED, "in another file");
}

static void test_refuses_broken_wire(void **state)
{
    (void)state;
    static const struct {
        const char *wire;
        size_t size;
        const char *part;
    } cases[] = {
        {"\x08", 1, "byte 1, in TensorProto: a number does not end"},
        {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12, "a number does not end"},
        {"\x00\x00", 2, "byte 0, in TensorProto: a field number is due"},
        {"\x80", 1, "a field number is due"},
        {"\xff\xff\xff\xff\x7f", 5, "a field number is due"},
        {"\x10\x01\x10\x01", 4, "byte 2, in TensorProto: a field that may stand once stands twice"},
        {"\x13\x14", 2, "unknown wire type"},
        {"\x96\x06", 2, "unknown wire type"},
        {"\x12\x00", 2, "wire type of another type"},
        {"\x4d\x00\x00\x00\x00", 5, "wire type of another type"},
        {"\x4a\x05\x00", 3, "longer than what encloses it"},
        {"\x4a\xff\xff\xff\xff\xff\x01", 7, "longer than what encloses it"},
        {"\x22\x03\x00\x00\x00", 5, "4 bytes are due"},
        {"\x52\x07\x00\x00\x00\x00\x00\x00\x00", 9, "8 bytes are due"},
        {"\x0a\x01\x80", 3, "a number does not end"},
        {"\x42\x01\xff", 3, "not UTF-8"},
        {"\x42\x02\x61\x00", 4, "not UTF-8"},
        {"\x1a\x02\x08\x80", 4, "in Segment: a number does not end"},
        {"\xa5\x06\x00", 3, "4 bytes are due"},
        {"\xa1\x06\x00", 3, "8 bytes are due"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes message = {0};
        put(&message, cases[i].wire, cases[i].size);
        expect_no(&message, RMSNORM_MALFORMED, cases[i].part);
    }
}

static void test_unknown_fields_and_bad_doc_strings_are_passed_over(void **state)
{
    (void)state;
    const float one = 1.0f;
    bytes message = begin(RMSNORM_FLOAT, 1);
    field_bytes(&message, 12, "\xff\x00", 2);
    field_varint(&message, 100, 5);
    field_bytes(&message, 101, "\x80", 1);
    field_float(&message, 102, 2.0f);
    field_bytes(&message, RAW_DATA, &one, sizeof one);
    expect_read(&message, RMSNORM_FLOAT, 1, &one, sizeof one);
}

static void test_name_is_kept(void **state)
{
    (void)state;
    const int64_t dim = 1;
    const char *name = NULL;
    rmsnorm_tensor tensor;
    bytes message = tensor_message("gewicht \xc3\xa9", RMSNORM_FLOAT, &dim, 1, "1234", 4);
    rmsnorm_source source = rmsnorm_source_memory("FILE", message.data, message.size);
    assert_int_equal(rmsnorm_tensor_proto_read(&source, &tensor, &name), RMSNORM_OK);
    assert_string_equal(name, "gewicht \xc3\xa9");
    rmsnorm_tensor_file_release(&tensor);
    release(&message);
}

static void test_refuses_to_write_more_than_protobuf_holds(void **state)
{
    (void)state;
    uint8_t *header;
    size_t size;
    const rmsnorm_tensor large = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {INT64_C(1) << 30}};
    expect_refusal(rmsnorm_tensor_proto_header_write("FILE", &large, NULL, &header, &size), RMSNORM_UNSUPPORTED,
                   "2 GiB");
    const rmsnorm_tensor fits = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {(INT64_C(1) << 30) - 20}};
    assert_int_equal(rmsnorm_tensor_proto_header_write("FILE", &fits, NULL, &header, &size), RMSNORM_OK);
    free(header);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_raw_data_of_the_four_types),
        cmocka_unit_test(test_reads_float_data_packed_and_one_by_one),
        cmocka_unit_test(test_reads_16_bit_patterns_from_int32_data),
        cmocka_unit_test(test_reads_scalars_and_tensors_without_elements),
        cmocka_unit_test(test_refuses_missing_and_unsupported_types),
        cmocka_unit_test(test_refuses_data_that_differs_from_the_shape),
        cmocka_unit_test(test_refuses_wrong_and_doubled_data_fields),
        cmocka_unit_test(test_refuses_segments_and_data_in_other_files),
        cmocka_unit_test(test_refuses_broken_wire),
        cmocka_unit_test(test_unknown_fields_and_bad_doc_strings_are_passed_over),
        cmocka_unit_test(test_name_is_kept),
        cmocka_unit_test(test_refuses_to_write_more_than_protobuf_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
