/* Templates and expressions that would take for ever, or all memory, or the whole stack. */
#define _XOPEN_SOURCE 700
#include "template/support.h"

#include <time.h>

static int setup(void **state)
{
    static bench at;
    bench_open(&at);
    *state = &at;
    return 0;
}

static int teardown(void **state)
{
    bench_close(*state);
    return 0;
}

/* count times start, then middle, then count times end. */
static const char *nested(bench *at, size_t count, const char *start, const char *middle, const char *end)
{
    const size_t size = count * (strlen(start) + strlen(end)) + strlen(middle) + 1;
    char *const text = rmsnorm_arena_allocate(&at->arena, size);
    assert_non_null(text);
    char *to = text;
    for (size_t i = 0; i < count; i++) {
        to = stpcpy(to, start);
    }
    to = stpcpy(to, middle);
    for (size_t i = 0; i < count; i++) {
        to = stpcpy(to, end);
    }
    return text;
}

static void expect_end(bench *at, const char *text, const char *words)
{
    const char *rendered;
    const clock_t start = clock();
    if (bench_render(at, "t", text, strlen(text), &rendered) == RMSNORM_OK) {
        fail_msg("%.60s is not refused", text);
    }
    if (strstr(rmsnorm_last_error(), words) == NULL) {
        fail_msg("%.60s: %s", text, rmsnorm_last_error());
    }
    assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10); /* of a machine that may be slow and instrumented */
}

static void test_levels_are_counted_exactly(void **state)
{
    bench *const at = *state;
    static const char *const rows[][3] = {
        {"{{ ((%s)) }}", "(", ")"},
        {"{{ [[%s]] }}", "[", "]"},
        {"{{ not %s }}", "not ", ""},
        {"{{ - %s }}", "- ", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        const char *rendered;
        const char *const most = nested(at, i < 2 ? 61 : 62, rows[i][1], "1", rows[i][2]);
        (void)snprintf(text, sizeof text, rows[i][0], most);
        assert_int_equal(bench_render(at, "t", text, strlen(text), &rendered), RMSNORM_OK);
        (void)snprintf(text, sizeof text, rows[i][0], nested(at, 1, rows[i][1], most, rows[i][2]));
        assert_int_equal(bench_render(at, "t", text, strlen(text), &rendered), RMSNORM_INVALID_ARGUMENT);
        assert_non_null(strstr(rmsnorm_last_error(), "more than 64 levels are nested"));
    }
    const char *const blocks = nested(at, 63, "{% if true %}", "{{ 1 }}", "{% endif %}");
    expect_text(at, blocks, "1");
    expect_end(at, nested(at, 1, "{% if true %}", blocks, "{% endif %}"),
               "t:1:836: more than 64 levels are nested, at \"1 }}");
}

static void test_deep_texts_end(void **state)
{
    bench *const at = *state;
    static const char *const starts[] = {"(",     "[",  "{'a':",     "not ", "-", "f(", "1 if 1 else ",
                                         "1 + (", "a[", "x|default("};
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        expect_end(at, nested(at, 1, "{{ ", nested(at, 20000, starts[i], "", ""), ""), "more than 64 levels");
    }
    expect_end(at, nested(at, 20000, "{% if 1 %}", "", ""), "more than 64 levels");
    expect_end(at, nested(at, 20000, "{% for i in x %}", "", ""), "more than 64 levels");
    expect_end(at, nested(at, 20000, "{% macro m() %}", "", ""), "more than 64 levels");
}

/* Long without being deep: no level is used, and no stack. */
static void test_long_texts_are_no_deep_ones(void **state)
{
    bench *const at = *state;
    expect_text(at, nested(at, 1, "{{ 0", nested(at, 20000, " + 1", "", ""), " }}"), "20000");
    expect_text(at, nested(at, 1, "{{ 1", nested(at, 20000, " | abs", "", ""), " }}"), "1");
    expect_text(at, nested(at, 1, "{{ x", nested(at, 20000, ".a", "", ""), " }}"), "");
    expect_text(at, nested(at, 1, "{% if 0 %}", nested(at, 2000, "{% elif 0 %}", "", ""), "{% else %}y{% endif %}"),
                "y");
}

static void test_steps_end_loops(void **state)
{
    bench *const at = *state;
    static const char *const rows[] = {
        "{% for a in range(9999) %}{% for b in range(9999) %}{% for c in range(9999) %}{% endfor %}{% endfor %}{% endfor %}",
        "{% macro m(k) %}{{ m(k) }}{{ m(k) }}{% endmacro %}{{ m(1) }}",
        "{% macro m(k) %}{% for i in range(9) %}{% if k %}{{ m(k - 1) }}{% endif %}{% endfor %}{% endmacro %}{{ m(12) }}",
        "{% set x = range(1000) %}{% for i in x %}{{ 1.5 in x }}{% for j in x %}{{ 1.5 in x }}{% endfor %}{% endfor %}",
        "{{ range(100000) | unique }}",
    };
    at->steps = 200000;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_close(at);
        bench_open(at);
        at->steps = 200000;
        expect_end(at, rows[i], i == 1 ? "levels are nested" : "more steps than allowed");
    }
}

static void test_steps_are_counted_down(void **state)
{
    bench *const at = *state;
    const rmsnorm_text_source source = {"e", "1 + 2", 5};
    const rmsnorm_expression *expression;
    rmsnorm_any value;
    assert_int_equal(rmsnorm_expression_parse(&at->arena, &source, &expression), RMSNORM_OK);
    rmsnorm_evaluation evaluation = {.arena = &at->arena, .steps = 10};
    assert_int_equal(rmsnorm_expression_evaluate(expression, NULL, &evaluation, &value), RMSNORM_OK);
    const int64_t used = 10 - evaluation.steps;
    assert_true(used > 0);
    evaluation.steps = used;
    assert_int_equal(rmsnorm_expression_evaluate(expression, NULL, &evaluation, &value), RMSNORM_OK);
    evaluation.steps = used - 1;
    assert_int_equal(rmsnorm_expression_evaluate(expression, NULL, &evaluation, &value), RMSNORM_INVALID_ARGUMENT);
    evaluation.steps = -5;
    assert_int_equal(rmsnorm_expression_evaluate(expression, NULL, &evaluation, &value), RMSNORM_INVALID_ARGUMENT);
}

static void test_memory_ends_growth(void **state)
{
    bench *const at = *state;
    static const char *const rows[] = {
        "{% set x = 'ab' %}{% for i in range(99) %}{% set x = x ~ x %}{% endfor %}",
        "{% set x = [1] %}{% for i in range(99) %}{% set x = x + x %}{% endfor %}",
        "{% set x = 'a' %}{% for i in range(99) %}{% set x = x | replace('a', 'aaaa') %}{% endfor %}",
        "{% set x = [1, 2] %}{% for i in range(60) %}{% set x = [x, x] %}{% if loop.last %}{{ x | tojson | length }}{% endif %}{% endfor %}",
        "{% set x = 'a\\n' %}{% for i in range(99) %}{% set x = (x ~ x) | indent(1000) %}{% endfor %}",
        "{{ range(1, 9000000000000000) }}",
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bench_close(at);
        bench_open(at);
        at->steps = 100000000;
        expect_end(at, rows[i], i == 5 ? "range of more than" : "pass the limit of 16777216");
    }
}

static void test_the_text_has_its_limit(void **state)
{
    bench *const at = *state;
    at->text_limit = 10;
    expect_text(at, "0123456789", "0123456789");
    expect_refusal(at, "01234{{ 567890 }}", RMSNORM_INVALID_ARGUMENT,
                   "t:1:9: the text is longer than 10 bytes, at \"567890 }}\"");
    expect_refusal(at, "{% set x %}01234567890{% endset %}", RMSNORM_INVALID_ARGUMENT,
                   "t:1:12: the text is longer than 10 bytes, at \"01234567890{% endset %}\"");
    at->text_limit = 0;
    expect_text(at, "{{ '' }}", "");
    expect_refusal(at, "a", RMSNORM_INVALID_ARGUMENT, "t:1:1: the text is longer than 0 bytes, at \"a\"");
}

static void test_values_nested_too_deep_are_not_written(void **state)
{
    expect_text(*state, "{% set x = 1 %}{% for i in range(3) %}{% set x = [x] %}{{ x }}{% endfor %}",
                "[1][[1]][[[1]]]");
    expect_end(*state, "{% for i in range(1000) %}{% set x = [x] %}{% if loop.last %}{{ x }}{% endif %}{% endfor %}",
               "nested in more than 64 levels");
}

static void test_recursion_ends_at_the_levels(void **state)
{
    bench *const at = *state;
    expect_end(at, "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "more than 64 levels are nested");
    expect_end(at, "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ [[[a()]]] }}{% endmacro %}{{ a() }}",
               "more than 64 levels are nested");
    expect_end(at, "{% macro m(x=m()) %}{% endmacro %}{{ m() }}", "more than 64 levels are nested");
    expect_text(at, "{% macro m(k) %}{{ m(k - 1) if k else 'end' }}{% endmacro %}{{ m(20) }}", "end");
}

/* Every limit of memory up to what is needed: a refusal that says so, and nothing lost. */
static void test_memory_may_end_anywhere(void **state)
{
    (void)state;
    static const char text[] =
        "{% macro m(a, b=2) %}{{ a }}{{ 'x\\n' 'y' }}{% endmacro %}{% for i in [1, 2.5, 'c'] if i %}{{ m(i) ~ {'k': i} | tojson }}"
        "{{ 'a-b'.split('-') | sort | join('+') | replace('a', 'bb') | indent(2) | upper }}{% endfor %}";
    size_t limit = 0;
    for (rmsnorm_status status = RMSNORM_OUT_OF_MEMORY; status != RMSNORM_OK; limit += 16) {
        bench at = {.steps = BENCH_STEPS, .text_limit = BENCH_TEXT};
        const char *rendered;
        rmsnorm_arena_init(&at.arena, limit);
        status = bench_render(&at, "t", text, sizeof text - 1, &rendered);
        assert_true(status == RMSNORM_OK || status == RMSNORM_OUT_OF_MEMORY);
        bench_close(&at);
        assert_true(limit < 1 << 20);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_levels_are_counted_exactly, setup, teardown),
        cmocka_unit_test_setup_teardown(test_deep_texts_end, setup, teardown),
        cmocka_unit_test_setup_teardown(test_long_texts_are_no_deep_ones, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps_end_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_steps_are_counted_down, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory_ends_growth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_text_has_its_limit, setup, teardown),
        cmocka_unit_test_setup_teardown(test_values_nested_too_deep_are_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(test_recursion_ends_at_the_levels, setup, teardown),
        cmocka_unit_test(test_memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
