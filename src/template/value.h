/* value.h: what expressions work on: the values of JSON, with integers of their own. */
#ifndef RMSNORM_TEMPLATE_VALUE_H
#define RMSNORM_TEMPLATE_VALUE_H

#include <stdint.h>

#include "template/arena.h"

typedef enum rmsnorm_value_kind {
    RMSNORM_VALUE_UNDEFINED, /* a name that has no value */
    RMSNORM_VALUE_NULL,
    RMSNORM_VALUE_BOOLEAN,
    RMSNORM_VALUE_INTEGER,
    RMSNORM_VALUE_FLOAT,
    RMSNORM_VALUE_STRING,
    RMSNORM_VALUE_LIST,
    RMSNORM_VALUE_MAP,
    RMSNORM_VALUE_CALLABLE /* a macro of a template; opaque here */
} rmsnorm_value_kind;

typedef struct rmsnorm_list rmsnorm_list;
typedef struct rmsnorm_map rmsnorm_map;

typedef struct rmsnorm_value {
    rmsnorm_value_kind kind;
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
} rmsnorm_value;

/* Lists and maps live in an arena and are shared by the values that hold them. Readers do not change them. */
struct rmsnorm_list {
    rmsnorm_value *items;
    size_t count, capacity;
    bool tuple; /* written without []: it can be looped over and indexed, but not printed */
};

typedef struct rmsnorm_entry {
    const char *key;
    size_t length;
    rmsnorm_value value;
} rmsnorm_entry;

/* In the order the keys were first set. */
struct rmsnorm_map {
    rmsnorm_entry *entries;
    size_t count, capacity;
    uint32_t *table; /* of larger maps: where each key's entry is */
    size_t table_size;
};

rmsnorm_value rmsnorm_value_undefined(void);
rmsnorm_value rmsnorm_value_null(void);
rmsnorm_value rmsnorm_value_boolean(bool value);
rmsnorm_value rmsnorm_value_integer(int64_t value);
rmsnorm_value rmsnorm_value_float(double value);
rmsnorm_value rmsnorm_value_text(const char *text); /* terminated; not copied */
rmsnorm_value rmsnorm_value_string(const char *text, size_t length);

/* Empty ones; UNDEFINED when the arena is exhausted. */
rmsnorm_value rmsnorm_value_list(rmsnorm_arena *arena);
rmsnorm_value rmsnorm_value_map(rmsnorm_arena *arena);

/* false when the arena is exhausted. */
bool rmsnorm_list_push(rmsnorm_arena *arena, rmsnorm_list *list, rmsnorm_value item);

/* Sets or replaces; the key is not copied. false when the arena is exhausted. */
bool rmsnorm_map_set(rmsnorm_arena *arena, rmsnorm_map *map, const char *key, size_t length, rmsnorm_value value);

/* NULL when the key is not there. */
const rmsnorm_value *rmsnorm_map_get(const rmsnorm_map *map, const char *key, size_t length);

/* "integer", "string", ... for messages. */
const char *rmsnorm_value_kind_name(rmsnorm_value_kind kind);

/* As a condition takes it: false, 0, 0.0, "", null, undefined and empty lists and maps are false. */
bool rmsnorm_value_is_true(const rmsnorm_value *value);

#endif
