#include "graph/support.h"

#include <string.h>

static const float six[] = {1.0f, -2.5f, 3.0f, 0.0f, -0.0f, 1e-40f};

static void expect_npy(const char *dict, size_t size, rmsnorm_status wanted, const char *part)
{
    rmsnorm_tensor tensor = {.rank = 77};
    bytes file = npy_file(dict, six, size);
    expect_refusal(read_npy(&file, &tensor), wanted, part);
    assert_int_equal(tensor.rank, 77);
    release(&file);
}

static void test_reads_what_numpy_writes(void **state)
{
    (void)state;
    static const char *const dicts[] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }          \n",
        "{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"<f4\"}",
        "{ 'fortran_order' : False , 'descr' : '<f4' , 'shape' : ( 2L , 3L , ) }\n",
    };
    const int64_t dims[] = {2, 3};
    for (size_t i = 0; i < sizeof dicts / sizeof dicts[0]; i++) {
        rmsnorm_tensor tensor;
        bytes file = npy_file(dicts[i], six, sizeof six);
        assert_int_equal(read_npy(&file, &tensor), RMSNORM_OK);
        expect_tensor(&tensor, RMSNORM_FLOAT, dims, 2, six, sizeof six);
        rmsnorm_tensor_file_release(&tensor);
        release(&file);
    }
}

static void test_reads_versions_2_and_3_and_refuses_others(void **state)
{
    (void)state;
    const char *const dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}\n";
    const int64_t dims[] = {6};
    for (int version = 0; version <= 4; version++) {
        rmsnorm_tensor tensor;
        bytes file = {0};
        put(&file, "\x93NUMPY", 6);
        put_little(&file, (uint64_t)version, 2);
        put_little(&file, strlen(dict), version == 1 ? 2 : 4);
        put_text(&file, dict);
        put(&file, six, sizeof six);
        const rmsnorm_status status = read_npy(&file, &tensor);
        if (version >= 1 && version <= 3) {
            assert_int_equal(status, RMSNORM_OK);
            expect_tensor(&tensor, RMSNORM_FLOAT, dims, 1, six, sizeof six);
            rmsnorm_tensor_file_release(&tensor);
        } else {
            expect_refusal(status, RMSNORM_UNSUPPORTED, "version");
        }
        file.data[7] = 1;
        expect_refusal(read_npy(&file, &tensor), RMSNORM_UNSUPPORTED, "1.0, 2.0 and 3.0");
        release(&file);
    }
}

static void test_big_endian_items_are_turned(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    bytes file = npy_file("{'descr': '>f8', 'fortran_order': False, 'shape': ()}", "\x3f\xf8\0\0\0\0\0\0", 8);
    assert_int_equal(read_npy(&file, &tensor), RMSNORM_OK);
    const double wanted = 1.5;
    expect_tensor(&tensor, RMSNORM_DOUBLE, NULL, 0, &wanted, sizeof wanted);
    rmsnorm_tensor_file_release(&tensor);
    release(&file);
}

static void test_bfloat16_needs_the_suffix(void **state)
{
    (void)state;
    static const char *const codes[] = {"<u2", "<i2", "<f2", "|V2", ">u2", "<f4", "|u2", "<V2", "=u2"};
    const uint16_t bits[] = {0x3f80, 0xc020};
    const int64_t dims[] = {2};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char dict[100] = "{'descr': '", *const at = dict + strlen(dict);
        strcat(strcpy(at, codes[i]), "', 'fortran_order': False, 'shape': (2,)}");
        rmsnorm_tensor tensor;
        bytes file = npy_file(dict, NULL, 0);
        put(&file, codes[i][0] == '>' ? "\x3f\x80\xc0\x20" : "\x80\x3f\x20\xc0", 4);
        if (i < 5) {
            assert_int_equal(read_npy_bfloat16(&file, &tensor), RMSNORM_OK);
            expect_tensor(&tensor, RMSNORM_BFLOAT16, dims, 1, bits, sizeof bits);
            rmsnorm_tensor_file_release(&tensor);
        } else {
            expect_refusal(read_npy_bfloat16(&file, &tensor), RMSNORM_UNSUPPORTED, "with :bfloat16 allowed are");
        }
        if (strchr("uVi", codes[i][1]) != NULL) {
            const char *const hint = i < 5 ? "as bfloat16 when the name ends in .npy:bfloat16" : "allowed are \"<f2\"";
            expect_refusal(read_npy(&file, &tensor), RMSNORM_UNSUPPORTED, hint);
        }
        release(&file);
    }
}

static void test_refuses_other_elements(void **state)
{
    (void)state;
    static const char *const codes[] = {"'<i8'", "'|O'", "'<c8'", "'|b1'", "'<U3'", "'f4'", "''", "'<f4x'", "'<f16'"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        char dict[100] = "{'descr': ", *const at = dict + strlen(dict);
        strcat(strcpy(at, codes[i]), ", 'fortran_order': False, 'shape': (1,)}");
        expect_npy(dict, 4, RMSNORM_UNSUPPORTED, "allowed are \"<f2\", \"<f4\" and \"<f8\"");
    }
    expect_npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, RMSNORM_UNSUPPORTED,
               "structured");
}

static void test_refuses_fortran_order_where_it_matters(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    expect_npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 24, RMSNORM_UNSUPPORTED, "Fortran");
    bytes file = npy_file("{'descr': '<f4', 'fortran_order': True, 'shape': (6,)}", six, sizeof six);
    assert_int_equal(read_npy(&file, &tensor), RMSNORM_OK);
    rmsnorm_tensor_file_release(&tensor);
    release(&file);
}

static void test_refuses_headers_that_are_not_numpys(void **state)
{
    (void)state;
    static const struct {
        const char *dict, *part;
    } cases[] = {
        {"", "lacks a '{'"},
        {"{}", "lacks one of"},
        {"{'descr': '<f4', 'fortran_order': False}", "lacks one of"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'x': 1}", "the key \"x\""},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", "\"descr\" twice"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}", "comma missing between"},
        {"{'descr' '<f4'}", "lacks a ':'"},
        {"{descr: '<f4'}", "quoted string"},
        {"{'descr': '<f4", "unending"},
        {"{'descr': '<\\x664', 'fortran_order': False, 'shape': (1,)}", "escaped"},
        {"{'descr': '<f44444444444444', 'fortran_order': False, 'shape': (1,)}", "too long"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': Fals", "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1)}", "no tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [1]}", "lacks a '('"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}", "comma missing"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "no tuple of numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (,)}", "no tuple of numbers"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1", "comma missing"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", "beyond 63 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", "do not fit"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)}", "more than 16 dims"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", "after its closing brace"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_npy(cases[i].dict, 4, RMSNORM_MALFORMED, cases[i].part);
    }
}

static void test_refuses_data_that_differs_from_the_shape(void **state)
{
    (void)state;
    const char *const dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}";
    expect_npy(dict, 11, RMSNORM_MALFORMED, "needs 1 more");
    expect_npy(dict, 13, RMSNORM_MALFORMED, "goes on after");
    expect_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776, 1024)}", 24, RMSNORM_MALFORMED,
               "more");
}

static void test_refuses_lying_header_lengths(void **state)
{
    (void)state;
    rmsnorm_tensor tensor;
    bytes file = npy_file("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", six, sizeof six);
    file.data[8] = 0xff;
    file.data[9] = 0xff;
    expect_refusal(read_npy(&file, &tensor), RMSNORM_MALFORMED, "the .npy header needs");
    memcpy(file.data + 6, "\x02\x00\xff\xff\xff\xff", 6);
    expect_refusal(read_npy(&file, &tensor), RMSNORM_MALFORMED, "claims 4294967295 bytes");
    memcpy(file.data, "\x93NUMPZ", 6);
    expect_refusal(read_npy(&file, &tensor), RMSNORM_MALFORMED, "does not begin like a .npy file");
    release(&file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_numpy_writes),
        cmocka_unit_test(test_reads_versions_2_and_3_and_refuses_others),
        cmocka_unit_test(test_big_endian_items_are_turned),
        cmocka_unit_test(test_bfloat16_needs_the_suffix),
        cmocka_unit_test(test_refuses_other_elements),
        cmocka_unit_test(test_refuses_fortran_order_where_it_matters),
        cmocka_unit_test(test_refuses_headers_that_are_not_numpys),
        cmocka_unit_test(test_refuses_data_that_differs_from_the_shape),
        cmocka_unit_test(test_refuses_lying_header_lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
