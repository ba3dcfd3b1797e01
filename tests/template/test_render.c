#include "template/support.h"

static int setup(void **state)
{
    static bench at;
    bench_open(&at);
    bench_set(&at, "n", rmsnorm_any_integer(7));
    bench_set(&at, "t", rmsnorm_any_boolean(true));
    const rmsnorm_any list = rmsnorm_any_list(&at.arena);
    for (int64_t i = 1; i <= 3; i++) {
        assert_true(rmsnorm_list_push(&at.arena, list.as.list, rmsnorm_any_integer(i)));
    }
    bench_set(&at, "list", list);
    *state = &at;
    return 0;
}

static int teardown(void **state)
{
    bench_close(*state);
    return 0;
}

/* The reference is compared with in test_template_reference; here stands what a reader would look up. */
static void test_whitespace(void **state)
{
    expect_text(*state, "a\n", "a");
    expect_text(*state, "a\n\n", "a\n");
    expect_text(*state, "  {% if t %}\n  a\n  {% endif %}\nb\n", "  a\nb");
    expect_text(*state, "x  {% if t %}\n  a\n  {% endif %}  \nb", "x    a\n  \nb");
    expect_text(*state, "a \n {{- n -}} \n b", "a7b");
    expect_text(*state, "a {%- if t -%} \n b {%- endif -%} c", "abc");
    expect_text(*state, "a\n  {# c #}\nb", "a\nb");
    expect_text(*state, "a {#- c -#} b", "ab");
    expect_text(*state, "{{ n }}\n{{ n }}\n", "7\n7");
}

static void test_loops(void **state)
{
    expect_text(*state, "{% for i in list %}{{ loop.index0 }}{{ loop.last }} {% endfor %}", "0false 1false 2true ");
    expect_text(*state, "{% for i in list if i != 2 %}{{ i }}{{ loop.length }} {% else %}none{% endfor %}", "12 32 ");
    expect_text(*state, "{% for i in [] %}a{% else %}b{% endfor %}", "b");
    expect_text(*state, "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}{{ v }}{% endfor %}", "a1b2");
    expect_text(*state, "{% for i in list %}{{ loop.previtem }}<{{ i }}>{{ loop.nextitem }} {% endfor %}",
                "<1>2 1<2>3 2<3> ");
}

static void test_macros(void **state)
{
    expect_text(*state, "{% macro m(a, b=a + 1) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 5) }}{{ m(b=2, a=3) }}",
                "121532");
    expect_text(*state,
                "{% macro f(k) %}{{ k }}{% if k > 1 %}{{ f(k - 1) }}{% endif %}{% endmacro %}[{{ f(3) ~ f(1) }}]",
                "[3211]");
    expect_refusal(*state, "{% macro m(a) %}{% endmacro %}\n{{ m(1, 2) }}", RMSNORM_INVALID_ARGUMENT,
                   "t:2:9: the macro 'm' does not take this argument, at \"2) }}\"");
}

static void test_raw_is_kept(void **state)
{
    expect_text(*state, "a{% raw %}{{ n }}{% if %}{# #}{% endraw %}b", "a{{ n }}{% if %}{# #}b");
    expect_text(*state, "a {%- raw -%} {{ n }} {%- endraw -%} b", "a{{ n }}b");
    expect_text(*state, "{% if t %}{% raw %}{% endraw %}x{% endif %}", "x");
    expect_refusal(*state, "{% raw %}a", RMSNORM_MALFORMED, "t:1:10: raw has no endraw, at \"a\"");
}

/* ---- Includes -------------------------------------------------------------------------------- */

typedef struct shelf {
    const char *names[4];
    const rmsnorm_template *templates[4];
    size_t count;
} shelf;

static const rmsnorm_template *find(void *user, const char *name, size_t length)
{
    const shelf *const of = user;
    for (size_t i = 0; i < of->count; i++) {
        if (strlen(of->names[i]) == length && memcmp(of->names[i], name, length) == 0) {
            return of->templates[i];
        }
    }
    return NULL;
}

static void add(bench *at, shelf *to, const char *name, const char *text)
{
    const rmsnorm_text_source source = {name, text, strlen(text)};
    to->names[to->count] = name;
    assert_int_equal(rmsnorm_template_parse(&at->arena, &source, &to->templates[to->count]), RMSNORM_OK);
    to->count++;
}

static void test_includes(void **state)
{
    bench *const at = *state;
    shelf of = {.count = 0};
    const rmsnorm_library library = {find, &of};
    at->library = &library;
    add(at, &of, "part", "<{{ n }}{{ x }}>\n");
    add(at, &of, "macros", "{% macro load(i) %}x[{{ i }}]{% endmacro %}{% set kept = 5 %}");
    add(at, &of, "wrong", "\n  {{ n + none }}");
    add(at, &of, "self", "{% include 'self' %}");
    expect_text(at, "{% set x = 1 %}{% include 'part' %}{% for x in list %}{% include 'pa' ~ 'rt' %}{% endfor %}",
                "<71><71><72><73>");
    expect_text(at, "{% include 'macros' %}{{ load(n) }}{{ kept }}", "x[7]5");
    expect_refusal(at, "a\n{% include 'zz' %}", RMSNORM_NOT_FOUND,
                   "t:2:4: there is no template 'zz' to include, at \"include 'zz' %}\"");
    expect_refusal(at, "{% include 1 %}", RMSNORM_INVALID_ARGUMENT,
                   "t:1:4: include takes a name, not integer, at \"include 1 %}\"");
    expect_refusal(at, "{% include 'wrong' %}", RMSNORM_INVALID_ARGUMENT,
                   "wrong:2:8: the operator does not take integer and none, at \"+ none }}\"");
    expect_refusal(at, "{% include 'self' %}", RMSNORM_INVALID_ARGUMENT,
                   "self:1:12: more than 64 levels are nested, at \"'self' %}\"");
    at->library = NULL;
    expect_refusal(at, "{% include 'part' %}", RMSNORM_NOT_FOUND,
                   "t:1:4: there is no template 'part' to include, at \"include 'part' %}\"");
}

/* An error in a macro names the text the macro stands in. */
static void test_errors_in_macros_name_their_text(void **state)
{
    bench *const at = *state;
    shelf of = {.count = 0};
    const rmsnorm_library library = {find, &of};
    at->library = &library;
    add(at, &of, "lib", "{% macro m(a) %}\n{{ a / 0 }}{% endmacro %}");
    expect_refusal(at, "{% include 'lib' %}\n\n{{ m(1) }}", RMSNORM_INVALID_ARGUMENT,
                   "lib:2:6: division by zero, at \"/ 0 }}{% endmacro %}\"");
    expect_refusal(at, "{% include 'lib' %}\n\n{{ m(1 / 0) }}", RMSNORM_INVALID_ARGUMENT,
                   "t:3:8: division by zero, at \"/ 0) }}\"");
}

/* ---- Refusals -------------------------------------------------------------------------------- */

static void test_places_are_those_of_the_text_as_given(void **state)
{
    expect_refusal(*state, "{% if t %}\n    {% if t %}\n        {{ n | foo }}", RMSNORM_UNSUPPORTED,
                   "t:3:16: the filter 'foo' is not supported, at \"foo }}\"");
    expect_refusal(*state, "\t{% set x = 1 %}\n\t{% set y = x + none %}\n", RMSNORM_INVALID_ARGUMENT,
                   "t:2:15: the operator does not take integer and none, at \"+ none %}\\n\"");
    expect_refusal(*state, "\xC3\xA9\xE4\xB8\x96 {{ n + none }}", RMSNORM_INVALID_ARGUMENT,
                   "t:1:9: the operator does not take integer and none, at \"+ none }}\"");
}

static void test_malformed_templates(void **state)
{
    expect_refusal(*state, "a {{ n", RMSNORM_MALFORMED, "t:1:7: expected }}, at the end");
    expect_refusal(*state, "a {% if t %}b", RMSNORM_MALFORMED, "t:1:14: expected {% elif %}, at the end");
    expect_refusal(*state, "a {# b", RMSNORM_MALFORMED, "t:1:3: this comment has no end, at \"{# b\"");
    expect_refusal(*state, "{% endif %}", RMSNORM_UNSUPPORTED,
                   "t:1:4: the tag 'endif' is not supported, or does not belong here, at \"endif %}\"");
    expect_refusal(*state, "{% break %}", RMSNORM_UNSUPPORTED,
                   "t:1:4: the tag 'break' is not supported, or does not belong here, at \"break %}\"");
    expect_refusal(*state, "{% generation %}", RMSNORM_UNSUPPORTED,
                   "t:1:1: the tag generation is not supported, at \"{% generation %}\"");
    expect_refusal(*state, "{{ n {# c #} }}", RMSNORM_MALFORMED,
                   "t:1:6: a comment cannot stand inside of a tag, at \"{# c #} }}\"");
    expect_refusal(*state, "{% set a.b = 1 %}", RMSNORM_UNSUPPORTED,
                   "t:1:9: set of an attribute is not supported, at \".b = 1 %}\"");
    expect_refusal(*state, "{% for a, b in [[1]] %}{% endfor %}", RMSNORM_INVALID_ARGUMENT,
                   "t:1:4: 1 items are not unpacked to 2 names, at \"for a, b in [[1]] %}{% endfor %}\"");
    expect_refusal(*state, "{{ (1, 2) }}", RMSNORM_INVALID_ARGUMENT, "t:1:5: a tuple has no text, at \"1, 2) }}\"");
}

static void test_bytes_of_zero_are_kept(void **state)
{
    const char *rendered;
    assert_int_equal(bench_render(*state, "t", "a\0{{ '\0' }}b", 13, &rendered), RMSNORM_OK);
    assert_memory_equal(rendered, "a\0\0b", 5);
}

/* A text that shrinks again behind a macro or set block ends where it should. */
static void test_the_terminator_is_behind_the_text(void **state)
{
    expect_text(*state, "a{% set x %}a long text that is taken off again{% endset %}", "a");
    expect_text(*state, "", "");
    expect_text(*state, "{% set x %}abc{% endset %}", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_whitespace, setup, teardown),
        cmocka_unit_test_setup_teardown(test_loops, setup, teardown),
        cmocka_unit_test_setup_teardown(test_macros, setup, teardown),
        cmocka_unit_test_setup_teardown(test_raw_is_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_includes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors_in_macros_name_their_text, setup, teardown),
        cmocka_unit_test_setup_teardown(test_places_are_those_of_the_text_as_given, setup, teardown),
        cmocka_unit_test_setup_teardown(test_malformed_templates, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bytes_of_zero_are_kept, setup, teardown),
        cmocka_unit_test_setup_teardown(test_the_terminator_is_behind_the_text, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
