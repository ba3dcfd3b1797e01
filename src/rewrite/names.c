#include "rewrite/names.h"

#include <stdio.h>
#include <string.h>

#include "operator/error.h"

enum { FIRST_CAPACITY = 64 };

/* FNV-1a. Names that were made to collide cost their graph time, nobody else. */
static size_t hash(const char *name)
{
    uint64_t value = 0xcbf29ce484222325u;
    for (; *name != '\0'; name++) {
        value = (value ^ (uint8_t)*name) * 0x100000001b3u;
    }
    return (size_t)(value ^ value >> 32);
}

static size_t find(const rmsnorm_name_set *set, const char *name)
{
    size_t at = hash(name) & (set->capacity - 1);
    while (set->slots[at] != NULL && strcmp(set->slots[at], name) != 0) {
        at = (at + 1) & (set->capacity - 1);
    }
    return at;
}

bool rmsnorm_name_set_has(const rmsnorm_name_set *set, const char *name)
{
    return set->count > 0 && set->slots[find(set, name)] != NULL;
}

static rmsnorm_status grow(rmsnorm_name_set *set, rmsnorm_arena *arena)
{
    rmsnorm_name_set larger = {.capacity = set->capacity > 0 ? 4 * set->capacity : FIRST_CAPACITY};
    larger.slots = rmsnorm_arena_allocate(arena, larger.capacity * sizeof *larger.slots);
    if (larger.slots == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i] != NULL) {
            larger.slots[find(&larger, set->slots[i])] = set->slots[i];
            larger.count++;
        }
    }
    *set = larger;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_name_set_add(rmsnorm_name_set *set, rmsnorm_arena *arena, const char *name)
{
    if (2 * (set->count + 1) > set->capacity) {
        RMSNORM_TRY(grow(set, arena));
    }
    const size_t at = find(set, name);
    if (set->slots[at] == NULL) {
        set->slots[at] = name;
        set->count++;
    }
    return RMSNORM_OK;
}

const char *rmsnorm_name_set_new(rmsnorm_name_set *set, rmsnorm_arena *arena, const char *base)
{
    const size_t length = strlen(base);
    char *const name = rmsnorm_arena_allocate(arena, length + 24);
    if (name == NULL) {
        return NULL;
    }
    memcpy(name, base, length + 1);
    /* Numbers are taken from 1 on, so the first free one is found by halving: nodes of one name come by the thousand. */
    size_t taken = 0;
    size_t available = 0;
    while (rmsnorm_name_set_has(set, name)) {
        taken = available;
        available = available > 0 ? 2 * available : 1;
        snprintf(name + length, 24, "_%zu", available);
    }
    while (available - taken > 1) {
        const size_t middle = taken + (available - taken) / 2;
        snprintf(name + length, 24, "_%zu", middle);
        if (rmsnorm_name_set_has(set, name)) {
            taken = middle;
        } else {
            available = middle;
        }
    }
    if (available > 0) {
        snprintf(name + length, 24, "_%zu", available);
    }
    return rmsnorm_name_set_add(set, arena, name) == RMSNORM_OK ? name : NULL;
}
