/* soak: random requests over all operators, types, shapes, places in memory, instruction sets and runners, from many threads at once
 * that share a pool, for as long as it is told to. Each is judged as kerncheck judges it, and then once more with another runner: the
 * same bits. What the process takes of memory must have come to an end by half of the time. */
#define _XOPEN_SOURCE 700

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "check.h"

enum { THREADS = 16, POOL_THREADS = 4 };

typedef struct soaker {
    pthread_t thread;
    checker check;
    rng random;
    uint64_t requests;
    bool large;
} soaker;

static combination combinations[MAX_COMBINATIONS];
static int combination_count;
static rmsnorm_runner shared;
static atomic_bool over;

/* Kinds of cases that are large by themselves: one in a hundred, and of one thread alone, so that its memory is soon as large as it gets. */
static bool is_large(const family *kind)
{
    return kind->count <= 4;
}

static check_case draw(rng *r, bool large)
{
    const combination *const types = &combinations[rng_between(r, 0, combination_count - 1)];
    const family *kind;
    do {
        kind = &families[rng_between(r, 0, (int64_t)family_count - 1)];
    } while (is_large(kind) && !(large && rng_chance(r, 100)));
    return case_draw(types, kind, (int)rng_between(r, 0, kind->count - 1), rng_next(r));
}

static void *work(void *argument)
{
    soaker *const s = argument;
    checker *const k = &s->check;
    while (!atomic_load(&over) && k->failed == 0) {
        check_case c = draw(&s->random, s->large);
        const rmsnorm_runner *const runners[] = {NULL, &shared};
        const size_t first = (size_t)rng_between(&s->random, 0, 1);
        k->runner = runners[first];
        check_case_everywhere(k, &c);
        k->runner = runners[1 - first];
        const rmsnorm_isa isa = k->isas[rng_between(&s->random, 0, k->isa_count - 1)];
        if (k->failed == 0 && case_run(k, &c, isa, k->result)) {
            k->passed += case_same_bits(k, &c, isa);
        }
        s->requests++;
    }
    return NULL;
}

static long peak_kib(void)
{
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void wait_for(double seconds)
{
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&time, &time) != 0) {
    }
}

static int list_isas(rmsnorm_isa list[MAX_ISAS])
{
    int count = 0;
    for (int isa = RMSNORM_ISA_SCALAR; isa < RMSNORM_ISA_COUNT; isa++) {
        if (rmsnorm_isa_runnable((rmsnorm_isa)isa)) {
            list[count++] = (rmsnorm_isa)isa;
        }
    }
    return count;
}

static int finish(soaker *soakers, long half, long end)
{
    uint64_t requests = 0;
    uint64_t passed = 0;
    uint64_t failed = 0;
    for (size_t i = 0; i < THREADS; i++) {
        (void)pthread_join(soakers[i].thread, NULL);
        requests += soakers[i].requests;
        passed += soakers[i].check.passed;
        failed += soakers[i].check.failed;
        checker_release(&soakers[i].check);
    }
    (void)printf("memory: %ld MiB after half of the time, %ld MiB at the end\n", half / 1024, end / 1024);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they keep what was freed, or a history */
    if (end > half + half / 4 + 65536) {
        (void)printf("FAILED: memory grows\n");
        failed++;
    }
#endif
    (void)printf("%" PRIu64 " requests, %" PRIu64 " passed, %" PRIu64 " failed\n", requests, passed, failed);
    return failed == 0 && requests >= THREADS && passed >= requests ? 0 : 1;
}

int main(int argument_count, char **words)
{
    static soaker soakers[THREADS];
    const double seconds = argument_count > 1 ? strtod(words[1], NULL) : 0;
    const uint64_t seed = argument_count > 2 ? strtoull(words[2], NULL, 10) : (uint64_t)time(NULL);
    if (!(seconds > 0) || argument_count > 3) {
        (void)fprintf(stderr, "usage: soak SECONDS [SEED]\n");
        return 2;
    }
    (void)printf("soak: %g seconds, seed %" PRIu64 "\n", seconds, seed);
    (void)fflush(stdout);
    rmsnorm_pool *pool = NULL;
    if (rmsnorm_pool_create(POOL_THREADS, &pool) != RMSNORM_OK) {
        (void)fprintf(stderr, "soak: %s\n", rmsnorm_last_error());
        return 2;
    }
    shared = rmsnorm_pool_runner(pool);
    combination_count = combinations_list(combinations);
    for (size_t i = 0; i < THREADS; i++) {
        soakers[i].check.isa_count = list_isas(soakers[i].check.isas);
        soakers[i].random = rng_seeded(seed + i);
        soakers[i].large = i == 0;
        if (pthread_create(&soakers[i].thread, NULL, work, &soakers[i]) != 0) {
            (void)fprintf(stderr, "soak: no thread\n");
            exit(2);
        }
    }
    wait_for(seconds / 2);
    const long half = peak_kib();
    wait_for(seconds / 2);
    const long end = peak_kib();
    atomic_store(&over, true);
    const int result = finish(soakers, half, end);
    rmsnorm_pool_destroy(pool);
    return result;
}
