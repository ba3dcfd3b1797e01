/* run.h: evaluation: its state, the built-in filters, methods and tests, and how values become text. Internal to this room. */
#ifndef RMSNORM_TEMPLATE_RUN_H
#define RMSNORM_TEMPLATE_RUN_H

#include "template/syntax.h"

typedef struct rmsnorm_rendering {
    rmsnorm_evaluation *evaluation;
    rmsnorm_arena *arena;     /* the evaluation's */
    const rmsnorm_unit *unit; /* whose terms are evaluated now */
    size_t depth;             /* blocks, includes and calls that are open */
    const rmsnorm_library *library;
    rmsnorm_buffer output;
} rmsnorm_rendering;

/* A failure with its place in the current unit. */
#define RMSNORM_RUN_FAIL(run, at, status, ...) rmsnorm_unit_fail((run)->unit, (at), (status), __VA_ARGS__)

/* So much work was done; fails when there were fewer steps left. */
rmsnorm_status rmsnorm_run_spend(rmsnorm_rendering *run, size_t at, size_t steps);

/* After an arena or buffer said no: the status, with its place. */
RMSNORM_COLD rmsnorm_status rmsnorm_run_exhausted(rmsnorm_rendering *run, size_t at);

rmsnorm_status rmsnorm_run_expression(rmsnorm_rendering *run, const rmsnorm_expression *expression,
                                      const rmsnorm_scope *scope, rmsnorm_any *result);
rmsnorm_status rmsnorm_run_term(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                                rmsnorm_any *result);

/* The call of a macro: a callable value. */
rmsnorm_status rmsnorm_run_macro(rmsnorm_rendering *run, const rmsnorm_term *call, const void *callable,
                                 const rmsnorm_scope *scope, rmsnorm_any *result);

/* ---- Operators ------------------------------------------------------------------------------- */

/* All but and, or and the ones without a right operand. */
rmsnorm_status rmsnorm_run_operator(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                                    const rmsnorm_any *right, rmsnorm_any *result);
rmsnorm_status rmsnorm_run_sign(rmsnorm_rendering *run, const rmsnorm_term *term, rmsnorm_any *value);

/* As JavaScript's === of what the reference holds: no kind equals another, but integers floats and undefined none; lists and
 * maps equal only themselves. */
bool rmsnorm_any_is_same(const rmsnorm_any *left, const rmsnorm_any *right);

double rmsnorm_any_number(const rmsnorm_any *value); /* of an integer or float */

/* Refuses one that is not finite. */
rmsnorm_status rmsnorm_run_float(rmsnorm_rendering *run, size_t at, double number, rmsnorm_any *result);

/* ---- Members --------------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_run_attribute(rmsnorm_rendering *run, const rmsnorm_link *link, rmsnorm_any *value);
rmsnorm_status rmsnorm_run_index(rmsnorm_rendering *run, size_t at, const rmsnorm_any *index, rmsnorm_any *value);
rmsnorm_status rmsnorm_run_slice(rmsnorm_rendering *run, size_t at, const rmsnorm_any bounds[RMSNORM_ARGUMENTS],
                                 rmsnorm_any *value);

/* ---- Values as text -------------------------------------------------------------------------- */

/* {{ }}: a float shows that it is one, lists and maps are JSON, undefined and none are nothing. */
rmsnorm_status rmsnorm_run_print(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, rmsnorm_buffer *buffer);

/* What ~ and join make of a value: 1.0 is 1, a list is its items with commas between. */
rmsnorm_status rmsnorm_run_concatenate(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value,
                                       rmsnorm_buffer *buffer);

/* The filter string. */
rmsnorm_status rmsnorm_run_string(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, rmsnorm_buffer *buffer);

/* JSON; with indent > 0 on lines of its own. */
rmsnorm_status rmsnorm_run_json(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, size_t indent,
                                rmsnorm_buffer *buffer);

/* ---- Built-in filters and methods ------------------------------------------------------------ */

typedef struct rmsnorm_builtin_call {
    rmsnorm_rendering *run;
    size_t at;
    const char *name;
    bool called; /* with parentheses */
    rmsnorm_any operand;
    rmsnorm_any arguments[RMSNORM_ARGUMENTS];
    bool given[RMSNORM_ARGUMENTS];
} rmsnorm_builtin_call;

typedef rmsnorm_status (*rmsnorm_apply)(rmsnorm_builtin_call *call, rmsnorm_any *result);

/* One by its name. Filters and methods may share an apply. */
typedef struct rmsnorm_builtin {
    const char *name;
    rmsnorm_apply apply;
    bool bare, called;   /* a filter without and with parentheses; methods are called */
    unsigned char least; /* arguments by place */
    unsigned char most;
    const char *keywords[RMSNORM_ARGUMENTS]; /* the names arguments have, by their place; NULL for none */
} rmsnorm_builtin;

const rmsnorm_builtin *rmsnorm_filter_find(const char *name, size_t length);
const rmsnorm_builtin *rmsnorm_method_find(const char *name, size_t length);

/* Whether values of the kind have the method. */
bool rmsnorm_method_fits(rmsnorm_any_kind kind, const char *name, size_t length);

typedef struct rmsnorm_test {
    const char *name;
    rmsnorm_status (*holds)(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, bool *result);
} rmsnorm_test;

const rmsnorm_test *rmsnorm_test_find(const char *name, size_t length);

/* The functions that are always there: range, raise_exception. */
const rmsnorm_function *rmsnorm_function_find(const char *name, size_t length);

/* Names that mean something in the reference, and are refused here when nothing else has them. */
bool rmsnorm_function_is_foreign(const char *name, size_t length);

/* A refusal of the operand's kind. */
RMSNORM_COLD rmsnorm_status rmsnorm_call_refuse(const rmsnorm_builtin_call *call);

/* Their functions, by the kind of value they are about. */
rmsnorm_status rmsnorm_apply_length(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_upper(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_lower(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_capitalize(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_title(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_strip(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_lstrip(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_rstrip(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_startswith(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_endswith(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_split(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_replace(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_indent(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_get(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_items(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_keys(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_values(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_reverse(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_sort(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_dictsort(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_unique(rmsnorm_builtin_call *call, rmsnorm_any *result);
rmsnorm_status rmsnorm_apply_map(rmsnorm_builtin_call *call, rmsnorm_any *result);

#endif
