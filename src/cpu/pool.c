/* pool.c: the runner that comes along.
 *
 * `state` holds the job's number in the upper half and how many of its tasks are not taken yet in the lower one. A worker takes
 * one with a compare-and-swap; as long as that succeeds the job is not over, and so what was read about it is still true. So
 * nobody has to wait for workers that sleep. A worker that finds nothing spins for SPIN_NS, then sleeps until the next job. */
#define _GNU_SOURCE /* sched_getaffinity */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "operator/error.h"

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

/* Long enough to bridge the other work of a decoder layer on small models, short enough not to be seen as load. */
#define SPIN_NS 50000

#define LEFT_BITS 32
#define LEFT_MASK (((uint64_t)1 << LEFT_BITS) - 1)

struct rmsnorm_pool {
    _Atomic(uint64_t) state;
    _Atomic(rmsnorm_task) task;
    _Atomic(void *) job;
    atomic_size_t done;
    atomic_bool busy, stop;
    atomic_size_t asleep;
    pthread_mutex_t mutex; /* of `wake`, and of going to sleep */
    pthread_cond_t wake;
    size_t worker_count;
    pthread_t workers[];
};

static int64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* Takes part in the job until no task is left. Returns the state it saw last. */
static uint64_t work(rmsnorm_pool *pool)
{
    uint64_t state = atomic_load(&pool->state);
    while ((state & LEFT_MASK) != 0) {
        const rmsnorm_task task = atomic_load_explicit(&pool->task, memory_order_relaxed);
        void *const job = atomic_load_explicit(&pool->job, memory_order_relaxed);
        if (atomic_compare_exchange_weak(&pool->state, &state, state - 1)) {
            task(job, (size_t)(state & LEFT_MASK) - 1);
            atomic_fetch_add_explicit(&pool->done, 1, memory_order_release);
            state = atomic_load(&pool->state);
        }
    }
    return state;
}

static bool changed(rmsnorm_pool *pool, uint64_t seen)
{
    return atomic_load(&pool->state) != seen || atomic_load(&pool->stop);
}

static void await_job(rmsnorm_pool *pool, uint64_t seen)
{
    const int64_t end = now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (changed(pool, seen)) {
                return;
            }
            PAUSE();
        }
    } while (now_ns() < end);
    pthread_mutex_lock(&pool->mutex);
    atomic_fetch_add(&pool->asleep, 1);
    while (!changed(pool, seen)) {
        pthread_cond_wait(&pool->wake, &pool->mutex);
    }
    atomic_fetch_sub(&pool->asleep, 1);
    pthread_mutex_unlock(&pool->mutex);
}

static void *worker(void *user)
{
    rmsnorm_pool *const pool = user;
    while (!atomic_load(&pool->stop)) {
        await_job(pool, work(pool));
    }
    return NULL;
}

static void wake_workers(rmsnorm_pool *pool)
{
    if (atomic_load(&pool->asleep) > 0 || atomic_load(&pool->stop)) {
        pthread_mutex_lock(&pool->mutex);
        pthread_cond_broadcast(&pool->wake);
        pthread_mutex_unlock(&pool->mutex);
    }
}

/* A pool that already works, for another thread or for a task of this one, leaves the job to its caller: all cores are taken. */
static void run(void *user, rmsnorm_task task, void *job, size_t count)
{
    rmsnorm_pool *const pool = user;
    if (count < 2 || count > LEFT_MASK || atomic_exchange_explicit(&pool->busy, true, memory_order_acquire)) {
        for (size_t i = 0; i < count; i++) {
            task(job, i);
        }
        return;
    }
    atomic_store_explicit(&pool->task, task, memory_order_relaxed);
    atomic_store_explicit(&pool->job, job, memory_order_relaxed);
    atomic_store_explicit(&pool->done, 0, memory_order_relaxed);
    const uint64_t number = (atomic_load(&pool->state) >> LEFT_BITS) + 1;
    atomic_store(&pool->state, number << LEFT_BITS | count);
    wake_workers(pool);
    work(pool);
    for (int spins = 0; atomic_load_explicit(&pool->done, memory_order_acquire) < count; spins++) {
        if (spins < 4096) {
            PAUSE();
        } else {
            sched_yield();
        }
    }
    atomic_store_explicit(&pool->busy, false, memory_order_release);
}

/* Cores this process may use. */
static size_t core_count(void)
{
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) == 0) {
        return (size_t)CPU_COUNT(&cores);
    }
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

/* As many as the system gives. Signals go to the caller's threads. */
static void start_workers(rmsnorm_pool *pool, size_t count)
{
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) {
        return;
    }
    while (pool->worker_count < count && pthread_create(&pool->workers[pool->worker_count], NULL, worker, pool) == 0) {
        pool->worker_count++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

rmsnorm_status rmsnorm_pool_create(size_t thread_count, rmsnorm_pool **pool)
{
    RMSNORM_CHECK(pool != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_pool_create: pool is NULL, allowed a place for it");
    const size_t most = 1024;
    RMSNORM_CHECK(thread_count <= most, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_pool_create: thread_count is %zu, allowed 0 to %zu", thread_count, most);
    const size_t workers = (thread_count == 0 ? core_count() : thread_count) - 1;
    rmsnorm_pool *created = calloc(1, sizeof *created + workers * sizeof created->workers[0]);
    RMSNORM_CHECK(created != NULL, RMSNORM_OUT_OF_MEMORY, "rmsnorm_pool_create: out of memory");
    pthread_mutex_init(&created->mutex, NULL);
    pthread_cond_init(&created->wake, NULL);
    start_workers(created, workers);
    *pool = created;
    return RMSNORM_OK;
}

void rmsnorm_pool_destroy(rmsnorm_pool *pool)
{
    if (pool == NULL) {
        return;
    }
    atomic_store(&pool->stop, true);
    wake_workers(pool);
    for (size_t i = 0; i < pool->worker_count; i++) {
        pthread_join(pool->workers[i], NULL);
    }
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->mutex);
    free(pool);
}

rmsnorm_runner rmsnorm_pool_runner(rmsnorm_pool *pool)
{
    const rmsnorm_runner none = {NULL, NULL, 0};
    if (pool == NULL) {
        return none;
    }
    const rmsnorm_runner runner = {run, pool, pool->worker_count + 1};
    return runner;
}
