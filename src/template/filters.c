/* filters.c: the filters of any value and of numbers, and the tables of all filters and methods. */
#include <math.h>
#include <string.h>

#include "template/run.h"

rmsnorm_status rmsnorm_call_refuse(const rmsnorm_builtin_call *call)
{
    const bool tuple = call->operand.kind == RMSNORM_ANY_LIST && call->operand.as.list->tuple;
    return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'%s' does not apply to %s", call->name,
                            tuple ? "tuple" : rmsnorm_any_kind_name(call->operand.kind));
}

static rmsnorm_buffer new_buffer(const rmsnorm_builtin_call *call)
{
    return (rmsnorm_buffer){.arena = call->run->arena, .limit = SIZE_MAX};
}

/* ---- Any value ------------------------------------------------------------------------------- */

static rmsnorm_status apply_safe(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    *result = call->operand;
    return RMSNORM_OK;
}

/* default(value, boolean) */
static rmsnorm_status apply_default(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    if (call->given[1] && call->arguments[1].kind != RMSNORM_ANY_BOOLEAN) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'default' takes a boolean, not %s",
                                rmsnorm_any_kind_name(call->arguments[1].kind));
    }
    const bool falsy = call->given[1] && call->arguments[1].as.boolean && !rmsnorm_any_is_true(&call->operand);
    *result = call->operand;
    if (falsy || call->operand.kind == RMSNORM_ANY_UNDEFINED) {
        *result = call->given[0] ? call->arguments[0] : rmsnorm_any_text("");
    }
    return RMSNORM_OK;
}

/* tojson(indent=..) */
static rmsnorm_status apply_tojson(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    int64_t indent = 0;
    if (call->given[2] && call->arguments[2].kind == RMSNORM_ANY_INTEGER) {
        indent = call->arguments[2].as.integer;
    } else if (call->given[2] && call->arguments[2].kind != RMSNORM_ANY_NULL) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'tojson' takes an integer for indent");
    }
    if (indent < 0 || indent > 100) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'tojson' takes an indent of 0 to 100");
    }
    rmsnorm_buffer buffer = new_buffer(call);
    RMSNORM_TRY(rmsnorm_run_json(call->run, call->at, &call->operand, (size_t)indent, &buffer));
    *result = rmsnorm_any_string(buffer.text, buffer.length);
    return RMSNORM_OK;
}

static rmsnorm_status apply_string(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    const rmsnorm_any_kind kind = call->operand.kind;
    if (kind == RMSNORM_ANY_UNDEFINED || kind == RMSNORM_ANY_NULL || kind >= RMSNORM_ANY_MAP) {
        return rmsnorm_call_refuse(call);
    }
    rmsnorm_buffer buffer = new_buffer(call);
    RMSNORM_TRY(rmsnorm_run_string(call->run, call->at, &call->operand, &buffer));
    *result = rmsnorm_any_string(buffer.text, buffer.length);
    return RMSNORM_OK;
}

static rmsnorm_status apply_bool(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    *result = call->operand;
    return call->operand.kind == RMSNORM_ANY_BOOLEAN ? RMSNORM_OK : rmsnorm_call_refuse(call);
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static rmsnorm_status apply_abs(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    if (call->operand.kind == RMSNORM_ANY_FLOAT) {
        *result = rmsnorm_any_float(fabs(call->operand.as.number));
        return RMSNORM_OK;
    }
    if (call->operand.kind != RMSNORM_ANY_INTEGER || call->operand.as.integer < -RMSNORM_LARGEST_INTEGER) {
        return rmsnorm_call_refuse(call);
    }
    const int64_t integer = call->operand.as.integer;
    *result = rmsnorm_any_integer(integer < 0 ? -integer : integer);
    return RMSNORM_OK;
}

/* The number a string begins with, behind white space; false when it begins with none. */
static rmsnorm_status read_string(rmsnorm_builtin_call *call, bool whole, bool *found, rmsnorm_any *result)
{
    const char *text = call->operand.as.string.text;
    size_t length = call->operand.as.string.length, used;
    int64_t integer;
    double number;
    rmsnorm_space_strip(&text, &length, true, false);
    const size_t sign = length > 0 && (text[0] == '+' || text[0] == '-');
    const bool infinity = !whole && length - sign >= 8 && memcmp(text + sign, "Infinity", 8) == 0;
    if (infinity || !(whole ? rmsnorm_integer_read(text, length, &integer, &used)
                            : rmsnorm_number_read(text, length, &number, &used))) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_UNSUPPORTED,
                                "'%s' of a number that is too large or too long", call->name);
    }
    *found = used > 0;
    if (*found) {
        *result = whole ? rmsnorm_any_integer(integer) : rmsnorm_any_float(number);
        result->minus_zero = whole && integer == 0 && text[0] == '-';
    }
    return RMSNORM_OK;
}

static rmsnorm_status floor_to_integer(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    const double number = floor(call->operand.as.number);
    if (!(fabs(number) <= (double)RMSNORM_LARGEST_INTEGER)) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "integer overflow: beyond 2^53");
    }
    *result = rmsnorm_any_integer((int64_t)number);
    result->minus_zero = number == 0 && signbit(number);
    return RMSNORM_OK;
}

/* With parentheses a number stays what it is, and a string that is none becomes the default. */
static rmsnorm_status convert(rmsnorm_builtin_call *call, bool whole, rmsnorm_any *result)
{
    bool found = false;
    switch (call->operand.kind) {
    case RMSNORM_ANY_STRING:
        RMSNORM_TRY(read_string(call, whole, &found, result));
        if (!found) {
            *result = call->given[0] ? call->arguments[0] : whole ? rmsnorm_any_integer(0) : rmsnorm_any_float(0);
        }
        return RMSNORM_OK;
    case RMSNORM_ANY_BOOLEAN:
        *result =
            whole ? rmsnorm_any_integer(call->operand.as.boolean) : rmsnorm_any_float(call->operand.as.boolean ? 1 : 0);
        return RMSNORM_OK;
    case RMSNORM_ANY_INTEGER:
    case RMSNORM_ANY_FLOAT:
        *result = call->operand;
        if (!call->called && whole && call->operand.kind == RMSNORM_ANY_FLOAT) {
            return floor_to_integer(call, result);
        }
        if (!call->called && !whole) {
            *result = rmsnorm_any_float(rmsnorm_any_number(&call->operand));
        }
        return RMSNORM_OK;
    default:
        return rmsnorm_call_refuse(call);
    }
}

static rmsnorm_status apply_int(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return convert(call, true, result);
}

static rmsnorm_status apply_float(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return convert(call, false, result);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static rmsnorm_status apply_list(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    *result = call->operand;
    return call->operand.kind == RMSNORM_ANY_LIST ? RMSNORM_OK : rmsnorm_call_refuse(call);
}

static rmsnorm_status take_end(rmsnorm_builtin_call *call, bool last, rmsnorm_any *result)
{
    if (call->operand.kind != RMSNORM_ANY_LIST) {
        return rmsnorm_call_refuse(call);
    }
    const rmsnorm_list *const list = call->operand.as.list;
    if (list->count == 0) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'%s' of an empty list", call->name);
    }
    *result = list->items[last ? list->count - 1 : 0];
    return RMSNORM_OK;
}

static rmsnorm_status apply_first(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return take_end(call, false, result);
}

static rmsnorm_status apply_last(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return take_end(call, true, result);
}

static rmsnorm_status join_list(rmsnorm_builtin_call *call, const rmsnorm_any *separator, rmsnorm_buffer *buffer)
{
    const rmsnorm_list *const list = call->operand.as.list;
    for (size_t i = 0; i < list->count; i++) {
        const rmsnorm_any *const item = &list->items[i];
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, 1));
        if (i > 0) {
            RMSNORM_TRY(rmsnorm_run_concatenate(call->run, call->at, separator, buffer));
        }
        if (item->kind != RMSNORM_ANY_UNDEFINED && item->kind != RMSNORM_ANY_NULL) {
            RMSNORM_TRY(rmsnorm_run_concatenate(call->run, call->at, item, buffer));
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status join_characters(rmsnorm_builtin_call *call, const rmsnorm_any *separator, rmsnorm_buffer *buffer)
{
    const char *const text = call->operand.as.string.text;
    const size_t length = call->operand.as.string.length;
    for (size_t i = 0; i < length;) {
        const size_t bytes = rmsnorm_utf8_character(text + i, length - i);
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, 1));
        if (i > 0) {
            RMSNORM_TRY(rmsnorm_run_concatenate(call->run, call->at, separator, buffer));
        }
        const rmsnorm_any character = rmsnorm_any_string(text + i, bytes);
        RMSNORM_TRY(rmsnorm_run_concatenate(call->run, call->at, &character, buffer));
        i += bytes;
    }
    return RMSNORM_OK;
}

static rmsnorm_status apply_join(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    const bool list = call->operand.kind == RMSNORM_ANY_LIST;
    const rmsnorm_any separator = call->given[0] ? call->arguments[0] : rmsnorm_any_text("");
    if (!list && call->operand.kind != RMSNORM_ANY_STRING) {
        return rmsnorm_call_refuse(call);
    }
    if (separator.kind != RMSNORM_ANY_STRING) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'join' takes a string, not %s",
                                rmsnorm_any_kind_name(separator.kind));
    }
    rmsnorm_buffer buffer = new_buffer(call);
    RMSNORM_TRY(list ? join_list(call, &separator, &buffer) : join_characters(call, &separator, &buffer));
    *result = rmsnorm_any_string(buffer.text, buffer.length);
    return RMSNORM_OK;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* name, function, without and with parentheses, arguments by place at least and at most, names of arguments. What the
 * reference takes only by its name stands behind those that are taken by place. */
static const rmsnorm_builtin filters[] = {
    {"abs", apply_abs, true, false, 0, 0, {0}},
    {"bool", apply_bool, true, false, 0, 0, {0}},
    {"capitalize", rmsnorm_apply_capitalize, true, false, 0, 0, {0}},
    {"default", apply_default, false, true, 0, 2, {NULL, "boolean"}},
    {"dictsort", rmsnorm_apply_dictsort, true, false, 0, 0, {0}},
    {"first", apply_first, true, false, 0, 0, {0}},
    {"float", apply_float, true, true, 0, 1, {"default"}},
    {"indent", rmsnorm_apply_indent, true, true, 0, 3, {"width", "first", "blank"}},
    {"int", apply_int, true, true, 0, 1, {"default"}},
    {"items", rmsnorm_apply_items, true, true, 0, 0, {0}},
    {"join", apply_join, true, true, 0, 1, {"separator"}},
    {"keys", rmsnorm_apply_keys, true, true, 0, 0, {0}},
    {"last", apply_last, true, false, 0, 0, {0}},
    {"length", rmsnorm_apply_length, true, false, 0, 0, {0}},
    {"list", apply_list, true, false, 0, 0, {0}},
    {"lower", rmsnorm_apply_lower, true, false, 0, 0, {0}},
    {"map", rmsnorm_apply_map, false, true, 0, 0, {NULL, NULL, "attribute"}},
    {"replace", rmsnorm_apply_replace, false, true, 2, 3, {NULL, NULL, "count"}},
    {"reverse", rmsnorm_apply_reverse, true, false, 0, 0, {0}},
    {"safe", apply_safe, true, false, 0, 0, {0}},
    {"sort", rmsnorm_apply_sort, true, true, 0, 1, {"reverse"}},
    {"string", apply_string, true, false, 0, 0, {0}},
    {"title", rmsnorm_apply_title, true, false, 0, 0, {0}},
    {"tojson", apply_tojson, true, true, 0, 0, {NULL, NULL, "indent"}},
    {"trim", rmsnorm_apply_strip, true, false, 0, 0, {0}},
    {"unique", rmsnorm_apply_unique, true, false, 0, 0, {0}},
    {"upper", rmsnorm_apply_upper, true, false, 0, 0, {0}},
    {"values", rmsnorm_apply_values, true, true, 0, 0, {0}},
};

/* Those of maps first, which `map_methods` counts; the others are of strings. */
static const rmsnorm_builtin methods[] = {
    {"get", rmsnorm_apply_get, false, true, 1, 2, {0}},
    {"items", rmsnorm_apply_items, false, true, 0, 0, {0}},
    {"keys", rmsnorm_apply_keys, false, true, 0, 0, {0}},
    {"values", rmsnorm_apply_values, false, true, 0, 0, {0}},
    {"dictsort", rmsnorm_apply_dictsort, false, true, 0, 0, {0}},
    {"capitalize", rmsnorm_apply_capitalize, false, true, 0, 0, {0}},
    {"endswith", rmsnorm_apply_endswith, false, true, 1, 1, {0}},
    {"lower", rmsnorm_apply_lower, false, true, 0, 0, {0}},
    {"lstrip", rmsnorm_apply_lstrip, false, true, 0, 0, {0}},
    {"replace", rmsnorm_apply_replace, false, true, 2, 3, {NULL, NULL, "count"}},
    {"rstrip", rmsnorm_apply_rstrip, false, true, 0, 0, {0}},
    {"split", rmsnorm_apply_split, false, true, 0, 2, {0}},
    {"startswith", rmsnorm_apply_startswith, false, true, 1, 1, {0}},
    {"strip", rmsnorm_apply_strip, false, true, 0, 0, {0}},
    {"title", rmsnorm_apply_title, false, true, 0, 0, {0}},
    {"upper", rmsnorm_apply_upper, false, true, 0, 0, {0}},
};
enum { MAP_METHODS = 5 };

static const rmsnorm_builtin *find(const rmsnorm_builtin *table, size_t count, const char *name, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(table[i].name) == length && memcmp(table[i].name, name, length) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

const rmsnorm_builtin *rmsnorm_filter_find(const char *name, size_t length)
{
    return find(filters, sizeof filters / sizeof filters[0], name, length);
}

const rmsnorm_builtin *rmsnorm_method_find(const char *name, size_t length)
{
    return find(methods, sizeof methods / sizeof methods[0], name, length);
}

bool rmsnorm_method_fits(rmsnorm_any_kind kind, const char *name, size_t length)
{
    const rmsnorm_builtin *const found = rmsnorm_method_find(name, length);
    const bool of_map = found != NULL && found < methods + MAP_METHODS;
    return found != NULL && kind == (of_map ? RMSNORM_ANY_MAP : RMSNORM_ANY_STRING);
}
