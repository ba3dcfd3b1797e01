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

static void run(void *user, rmsnorm_task task, void *job, size_t count)
{
    const rmsnorm_pool *pool = user;
    pthreadpool_parallelize_1d(pool->threads, task, job, count, 0);
}

rmsnorm_runner rmsnorm_pool_runner(rmsnorm_pool *pool)
{
    const rmsnorm_runner none = {NULL, NULL, 0};
    if (pool == NULL) {
        return none;
    }
    const rmsnorm_runner runner = {run, pool, pthreadpool_get_threads_count(pool->threads)};
    return runner;
}
