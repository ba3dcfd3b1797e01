#include "template/support.h"

void bench_open(bench *at)
{
    *at = (bench){.steps = BENCH_STEPS, .text_limit = BENCH_TEXT};
    rmsnorm_arena_init(&at->arena, BENCH_MEMORY);
    at->variables = rmsnorm_any_map(&at->arena).as.map;
    assert_non_null(at->variables);
}

void bench_close(bench *at)
{
    rmsnorm_arena_release(&at->arena);
}

void bench_set(bench *at, const char *name, rmsnorm_any value)
{
    assert_true(rmsnorm_map_set(&at->arena, at->variables, name, strlen(name), value));
}

static rmsnorm_evaluation evaluation_of(bench *at)
{
    return (rmsnorm_evaluation){
        .arena = &at->arena, .functions = at->functions, .function_count = at->function_count, .steps = at->steps};
}

rmsnorm_status bench_evaluate(bench *at, const char *text, rmsnorm_any *value)
{
    const rmsnorm_text_source source = {.name = "e", .text = text, .length = strlen(text)};
    const rmsnorm_scope scope = {.variables = at->variables};
    rmsnorm_evaluation evaluation = evaluation_of(at);
    const rmsnorm_expression *expression;
    const rmsnorm_status status = rmsnorm_expression_parse(&at->arena, &source, &expression);
    return status != RMSNORM_OK ? status : rmsnorm_expression_evaluate(expression, &scope, &evaluation, value);
}

rmsnorm_status bench_render(bench *at, const char *name, const char *text, size_t length, const char **rendered)
{
    const rmsnorm_text_source source = {.name = name, .text = text, .length = length};
    rmsnorm_evaluation evaluation = evaluation_of(at);
    const rmsnorm_template *parsed;
    size_t rendered_length;
    rmsnorm_status status = rmsnorm_template_parse(&at->arena, &source, &parsed);
    if (status == RMSNORM_OK) {
        status = rmsnorm_template_render(parsed, at->variables, at->library, &evaluation, at->text_limit, rendered,
                                         &rendered_length);
    }
    if (status == RMSNORM_OK) {
        assert_int_equal((*rendered)[rendered_length], '\0');
        assert_true(rendered_length <= at->text_limit);
    }
    return status;
}

void expect_text(bench *at, const char *text, const char *expected)
{
    const char *rendered = "";
    if (bench_render(at, "t", text, strlen(text), &rendered) != RMSNORM_OK) {
        fail_msg("%s: %s", text, rmsnorm_last_error());
    }
    if (strcmp(rendered, expected) != 0) {
        fail_msg("%s gives\n%s\nnot\n%s", text, rendered, expected);
    }
}

void expect_refusal(bench *at, const char *text, rmsnorm_status status, const char *sentence)
{
    const char *rendered = "";
    const rmsnorm_status given = bench_render(at, "t", text, strlen(text), &rendered);
    if (given == RMSNORM_OK) {
        fail_msg("%s is not refused, but gives %s", text, rendered);
    }
    if (strcmp(rmsnorm_last_error(), sentence) != 0) {
        fail_msg("%s is refused with\n%s\nnot\n%s", text, rmsnorm_last_error(), sentence);
    }
    assert_int_equal(given, status);
}
