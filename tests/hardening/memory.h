/* memory.h: memory that ends when a test wants it to. A program that links memory.c and wraps malloc, calloc, realloc, aligned_alloc,
 * free and realpath at link time sees every request of the static libraries and of jansson. */
#ifndef RMSNORM_TESTS_HARDENING_MEMORY_H
#define RMSNORM_TESTS_HARDENING_MEMORY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rmsnorm/rmsnorm.h"

/* Makes jansson ask here as well. A sweep tries at most so many requests, evenly chosen. */
void memory_begin(size_t most);

/* Counts requests anew. Request `from` (the first is 0) gets nothing, and with `on` none after it does. */
void memory_fail(size_t from, bool on);
/* Every request gets what it wants. Returns how many there were. */
size_t memory_succeed(void);
/* Pieces that were given out and not taken back. */
size_t memory_held(void);

/* What a handle is set to before a call that fails: the call leaves it, or makes it NULL. */
extern char memory_untouched[1];
#define UNTOUCHED ((void *)memory_untouched)
#define assert_no_handle(handle) assert_true((handle) == NULL || (void *)(handle) == UNTOUCHED)

/* Makes some calls, checks their promises, and releases what they gave: RMSNORM_OK, or the status of the one that failed. */
typedef rmsnorm_status memory_calls(void);

/* Makes the calls with enough memory, then without each of the requests that they make, alone and with all after it: always a status and
 * a sentence, nothing that stays allocated, and the same calls succeed afterwards.
 * `also`: the bits of statuses besides RMSNORM_OUT_OF_MEMORY that another library's refusal of a request can become.
 * Fewer requests than `least` fail the test. */
void memory_sweep(const char *name, memory_calls *calls, unsigned also, size_t least);
#define BIT(status) (1U << (status))

/* The calls succeed, and ask for nothing. */
void memory_none(const char *name, memory_calls *calls);

/* Passes a failure on; for memory_calls that hold nothing yet. */
#define CALL_TRY(expression)                              \
    do {                                                  \
        const rmsnorm_status call_status_ = (expression); \
        if (call_status_ != RMSNORM_OK) {                 \
            return call_status_;                          \
        }                                                 \
    } while (0)

#endif
