/* Where results lie: in their input's memory, where nothing else needs it. Seen by an allocator that the runtime's sessions are given. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/rig.h"

/* One tensor of these tests, which no other block of the runtime is as large as. */
#define DIMS "7,1031"
enum { TENSOR_BYTES = 7 * 1031 * 4, ALIGNMENT = 256 };

/* ---- An allocator that counts ---------------------------------------------------------------- */

static atomic_size_t blocks;
static OrtMemoryInfo *memory_info;

static void *ORT_API_CALL allocate(OrtAllocator *self, size_t size)
{
    (void)self;
    if (size >= TENSOR_BYTES && size < TENSOR_BYTES + ALIGNMENT) {
        atomic_fetch_add(&blocks, 1);
    }
    return aligned_alloc(ALIGNMENT, (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static void ORT_API_CALL release_block(OrtAllocator *self, void *block)
{
    (void)self;
    free(block);
}

static const OrtMemoryInfo *ORT_API_CALL describe(const OrtAllocator *self)
{
    (void)self;
    return memory_info;
}

static OrtAllocator counting = {
    .version = ORT_API_VERSION, .Alloc = allocate, .Free = release_block, .Info = describe, .Reserve = allocate};

static void use_counting(OrtSessionOptions *options)
{
    expect_good(ort->AddSessionConfigEntry(options, "session.use_env_allocators", "1"));
    expect_good(ort->DisableMemPattern(options)); /* which makes one block of many */
}

static int open_counting(void **state)
{
    if (rig_open(state) != 0) {
        return -1;
    }
    expect_good(ort->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &memory_info));
    expect_good(ort->RegisterAllocator(env, &counting));
    rig_prepare = use_counting;
    return 0;
}

static int close_counting(void **state)
{
    rig_prepare = NULL;
    expect_good(ort->UnregisterAllocator(env, memory_info));
    ort->ReleaseMemoryInfo(memory_info);
    return rig_close(state);
}

/* ---- Models ---------------------------------------------------------------------------------- */

static void put_node(bytes *graph, const char *type, const char *domain, const char *inputs, const char *outputs)
{
    bytes node = begin_node(type, domain, inputs, outputs);
    field_text(&node, NODE_NAME, outputs);
    field_message(graph, GRAPH_NODE, &node);
}

static bytes with_gamma(bytes *graph)
{
    rmsnorm_tensor gamma = make_tensor(RMSNORM_FLOAT, "1031", 3);
    put_constant(graph, "gamma", &gamma);
    free(gamma.data);
    return finish(graph, 23, 1);
}

/* Blocks of a tensor's size that a run takes, which stays the same from the second run on. */
static size_t blocks_of(rig_mode mode, const bytes *model, const char *const *names, size_t input_count,
                        size_t output_count)
{
    named inputs[2], outputs[2];
    OrtSession *session;
    size_t taken = 0;
    for (size_t i = 0; i < input_count; i++) {
        inputs[i] = (named){names[i], make_tensor(RMSNORM_FLOAT, DIMS, (uint32_t)i + 1U)};
    }
    for (size_t i = 0; i < output_count; i++) {
        outputs[i].name = names[input_count + i];
    }
    expect_good(rig_session(mode, model, NULL, &session));
    for (int twice = 0; twice < 2; twice++) {
        atomic_store(&blocks, 0);
        expect_good(rig_run(session, inputs, input_count, outputs, output_count));
        taken = atomic_load(&blocks);
        release_results(outputs, output_count);
    }
    ort->ReleaseSession(session);
    release_results(inputs, input_count);
    return taken;
}

/* ---- The tests ------------------------------------------------------------------------------- */

/* Two norms in the memory of what the first is given: there are that block and the result's. What is compiled tells the runtime of no
 * such memory: it takes one block more, which shows that the count would see it. */
static void check_chain(const char *type)
{
    bytes graph = {0};
    put_node(&graph, "Abs", "", "x", "r");
    put_node(&graph, type, "", "r gamma", "a");
    put_node(&graph, type, "", "a gamma", "b");
    put_node(&graph, "Sin", "", "b", "z");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, DIMS);
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, DIMS);
    bytes model = with_gamma(&graph);
    static const char *const names[] = {"x", "z"};
    assert_int_equal(blocks_of(RIG_COMPILED, &model, names, 1, 1), 3);
    if (ort_minor >= 24) {
        assert_int_equal(blocks_of(RIG_PROVIDER, &model, names, 1, 1), 2);
    }
    release(&model);
}

static void norms_in_a_row_work_in_one_place(void **state)
{
    (void)state;
    check_chain("SimplifiedLayerNormalization");
    check_chain("RMSNormalization");
}

/* The result and the sum lie where input and skip lay. */
static void both_results_of_skip_lie_where_its_inputs_did(void **state)
{
    (void)state;
    bytes graph = {0};
    put_node(&graph, "Abs", "", "x", "r");
    put_node(&graph, "Abs", "", "w", "t");
    put_node(&graph, "SkipSimplifiedLayerNormalization", "com.microsoft", "r t gamma", "a - - s");
    put_node(&graph, "Sin", "", "a", "z");
    put_node(&graph, "Sin", "", "s", "u");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, DIMS);
    put_value(&graph, GRAPH_INPUT, "w", RMSNORM_FLOAT, DIMS);
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, DIMS);
    put_value(&graph, GRAPH_OUTPUT, "u", RMSNORM_FLOAT, DIMS);
    bytes model = with_gamma(&graph);
    static const char *const names[] = {"x", "w", "z", "u"};
    assert_int_equal(blocks_of(RIG_COMPILED, &model, names, 2, 2), 6);
    if (ort_minor >= 24) {
        assert_int_equal(blocks_of(RIG_PROVIDER, &model, names, 2, 2), 4);
    }
    release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norms_in_a_row_work_in_one_place),
        cmocka_unit_test(both_results_of_skip_lie_where_its_inputs_did),
    };
    return cmocka_run_group_tests(tests, open_counting, close_counting);
}
