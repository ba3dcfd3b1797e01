/* memory.c: malloc for one thread, a tenth of the libc's in size: powers of two, each with a list of what was freed. The planner
 * frees all that a call took, so that the next call finds it; nothing is put together again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)65536)

enum { LEAST = 5, CLASSES = 31 }; /* 2^LEAST bytes with the head; 2^30 */

/* In front of what the caller gets. */
typedef struct head {
    size_t class;
    struct head *next; /* while it is free */
    size_t unused[2];  /* 16 bytes: the caller's stay aligned */
} head;

extern unsigned char __heap_base; /* the linker's */

static head *freed[CLASSES];
static uintptr_t end;   /* of what was given out */
static uintptr_t limit; /* of what there is */

/* Fresh memory. */
static head *extend(size_t size)
{
    if (end == 0) {
        end = ((uintptr_t)&__heap_base + sizeof(head) - 1) / sizeof(head) * sizeof(head);
        limit = __builtin_wasm_memory_size(0) * PAGE;
    }
    if (size > limit - end) {
        const size_t pages = (size - (limit - end) + PAGE - 1) / PAGE;
        if (__builtin_wasm_memory_grow(0, pages) == SIZE_MAX) {
            return NULL;
        }
        limit += pages * PAGE;
    }
    head *const made = (head *)end;
    end += size;
    return made;
}

__attribute__((no_builtin)) void *malloc(size_t size)
{
    size_t class = LEAST;
    if (size > ((size_t)1 << (CLASSES - 1)) - sizeof(head)) {
        return NULL;
    }
    while ((size_t)1 << class < size + sizeof(head)) {
        class ++;
    }
    head *found = freed[class];
    if (found != NULL) {
        freed[class] = found->next;
    } else {
        found = extend((size_t)1 << class);
        if (found == NULL) {
            return NULL;
        }
        found->class = class;
    }
    return found + 1;
}

__attribute__((no_builtin)) void free(void *memory)
{
    if (memory != NULL) {
        head *const gone = (head *)memory - 1;
        gone->next = freed[gone->class];
        freed[gone->class] = gone;
    }
}

__attribute__((no_builtin)) void *calloc(size_t count, size_t size)
{
    void *const memory = size != 0 && count > SIZE_MAX / size ? NULL : malloc(count * size);
    if (memory != NULL) {
        memset(memory, 0, count * size);
    }
    return memory;
}

__attribute__((no_builtin)) void *realloc(void *memory, size_t size)
{
    if (memory == NULL) {
        return malloc(size);
    }
    const size_t room = ((size_t)1 << ((head *)memory - 1)->class) - sizeof(head);
    if (size <= room) {
        return memory;
    }
    void *const larger = malloc(size);
    if (larger != NULL) {
        memcpy(larger, memory, room);
        free(memory);
    }
    return larger;
}
