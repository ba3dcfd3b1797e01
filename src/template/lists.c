/* lists.c: the filters and methods of lists and maps. */
#include <string.h>

#include "template/run.h"

static rmsnorm_status exhausted(const rmsnorm_builtin_call *call)
{
    return rmsnorm_run_exhausted(call->run, call->at);
}

static rmsnorm_status new_list(rmsnorm_builtin_call *call, size_t items, rmsnorm_any *list)
{
    RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, items));
    *list = rmsnorm_any_list(call->run->arena);
    return list->kind == RMSNORM_ANY_LIST ? RMSNORM_OK : exhausted(call);
}

static rmsnorm_status push(rmsnorm_builtin_call *call, const rmsnorm_any *list, rmsnorm_any item)
{
    return rmsnorm_list_push(call->run->arena, list->as.list, item) ? RMSNORM_OK : exhausted(call);
}

static rmsnorm_status need(const rmsnorm_builtin_call *call, rmsnorm_any_kind kind)
{
    return call->operand.kind == kind ? RMSNORM_OK : rmsnorm_call_refuse(call);
}

/* ---- Maps ------------------------------------------------------------------------------------ */

rmsnorm_status rmsnorm_apply_get(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(need(call, RMSNORM_ANY_MAP));
    const rmsnorm_any *const key = &call->arguments[0];
    if (key->kind != RMSNORM_ANY_STRING) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'get' takes a string, not %s",
                                rmsnorm_any_kind_name(key->kind));
    }
    const rmsnorm_any *const found = rmsnorm_map_get(call->operand.as.map, key->as.string.text, key->as.string.length);
    *result = found != NULL ? *found : call->given[1] ? call->arguments[1] : rmsnorm_any_null();
    return RMSNORM_OK;
}

static rmsnorm_status push_pair(rmsnorm_builtin_call *call, const rmsnorm_any *list, const rmsnorm_entry *entry)
{
    rmsnorm_any pair;
    RMSNORM_TRY(new_list(call, 1, &pair));
    RMSNORM_TRY(push(call, &pair, rmsnorm_any_string(entry->key, entry->length)));
    RMSNORM_TRY(push(call, &pair, entry->value));
    return push(call, list, pair);
}

rmsnorm_status rmsnorm_apply_items(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(need(call, RMSNORM_ANY_MAP));
    const rmsnorm_map *const map = call->operand.as.map;
    RMSNORM_TRY(new_list(call, map->count, result));
    for (size_t i = 0; i < map->count; i++) {
        RMSNORM_TRY(push_pair(call, result, &map->entries[i]));
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_apply_keys(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(need(call, RMSNORM_ANY_MAP));
    const rmsnorm_map *const map = call->operand.as.map;
    RMSNORM_TRY(new_list(call, map->count, result));
    for (size_t i = 0; i < map->count; i++) {
        RMSNORM_TRY(push(call, result, rmsnorm_any_string(map->entries[i].key, map->entries[i].length)));
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_apply_values(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(need(call, RMSNORM_ANY_MAP));
    const rmsnorm_map *const map = call->operand.as.map;
    RMSNORM_TRY(new_list(call, map->count, result));
    for (size_t i = 0; i < map->count; i++) {
        RMSNORM_TRY(push(call, result, map->entries[i].value));
    }
    return RMSNORM_OK;
}

/* ---- Order ----------------------------------------------------------------------------------- */

static rmsnorm_status refuse_order(const rmsnorm_builtin_call *call, const rmsnorm_any *left, const rmsnorm_any *right)
{
    return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'%s' does not compare %s with %s",
                            call->name, rmsnorm_any_kind_name(left->kind), rmsnorm_any_kind_name(right->kind));
}

static unsigned char folded(char byte)
{
    return (unsigned char)(byte >= 'A' && byte <= 'Z' ? byte - 'A' + 'a' : byte);
}

/* Without regard to case. */
static rmsnorm_status compare_text(const rmsnorm_builtin_call *call, const rmsnorm_any *left, const rmsnorm_any *right,
                                   int *order)
{
    const size_t a = left->as.string.length, b = right->as.string.length;
    if (!rmsnorm_utf8_is_ascii(left->as.string.text, a) || !rmsnorm_utf8_is_ascii(right->as.string.text, b)) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_UNSUPPORTED,
                                "'%s' of letters beyond ASCII is not supported", call->name);
    }
    *order = (a > b) - (a < b);
    for (size_t i = 0; i < a && i < b; i++) {
        const unsigned char x = folded(left->as.string.text[i]), y = folded(right->as.string.text[i]);
        if (x != y) {
            *order = x < y ? -1 : 1;
            break;
        }
    }
    return RMSNORM_OK;
}

static bool counts(const rmsnorm_any *value)
{
    return value->kind == RMSNORM_ANY_INTEGER || value->kind == RMSNORM_ANY_FLOAT || value->kind == RMSNORM_ANY_BOOLEAN;
}

static rmsnorm_status compare(const rmsnorm_builtin_call *call, const rmsnorm_any *left, const rmsnorm_any *right,
                              int *order)
{
    if (counts(left) && counts(right)) {
        const double a = left->kind == RMSNORM_ANY_BOOLEAN ? left->as.boolean : rmsnorm_any_number(left);
        const double b = right->kind == RMSNORM_ANY_BOOLEAN ? right->as.boolean : rmsnorm_any_number(right);
        *order = (a > b) - (a < b);
        return RMSNORM_OK;
    }
    if (left->kind != right->kind) {
        return refuse_order(call, left, right);
    }
    *order = 0;
    switch (left->kind) {
    case RMSNORM_ANY_UNDEFINED:
    case RMSNORM_ANY_NULL:
        return RMSNORM_OK;
    case RMSNORM_ANY_STRING:
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, left->as.string.length / 16));
        return compare_text(call, left, right, order);
    default:
        return refuse_order(call, left, right);
    }
}

/* What an item is sorted by. */
static const rmsnorm_any *sort_key(const rmsnorm_any *item, bool pairs)
{
    return pairs ? &item->as.list->items[0] : item;
}

/* Merges from[start..middle) and from[middle..end) into to; equal ones keep their order. */
static rmsnorm_status merge(const rmsnorm_builtin_call *call, bool pairs, int sign, const rmsnorm_any *from,
                            rmsnorm_any *to, const size_t bounds[3])
{
    size_t a = bounds[0], b = bounds[1];
    for (size_t i = bounds[0]; i < bounds[2]; i++) {
        int order = a == bounds[1] ? 1 : -1;
        if (a < bounds[1] && b < bounds[2]) {
            RMSNORM_TRY(compare(call, sort_key(&from[a], pairs), sort_key(&from[b], pairs), &order));
            order *= sign;
        }
        to[i] = order <= 0 ? from[a++] : from[b++];
    }
    return RMSNORM_OK;
}

static rmsnorm_status sort(const rmsnorm_builtin_call *call, bool pairs, bool down, rmsnorm_list *list)
{
    rmsnorm_any *from = list->items;
    rmsnorm_any *to = rmsnorm_arena_allocate(call->run->arena, list->count * sizeof *to);
    if (to == NULL) {
        return exhausted(call);
    }
    for (size_t width = 1; width < list->count; width *= 2) {
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, list->count));
        for (size_t start = 0; start < list->count; start += 2 * width) {
            const size_t left = list->count - start;
            const size_t bounds[] = {start, start + (left < width ? left : width),
                                     start + (left < 2 * width ? left : 2 * width)};
            RMSNORM_TRY(merge(call, pairs, down ? -1 : 1, from, to, bounds));
        }
        rmsnorm_any *const other = from;
        from = to;
        to = other;
    }
    list->items = from;
    list->capacity = list->count;
    return RMSNORM_OK;
}

static rmsnorm_status copy_list(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(need(call, RMSNORM_ANY_LIST));
    const rmsnorm_list *const list = call->operand.as.list;
    RMSNORM_TRY(new_list(call, list->count, result));
    for (size_t i = 0; i < list->count; i++) {
        RMSNORM_TRY(push(call, result, list->items[i]));
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_apply_sort(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(copy_list(call, result));
    if (call->given[0] && call->arguments[0].kind != RMSNORM_ANY_BOOLEAN) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'sort' takes a boolean for reverse");
    }
    return sort(call, false, call->given[0] && call->arguments[0].as.boolean, result->as.list);
}

rmsnorm_status rmsnorm_apply_dictsort(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(rmsnorm_apply_items(call, result));
    return sort(call, true, false, result->as.list);
}

rmsnorm_status rmsnorm_apply_reverse(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(copy_list(call, result));
    rmsnorm_list *const list = result->as.list;
    for (size_t i = 0; i < list->count / 2; i++) {
        const rmsnorm_any item = list->items[i];
        list->items[i] = list->items[list->count - 1 - i];
        list->items[list->count - 1 - i] = item;
    }
    return RMSNORM_OK;
}

/* ---- Selections ------------------------------------------------------------------------------ */

rmsnorm_status rmsnorm_apply_unique(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(need(call, RMSNORM_ANY_LIST));
    const rmsnorm_list *const list = call->operand.as.list;
    RMSNORM_TRY(new_list(call, list->count, result));
    for (size_t i = 0; i < list->count; i++) {
        size_t k = 0;
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, result->as.list->count));
        while (k < result->as.list->count && !rmsnorm_any_is_same(&list->items[i], &result->as.list->items[k])) {
            k++;
        }
        if (k == result->as.list->count) {
            RMSNORM_TRY(push(call, result, list->items[i]));
        }
    }
    return RMSNORM_OK;
}

/* map(attribute="name") of a list of maps. */
rmsnorm_status rmsnorm_apply_map(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    RMSNORM_TRY(need(call, RMSNORM_ANY_LIST));
    const rmsnorm_any *const name = &call->arguments[2];
    const rmsnorm_list *const list = call->operand.as.list;
    if (name->kind != RMSNORM_ANY_STRING || memchr(name->as.string.text, '.', name->as.string.length) != NULL) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_UNSUPPORTED,
                                "'map' is only supported with attribute= and the name of one");
    }
    RMSNORM_TRY(new_list(call, list->count, result));
    for (size_t i = 0; i < list->count; i++) {
        const rmsnorm_any *const item = &list->items[i];
        if (item->kind != RMSNORM_ANY_MAP) {
            return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'map' takes a list of maps");
        }
        const rmsnorm_any *const found = rmsnorm_map_get(item->as.map, name->as.string.text, name->as.string.length);
        RMSNORM_TRY(push(call, result, found == NULL ? rmsnorm_any_undefined() : *found));
    }
    return RMSNORM_OK;
}
