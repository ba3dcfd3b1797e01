/* guard.h: buffers between two pages that nobody may touch, with canaries in the slack. */
#ifndef KERNCHECK_GUARD_H
#define KERNCHECK_GUARD_H

#include <stdbool.h>
#include <stddef.h>

typedef struct guard {
    char *map; /* the first forbidden page; NULL before the first use */
    size_t map_bytes;
    char *data;
    size_t bytes;
} guard;

/* Where a buffer lies: against the page after it or the page before it, `gap` bytes away. */
typedef struct placement {
    bool at_end;
    size_t gap;
} placement;

/* Memory for `bytes`, each of them set to `fill`, valid until the next call; NULL when the system has none. */
void *guard_place(guard *g, size_t bytes, placement where, unsigned char fill);

/* Were the bytes around the buffer left alone? */
bool guard_intact(const guard *g);

void guard_release(guard *g);

#endif
