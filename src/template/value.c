#include "template/value.h"

#include <string.h>

/* From this many keys on a map is searched through a table of hashes. */
enum { SMALL_MAP = 8, SMALL_LIST = 4 };

rmsnorm_any rmsnorm_any_undefined(void)
{
    return (rmsnorm_any){.kind = RMSNORM_ANY_UNDEFINED};
}

rmsnorm_any rmsnorm_any_null(void)
{
    return (rmsnorm_any){.kind = RMSNORM_ANY_NULL};
}

rmsnorm_any rmsnorm_any_boolean(bool value)
{
    return (rmsnorm_any){.kind = RMSNORM_ANY_BOOLEAN, .as.boolean = value};
}

rmsnorm_any rmsnorm_any_integer(int64_t value)
{
    return (rmsnorm_any){.kind = RMSNORM_ANY_INTEGER, .as.integer = value};
}

rmsnorm_any rmsnorm_any_float(double value)
{
    return (rmsnorm_any){.kind = RMSNORM_ANY_FLOAT, .as.number = value};
}

rmsnorm_any rmsnorm_any_text(const char *text)
{
    return rmsnorm_any_string(text, strlen(text));
}

rmsnorm_any rmsnorm_any_string(const char *text, size_t length)
{
    return (rmsnorm_any){.kind = RMSNORM_ANY_STRING, .as.string = {text == NULL ? "" : text, length}};
}

rmsnorm_any rmsnorm_any_list(rmsnorm_arena *arena)
{
    rmsnorm_list *const list = rmsnorm_arena_allocate(arena, sizeof *list);
    return list == NULL ? rmsnorm_any_undefined() : (rmsnorm_any){.kind = RMSNORM_ANY_LIST, .as.list = list};
}

rmsnorm_any rmsnorm_any_map(rmsnorm_arena *arena)
{
    rmsnorm_map *const map = rmsnorm_arena_allocate(arena, sizeof *map);
    return map == NULL ? rmsnorm_any_undefined() : (rmsnorm_any){.kind = RMSNORM_ANY_MAP, .as.map = map};
}

/* A place twice as large with what is there; NULL when there is none. */
static void *grown(rmsnorm_arena *arena, const void *items, size_t count, size_t size, size_t *capacity)
{
    const size_t wanted = *capacity == 0 ? SMALL_LIST : 2 * *capacity;
    void *const place = wanted > SIZE_MAX / 2 / size ? NULL : rmsnorm_arena_allocate(arena, wanted * size);
    if (place != NULL) {
        *capacity = wanted;
        if (count > 0) {
            memcpy(place, items, count * size);
        }
    }
    return place;
}

bool rmsnorm_list_push(rmsnorm_arena *arena, rmsnorm_list *list, rmsnorm_any item)
{
    if (list->count == list->capacity) {
        rmsnorm_any *const items = grown(arena, list->items, list->count, sizeof item, &list->capacity);
        if (items == NULL) {
            return false;
        }
        list->items = items;
    }
    list->items[list->count++] = item;
    return true;
}

/* FNV-1a. Hostile keys can make it collide; the steps of an evaluation and the limit of an arena bound what that costs. */
static uint32_t hash_of(const char *key, size_t length)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)key[i]) * 16777619U;
    }
    return hash;
}

static bool is_key(const rmsnorm_entry *entry, const char *key, size_t length)
{
    return entry->length == length && (length == 0 || memcmp(entry->key, key, length) == 0);
}

/* The place of the key in the table: that of its entry's number plus one, or of the 0 where it would go. */
static uint32_t *table_place(const rmsnorm_map *map, const char *key, size_t length)
{
    size_t i = hash_of(key, length) & (map->table_size - 1);
    while (map->table[i] != 0 && !is_key(&map->entries[map->table[i] - 1], key, length)) {
        i = (i + 1) & (map->table_size - 1);
    }
    return &map->table[i];
}

static rmsnorm_entry *find(const rmsnorm_map *map, const char *key, size_t length)
{
    if (map->table != NULL) {
        const uint32_t number = *table_place(map, key, length);
        return number == 0 ? NULL : &map->entries[number - 1];
    }
    for (size_t i = 0; i < map->count; i++) {
        if (is_key(&map->entries[i], key, length)) {
            return &map->entries[i];
        }
    }
    return NULL;
}

/* A table of at most half its places taken. */
static bool make_table(rmsnorm_arena *arena, rmsnorm_map *map)
{
    size_t size = 4 * (size_t)SMALL_MAP;
    while (size < 4 * map->count) {
        size *= 2;
    }
    if (map->count > UINT32_MAX / 8) {
        return false;
    }
    uint32_t *const table = rmsnorm_arena_allocate(arena, size * sizeof *table);
    if (table == NULL) {
        return false;
    }
    map->table = table;
    map->table_size = size;
    for (size_t i = 0; i < map->count; i++) {
        *table_place(map, map->entries[i].key, map->entries[i].length) = (uint32_t)i + 1;
    }
    return true;
}

bool rmsnorm_map_set(rmsnorm_arena *arena, rmsnorm_map *map, const char *key, size_t length, rmsnorm_any value)
{
    rmsnorm_entry *const known = find(map, key, length);
    if (known != NULL) {
        known->value = value;
        return true;
    }
    if (map->count == map->capacity) {
        rmsnorm_entry *const entries = grown(arena, map->entries, map->count, sizeof *entries, &map->capacity);
        if (entries == NULL) {
            return false;
        }
        map->entries = entries;
    }
    map->entries[map->count++] = (rmsnorm_entry){.key = key, .length = length, .value = value};
    if (map->count <= SMALL_MAP) {
        return true;
    }
    if (2 * map->count > map->table_size) {
        if (!make_table(arena, map)) {
            map->count--;
            return false;
        }
    } else {
        *table_place(map, key, length) = (uint32_t)map->count;
    }
    return true;
}

const rmsnorm_any *rmsnorm_map_get(const rmsnorm_map *map, const char *key, size_t length)
{
    const rmsnorm_entry *const entry = find(map, key, length);
    return entry == NULL ? NULL : &entry->value;
}

const char *rmsnorm_any_kind_name(rmsnorm_any_kind kind)
{
    static const char *const names[] = {
        [RMSNORM_ANY_UNDEFINED] = "undefined", [RMSNORM_ANY_NULL] = "none",   [RMSNORM_ANY_BOOLEAN] = "boolean",
        [RMSNORM_ANY_INTEGER] = "integer",     [RMSNORM_ANY_FLOAT] = "float", [RMSNORM_ANY_STRING] = "string",
        [RMSNORM_ANY_LIST] = "list",           [RMSNORM_ANY_MAP] = "map",     [RMSNORM_ANY_CALLABLE] = "macro",
    };
    return (size_t)kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

bool rmsnorm_any_is_true(const rmsnorm_any *value)
{
    switch (value->kind) {
    case RMSNORM_ANY_BOOLEAN:
        return value->as.boolean;
    case RMSNORM_ANY_INTEGER:
        return value->as.integer != 0;
    case RMSNORM_ANY_FLOAT:
        return value->as.number != 0 && value->as.number == value->as.number;
    case RMSNORM_ANY_STRING:
        return value->as.string.length > 0;
    case RMSNORM_ANY_LIST:
        return value->as.list->count > 0;
    case RMSNORM_ANY_MAP:
        return value->as.map->count > 0;
    case RMSNORM_ANY_CALLABLE:
        return true;
    default:
        return false;
    }
}
