/* Threads: any number, from the pool or from the caller, gives the same bits; any thread may call at any time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kerncheck/rng.h"
#include "support.h"

/* ---- A caller's own threads ---- */

typedef struct crew {
    rmsnorm_task task;
    void *job;
    size_t count, threads, largest_count;
} crew;

typedef struct worker {
    const crew *of;
    size_t index;
    pthread_t thread;
} worker;

static void *work(void *argument)
{
    const worker *const w = argument;
    for (size_t i = w->index; i < w->of->count; i += w->of->threads) {
        w->of->task(w->of->job, i);
    }
    return NULL;
}

#define MOST_THREADS 8

static void run_with_crew(void *user, rmsnorm_task task, void *job, size_t count)
{
    crew *const c = user;
    worker workers[MOST_THREADS];
    c->task = task;
    c->job = job;
    c->count = count;
    c->largest_count = count > c->largest_count ? count : c->largest_count;
    for (size_t i = 0; i < c->threads; i++) {
        workers[i] = (worker){.of = c, .index = i};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            abort();
        }
    }
    for (size_t i = 0; i < c->threads; i++) {
        (void)pthread_join(workers[i].thread, NULL);
    }
}

/* ---- The calls ---- */

static const struct {
    rmsnorm_operator_kind kind;
    rmsnorm_dtype dtype;
    int64_t rows, width;
} kinds[] = {{SIMPLE, F32, 1000, 257}, {PLAIN, F16, 300, 1024}, {SKIP, F16, 64, 2048}, {SKIP, BF16, 1000, 100},
             {SIMPLE, F64, 3, 70000},  {PLAIN, F32, 1, 300000}, {SKIP, F32, 8, 20000}, {SIMPLE, BF16, 100003, 3},
             {SKIP, F32, 2, 1},        {PLAIN, F64, 17, 33},    {SKIP, F16, 40, 1024}, {SIMPLE, F32, 129, 257},
             {PLAIN, BF16, 9, 4096}};

/* Rows of very different magnitude: a row computed with another one's sum shows. */
static void fill(rmsnorm_tensor *tensor, rng *r)
{
    const size_t width = (size_t)tensor->dims[tensor->rank - 1];
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        tensor_set(tensor, i,
                   rng_normal(r) * (double)(1 + i / width % 5) * (tensor->rank > 1 && i / width % 2 == 1 ? 100 : 1));
    }
}

static trial draw_trial(size_t k)
{
    const bool skip = kinds[k].kind == SKIP;
    const rmsnorm_dtype dtype = kinds[k].dtype;
    rng r = rng_seeded(k);
    trial t = trial_start(kinds[k].kind);
    fill(trial_in(&t, 0, dtype, SHAPE(kinds[k].rows, kinds[k].width), NULL), &r);
    fill(trial_in(&t, skip ? 2 : 1, dtype, SHAPE(kinds[k].width), NULL), &r);
    trial_out(&t, 0, dtype, SHAPE(kinds[k].rows, kinds[k].width));
    if (skip) {
        fill(trial_in(&t, 1, dtype, SHAPE(kinds[k].rows, kinds[k].width), NULL), &r);
        fill(trial_in(&t, 3, dtype, SHAPE(kinds[k].width), NULL), &r);
        trial_out(&t, 1, F32, SHAPE(kinds[k].rows, 1));
        trial_out(&t, 2, F32, SHAPE(kinds[k].rows, 1));
        trial_out(&t, 3, dtype, SHAPE(kinds[k].rows, kinds[k].width));
    }
    return t;
}

static void expect_same_outputs(const trial *a, const trial *b)
{
    for (int i = 0; i < 5; i++) {
        if (a->out[i].data != NULL) {
            expect_same_bits(&a->out[i], &b->out[i]);
        }
    }
}

static void spoil_outputs(trial *t)
{
    for (int i = 0; i < 5; i++) {
        if (t->out[i].data != NULL) {
            memset(t->out[i].data, 0xFF, tensor_bytes(&t->out[i]));
        }
    }
}

static void test_any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    static const size_t thread_counts[] = {1, 2, 3, 8};
    size_t largest_count = 0;
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        trial alone = draw_trial(k);
        trial together = draw_trial(k);
        trial_must_run(&alone);
        for (size_t i = 0; i < COUNT_OF(thread_counts); i++) {
            rmsnorm_pool *pool = NULL;
            assert_int_equal(rmsnorm_pool_create(thread_counts[i], &pool), RMSNORM_OK);
            together.options.runner = rmsnorm_pool_runner(pool);
            assert_int_equal(together.options.runner.concurrency, thread_counts[i]);
            spoil_outputs(&together);
            trial_must_run(&together);
            expect_same_outputs(&alone, &together);
            rmsnorm_pool_destroy(pool);

            crew own = {.threads = thread_counts[i]};
            together.options.runner = (rmsnorm_runner){run_with_crew, &own, thread_counts[i]};
            spoil_outputs(&together);
            trial_must_run(&together);
            expect_same_outputs(&alone, &together);
            largest_count = own.largest_count > largest_count ? own.largest_count : largest_count;
        }
        trial_end(&together);
        trial_end(&alone);
    }
    assert_true(largest_count > 1); /* or nothing was proved */
}

/* F3: 200 times the same call with rows of different magnitude; fewer on more threads than cores, which wait. */
static void test_repeated_calls_on_threads_give_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        size_t threads;
        int repeats;
    } rounds[] = {{1, 200}, {2, 200}, {8, 10}};
    rng r = rng_seeded(3);
    trial first = trial_start(SKIP);
    fill(trial_in(&first, 0, F16, SHAPE(64, 1024), NULL), &r);
    fill(trial_in(&first, 1, F16, SHAPE(64, 1024), NULL), &r);
    fill(trial_in(&first, 2, F16, SHAPE(1024), NULL), &r);
    fill(trial_in(&first, 3, F16, SHAPE(1024), NULL), &r);
    trial again = first;
    trial_out(&first, 0, F16, SHAPE(64, 1024));
    trial_out(&first, 3, F16, SHAPE(64, 1024));
    memset(&again.owned, 0, sizeof(again.owned));
    trial_out(&again, 0, F16, SHAPE(64, 1024));
    trial_out(&again, 3, F16, SHAPE(64, 1024));
    trial_must_run(&first);
    for (size_t i = 0; i < COUNT_OF(rounds); i++) {
        rmsnorm_pool *pool = NULL;
        assert_int_equal(rmsnorm_pool_create(rounds[i].threads, &pool), RMSNORM_OK);
        again.options.runner = rmsnorm_pool_runner(pool);
        for (int repeat = 0; repeat < rounds[i].repeats; repeat++) {
            spoil_outputs(&again);
            trial_must_run(&again);
            expect_same_outputs(&first, &again);
        }
        rmsnorm_pool_destroy(pool);
    }
    trial_end(&again);
    trial_end(&first);
}

/* ---- Many callers ---- */

#define CALLERS 64
#define CALLS_EACH 20

typedef struct caller {
    pthread_t thread;
    trial mine;
    const trial *expected;
    size_t number;
    int wrong;
} caller;

/* Good calls and refused ones in turn; each thread has its own sentence. */
static void *call_repeatedly(void *argument)
{
    caller *const c = argument;
    for (int i = 0; i < CALLS_EACH; i++) {
        char axis[32];
        spoil_outputs(&c->mine);
        c->wrong += trial_run(&c->mine) != RMSNORM_OK;
        for (int j = 0; j < 5; j++) {
            const rmsnorm_tensor *const out = &c->mine.out[j];
            c->wrong += out->data != NULL && memcmp(out->data, c->expected->out[j].data, tensor_bytes(out)) != 0;
        }
        if (c->mine.op->kind != SKIP) {
            const int64_t good = c->mine.attributes.axis;
            c->mine.attributes.axis = 1000 + (int64_t)c->number;
            c->wrong += trial_run(&c->mine) != RMSNORM_INVALID_ARGUMENT;
            (void)snprintf(axis, sizeof(axis), "%zu", 1000 + c->number);
            c->wrong += strstr(rmsnorm_last_error(), axis) == NULL;
            c->mine.attributes.axis = good;
        }
    }
    return NULL;
}

static void call_from_everywhere(rmsnorm_pool *pool)
{
    static caller callers[CALLERS];
    trial expected[COUNT_OF(kinds)];
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        expected[k] = draw_trial(k);
        trial_must_run(&expected[k]);
    }
    static const size_t light[] = {8, 9, 10, 11, 12}; /* of kinds */
    for (size_t i = 0; i < CALLERS; i++) {
        const size_t k = light[i % COUNT_OF(light)];
        callers[i] = (caller){.mine = draw_trial(k), .expected = &expected[k], .number = i};
        if (pool != NULL) {
            callers[i].mine.options.runner = rmsnorm_pool_runner(pool);
        }
    }
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call_repeatedly, &callers[i]), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    }
    for (size_t i = 0; i < CALLERS; i++) {
        assert_int_equal(callers[i].wrong, 0);
        trial_end(&callers[i].mine);
    }
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        trial_end(&expected[k]);
    }
}

static void test_64_threads_call_at_once(void **state)
{
    (void)state;
    call_from_everywhere(NULL);
}

static void test_64_threads_share_one_pool(void **state)
{
    (void)state;
    rmsnorm_pool *pool = NULL;
    assert_int_equal(rmsnorm_pool_create(3, &pool), RMSNORM_OK);
    call_from_everywhere(pool);
    rmsnorm_pool_destroy(pool);
}

static void test_a_pool_of_as_many_threads_as_cores(void **state)
{
    (void)state;
    rmsnorm_pool *pool = NULL;
    assert_int_equal(rmsnorm_pool_create(0, &pool), RMSNORM_OK);
    assert_true(rmsnorm_pool_runner(pool).concurrency >= 1);
    assert_non_null(rmsnorm_pool_runner(pool).run);
    rmsnorm_pool_destroy(pool);
    rmsnorm_pool_destroy(NULL);
    assert_null(rmsnorm_pool_runner(NULL).run);
    assert_int_equal(rmsnorm_pool_create(2, NULL), RMSNORM_INVALID_ARGUMENT);
}

static void *read_last_error(void *out)
{
    (void)snprintf(out, 64, "%s", rmsnorm_last_error());
    return NULL;
}

static void test_the_last_error_belongs_to_its_thread(void **state)
{
    (void)state;
    char elsewhere[64] = "something";
    pthread_t thread;
    assert_null(rmsnorm_operator_find("", "NoSuchOperator", 0));
    assert_int_not_equal(strlen(rmsnorm_last_error()), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_last_error, elsewhere), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_string_equal(elsewhere, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_number_of_threads_gives_the_same_bits),
        cmocka_unit_test(test_repeated_calls_on_threads_give_the_same_bits),
        cmocka_unit_test(test_64_threads_call_at_once),
        cmocka_unit_test(test_64_threads_share_one_pool),
        cmocka_unit_test(test_a_pool_of_as_many_threads_as_cores),
        cmocka_unit_test(test_the_last_error_belongs_to_its_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
