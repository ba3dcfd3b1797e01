#include "graph/bytes.h"
#include "graph/support.h"

#include <string.h>

static void test_reorder_turns_big_endian_items_and_keeps_little_endian_ones(void **state)
{
    (void)state;
    const uint8_t big[] = {0x3f, 0x80, 0x00, 0x00, 0xc0, 0x20, 0x00, 0x00};
    float values[2];
    memcpy(values, big, sizeof values);
    rmsnorm_bytes_reorder(values, 2, sizeof values[0], true);
    assert_true(values[0] == 1.0f && values[1] == -2.5f);
    uint8_t little[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0x3f};
    double one;
    rmsnorm_bytes_reorder(little, 1, sizeof one, false);
    memcpy(&one, little, sizeof one);
    assert_true(one == 1.0);
    uint8_t single[2] = {1, 2};
    rmsnorm_bytes_reorder(single, 2, 1, true);
    assert_true(single[0] == 1 && single[1] == 2);
}

static void test_load_and_store_are_little_endian_on_every_host(void **state)
{
    (void)state;
    uint8_t at[8];
    rmsnorm_bytes_store(at, 8, 0x0102030405060708u);
    assert_memory_equal(at, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    assert_true(rmsnorm_bytes_load(at, 8) == 0x0102030405060708u);
    assert_int_equal(rmsnorm_bytes_load(at, 2), 0x0708);
}

static void test_text_is_strict_utf8_without_nul(void **state)
{
    (void)state;
    static const char *const good[] = {"",
                                       "a",
                                       "\x7f",
                                       "\xc2\x80",
                                       "\xdf\xbf",
                                       "\xe0\xa0\x80",
                                       "\xed\x9f\xbf",
                                       "\xee\x80\x80",
                                       "\xef\xbf\xbf",
                                       "\xf0\x90\x80\x80",
                                       "\xf4\x8f\xbf\xbf",
                                       "x\xc3\xa9y"};
    static const char *const bad[] = {"\x80",
                                      "\xbf",
                                      "\xc0\x80",
                                      "\xc1\xbf",
                                      "\xc2",
                                      "\xc2\x41",
                                      "\xe0\x9f\xbf",
                                      "\xe1\x80",
                                      "\xe1\x80\x41",
                                      "\xed\xa0\x80",
                                      "\xf0\x8f\xbf\xbf",
                                      "\xf0\x90\x80",
                                      "\xf4\x90\x80\x80",
                                      "\xf5\x80\x80\x80",
                                      "\xff",
                                      "ab\xfe"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_true(rmsnorm_text_valid((const uint8_t *)good[i], strlen(good[i])));
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_false(rmsnorm_text_valid((const uint8_t *)bad[i], strlen(bad[i])));
    }
    assert_false(rmsnorm_text_valid((const uint8_t *)"a\0b", 3));
}

static void test_shape_refuses_what_has_no_count(void **state)
{
    (void)state;
    rmsnorm_tensor tensor = {.rank = 7};
    const int64_t negative[] = {2, -1};
    const int64_t large[] = {INT64_C(1) << 31, INT64_C(1) << 31, 2};
    const int64_t many[RMSNORM_MAX_RANK + 1] = {0};
    expect_refusal(rmsnorm_shape_set(&tensor, "W", RMSNORM_FLOAT, 2, negative), RMSNORM_MALFORMED, "W has dim 1 = -1");
    expect_refusal(rmsnorm_shape_set(&tensor, "W", RMSNORM_FLOAT, 3, large), RMSNORM_MALFORMED, "do not fit");
    expect_refusal(rmsnorm_shape_set(&tensor, "W", RMSNORM_FLOAT, RMSNORM_MAX_RANK + 1, many), RMSNORM_MALFORMED,
                   "at most 16");
    assert_int_equal(tensor.rank, 7);
    assert_int_equal(rmsnorm_shape_set(&tensor, "W", RMSNORM_FLOAT, RMSNORM_MAX_RANK, many), RMSNORM_OK);
    assert_int_equal(tensor.rank, RMSNORM_MAX_RANK);
    assert_int_equal(rmsnorm_shape_set(&tensor, "W", RMSNORM_FLOAT, 0, NULL), RMSNORM_OK);
    assert_int_equal(rmsnorm_tensor_count(&tensor), 1);
}

static void test_long_paths_keep_their_end(void **state)
{
    (void)state;
    char path[1000];
    memset(path, 'd', sizeof path);
    strcpy(path + sizeof path - 7, "/x.npy");
    const char *const shown = rmsnorm_file_display(path);
    assert_true(strlen(shown) <= 300);
    assert_string_equal(shown + strlen(shown) - 6, "/x.npy");
    assert_string_equal(rmsnorm_file_display("x.npy"), "x.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reorder_turns_big_endian_items_and_keeps_little_endian_ones),
        cmocka_unit_test(test_load_and_store_are_little_endian_on_every_host),
        cmocka_unit_test(test_text_is_strict_utf8_without_nul),
        cmocka_unit_test(test_shape_refuses_what_has_no_count),
        cmocka_unit_test(test_long_paths_keep_their_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
