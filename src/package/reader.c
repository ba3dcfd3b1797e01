#include "package/reader.h"

#include <stdio.h>
#include <string.h>

/* ---- The path -------------------------------------------------------------------------------- */

size_t rmsnorm_reader_enter(rmsnorm_reader *in, const char *key)
{
    const size_t before = in->length;
    const size_t room = sizeof in->path - before;
    const int written = snprintf(in->path + before, room, before == 0 ? "%s" : ".%s", key);
    in->length += written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
    return before;
}

size_t rmsnorm_reader_enter_item(rmsnorm_reader *in, size_t index)
{
    const size_t before = in->length;
    const size_t room = sizeof in->path - before;
    const int written = snprintf(in->path + before, room, "[%zu]", index);
    in->length += written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
    return before;
}

void rmsnorm_reader_leave(rmsnorm_reader *in, size_t before)
{
    in->length = before;
    in->path[before] = '\0';
}

rmsnorm_status rmsnorm_reader_wrong(const rmsnorm_reader *in, const rmsnorm_any *got, const char *allowed)
{
    return rmsnorm_fail(RMSNORM_MALFORMED, "manifest.json: %s is %s; allowed: %s", in->path,
                        got == NULL ? "missing" : rmsnorm_any_kind_name(got->kind), allowed);
}

void *rmsnorm_reader_items(rmsnorm_reader *in, size_t count, size_t size)
{
    return rmsnorm_arena_allocate(in->arena, count == 0 ? 1 : count * size);
}

/* ---- Single fields --------------------------------------------------------------------------- */

const rmsnorm_any *rmsnorm_reader_field(const rmsnorm_any *object, const char *key)
{
    return rmsnorm_map_get(object->as.map, key, strlen(key));
}

static bool is_absent(const rmsnorm_any *value)
{
    return value == NULL || value->kind == RMSNORM_ANY_NULL;
}

/* Every key of an object is one that is known: what is misspelt is not silently left out. */
rmsnorm_status rmsnorm_reader_check_keys(const rmsnorm_reader *in, const rmsnorm_any *object, const char *const *known,
                                         size_t count)
{
    if (object->kind != RMSNORM_ANY_MAP) {
        return rmsnorm_reader_wrong(in, object, "an object");
    }
    if (in->contract_only) {
        return RMSNORM_OK;
    }
    for (size_t i = 0; i < object->as.map->count; i++) {
        const rmsnorm_entry *const entry = &object->as.map->entries[i];
        bool found = false;
        for (size_t k = 0; !found && k < count; k++) {
            found = strlen(known[k]) == entry->length && memcmp(known[k], entry->key, entry->length) == 0;
        }
        RMSNORM_CHECK(found, RMSNORM_MALFORMED, "manifest.json: %s%sunknown field \"%.*s\"", in->path,
                      in->length > 0 ? " has the " : "the ", (int)(entry->length < 64 ? entry->length : 64),
                      entry->key);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_reader_text(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, const char **text)
{
    const size_t before = rmsnorm_reader_enter(in, key);
    const rmsnorm_any *const value = rmsnorm_reader_field(object, key);
    if (value == NULL || value->kind != RMSNORM_ANY_STRING || value->as.string.length == 0 ||
        memchr(value->as.string.text, '\0', value->as.string.length) != NULL) {
        return rmsnorm_reader_wrong(in, value, "a text that is not empty");
    }
    *text = rmsnorm_arena_copy(in->arena, value->as.string.text, value->as.string.length);
    rmsnorm_reader_leave(in, before);
    return *text == NULL ? RMSNORM_OUT_OF_MEMORY : RMSNORM_OK;
}

rmsnorm_status rmsnorm_reader_integer(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, int64_t *number)
{
    const size_t before = rmsnorm_reader_enter(in, key);
    const rmsnorm_any *const value = rmsnorm_reader_field(object, key);
    if (value == NULL || value->kind != RMSNORM_ANY_INTEGER) {
        return rmsnorm_reader_wrong(in, value, "an integer");
    }
    *number = value->as.integer;
    rmsnorm_reader_leave(in, before);
    return RMSNORM_OK;
}

/* An absent one is false. */
rmsnorm_status rmsnorm_reader_flag(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool *flag)
{
    const rmsnorm_any *const value = rmsnorm_reader_field(object, key);
    *flag = false;
    if (is_absent(value)) {
        return RMSNORM_OK;
    }
    const size_t before = rmsnorm_reader_enter(in, key);
    if (value->kind != RMSNORM_ANY_BOOLEAN) {
        return rmsnorm_reader_wrong(in, value, "true or false");
    }
    *flag = value->as.boolean;
    rmsnorm_reader_leave(in, before);
    return RMSNORM_OK;
}

/* The members of an object or the items of a list, whatever they are; an absent one has none. */
rmsnorm_status rmsnorm_reader_members(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool needed,
                                      const rmsnorm_map **map)
{
    static const rmsnorm_map none = {0};
    const rmsnorm_any *const value = rmsnorm_reader_field(object, key);
    *map = &none;
    if (is_absent(value) && !needed) {
        return RMSNORM_OK;
    }
    const size_t before = rmsnorm_reader_enter(in, key);
    if (value == NULL || value->kind != RMSNORM_ANY_MAP) {
        return rmsnorm_reader_wrong(in, value, "an object");
    }
    *map = value->as.map;
    rmsnorm_reader_leave(in, before);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_reader_list(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool needed,
                                   const rmsnorm_list **list)
{
    static const rmsnorm_list none = {0};
    const rmsnorm_any *const value = rmsnorm_reader_field(object, key);
    *list = &none;
    if (is_absent(value) && !needed) {
        return RMSNORM_OK;
    }
    const size_t before = rmsnorm_reader_enter(in, key);
    if (value == NULL || value->kind != RMSNORM_ANY_LIST || (needed && value->as.list->count == 0)) {
        return rmsnorm_reader_wrong(in, value, needed ? "a list that is not empty" : "a list");
    }
    *list = value->as.list;
    rmsnorm_reader_leave(in, before);
    return RMSNORM_OK;
}

/* ---- Formulas -------------------------------------------------------------------------------- */

/* The value at the path: an expression, or a number or truth value that stands for itself. */
rmsnorm_status rmsnorm_reader_formula(rmsnorm_reader *in, const rmsnorm_any *value, rmsnorm_formula *formula)
{
    char text[32];
    rmsnorm_text_source source = {in->path, text, 0};
    if (value != NULL && value->kind == RMSNORM_ANY_STRING && value->as.string.length > 0) {
        source.text = value->as.string.text;
        source.length = value->as.string.length;
    } else if (value != NULL && value->kind == RMSNORM_ANY_INTEGER) {
        source.length = (size_t)snprintf(text, sizeof text, "%lld", (long long)value->as.integer);
    } else if (value != NULL && value->kind == RMSNORM_ANY_BOOLEAN) {
        source.length = (size_t)snprintf(text, sizeof text, "%s", value->as.boolean ? "true" : "false");
    } else {
        return rmsnorm_reader_wrong(in, value, "an expression as text, an integer, true or false");
    }
    formula->text = rmsnorm_arena_copy(in->arena, source.text, source.length);
    source.name = rmsnorm_arena_copy(in->arena, in->path, in->length);
    if (formula->text == NULL || source.name == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    return rmsnorm_expression_parse(in->arena, &source, &formula->expression);
}

rmsnorm_status rmsnorm_reader_formula_at(rmsnorm_reader *in, const rmsnorm_any *object, const char *key, bool needed,
                                         rmsnorm_formula *formula)
{
    const rmsnorm_any *const value = rmsnorm_reader_field(object, key);
    formula->text = NULL;
    formula->expression = NULL;
    if (is_absent(value) && !needed) {
        return RMSNORM_OK;
    }
    const size_t before = rmsnorm_reader_enter(in, key);
    RMSNORM_TRY(rmsnorm_reader_formula(in, value, formula));
    rmsnorm_reader_leave(in, before);
    return RMSNORM_OK;
}

static rmsnorm_status read_named(rmsnorm_reader *in, const char *name, const rmsnorm_any *json, const void *context,
                                 void *item)
{
    rmsnorm_named_formula *const formula = item;
    (void)context;
    formula->name = name;
    return rmsnorm_reader_formula(in, json, &formula->formula);
}

rmsnorm_status rmsnorm_reader_formulas(rmsnorm_reader *in, const rmsnorm_any *object, const char *key,
                                       rmsnorm_formulas *formulas)
{
    const rmsnorm_map *map;
    void *items;
    RMSNORM_TRY(rmsnorm_reader_members(in, object, key, false, &map));
    RMSNORM_TRY(rmsnorm_reader_each_member(in, key, map, sizeof *formulas->items, read_named, NULL, &items));
    formulas->items = items;
    formulas->count = map->count;
    return RMSNORM_OK;
}

/* ---- Members and items ----------------------------------------------------------------------- */

rmsnorm_status rmsnorm_reader_each_member(rmsnorm_reader *in, const char *key, const rmsnorm_map *map, size_t size,
                                          rmsnorm_reader_item *read, const void *context, void **items)
{
    char *const made = rmsnorm_reader_items(in, map->count, size);
    if (made == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t before = rmsnorm_reader_enter(in, key);
    for (size_t i = 0; i < map->count; i++) {
        const char *const name = rmsnorm_arena_copy(in->arena, map->entries[i].key, map->entries[i].length);
        if (name == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        const size_t inside = rmsnorm_reader_enter(in, name);
        RMSNORM_TRY(read(in, name, &map->entries[i].value, context, made + i * size));
        rmsnorm_reader_leave(in, inside);
    }
    rmsnorm_reader_leave(in, before);
    *items = made;
    return RMSNORM_OK;
}
