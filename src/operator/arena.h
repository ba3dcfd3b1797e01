/* arena.h: memory that is given out in pieces and released as one. */
#ifndef RMSNORM_OPERATOR_ARENA_H
#define RMSNORM_OPERATOR_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "rmsnorm/rmsnorm.h"

typedef struct rmsnorm_arena_block rmsnorm_arena_block;

typedef struct rmsnorm_arena {
    rmsnorm_arena_block *blocks;
    size_t used, limit; /* bytes given out, and at most */
} rmsnorm_arena;

RMSNORM_API void rmsnorm_arena_init(rmsnorm_arena *arena, size_t limit);

/* size bytes, zeroed, aligned for any type. NULL, with the last error set, beyond the limit or without memory. */
RMSNORM_API void *rmsnorm_arena_allocate(rmsnorm_arena *arena, size_t size);

/* A copy with a terminator behind it. */
RMSNORM_API char *rmsnorm_arena_copy(rmsnorm_arena *arena, const char *text, size_t length);

/* All of it at once; the arena may be used again. */
RMSNORM_API void rmsnorm_arena_release(rmsnorm_arena *arena);

#endif
