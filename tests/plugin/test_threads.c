/* Threads: how work is cut for the session's pool, that it does not show in the bits, and many runs at once. The preset tsan looks on. */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/rig.h"

/* What the runtime does with threads ThreadSanitizer does not see, as the runtime is built without it, but where tasks are counted. */
#ifdef __SANITIZE_THREAD__
static const rig_mode modes[] = {RIG_COMPILED, RIG_COMPILED, RIG_COMPILED};
#else
static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
#endif

static bytes norm_model(rmsnorm_dtype dtype, const char *gamma_dims, const rmsnorm_tensor *gamma)
{
    bytes graph = {0};
    bytes node = begin_node("SimplifiedLayerNormalization", "", "x gamma", "y");
    field_text(&node, NODE_NAME, "the norm");
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", (int32_t)dtype, "R,H");
    if (gamma != NULL) {
        put_constant(&graph, "gamma", gamma);
    } else {
        put_value(&graph, GRAPH_INPUT, "gamma", (int32_t)dtype, gamma_dims);
    }
    put_value(&graph, GRAPH_OUTPUT, "y", (int32_t)dtype, NULL);
    return finish(&graph, 17, 1);
}

static rmsnorm_tensor norm_of(const rmsnorm_tensor *x, const rmsnorm_tensor *gamma)
{
    const rmsnorm_operator *const op = rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0);
    rmsnorm_attributes attributes;
    rmsnorm_tensor output = {0};
    rmsnorm_attributes_init(op, &attributes);
    assert_int_equal(rmsnorm_run_alloc(op, &attributes, (const rmsnorm_tensor *const[]){x, gamma}, 2,
                                       (rmsnorm_tensor *const[]){&output}, 1, NULL),
                     RMSNORM_OK);
    return output;
}

/* ---- The pool of the next session: its size, and the threads that were made for it --------------- */

static int pool_size = 1;
static int threads_made;

typedef struct made_thread {
    struct OrtCustomHandleType handle; /* first: it is what the runtime knows */
    pthread_t thread;
    OrtThreadWorkerFn work;
    void *user;
} made_thread;

static void *start_thread(void *user)
{
    const made_thread *const made = user;
    made->work(made->user);
    return NULL;
}

static OrtCustomThreadHandle make_thread(void *options, OrtThreadWorkerFn work, void *user)
{
    (void)options;
    made_thread *const made = malloc(sizeof *made);
    if (made == NULL) {
        abort();
    }
    made->work = work;
    made->user = user;
    if (pthread_create(&made->thread, NULL, start_thread, made) != 0) {
        abort();
    }
    threads_made++;
    return &made->handle;
}

static void join_thread(OrtCustomThreadHandle handle)
{
    made_thread *const made = (made_thread *)handle;
    (void)pthread_join(made->thread, NULL);
    free(made);
}

static void make_pool(OrtSessionOptions *options)
{
    threads_made = 0;
    expect_good(ort->SetIntraOpNumThreads(options, pool_size));
    expect_good(ort->SessionOptionsSetCustomCreateThreadFn(options, make_thread));
    expect_good(ort->SessionOptionsSetCustomJoinThreadFn(options, join_thread));
}

/* ---- How work is cut ------------------------------------------------------------------------- */

/* Tasks that a run of x was cut into; 0: it stayed in its thread. */
static size_t tasks_of(const char *option, const char *dims, const char *gamma_dims)
{
    bytes model = norm_model(RMSNORM_FLOAT, gamma_dims, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, dims, 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, gamma_dims, 2)}};
    named got = {.name = "y"};
    rmsnorm_tensor wanted = norm_of(&inputs[0].tensor, &inputs[1].tensor);
    size_t calls, tasks;
    OrtSession *session;
    expect_good(rig_session(RIG_COMPILED, &model, option, &session));
    rig_handed(&calls, &tasks);
    expect_good(rig_run(session, inputs, 2, &got, 1));
    rig_handed(&calls, &tasks);
    assert_true(calls == (tasks != 0 ? 1 : 0));
    ort->ReleaseSession(session);
    expect_same_bits(&got.tensor, &wanted);
    rmsnorm_tensor_release(&wanted, NULL);
    release_results(&got, 1);
    release_results(inputs, 2);
    release(&model);
    return tasks;
}

/* Four for each thread that `threads` says, of 32768 elements at least. */
static void work_is_cut_as_the_option_says(void **state)
{
    (void)state;
    const size_t cores = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    assert_int_equal(tasks_of("threads=1", "128,8192", "8192"), 0);
    assert_int_equal(tasks_of("threads=2", "128,8192", "8192"), 8);
    assert_int_equal(tasks_of("threads=3", "128,8192", "8192"), 12);
    assert_int_equal(tasks_of("threads=4", "128,8192", "8192"), 16);
    assert_int_equal(tasks_of("threads=4", "64,4096", "4096"), 8);
    if (cores > 1 && cores <= 8) {
        assert_int_equal(tasks_of("threads=0", "128,8192", "8192"), 4 * cores);
    }
}

static void small_work_stays_in_its_thread(void **state)
{
    (void)state;
    assert_int_equal(tasks_of("threads=4", "31,4096", "4096"), 0);
    assert_int_equal(tasks_of("threads=4", "32,4096", "4096"), 4); /* the first that does not: 131072 elements */
    assert_int_equal(tasks_of("threads=4", "1,8", "8"), 0);
}

/* Fewer rows than threads: a row is cut as well. */
static void bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    static const char *const dims[] = {"96,4096", "1,1048576", "3,65537"}, *const gammas[] = {"4096", "1048576",
                                                                                              "65537"};
    for (size_t i = 0; i < 3; i++) {
        bytes model = norm_model(RMSNORM_FLOAT16, gammas[i], NULL);
        named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, dims[i], 1)},
                          {"gamma", make_tensor(RMSNORM_FLOAT16, gammas[i], 2)}};
        rmsnorm_tensor wanted = norm_of(&inputs[0].tensor, &inputs[1].tensor);
        for (int run = 0; run < 12; run++) {
            const rig_mode mode = modes[run % 3];
            char option[16];
            named got = {.name = "y"};
            OrtSession *session;
            pool_size = 1 + run / 3;
            snprintf(option, sizeof option, "threads=%d", pool_size);
            rig_prepare = make_pool;
            expect_good(rig_session(mode, &model, mode == RIG_CUSTOM ? NULL : option, &session));
            rig_prepare = NULL;
            expect_good(rig_run(session, inputs, 2, &got, 1));
            assert_int_equal(threads_made, pool_size - 1); /* the runtime's; the plug-in has none of its own */
            ort->ReleaseSession(session);
            expect_same_bits(&got.tensor, &wanted);
            release_results(&got, 1);
        }
        rmsnorm_tensor_release(&wanted, NULL);
        release_results(inputs, 2);
        release(&model);
    }
}

/* ---- Many at once ---------------------------------------------------------------------------- */

enum { WORKERS = 4, SESSIONS = 3, RUNS = 30 };

typedef struct worker {
    OrtSession **sessions;
    const named *inputs; /* a large one, and a small one */
    const rmsnorm_tensor *wanted;
    size_t first;
    bool same;
} worker;

static void *run_all(void *user)
{
    worker *const w = user;
    w->same = true;
    for (size_t i = 0; i < RUNS; i++) {
        const size_t which = i % 2;
        named got = {.name = "y"};
        OrtStatus *const status = rig_run(w->sessions[(w->first + i) % SESSIONS], &w->inputs[which], 1, &got, 1);
        const rmsnorm_tensor *const wanted = &w->wanted[which];
        const size_t size = (size_t)rmsnorm_tensor_count(wanted) * rmsnorm_dtype_size(wanted->dtype);
        w->same = w->same && status == NULL && memcmp(got.tensor.data, wanted->data, size) == 0;
        free(got.tensor.data);
    }
    return NULL;
}

/* Every thread runs every session, on the pools and in its own thread; gamma is one tensor for all of them. */
static void check_many(rig_mode mode)
{
    rmsnorm_tensor gamma = make_tensor(RMSNORM_FLOAT, "1024", 3), own = make_tensor(RMSNORM_FLOAT, "1024", 9);
    bytes model = norm_model(RMSNORM_FLOAT, "1024", &own);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "160,1024", 1)}, {"x", make_tensor(RMSNORM_FLOAT, "5,1024", 2)}};
    rmsnorm_tensor wanted[] = {norm_of(&inputs[0].tensor, &gamma), norm_of(&inputs[1].tensor, &gamma)};
    OrtSession *sessions[SESSIONS];
    OrtMemoryInfo *memory;
    expect_good(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    expect_good(ort->CreateTensorWithDataAsOrtValue(memory, gamma.data, 4096, gamma.dims, 1,
                                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &rig_gamma));
    ort->ReleaseMemoryInfo(memory);
    for (size_t i = 0; i < SESSIONS; i++) {
        expect_good(rig_session(mode, &model, "threads=2", &sessions[i]));
    }
    pthread_t threads[WORKERS];
    worker workers[WORKERS];
    for (size_t i = 0; i < WORKERS; i++) {
        workers[i] = (worker){sessions, inputs, wanted, i, false};
        assert_int_equal(pthread_create(&threads[i], NULL, run_all, &workers[i]), 0);
    }
    for (size_t i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(workers[i].same);
    }
    for (size_t i = 0; i < SESSIONS; i++) {
        ort->ReleaseSession(sessions[i]);
    }
    ort->ReleaseValue(rig_gamma);
    rig_gamma = NULL;
    for (size_t i = 0; i < 2; i++) {
        rmsnorm_tensor_release(&wanted[i], NULL);
    }
    release_results(inputs, 2);
    free(gamma.data);
    free(own.data);
    release(&model);
}

static void many_runs_of_sessions_that_share_a_gamma(void **state)
{
    (void)state;
    size_t calls, tasks;
    rig_handed(&calls, &tasks);
    check_many(RIG_COMPILED);
    rig_handed(&calls, &tasks);
    assert_int_equal(calls, WORKERS * RUNS / 2);
    check_many(modes[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_cut_as_the_option_says),
        cmocka_unit_test(small_work_stays_in_its_thread),
        cmocka_unit_test(bits_do_not_depend_on_threads),
        cmocka_unit_test(many_runs_of_sessions_that_share_a_gamma),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
