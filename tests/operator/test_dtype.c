#include "call_text.h"

static void names_are_those_of_onnx(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *name;
    } cases[] = {{0, "undefined"},       {1, "float"},
                 {2, "uint8"},           {3, "int8"},
                 {4, "uint16"},          {5, "int16"},
                 {6, "int32"},           {7, "int64"},
                 {8, "string"},          {9, "bool"},
                 {10, "float16"},        {11, "double"},
                 {12, "uint32"},         {13, "uint64"},
                 {14, "complex64"},      {15, "complex128"},
                 {16, "bfloat16"},       {17, "float8e4m3fn"},
                 {18, "float8e4m3fnuz"}, {19, "float8e5m2"},
                 {20, "float8e5m2fnuz"}, {21, "uint4"},
                 {22, "int4"},           {23, "float4e2m1"},
                 {24, "float8e8m0"},     {25, "uint2"},
                 {26, "int2"},           {27, "unknown"},
                 {-1, "unknown"},        {INT32_MAX, "unknown"},
                 {INT32_MIN, "unknown"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        assert_string_equal(rmsnorm_dtype_name((rmsnorm_dtype)cases[i].code), cases[i].name);
    }
}

static void four_types_are_read_by_name_and_nothing_else(void **state)
{
    (void)state;
    assert_int_equal(rmsnorm_dtype_from_name("float"), RMSNORM_FLOAT);
    assert_int_equal(rmsnorm_dtype_from_name("float32"), RMSNORM_FLOAT);
    assert_int_equal(rmsnorm_dtype_from_name("float16"), RMSNORM_FLOAT16);
    assert_int_equal(rmsnorm_dtype_from_name("double"), RMSNORM_DOUBLE);
    assert_int_equal(rmsnorm_dtype_from_name("float64"), RMSNORM_DOUBLE);
    assert_int_equal(rmsnorm_dtype_from_name("bfloat16"), RMSNORM_BFLOAT16);
    assert_int_equal(rmsnorm_dtype_from_name("int64"), RMSNORM_UNDEFINED);
    assert_int_equal(rmsnorm_dtype_from_name("FLOAT"), RMSNORM_UNDEFINED);
    assert_int_equal(rmsnorm_dtype_from_name("float "), RMSNORM_UNDEFINED);
    assert_int_equal(rmsnorm_dtype_from_name(""), RMSNORM_UNDEFINED);
    assert_int_equal(rmsnorm_dtype_from_name(NULL), RMSNORM_UNDEFINED);
}

static void sizes_are_bytes_of_the_four_types(void **state)
{
    (void)state;
    for (int code = -1; code < 40; ++code) {
        const size_t size = code == 1 ? 4 : code == 10 || code == 16 ? 2 : code == 11 ? 8 : 0;
        assert_int_equal(rmsnorm_dtype_size((rmsnorm_dtype)code), size);
    }
}

static int64_t count(rmsnorm_dtype dtype, int32_t rank, int64_t a, int64_t b, int64_t c)
{
    const rmsnorm_tensor tensor = {.dtype = dtype, .rank = rank, .dims = {a, b, c}};
    return rmsnorm_tensor_count(&tensor);
}

static void count_is_the_product_or_unknown(void **state)
{
    (void)state;
    assert_int_equal(count(RMSNORM_FLOAT, 0, 7, 7, 7), 1);
    assert_int_equal(count(RMSNORM_FLOAT, 3, 2, 3, 4), 24);
    assert_int_equal(count(RMSNORM_FLOAT, 3, 2, 0, 4), 0);
    assert_int_equal(count(RMSNORM_FLOAT, 3, 2, RMSNORM_UNKNOWN, 4), RMSNORM_UNKNOWN);
    assert_int_equal(count(RMSNORM_FLOAT, 3, 0, RMSNORM_UNKNOWN, 4), RMSNORM_UNKNOWN);
    assert_int_equal(count(RMSNORM_FLOAT, 3, 2, -7, 4), RMSNORM_UNKNOWN);
    assert_int_equal(count(RMSNORM_FLOAT, RMSNORM_UNKNOWN, 2, 3, 4), RMSNORM_UNKNOWN);
    assert_int_equal(count(RMSNORM_FLOAT, 17, 2, 3, 4), RMSNORM_UNKNOWN);
    assert_int_equal(rmsnorm_tensor_count(NULL), RMSNORM_UNKNOWN);
}

static void count_and_its_bytes_fit_int64(void **state)
{
    (void)state;
    const int64_t half = (int64_t)1 << 31;
    assert_int_equal(count(RMSNORM_FLOAT16, 2, half, half / 2, 0), half * (half / 2));
    assert_int_equal(count(RMSNORM_FLOAT16, 2, half, half, 0), RMSNORM_UNKNOWN);
    assert_int_equal(count(RMSNORM_DOUBLE, 2, half, half / 8, 0), half * (half / 8));
    assert_int_equal(count(RMSNORM_DOUBLE, 2, half, half / 4, 0), RMSNORM_UNKNOWN);
    assert_int_equal(count(RMSNORM_UNDEFINED, 2, half, half, 0), half * half);
    assert_int_equal(count(RMSNORM_UNDEFINED, 3, half, half, 2), RMSNORM_UNKNOWN);
    assert_int_equal(count(RMSNORM_FLOAT, 3, INT64_MAX, INT64_MAX, 0), 0);
    assert_int_equal(count(RMSNORM_FLOAT, 3, 0, INT64_MAX, INT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_those_of_onnx),
        cmocka_unit_test(four_types_are_read_by_name_and_nothing_else),
        cmocka_unit_test(sizes_are_bytes_of_the_four_types),
        cmocka_unit_test(count_is_the_product_or_unknown),
        cmocka_unit_test(count_and_its_bytes_fit_int64),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
