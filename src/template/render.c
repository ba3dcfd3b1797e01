#include <string.h>

#include "template/statement.h"

/* What set, for and macro write into: the variables of one scope, before those of the outer ones. */
typedef struct frame {
    rmsnorm_scope scope;
    rmsnorm_map map;
} frame;

static void open_frame(frame *of, const rmsnorm_scope *outer)
{
    *of = (frame){.scope = {.variables = &of->map, .outer = outer}};
}

static rmsnorm_status assign(rmsnorm_rendering *run, size_t at, frame *to, const rmsnorm_word *name, rmsnorm_any value)
{
    return rmsnorm_map_set(run->arena, &to->map, name->text, name->length, value) ? RMSNORM_OK
                                                                                  : rmsnorm_run_exhausted(run, at);
}

static rmsnorm_status render_body(rmsnorm_rendering *run, const rmsnorm_statement *body, frame *variables);

static rmsnorm_status enter(rmsnorm_rendering *run, size_t at)
{
    if (run->depth >= RMSNORM_TEMPLATE_DEPTH) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "more than %d levels are nested",
                                RMSNORM_TEMPLATE_DEPTH);
    }
    run->depth++;
    return RMSNORM_OK;
}

/* A body one level deeper. */
static rmsnorm_status render_block(rmsnorm_rendering *run, size_t at, const rmsnorm_statement *body, frame *variables)
{
    RMSNORM_TRY(enter(run, at));
    RMSNORM_TRY(render_body(run, body, variables));
    run->depth--;
    return RMSNORM_OK;
}

/* The text of a body as a value: it is rendered behind what is there, and taken off again. */
static rmsnorm_status capture(rmsnorm_rendering *run, size_t at, const rmsnorm_statement *body, frame *variables,
                              rmsnorm_any *text)
{
    const size_t start = run->output.length;
    RMSNORM_TRY(render_block(run, at, body, variables));
    const size_t length = run->output.length - start;
    const char *const copy = rmsnorm_arena_copy(run->arena, length == 0 ? "" : run->output.text + start, length);
    if (copy == NULL) {
        return rmsnorm_run_exhausted(run, at);
    }
    run->output.length = start;
    *text = rmsnorm_any_string(copy, length);
    return RMSNORM_OK;
}

/* ---- Macros ---------------------------------------------------------------------------------- */

static int shown(size_t length)
{
    return length < 60 ? (int)length : 60;
}

static size_t find_parameter(const rmsnorm_macro *macro, const rmsnorm_argument *argument)
{
    size_t i = 0;
    while (i < macro->count && (macro->parameters[i].name.length != argument->length ||
                                memcmp(macro->parameters[i].name.text, argument->name, argument->length) != 0)) {
        i++;
    }
    return i;
}

/* The arguments, evaluated where the macro is called. NULL stays in `given` for a parameter without one. */
static rmsnorm_status read_arguments(rmsnorm_rendering *run, const rmsnorm_term *call, const rmsnorm_macro *macro,
                                     const rmsnorm_scope *scope, frame *variables, bool *given)
{
    for (size_t i = 0; i < call->as.name.count; i++) {
        const rmsnorm_argument *const argument = &call->as.name.arguments[i];
        const size_t place = argument->name == NULL ? i : find_parameter(macro, argument);
        if (place >= macro->count || given[place]) {
            return RMSNORM_RUN_FAIL(run, argument->value->at, RMSNORM_INVALID_ARGUMENT,
                                    "the macro '%.*s' does not take this argument", shown(macro->name.length),
                                    macro->name.text);
        }
        rmsnorm_any value;
        RMSNORM_TRY(rmsnorm_run_term(run, argument->value, scope, &value));
        RMSNORM_TRY(assign(run, argument->value->at, variables, &macro->parameters[place].name, value));
        given[place] = true;
    }
    return RMSNORM_OK;
}

/* In its own unit. Every name is bound before the first default is evaluated. */
static rmsnorm_status render_macro(rmsnorm_rendering *run, const rmsnorm_macro *macro, size_t at, const bool *given,
                                   frame *variables, rmsnorm_any *result)
{
    for (size_t i = 0; i < macro->count; i++) {
        if (!given[i]) {
            RMSNORM_TRY(assign(run, at, variables, &macro->parameters[i].name, rmsnorm_any_undefined()));
        }
    }
    for (size_t i = 0; i < macro->count; i++) {
        if (!given[i] && macro->parameters[i].fallback != NULL) {
            rmsnorm_any value;
            RMSNORM_TRY(rmsnorm_run_expression(run, macro->parameters[i].fallback, &variables->scope, &value));
            RMSNORM_TRY(assign(run, at, variables, &macro->parameters[i].name, value));
        }
    }
    return capture(run, at, macro->body, variables, result);
}

rmsnorm_status rmsnorm_run_macro(rmsnorm_rendering *run, const rmsnorm_term *call, const void *callable,
                                 const rmsnorm_scope *scope, rmsnorm_any *result)
{
    const rmsnorm_macro *const macro = callable;
    const size_t depth = run->depth;
    const rmsnorm_unit *const unit = run->unit;
    if (run->output.arena == NULL) {
        return RMSNORM_RUN_FAIL(run, call->at, RMSNORM_UNSUPPORTED, "a macro is only called in a template");
    }
    frame variables;
    open_frame(&variables, scope);
    bool *const given = rmsnorm_arena_allocate(run->arena, macro->count * sizeof *given);
    if (given == NULL) {
        return rmsnorm_run_exhausted(run, call->at);
    }
    RMSNORM_TRY(read_arguments(run, call, macro, scope, &variables, given));
    run->depth = depth + call->as.name.depth;
    run->unit = macro->unit;
    RMSNORM_TRY(render_macro(run, macro, call->at, given, &variables, result));
    run->unit = unit;
    run->depth = depth;
    return RMSNORM_OK;
}

/* ---- For ------------------------------------------------------------------------------------- */

/* A list of as many items as names, or the one name's value. */
static rmsnorm_status unpack(rmsnorm_rendering *run, size_t at, const rmsnorm_targets *targets, bool loop,
                             const rmsnorm_any *value, frame *to)
{
    if (!targets->unpack) {
        return assign(run, at, to, &targets->names[0], *value);
    }
    if (value->kind != RMSNORM_ANY_LIST || (loop && value->as.list->tuple)) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "%s is not unpacked",
                                value->kind == RMSNORM_ANY_LIST ? "a tuple" : rmsnorm_any_kind_name(value->kind));
    }
    if (value->as.list->count != targets->count) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "%zu items are not unpacked to %zu names",
                                value->as.list->count, targets->count);
    }
    for (size_t i = 0; i < targets->count; i++) {
        RMSNORM_TRY(assign(run, at, to, &targets->names[i], value->as.list->items[i]));
    }
    return RMSNORM_OK;
}

/* What is looped over: a list, or the keys of a map. */
static rmsnorm_status list_items(rmsnorm_rendering *run, size_t at, rmsnorm_any *value)
{
    if (value->kind == RMSNORM_ANY_MAP) {
        return rmsnorm_apply_keys(&(rmsnorm_builtin_call){.run = run, .at = at, .operand = *value}, value);
    }
    if (value->kind != RMSNORM_ANY_LIST) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "a for loop takes a list or a map, not %s",
                                rmsnorm_any_kind_name(value->kind));
    }
    return RMSNORM_OK;
}

/* The items for which the condition holds, each looked at in a scope of its own. */
static rmsnorm_status select_items(rmsnorm_rendering *run, const rmsnorm_statement *statement,
                                   const rmsnorm_term *condition, const frame *outer, rmsnorm_any *items)
{
    const rmsnorm_list *const all = items->as.list;
    *items = rmsnorm_any_list(run->arena);
    bool added = items->kind == RMSNORM_ANY_LIST;
    for (size_t i = 0; added && i < all->count; i++) {
        frame own;
        rmsnorm_any holds;
        open_frame(&own, &outer->scope);
        RMSNORM_TRY(unpack(run, statement->at, &statement->as.block.targets, true, &all->items[i], &own));
        RMSNORM_TRY(rmsnorm_run_term(run, condition, &own.scope, &holds));
        if (rmsnorm_any_is_true(&holds)) {
            added = rmsnorm_list_push(run->arena, items->as.list, all->items[i]);
        }
    }
    return added ? RMSNORM_OK : rmsnorm_run_exhausted(run, statement->at);
}

/* Each iteration has a loop of its own, which may be kept. */
static rmsnorm_status make_loop(rmsnorm_rendering *run, size_t at, const rmsnorm_list *items, size_t i,
                                rmsnorm_any *loop)
{
    const int64_t index = (int64_t)i, count = (int64_t)items->count;
    const struct {
        const char *name;
        rmsnorm_any value;
    } parts[] = {{"index", rmsnorm_any_integer(index + 1)},
                 {"index0", rmsnorm_any_integer(index)},
                 {"revindex", rmsnorm_any_integer(count - index)},
                 {"revindex0", rmsnorm_any_integer(count - index - 1)},
                 {"first", rmsnorm_any_boolean(index == 0)},
                 {"last", rmsnorm_any_boolean(index == count - 1)},
                 {"length", rmsnorm_any_integer(count)},
                 {"previtem", i > 0 ? items->items[i - 1] : rmsnorm_any_undefined()},
                 {"nextitem", i + 1 < items->count ? items->items[i + 1] : rmsnorm_any_undefined()}};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    *loop = rmsnorm_any_map(run->arena);
    rmsnorm_entry *const entries = rmsnorm_arena_allocate(run->arena, PARTS * sizeof *entries);
    if (entries == NULL || loop->kind == RMSNORM_ANY_UNDEFINED) {
        return rmsnorm_run_exhausted(run, at);
    }
    for (size_t k = 0; k < PARTS; k++) {
        entries[k] = (rmsnorm_entry){.key = parts[k].name, .length = strlen(parts[k].name), .value = parts[k].value};
    }
    *loop->as.map = (rmsnorm_map){.entries = entries, .count = PARTS, .capacity = PARTS};
    return RMSNORM_OK;
}

static rmsnorm_status render_for(rmsnorm_rendering *run, const rmsnorm_statement *statement, const frame *outer)
{
    static const rmsnorm_word loop_name = {"loop", 4};
    const rmsnorm_term *const root = statement->value->root;
    /* A condition without else is no choice here, but a filter. */
    const bool filtered = root->kind == TERM_CHOICE && root->as.choice.otherwise == NULL;
    const rmsnorm_expression source = {statement->value->unit, filtered ? root->as.choice.value : root,
                                       statement->value->depth};
    frame own;
    rmsnorm_any items = rmsnorm_any_undefined();
    open_frame(&own, &outer->scope);
    RMSNORM_TRY(rmsnorm_run_expression(run, &source, &own.scope, &items));
    RMSNORM_TRY(list_items(run, source.root->at, &items));
    if (filtered) {
        RMSNORM_TRY(select_items(run, statement, root->as.choice.condition, &own, &items));
    }
    const rmsnorm_list *const list = items.as.list;
    for (size_t i = 0; i < list->count; i++) {
        rmsnorm_any loop;
        RMSNORM_TRY(rmsnorm_run_spend(run, statement->at, 1));
        RMSNORM_TRY(make_loop(run, statement->at, list, i, &loop));
        RMSNORM_TRY(assign(run, statement->at, &own, &loop_name, loop));
        RMSNORM_TRY(unpack(run, statement->at, &statement->as.block.targets, true, &list->items[i], &own));
        RMSNORM_TRY(render_block(run, statement->at, statement->as.block.body, &own));
    }
    return list->count > 0 ? RMSNORM_OK : render_block(run, statement->at, statement->as.block.otherwise, &own);
}

/* ---- Statements ------------------------------------------------------------------------------ */

static rmsnorm_status render_if(rmsnorm_rendering *run, const rmsnorm_statement *statement, frame *variables)
{
    for (const rmsnorm_branch *branch = statement->as.branches; branch != NULL; branch = branch->next) {
        rmsnorm_any holds = rmsnorm_any_boolean(true);
        if (branch->condition != NULL) {
            RMSNORM_TRY(rmsnorm_run_expression(run, branch->condition, &variables->scope, &holds));
        }
        if (rmsnorm_any_is_true(&holds)) {
            return render_block(run, statement->at, branch->body, variables);
        }
    }
    return RMSNORM_OK;
}

/* As if the included text stood here: it sees the variables, and what it sets stays. */
static rmsnorm_status render_include(rmsnorm_rendering *run, const rmsnorm_statement *statement, frame *variables)
{
    rmsnorm_any name;
    RMSNORM_TRY(rmsnorm_run_expression(run, statement->value, &variables->scope, &name));
    if (name.kind != RMSNORM_ANY_STRING) {
        return RMSNORM_RUN_FAIL(run, statement->at, RMSNORM_INVALID_ARGUMENT, "include takes a name, not %s",
                                rmsnorm_any_kind_name(name.kind));
    }
    const rmsnorm_template *const found =
        run->library == NULL ? NULL
                             : run->library->find(run->library->user, name.as.string.text, name.as.string.length);
    if (found == NULL) {
        return RMSNORM_RUN_FAIL(run, statement->at, RMSNORM_NOT_FOUND, "there is no template '%.*s' to include",
                                shown(name.as.string.length), name.as.string.text);
    }
    const rmsnorm_unit *const unit = run->unit;
    RMSNORM_TRY(enter(run, statement->at));
    run->unit = found->unit;
    RMSNORM_TRY(render_body(run, found->body, variables));
    run->unit = unit;
    run->depth--;
    return RMSNORM_OK;
}

static rmsnorm_status render_statement(rmsnorm_rendering *run, const rmsnorm_statement *statement, frame *variables)
{
    rmsnorm_any value = rmsnorm_any_undefined();
    switch (statement->kind) {
    case STATEMENT_TEXT:
        value = rmsnorm_any_string(statement->as.text.text, statement->as.text.length);
        return rmsnorm_run_concatenate(run, statement->at, &value, &run->output);
    case STATEMENT_PRINT:
        RMSNORM_TRY(rmsnorm_run_expression(run, statement->value, &variables->scope, &value));
        return rmsnorm_run_print(run, statement->value->root->at, &value, &run->output);
    case STATEMENT_IF:
        return render_if(run, statement, variables);
    case STATEMENT_FOR:
        return render_for(run, statement, variables);
    case STATEMENT_SET:
        RMSNORM_TRY(rmsnorm_run_expression(run, statement->value, &variables->scope, &value));
        return unpack(run, statement->at, &statement->as.block.targets, false, &value, variables);
    case STATEMENT_SET_BLOCK:
        RMSNORM_TRY(capture(run, statement->at, statement->as.block.body, variables, &value));
        return unpack(run, statement->at, &statement->as.block.targets, false, &value, variables);
    case STATEMENT_MACRO:
        value = (rmsnorm_any){.kind = RMSNORM_ANY_CALLABLE, .as.callable = &statement->as.macro};
        return assign(run, statement->at, variables, &statement->as.macro.name, value);
    default:
        return render_include(run, statement, variables);
    }
}

static rmsnorm_status render_body(rmsnorm_rendering *run, const rmsnorm_statement *body, frame *variables)
{
    for (const rmsnorm_statement *statement = body; statement != NULL; statement = statement->next) {
        RMSNORM_TRY(rmsnorm_run_spend(run, statement->at, 1));
        RMSNORM_TRY(render_statement(run, statement, variables));
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_template_render(const rmsnorm_template *parsed, const rmsnorm_map *context,
                                       const rmsnorm_library *library, rmsnorm_evaluation *evaluation,
                                       size_t text_limit, const char **text, size_t *length)
{
    rmsnorm_rendering run = {.evaluation = evaluation,
                             .arena = evaluation->arena,
                             .unit = parsed->unit,
                             .library = library,
                             .output = {.arena = evaluation->arena, .limit = text_limit}};
    const rmsnorm_scope outer = {.variables = context};
    frame variables;
    open_frame(&variables, &outer);
    RMSNORM_TRY(render_body(&run, parsed->body, &variables));
    const char *const rendered = run.output.length == 0 ? rmsnorm_arena_copy(run.arena, "", 0) : run.output.text;
    if (rendered == NULL) {
        return rmsnorm_run_exhausted(&run, 0);
    }
    if (run.output.length > 0) {
        run.output.text[run.output.length] = '\0'; /* a macro's text may stand behind */
    }
    *text = rendered;
    *length = run.output.length;
    return RMSNORM_OK;
}
