#include <string.h>

#include "template/run.h"

rmsnorm_status rmsnorm_run_spend(rmsnorm_rendering *run, size_t at, size_t steps)
{
    rmsnorm_evaluation *const evaluation = run->evaluation;
    if (evaluation->steps < 0 || (uint64_t)evaluation->steps < steps) {
        evaluation->steps = 0;
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "the evaluation takes more steps than allowed");
    }
    evaluation->steps -= (int64_t)steps;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_run_exhausted(rmsnorm_rendering *run, size_t at)
{
    return RMSNORM_RUN_FAIL(run, at, RMSNORM_OUT_OF_MEMORY, "%s", rmsnorm_last_error());
}

/* ---- Names and calls ------------------------------------------------------------------------- */

static const rmsnorm_any *find_variable(const rmsnorm_scope *scope, const char *name, size_t length)
{
    for (; scope != NULL; scope = scope->outer) {
        const rmsnorm_any *const value =
            scope->variables == NULL ? NULL : rmsnorm_map_get(scope->variables, name, length);
        if (value != NULL) {
            return value;
        }
    }
    return NULL;
}

static const rmsnorm_function *find_function(const rmsnorm_rendering *run, const char *name, size_t length)
{
    for (size_t i = 0; i < run->evaluation->function_count; i++) {
        const rmsnorm_function *const function = &run->evaluation->functions[i];
        if (strlen(function->name) == length && memcmp(function->name, name, length) == 0) {
            return function;
        }
    }
    return rmsnorm_function_find(name, length);
}

static int shown(size_t length)
{
    return length < 60 ? (int)length : 60;
}

static rmsnorm_status run_name(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                               rmsnorm_any *result)
{
    const char *const name = term->as.name.text;
    const size_t length = term->as.name.length;
    const rmsnorm_any *const value = find_variable(scope, name, length);
    if (value != NULL) {
        *result = *value;
        return RMSNORM_OK;
    }
    if (find_function(run, name, length) != NULL || rmsnorm_function_is_foreign(name, length)) {
        return RMSNORM_RUN_FAIL(run, term->at, RMSNORM_UNSUPPORTED, "the function '%.*s' is not called", shown(length),
                                name);
    }
    *result = rmsnorm_any_undefined();
    return RMSNORM_OK;
}

static rmsnorm_status run_function(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_function *function,
                                   const rmsnorm_scope *scope, rmsnorm_any *result)
{
    const size_t count = term->as.name.count;
    if (count < function->least || count > function->most) {
        return RMSNORM_RUN_FAIL(run, term->at, RMSNORM_INVALID_ARGUMENT, "%s takes %zu to %zu arguments, not %zu",
                                function->name, function->least, function->most, count);
    }
    rmsnorm_any few[4];
    rmsnorm_any *const values = count <= 4 ? few : rmsnorm_arena_allocate(run->arena, count * sizeof *values);
    if (values == NULL) {
        return rmsnorm_run_exhausted(run, term->at);
    }
    for (size_t i = 0; i < count; i++) {
        const rmsnorm_argument *const argument = &term->as.name.arguments[i];
        if (argument->name != NULL) {
            return RMSNORM_RUN_FAIL(run, argument->value->at, RMSNORM_UNSUPPORTED,
                                    "%s takes no arguments by their names", function->name);
        }
        RMSNORM_TRY(rmsnorm_run_term(run, argument->value, scope, &values[i]));
    }
    *result = rmsnorm_any_undefined();
    const size_t used = run->arena->used;
    const rmsnorm_status status = function->call(run->arena, values, count, result);
    if (status != RMSNORM_OK) {
        return RMSNORM_RUN_FAIL(run, term->at, status, "%s", rmsnorm_last_error());
    }
    return rmsnorm_run_spend(run, term->at, (run->arena->used - used) / sizeof *values);
}

static rmsnorm_status run_call(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                               rmsnorm_any *result)
{
    const char *const name = term->as.name.text;
    const size_t length = term->as.name.length;
    const rmsnorm_any *const value = find_variable(scope, name, length);
    if (value != NULL && value->kind == RMSNORM_ANY_CALLABLE) {
        return rmsnorm_run_macro(run, term, value->as.callable, scope, result);
    }
    if (value != NULL) {
        return RMSNORM_RUN_FAIL(run, term->at, RMSNORM_INVALID_ARGUMENT, "'%.*s' is a value of kind %s, not a function",
                                shown(length), name, rmsnorm_any_kind_name(value->kind));
    }
    const rmsnorm_function *const function = find_function(run, name, length);
    if (function == NULL) {
        return RMSNORM_RUN_FAIL(run, term->at, RMSNORM_NOT_FOUND, "there is no function or macro '%.*s'", shown(length),
                                name);
    }
    return run_function(run, term, function, scope, result);
}

/* ---- Lists and maps -------------------------------------------------------------------------- */

static rmsnorm_status run_list(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                               rmsnorm_any *result)
{
    *result = rmsnorm_any_list(run->arena);
    if (result->kind == RMSNORM_ANY_UNDEFINED) {
        return rmsnorm_run_exhausted(run, term->at);
    }
    result->as.list->tuple = term->kind == TERM_TUPLE;
    for (size_t i = 0; i < term->as.list.count; i++) {
        rmsnorm_any item;
        RMSNORM_TRY(rmsnorm_run_term(run, term->as.list.items[i].value, scope, &item));
        if (!rmsnorm_list_push(run->arena, result->as.list, item)) {
            return rmsnorm_run_exhausted(run, term->at);
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status run_map(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                              rmsnorm_any *result)
{
    *result = rmsnorm_any_map(run->arena);
    if (result->kind == RMSNORM_ANY_UNDEFINED) {
        return rmsnorm_run_exhausted(run, term->at);
    }
    for (size_t i = 0; i < term->as.list.count; i++) {
        const rmsnorm_pair *const pair = &term->as.list.items[i];
        rmsnorm_any key, item;
        RMSNORM_TRY(rmsnorm_run_term(run, pair->key, scope, &key));
        if (key.kind != RMSNORM_ANY_STRING) {
            return RMSNORM_RUN_FAIL(run, pair->key->at, RMSNORM_INVALID_ARGUMENT, "a key is a string, not %s",
                                    rmsnorm_any_kind_name(key.kind));
        }
        RMSNORM_TRY(rmsnorm_run_term(run, pair->value, scope, &item));
        if (!rmsnorm_map_set(run->arena, result->as.map, key.as.string.text, key.as.string.length, item)) {
            return rmsnorm_run_exhausted(run, term->at);
        }
    }
    return RMSNORM_OK;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

static rmsnorm_status run_builtin(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_scope *scope,
                                  rmsnorm_any *value)
{
    rmsnorm_builtin_call call = {
        .run = run, .at = link->at, .name = link->builtin->name, .called = link->called, .operand = *value};
    if (link->kind == LINK_METHOD) {
        const bool own = value->kind == RMSNORM_ANY_MAP && rmsnorm_map_get(value->as.map, link->name, link->length);
        if (own || !rmsnorm_method_fits(value->kind, link->name, link->length)) {
            return rmsnorm_call_refuse(&call);
        }
    }
    for (size_t i = 0; i < RMSNORM_ARGUMENTS; i++) {
        call.given[i] = link->operands[i] != NULL;
        if (call.given[i]) {
            RMSNORM_TRY(rmsnorm_run_term(run, link->operands[i], scope, &call.arguments[i]));
        }
    }
    return link->builtin->apply(&call, value);
}

static rmsnorm_status run_slice(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_scope *scope,
                                rmsnorm_any *value)
{
    rmsnorm_any bounds[RMSNORM_ARGUMENTS];
    for (size_t i = 0; i < RMSNORM_ARGUMENTS; i++) {
        bounds[i] = rmsnorm_any_undefined();
        if (link->operands[i] != NULL) {
            RMSNORM_TRY(rmsnorm_run_term(run, link->operands[i], scope, &bounds[i]));
        }
    }
    return rmsnorm_run_slice(run, link->at, bounds, value);
}

static rmsnorm_status run_test(rmsnorm_rendering *run, const rmsnorm_link *link, rmsnorm_any *value)
{
    bool holds;
    RMSNORM_TRY(link->test->holds(run, link->at, value, &holds));
    *value = rmsnorm_any_boolean(holds != link->negated);
    return RMSNORM_OK;
}

/* value is what came before, and becomes what comes after. */
static rmsnorm_status run_link(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_scope *scope,
                               rmsnorm_any *value)
{
    switch (link->kind) {
    case LINK_AND:
        return rmsnorm_any_is_true(value) ? rmsnorm_run_term(run, link->operands[0], scope, value) : RMSNORM_OK;
    case LINK_OR:
        return rmsnorm_any_is_true(value) ? RMSNORM_OK : rmsnorm_run_term(run, link->operands[0], scope, value);
    case LINK_ATTRIBUTE:
        return rmsnorm_run_attribute(run, link, value);
    case LINK_SLICE:
        return run_slice(run, link, scope, value);
    case LINK_METHOD:
    case LINK_FILTER:
        return run_builtin(run, link, scope, value);
    case LINK_TEST:
        return run_test(run, link, value);
    default: {
        const rmsnorm_any left = *value;
        rmsnorm_any right;
        RMSNORM_TRY(rmsnorm_run_term(run, link->operands[0], scope, &right));
        return link->kind == LINK_INDEX ? rmsnorm_run_index(run, link->at, &right, value)
                                        : rmsnorm_run_operator(run, link, &left, &right, value);
    }
    }
}

static rmsnorm_status run_chain(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                                rmsnorm_any *result)
{
    RMSNORM_TRY(rmsnorm_run_term(run, term->as.chain.first, scope, result));
    for (const rmsnorm_link *link = term->as.chain.links; link != NULL; link = link->next) {
        RMSNORM_TRY(rmsnorm_run_spend(run, link->at, 1));
        RMSNORM_TRY(run_link(run, link, scope, result));
    }
    return RMSNORM_OK;
}

/* ---- Terms ----------------------------------------------------------------------------------- */

static rmsnorm_status run_choice(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                                 rmsnorm_any *result)
{
    RMSNORM_TRY(rmsnorm_run_term(run, term->as.choice.condition, scope, result));
    const rmsnorm_term *const chosen = rmsnorm_any_is_true(result) ? term->as.choice.value : term->as.choice.otherwise;
    *result = rmsnorm_any_undefined();
    return chosen == NULL ? RMSNORM_OK : rmsnorm_run_term(run, chosen, scope, result);
}

rmsnorm_status rmsnorm_run_term(rmsnorm_rendering *run, const rmsnorm_term *term, const rmsnorm_scope *scope,
                                rmsnorm_any *result)
{
    RMSNORM_TRY(rmsnorm_run_spend(run, term->at, 1));
    switch (term->kind) {
    case TERM_LITERAL:
        *result = term->as.literal;
        return RMSNORM_OK;
    case TERM_NAME:
        return run_name(run, term, scope, result);
    case TERM_CALL:
        return run_call(run, term, scope, result);
    case TERM_LIST:
    case TERM_TUPLE:
        return run_list(run, term, scope, result);
    case TERM_MAP:
        return run_map(run, term, scope, result);
    case TERM_PLUS:
    case TERM_MINUS:
        RMSNORM_TRY(rmsnorm_run_term(run, term->as.operand, scope, result));
        return rmsnorm_run_sign(run, term, result);
    case TERM_NOT:
        RMSNORM_TRY(rmsnorm_run_term(run, term->as.operand, scope, result));
        *result = rmsnorm_any_boolean(!rmsnorm_any_is_true(result));
        return RMSNORM_OK;
    case TERM_CHOICE:
        return run_choice(run, term, scope, result);
    default:
        return run_chain(run, term, scope, result);
    }
}

rmsnorm_status rmsnorm_run_expression(rmsnorm_rendering *run, const rmsnorm_expression *expression,
                                      const rmsnorm_scope *scope, rmsnorm_any *result)
{
    if (run->depth + expression->depth > RMSNORM_TEMPLATE_DEPTH) {
        return RMSNORM_RUN_FAIL(run, expression->root->at, RMSNORM_INVALID_ARGUMENT, "more than %d levels are nested",
                                RMSNORM_TEMPLATE_DEPTH);
    }
    return rmsnorm_run_term(run, expression->root, scope, result);
}

rmsnorm_status rmsnorm_expression_evaluate(const rmsnorm_expression *expression, const rmsnorm_scope *scope,
                                           rmsnorm_evaluation *evaluation, rmsnorm_any *result)
{
    rmsnorm_rendering run = {.evaluation = evaluation, .arena = evaluation->arena, .unit = expression->unit};
    return rmsnorm_run_expression(&run, expression, scope, result);
}
