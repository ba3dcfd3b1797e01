/* arena.h: memory that goes all at once. */
#ifndef RMSNORM_PLUGIN_ARENA_H
#define RMSNORM_PLUGIN_ARENA_H

#include <stddef.h>

typedef struct plugin_arena {
    struct plugin_block *blocks;
} plugin_arena;

/* Zeroed; NULL without memory. count 0 gives a pointer too. */
void *plugin_arena_take(plugin_arena *arena, size_t count, size_t size);
void plugin_arena_release(plugin_arena *arena);

#endif
