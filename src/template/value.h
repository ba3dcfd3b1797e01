/* value.h: what expressions work on: the values of JSON, with integers of their own. */
#ifndef RMSNORM_TEMPLATE_VALUE_H
#define RMSNORM_TEMPLATE_VALUE_H

#include <stdint.h>

#include "operator/arena.h"

typedef enum rmsnorm_any_kind {
    RMSNORM_ANY_UNDEFINED, /* a name that has no value */
    RMSNORM_ANY_NULL,
    RMSNORM_ANY_BOOLEAN,
    RMSNORM_ANY_INTEGER,
    RMSNORM_ANY_FLOAT,
    RMSNORM_ANY_STRING,
    RMSNORM_ANY_LIST,
    RMSNORM_ANY_MAP,
    RMSNORM_ANY_CALLABLE /* a macro of a template; opaque here */
} rmsnorm_any_kind;

typedef struct rmsnorm_list rmsnorm_list;
typedef struct rmsnorm_map rmsnorm_map;

typedef struct rmsnorm_any {
    rmsnorm_any_kind kind;
    bool
        minus_zero; /* of an integer 0: it came out as -0, which a float made of it shows; the reference does the same */
    union {
        bool boolean;
        int64_t integer;
        double number;
        struct {
            const char *text; /* UTF-8, may hold any byte; not necessarily terminated */
            size_t length;
        } string;
        rmsnorm_list *list;
        rmsnorm_map *map;
        const void *callable;
    } as;
} rmsnorm_any;

/* Lists and maps live in an arena and are shared by the values that hold them. Readers do not change them. */
struct rmsnorm_list {
    rmsnorm_any *items;
    size_t count, capacity;
    bool tuple; /* written without []: it can be looped over and indexed, but not printed */
};

typedef struct rmsnorm_entry {
    const char *key;
    size_t length;
    rmsnorm_any value;
} rmsnorm_entry;

/* In the order the keys were first set. */
struct rmsnorm_map {
    rmsnorm_entry *entries;
    size_t count, capacity;
    uint32_t *table; /* of larger maps: where each key's entry is */
    size_t table_size;
};

rmsnorm_any rmsnorm_any_undefined(void);
rmsnorm_any rmsnorm_any_null(void);
rmsnorm_any rmsnorm_any_boolean(bool value);
rmsnorm_any rmsnorm_any_integer(int64_t value);
rmsnorm_any rmsnorm_any_float(double value);
rmsnorm_any rmsnorm_any_text(const char *text); /* terminated; not copied */
rmsnorm_any rmsnorm_any_string(const char *text, size_t length);

/* Empty ones; UNDEFINED when the arena is exhausted. */
rmsnorm_any rmsnorm_any_list(rmsnorm_arena *arena);
rmsnorm_any rmsnorm_any_map(rmsnorm_arena *arena);

/* false when the arena is exhausted. */
bool rmsnorm_list_push(rmsnorm_arena *arena, rmsnorm_list *list, rmsnorm_any item);

/* Sets or replaces; the key is not copied. false when the arena is exhausted. */
bool rmsnorm_map_set(rmsnorm_arena *arena, rmsnorm_map *map, const char *key, size_t length, rmsnorm_any value);

/* NULL when the key is not there. */
const rmsnorm_any *rmsnorm_map_get(const rmsnorm_map *map, const char *key, size_t length);

/* "integer", "string", ... for messages. */
const char *rmsnorm_any_kind_name(rmsnorm_any_kind kind);

/* As a condition takes it: false, 0, 0.0, "", null, undefined and empty lists and maps are false. */
bool rmsnorm_any_is_true(const rmsnorm_any *value);

#endif
