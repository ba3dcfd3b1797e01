/* Sessions: shared tensors, reuse of memory, many at once, again and again; and what is said when something is refused. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/rig.h"

static void put_skip(bytes *graph, const char *name, const char *inputs, const char *outputs)
{
    bytes node = begin_node("SkipSimplifiedLayerNormalization", "com.microsoft", inputs, outputs);
    field_text(&node, NODE_NAME, name);
    put_attribute_float(&node, "epsilon", 1e-5F);
    field_message(graph, GRAPH_NODE, &node);
}

static rmsnorm_tensor skip_of(const rmsnorm_tensor *x, const rmsnorm_tensor *skip, const rmsnorm_tensor *gamma,
                              rmsnorm_tensor *sum)
{
    const rmsnorm_operator *const op = rmsnorm_operator_find("com.microsoft", "SkipSimplifiedLayerNormalization", 0);
    rmsnorm_attributes attributes;
    rmsnorm_tensor output = {0};
    rmsnorm_attributes_init(op, &attributes);
    attributes.epsilon = 1e-5F;
    *sum = (rmsnorm_tensor){0};
    assert_int_equal(rmsnorm_run_alloc(op, &attributes, (const rmsnorm_tensor *const[]){x, skip, gamma, NULL}, 4,
                                       (rmsnorm_tensor *const[]){&output, NULL, NULL, sum}, 4, NULL),
                     RMSNORM_OK);
    return output;
}

/* Three layers, each adding to the sum of the one before: the runtime gives each its input's memory where it can. gamma is one
 * constant for all of them, the first skip another. */
static void check_layers(rig_mode mode, rmsnorm_dtype dtype)
{
    rmsnorm_tensor gamma = make_tensor(dtype, "64", 3), first = make_tensor(dtype, "2,4,64", 7);
    bytes graph = {0};
    put_skip(&graph, "a", "x first gamma", "ay - - as");
    put_skip(&graph, "b", "ay as gamma", "by - - bs");
    put_skip(&graph, "c", "by bs gamma", "cy - - cs");
    put_constant(&graph, "gamma", &gamma);
    put_constant(&graph, "first", &first);
    put_value(&graph, GRAPH_INPUT, "x", (int32_t)dtype, "B,S,64");
    put_value(&graph, GRAPH_OUTPUT, "cy", (int32_t)dtype, NULL);
    put_value(&graph, GRAPH_OUTPUT, "cs", (int32_t)dtype, NULL);
    bytes model = finish(&graph, 17, 1);
    named inputs[] = {{"x", make_tensor(dtype, "2,4,64", 1)}};
    rmsnorm_tensor sums[3], outputs[3];
    outputs[0] = skip_of(&inputs[0].tensor, &first, &gamma, &sums[0]);
    outputs[1] = skip_of(&outputs[0], &sums[0], &gamma, &sums[1]);
    outputs[2] = skip_of(&outputs[1], &sums[1], &gamma, &sums[2]);
    for (int twice = 0; twice < 2; twice++) {
        named got[] = {{.name = "cy"}, {.name = "cs"}};
        OrtSession *session;
        expect_good(rig_session(mode, &model, NULL, &session));
        for (int again = 0; again < 2; again++) {
            expect_good(rig_run(session, inputs, 1, got, 2));
            expect_same_bits(&got[0].tensor, &outputs[2]);
            expect_same_bits(&got[1].tensor, &sums[2]);
            release_results(got, 2);
        }
        ort->ReleaseSession(session);
    }
    for (int i = 0; i < 3; i++) {
        rmsnorm_tensor_release(&sums[i], NULL);
        rmsnorm_tensor_release(&outputs[i], NULL);
    }
    free(gamma.data);
    free(first.data);
    release_results(inputs, 1);
    release(&model);
}

static void layers_share_a_constant_gamma_and_memory(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
    for (size_t m = 0; m < 3; m++) {
        check_layers(modes[m], RMSNORM_FLOAT);
        check_layers(modes[m], RMSNORM_FLOAT16);
        check_layers(modes[m], RMSNORM_BFLOAT16);
    }
}

/* ---- One norm -------------------------------------------------------------------------------- */

static bytes norm_graph(const char *domain, rmsnorm_dtype dtype, int64_t stash_type, const char *dims,
                        const char *gamma_dims)
{
    bytes graph = {0};
    bytes node = begin_node("SimplifiedLayerNormalization", domain, "x gamma", "y");
    field_text(&node, NODE_NAME, "the norm");
    put_attribute_int(&node, "stash_type", stash_type);
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", (int32_t)dtype, dims);
    put_value(&graph, GRAPH_INPUT, "gamma", (int32_t)dtype, gamma_dims);
    put_value(&graph, GRAPH_OUTPUT, "y", (int32_t)dtype, NULL);
    return graph;
}

static bytes norm_model(const char *domain, rmsnorm_dtype dtype, int64_t stash_type, const char *dims,
                        const char *gamma_dims)
{
    bytes graph = norm_graph(domain, dtype, stash_type, dims, gamma_dims);
    return finish(&graph, 17, 1);
}

/* The input changes its type in between: the result may not lie where it does. */
static void a_result_of_another_type_has_its_own_memory(void **state)
{
    (void)state;
    bytes graph = {0};
    rmsnorm_tensor gamma = make_tensor(RMSNORM_BFLOAT16, "64", 3);
    bytes node = begin_node("Relu", "", "x", "r");
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("SimplifiedLayerNormalization", "", "r gamma", "y");
    field_text(&node, NODE_NAME, "the norm");
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("Cast", "", "y", "z"); /* results of the graph have memory of their own anyway */
    put_attribute_int(&node, "to", RMSNORM_FLOAT);
    field_message(&graph, GRAPH_NODE, &node);
    put_constant(&graph, "gamma", &gamma);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "4,64");
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, NULL);
    bytes model = finish(&graph, 17, 1);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "4,64", 1)}}, got[2];
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
    for (size_t m = 0; m < 3; m++) {
        got[m != 0].name = "z";
        run_model(modes[m], &model, inputs, 1, &got[m != 0], 1);
        if (m != 0) {
            expect_same_bits(&got[1].tensor, &got[0].tensor);
            release_results(&got[1], 1);
        }
    }
    free(gamma.data);
    release_results(got, 1);
    release_results(inputs, 1);
    release(&model);
}

/* An initializer that stands among the model's inputs as well is a default. */
static void a_run_may_give_another_gamma_than_the_model(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_ALONE, RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "8", 2)}};
    rmsnorm_tensor gamma = make_tensor(RMSNORM_FLOAT, "8", 3);
    bytes graph = norm_graph("", RMSNORM_FLOAT, 1, "2,8", "8");
    put_constant(&graph, "gamma", &gamma);
    bytes model = finish(&graph, 17, 1);
    named wanted[] = {{.name = "y"}, {.name = "y"}};
    for (size_t m = 0; m < 4; m++) {
        OrtSession *session;
        expect_good(rig_session(modes[m], &model, NULL, &session));
        for (size_t given = 1; given <= 2; given++) {
            named got = {.name = "y"};
            expect_good(rig_run(session, inputs, given, &got, 1));
            if (m == 0) {
                wanted[given - 1] = got;
                continue;
            }
            expect_close(&got.tensor, &wanted[given - 1].tensor, 1e-6);
            release_results(&got, 1);
        }
        ort->ReleaseSession(session);
    }
    assert_true(fabs(element_of(&wanted[0].tensor, 0) - element_of(&wanted[1].tensor, 0)) > 1e-3);
    release_results(wanted, 2);
    free(gamma.data);
    release_results(inputs, 2);
    release(&model);
}

static void refusals_name_the_node_and_what_is_allowed(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
    bytes model = norm_model("", RMSNORM_FLOAT, 1, "A,B", "C");
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "5", 2)}};
    for (size_t m = 0; m < 3; m++) {
        OrtSession *session;
        named got = {.name = "y"};
        expect_good(rig_session(modes[m], &model, NULL, &session));
        expect_status(rig_run(session, inputs, 2, &got, 1), "node \"the norm\": SimplifiedLayerNormalization: scale");
        ort->ReleaseSession(session);
    }
    release_results(inputs, 2);
    release(&model);
}

static void double_statistics_of_an_unknown_kind_stay_the_runtimes(void **state)
{
    (void)state;
    bytes model = norm_model("", RMSNORM_FLOAT, 10, "2,8", "8");
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "8", 2)}};
    named wanted = {.name = "y"}, got = {.name = "y"};
    run_model(RIG_ALONE, &model, inputs, 2, &wanted, 1);
    forget_said();
    run_model(RIG_PROVIDER, &model, inputs, 2, &got, 1);
    assert_int_equal(count_said("leaves SimplifiedLayerNormalization \"the norm\": "), count_said("rmsnorm: "));
    assert_true(count_said("stash_type") > 0);
    expect_same_bits(&got.tensor, &wanted.tensor);
    release_results(&got, 1);
    run_model(RIG_CUSTOM, &model, inputs, 2, &got, 1); /* handed on to the runtime's own kernel */
    expect_same_bits(&got.tensor, &wanted.tensor);
    release_results(&got, 1);
    release_results(&wanted, 1);
    release_results(inputs, 2);
    release(&model);
}

static void shapes_that_are_known_are_refused_all_the_same(void **state)
{
    (void)state;
    bytes model = norm_model("com.microsoft", RMSNORM_FLOAT, 1, "2,8", "5");
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "5", 2)}};
    named got = {.name = "y"};
    OrtSession *session = NULL;
    expect_good(rig_session(RIG_CUSTOM, &model, NULL, &session));
    expect_status(rig_run(session, inputs, 2, &got, 1), "node \"the norm\": SimplifiedLayerNormalization: scale");
    ort->ReleaseSession(session);
    release_results(inputs, 2);
    release(&model);
}

/* What the library does not take, and the runtime does, is the runtime's. */
static void more_dims_than_are_taken_stay_the_runtimes(void **state)
{
    (void)state;
    bytes model = norm_model("", RMSNORM_FLOAT, 1, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,A,8", "8");
    OrtSession *session;
    forget_said();
    expect_good(rig_session(RIG_PROVIDER, &model, NULL, &session));
    ort->ReleaseSession(session);
    assert_int_equal(count_said("claims"), 0);
    assert_true(count_said("leaves SimplifiedLayerNormalization \"the norm\": an input may have more than 16 dims") >
                0);
    release(&model);
}

/* A skip node of float16 whose gamma or skip is of a wrong shape: refused alike, as an input and as a constant. */
static void check_refused(rig_mode mode, const char *name, const char *dims, bool constant)
{
    const bool is_gamma = strcmp(name, "gamma") == 0;
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "1,2,8", 1)},
                      {is_gamma ? "skip" : "gamma", make_tensor(RMSNORM_FLOAT16, is_gamma ? "1,2,8" : "8", 2)},
                      {name, make_tensor(RMSNORM_FLOAT16, dims, 3)}};
    named got = {.name = "y"};
    bytes graph = {0};
    OrtSession *session;
    char wanted[128];
    put_skip(&graph, "the norm", "x skip gamma", "y");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "A,B,C");
    put_value(&graph, GRAPH_INPUT, inputs[1].name, RMSNORM_FLOAT16, is_gamma ? "A,B,C" : "C");
    if (constant) {
        put_constant(&graph, name, &inputs[2].tensor);
    } else {
        put_value(&graph, GRAPH_INPUT, name, RMSNORM_FLOAT16, is_gamma ? "G" : "D,E,F");
    }
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT16, NULL);
    bytes model = finish(&graph, 17, 1);
    snprintf(wanted, sizeof wanted, "node \"the norm\": SkipSimplifiedLayerNormalization: %s", name);
    expect_good(rig_session(mode, &model, NULL, &session));
    expect_status(rig_run(session, inputs, constant ? 2 : 3, &got, 1), wanted);
    ort->ReleaseSession(session);
    release_results(inputs, 3);
    release(&model);
}

static void shapes_are_refused_in_constants_as_well(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
    for (size_t m = 0; m < 3; m++) {
        for (int constant = 0; constant < 2; constant++) {
            check_refused(modes[m], "gamma", "7", constant != 0);
            check_refused(modes[m], "skip", "1,3,8", constant != 0);
            check_refused(modes[m], "skip", "1,0,8", constant != 0);
        }
    }
}

static void types_of_no_kernel_are_refused_by_name(void **state)
{
    (void)state;
    bytes model = norm_model("com.microsoft", RMSNORM_INT32, 1, "2,8", "8");
    OrtSession *session = NULL;
    expect_status(rig_session(RIG_CUSTOM, &model, NULL, &session), "int32");
    release(&model);
}

/* As custom operators: that statistics are double is not known before the kernel is made, unless the model says so. */
static void double_statistics_are_never_written_into_float_memory(void **state)
{
    (void)state;
    bytes graph = {0};
    bytes node = begin_node("SimplifiedLayerNormalization", "", "x gamma", "y inv");
    field_text(&node, NODE_NAME, "the norm");
    put_attribute_int(&node, "stash_type", 11);
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("Cast", "", "inv", "z");
    put_attribute_int(&node, "to", RMSNORM_FLOAT);
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_DOUBLE, "2,8");
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_DOUBLE, "8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_DOUBLE, NULL);
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, NULL);
    bytes model = finish(&graph, 17, 1);
    OrtSession *session = NULL;
    named inputs[] = {{"x", make_tensor(RMSNORM_DOUBLE, "2,8", 1)}, {"gamma", make_tensor(RMSNORM_DOUBLE, "8", 2)}};
    named wanted[] = {{.name = "y"}, {.name = "z"}}, got[] = {{.name = "y"}, {.name = "z"}};
    run_model(RIG_PROVIDER, &model, inputs, 2, wanted, 2);
    if (ort_minor >= 30) {
        run_model(RIG_CUSTOM, &model, inputs, 2, got, 2);
        expect_same_bits(&got[0].tensor, &wanted[0].tensor);
        expect_same_bits(&got[1].tensor, &wanted[1].tensor);
        release_results(got, 2);
    } else {
        expect_status(rig_session(RIG_CUSTOM, &model, NULL, &session), "inv_std_var is float; it is double");
    }
    release_results(wanted, 2);
    release_results(inputs, 2);
    release(&model);
}

/* ---- Both ways at once, and from outside ------------------------------------------------------ */

/* One tensor, handed to three sessions in place of the constant that their model has: they use it where it is. */
static void sessions_share_a_gamma(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_PROVIDER, RIG_CUSTOM};
    rmsnorm_tensor gamma = make_tensor(RMSNORM_FLOAT16, "64", 3), own = make_tensor(RMSNORM_FLOAT16, "64", 9);
    bytes graph = {0};
    put_skip(&graph, "a", "x first gamma", "y - - s");
    put_constant(&graph, "gamma", &own);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "2,4,64");
    put_value(&graph, GRAPH_INPUT, "first", RMSNORM_FLOAT16, "2,4,64");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT16, NULL);
    put_value(&graph, GRAPH_OUTPUT, "s", RMSNORM_FLOAT16, NULL);
    bytes model = finish(&graph, 17, 1);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "2,4,64", 1)},
                      {"first", make_tensor(RMSNORM_FLOAT16, "2,4,64", 2)}};
    rmsnorm_tensor sum, wanted = skip_of(&inputs[0].tensor, &inputs[1].tensor, &gamma, &sum);
    OrtMemoryInfo *memory;
    OrtSession *sessions[3];
    expect_good(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    expect_good(ort->CreateTensorWithDataAsOrtValue(memory, gamma.data, 128, gamma.dims, 1,
                                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, &rig_gamma));
    ort->ReleaseMemoryInfo(memory);
    for (int i = 0; i < 3; i++) {
        expect_good(rig_session(modes[i], &model, NULL, &sessions[i]));
    }
    for (int i = 0; i < 3; i++) { /* each goes when it has run, the others stay */
        named got[] = {{.name = "y"}, {.name = "s"}};
        expect_good(rig_run(sessions[i], inputs, 2, got, 2));
        ort->ReleaseSession(sessions[i]);
        expect_same_bits(&got[0].tensor, &wanted);
        expect_same_bits(&got[1].tensor, &sum);
        release_results(got, 2);
    }
    ort->ReleaseValue(rig_gamma);
    rig_gamma = NULL;
    rmsnorm_tensor_release(&sum, NULL);
    rmsnorm_tensor_release(&wanted, NULL);
    free(gamma.data);
    free(own.data);
    release_results(inputs, 2);
    release(&model);
}

/* The runtime takes a caller's initializer as it is, and makes the result in the type that the model says. */
static void a_shared_gamma_of_another_type_is_refused(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
    rmsnorm_tensor gamma = make_tensor(RMSNORM_FLOAT, "8", 2), wide = make_tensor(RMSNORM_DOUBLE, "8", 3);
    named x = {"x", make_tensor(RMSNORM_FLOAT, "2,8", 1)};
    bytes graph = {0};
    bytes node = begin_node("SimplifiedLayerNormalization", "", "x gamma", "y");
    field_text(&node, NODE_NAME, "the norm");
    field_message(&graph, GRAPH_NODE, &node);
    put_constant(&graph, "gamma", &gamma);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2,8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    bytes model = finish(&graph, 17, 1);
    OrtMemoryInfo *memory;
    expect_good(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory));
    expect_good(ort->CreateTensorWithDataAsOrtValue(memory, wide.data, 64, wide.dims, 1,
                                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, &rig_gamma));
    ort->ReleaseMemoryInfo(memory);
    for (size_t m = 0; m < 3; m++) {
        OrtSession *session = NULL;
        named got = {.name = "y"};
        OrtStatus *status = rig_session(modes[m], &model, NULL, &session);
        if (status == NULL) { /* what is compiled sees it as it is run */
            status = rig_run(session, &x, 1, &got, 1);
            ort->ReleaseSession(session);
        }
        expect_status(status,
                      "\"the norm\": SimplifiedLayerNormalization: scale is double; the model says that it is float");
    }
    ort->ReleaseValue(rig_gamma);
    rig_gamma = NULL;
    free(gamma.data);
    free(wide.data);
    release_results(&x, 1);
    release(&model);
}

/* The runtime's optimizers make operators of com.microsoft in models that do not import it: QuickGelu of these two. */
static void models_without_a_norm_load_as_before(void **state)
{
    (void)state;
    bytes graph = {0};
    bytes node = begin_node("Sigmoid", "", "x", "s");
    field_text(&node, NODE_NAME, "gate");
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("Mul", "", "x s", "y");
    field_text(&node, NODE_NAME, "gated");
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2,8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "2,8");
    bytes model = finish(&graph, 17, 0);
    OrtSession *session = NULL;
    expect_good(rig_session(RIG_PROVIDER, &model, NULL, &session));
    ort->ReleaseSession(session);
    release(&model);
}

static void both_ways_at_once_are_taken(void **state)
{
    (void)state;
    bytes model = norm_model("", RMSNORM_FLOAT16, 1, "2,8", "8");
    OrtSession *session = NULL;
    expect_good(rig_session(RIG_BOTH, &model, NULL, &session));
    ort->ReleaseSession(session);
    release(&model);
}

/* Made, run, refused, released. */
static void live(const bytes *model, const bytes *refused, const named *inputs, rig_mode mode)
{
    OrtSession *session = NULL;
    named got = {.name = "y"};
    run_model(mode, model, inputs, 2, &got, 1);
    release_results(&got, 1);
    expect_good(rig_session(mode, refused, NULL, &session));
    OrtStatus *const status = rig_run(session, inputs, 2, &got, 1);
    assert_non_null(status);
    ort->ReleaseStatus(status);
    ort->ReleaseSession(session);
    forget_said();
}

/* The preset asan looks for what is left behind. */
static void sessions_come_and_go(void **state)
{
    (void)state;
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED, RIG_CUSTOM};
    bytes model = norm_model("", RMSNORM_FLOAT16, 1, "A,B", "C");
    bytes refused = norm_model("", RMSNORM_FLOAT16, 1, "A,B,D", "C");
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "2,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT16, "8", 2)}};
    for (size_t i = 0; i < 60; i++) {
        live(&model, &refused, inputs, modes[i % 3]);
    }
    release_results(inputs, 2);
    release(&model);
    release(&refused);
}

typedef struct worker {
    OrtSession *session;
    const named *inputs;
    const rmsnorm_tensor *wanted;
    bool same;
} worker;

static void *work(void *user)
{
    worker *const w = user;
    w->same = true;
    for (int i = 0; i < 20; i++) {
        named got = {.name = "y"};
        OrtStatus *const status = rig_run(w->session, w->inputs, 2, &got, 1);
        const size_t size = (size_t)rmsnorm_tensor_count(w->wanted) * rmsnorm_dtype_size(w->wanted->dtype);
        w->same = w->same && status == NULL && memcmp(got.tensor.data, w->wanted->data, size) == 0;
        free(got.tensor.data);
    }
    return NULL;
}

static void many_runs_at_once_give_the_same_bits(void **state)
{
    (void)state;
    enum { WORKERS = 4 };
    bytes model = norm_model("", RMSNORM_BFLOAT16, 1, "R,4096", "4096");
    named inputs[] = {{"x", make_tensor(RMSNORM_BFLOAT16, "96,4096", 1)},
                      {"gamma", make_tensor(RMSNORM_BFLOAT16, "4096", 2)}};
    named wanted = {.name = "y"};
    OrtSession *session;
    expect_good(rig_session(RIG_PROVIDER, &model, NULL, &session));
    expect_good(rig_run(session, inputs, 2, &wanted, 1));
    pthread_t threads[WORKERS];
    worker workers[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (worker){session, inputs, &wanted.tensor, false};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(workers[i].same);
    }
    ort->ReleaseSession(session);
    release_results(&wanted, 1);
    release_results(inputs, 2);
    release(&model);
}

/* ---- Memory of the caller's -------------------------------------------------------------------- */

static OrtValue *value_at(float *data, int64_t rows, int64_t size)
{
    OrtMemoryInfo *memory;
    OrtValue *value;
    const int64_t dims[] = {rows, size};
    expect_good(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    expect_good(ort->CreateTensorWithDataAsOrtValue(memory, data, (size_t)(rows * size) * sizeof *data, dims, 2,
                                                    ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    ort->ReleaseMemoryInfo(memory);
    return value;
}

/* y = norm(x + skip), where x has x_rows rows, skip and y have `rows`; y lies `offset` elements after skip. */
static OrtStatus *run_at(OrtSession *session, float *data, int64_t x_rows, int64_t rows, int64_t size, int64_t offset)
{
    static const char *const names[] = {"x", "skip", "y"};
    OrtValue *values[] = {value_at(data, x_rows, size), value_at(data + 2 * rows * size, rows, size),
                          value_at(data + 2 * rows * size + offset, rows, size)};
    OrtStatus *const status =
        ort->Run(session, NULL, names, (const OrtValue *const *)values, 2, names + 2, 1, values + 2);
    for (size_t i = 0; i < 3; i++) {
        ort->ReleaseValue(values[i]);
    }
    return status;
}

static bytes skip_model(bool fused)
{
    rmsnorm_tensor gamma = make_tensor(RMSNORM_FLOAT, "4096", 3);
    bytes graph = {0};
    if (fused) {
        bytes node = begin_node("Add", "", "x skip", "sum");
        field_message(&graph, GRAPH_NODE, &node);
        node = begin_node("SimplifiedLayerNormalization", "", "sum gamma", "y");
        field_message(&graph, GRAPH_NODE, &node);
    } else {
        put_skip(&graph, "the norm", "x skip gamma", "y");
    }
    put_constant(&graph, "gamma", &gamma);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "S,4096");
    put_value(&graph, GRAPH_INPUT, "skip", RMSNORM_FLOAT, "S,4096");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    free(gamma.data);
    return finish(&graph, 17, 1);
}

static void check_bound(rig_mode mode, bool fused, int64_t x_rows, int64_t rows)
{
    enum { HIDDEN = 4096 };
    bytes model = skip_model(fused);
    const size_t count = (size_t)(rows * HIDDEN);
    rmsnorm_tensor memory = {.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {4 * rows * HIDDEN}};
    float *const data = memory.data = malloc(4 * count * sizeof(float));
    float *const before = malloc(4 * count * sizeof(float));
    assert_non_null(data);
    assert_non_null(before);
    fill_tensor(&memory, 7);
    memcpy(before, data, 4 * count * sizeof(float));
    OrtSession *session;
    expect_good(rig_session(mode, &model, NULL, &session));
    static const int64_t offsets[] = {1, -1, HIDDEN / 2, 4 - HIDDEN};
    for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++) {
        expect_status(run_at(session, data, x_rows, rows, HIDDEN, offsets[i]), "overlaps");
        assert_memory_equal(data, before, 4 * count * sizeof(float)); /* nothing is written */
    }
    expect_good(run_at(session, data, x_rows, rows, HIDDEN, (int64_t)count)); /* apart */
    assert_memory_equal(data, before, 3 * count * sizeof(float));
    if (x_rows == rows) {
        expect_good(run_at(session, data, x_rows, rows, HIDDEN, 0)); /* where skip lies */
        assert_memory_equal(data + 2 * count, data + 3 * count, count * sizeof(float));
    }
    ort->ReleaseSession(session);
    free(data);
    free(before);
    release(&model);
}

static void results_lie_apart_or_where_an_input_lies(void **state)
{
    (void)state;
    for (int64_t rows = 2; rows <= 64; rows *= 32) { /* in the calling thread, and in the pool */
        check_bound(RIG_PROVIDER, false, rows, rows);
        check_bound(RIG_COMPILED, false, rows, rows);
        check_bound(RIG_CUSTOM, false, rows, rows);
        check_bound(RIG_PROVIDER, true, rows, rows);
        check_bound(RIG_PROVIDER, true, 1, rows);
    }
}

/* ---- The model that the runtime saves --------------------------------------------------------- */

static void the_optimized_model_can_be_saved(void **state)
{
    (void)state;
    char path[] = "/tmp/rmsnorm-plugin-XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    bytes model = norm_model("", RMSNORM_FLOAT, 1, "2,8", "8");
    OrtSession *session;
    rig_save_to = path;
    OrtStatus *const status = rig_session(RIG_PROVIDER, &model, NULL, &session);
    rig_save_to = NULL;
    if (ort_minor < 24) { /* where everything is compiled */
        expect_status(status, "contains compiled nodes");
        release(&model);
        assert_int_equal(unlink(path), 0);
        return;
    }
    expect_good(status);
    ort->ReleaseSession(session);
    bytes saved = load(path);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "8", 2)}};
    named wanted = {.name = "y"}, got = {.name = "y"};
    run_model(RIG_ALONE, &model, inputs, 2, &wanted, 1);
    run_model(RIG_ALONE, &saved, inputs, 2, &got, 1);
    expect_same_bits(&got.tensor, &wanted.tensor);
    release_results(&wanted, 1);
    release_results(&got, 1);
    release_results(inputs, 2);
    release(&model);
    release(&saved);
    assert_int_equal(unlink(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_share_a_constant_gamma_and_memory),
        cmocka_unit_test(a_result_of_another_type_has_its_own_memory),
        cmocka_unit_test(a_run_may_give_another_gamma_than_the_model),
        cmocka_unit_test(refusals_name_the_node_and_what_is_allowed),
        cmocka_unit_test(double_statistics_of_an_unknown_kind_stay_the_runtimes),
        cmocka_unit_test(shapes_that_are_known_are_refused_all_the_same),
        cmocka_unit_test(more_dims_than_are_taken_stay_the_runtimes),
        cmocka_unit_test(shapes_are_refused_in_constants_as_well),
        cmocka_unit_test(types_of_no_kernel_are_refused_by_name),
        cmocka_unit_test(double_statistics_are_never_written_into_float_memory),
        cmocka_unit_test(sessions_share_a_gamma),
        cmocka_unit_test(a_shared_gamma_of_another_type_is_refused),
        cmocka_unit_test(models_without_a_norm_load_as_before),
        cmocka_unit_test(both_ways_at_once_are_taken),
        cmocka_unit_test(sessions_come_and_go),
        cmocka_unit_test(many_runs_at_once_give_the_same_bits),
        cmocka_unit_test(results_lie_apart_or_where_an_input_lies),
        cmocka_unit_test(the_optimized_model_can_be_saved),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
