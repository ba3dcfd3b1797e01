#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "guard.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CANARY 0xC5
#define CANARY_BYTES 512 /* beyond the widest vector store, even one that is a whole unrolled step too far */

static size_t page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

static char *usable_start(const guard *g)
{
    return g->map + page_bytes();
}

static char *usable_end(const guard *g)
{
    return g->map + g->map_bytes - page_bytes();
}

static bool grow(guard *g, size_t bytes)
{
    const size_t page = page_bytes();
    const size_t usable = (bytes + CANARY_BYTES + page) / page * page;
    if (g->map != NULL && (size_t)(usable_end(g) - usable_start(g)) >= usable) {
        return true;
    }
    guard_release(g);
    const size_t map_bytes = usable + 2 * page;
    void *const map = mmap(NULL, map_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return false;
    }
    g->map = map;
    g->map_bytes = map_bytes;
    return mprotect(usable_start(g), usable, PROT_READ | PROT_WRITE) == 0;
}

static size_t at_most(size_t value, size_t limit)
{
    return value < limit ? value : limit;
}

void *guard_place(guard *g, size_t bytes, placement where, unsigned char fill)
{
    if (!grow(g, bytes + where.gap)) {
        return NULL;
    }
    g->data = where.at_end ? usable_end(g) - where.gap - bytes : usable_start(g) + where.gap;
    g->bytes = bytes;
    const size_t before = at_most((size_t)(g->data - usable_start(g)), CANARY_BYTES);
    const size_t after = at_most((size_t)(usable_end(g) - (g->data + bytes)), CANARY_BYTES);
    memset(g->data - before, CANARY, before);
    memset(g->data, fill, bytes);
    memset(g->data + bytes, CANARY, after);
    return g->data;
}

bool guard_intact(const guard *g)
{
    const char *const low = usable_start(g);
    const char *const high = usable_end(g);
    const size_t before = at_most((size_t)(g->data - low), CANARY_BYTES);
    const size_t after = at_most((size_t)(high - (g->data + g->bytes)), CANARY_BYTES);
    for (size_t i = 0; i < before; i++) {
        if ((unsigned char)g->data[-1 - (ptrdiff_t)i] != CANARY) {
            return false;
        }
    }
    for (size_t i = 0; i < after; i++) {
        if ((unsigned char)g->data[g->bytes + i] != CANARY) {
            return false;
        }
    }
    return true;
}

void guard_release(guard *g)
{
    if (g->map != NULL) {
        (void)munmap(g->map, g->map_bytes);
        g->map = NULL;
    }
}
