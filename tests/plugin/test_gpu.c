/* Behind a provider for a GPU the plug-in takes what that one leaves. */
#include <stdio.h>
#include <stdlib.h>

#include "plugin/rig.h"

static bytes two_norms(void)
{
    bytes graph = {0};
    bytes node = begin_node("SimplifiedLayerNormalization", "", "x gamma", "y");
    field_text(&node, NODE_NAME, "single");
    field_message(&graph, GRAPH_NODE, &node);
    node = begin_node("SimplifiedLayerNormalization", "", "w delta", "z");
    field_text(&node, NODE_NAME, "double");
    field_message(&graph, GRAPH_NODE, &node);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "4,64");
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, "64");
    put_value(&graph, GRAPH_INPUT, "w", RMSNORM_DOUBLE, "4,64");
    put_value(&graph, GRAPH_INPUT, "delta", RMSNORM_DOUBLE, "64");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_DOUBLE, NULL);
    return finish(&graph, 17, 0);
}

static void nothing_is_taken_from_a_gpu(void **state)
{
    (void)state;
    bytes model = two_norms();
    OrtSession *session = NULL;
    forget_said();
    OrtStatus *const status = rig_session(RIG_AFTER_GPU, &model, NULL, &session);
    if (status != NULL) {
        print_message("not run: no WebGPU provider: %s\n", ort->GetErrorMessage(status));
        ort->ReleaseStatus(status);
        release(&model);
        skip();
    }
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "4,64", 1)},
                      {"gamma", make_tensor(RMSNORM_FLOAT, "64", 2)},
                      {"w", make_tensor(RMSNORM_DOUBLE, "4,64", 3)},
                      {"delta", make_tensor(RMSNORM_DOUBLE, "64", 4)}};
    named got[] = {{.name = "y"}, {.name = "z"}}, wanted[] = {{.name = "y"}, {.name = "z"}};
    assert_int_equal(count_said("claims SimplifiedLayerNormalization \"single\""), 0);
    assert_true(count_said("leaves SimplifiedLayerNormalization \"single\": WebGpuExecutionProvider has it") > 0);
    assert_true(count_said("claims SimplifiedLayerNormalization \"double\"") > 0);
    expect_good(rig_run(session, inputs, 4, got, 2));
    ort->ReleaseSession(session);
    run_model(RIG_PROVIDER, &model, inputs, 4, wanted, 2);
    expect_close(&got[0].tensor, &wanted[0].tensor, 1e-4);
    expect_same_bits(&got[1].tensor, &wanted[1].tensor);
    release_results(got, 2);
    release_results(wanted, 2);
    release_results(inputs, 4);
    release(&model);
}

/* A provider for a GPU looks for kernels by the names of types that the runtime's own schemas have. */
static void custom_operators_go_together_with_a_gpu(void **state)
{
    (void)state;
    static const struct {
        const char *domain, *type, *inputs;
        int64_t opset;
    } norms[] = {{"", "SimplifiedLayerNormalization", "x gamma", 17},
                 {"com.microsoft", "SkipSimplifiedLayerNormalization", "x x gamma", 17},
                 {"", "RMSNormalization", "x gamma", 23}};
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "4,64", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "64", 2)}};
    for (size_t i = 0; i < 3; i++) {
        bytes graph = {0}, model = {0};
        bytes node = begin_node(norms[i].type, norms[i].domain, norms[i].inputs, "y");
        put_attribute_float(&node, "epsilon", 1e-5F);
        field_message(&graph, GRAPH_NODE, &node);
        put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "4,64");
        put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, "64");
        put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
        field_text(&graph, GRAPH_NAME, "main");
        field_varint(&model, MODEL_IR, 10);
        put_opset(&model, NULL, norms[i].opset);
        put_opset(&model, "com.microsoft", 1);
        field_message(&model, MODEL_GRAPH, &graph);
        OrtSessionOptions *options;
        OrtSession *session = NULL;
        expect_good(ort->CreateSessionOptions(&options));
        OrtStatus *const status = ort->SessionOptionsAppendExecutionProvider(options, "WebGPU", NULL, NULL, 0);
        if (status != NULL) {
            print_message("not run: no WebGPU provider: %s\n", ort->GetErrorMessage(status));
            ort->ReleaseStatus(status);
            skip();
        }
        expect_good(ort->RegisterCustomOpsLibrary_V2(options, PLUGIN_LIBRARY));
        expect_good(ort->CreateSessionFromArray(env, model.data, model.size, options, &session));
        ort->ReleaseSessionOptions(options);
        named got = {.name = "y"}, wanted = {.name = "y"};
        expect_good(rig_run(session, inputs, 2, &got, 1));
        ort->ReleaseSession(session);
        run_model(RIG_CUSTOM, &model, inputs, 2, &wanted, 1);
        expect_same_bits(&got.tensor, &wanted.tensor);
        release_results(&got, 1);
        release_results(&wanted, 1);
        release(&model);
    }
    release_results(inputs, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_taken_from_a_gpu),
                                       cmocka_unit_test(custom_operators_go_together_with_a_gpu)};
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
