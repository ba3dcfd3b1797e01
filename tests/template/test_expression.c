#include "template/support.h"

static int setup(void **state)
{
    static bench at;
    bench_open(&at);
    bench_set(&at, "n", rmsnorm_any_integer(7));
    bench_set(&at, "s", rmsnorm_any_text("Hello"));
    const rmsnorm_any list = rmsnorm_any_list(&at.arena);
    for (int64_t i = 1; i <= 3; i++) {
        assert_true(rmsnorm_list_push(&at.arena, list.as.list, rmsnorm_any_integer(i)));
    }
    bench_set(&at, "list", list);
    const rmsnorm_any map = rmsnorm_any_map(&at.arena);
    assert_true(rmsnorm_map_set(&at.arena, map.as.map, "a", 1, rmsnorm_any_integer(1)));
    bench_set(&at, "map", map);
    *state = &at;
    return 0;
}

static int teardown(void **state)
{
    bench_close(*state);
    return 0;
}

static void test_kinds_of_results(void **state)
{
    static const struct {
        const char *text;
        rmsnorm_any_kind kind;
    } rows[] = {
        {"1", RMSNORM_ANY_INTEGER},          {"1.0", RMSNORM_ANY_FLOAT},
        {"'a'", RMSNORM_ANY_STRING},         {"true", RMSNORM_ANY_BOOLEAN},
        {"none", RMSNORM_ANY_NULL},          {"missing", RMSNORM_ANY_UNDEFINED},
        {"[1]", RMSNORM_ANY_LIST},           {"{'a': 1}", RMSNORM_ANY_MAP},
        {"6 / 2", RMSNORM_ANY_FLOAT},        {"6 // 2", RMSNORM_ANY_INTEGER},
        {"6.0 // 2", RMSNORM_ANY_FLOAT},     {"2 * 1.0", RMSNORM_ANY_FLOAT},
        {"1 ~ 1", RMSNORM_ANY_STRING},       {"1 if false", RMSNORM_ANY_UNDEFINED},
        {"n or 1", RMSNORM_ANY_INTEGER},     {"map.zz", RMSNORM_ANY_UNDEFINED},
        {"map.get('zz')", RMSNORM_ANY_NULL}, {"missing.a.b", RMSNORM_ANY_UNDEFINED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rmsnorm_any value;
        if (bench_evaluate(*state, rows[i].text, &value) != RMSNORM_OK) {
            fail_msg("%s: %s", rows[i].text, rmsnorm_last_error());
        }
        assert_string_equal(rmsnorm_any_kind_name(value.kind), rmsnorm_any_kind_name(rows[i].kind));
    }
}

/* Each pair is the same expression, without and with the parentheses that the precedence puts. */
static void test_precedence(void **state)
{
    static const char *const rows[][2] = {
        {"1 + 2 * 3", "1 + (2 * 3)"},
        {"2 * 3 ** 2", "2 * (3 ** 2)"},
        {"2 ** 3 ** 2", "(2 ** 3) ** 2"},
        {"-2 ** 2", "(-2) ** 2"},
        {"- n | abs", "(- n) | abs"},
        {"10 - 3 - 2", "(10 - 3) - 2"},
        {"1 + 2 ~ 3", "(1 + 2) ~ 3"},
        {"'a' ~ 2 * 3", "'a' ~ (2 * 3)"},
        {"'a' ~ 'b' == 'ab'", "('a' ~ 'b') == 'ab'"},
        {"not 1 == 2", "not (1 == 2)"},
        {"1 < 2 == true", "(1 < 2) == true"},
        {"true or false and false", "true or (false and false)"},
        {"not false and false", "(not false) and false"},
        {"1 if true else 2 if true else 3", "1 if true else (2 if true else 3)"},
        {"1 + 1 if true else 5", "(1 + 1) if true else 5"},
        {"2 * 3 is odd", "2 * (3 is odd)"},
        {"3 in list == true", "(3 in list) == true"},
        {"'a' ~ 'b' | upper", "'a' ~ ('b' | upper)"},
        {"8 / 4 / 2", "(8 / 4) / 2"},
        {"7 % 4 * 2", "(7 % 4) * 2"},
        {"map.a - 1", "(map.a) - 1"},
        {"not n in list", "not (n in list)"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *texts[2];
        rmsnorm_status status[2];
        for (size_t k = 0; k < 2; k++) {
            char text[128];
            (void)snprintf(text, sizeof text, "{{ %s }}", rows[i][k]);
            texts[k] = "";
            status[k] = bench_render(*state, "t", text, strlen(text), &texts[k]);
        }
        if (status[0] != status[1] || strcmp(texts[0], texts[1]) != 0) {
            fail_msg("%s gives %s, %s gives %s", rows[i][0], texts[0], rows[i][1], texts[1]);
        }
    }
}

static void expect_failure(bench *at, const char *text, rmsnorm_status status, const char *sentence)
{
    rmsnorm_any value;
    const rmsnorm_status given = bench_evaluate(at, text, &value);
    if (given == RMSNORM_OK || strcmp(rmsnorm_last_error(), sentence) != 0) {
        fail_msg("%s: %s\nnot\n%s", text, given == RMSNORM_OK ? "no failure" : rmsnorm_last_error(), sentence);
    }
    assert_int_equal(given, status);
}

static void test_refusals_name_their_place(void **state)
{
    static const struct {
        const char *text;
        rmsnorm_status status;
        const char *sentence;
    } rows[] = {
        {"", RMSNORM_MALFORMED, "e:1:1: expected a value, at the end"},
        {"1 +", RMSNORM_MALFORMED, "e:1:4: expected a value, at the end"},
        {"1 + )", RMSNORM_MALFORMED, "e:1:5: expected a value, at \")\""},
        {"(1", RMSNORM_MALFORMED, "e:1:3: expected ), at the end"},
        {"[1 2]", RMSNORM_MALFORMED, "e:1:4: expected , or ], at \"2]\""},
        {"{'a' 1}", RMSNORM_MALFORMED, "e:1:6: expected : between key and value, at \"1}\""},
        {"a\n  b", RMSNORM_MALFORMED, "e:2:3: expected the end of the expression, at \"b\""},
        {"'\xC3\xA9' $", RMSNORM_MALFORMED, "e:1:5: this character has no meaning here, at \"$\""},
        {"'abc", RMSNORM_MALFORMED, "e:1:1: this string has no end, at \"'abc\""},
        {"'a\\q'", RMSNORM_MALFORMED, "e:1:3: there is no such escape, at \"\\q'\""},
        {"'\\x4g'", RMSNORM_MALFORMED, "e:1:2: \\x takes 2 hexadecimal digits, at \"\\x4g'\""},
        {"'\\ud800'", RMSNORM_UNSUPPORTED, "e:1:2: half of a character is not supported, at \"\\ud800'\""},
        {"9007199254740993", RMSNORM_UNSUPPORTED,
         "e:1:1: the number is too large or has too many digits, at \"9007199254740993\""},
        {"n | foo", RMSNORM_UNSUPPORTED, "e:1:5: the filter 'foo' is not supported, at \"foo\""},
        {"n | upper()", RMSNORM_UNSUPPORTED, "e:1:5: the filter 'upper' is only supported without (), at \"upper()\""},
        {"n | default", RMSNORM_UNSUPPORTED, "e:1:5: the filter 'default' is only supported with (), at \"default\""},
        {"n is foo", RMSNORM_UNSUPPORTED, "e:1:6: the test 'foo' is not supported, at \"foo\""},
        {"s.foo()", RMSNORM_UNSUPPORTED, "e:1:3: the method 'foo' is not supported, at \"foo()\""},
        {"s.upper(1)", RMSNORM_UNSUPPORTED, "e:1:9: 'upper' does not take this argument, at \"1)\""},
        {"s.replace('a')", RMSNORM_INVALID_ARGUMENT,
         "e:1:3: 'replace' takes at least 2 arguments, at \"replace('a')\""},
        {"n()", RMSNORM_INVALID_ARGUMENT, "e:1:1: 'n' is a value of kind integer, not a function, at \"n()\""},
        {"foo(1)", RMSNORM_NOT_FOUND, "e:1:1: there is no function or macro 'foo', at \"foo(1)\""},
        {"s[0](1)", RMSNORM_UNSUPPORTED,
         "e:1:5: only a function, a macro or a method can be called, by its name, at \"(1)\""},
        {"1 + missing", RMSNORM_INVALID_ARGUMENT,
         "e:1:3: the operator does not take integer and undefined, at \"+ missing\""},
        {"1 + none", RMSNORM_INVALID_ARGUMENT, "e:1:3: the operator does not take integer and none, at \"+ none\""},
        {"list == list", RMSNORM_INVALID_ARGUMENT, "e:1:6: the operator does not take list and list, at \"== list\""},
        {"n // 0", RMSNORM_INVALID_ARGUMENT, "e:1:3: division by zero, at \"// 0\""},
        {"1.0 / 0.0", RMSNORM_INVALID_ARGUMENT, "e:1:5: division by zero, at \"/ 0.0\""},
        {"2 ** 54", RMSNORM_INVALID_ARGUMENT, "e:1:3: integer overflow: the result is beyond 2^53, at \"** 54\""},
        {"9007199254740992 + 1", RMSNORM_INVALID_ARGUMENT,
         "e:1:18: integer overflow: the result is beyond 2^53, at \"+ 1\""},
        {"3037000500 * 3037000500", RMSNORM_INVALID_ARGUMENT,
         "e:1:12: integer overflow: the result is beyond 2^53, at \"* 3037000500\""},
        {"[] | first", RMSNORM_INVALID_ARGUMENT, "e:1:6: 'first' of an empty list, at \"first\""},
        {"n | length", RMSNORM_INVALID_ARGUMENT, "e:1:5: 'length' does not apply to integer, at \"length\""},
        {"{1: 2}", RMSNORM_INVALID_ARGUMENT, "e:1:2: a key is a string, not integer, at \"1: 2}\""},
        {"range(1, 2, 0)", RMSNORM_INVALID_ARGUMENT, "e:1:1: the step of range is 0, at \"range(1, 2, 0)\""},
        {"range", RMSNORM_UNSUPPORTED, "e:1:1: the function 'range' is not called, at \"range\""},
        {"raise_exception('so')", RMSNORM_INVALID_ARGUMENT, "e:1:1: raise_exception: so, at \"raise_exception('so')\""},
        {"x + 'a\tb\n\x01 and what follows is cut off here'", RMSNORM_INVALID_ARGUMENT,
         "e:1:3: the operator does not take undefined and string, at \"+ 'a\\tb\\n\\x01 and what follows is cut of...\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_failure(*state, rows[i].text, rows[i].status, rows[i].sentence);
    }
}

static void test_what_is_no_utf8_is_refused(void **state)
{
    static const char *const rows[] = {"'\xC3'",    "'\xFF'", "'\xC0\x80'", "'\xED\xA0\x80'", "'\xF4\x90\x80\x80'",
                                       "'\xE2\x82'"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        expect_failure(*state, rows[i], RMSNORM_MALFORMED, "e: the text is no UTF-8");
    }
}

/* ---- Functions and scopes -------------------------------------------------------------------- */

static rmsnorm_status add_all(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count, rmsnorm_any *result)
{
    (void)arena;
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        RMSNORM_CHECK(arguments[i].kind == RMSNORM_ANY_INTEGER, RMSNORM_INVALID_ARGUMENT, "sum takes integers, not %s",
                      rmsnorm_any_kind_name(arguments[i].kind));
        sum += arguments[i].as.integer;
    }
    *result = rmsnorm_any_integer(sum);
    return RMSNORM_OK;
}

static void test_functions_of_the_caller(void **state)
{
    static const rmsnorm_function functions[] = {{"sum", 1, 6, add_all}};
    bench *const at = *state;
    at->functions = functions;
    at->function_count = 1;
    expect_text(at, "{{ sum(1, 2, n) + sum(1) }}{{ sum(1, 2, 3, 4, 5, 6) }}", "1121");
    expect_failure(at, "sum()", RMSNORM_INVALID_ARGUMENT, "e:1:1: sum takes 1 to 6 arguments, not 0, at \"sum()\"");
    expect_failure(at, "1 + sum('a')", RMSNORM_INVALID_ARGUMENT,
                   "e:1:5: sum takes integers, not string, at \"sum('a')\"");
    expect_failure(at, "sum(x=1)", RMSNORM_UNSUPPORTED, "e:1:7: sum takes no arguments by their names, at \"1)\"");
    expect_failure(at, "sum", RMSNORM_UNSUPPORTED, "e:1:1: the function 'sum' is not called, at \"sum\"");
    bench_set(at, "sum", rmsnorm_any_integer(3)); /* a variable is found first */
    expect_text(at, "{{ sum }}", "3");
}

static void test_scopes_are_looked_up_from_the_innermost(void **state)
{
    bench *const at = *state;
    const rmsnorm_any inner = rmsnorm_any_map(&at->arena);
    assert_true(rmsnorm_map_set(&at->arena, inner.as.map, "n", 1, rmsnorm_any_integer(8)));
    assert_true(rmsnorm_map_set(&at->arena, inner.as.map, "list", 4, rmsnorm_any_undefined()));
    const rmsnorm_scope outer = {at->variables, NULL}, scope = {inner.as.map, &outer};
    const rmsnorm_text_source source = {"e", "n ~ s ~ (list is defined)", 25};
    rmsnorm_evaluation evaluation = {.arena = &at->arena, .steps = 100};
    const rmsnorm_expression *expression;
    rmsnorm_any value;
    assert_int_equal(rmsnorm_expression_parse(&at->arena, &source, &expression), RMSNORM_OK);
    for (int i = 0; i < 3; i++) { /* parsed once, evaluated often */
        assert_int_equal(rmsnorm_expression_evaluate(expression, &scope, &evaluation, &value), RMSNORM_OK);
        assert_memory_equal(value.as.string.text, "8Hellofalse", 11);
    }
}

static void test_large_integers_are_compared_but_not_counted_with(void **state)
{
    bench *const at = *state;
    bench_set(at, "huge", rmsnorm_any_integer(INT64_MAX));
    bench_set(at, "low", rmsnorm_any_integer(INT64_MIN));
    expect_text(at, "{{ n < huge }}{{ huge == huge }}{{ low < n }}{{ huge > low }}", "truetruetruetrue");
    static const char *const rows[] = {"huge + 1",         "huge - huge", "-huge",     "-low",      "low * -1",
                                       "low // -1",        "low % -1",    "huge ~ ''", "low | abs", "huge ** 2",
                                       "range(low, huge)", "list[low:]",  "2 ** huge"};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rmsnorm_any value;
        if (bench_evaluate(at, rows[i], &value) == RMSNORM_OK) {
            fail_msg("%s is not refused", rows[i]);
        }
    }
    expect_text(at, "[{{ list[huge] }}{{ list[low] }}{{ s[low] }}{{ s[huge] }}]", "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_kinds_of_results, setup, teardown),
        cmocka_unit_test_setup_teardown(test_precedence, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refusals_name_their_place, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_no_utf8_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_functions_of_the_caller, setup, teardown),
        cmocka_unit_test_setup_teardown(test_scopes_are_looked_up_from_the_innermost, setup, teardown),
        cmocka_unit_test_setup_teardown(test_large_integers_are_compared_but_not_counted_with, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
