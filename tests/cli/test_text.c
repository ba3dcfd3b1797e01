/* text.c: cleaning, numbers, shapes, wrapping. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/text.h"

static void repair_changes_only_what_is_not_utf8(void **state)
{
    (void)state;
#define BAD "\xef\xbf\xbd"
    static const struct {
        const char *given, *wanted;
    } cases[] = {
        {"a\tb\a\x7f", "a\tb\a\x7f"},
        {"\xc2\x80 \xe2\x80\xa8 \xf0\x9f\x98\x80", "\xc2\x80 \xe2\x80\xa8 \xf0\x9f\x98\x80"},
        {"\xc0\xaf \xff", BAD BAD " " BAD},
        {"\xed\xa0\x80", BAD BAD BAD},
        {"cut \xe2\x82", "cut " BAD BAD},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[64];
        rmsnorm_cli_repair(cases[i].given, text);
        assert_string_equal(text, cases[i].wanted);
    }
}

static void clean_keeps_text_and_drops_what_a_terminal_obeys(void **state)
{
    (void)state;
    static const struct {
        const char *given, *wanted;
    } cases[] = {
        {"plain ~ text", "plain ~ text"},
        {"a\tb\nc\x1b[0m\x7f", "a?b?c?[0m?"},
        {"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b\x31m", "??1m"},                          /* U+009B: an escape sequence in one character */
        {"\xc2\xa0", "\xc2\xa0"},                           /* the first after the control characters */
        {"\xc0\xaf \xc1\xbf", "?? ??"},                     /* overlong */
        {"\xe0\x80\xaf \xe0\x9f\xbf", "??? ???"},           /* overlong */
        {"\xf0\x80\x80\xaf", "????"},                       /* overlong */
        {"\xed\xa0\x80 \xee\x80\x80", "??? \xee\x80\x80"},  /* a surrogate; the first after them */
        {"\xf4\x90\x80\x80 \xf5\x80\x80\x80", "???? ????"}, /* beyond U+10FFFF */
        /* Turn the text around, end the line. NOLINTNEXTLINE(misc-misleading-bidirectional): that is the point. */
        {"\xe2\x80\xae \xe2\x81\xa6 \xe2\x80\xa8", "??? ??? ???"},
        {"\x80 \xff \xfe", "? ? ?"},
        {"cut \xe2\x82", "cut ??"},
        {"cut \xf0\x9f\x98", "cut ???"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s", cases[i].given);
        rmsnorm_cli_clean(text);
        assert_string_equal(text, cases[i].wanted);
        FILE *file = tmpfile();
        assert_non_null(file);
        rmsnorm_cli_show(file, cases[i].given);
        rewind(file);
        char shown[64] = "";
        shown[fread(shown, 1, sizeof shown - 1, file)] = '\0';
        assert_string_equal(shown, cases[i].wanted);
        (void)fclose(file);
    }
}

static void numbers_are_as_short_as_they_can_be(void **state)
{
    (void)state;
    char text[RMSNORM_CLI_NUMBER];
    assert_string_equal(rmsnorm_cli_number((double)1e-12f, true, text), "1e-12");
    assert_string_equal(rmsnorm_cli_number((double)1e-5f, true, text), "1e-5");
    assert_string_equal(rmsnorm_cli_number((double)0.1f, true, text), "0.1");
    assert_string_equal(rmsnorm_cli_number((double)0.1f, false, text), "0.10000000149011612");
    assert_string_equal(rmsnorm_cli_number(0.1, false, text), "0.1");
    assert_string_equal(rmsnorm_cli_number(3e38, true, text), "3e38");
    assert_string_equal(rmsnorm_cli_number(1e300, false, text), "1e300");
    assert_string_equal(rmsnorm_cli_number(16777217, false, text), "16777217");
    assert_string_equal(rmsnorm_cli_number(0, true, text), "0");
    assert_string_equal(rmsnorm_cli_number(-0.0, true, text), "-0");
    assert_string_equal(rmsnorm_cli_number((double)NAN, true, text), "nan");
    assert_string_equal(rmsnorm_cli_number(-(double)INFINITY, true, text), "-inf");
    assert_string_equal(rmsnorm_cli_number(5e-324, false, text), "5e-324");
    assert_string_equal(rmsnorm_cli_rounded(0.70710678, text), "0.707107");
    assert_string_equal(rmsnorm_cli_rounded(-1234567, text), "-1.23457e6");
}

/* Every float comes back from its shortest text, and no text of fewer digits would do: sampled over all exponents. */
static void numbers_come_back(void **state)
{
    (void)state;
    uint32_t bits = 1;
    for (int i = 0; i < 20000; ++i) {
        bits = bits * 1664525U + 1013904223U;
        float value;
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            char text[RMSNORM_CLI_NUMBER];
            assert_true(strtof(rmsnorm_cli_number((double)value, true, text), NULL) == value);
            assert_true(strtod(rmsnorm_cli_number((double)value, false, text), NULL) == (double)value);
        }
    }
}

static void shapes_show_numbers_names_and_the_unknown(void **state)
{
    (void)state;
    char text[RMSNORM_CLI_SHAPE];
    rmsnorm_tensor tensor = {.rank = 3, .dims = {2, -1, -1}, .dim_names = {NULL, "S\n", NULL}};
    assert_string_equal(rmsnorm_cli_shape(&tensor, text), "[2,S?,?]");
    tensor.rank = 0;
    assert_string_equal(rmsnorm_cli_shape(&tensor, text), "[]");
    tensor.rank = -1;
    assert_string_equal(rmsnorm_cli_shape(&tensor, text), "of unknown rank");
    tensor.rank = 16;
    for (int i = 0; i < 16; ++i) {
        tensor.dims[i] = INT64_MAX;
    }
    assert_int_equal(strlen(rmsnorm_cli_shape(&tensor, text)), 16 * 20 + 1);
    for (int i = 0; i < 16; ++i) {
        tensor.dims[i] = -1;
        tensor.dim_names[i] = "a_very_long_name_of_a_dimension_that_goes_on";
    }
    assert_int_equal(strlen(rmsnorm_cli_shape(&tensor, text)),
                     16 * (1 + strlen("a_very_long_name_of_a_dimension_that_goes_on")) + 1);
}

static void types_are_listed(void **state)
{
    (void)state;
    char text[RMSNORM_CLI_TYPES];
    assert_string_equal(rmsnorm_cli_types(RMSNORM_DTYPES(RMSNORM_FLOAT) | RMSNORM_DTYPES(RMSNORM_BFLOAT16), text),
                        "float, bfloat16");
    assert_string_equal(rmsnorm_cli_types(0, text), "none");
}

static void words_are_wrapped(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    assert_non_null(file);
    char words[400] = "";
    for (int i = 0; i < 30; ++i) {
        rmsnorm_cli_append(words, sizeof words, "word%02d ", i);
    }
    rmsnorm_cli_wrap(file, words, 4);
    rewind(file);
    char line[256];
    int lines = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        assert_memory_equal(line, "    word", 8);
        assert_true(strlen(line) <= 101);
        assert_true(line[strlen(line) - 2] != ' ');
        ++lines;
    }
    assert_int_equal(lines, 3);
    (void)fclose(file);
}

static void whole_numbers_are_the_whole_text(void **state)
{
    (void)state;
    long long value = 0;
    assert_true(rmsnorm_cli_integer("0", 0, 10, &value) && value == 0);
    assert_true(rmsnorm_cli_integer("-7", -10, 10, &value) && value == -7);
    assert_true(rmsnorm_cli_integer("9223372036854775807", 0, INT64_MAX, &value) && value == INT64_MAX);
    static const char *const wrong[] = {"",   "-", "+1", " 1", "1 ", "1.0", "0x1", "11", "-1", "9223372036854775808",
                                        "1e1"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
        assert_false(rmsnorm_cli_integer(wrong[i], 0, 10, &value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repair_changes_only_what_is_not_utf8),
        cmocka_unit_test(clean_keeps_text_and_drops_what_a_terminal_obeys),
        cmocka_unit_test(numbers_are_as_short_as_they_can_be),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(shapes_show_numbers_names_and_the_unknown),
        cmocka_unit_test(types_are_listed),
        cmocka_unit_test(words_are_wrapped),
        cmocka_unit_test(whole_numbers_are_the_whole_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
