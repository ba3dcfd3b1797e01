/* Every operator, type, axis, broadcast and optional output: the bits of rmsnorm_run, whichever way the plug-in is used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/rig.h"

/* One node and its tensors. */
typedef struct node_case {
    const char *domain, *type;
    rmsnorm_dtype input, scale;
    const char *input_dims, *scale_dims, *skip_dims;
    int64_t axis; /* of the two operators that have one */
    int64_t stash_type;
    bool bias;
    unsigned outputs; /* bits of slots */
    int64_t opset;
} node_case;

static const rmsnorm_operator *operator_of(const node_case *c)
{
    const rmsnorm_operator *const op = rmsnorm_operator_find(c->domain, c->type, 0);
    assert_non_null(op);
    return op;
}

static bool is_skip(const node_case *c)
{
    return operator_of(c)->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
}

static const char *const output_names[] = {"o0", "o1", "o2", "o3"};

static size_t make_inputs(const node_case *c, named inputs[4])
{
    size_t count = 0;
    inputs[count++] = (named){"x", make_tensor(c->input, c->input_dims, 1)};
    if (is_skip(c)) {
        inputs[count++] = (named){"skip", make_tensor(c->input, c->skip_dims, 2)};
    }
    inputs[count++] = (named){"gamma", make_tensor(c->scale, c->scale_dims, 3)};
    if (c->bias) {
        inputs[count++] = (named){"bias", make_tensor(c->input, c->scale_dims, 4)};
    }
    return count;
}

static bytes make_model(const node_case *c, const named *inputs, size_t count)
{
    bytes graph = {0}, model = {0};
    char list[2][64] = {"", ""};
    const rmsnorm_operator *const op = operator_of(c);
    for (size_t i = 0; i < count; i++) {
        snprintf(list[0] + strlen(list[0]), 32, "%s%s", i == 0 ? "" : " ", inputs[i].name);
    }
    size_t last = 0;
    for (size_t i = 0; i < 4; i++) {
        last = (c->outputs >> i & 1) != 0 ? i : last;
    }
    for (size_t i = 0; i <= last; i++) {
        snprintf(list[1] + strlen(list[1]), 32, "%s%s", i == 0 ? "" : " ",
                 (c->outputs >> i & 1) != 0 ? output_names[i] : "-");
    }
    field_text(&graph, GRAPH_NAME, "main");
    bytes node = begin_node(c->type, c->domain, list[0], list[1]);
    field_text(&node, NODE_NAME, "the norm");
    put_attribute_float(&node, "epsilon", 1e-5F);
    if (op->kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
        put_attribute_int(&node, "axis", c->axis);
        put_attribute_int(&node, "stash_type", c->stash_type);
    }
    field_message(&graph, GRAPH_NODE, &node);
    for (size_t i = 0; i < count; i++) {
        char dims[64] = "";
        for (int32_t d = 0; d < inputs[i].tensor.rank; d++) {
            snprintf(dims + strlen(dims), 24, "%s%lld", d == 0 ? "" : ",", (long long)inputs[i].tensor.dims[d]);
        }
        put_value(&graph, GRAPH_INPUT, inputs[i].name, (int32_t)inputs[i].tensor.dtype, dims);
    }
    for (size_t i = 0; i < 4; i++) {
        const bool statistic = i == 1 || (i == 2 && is_skip(c));
        const rmsnorm_dtype type =
            statistic ? (c->stash_type == 11 ? RMSNORM_DOUBLE : RMSNORM_FLOAT) : (is_skip(c) ? c->input : c->scale);
        if ((c->outputs >> i & 1) != 0) {
            put_value(&graph, GRAPH_OUTPUT, output_names[i], (int32_t)type, NULL);
        }
    }
    field_varint(&model, MODEL_IR, 10);
    put_opset(&model, NULL, c->opset);
    put_opset(&model, "com.microsoft", 1);
    field_message(&model, MODEL_GRAPH, &graph);
    return model;
}

/* The library's own call. */
static void compute(const node_case *c, const named *inputs, size_t count, rmsnorm_tensor outputs[4])
{
    const rmsnorm_operator *const op = operator_of(c);
    rmsnorm_attributes attributes;
    rmsnorm_attributes_init(op, &attributes);
    attributes.epsilon = 1e-5F;
    attributes.axis = c->axis;
    attributes.stash_type = c->stash_type;
    const rmsnorm_tensor *given[4] = {NULL};
    rmsnorm_tensor *wanted[4] = {NULL};
    for (size_t i = 0; i < count; i++) {
        given[i] = &inputs[i].tensor;
    }
    for (size_t i = 0; i < 4; i++) {
        outputs[i] = (rmsnorm_tensor){0};
        wanted[i] = (c->outputs >> i & 1) != 0 ? &outputs[i] : NULL;
    }
    if (rmsnorm_run_alloc(op, &attributes, given, count, wanted, op->output_count, NULL) != RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
}

static void check_case(rig_mode mode, const node_case *c)
{
    named inputs[4], outputs[4];
    rmsnorm_tensor wanted[4];
    size_t count = 0;
    const size_t input_count = make_inputs(c, inputs);
    bytes model = make_model(c, inputs, input_count);
    for (size_t i = 0; i < 4; i++) {
        if ((c->outputs >> i & 1) != 0) {
            outputs[count++].name = output_names[i];
        }
    }
    compute(c, inputs, input_count, wanted);
    forget_said();
    run_model(mode, &model, inputs, input_count, outputs, count);
    if (mode != RIG_CUSTOM && count_said("claims") == 0) {
        fail_msg("not claimed: %s %s", c->type, said());
    }
    for (size_t i = 0, at = 0; i < 4; i++) {
        if ((c->outputs >> i & 1) != 0) {
            expect_same_bits(&outputs[at++].tensor, &wanted[i]);
            rmsnorm_tensor_release(&wanted[i], NULL);
        }
    }
    release_results(outputs, count);
    release_results(inputs, input_count);
    release(&model);
}

/* How far the runtime's own kernels may be: they round in another order, and forget the rounding before the scale of
 * RMSNormalization. One unit in the last place of the narrowest type, and for that operator two. A double X with statistics in
 * float goes through float there. */
static double tolerance(const node_case *c)
{
    static const double units[] = {
        [RMSNORM_FLOAT] = 4e-6, [RMSNORM_FLOAT16] = 1e-3, [RMSNORM_BFLOAT16] = 8e-3, [RMSNORM_DOUBLE] = 4e-6};
    const double widest = units[c->input] > units[c->scale] ? units[c->input] : units[c->scale];
    return operator_of(c)->kind == RMSNORM_RMS_NORMALIZATION ? 2.0 * widest : widest;
}

/* Whether the runtime alone runs the case; where it does, the results agree. */
static bool agrees(const node_case *c)
{
    named inputs[4], got[2] = {{.name = "o0"}, {.name = "o0"}};
    const size_t input_count = make_inputs(c, inputs);
    bytes model = make_model(c, inputs, input_count);
    OrtSession *session = NULL;
    OrtStatus *const refused = rig_session(RIG_ALONE, &model, NULL, &session);
    if (refused == NULL) {
        expect_good(rig_run(session, inputs, input_count, &got[0], 1));
        ort->ReleaseSession(session);
        run_model(RIG_PROVIDER, &model, inputs, input_count, &got[1], 1);
        expect_close(&got[1].tensor, &got[0].tensor, tolerance(c));
        release_results(got, 2);
    } else {
        ort->ReleaseStatus(refused);
    }
    release_results(inputs, input_count);
    release(&model);
    return refused == NULL;
}

static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};

/* ---- The tests ------------------------------------------------------------------------------- */

static void check_simplified_types(rig_mode mode, const char *domain)
{
    for (size_t t = 0; t < 4; t++) {
        for (size_t v = 0; v < 4; v++) {
            for (unsigned outputs = 1; outputs <= 3; outputs += 2) {
                const node_case c = {domain,   "SimplifiedLayerNormalization",
                                     types[t], types[v],
                                     "3,40",   "40",
                                     NULL,     -1,
                                     1,        false,
                                     outputs,  17};
                check_case(mode, &c);
            }
        }
    }
}

static void check_standard_types(rig_mode mode)
{
    for (size_t t = 0; t < 4; t++) {
        for (size_t v = 0; v < 4; v++) {
            const node_case c = {"", "RMSNormalization", types[t], types[v], "3,40", "40", NULL, -1, 1, false, 1, 23};
            check_case(mode, &c);
        }
    }
}

static void check_skip_types(rig_mode mode)
{
    for (size_t t = 0; t < 3; t++) {
        for (unsigned outputs = 1; outputs < 16; outputs += 2) {
            for (int bias = 0; bias < 2; bias++) {
                const node_case c = {"com.microsoft",
                                     "SkipSimplifiedLayerNormalization",
                                     types[t],
                                     types[t],
                                     "2,3,24",
                                     "24",
                                     "2,3,24",
                                     -1,
                                     1,
                                     bias != 0,
                                     outputs,
                                     17};
                check_case(mode, &c);
            }
        }
    }
}

static void check_shapes(rig_mode mode)
{
    static const char *const scales[] = {"", "1", "8", "4,8", "4,1", "1,1,8", "2,4,8", "2,1,1", "3,1,1,8"};
    static const char *const skips[] = {"3,8", "1,3,8", "2,3,8"};
    static const char *const types_of_norm[] = {"SimplifiedLayerNormalization", "RMSNormalization"};
    for (size_t n = 0; n < 2; n++) {
        for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
            for (int64_t axis = -4; axis < 4; axis++) {
                const node_case c = {
                    "", types_of_norm[n], RMSNORM_FLOAT, RMSNORM_FLOAT, "3,2,4,8", scales[i], NULL, axis, 1, false, 1,
                    23};
                check_case(mode, &c);
            }
        }
    }
    for (size_t i = 0; i < 3; i++) {
        const node_case c = {"com.microsoft",
                             "SkipSimplifiedLayerNormalization",
                             RMSNORM_FLOAT16,
                             RMSNORM_FLOAT16,
                             "2,3,8",
                             "8",
                             skips[i],
                             -1,
                             1,
                             true,
                             15,
                             17};
        check_case(mode, &c);
    }
}

static void check_rest(rig_mode mode)
{
    static const node_case cases[] = {
        {"", "SimplifiedLayerNormalization", RMSNORM_FLOAT, RMSNORM_FLOAT, "0,8", "8", NULL, -1, 1, false, 3, 17},
        {"", "SimplifiedLayerNormalization", RMSNORM_FLOAT16, RMSNORM_FLOAT, "5,1", "1", NULL, -1, 1, false, 1, 17},
        {"", "SimplifiedLayerNormalization", RMSNORM_DOUBLE, RMSNORM_DOUBLE, "4,8", "8", NULL, -1, 11, false, 3, 17},
        {"", "SimplifiedLayerNormalization", RMSNORM_FLOAT, RMSNORM_FLOAT, "4,2,8", "8", NULL, 1, 1, false, 3, 21},
        {"", "RMSNormalization", RMSNORM_DOUBLE, RMSNORM_DOUBLE, "4,8", "8", NULL, -1, 11, false, 1, 23},
        {"", "RMSNormalization", RMSNORM_FLOAT16, RMSNORM_FLOAT16, "4,8", "8", NULL, -1, 1, false, 1, 24},
        {"", "RMSNormalization", RMSNORM_BFLOAT16, RMSNORM_FLOAT, "64,4096", "4096", NULL, -1, 1, false, 1, 25},
        {"com.microsoft", "SkipSimplifiedLayerNormalization", RMSNORM_FLOAT, RMSNORM_FLOAT, "2,0,8", "8", "2,0,8", -1,
         1, false, 9, 17},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        /* As custom operators, statistics are double from 1.30 on. */
        const bool typed = mode != RIG_CUSTOM || ort_minor >= 30 || cases[i].stash_type != 11 || cases[i].outputs == 1;
        if (typed && (ort_minor >= 24 || cases[i].opset < 24)) { /* 1.23 knows opset 23 */
            check_case(mode, &cases[i]);
        }
    }
}

static void provider_runs_all_types_of_simplified(void **state)
{
    (void)state;
    check_simplified_types(RIG_PROVIDER, "");
    if (ort_minor >= 24) { /* before that a provider brings no schema along; asked for in CMakeLists.txt */
        check_simplified_types(RIG_PROVIDER, "com.microsoft");
    }
}

static void provider_runs_all_types_of_standard(void **state)
{
    (void)state;
    check_standard_types(RIG_PROVIDER);
}

static void provider_runs_all_types_and_outputs_of_skip(void **state)
{
    (void)state;
    check_skip_types(RIG_PROVIDER);
}

static void provider_runs_all_axes_and_broadcasts(void **state)
{
    (void)state;
    check_shapes(RIG_PROVIDER);
}

static void provider_runs_empty_single_and_double(void **state)
{
    (void)state;
    check_rest(RIG_PROVIDER);
}

/* The runtime checks neither attributes nor shapes of an operator that it has no schema for. */
static void provider_refuses_by_a_sentence_what_it_alone_has(void **state)
{
    (void)state;
    static const struct refused {
        const char *attribute, *scale_dims, *sentence;
    } cases[] = {{"bogus", "8", "node \"the norm\": SimplifiedLayerNormalization: no attribute 'bogus'"},
                 {"epsilon", "8", "node \"the norm\": SimplifiedLayerNormalization: epsilon is a float attribute"},
                 {"axis", "5", "node \"the norm\": SimplifiedLayerNormalization: scale"}};
    for (size_t i = 0; ort_minor >= 24 && i < 3; i++) {
        bytes graph = {0};
        bytes node = begin_node("SimplifiedLayerNormalization", "com.microsoft", "x gamma", "y");
        field_text(&node, NODE_NAME, "the norm");
        put_attribute_int(&node, cases[i].attribute, 1);
        field_message(&graph, GRAPH_NODE, &node);
        put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2,8");
        put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, cases[i].scale_dims);
        put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
        bytes model = finish(&graph, 17, 1);
        OrtSession *session = NULL;
        expect_status(rig_session(RIG_PROVIDER, &model, NULL, &session), cases[i].sentence);
        release(&model);
    }
}

static void compiled_runs_all_types_of_simplified(void **state)
{
    (void)state;
    check_simplified_types(RIG_COMPILED, "");
}

static void compiled_runs_all_types_of_standard(void **state)
{
    (void)state;
    check_standard_types(RIG_COMPILED);
}

static void compiled_runs_all_types_and_outputs_of_skip(void **state)
{
    (void)state;
    check_skip_types(RIG_COMPILED);
}

static void compiled_runs_all_axes_and_broadcasts(void **state)
{
    (void)state;
    check_shapes(RIG_COMPILED);
}

static void compiled_runs_empty_single_and_double(void **state)
{
    (void)state;
    check_rest(RIG_COMPILED);
}

static void custom_runs_all_types_of_simplified(void **state)
{
    (void)state;
    check_simplified_types(RIG_CUSTOM, "");
    check_simplified_types(RIG_CUSTOM, "com.microsoft");
}

static void custom_runs_all_types_of_standard(void **state)
{
    (void)state;
    check_standard_types(RIG_CUSTOM);
}

static void custom_runs_all_types_and_outputs_of_skip(void **state)
{
    (void)state;
    check_skip_types(RIG_CUSTOM);
}

static void custom_runs_all_axes_and_broadcasts(void **state)
{
    (void)state;
    check_shapes(RIG_CUSTOM);
}

static void custom_runs_empty_single_and_double(void **state)
{
    (void)state;
    check_rest(RIG_CUSTOM);
}

static void the_runtimes_own_kernels_agree_where_there_are_some(void **state)
{
    (void)state;
    size_t both = 0, alone = 0;
    for (size_t t = 0; t < 4; t++) {
        for (size_t v = 0; v < 4; v++) {
            const node_case norm = {
                "", "SimplifiedLayerNormalization", types[t], types[v], "3,40", "40", NULL, -1, 1, false, 1, 17};
            const node_case standard = {"", "RMSNormalization", types[t], types[v], "3,40", "40", NULL, -1, 1, false, 1,
                                        23};
            const node_case skip = {"com.microsoft",
                                    "SkipSimplifiedLayerNormalization",
                                    types[t],
                                    types[t],
                                    "2,3,24",
                                    "24",
                                    "2,3,24",
                                    -1,
                                    1,
                                    true,
                                    1,
                                    17};
            const node_case *const cases[] = {&norm, &standard, &skip};
            for (size_t i = 0; i < (v == 0 && t < 3 ? 3 : 2); i++) { /* skip has one type, and no double */
                const bool there = agrees(cases[i]);
                both += there;
                alone += !there;
            }
        }
    }
    print_message("ONNX Runtime %s: %zu cases in both, %zu here alone\n", ort_base->GetVersionString(), both, alone);
    assert_true(both >= 8);
    assert_true(alone > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(provider_runs_all_types_of_simplified),
        cmocka_unit_test(provider_runs_all_types_of_standard),
        cmocka_unit_test(provider_runs_all_types_and_outputs_of_skip),
        cmocka_unit_test(provider_runs_all_axes_and_broadcasts),
        cmocka_unit_test(provider_runs_empty_single_and_double),
        cmocka_unit_test(provider_refuses_by_a_sentence_what_it_alone_has),
        cmocka_unit_test(compiled_runs_all_types_of_simplified),
        cmocka_unit_test(compiled_runs_all_types_of_standard),
        cmocka_unit_test(compiled_runs_all_types_and_outputs_of_skip),
        cmocka_unit_test(compiled_runs_all_axes_and_broadcasts),
        cmocka_unit_test(compiled_runs_empty_single_and_double),
        cmocka_unit_test(custom_runs_all_types_of_simplified),
        cmocka_unit_test(custom_runs_all_types_of_standard),
        cmocka_unit_test(custom_runs_all_types_and_outputs_of_skip),
        cmocka_unit_test(custom_runs_all_axes_and_broadcasts),
        cmocka_unit_test(custom_runs_empty_single_and_double),
        cmocka_unit_test(the_runtimes_own_kernels_agree_where_there_are_some),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
