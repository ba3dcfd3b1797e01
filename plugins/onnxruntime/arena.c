#include "arena.h"

#include <stdint.h>
#include <stdlib.h>

struct plugin_block {
    struct plugin_block *next;
    _Alignas(max_align_t) unsigned char bytes[];
};

void *plugin_arena_take(plugin_arena *arena, size_t count, size_t size)
{
    if (size != 0 && count > (SIZE_MAX / 2) / size) {
        return NULL;
    }
    struct plugin_block *const block = calloc(1, sizeof *block + count * size);
    if (block == NULL) {
        return NULL;
    }
    block->next = arena->blocks;
    arena->blocks = block;
    return block->bytes;
}

void plugin_arena_release(plugin_arena *arena)
{
    while (arena->blocks != NULL) {
        struct plugin_block *const block = arena->blocks;
        arena->blocks = block->next;
        free(block);
    }
}
