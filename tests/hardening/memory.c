#include "hardening/memory.h"

#include <errno.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
char *__real_realpath(const char *path, char *resolved);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __wrap_free(void *memory);
char *__wrap_realpath(const char *path, char *resolved);

char memory_untouched[1];

enum { PLACES = 1 << 18 }; /* many more than are ever held at once */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static uintptr_t places[PLACES]; /* addresses held, each at the first free place from its hash on */
static size_t held, requests, failing = SIZE_MAX;
static bool all_after;
static size_t most_tried;

static size_t home_of(uintptr_t address)
{
    return (size_t)((uint64_t)address * UINT64_C(0x9E3779B97F4A7C15) >> 46);
}

static void *keep(void *memory)
{
    const uintptr_t address = (uintptr_t)memory;
    if (memory != NULL) {
        (void)pthread_mutex_lock(&mutex);
        size_t place = home_of(address);
        while (places[place] != 0) {
            place = (place + 1) % PLACES;
        }
        places[place] = address;
        held++;
        (void)pthread_mutex_unlock(&mutex);
    }
    return memory;
}

/* Fills the place, so that whoever stands behind it is still found. */
static void take_away(size_t place)
{
    for (size_t next = (place + 1) % PLACES; places[next] != 0; next = (next + 1) % PLACES) {
        if ((next - home_of(places[next])) % PLACES >= (next - place) % PLACES) {
            places[place] = places[next];
            place = next;
        }
    }
    places[place] = 0;
}

/* Memory that another library gave is not known here. */
static void forget(const void *memory)
{
    const uintptr_t address = (uintptr_t)memory;
    if (memory != NULL) {
        (void)pthread_mutex_lock(&mutex);
        size_t place = home_of(address);
        while (places[place] != 0 && places[place] != address) {
            place = (place + 1) % PLACES;
        }
        if (places[place] != 0) {
            take_away(place);
            held--;
        }
        (void)pthread_mutex_unlock(&mutex);
    }
}

static bool is_granted(bool to_jansson)
{
    (void)pthread_mutex_lock(&mutex);
    const size_t request = requests++;
    const bool granted = request < failing || (!all_after && (request > failing || to_jansson));
    (void)pthread_mutex_unlock(&mutex);
    if (!granted) {
        errno = ENOMEM;
    }
    return granted;
}

void *__wrap_malloc(size_t size)
{
    return is_granted(false) ? keep(__real_malloc(size)) : NULL;
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_granted(false) ? keep(__real_calloc(count, size)) : NULL;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return is_granted(false) ? keep(__real_aligned_alloc(alignment, size)) : NULL;
}

void *__wrap_realloc(void *old, size_t size)
{
    if (!is_granted(false)) {
        return NULL;
    }
    forget(old); /* before: its address may be another's at once */
    return keep(__real_realloc(old, size));
}

void __wrap_free(void *memory)
{
    forget(memory);
    __real_free(memory);
}

/* The C library's own request, for the caller to free. */
char *__wrap_realpath(const char *path, char *resolved)
{
    if (resolved != NULL) {
        return __real_realpath(path, resolved);
    }
    return is_granted(false) ? keep(__real_realpath(path, NULL)) : NULL;
}

/* Jansson 2.14 reads and writes beyond its buffers when the text of a string cannot grow and a later request is granted. So its requests
 * fail together with all that follow. */
static void *allocate_for_jansson(size_t size)
{
    return is_granted(true) ? keep(__real_malloc(size)) : NULL;
}

void memory_begin(size_t most)
{
    most_tried = most;
    json_set_alloc_funcs(allocate_for_jansson, __wrap_free);
}

void memory_fail(size_t from, bool on)
{
    (void)pthread_mutex_lock(&mutex);
    requests = 0;
    failing = from;
    all_after = on;
    (void)pthread_mutex_unlock(&mutex);
}

size_t memory_succeed(void)
{
    (void)pthread_mutex_lock(&mutex);
    const size_t count = requests;
    failing = SIZE_MAX;
    (void)pthread_mutex_unlock(&mutex);
    return count;
}

size_t memory_held(void)
{
    (void)pthread_mutex_lock(&mutex);
    const size_t count = held;
    (void)pthread_mutex_unlock(&mutex);
    return count;
}

/* Requests that the calls make with enough memory. */
static size_t count_requests(const char *name, memory_calls *calls)
{
    const size_t before = memory_held();
    memory_fail(SIZE_MAX, false);
    const rmsnorm_status status = calls();
    const size_t count = memory_succeed();
    if (status != RMSNORM_OK) {
        fail_msg("%s: status %d with all memory there is: %s", name, (int)status, rmsnorm_last_error());
    }
    if (memory_held() != before) {
        fail_msg("%s: %zu pieces of memory stay", name, memory_held() - before);
    }
    return count;
}

static bool fails(const char *name, memory_calls *calls, unsigned also, size_t request, bool on)
{
    const size_t before = memory_held();
    memory_fail(request, on);
    const rmsnorm_status status = calls();
    memory_succeed();
    if (memory_held() != before) {
        fail_msg("%s: request %zu fails%s: %zu pieces of memory stay", name, request, on ? " and all after it" : "",
                 memory_held() - before);
    }
    if (status != RMSNORM_OK && status != RMSNORM_OUT_OF_MEMORY && (also & BIT(status)) == 0) {
        fail_msg("%s: request %zu fails%s: status %d: %s", name, request, on ? " and all after it" : "", (int)status,
                 rmsnorm_last_error());
    }
    if (status != RMSNORM_OK) {
        const char *const sentence = rmsnorm_last_error();
        assert_true(sentence[0] != '\0' && strpbrk(sentence, "\r\n\t\033") == NULL);
    }
    return status != RMSNORM_OK;
}

void memory_sweep(const char *name, memory_calls *calls, unsigned also, size_t least)
{
    (void)count_requests(name, calls); /* what is made once in a process is made */
    const size_t count = count_requests(name, calls);
    const size_t step = count > most_tried ? (count + most_tried - 1) / most_tried : 1;
    size_t failed = 0;
    size_t tried = 0;
    assert_true(count >= least);
    for (size_t request = 0; request < count; request += step) {
        for (int on = 0; on < 2; on++) {
            failed += fails(name, calls, also, request, on == 1);
            tried++;
        }
        (void)count_requests(name, calls); /* as if nothing had been */
    }
    print_message("  %s: %zu requests, %zu of %zu failures reported\n", name, count, failed, tried);
    assert_true(failed > 0 || least == 0);
}

void memory_none(const char *name, memory_calls *calls)
{
    const size_t before = memory_held();
    memory_fail(0, true);
    const rmsnorm_status status = calls();
    const size_t count = memory_succeed();
    if (status != RMSNORM_OK || count != 0 || memory_held() != before) {
        fail_msg("%s: status %d, %zu requests: %s", name, (int)status, count, rmsnorm_last_error());
    }
}
