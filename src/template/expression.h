/* expression.h: the expressions of templates and manifests: parsed once, evaluated often.
 *
 * Literals (integers, floats, strings, lists, maps, true/false/none in both spellings), names, . and [] (negative indexes and
 * slices too), calls, filters (|), tests (is), unary + and -, * / // % + - ~, comparisons, in, not, and, or, if-else.
 * Precedence and results are those of @huggingface/jinja for what is accepted; the rest is refused: among it integers beyond
 * 2^53, which that package would round, == of lists and maps, which it takes for false, and letters beyond ASCII where their
 * case matters. */
#ifndef RMSNORM_TEMPLATE_EXPRESSION_H
#define RMSNORM_TEMPLATE_EXPRESSION_H

#include "operator/error.h"
#include "template/value.h"

/* Text with its name, for messages: "file:line:column". The columns of a part begin where it begins. */
typedef struct rmsnorm_text_source {
    const char *name;
    const char *text;
    size_t length;
} rmsnorm_text_source;

/* A function that expressions may call by name. result lives in arena. Fails with a sentence that names the function. */
typedef struct rmsnorm_function {
    const char *name;
    size_t least, most; /* arguments */
    rmsnorm_status (*call)(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count, rmsnorm_any *result);
} rmsnorm_function;

/* What names mean. Scopes are looked up from the innermost outwards, then the functions. */
typedef struct rmsnorm_scope {
    const rmsnorm_map *variables;
    const struct rmsnorm_scope *outer;
} rmsnorm_scope;

/* One evaluation: its memory, and how much it may still do. */
typedef struct rmsnorm_evaluation {
    rmsnorm_arena *arena;
    const rmsnorm_function *functions;
    size_t function_count;
    int64_t steps; /* counts down; at 0 the evaluation fails */
} rmsnorm_evaluation;

typedef struct rmsnorm_expression rmsnorm_expression;

/* The whole text is one expression. Both the expression and its literals live in arena; source's text is not kept. */
rmsnorm_status rmsnorm_expression_parse(rmsnorm_arena *arena, const rmsnorm_text_source *source,
                                        const rmsnorm_expression **expression);

/* An operation on an undefined value, a missing name in arithmetic, an integer overflow or a division by zero fails. A missing
 * name by itself, a missing key and a member of what is undefined are undefined. */
rmsnorm_status rmsnorm_expression_evaluate(const rmsnorm_expression *expression, const rmsnorm_scope *scope,
                                           rmsnorm_evaluation *evaluation, rmsnorm_any *result);

#endif
