#include "operator/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "operator/error.h"

enum { ALIGNMENT = 16, FIRST_BLOCK = 8192, LARGEST_BLOCK = 1 << 20 };
_Static_assert(ALIGNMENT >= _Alignof(max_align_t), "pieces are aligned for any type");

struct rmsnorm_arena_block {
    struct rmsnorm_arena_block *next;
    size_t size, used; /* of the bytes behind this head */
};

enum { HEAD = (sizeof(rmsnorm_arena_block) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT };

void rmsnorm_arena_init(rmsnorm_arena *arena, size_t limit)
{
    *arena = (rmsnorm_arena){.limit = limit};
}

/* The newest block is the first one; what older ones have left is not looked at again. */
static rmsnorm_arena_block *add_block(rmsnorm_arena *arena, size_t size)
{
    const size_t last = arena->blocks == NULL ? FIRST_BLOCK / 2 : arena->blocks->size;
    const size_t usual = last < LARGEST_BLOCK / 2 ? 2 * last : LARGEST_BLOCK;
    const size_t bytes = size > usual ? size : usual;
    rmsnorm_arena_block *const block = bytes > SIZE_MAX - HEAD ? NULL : malloc(HEAD + bytes);
    if (block == NULL) {
        (void)rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "no memory for a block of %zu bytes", bytes);
        return NULL;
    }
    *block = (rmsnorm_arena_block){.next = arena->blocks, .size = bytes};
    arena->blocks = block;
    return block;
}

void *rmsnorm_arena_allocate(rmsnorm_arena *arena, size_t size)
{
    if (size > arena->limit || arena->limit - size < arena->used) {
        (void)rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "%zu bytes more than the %zu in use pass the limit of %zu", size,
                           arena->used, arena->limit);
        return NULL;
    }
    rmsnorm_arena_block *block = arena->blocks;
    if (block == NULL || block->size - block->used < size) {
        block = add_block(arena, size);
        if (block == NULL) {
            return NULL;
        }
    }
    char *const piece = (char *)block + HEAD + block->used;
    const size_t rest = block->size - block->used - size, padding = (ALIGNMENT - size % ALIGNMENT) % ALIGNMENT;
    block->used += size + (padding < rest ? padding : rest);
    arena->used += size;
    return memset(piece, 0, size);
}

char *rmsnorm_arena_copy(rmsnorm_arena *arena, const char *text, size_t length)
{
    char *const copy = length < SIZE_MAX ? rmsnorm_arena_allocate(arena, length + 1) : NULL;
    if (copy != NULL && length > 0) {
        memcpy(copy, text, length);
    }
    return copy;
}

void rmsnorm_arena_release(rmsnorm_arena *arena)
{
    while (arena->blocks != NULL) {
        rmsnorm_arena_block *const next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    arena->used = 0;
}
