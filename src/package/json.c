/* json.c: JSON text into values, through jansson. */
#include "package/json.h"

#include <string.h>

#include <jansson.h>

/* Nesting and number of values, before jansson builds a tree: an empty list costs its writer three bytes and us some hundred. */
static rmsnorm_status check_weight(const char *name, const char *text, size_t length)
{
    size_t line = 1;
    size_t start = 0; /* of the line */
    size_t depth = 0;
    size_t values = 1;
    bool quoted = false;
    for (size_t i = 0; i < length; ++i) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            ++depth;
            ++values;
        } else if (c == '}' || c == ']') {
            depth -= depth > 0;
        } else if (c == ',') {
            ++values;
        } else if (c == '\n') {
            ++line;
            start = i + 1;
        }
        RMSNORM_CHECK(depth <= RMSNORM_JSON_DEPTH, RMSNORM_MALFORMED, "%s:%zu:%zu: nested deeper than %d levels", name,
                      line, i - start + 1, RMSNORM_JSON_DEPTH);
        RMSNORM_CHECK(values <= RMSNORM_JSON_VALUES, RMSNORM_MALFORMED, "%s:%zu:%zu: more than %d values", name, line,
                      i - start + 1, RMSNORM_JSON_VALUES);
    }
    return RMSNORM_OK;
}

static rmsnorm_status copy_string(rmsnorm_arena *arena, const json_t *json, rmsnorm_any *value)
{
    const size_t length = json_string_length(json);
    const char *copy = rmsnorm_arena_copy(arena, json_string_value(json), length);
    *value = rmsnorm_any_string(copy, length);
    return copy != NULL ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status convert(rmsnorm_arena *arena, json_t *json, rmsnorm_any *value);

static rmsnorm_status convert_list(rmsnorm_arena *arena, json_t *json, rmsnorm_any *value)
{
    *value = rmsnorm_any_list(arena);
    if (value->kind != RMSNORM_ANY_LIST) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < json_array_size(json); ++i) {
        rmsnorm_any item;
        RMSNORM_TRY(convert(arena, json_array_get(json, i), &item));
        if (!rmsnorm_list_push(arena, value->as.list, item)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status convert_map(rmsnorm_arena *arena, json_t *json, rmsnorm_any *value)
{
    *value = rmsnorm_any_map(arena);
    if (value->kind != RMSNORM_ANY_MAP) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (void *at = json_object_iter(json); at != NULL; at = json_object_iter_next(json, at)) {
        const char *key = json_object_iter_key(at);
        const size_t length = strlen(key);
        const char *copy = rmsnorm_arena_copy(arena, key, length);
        rmsnorm_any item;
        RMSNORM_TRY(convert(arena, json_object_iter_value(at), &item));
        if (copy == NULL || !rmsnorm_map_set(arena, value->as.map, copy, length, item)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
    }
    return RMSNORM_OK;
}

/* As deep as check_weight allows. */
static rmsnorm_status convert(rmsnorm_arena *arena, json_t *json, rmsnorm_any *value)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return convert_map(arena, json, value);
    case JSON_ARRAY:
        return convert_list(arena, json, value);
    case JSON_STRING:
        return copy_string(arena, json, value);
    case JSON_INTEGER:
        *value = rmsnorm_any_integer(json_integer_value(json));
        break;
    case JSON_REAL:
        *value = rmsnorm_any_float(json_real_value(json));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        *value = rmsnorm_any_boolean(json_is_true(json));
        break;
    default:
        *value = rmsnorm_any_null();
        break;
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_json_parse(rmsnorm_arena *arena, const char *name, const char *text, size_t length,
                                  rmsnorm_any *value)
{
    RMSNORM_TRY(check_weight(name, text, length));
    json_error_t error;
    json_t *json = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (json == NULL && (error.text[0] == '\0' || json_error_code(&error) == json_error_out_of_memory)) {
        return rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "%s: no memory for its JSON", name);
    }
    RMSNORM_CHECK(json != NULL, RMSNORM_MALFORMED, "%s:%d:%d: %s", name, error.line, error.column, error.text);
    const rmsnorm_status status = convert(arena, json, value);
    json_decref(json);
    return status;
}
