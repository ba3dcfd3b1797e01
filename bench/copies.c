/* copies.c: what the machine needs to move the same bytes: half of a case's bytes read, half written, by the same threads. */
#define _DEFAULT_SOURCE

#include <stdlib.h>
#include <string.h>

#include "bench.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

typedef void copy_part(char *to, const char *from, size_t bytes);

typedef struct copier {
    char *from, *to;
    size_t bytes, parts;
    copy_part *copy;
    rmsnorm_pool *pool;
    rmsnorm_runner runner;
} copier;

static void copy_library(char *to, const char *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* Both are multiples of 64 bytes. */
static void copy_plain(char *to, const char *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64) {
#if defined(__x86_64__)
        for (size_t j = i; j < i + 64; j += 16) {
            _mm_store_si128((__m128i *)(to + j), _mm_load_si128((const __m128i *)(from + j)));
        }
#else
        memcpy(to + i, from + i, 64);
#endif
    }
}

static void copy_past_cache(char *to, const char *from, size_t bytes)
{
#if defined(__x86_64__)
    for (size_t i = 0; i < bytes; i += 64) {
        for (size_t j = i; j < i + 64; j += 16) {
            _mm_stream_si128((__m128i *)(to + j), _mm_load_si128((const __m128i *)(from + j)));
        }
    }
    _mm_sfence();
#else
    copy_plain(to, from, bytes);
#endif
}

static void copy_task(void *user, size_t index)
{
    const copier *const state = user;
    const size_t each = state->bytes / state->parts / 64 * 64;
    const size_t begin = index * each;
    const size_t end = index + 1 == state->parts ? state->bytes : begin + each;
    state->copy(state->to + begin, state->from + begin, end - begin);
}

static bool call(void *user)
{
    copier *const state = user;
    if (state->runner.run != NULL) {
        state->runner.run(state->runner.user, copy_task, state, state->parts);
    } else {
        copy_task(state, 0);
    }
    return true;
}

static void release(void *user)
{
    copier *const state = user;
    rmsnorm_pool_destroy(state->pool);
    free(state->from);
    free(state->to);
    free(state);
}

static bool prepare(const bench_case *what, const bench_data *data, copy_part *copy, void **user, char why[256])
{
    copier *const state = calloc(1, sizeof *state);
    *user = state;
    snprintf(why, 256, "out of memory");
    if (state == NULL) {
        return false;
    }
    state->copy = copy;
    state->bytes = ((size_t)data->bytes / 2 + 63) / 64 * 64;
    state->from = aligned_alloc(4096, (state->bytes + 4095) / 4096 * 4096);
    state->to = aligned_alloc(4096, (state->bytes + 4095) / 4096 * 4096);
    if (state->from == NULL || state->to == NULL) {
        return false;
    }
    memset(state->from, 1, state->bytes);
    memset(state->to, 2, state->bytes);
    /* Small copies stay in one thread, as they are faster there. */
    state->parts = what->threads > 1 && state->bytes >= ((size_t)256 << 10) ? what->threads : 1;
    if (state->parts > 1) {
        if (rmsnorm_pool_create(what->threads, &state->pool) != RMSNORM_OK) {
            snprintf(why, 256, "%s", rmsnorm_last_error());
            return false;
        }
        state->runner = rmsnorm_pool_runner(state->pool);
    }
    return true;
}

static bool prepare_library(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    return prepare(what, data, copy_library, user, why);
}

static bool prepare_plain(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    return prepare(what, data, copy_plain, user, why);
}

static bool prepare_past_cache(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    return prepare(what, data, copy_past_cache, user, why);
}

const bench_contender bench_memcpy = {"memcpy", prepare_library, call, release};
const bench_contender bench_copy = {"copy", prepare_plain, call, release};
const bench_contender bench_stream_copy = {"stream copy", prepare_past_cache, call, release};
