/* What is fused: chains of small nodes and additions, and what is left alone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/rig.h"

/* ---- Models in few words --------------------------------------------------------------------- */

static void put_node(bytes *graph, const char *type, const char *domain, const char *inputs, const char *outputs)
{
    bytes node = begin_node(type, domain, inputs, outputs);
    field_text(&node, NODE_NAME, outputs);
    if (strcmp(type, "ReduceMean") == 0) { /* as opset 17 has it */
        const int64_t last = -1;
        bytes attribute = {0};
        field_text(&attribute, ATTRIBUTE_NAME, "axes");
        field_varint(&attribute, ATTRIBUTE_INTS, (uint64_t)last);
        field_varint(&attribute, ATTRIBUTE_TYPE, TYPE_INTS);
        field_message(&node, NODE_ATTRIBUTE, &attribute);
    }
    field_message(graph, GRAPH_NODE, &node);
}

static void put_cast(bytes *graph, const char *input, const char *output, rmsnorm_dtype to)
{
    bytes node = begin_node("Cast", "", input, output);
    field_text(&node, NODE_NAME, output);
    put_attribute_int(&node, "to", to);
    field_message(graph, GRAPH_NODE, &node);
}

static void put_norm(bytes *graph, const char *type, const char *inputs, const char *outputs)
{
    bytes node = begin_node(type, "", inputs, outputs);
    field_text(&node, NODE_NAME, outputs);
    put_attribute_float(&node, "epsilon", 1e-5F);
    field_message(graph, GRAPH_NODE, &node);
}

static void put_filled(bytes *graph, const char *name, rmsnorm_dtype dtype, const char *dims, uint32_t seed)
{
    rmsnorm_tensor tensor = make_tensor(dtype, dims, seed);
    put_constant(graph, name, &tensor);
    free(tensor.data);
}

/* "PREFIX_square" -> normalized rows "PREFIX_n" of x, in float: four nodes. */
static void put_rest(bytes *graph, const char *x, const char *prefix)
{
    char in[64], out[64];
    snprintf(in, sizeof in, "%s_square", prefix);
    snprintf(out, sizeof out, "%s_mean", prefix);
    put_node(graph, "ReduceMean", "", in, out);
    snprintf(in, sizeof in, "%s_mean epsilon", prefix);
    snprintf(out, sizeof out, "%s_sum", prefix);
    put_node(graph, "Add", "", in, out);
    snprintf(in, sizeof in, "%s_sum", prefix);
    snprintf(out, sizeof out, "%s_root", prefix);
    put_node(graph, "Sqrt", "", in, out);
    snprintf(in, sizeof in, "%s %s_root", x, prefix);
    snprintf(out, sizeof out, "%s_n", prefix);
    put_node(graph, "Div", "", in, out);
}

/* x -> normalized rows "PREFIX_n": five nodes. */
static void put_chain(bytes *graph, const char *x, const char *prefix)
{
    char in[64], out[64];
    snprintf(in, sizeof in, "%s two", x);
    snprintf(out, sizeof out, "%s_square", prefix);
    put_node(graph, "Pow", "", in, out);
    put_rest(graph, x, prefix);
}

static void put_numbers(bytes *graph)
{
    put_scalar(graph, "two", 2.0F);
    put_scalar(graph, "epsilon", 1e-5F);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* Runs with the plug-in, either way, and without; every result is close to the one without. */
static size_t fused_in_first_way; /* groups that the provider claimed in the last check */

static void check_at(int64_t opset, bytes *graph, named *inputs, size_t input_count, const char *const *names,
                     size_t count, const char *claimed, double relative)
{
    bytes model = finish(graph, opset, 1);
    named wanted[MOST_TENSORS], got[MOST_TENSORS];
    for (size_t i = 0; i < count; i++) {
        wanted[i].name = got[i].name = names[i];
    }
    run_model(RIG_ALONE, &model, inputs, input_count, wanted, count);
    static const rig_mode modes[] = {RIG_PROVIDER, RIG_COMPILED};
    for (size_t m = 0; m < 2; m++) {
        forget_said();
        run_model(modes[m], &model, inputs, input_count, got, count);
        fused_in_first_way = m == 0 ? count_said(", fused from 5 nodes") : fused_in_first_way;
        if (claimed != NULL && count_said(claimed) == 0) {
            fail_msg("\"%s\" is not in: %s", claimed, said());
        }
        for (size_t i = 0; i < count; i++) {
            expect_close(&got[i].tensor, &wanted[i].tensor, relative);
        }
        release_results(got, count);
    }
    release_results(wanted, count);
    release_results(inputs, input_count);
    release(&model);
}

static void check(bytes *graph, named *inputs, size_t input_count, const char *const *names, size_t count,
                  const char *claimed, double relative)
{
    check_at(17, graph, inputs, input_count, names, count, claimed, relative);
}

/* ---- Chains ---------------------------------------------------------------------------------- */

static void a_chain_is_one_node(void **state)
{
    (void)state;
    bytes graph = {0};
    put_chain(&graph, "x", "a");
    put_node(&graph, "Mul", "", "a_n gamma", "y");
    put_numbers(&graph);
    put_filled(&graph, "gamma", RMSNORM_FLOAT, "48", 3);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "B,S,48");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,5,48", 1)}};
    check(&graph, inputs, 1, (const char *const[]){"y"}, 1, "fused from 6 nodes", 2e-6);
}

static void a_chain_without_scale_gets_ones(void **state)
{
    (void)state;
    bytes graph = {0};
    put_chain(&graph, "x", "a");
    put_numbers(&graph);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "5,48");
    put_value(&graph, GRAPH_OUTPUT, "a_n", RMSNORM_FLOAT, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "5,48", 1)}};
    check(&graph, inputs, 1, (const char *const[]){"a_n"}, 1, "fused from 5 nodes", 2e-6);
}

static void casts_keep_their_order_at_any_opset(void **state)
{
    (void)state;
    bytes graph = {0};
    put_cast(&graph, "x", "wide", RMSNORM_FLOAT);
    put_chain(&graph, "wide", "a");
    put_cast(&graph, "a_n", "narrow", RMSNORM_FLOAT16);
    put_node(&graph, "Mul", "", "gamma narrow", "y");
    put_node(&graph, "ReduceMean", "", "x", "blocks_raising_the_opset");
    put_numbers(&graph);
    put_filled(&graph, "gamma", RMSNORM_FLOAT16, "48", 3);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "5,48");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT16, NULL);
    put_value(&graph, GRAPH_OUTPUT, "blocks_raising_the_opset", RMSNORM_FLOAT16, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "5,48", 1)}};
    check(&graph, inputs, 1, (const char *const[]){"y", "blocks_raising_the_opset"}, 2, "claims RMSNormalization \"",
          1e-3);
}

/* Half in, half out, in float between. */
static void put_layer(bytes *graph, const char *x, const char *prefix, const char *gamma, const char *y)
{
    char wide[64], in[64], scaled[64];
    snprintf(wide, sizeof wide, "%s_wide", prefix);
    put_cast(graph, x, wide, RMSNORM_FLOAT);
    put_chain(graph, wide, prefix);
    snprintf(in, sizeof in, "%s_n %s", prefix, gamma);
    snprintf(scaled, sizeof scaled, "%s_scaled", prefix);
    put_node(graph, "Mul", "", in, scaled);
    put_cast(graph, scaled, y, RMSNORM_FLOAT16);
}

/* One gamma and its cast for all three layers, or one each. */
static bytes three_layers(bool shared)
{
    bytes graph = {0};
    put_cast(&graph, "gamma", "a_gamma", RMSNORM_FLOAT);
    put_layer(&graph, "x", "a", "a_gamma", "ay");
    put_node(&graph, "Neg", "", "ay", "ar");
    if (!shared) {
        put_cast(&graph, "second", "b_gamma", RMSNORM_FLOAT);
        put_cast(&graph, "third", "c_gamma", RMSNORM_FLOAT);
    }
    put_layer(&graph, "ar", "b", shared ? "a_gamma" : "b_gamma", "by");
    put_node(&graph, "Neg", "", "by", "br");
    put_layer(&graph, "br", "c", shared ? "a_gamma" : "c_gamma", "y");
    put_numbers(&graph);
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT16, "48");
    put_value(&graph, GRAPH_INPUT, "second", RMSNORM_FLOAT16, "48");
    put_value(&graph, GRAPH_INPUT, "third", RMSNORM_FLOAT16, "48");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "5,48");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT16, NULL);
    return graph;
}

/* With one cast for all of them the last layer's group would go out to the second layer and come in again, and the others' would not
 * be given what their node takes. */
static void layers_that_share_a_cast_are_left_whole(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        bytes graph = three_layers(shared != 0);
        named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "5,48", 1)},
                          {"gamma", make_tensor(RMSNORM_FLOAT16, "48", 3)},
                          {"second", make_tensor(RMSNORM_FLOAT16, "48", 4)},
                          {"third", make_tensor(RMSNORM_FLOAT16, "48", 5)}};
        check(&graph, inputs, 4, (const char *const[]){"y"}, 1,
              shared != 0 ? "a cast that would go is used elsewhere too" : "fused from 9 nodes", 4e-3);
        assert_int_equal(count_said("rmsnorm: claims"), shared != 0 ? 0 : 3);
    }
}

/* What the runtime runs in float anyhow would be cast for our sake: one end that it cannot have in float is reason enough. */
static void a_half_chain_amid_float_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* the nodes at its ends; none: the graph's own */
        const char *said;
    } cases[] = {
        {"Add", "MatMul", "does not fuse 9 nodes before \"ay\": the runtime has float16 around it in float"},
        {"Add", NULL, "fused from 9 nodes"},
        {NULL, "Mul", "fused from 9 nodes"},
        {"Transpose", "Mul", "fused from 9 nodes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bytes graph = {0};
        const bool adds = cases[i].before != NULL && strcmp(cases[i].before, "Add") == 0;
        if (cases[i].before != NULL) {
            put_node(&graph, cases[i].before, "", adds ? "x x" : "x", "r");
        }
        put_cast(&graph, "gamma", "a_gamma", RMSNORM_FLOAT);
        put_layer(&graph, cases[i].before != NULL ? "r" : "x", "a", "a_gamma", "ay");
        if (cases[i].after != NULL) {
            put_node(&graph, cases[i].after, "", "ay w", "z");
        }
        put_numbers(&graph);
        put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT16, "48");
        put_value(&graph, GRAPH_INPUT, "w", RMSNORM_FLOAT16, "48,48");
        put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "48,48");
        put_value(&graph, GRAPH_OUTPUT, cases[i].after != NULL ? "z" : "ay", RMSNORM_FLOAT16, NULL);
        named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "48,48", 1)},
                          {"gamma", make_tensor(RMSNORM_FLOAT16, "48", 3)},
                          {"w", make_tensor(RMSNORM_FLOAT16, "48,48", 4)}};
        check(&graph, inputs, 3, (const char *const[]){cases[i].after != NULL ? "z" : "ay"}, 1, cases[i].said, 4e-3);
        assert_int_equal(count_said("rmsnorm: claims"), i == 0 ? 0 : 1);
    }
}

/* A node of float16 that the runtime has no kernel for, by the same rule; in float it is taken. */
static void a_half_node_amid_float_is_left(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after, *scale;
        rmsnorm_dtype dtype;
        bool left;
    } cases[] = {
        {"Add", "MatMul", "48", RMSNORM_FLOAT16, true},     {"Add", "Mul", "48", RMSNORM_FLOAT16, true},
        {"Add", NULL, "48", RMSNORM_FLOAT16, false},        {NULL, "Mul", "48", RMSNORM_FLOAT16, false},
        {"Add", "Transpose", "48", RMSNORM_FLOAT16, false}, {"Mul", "MatMul", "48", RMSNORM_FLOAT, false},
        {"Add", "Mul", "1", RMSNORM_FLOAT16, false}, /* 1.23's own kernel does not take such a scale */
        {"Add", "Mul", "48,48", RMSNORM_FLOAT16, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const before = cases[i].before, *const after = cases[i].after, *const y = after != NULL ? "z" : "y";
        const bool turns = after != NULL && strcmp(after, "Transpose") == 0;
        bytes graph = {0};
        if (ort_minor < 24 && strcmp(cases[i].scale, "48") != 0) {
            continue; /* nothing to compare with */
        }
        if (before != NULL) {
            put_node(&graph, before, "", "x x", "r");
        }
        put_norm(&graph, "RMSNormalization", before != NULL ? "r gamma" : "x gamma", "y");
        if (after != NULL) {
            put_node(&graph, after, "", turns ? "y" : "y w", "z");
        }
        put_value(&graph, GRAPH_INPUT, "gamma", (int32_t)cases[i].dtype, cases[i].scale);
        put_value(&graph, GRAPH_INPUT, "w", (int32_t)cases[i].dtype, "48,48");
        put_value(&graph, GRAPH_INPUT, "x", (int32_t)cases[i].dtype, "48,48");
        put_value(&graph, GRAPH_OUTPUT, y, (int32_t)cases[i].dtype, NULL);
        named inputs[] = {{"x", make_tensor(cases[i].dtype, "48,48", 1)},
                          {"gamma", make_tensor(cases[i].dtype, cases[i].scale, 3)},
                          {"w", make_tensor(cases[i].dtype, "48,48", 4)}};
        check_at(23, &graph, inputs, 3, (const char *const[]){y}, 1,
                 cases[i].left ? "leaves RMSNormalization \"y\": the runtime has float16 around it in float"
                               : "claims RMSNormalization \"y\"",
                 4e-3);
    }
}

static void layer_normalization_is_left_alone(void **state)
{
    (void)state;
    bytes graph = {0};
    put_node(&graph, "ReduceMean", "", "x", "m");
    put_node(&graph, "Sub", "", "x m", "centered");
    put_chain(&graph, "centered", "a");
    put_numbers(&graph);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "5,48");
    put_value(&graph, GRAPH_OUTPUT, "a_n", RMSNORM_FLOAT, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "5,48", 1)}};
    check(&graph, inputs, 1, (const char *const[]){"a_n"}, 1, "does not fuse", 2e-6);
    assert_int_equal(count_said("claims"), 0);
}

/* ---- Additions ------------------------------------------------------------------------------- */

static void an_addition_goes_into_the_norm(void **state)
{
    (void)state;
    bytes graph = {0};
    put_node(&graph, "Add", "", "x skip", "sum");
    put_norm(&graph, "SimplifiedLayerNormalization", "sum gamma", "y");
    put_node(&graph, "Relu", "", "sum", "r");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "B,S,48");
    put_value(&graph, GRAPH_INPUT, "skip", RMSNORM_FLOAT, "B,S,48");
    put_filled(&graph, "gamma", RMSNORM_FLOAT, "48", 3);
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    put_value(&graph, GRAPH_OUTPUT, "sum", RMSNORM_FLOAT, NULL);
    put_value(&graph, GRAPH_OUTPUT, "r", RMSNORM_FLOAT, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,5,48", 1)},
                      {"skip", make_tensor(RMSNORM_FLOAT, "2,5,48", 2)}};
    check(&graph, inputs, 2, (const char *const[]){"y", "sum", "r"}, 3,
          "claims SkipSimplifiedLayerNormalization \"y\", fused from 2 nodes", 2e-6);
}

static void residual_bias_and_chain_are_one_node(void **state)
{
    (void)state;
    bytes graph = {0};
    put_node(&graph, "Add", "", "x skip", "first");
    put_node(&graph, "Add", "", "first bias", "sum");
    put_chain(&graph, "sum", "a");
    put_node(&graph, "Mul", "", "a_n gamma", "y");
    put_numbers(&graph);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "2,5,48");
    put_value(&graph, GRAPH_INPUT, "skip", RMSNORM_FLOAT, "2,5,48");
    put_filled(&graph, "gamma", RMSNORM_FLOAT, "48", 3);
    put_filled(&graph, "bias", RMSNORM_FLOAT, "48", 4);
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,5,48", 1)},
                      {"skip", make_tensor(RMSNORM_FLOAT, "2,5,48", 2)}};
    check(&graph, inputs, 2, (const char *const[]){"y"}, 1, "fused from 8 nodes", 2e-6);
}

static void a_narrow_addition_rounds_and_stays(void **state)
{
    (void)state;
    bytes graph = {0};
    put_node(&graph, "Add", "", "x skip", "sum");
    put_norm(&graph, "SimplifiedLayerNormalization", "sum gamma", "y");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT16, "2,48");
    put_value(&graph, GRAPH_INPUT, "skip", RMSNORM_FLOAT16, "2,48");
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT16, "48");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT16, NULL);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT16, "2,48", 1)},
                      {"skip", make_tensor(RMSNORM_FLOAT16, "2,48", 2)},
                      {"gamma", make_tensor(RMSNORM_FLOAT16, "48", 3)}};
    check(&graph, inputs, 3, (const char *const[]){"y"}, 1, "rounds to float16 before the norm", 1e-3);
    assert_int_equal(count_said("fused from"), 0);
}

/* ---- Graphs inside ---------------------------------------------------------------------------- */

/* The sum is used inside the If, where two branches with the same names hold chains that differ. */
static bytes branching(void)
{
    static const char *const branches[] = {"then_branch", "else_branch"};
    bytes graph = {0};
    put_node(&graph, "Add", "", "x skip", "sum");
    put_norm(&graph, "SimplifiedLayerNormalization", "sum gamma", "y");
    put_cast(&graph, "chosen", "flag", (rmsnorm_dtype)9);
    bytes node = begin_node("If", "", "flag", "z");
    field_text(&node, NODE_NAME, "branching");
    for (int b = 0; b < 2; b++) {
        bytes inner = {0};
        field_text(&inner, GRAPH_NAME, branches[b]);
        put_chain(&inner, b == 0 ? "sum" : "x", "inner");
        put_value(&inner, GRAPH_OUTPUT, "inner_n", RMSNORM_FLOAT, NULL);
        put_graph_attribute(&node, branches[b], &inner);
    }
    field_message(&graph, GRAPH_NODE, &node);
    put_numbers(&graph);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "5,48");
    put_value(&graph, GRAPH_INPUT, "skip", RMSNORM_FLOAT, "5,48");
    put_value(&graph, GRAPH_INPUT, "chosen", RMSNORM_FLOAT, "");
    put_filled(&graph, "gamma", RMSNORM_FLOAT, "48", 3);
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT, NULL);
    return graph;
}

static void branches_are_claimed_and_see_the_sum(void **state)
{
    (void)state;
    for (int chosen = 0; chosen < 2; chosen++) {
        bytes graph = branching();
        named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "5,48", 1)},
                          {"skip", make_tensor(RMSNORM_FLOAT, "5,48", 2)},
                          {"chosen", make_tensor(RMSNORM_FLOAT, "", 5)}};
        *(float *)inputs[2].tensor.data = (float)chosen;
        check(&graph, inputs, 3, (const char *const[]){"y", "z"}, 2,
              "claims SkipSimplifiedLayerNormalization \"y\", fused from 2 nodes", 2e-6);
        assert_int_equal(count_said("fused from 5 nodes"), 0); /* the last way was that of 1.23 */
        assert_int_equal(fused_in_first_way, ort_minor >= 25 ? 2 : 0);
    }
}

/* ---- Dims of one name that differ ------------------------------------------------------------- */

/* x, skip, bias and gamma have the same names for their last dims, and are given as the four say: "" for none of it. The runtime
 * takes any that broadcast, and only warns. */
static void check_named(const char *x, const char *skip, const char *bias, const char *gamma)
{
    static const char *const names[] = {"H", "S,H", "B,S,H"};
    static const char *const labels[] = {"x", "skip", "bias", "gamma"};
    const char *const dims[] = {x, skip, bias, gamma};
    bytes graph = {0};
    named inputs[4];
    size_t count = 0;
    for (size_t i = 0; i < 4; i++) {
        if (dims[i][0] != '\0') {
            inputs[count].name = labels[i];
            inputs[count].tensor = make_tensor(RMSNORM_FLOAT, dims[i], (uint32_t)i + 1);
            put_value(&graph, GRAPH_INPUT, labels[i], RMSNORM_FLOAT, names[inputs[count++].tensor.rank - 1]);
        }
    }
    const bool summed = skip[0] != '\0', biased = bias[0] != '\0';
    if (summed) {
        put_node(&graph, "Add", "", "x skip", biased ? "partial" : "sum");
    }
    if (biased) {
        put_node(&graph, "Add", "", "partial bias", "sum");
    }
    put_node(&graph, "Mul", "", summed ? "sum sum" : "x x", "a_square"); /* a Pow would be fused by the runtime too */
    put_rest(&graph, summed ? "sum" : "x", "a");
    put_node(&graph, "Mul", "", "a_n gamma", "y");
    put_numbers(&graph);
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    if (summed) {
        put_value(&graph, GRAPH_OUTPUT, "sum", RMSNORM_FLOAT, NULL);
    }
    check(&graph, inputs, count, (const char *const[]){"y", "sum"}, summed ? 2 : 1,
          !summed  ? "fused from 6 nodes"
          : biased ? "fused from 8 nodes"
                   : "fused from 7 nodes",
          2e-6);
}

static void dims_of_one_name_may_differ(void **state)
{
    (void)state;
    check_named("3,8", "3,8", "8", "8"); /* as they are named */
    check_named("1,8", "3,8", "", "8");
    check_named("3,8", "1,8", "", "8");
    check_named("3,1", "1,8", "", "8");
    check_named("2,1,8", "1,5,8", "", "8");
    check_named("5,8", "2,5,8", "", "8");
    check_named("2,5,1", "5,8", "8", "8");
    check_named("2,1,8", "2,5,8", "1", "8");
    check_named("2,5,8", "2,5,8", "8", "1");
    check_named("3,1", "3,1", "1", "8"); /* the scale makes the rows larger, not the sum */
    check_named("1,8", "", "", "3,8");
    check_named("3,1", "", "", "3,8");
    check_named("3,8", "", "", "1,1");
    check_named("0,8", "1,8", "", "8");
    check_named("3,0", "3,1", "", "0");
    check_named("3,0", "", "", "0");
}

/* Shapes that do not broadcast are an error with and without the plug-in. */
static void dims_of_one_name_must_broadcast(void **state)
{
    (void)state;
    bytes graph = {0};
    put_node(&graph, "Add", "", "x skip", "sum");
    put_norm(&graph, "SimplifiedLayerNormalization", "sum gamma", "y");
    put_filled(&graph, "gamma", RMSNORM_FLOAT, "8", 3);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "S,8");
    put_value(&graph, GRAPH_INPUT, "skip", RMSNORM_FLOAT, "S,8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    bytes model = finish(&graph, 17, 1);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,8", 1)}, {"skip", make_tensor(RMSNORM_FLOAT, "3,8", 2)}};
    named got = {.name = "y"};
    OrtSession *session;
    expect_good(rig_session(RIG_PROVIDER, &model, NULL, &session));
    expect_status(rig_run(session, inputs, 2, &got, 1), "the shapes of its inputs do not broadcast to one");
    ort->ReleaseSession(session);
    release_results(inputs, 2);
    release(&model);
}

/* ---- Options --------------------------------------------------------------------------------- */

/* The runtime has no schema of this name, so a model may have a function of it, here the product: alone, and after an addition
 * that would go into the operator. */
static void check_function(rig_mode mode, bool added)
{
    static const char domain[] = "com.microsoft", type[] = "SimplifiedLayerNormalization";
    enum { F_NAME = 1, F_INPUT = 4, F_OUTPUT = 5, F_NODE = 7, F_OPSET = 9, F_DOMAIN = 10 };
    bytes graph = {0}, function = {0}, opset = {0};
    bytes product = begin_node("Mul", "", "a b", "c");
    field_text(&function, F_NAME, type);
    field_text(&function, F_DOMAIN, domain);
    field_text(&function, F_INPUT, "a");
    field_text(&function, F_INPUT, "b");
    field_text(&function, F_OUTPUT, "c");
    field_message(&function, F_NODE, &product);
    field_text(&opset, 1, "");
    field_varint(&opset, 2, 17);
    field_message(&function, F_OPSET, &opset);
    if (added) {
        put_node(&graph, "Add", "", "x x", "s");
    }
    put_node(&graph, type, domain, added ? "s gamma" : "x gamma", "y");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "A,B,8");
    put_value(&graph, GRAPH_INPUT, "gamma", RMSNORM_FLOAT, "8");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    bytes model = finish(&graph, 17, 1);
    field_message(&model, MODEL_FUNCTION, &function);
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "2,3,8", 1)}, {"gamma", make_tensor(RMSNORM_FLOAT, "8", 2)}};
    named wanted = {.name = "y"}, got = {.name = "y"};
    run_model(RIG_ALONE, &model, inputs, 2, &wanted, 1);
    run_model(mode, &model, inputs, 2, &got, 1);
    expect_same_bits(&got.tensor, &wanted.tensor);
    release_results(&wanted, 1);
    release_results(&got, 1);
    release_results(inputs, 2);
    release(&model);
}

static void a_models_function_is_no_operator(void **state)
{
    (void)state;
    check_function(RIG_PROVIDER, false);
    check_function(RIG_PROVIDER, true);
    check_function(RIG_COMPILED, false);
    check_function(RIG_COMPILED, true);
}

static bytes two_norms(void)
{
    bytes graph = {0};
    put_node(&graph, "Add", "", "x skip", "sum");
    put_norm(&graph, "SimplifiedLayerNormalization", "sum gamma", "y");
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "64,4096");
    put_value(&graph, GRAPH_INPUT, "skip", RMSNORM_FLOAT, "64,4096");
    put_filled(&graph, "gamma", RMSNORM_FLOAT, "4096", 3);
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, NULL);
    return finish(&graph, 17, 1);
}

static void run_with(const bytes *model, const char *option, const char *wanted)
{
    named inputs[] = {{"x", make_tensor(RMSNORM_FLOAT, "64,4096", 1)},
                      {"skip", make_tensor(RMSNORM_FLOAT, "64,4096", 2)}};
    named expected = {.name = "y"}, got = {.name = "y"};
    OrtSession *session;
    run_model(RIG_PROVIDER, model, inputs, 2, &expected, 1);
    forget_said();
    expect_good(rig_session(RIG_PROVIDER, model, option, &session));
    expect_good(rig_run(session, inputs, 2, &got, 1));
    ort->ReleaseSession(session);
    if (count_said(wanted) == 0) {
        fail_msg("%s: \"%s\" is not in: %s", option, wanted, said());
    }
    expect_close(&got.tensor, &expected.tensor, 2e-6);
    release_results(&got, 1);
    release_results(&expected, 1);
    release_results(inputs, 2);
}

static void options_change_what_is_claimed(void **state)
{
    (void)state;
    bytes model = two_norms();
    run_with(&model, "threads=1;isa=scalar", "fused from 2 nodes");
    run_with(&model, "threads=0;isa=auto;fuse=1;log=1", "fused from 2 nodes");
    run_with(&model, "fuse=0", "claims SimplifiedLayerNormalization \"y\"");
    run_with(&model, "disable=SkipSimplifiedLayerNormalization", "claims SimplifiedLayerNormalization \"y\"");
    run_with(&model, "disable=SimplifiedLayerNormalization,RMSNormalization;fuse=0", "the operator is disabled");
    run_with(&model, "disable= RMSNormalization , SimplifiedLayerNormalization ;fuse=0", "the operator is disabled");
    run_with(&model, "disable=;fuse=0", "claims");
    run_with(&model, "isa=scalar;fuse=0", "claims");
    release(&model);
}

static void want_contexts(OrtSessionOptions *options)
{
    expect_good(ort->AddSessionConfigEntry(options, "ep.context_enable", "1"));
    expect_good(ort->AddSessionConfigEntry(options, "ep.context_file_path", "/tmp/rmsnorm-plugin-context.onnx"));
}

/* The runtime wants a context of every compiled node, and a norm has none. */
static void nothing_is_compiled_where_contexts_are_wanted(void **state)
{
    (void)state;
    bytes model = two_norms();
    OrtSession *session;
    rig_prepare = want_contexts;
    forget_said();
    expect_good(rig_session(RIG_PROVIDER, &model, NULL, &session));
    ort->ReleaseSession(session);
    assert_int_equal(count_said("fused from"), 0);
    if (ort_minor >= 24) {
        assert_true(count_said("claims SimplifiedLayerNormalization \"y\"") > 0);
    }
    forget_said();
    expect_good(rig_session(RIG_COMPILED, &model, NULL, &session));
    ort->ReleaseSession(session);
    assert_true(count_said("ep.context_enable wants contexts of such nodes") > 0);
    rig_prepare = NULL;
    release(&model);
}

static void wrong_options_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[][2] = {
        {"threads=many", "provider option threads is \"many\"; allowed is a number"},
        {"threads=-1", "provider option threads is \"-1\""},
        {"threads=99999999999999999999", "allowed is a number from 0 to 65536"},
        {"threads=", "provider option threads is \"\""},
        {"isa=", "provider option isa is \"\""},
        {"isa=\xff\x01", "provider option isa is \"??\""},
        {"bogus=1", "no provider option \"bogus\"; there are threads, isa, disable, fuse, log"},
        {"thread=1", "no provider option \"thread\""},
        {"b\xc3\xb6se=1", "no provider option \"b??se\""},
        {"log=1;=1", "no provider option \"\""},
        {"isa=mmx", "provider option isa is \"mmx\"; allowed is auto, scalar"},
        {"disable=Relu", "provider option disable is \"Relu\"; allowed is a list of operators"},
        {"fuse=yes", "provider option fuse is \"yes\"; allowed is 0 or 1"},
        {"log=2", "provider option log is \"2\"; allowed is 0 or 1"},
    };
    bytes model = two_norms();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        OrtSession *session = NULL;
        expect_status(rig_session(RIG_PROVIDER, &model, wrong[i][0], &session), wrong[i][1]);
    }
    release(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_is_one_node),
        cmocka_unit_test(a_chain_without_scale_gets_ones),
        cmocka_unit_test(casts_keep_their_order_at_any_opset),
        cmocka_unit_test(layers_that_share_a_cast_are_left_whole),
        cmocka_unit_test(a_half_chain_amid_float_is_left),
        cmocka_unit_test(a_half_node_amid_float_is_left),
        cmocka_unit_test(layer_normalization_is_left_alone),
        cmocka_unit_test(an_addition_goes_into_the_norm),
        cmocka_unit_test(residual_bias_and_chain_are_one_node),
        cmocka_unit_test(a_narrow_addition_rounds_and_stays),
        cmocka_unit_test(branches_are_claimed_and_see_the_sum),
        cmocka_unit_test(dims_of_one_name_may_differ),
        cmocka_unit_test(dims_of_one_name_must_broadcast),
        cmocka_unit_test(a_models_function_is_no_operator),
        cmocka_unit_test(options_change_what_is_claimed),
        cmocka_unit_test(nothing_is_compiled_where_contexts_are_wanted),
        cmocka_unit_test(wrong_options_are_refused),
    };
    return cmocka_run_group_tests(tests, rig_open, rig_close);
}
