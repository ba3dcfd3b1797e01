#include "template/support.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "template/text.h"

static const char *written(double number)
{
    static char text[RMSNORM_NUMBER_SIZE + 1];
    text[rmsnorm_number_write(number, text)] = '\0';
    return text;
}

static void test_numbers_are_written_as_javascript_writes_them(void **state)
{
    (void)state;
    static const struct {
        double number;
        const char *text;
    } rows[] = {
        {0, "0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1e21, "1e+21"},
        {1e20, "100000000000000000000"},
        {123456789012345680000.0, "123456789012345680000"},
        {1.5e300, "1.5e+300"},
        {0.000001, "0.000001"},
        {0.0000012, "0.0000012"},
        {1e-7, "1e-7"},
        {1.25e-7, "1.25e-7"},
        {DBL_MAX, "1.7976931348623157e+308"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {5e-324, "5e-324"},
        {1e23, "1e+23"},
        {9007199254740993.0, "9007199254740992"},
        {5.684341886080802e-14, "5.684341886080802e-14"}, /* 2^-44: the nearest of 16 digits does not read back */
        {9.5367431640625e-7, "9.5367431640625e-7"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(written(rows[i].number), rows[i].text);
    }
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void test_what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    uint64_t random = 88172645463325252U;
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = i < 2000 ? (uint64_t)i << 52 : next_random(&random); /* the powers of two first */
        double number, back;
        size_t used;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number)) {
            continue;
        }
        const char *const text = written(number);
        assert_true(rmsnorm_number_read(text, strlen(text), &back, &used));
        assert_int_equal(used, strlen(text));
        assert_true(back == number);
        assert_true(strtod(text, NULL) == number);
    }
}

static void test_a_locale_changes_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "ru_RU.UTF-8"};
    size_t i = 0, used;
    while (i < sizeof names / sizeof names[0] && setlocale(LC_NUMERIC, names[i]) == NULL) {
        i++;
    }
    double number;
    assert_string_equal(written(1.5), "1.5");
    assert_true(rmsnorm_number_read("2.25e1", 6, &number, &used));
    assert_true(number == 22.5);
    (void)setlocale(LC_NUMERIC, "C");
    if (i == sizeof names / sizeof names[0]) {
        skip(); /* no locale with a comma is installed */
    }
}

static void test_the_start_of_a_text_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double number;
        size_t used;
    } rows[] = {{"12abc", 12, 2}, {"1.5.6", 1.5, 3},   {".5", 0.5, 2},     {"5.", 5, 2},      {"1e", 1, 1},
                {"1e+", 1, 1},    {"-2E-1x", -0.2, 5}, {"", 0, 0},         {"-", 0, 0},       {".", 0, 0},
                {"e5", 0, 0},     {"+7", 7, 2},        {"0e999999", 0, 8}, {"1e-99999", 0, 8}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        double number;
        size_t used;
        assert_true(rmsnorm_number_read(rows[i].text, strlen(rows[i].text), &number, &used));
        assert_true(number == rows[i].number);
        assert_int_equal(used, rows[i].used);
    }
}

static void test_what_cannot_be_held_is_refused(void **state)
{
    (void)state;
    double number;
    int64_t integer;
    size_t used;
    char digits[400];
    memset(digits, '1', sizeof digits);
    assert_false(rmsnorm_number_read("1e309", 5, &number, &used));
    assert_true(rmsnorm_number_read(digits, 300, &number, &used));
    assert_false(rmsnorm_number_read(digits, 301, &number, &used));
    assert_true(rmsnorm_integer_read("-9007199254740992", 17, &integer, &used));
    assert_true(integer == -RMSNORM_LARGEST_INTEGER);
    assert_false(rmsnorm_integer_read("9007199254740993", 16, &integer, &used));
    assert_false(rmsnorm_integer_read(digits, sizeof digits, &integer, &used));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_written_as_javascript_writes_them),
        cmocka_unit_test(test_what_is_written_reads_back_the_same),
        cmocka_unit_test(test_a_locale_changes_nothing),
        cmocka_unit_test(test_the_start_of_a_text_is_read),
        cmocka_unit_test(test_what_cannot_be_held_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
