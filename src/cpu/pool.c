/* pool.c: the runner that comes along, over the pthreadpool library. */
#include <pthreadpool.h>
#include <stdlib.h>

#include "operator/error.h"

struct rmsnorm_pool {
    pthreadpool_t threads;
};

rmsnorm_status rmsnorm_pool_create(size_t thread_count, rmsnorm_pool **pool)
{
    RMSNORM_CHECK(pool != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_pool_create: pool is NULL, allowed a place for it");
    const size_t most = 1024;
    RMSNORM_CHECK(thread_count <= most, RMSNORM_INVALID_ARGUMENT, "rmsnorm_pool_create: thread_count is %zu, allowed 0 to %zu",
                  thread_count, most);
    rmsnorm_pool *created = malloc(sizeof *created);
    RMSNORM_CHECK(created != NULL, RMSNORM_OUT_OF_MEMORY, "rmsnorm_pool_create: out of memory");
    created->threads = pthreadpool_create(thread_count);
    if (created->threads == NULL) {
        free(created);
        return rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "rmsnorm_pool_create: %zu threads could not be started", thread_count);
    }
    *pool = created;
    return RMSNORM_OK;
}

void rmsnorm_pool_destroy(rmsnorm_pool *pool)
{
    if (pool != NULL) {
        pthreadpool_destroy(pool->threads);
        free(pool);
    }
}

#ifdef RMSNORM_SANITIZE_THREAD
/* The pool's library is not compiled with the sanitizer, which so cannot see it hand the job over and back: it is told. Two
 * places, so that one task is not taken to come before another. */
#include <sanitizer/tsan_interface.h>

typedef struct handed {
    rmsnorm_task task;
    void *job;
    char begun, ended;
} handed;

static void run_handed(void *user, size_t index)
{
    handed *work = user;
    __tsan_acquire(&work->begun);
    work->task(work->job, index);
    __tsan_release(&work->ended);
}

static void run(void *user, rmsnorm_task task, void *job, size_t count)
{
    const rmsnorm_pool *pool = user;
    handed work = {task, job, 0, 0};
    __tsan_release(&work.begun);
    pthreadpool_parallelize_1d(pool->threads, run_handed, &work, count, 0);
    __tsan_acquire(&work.ended);
}
#else
static void run(void *user, rmsnorm_task task, void *job, size_t count)
{
    const rmsnorm_pool *pool = user;
    pthreadpool_parallelize_1d(pool->threads, task, job, count, 0);
}
#endif

rmsnorm_runner rmsnorm_pool_runner(rmsnorm_pool *pool)
{
    const rmsnorm_runner none = {NULL, NULL, 0};
    if (pool == NULL) {
        return none;
    }
    const rmsnorm_runner runner = {run, pool, pthreadpool_get_threads_count(pool->threads)};
    return runner;
}
