/* Fusion case by case: field reports ("Graph rewriting"), every refusal of the contract, additions before norms. */
#include "rewritten.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct line {
    const char *op, *inputs, *outputs;
} line;

static void add_lines(build *b, const line *lines, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        (void)build_node(b, lines[i].op, lines[i].inputs, lines[i].outputs);
    }
}

#define LINES(b, lines) add_lines((b), (lines), sizeof(lines) / sizeof(lines)[0])

/* x, gamma and what chains of a type need. */
static build *begin(int64_t opset, rmsnorm_dtype dtype, const char *dims)
{
    build *const b = build_begin(opset);
    (void)build_value(b, "x", dtype, dims);
    (void)build_value(b, "skip", dtype, dims);
    (void)build_value(b, "gamma", dtype, "8");
    (void)build_value(b, "wide_gamma", RMSNORM_FLOAT, "8");
    (void)build_value(b, "bias", dtype, "8");
    (void)build_value(b, "choice", BUILD_BOOL, "");
    (void)build_constant(b, "two", RMSNORM_FLOAT, "", "2");
    (void)build_constant(b, "axes", RMSNORM_INT64, "1", "-1");
    (void)build_constant(b, "eps", dtype == RMSNORM_DOUBLE ? dtype : RMSNORM_FLOAT, "", "7.62939453125e-06");
    return b;
}

/* A chain without casts: five nodes, named after its end. */
static void add_chain(build *b, const char *x, const char *rows)
{
    char names[5][64];
    static const char *const endings[] = {"sq", "mean", "sum", "root"};
    for (size_t i = 0; i < 4; i++) {
        snprintf(names[i], sizeof names[i], "%s_%s", rows, endings[i]);
    }
    char inputs[140];
    const bool late = rmsnorm_ir_opset(b->ir, "") >= 18;
    snprintf(inputs, sizeof inputs, "%s,%s", x, x);
    (void)build_node(b, "Mul", inputs, names[0]);
    snprintf(inputs, sizeof inputs, "%s%s", names[0], late ? ",axes" : "");
    (void)build_node(b, late ? "ReduceMean keepdims=1" : "ReduceMean axes=[-1] keepdims=1", inputs, names[1]);
    snprintf(inputs, sizeof inputs, "%s,eps", names[1]);
    (void)build_node(b, "Add", inputs, names[2]);
    (void)build_node(b, "Sqrt", names[2], names[3]);
    snprintf(inputs, sizeof inputs, "%s,%s", x, names[3]);
    (void)build_node(b, "Div", inputs, rows);
}

typedef struct wanted {
    rmsnorm_target target;
    bool relaxed;
    const char *nodes; /* of the main graph after fusing; NULL: as before */
} wanted;

static void fuse(build *b, rmsnorm_target target, bool relaxed)
{
    rmsnorm_fuse_options options = RMSNORM_FUSE_OPTIONS_INIT;
    options.target = target;
    options.relaxed = relaxed;
    if (rmsnorm_ir_fuse(b->ir, &options) != RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
}

/* Fuses, and compares all outputs on several rows. Sets of dims: "B=2,S=3". Ends the build. */
static void check_as(build *b, const char *dims, const wanted *want)
{
    rewritten runs[4];
    rewritten_infer(b);
    const char *const nodes = want->nodes != NULL ? want->nodes : build_nodes(b, 0);
    for (unsigned i = 0; i < 4; i++) {
        runs[i] = (rewritten){.b = b, .seed = i * 5 + 2, .specials = i == 3, .what = nodes};
        rewritten_before(&runs[i], dims);
    }
    fuse(b, want->target, want->relaxed);
    if (strcmp(build_nodes(b, 0), nodes) != 0) {
        fail_msg("%s\ninstead of\n%s", build_nodes(b, 0), nodes);
    }
    rewritten_check_graph(b, want->target, nodes);
    for (unsigned i = 0; i < 4; i++) {
        rewritten_after(&runs[i]);
        rewritten_end(&runs[i]);
    }
    build_end(b);
}

static void check(build *b, const char *dims, const char *nodes)
{
    const wanted want = {RMSNORM_TARGET_RMSNORM, false, nodes};
    check_as(b, dims, &want);
}

/* Nothing changes, and the only finding gives this reason. Ends the build. */
static void check_refused(build *b, bool relaxed, const char *reason)
{
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    const char *const before = build_nodes(b, 0);
    fuse(b, RMSNORM_TARGET_RMSNORM, relaxed);
    assert_string_equal(build_nodes(b, 0), before);
    size_t count;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
    assert_int_equal(count, 1);
    assert_false(found->done);
    assert_string_equal(found->reason, reason);
    build_end(b);
}

static const rmsnorm_finding *only_finding(const build *b)
{
    size_t count;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
    assert_int_equal(count, 1);
    return found;
}

/* ---- Field reports --------------------------------------------------------------------------- */

static void f15_f41_scales_that_broadcast(void **state)
{
    (void)state;
    static const char *const scales[] = {"1", "8", "1,1,8", "3,8", "3,1", "", "2,1,8", "2,3,8", "1,3,1"};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        build *const b = begin(13, RMSNORM_DOUBLE, "2,3,8");
        (void)build_value(b, "scale", RMSNORM_DOUBLE, scales[i]);
        add_chain(b, "x", "rows");
        (void)build_node(b, "Mul", "scale,rows", "y");
        build_output(b, "y");
        check(b, NULL, "SimplifiedLayerNormalization(x, scale) = y");
    }
}

/* Where x has a dim 1 that the scale stretches, or fewer dims than it. */
static void a_scale_that_grows_the_result(void **state)
{
    (void)state;
    static const char *const scales[] = {"4,8", "2,1,3,8"};
    for (size_t i = 0; i < 2; i++) {
        build *const b = begin(13, RMSNORM_FLOAT, "2,1,8");
        (void)build_value(b, "scale", RMSNORM_FLOAT, scales[i]);
        add_chain(b, "x", "rows");
        (void)build_node(b, "Mul", "rows,scale", "y");
        build_output(b, "y");
        check_refused(b, false, "the scale \"scale\" would give the result another shape than the input has");
    }
}

/* F39 and the rest of what the contract refuses: one node of the chain is another. */
static void what_only_resembles_a_norm(void **state)
{
    (void)state;
    static const line chain[] = {{"Pow", "x,two", "sq"},     {"ReduceMean axes=[-1]", "sq", "mean"},
                                 {"Add", "mean,eps", "sum"}, {"Sqrt", "sum", "root"},
                                 {"Div", "x,root", "rows"},  {"Mul", "rows,gamma", "y"}};
    static const struct {
        size_t at;
        line line;
        const char *reason;
    } cases[] = {
        {0, {"Pow", "x,three", "sq"}, "the exponent is 3, not 2"},
        {0, {"Pow", "x,given", "sq"}, "the exponent \"given\" is no constant number"},
        {0, {"Mul", "x,other", "sq"}, NULL},
        {0, {"Mul", "other,other", "sq"}, "\"other\" is squared, but \"x\" is scaled by the inverse root"},
        {1, {"ReduceMean axes=[0]", "sq", "mean"}, "the mean's axes are not the last dims"},
        {1, {"ReduceMean axes=[0,2]", "sq", "mean"}, "the mean's axes are not the last dims"},
        {1, {"ReduceMean", "sq", "mean"}, "the mean has no axes"},
        {1, {"ReduceMean axes=[-1] keepdims=0", "sq", "mean"}, "the mean drops its dims (keepdims is not 1)"},
        {1, {"ReduceSum axes=[-1]", "sq", "mean"}, NULL},
        {2, {"Add", "mean,given", "sum"}, "what is added to the mean, \"given\", is no constant number"},
        {2, {"Mul", "mean,eps", "sum"}, "node \"sum\" takes the mean, where epsilon would be added"},
        {2, {"Sub", "mean,eps", "sum"}, "node \"sum\" takes the mean, where epsilon would be added"},
        {2, {"Sqrt", "mean", "sum"}, "no epsilon is added before the root"},
        {3, {"Identity", "sum", "root"}, "node \"rows\" takes the mean with epsilon, where the root would be"},
        {3, {"Pow", "sum,three", "root"}, "node \"root\" takes the mean with epsilon, where the root would be"},
        {4, {"Div", "root,x", "rows"}, "node \"rows\" takes the root, where the input would be scaled"},
        {4, {"Mul", "x,root", "rows"}, "node \"rows\" takes the root, where the input would be scaled"},
        {4, {"Sqrt", "root", "rows"}, "node \"rows\" takes a second root"},
        {4, {"Add", "root,eps", "rows"}, "node \"rows\" adds to the root: epsilon stands outside it"},
        {4, {"Div", "other,root", "rows"}, "\"x\" is squared, but \"other\" is scaled by the inverse root"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(13, RMSNORM_FLOAT, "8,8,8");
        (void)build_value(b, "other", RMSNORM_FLOAT, "8,8,8");
        (void)build_value(b, "given", RMSNORM_FLOAT, "");
        (void)build_constant(b, "three", RMSNORM_FLOAT, "", "3");
        for (size_t n = 0; n < sizeof chain / sizeof chain[0]; n++) {
            const line *const l = n == cases[i].at ? &cases[i].line : &chain[n];
            (void)build_node(b, l->op, l->inputs, l->outputs);
        }
        build_output(b, "y");
        if (cases[i].reason != NULL) {
            check_refused(b, true, cases[i].reason);
            continue;
        }
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, true);
        size_t count;
        (void)rmsnorm_ir_findings(b->ir, &count);
        assert_int_equal(count, 0);
        build_end(b);
    }
}

static void values_in_between_that_are_needed(void **state)
{
    (void)state;
    static const struct {
        const char *name, *output_reason, *use_reason, *inside_reason;
    } cases[] = {
        {"rows_sq", "the square \"rows_sq\" is a graph output", "the square \"rows_sq\" is used elsewhere too",
         "the square \"rows_sq\" is used elsewhere too"},
        {"rows_mean", "the mean \"rows_mean\" is a graph output", "the mean \"rows_mean\" is used elsewhere too",
         "the mean \"rows_mean\" is used elsewhere too"},
        {"rows_sum", "the mean with epsilon \"rows_sum\" is a graph output",
         "the mean with epsilon \"rows_sum\" is used elsewhere too",
         "the mean with epsilon \"rows_sum\" is used elsewhere too"},
        {"rows_root", "the root \"rows_root\" is a graph output", "the root \"rows_root\" is used elsewhere too",
         "the root \"rows_root\" is used elsewhere too"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const reasons[] = {cases[i].output_reason, cases[i].use_reason, cases[i].inside_reason};
        for (int use = 0; use < 3; use++) {
            build *const b = begin(18, RMSNORM_FLOAT, "2,3,8");
            add_chain(b, "x", "rows");
            build_output(b, use == 0 ? cases[i].name : "rows");
            if (use == 1) {
                (void)build_node(b, "Neg", cases[i].name, "again");
            } else if (use == 2) {
                (void)build_graph(b, build_node(b, "If", "choice", "chosen"));
                (void)build_node(b, "Neg", cases[i].name, "inside");
                build_output(b, "inside");
            }
            check_refused(b, true, reasons[use]);
        }
    }
}

/* A scale whose dims may be others than the rows' stays a Mul of its own. */
static void a_scale_of_other_names(void **state)
{
    (void)state;
    static const char *const scales[] = {"K", "?", "*", "S,1,H", "1,S,?"};
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        build *const b = begin(13, RMSNORM_FLOAT, "B,S,H");
        (void)build_value(b, "scale", RMSNORM_FLOAT, scales[i]);
        add_chain(b, "x", "rows");
        (void)build_node(b, "Mul", "rows,scale", "y");
        build_output(b, "y");
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, false);
        assert_string_equal(build_nodes(b, 0),
                            "SimplifiedLayerNormalization(x, rmsnorm_ones) = rows; Mul(rows, scale) = y");
        rewritten_check_graph(b, RMSNORM_TARGET_RMSNORM, scales[i]);
        build_end(b);
    }
}

static void axes_that_cannot_be_told(void **state)
{
    (void)state;
    static const struct {
        const char *dims, *mean, *reason;
    } cases[] = {
        {"*", "ReduceMean axes=[2]", "the mean's axis is 2, and the rank of \"x\" is not known"},
        {"2,3,8", "ReduceMean axes=[-4]", "the mean's axis -4 is no dim of \"x\""},
        {"2,3,8", "ReduceMean axes=[-1,-2,-3,-4]", "the mean's axis -4 is no dim of \"x\""},
        {"2,3,8", "ReduceMean axes=[3]", "the mean's axis 3 is no dim of \"x\""},
        {"2,3,0", "ReduceMean axes=[2]", "the mean is over no elements"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(13, RMSNORM_FLOAT, cases[i].dims);
        const line lines[] = {{"Mul", "x,x", "sq"},
                              {cases[i].mean, "sq", "mean"},
                              {"Add", "mean,eps", "sum"},
                              {"Sqrt", "sum", "root"},
                              {"Div", "x,root", "rows"}};
        LINES(b, lines);
        build_output(b, "rows");
        check_refused(b, true, cases[i].reason);
    }
    build *const b = begin(18, RMSNORM_FLOAT, "2,3,8");
    (void)build_value(b, "given", RMSNORM_INT64, "1");
    static const line lines[] = {{"Mul", "x,x", "sq"},
                                 {"ReduceMean", "sq,given", "mean"},
                                 {"Add", "mean,eps", "sum"},
                                 {"Sqrt", "sum", "root"},
                                 {"Div", "x,root", "rows"}};
    LINES(b, lines);
    check_refused(b, true, "the mean's axes \"given\" are no constant");
}

/* What follows in another graph is not the chain's: it may never run, or often. */
static void chains_that_end_inside_another_graph(void **state)
{
    (void)state;
    build *b = begin(13, RMSNORM_FLOAT, "2,3,8");
    add_chain(b, "x", "rows");
    const size_t owner = build_node(b, "If", "choice", "y");
    build_output(b, "y");
    (void)build_graph(b, owner);
    (void)build_node(b, "Mul", "rows,gamma", "inside");
    build_output(b, "inside");
    check(b, NULL, "SimplifiedLayerNormalization(x, rmsnorm_ones) = rows; If(choice) = y");
    b = begin(13, RMSNORM_FLOAT, "2,3,8");
    static const line lines[] = {{"Mul", "x,x", "sq"},
                                 {"ReduceMean axes=[-1]", "sq", "mean"},
                                 {"Add", "mean,eps", "sum"},
                                 {"Sqrt", "sum", "root"}};
    LINES(b, lines);
    (void)build_graph(b, build_node(b, "If", "choice", "y"));
    (void)build_node(b, "Div", "x,root", "inside");
    build_output(b, "inside");
    check_refused(b, true, "the root \"root\" is used in a subgraph");
}

/* An addition outside and its norm inside another graph are two nodes. */
static void an_addition_of_an_outer_graph(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    (void)build_node(b, "Add", "x,skip", "sum");
    const size_t owner = build_node(b, "If", "choice", "y");
    build_output(b, "y");
    const size_t graph = build_graph(b, owner);
    (void)build_node(b, "SimplifiedLayerNormalization", "sum,gamma", "inside");
    build_output(b, "inside");
    rewritten_infer(b);
    fuse(b, RMSNORM_TARGET_RMSNORM, true);
    assert_string_equal(build_nodes(b, 0), "Add(x, skip) = sum; If(choice) = y");
    assert_string_equal(build_nodes(b, graph), "SimplifiedLayerNormalization(sum, gamma) = inside");
    build_end(b);
}

/* Both inside: the sum is found there, and what it reads is outside. */
static void an_addition_inside_another_graph(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    const size_t owner = build_node(b, "If", "choice", "y");
    build_output(b, "y");
    const size_t graph = build_graph(b, owner);
    static const line lines[] = {{"Add", "x,skip", "inner"}, {"Add", "inner,bias", "sum"}};
    LINES(b, lines);
    add_chain(b, "sum", "rows");
    (void)build_node(b, "Mul", "rows,gamma", "inside");
    build_output(b, "inside");
    rewritten_infer(b);
    rewritten r = {.b = b, .seed = 2};
    rewritten_before(&r, NULL);
    fuse(b, RMSNORM_TARGET_RMSNORM, false);
    assert_string_equal(build_nodes(b, graph), "SkipSimplifiedLayerNormalization(x, skip, gamma, bias) = inside");
    rewritten_check_graph(b, RMSNORM_TARGET_RMSNORM, "");
    rewritten_after(&r);
    rewritten_end(&r);
    build_end(b);
}

/* The mean is in a subgraph, the square is not. */
static void a_square_of_an_outer_graph(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    (void)build_node(b, "Mul", "x,x", "sq");
    const size_t node = build_node(b, "If", "choice", "y");
    build_output(b, "y");
    (void)build_graph(b, node);
    static const line lines[] = {{"ReduceMean axes=[-1]", "sq", "mean"},
                                 {"Add", "mean,eps", "sum"},
                                 {"Sqrt", "sum", "root"},
                                 {"Div", "x,root", "rows"}};
    LINES(b, lines);
    build_output(b, "rows");
    check_refused(b, false, "the square is computed in an outer graph");
}

/* F42: what is left out is the default of its own operator. */
static void f42_nodes_without_attributes(void **state)
{
    (void)state;
    build *const b = begin(23, RMSNORM_FLOAT, "2,3,8");
    static const line lines[] = {{"Add", "x,skip", "sum"},
                                 {"SimplifiedLayerNormalization", "sum,gamma", "y"},
                                 {"Add", "y,skip", "second"},
                                 {"RMSNormalization", "second,gamma", "z"}};
    LINES(b, lines);
    build_output(b, "z");
    rewritten_infer(b);
    rewritten r = {.b = b};
    rewritten_before(&r, NULL);
    fuse(b, RMSNORM_TARGET_RMSNORM, false);
    assert_string_equal(build_nodes(b, 0), "SkipSimplifiedLayerNormalization(x, skip, gamma) = y; "
                                           "SkipSimplifiedLayerNormalization(y, skip, gamma) = z");
    for (size_t n = b->ir->graphs[0].first; n != RMSNORM_NO_INDEX; n = b->ir->nodes[n].shown.next) {
        assert_true(rmsnorm_ir_attribute(b->ir, n, "epsilon")->f == 1e-5f);
        assert_null(rmsnorm_ir_attribute(b->ir, n, "axis"));
    }
    rewritten_check_graph(b, RMSNORM_TARGET_RMSNORM, "");
    rewritten_after(&r);
    rewritten_end(&r);
    build_end(b);
}

/* F44: eight placements of casts, and what each becomes. */
static void f44_casts(void **state)
{
    (void)state;
    static const struct {
        const char *before, *after; /* casts around the scale */
        const char *scale;
        const char *nodes;
    } cases[] = {
        {"Cast to=10", "", "gamma", "RMSNormalization(x, gamma) = y"},
        {"Cast to=10", "", "narrowed", "Cast(wide_gamma) = narrowed; RMSNormalization(x, narrowed) = y"},
        {"Cast to=10", "Cast to=1", "gamma", "RMSNormalization(x, gamma) = scaled; Cast(scaled) = y"},
        {"", "Cast to=10", "widened", "SimplifiedLayerNormalization(x, gamma) = y"},
        {"", "Cast to=10", "wide_gamma", "SimplifiedLayerNormalization(x, wide_gamma) = scaled; Cast(scaled) = y"},
        {"", "", "wide_gamma", "SimplifiedLayerNormalization(x, wide_gamma) = y"},
        {"Cast to=10", "", "", "SimplifiedLayerNormalization(x, rmsnorm_ones) = y"},
        {"", "", "", "SimplifiedLayerNormalization(x, rmsnorm_ones) = y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(17, RMSNORM_FLOAT16, "2,3,8");
        (void)build_node(b, "Cast to=1", "x", "wide");
        add_chain(b, "wide", "rows");
        const char *last = "rows";
        const bool before = cases[i].before[0] != '\0', after = cases[i].after[0] != '\0',
                   scale = cases[i].scale[0] != '\0';
        if (before) {
            last = !scale && !after ? "y" : "down";
            (void)build_node(b, cases[i].before, "rows", last);
        }
        if (strcmp(cases[i].scale, "narrowed") == 0) {
            (void)build_node(b, "Cast to=10", "wide_gamma", "narrowed");
        } else if (strcmp(cases[i].scale, "widened") == 0) {
            (void)build_node(b, "Cast to=1", "gamma", "widened");
        }
        if (scale) {
            char inputs[64];
            snprintf(inputs, sizeof inputs, "%s,%s", last, cases[i].scale);
            last = after ? "scaled" : "y";
            (void)build_node(b, "Mul", inputs, last);
        }
        if (after) {
            (void)build_node(b, cases[i].after, last, "y");
        }
        char nodes[200];
        snprintf(nodes, sizeof nodes, "%s", cases[i].nodes);
        if (strcmp(last, "rows") == 0) {
            build_output(b, "rows");
            snprintf(nodes, sizeof nodes, "SimplifiedLayerNormalization(x, rmsnorm_ones) = rows");
        } else {
            build_output(b, "y");
        }
        check(b, NULL, nodes);
    }
}

/* F45, F119: no node that the target cannot run. */
static void f45_f119_targets(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype x;
        rmsnorm_target target;
        const char *nodes;
    } cases[] = {
        {RMSNORM_FLOAT16, RMSNORM_TARGET_RMSNORM, "SimplifiedLayerNormalization(x, wide_gamma) = y"},
        {RMSNORM_FLOAT16, RMSNORM_TARGET_ORT_CPU, "Cast(x) = wide; SimplifiedLayerNormalization(wide, wide_gamma) = y"},
        {RMSNORM_FLOAT16, RMSNORM_TARGET_ORT_WEBGPU,
         "Cast(x) = wide; SimplifiedLayerNormalization(wide, wide_gamma) = y"},
        {RMSNORM_FLOAT16, RMSNORM_TARGET_ONNX, "Cast(x) = wide; RMSNormalization(wide, wide_gamma) = y"},
        {RMSNORM_BFLOAT16, RMSNORM_TARGET_ORT_CPU,
         "Cast(x) = wide; SimplifiedLayerNormalization(wide, wide_gamma) = y"},
        {RMSNORM_BFLOAT16, RMSNORM_TARGET_RMSNORM, "SimplifiedLayerNormalization(x, wide_gamma) = y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(18, cases[i].x, "2,3,8");
        (void)build_node(b, "Cast to=1", "x", "wide");
        add_chain(b, "wide", "rows");
        (void)build_node(b, "Mul", "rows,wide_gamma", "y");
        build_output(b, "y");
        const wanted want = {cases[i].target, false, cases[i].nodes};
        check_as(b, NULL, &want);
    }
    build *const b = begin(18, RMSNORM_DOUBLE, "2,3,8");
    add_chain(b, "x", "rows");
    (void)build_node(b, "Mul", "rows,gamma", "y");
    build_output(b, "y");
    const wanted alone = {RMSNORM_TARGET_ORT_WEBGPU, false, NULL};
    check_as(b, NULL, &alone);
}

/* F47: the addition is float16, the norm float after a cast. */
static void f47_a_sum_of_another_type(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT16, "2,3,8");
    static const line lines[] = {{"Add", "x,skip", "sum"}, {"Cast to=1", "sum", "wide"}};
    LINES(b, lines);
    add_chain(b, "wide", "rows");
    (void)build_node(b, "Mul", "rows,wide_gamma", "y");
    build_output(b, "y");
    check(b, NULL, "Add(x, skip) = sum; SimplifiedLayerNormalization(sum, wide_gamma) = y");
}

/* F48: old opsets and a large outlier, whose square leaves float16. */
static void f48_a_large_outlier(void **state)
{
    (void)state;
    static const int64_t opsets[] = {7, 11, 13, 14, 17, 18};
    for (size_t i = 0; i < sizeof opsets / sizeof opsets[0]; i++) {
        build *const b = begin(opsets[i], RMSNORM_FLOAT16, "1,1,8");
        (void)build_node(b, "Cast to=1", "x", "wide");
        add_chain(b, "wide", "rows");
        static const line lines[] = {{"Cast to=10", "rows", "down"}, {"Mul", "down,gamma", "y"}};
        LINES(b, lines);
        build_output(b, "y");
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, false);
        assert_int_equal(rewritten_count(b, "RMSNormalization"), 1);
        uint16_t x[8], one[8];
        rmsnorm_tensor tensor = {.dtype = RMSNORM_FLOAT16, .rank = 3, .dims = {1, 1, 8}, .data = x};
        rmsnorm_tensor gamma = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {8}, .data = one};
        for (size_t k = 0; k < 8; k++) {
            evaluate_store(&tensor, k, k == 3 ? 795.0 : 0.5);
            evaluate_store(&gamma, k, 1.0);
        }
        evaluation *const e = evaluate_begin(b->ir);
        evaluate_give(e, build_find(b, "x"), &tensor);
        evaluate_give(e, build_find(b, "gamma"), &gamma);
        evaluate_run(e);
        const rmsnorm_tensor *const y = evaluate_value(e, build_find(b, "y"));
        /* 795 / sqrt((795^2 + 7/4) / 8 + 2^-17) = 2.82842321 */
        assert_true(evaluate_element(y, 3) == 2.828125);
        assert_true(evaluate_element(y, 0) == 0x1.d24p-10); /* 0.5 * 0.00355776 */
        evaluate_end(e);
        build_end(b);
    }
}

/* F51: no scale: ones, and the same for all of one type and size. */
static void f51_ones_are_shared(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_BFLOAT16, "2,3,8");
    (void)build_value(b, "short", RMSNORM_BFLOAT16, "2,3,4");
    for (int i = 0; i < 3; i++) {
        static const char *const x[] = {"x", "skip", "short"}, *const wide[] = {"wide0", "wide1", "wide2"},
                                 *const rows[] = {"rows0", "rows1", "rows2"}, *const y[] = {"y0", "y1", "y2"};
        (void)build_node(b, "Cast to=1", x[i], wide[i]);
        add_chain(b, wide[i], rows[i]);
        (void)build_node(b, "Cast to=16", rows[i], y[i]);
    }
    build_output(b, "y0,y1,y2");
    check(b, NULL,
          "SimplifiedLayerNormalization(x, rmsnorm_ones) = y0; SimplifiedLayerNormalization(skip, rmsnorm_ones) = "
          "y1; SimplifiedLayerNormalization(short, rmsnorm_ones_1) = y2");
}

/* F53: relaxed, rows of float16 come closer to the truth on the whole, and never are further off than a rounding. */
static void f53_errors_shrink(void **state)
{
    (void)state;
    enum { ROWS = 1000, WIDTH = 16 };
    build *const b = build_begin(13);
    (void)build_value(b, "x", RMSNORM_FLOAT16, "1000,16");
    (void)build_value(b, "gamma", RMSNORM_FLOAT16, "16");
    (void)build_constant(b, "two", RMSNORM_FLOAT16, "", "2");
    (void)build_constant(b, "eps", RMSNORM_FLOAT16, "", "0.0009765625");
    static const line lines[] = {{"Pow", "x,two", "sq"},     {"ReduceMean axes=[-1]", "sq", "mean"},
                                 {"Add", "mean,eps", "sum"}, {"Sqrt", "sum", "root"},
                                 {"Div", "x,root", "rows"},  {"Mul", "rows,gamma", "y"}};
    LINES(b, lines);
    build_output(b, "y");
    rewritten_infer(b);
    static uint16_t data[ROWS * WIDTH], factors[WIDTH];
    rmsnorm_tensor x = {.dtype = RMSNORM_FLOAT16, .rank = 2, .dims = {ROWS, WIDTH}, .data = data};
    rmsnorm_tensor gamma = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {WIDTH}, .data = factors};
    uint32_t random = 53;
    for (size_t i = 0; i < (size_t)ROWS * WIDTH; i++) {
        random = random * 1664525u + 1013904223u;
        evaluate_store(&x, i, ((double)(random >> 8) / 0x1p24 - 0.5) * 4.0);
        evaluate_store(&gamma, i % WIDTH, 0.5 + (double)(random >> 8) / 0x1p24);
    }
    evaluation *const before = evaluate_begin(b->ir);
    evaluate_give(before, build_find(b, "x"), &x);
    evaluate_give(before, build_find(b, "gamma"), &gamma);
    evaluate_run(before);
    fuse(b, RMSNORM_TARGET_RMSNORM, true);
    assert_string_equal(build_nodes(b, 0), "SimplifiedLayerNormalization(x, gamma) = y");
    assert_true(only_finding(b)->done);
    assert_string_equal(only_finding(b)->reason,
                        "the statistics are rounded to float16 on the way, and so are the rows "
                        "before the scale");
    evaluation *const after = evaluate_begin(b->ir);
    evaluate_give(after, build_find(b, "x"), &x);
    evaluate_give(after, build_find(b, "gamma"), &gamma);
    evaluate_run(after);
    double was = 0.0, is = 0.0;
    for (size_t row = 0; row < ROWS; row++) {
        double sum = 0.0;
        for (size_t i = 0; i < WIDTH; i++) {
            sum += evaluate_element(&x, row * WIDTH + i) * evaluate_element(&x, row * WIDTH + i);
        }
        const double inverse = 1.0 / sqrt(sum / WIDTH + 0.0009765625);
        for (size_t i = 0; i < WIDTH; i++) {
            const double truth = evaluate_element(&x, row * WIDTH + i) * inverse * evaluate_element(&gamma, i);
            const size_t y = build_find(b, "y"), at = row * WIDTH + i;
            was += evaluate_distance(RMSNORM_FLOAT16, evaluate_element(evaluate_value(before, y), at), truth);
            const double now =
                evaluate_distance(RMSNORM_FLOAT16, evaluate_element(evaluate_value(after, y), at), truth);
            assert_true(now < 0.502);
            is += now;
        }
    }
    assert_true(is < was);
    evaluate_end(before);
    evaluate_end(after);
    build_end(b);
}

/* Op 3 rounds the rows before the scale, as such a chain does: only the statistics are others. */
static void relaxed_chains_in_the_standard_operator(void **state)
{
    (void)state;
    build *const b = begin(23, RMSNORM_FLOAT16, "2,3,8");
    (void)build_constant(b, "small", RMSNORM_FLOAT16, "", "0.0009765625");
    static const line lines[] = {{"Mul", "x,x", "sq"},         {"ReduceMean", "sq,axes", "mean"},
                                 {"Add", "mean,small", "sum"}, {"Sqrt", "sum", "root"},
                                 {"Div", "x,root", "rows"},    {"Mul", "rows,gamma", "y"}};
    LINES(b, lines);
    build_output(b, "y");
    rewritten_infer(b);
    fuse(b, RMSNORM_TARGET_RMSNORM, true);
    assert_string_equal(build_nodes(b, 0), "RMSNormalization(x, gamma) = y");
    assert_string_equal(only_finding(b)->reason, "the statistics are rounded to float16 on the way");
    build_end(b);
}

/* Relaxed mode may round less, never more: rows that are scaled in float are not rounded to float16 before. */
static void relaxed_mode_adds_no_rounding(void **state)
{
    (void)state;
    static const char *const nodes[] = {"SimplifiedLayerNormalization(x, gamma) = y",
                                        "Cast(x) = wide; RMSNormalization(wide, gamma) = y"};
    for (int target = 0; target < 2; target++) {
        build *const b = begin(23, RMSNORM_FLOAT16, "2,3,8");
        (void)build_constant(b, "small", RMSNORM_DOUBLE, "", "0.0009765625");
        static const line lines[] = {
            {"Cast to=1", "x", "wide"},        {"Mul", "wide,wide", "sq"},      {"ReduceMean", "sq,axes", "mean"},
            {"Cast to=11", "mean", "precise"}, {"Add", "precise,small", "sum"}, {"Sqrt", "sum", "root"},
            {"Cast to=1", "root", "plain"},    {"Div", "wide,plain", "rows"},   {"Cast to=1", "gamma", "factor"},
            {"Mul", "rows,factor", "scaled"},  {"Cast to=10", "scaled", "y"}};
        LINES(b, lines);
        build_output(b, "y");
        rewritten_infer(b);
        fuse(b, target == 0 ? RMSNORM_TARGET_RMSNORM : RMSNORM_TARGET_ONNX, true);
        assert_string_equal(build_nodes(b, 0), nodes[target]);
        assert_string_equal(only_finding(b)->reason, "the statistics are rounded to float on the way");
        build_end(b);
    }
}

/* More elements than a block of lanes: the sums of floats and doubles are exact or as good. */
static void long_rows(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_DOUBLE};
    for (size_t i = 0; i < 2; i++) {
        build *const b = begin(13, dtypes[i], "3,1000");
        (void)build_value(b, "long", dtypes[i], "1000");
        add_chain(b, "x", "rows");
        (void)build_node(b, "Mul", "rows,long", "y");
        build_output(b, "y");
        check(b, NULL, "SimplifiedLayerNormalization(x, long) = y");
    }
}

/* F56: 11 is another arithmetic than the skip operator's; 10 and 16 are nothing that can be relied on. */
static void f56_stash_types(void **state)
{
    (void)state;
    static const struct {
        const char *op, *reason; /* NULL: fused */
    } cases[] = {
        {"RMSNormalization stash_type=1", NULL},
        {"RMSNormalization stash_type=11", "stash_type is 11; SkipSimplifiedLayerNormalization computes in float"},
        {"RMSNormalization stash_type=10", ""},
        {"RMSNormalization stash_type=16", ""},
        {"SimplifiedLayerNormalization stash_type=11", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(23, RMSNORM_FLOAT, "2,3,8");
        (void)build_node(b, "Add", "x,skip", "sum");
        (void)build_node(b, cases[i].op, "sum,gamma", "y");
        build_output(b, "y");
        if (cases[i].reason == NULL) {
            check(b, NULL, "SkipSimplifiedLayerNormalization(x, skip, gamma) = y");
        } else if (cases[i].reason[0] != '\0') {
            check_refused(b, true, cases[i].reason);
        } else {
            size_t count;
            assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
            (void)rmsnorm_ir_faults(b->ir, &count);
            assert_int_equal(count, 1);
            fuse(b, RMSNORM_TARGET_RMSNORM, true);
            assert_int_equal(rewritten_count(b, "RMSNormalization"), 1);
            build_end(b);
        }
    }
}

/* ---- Chains among other nodes ---------------------------------------------------------------- */

static void centered_rows_are_a_layer_normalization(void **state)
{
    (void)state;
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        for (int cast = 0; cast < 2; cast++) {
            build *const b = begin(13, cast != 0 ? RMSNORM_FLOAT16 : RMSNORM_FLOAT, "2,3,8");
            const char *x = "x";
            if (cast != 0) {
                (void)build_node(b, "Cast to=1", "x", "wide");
                x = "wide";
            }
            char inputs[32];
            (void)build_node(b, "ReduceMean axes=[-1]", x, "average");
            snprintf(inputs, sizeof inputs, "%s,average", x);
            (void)build_node(b, "Sub", inputs, "centered");
            add_chain(b, "centered", "rows");
            build_output(b, "rows");
            check_refused(b, relaxed != 0, "it is fed by x - mean(x), so it is a LayerNormalization");
        }
    }
}

static void norms_multiplied_with_each_other(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    add_chain(b, "x", "a");
    add_chain(b, "skip", "c");
    (void)build_node(b, "Mul", "a,c", "y");
    build_output(b, "y");
    check(b, NULL, "SimplifiedLayerNormalization(skip, rmsnorm_ones) = c; SimplifiedLayerNormalization(x, c) = y");
}

static void one_input_normalized_twice(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT16, "2,3,8");
    (void)build_node(b, "Cast to=1", "x", "wide");
    add_chain(b, "wide", "a");
    add_chain(b, "wide", "c");
    static const line lines[] = {{"Mul", "a,wide_gamma", "y"}, {"Cast to=10", "c", "z"}};
    LINES(b, lines);
    build_output(b, "y,z");
    check(b, NULL,
          "SimplifiedLayerNormalization(x, wide_gamma) = y; SimplifiedLayerNormalization(x, rmsnorm_ones) = z");
}

static void rows_under_two_scales(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    add_chain(b, "x", "rows");
    static const line lines[] = {{"Mul", "rows,gamma", "y"}, {"Mul", "rows,bias", "z"}};
    LINES(b, lines);
    build_output(b, "y,z");
    check(b, NULL, "SimplifiedLayerNormalization(x, rmsnorm_ones) = rows; Mul(rows, gamma) = y; Mul(rows, bias) = z");
}

/* A norm of a norm: both, and the second reads the first. */
static void a_norm_of_a_norm(void **state)
{
    (void)state;
    build *const b = begin(18, RMSNORM_FLOAT, "2,3,8");
    add_chain(b, "x", "a");
    (void)build_node(b, "Mul", "gamma,a", "first");
    add_chain(b, "first", "c");
    build_output(b, "c");
    check(b, NULL,
          "SimplifiedLayerNormalization(x, gamma) = first; SimplifiedLayerNormalization(first, rmsnorm_ones) = c");
}

static void chains_inside_other_graphs(void **state)
{
    (void)state;
    static const char *const owners[] = {"If", "Loop"};
    for (size_t i = 0; i < 2; i++) {
        build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
        const size_t node = build_node(b, owners[i], "choice", "y");
        build_output(b, "y");
        const size_t graph = build_graph(b, node);
        add_chain(b, "x", "rows");
        (void)build_node(b, "Mul", "rows,gamma", "inside");
        build_output(b, "inside");
        assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
        rewritten r = {.b = b, .seed = 3};
        rewritten_before(&r, NULL);
        fuse(b, RMSNORM_TARGET_RMSNORM, false);
        assert_string_equal(build_nodes(b, graph), "SimplifiedLayerNormalization(x, gamma) = inside");
        rewritten_after(&r);
        rewritten_end(&r);
        build_end(b);
    }
}

/* ---- The opset ------------------------------------------------------------------------------- */

/* A chain in op 3's order: cast down, then scaled; another node stays. */
static build *standard_chain(int64_t opset, const line *other)
{
    build *const b = begin(opset, RMSNORM_FLOAT16, "2,3,8");
    (void)build_node(b, "Cast to=1", "x", "wide");
    add_chain(b, "wide", "rows");
    static const line lines[] = {{"Cast to=10", "rows", "down"}, {"Mul", "down,gamma", "y"}};
    LINES(b, lines);
    build_output(b, "y");
    if (other != NULL) {
        (void)build_node(b, other->op, other->inputs, other->outputs);
    }
    return b;
}

static void the_opset_is_raised_where_nothing_changes(void **state)
{
    (void)state;
    static const line harmless = {"Sqrt", "skip", "other"};
    for (int64_t opset = 7; opset <= 25; opset++) {
        build *const b = standard_chain(opset, &harmless);
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, false);
        assert_string_equal(build_nodes(b, 0), "RMSNormalization(x, gamma) = y; Sqrt(skip) = other");
        assert_int_equal(rmsnorm_ir_opset(b->ir, ""), opset < 23 ? 23 : opset);
        build_end(b);
    }
}

static void the_opset_stays_for_what_op_1_does(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    add_chain(b, "x", "rows");
    (void)build_node(b, "Mul", "rows,gamma", "y");
    build_output(b, "y");
    rewritten_infer(b);
    fuse(b, RMSNORM_TARGET_RMSNORM, false);
    assert_int_equal(rmsnorm_ir_opset(b->ir, ""), 13);
    build_end(b);
}

static void the_opset_stays_for_another_node(void **state)
{
    (void)state;
    static const line others[] = {{"ReduceMean axes=[0]", "skip", "other"}, {"Unheard", "skip", "other"}};
    for (size_t i = 0; i < 2; i++) {
        build *b = standard_chain(13, &others[i]);
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, false);
        char nodes[200];
        snprintf(nodes, sizeof nodes,
                 "SimplifiedLayerNormalization(x, rmsnorm_ones) = down; Mul(down, gamma) = y; %s(skip) = other",
                 i == 0 ? "ReduceMean" : "Unheard");
        assert_string_equal(build_nodes(b, 0), nodes);
        assert_int_equal(rmsnorm_ir_opset(b->ir, ""), 13);
        build_end(b);
        b = standard_chain(13, &others[i]); /* where there is only op 3, nothing can be done */
        rewritten_infer(b);
        const char *const before = build_nodes(b, 0);
        fuse(b, RMSNORM_TARGET_ONNX, false);
        assert_string_equal(build_nodes(b, 0), before);
        assert_non_null(strstr(only_finding(b)->reason,
                               "RMSNormalization needs opset 23, and the model's 13 cannot be raised: "
                               "node \"other\": "));
        build_end(b);
    }
    build *const b = standard_chain(13, NULL);
    rmsnorm_ir_fix_opset(b->ir, "the model defines functions");
    check(b, NULL, "SimplifiedLayerNormalization(x, rmsnorm_ones) = down; Mul(down, gamma) = y");
}

/* What a chain needs that is left alone, or that stands in another graph, keeps the opset as well. */
static void the_opset_stays_for_a_chain_that_stays(void **state)
{
    (void)state;
    for (int second = 0; second < 3; second++) {
        build *const b = second > 0 ? standard_chain(13, NULL) : begin(13, RMSNORM_FLOAT16, "2,3,8");
        if (second == 2) {
            (void)build_graph(b, build_node(b, "If", "choice", "z"));
            (void)build_node(b, "ReduceMean axes=[0]", "x", "inside");
            build_output(b, "inside");
            b->graph = 0;
        } else { /* op 3's order, but all in float16 */
            (void)build_constant(b, "small", RMSNORM_FLOAT16, "", "0.0009765625");
            static const line lines[] = {{"Mul", "skip,skip", "sq"},   {"ReduceMean axes=[-1]", "sq", "mean"},
                                         {"Add", "mean,small", "sum"}, {"Sqrt", "sum", "root"},
                                         {"Div", "skip,root", "all"},  {"Mul", "all,gamma", "z"}};
            LINES(b, lines);
        }
        build_output(b, "z");
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, false);
        assert_int_equal(rmsnorm_ir_opset(b->ir, ""), 13);
        assert_int_equal(rewritten_count(b, "SimplifiedLayerNormalization"), second > 0);
        assert_int_equal(rewritten_count(b, "RMSNormalization"), 0);
        build_end(b);
    }
}

/* ---- Additions ------------------------------------------------------------------------------- */

/* Nodes around a norm of "sum" that make no difference to whether the addition is fused. */
static void additions_of_two(void **state)
{
    (void)state;
    static const struct {
        const char *dims, *skip, *add, *op, *nodes;
    } cases[] = {
        {"2,3,8", "2,3,8", "x,other", "SimplifiedLayerNormalization", "(x, other, gamma)"},
        {"2,3,8", "2,3,8", "other,x", "SimplifiedLayerNormalization", "(other, x, gamma)"},
        {"2,3,8", "2,3,8", "x,other", "RMSNormalization axis=2", "(x, other, gamma)"},
        {"3,8", "3,8", "x,other", "RMSNormalization axis=-1", "(x, other, gamma)"},
        {"2,3,8", "3,8", "x,other", "SimplifiedLayerNormalization", "(x, other, gamma)"},
        {"2,3,8", "3,8", "other,x", "SimplifiedLayerNormalization", "(x, other, gamma)"},
        {"2,3,8", "1,3,8", "other,x", "SimplifiedLayerNormalization", "(x, other, gamma)"},
        {"B,S,8", "B,S,8", "x,other", "SimplifiedLayerNormalization", "(x, other, gamma)"},
        {"B,S,8", "S,8", "other,x", "SimplifiedLayerNormalization", "(x, other, gamma)"},
        {"B,S,8", "1,S,8", "x,other", "SimplifiedLayerNormalization", "(x, other, gamma)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(23, RMSNORM_FLOAT, cases[i].dims);
        (void)build_value(b, "other", RMSNORM_FLOAT, cases[i].skip);
        (void)build_node(b, "Add", cases[i].add, "sum");
        (void)build_node(b, cases[i].op, "sum,gamma", "y");
        build_output(b, "y");
        char nodes[120];
        snprintf(nodes, sizeof nodes, "SkipSimplifiedLayerNormalization%s = y", cases[i].nodes);
        check(b, "B=2,S=3", nodes);
    }
}

static void additions_that_stay(void **state)
{
    (void)state;
#define OPERANDS "the operands of node \"sum\" are not known to have the same shape, or (S,H) or (1,S,H) beside (B,S,H)"
    static const struct {
        const char *dims, *other, *op, *gamma, *reason; /* NULL: no finding */
    } cases[] = {
        {"2,3,8", "2,1,8", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"2,3,8", "3,1", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"2,3,8", "2,3,1", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"2,3,8", "", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"3,8", "1,8", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"2,3,8", "8", "SimplifiedLayerNormalization", "8", NULL}, /* a bias */
        {"2,1,8", "1,3,8", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"B,S,8", "C,S,8", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"?,?,8", "?,?,8", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"2,3,8", "?,3,8", "SimplifiedLayerNormalization", "8", OPERANDS},
        {"*", "2,3,8", "SimplifiedLayerNormalization", "8", "the rank of \"sum\" is not known"},
        {"8", "8", "SimplifiedLayerNormalization", "8", NULL},
        {"2,2,3,8", "2,2,3,8", "SimplifiedLayerNormalization", "8",
         "\"sum\" has 4 dims; SkipSimplifiedLayerNormalization takes 2 or 3"},
        {"2,3,8", "2,3,8", "SimplifiedLayerNormalization axis=1", "3,8", "the norm is over more than the last dim"},
        {"2,3,8", "2,3,8", "SimplifiedLayerNormalization", "1",
         "gamma \"factor\" is not known to have one dim, the last of \"sum\""},
        {"2,3,8", "2,3,8", "SimplifiedLayerNormalization", "1,8",
         "gamma \"factor\" is not known to have one dim, the last of \"sum\""},
        {"2,3,8", "2,3,8", "SimplifiedLayerNormalization", "*",
         "gamma \"factor\" is not known to have one dim, the last of \"sum\""},
        {"2,3,8", "2,3,8", "SimplifiedLayerNormalization epsilon=-1e-5", "8",
         "epsilon is -1e-05; SkipSimplifiedLayerNormalization takes finite ones from 0 up"},
        {"2,3,8", "2,3,8", "SimplifiedLayerNormalization epsilon=nan", "8",
         "epsilon is nan; SkipSimplifiedLayerNormalization takes finite ones from 0 up"},
        {"2,3,8", "2,3,8", "SimplifiedLayerNormalization epsilon=inf", "8",
         "epsilon is inf; SkipSimplifiedLayerNormalization takes finite ones from 0 up"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(23, RMSNORM_FLOAT, cases[i].dims);
        (void)build_value(b, "other", RMSNORM_FLOAT, cases[i].other);
        (void)build_value(b, "factor", RMSNORM_FLOAT, cases[i].gamma);
        (void)build_node(b, "Add", "x,other", "sum");
        (void)build_node(b, cases[i].op, "sum,factor", "y");
        build_output(b, "y");
        if (cases[i].reason != NULL) {
            check_refused(b, false, cases[i].reason);
            continue;
        }
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, true);
        size_t count;
        (void)rmsnorm_ir_findings(b->ir, &count);
        assert_int_equal(count, 0);
        assert_int_equal(rewritten_count(b, "Add"), 1);
        build_end(b);
    }
}

static void a_bias(void **state)
{
    (void)state;
    static const struct {
        line first, second;
        bool relaxed;
        const char *nodes;
    } cases[] = {
        {{"Add", "x,skip", "inner"}, {"Add", "inner,bias", "sum"}, false, "Skip(x, skip, gamma, bias)"},
        {{"Add", "x,skip", "inner"}, {"Add", "bias,inner", "sum"}, false, "Skip(x, skip, gamma, bias)"},
        {{"Add", "skip,x", "inner"}, {"Add", "inner,bias", "sum"}, false, "Skip(skip, x, gamma, bias)"},
        {{"Add", "x,bias", "inner"}, {"Add", "inner,skip", "sum"}, false, "Skip(inner, skip, gamma)"},
        {{"Add", "bias,x", "inner"}, {"Add", "skip,inner", "sum"}, false, "Skip(skip, inner, gamma)"},
        {{"Add", "x,bias", "inner"}, {"Add", "inner,skip", "sum"}, true, "Skip(x, skip, gamma, bias)"},
        {{"Add", "bias,x", "inner"}, {"Add", "skip,inner", "sum"}, true, "Skip(x, skip, gamma, bias)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
        (void)build_node(b, cases[i].first.op, cases[i].first.inputs, "inner");
        (void)build_node(b, cases[i].second.op, cases[i].second.inputs, "sum");
        (void)build_node(b, "SimplifiedLayerNormalization", "sum,gamma", "y");
        build_output(b, "y");
        const bool stays = strstr(cases[i].nodes, "inner") != NULL;
        char nodes[200];
        snprintf(nodes, sizeof nodes, "%s%s%sSkipSimplifiedLayerNormalization%s = y", stays ? "Add(" : "",
                 !stays                            ? ""
                 : cases[i].first.inputs[0] == 'x' ? "x, bias"
                                                   : "bias, x",
                 stays ? ") = inner; " : "", cases[i].nodes + 4);
        if (!cases[i].relaxed) {
            check(b, NULL, nodes);
            continue;
        }
        rewritten_infer(b);
        fuse(b, RMSNORM_TARGET_RMSNORM, true);
        assert_string_equal(build_nodes(b, 0), nodes);
        assert_string_equal(only_finding(b)->reason, "bias is added last instead of first");
        build_end(b);
    }
}

/* The sum inside stays when something else uses it; then only one addition can go. */
static void an_inner_sum_that_is_needed(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    static const line lines[] = {
        {"Add", "x,skip", "inner"}, {"Add", "inner,bias", "sum"}, {"SimplifiedLayerNormalization", "sum,gamma", "y"}};
    LINES(b, lines);
    build_output(b, "y,inner");
    check(b, NULL, "Add(x, skip) = inner; Add(inner, bias) = sum; SimplifiedLayerNormalization(sum, gamma) = y");
}

/* F52: the sum keeps its name, whoever uses it. */
static void f52_uses_of_the_sum(void **state)
{
    (void)state;
    for (int uses = 0; uses < 6; uses++) {
        build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
        (void)build_node(b, "Add", "x,skip", "sum");
        if (uses == 5) {
            (void)build_node(b, "Neg", "sum", "early"); /* between the addition and the norm */
        }
        (void)build_node(b, "SimplifiedLayerNormalization", "sum,gamma", "y");
        build_output(b, "y");
        const char *after = "";
        switch (uses) {
        case 1:
            (void)build_node(b, "Neg", "sum", "z");
            build_output(b, "z");
            after = "; Neg(sum) = z";
            break;
        case 2:
            (void)build_node(b, "Add", "y,sum", "z");
            (void)build_node(b, "Mul", "z,sum", "t");
            build_output(b, "t");
            after = "; Add(y, sum) = z; Mul(z, sum) = t";
            break;
        case 3:
            build_output(b, "sum");
            break;
        case 4:
            (void)build_graph(b, build_node(b, "If", "choice", "z"));
            (void)build_node(b, "Neg", "sum", "inside");
            build_output(b, "inside");
            b->graph = 0;
            build_output(b, "z");
            after = "; If(choice) = z";
            break;
        case 5:
            build_output(b, "early");
            after = "; Neg(sum) = early";
            break;
        default:
            break;
        }
        char nodes[200];
        snprintf(nodes, sizeof nodes, "SkipSimplifiedLayerNormalization(x, skip, gamma) = y%s%s",
                 uses > 0 ? ", , , sum" : "", after);
        check(b, NULL, nodes);
    }
}

/* The norm cannot go up to the first user of the sum before its gamma is there. */
static void a_place_that_is_too_early(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    static const line lines[] = {{"Add", "x,skip", "sum"},
                                 {"Neg", "sum", "early"},
                                 {"Neg", "gamma", "late"},
                                 {"SimplifiedLayerNormalization", "sum,late", "y"}};
    LINES(b, lines);
    build_output(b, "y,early");
    check_refused(b, true, "the sum is used before all inputs of the fused node are there");
}

/* The other user is a subgraph that stands before the norm. */
static void a_subgraph_before_the_norm(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    (void)build_node(b, "Add", "x,skip", "sum");
    const size_t owner = build_node(b, "If", "choice", "z");
    (void)build_node(b, "SimplifiedLayerNormalization", "sum,gamma", "y");
    (void)build_graph(b, owner);
    (void)build_node(b, "Neg", "sum", "inside");
    build_output(b, "inside");
    b->graph = 0;
    build_output(b, "z,y");
    check(b, NULL, "SkipSimplifiedLayerNormalization(x, skip, gamma) = y, , , sum; If(choice) = z");
}

/* Two norms of one sum: the first takes it over, the second reads what it gives. */
static void two_norms_of_one_sum(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    static const line lines[] = {{"Add", "x,skip", "sum"},
                                 {"SimplifiedLayerNormalization", "sum,gamma", "y"},
                                 {"SimplifiedLayerNormalization", "sum,bias", "z"}};
    LINES(b, lines);
    build_output(b, "y,z");
    check(b, NULL,
          "SkipSimplifiedLayerNormalization(x, skip, gamma) = y, , , sum; SimplifiedLayerNormalization(sum, bias) = z");
}

static void narrow_additions(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype dtype;
        const char *op, *given_up;
    } cases[] = {
        {RMSNORM_FLOAT16, "SimplifiedLayerNormalization", "the sum is no longer rounded before the norm"},
        {RMSNORM_BFLOAT16, "SimplifiedLayerNormalization", "the sum is no longer rounded before the norm"},
        {RMSNORM_FLOAT16, "RMSNormalization",
         "the sum is no longer rounded before the norm, nor are the rows before gamma"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int relaxed = 0; relaxed < 2; relaxed++) {
            build *const b = begin(23, cases[i].dtype, "2,3,8");
            (void)build_node(b, "Add", "x,skip", "sum");
            (void)build_node(b, cases[i].op, "sum,gamma", "y");
            build_output(b, "y");
            if (relaxed == 0) {
                char reason[120];
                snprintf(reason, sizeof reason,
                         "the addition rounds to %s before the norm, SkipSimplifiedLayerNormalization does not",
                         rmsnorm_dtype_name(cases[i].dtype));
                check_refused(b, false, reason);
                continue;
            }
            rewritten_infer(b);
            fuse(b, RMSNORM_TARGET_RMSNORM, true);
            assert_string_equal(build_nodes(b, 0), "SkipSimplifiedLayerNormalization(x, skip, gamma) = y");
            assert_true(only_finding(b)->done);
            assert_string_equal(only_finding(b)->reason, cases[i].given_up);
            build_end(b);
        }
    }
}

static void double_additions(void **state)
{
    (void)state;
    for (int relaxed = 0; relaxed < 2; relaxed++) {
        build *const b = begin(13, RMSNORM_DOUBLE, "2,3,8");
        (void)build_node(b, "Add", "x,skip", "sum");
        (void)build_node(b, "SimplifiedLayerNormalization", "sum,gamma", "y");
        build_output(b, "y");
        check_refused(b, relaxed != 0, "rmsnorm does not run SkipSimplifiedLayerNormalization on double");
    }
}

/* A statistic that is asked for is given by slot 2, where the target has it. */
static void a_statistic_beside_the_sum(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
        (void)build_node(b, "Add", "x,skip", "sum");
        (void)build_node(b, i == 0 ? "SimplifiedLayerNormalization" : "SimplifiedLayerNormalization stash_type=11",
                         "sum,gamma", "y,inv");
        build_output(b, "y,inv");
        if (i == 0) {
            check(b, NULL, "SkipSimplifiedLayerNormalization(x, skip, gamma) = y, , inv");
        } else {
            check_refused(b, true, "inv_std_var is asked for");
        }
    }
}

/* Chain and addition in one go, in the opset order and with the sum as an output. */
static void a_chain_after_an_addition(void **state)
{
    (void)state;
    build *const b = begin(18, RMSNORM_FLOAT, "B,S,8");
    (void)build_node(b, "Add", "x,skip", "sum");
    add_chain(b, "sum", "rows");
    (void)build_node(b, "Mul", "gamma,rows", "y");
    (void)build_node(b, "Add", "y,sum", "next");
    build_output(b, "next");
    check(b, "B=2,S=3", "SkipSimplifiedLayerNormalization(x, skip, gamma) = y, , , sum; Add(y, sum) = next");
}

static void additions_are_kept_on_request(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    (void)build_node(b, "Add", "x,skip", "sum");
    (void)build_node(b, "SimplifiedLayerNormalization", "sum,gamma", "y");
    build_output(b, "y");
    rewritten_infer(b);
    rmsnorm_fuse_options options = RMSNORM_FUSE_OPTIONS_INIT;
    options.residuals = RMSNORM_RESIDUALS_KEEP;
    assert_int_equal(rmsnorm_ir_fuse(b->ir, &options), RMSNORM_OK);
    assert_string_equal(build_nodes(b, 0), "Add(x, skip) = sum; SimplifiedLayerNormalization(sum, gamma) = y");
    options.residuals = RMSNORM_RESIDUALS_BY_TARGET;
    options.target = RMSNORM_TARGET_ORT_CPU; /* is slower with it */
    assert_int_equal(rmsnorm_ir_fuse(b->ir, &options), RMSNORM_OK);
    assert_string_equal(build_nodes(b, 0), "Add(x, skip) = sum; SimplifiedLayerNormalization(sum, gamma) = y");
    options.residuals = RMSNORM_RESIDUALS_FUSE;
    options.target = RMSNORM_TARGET_ONNX; /* has no such operator */
    assert_int_equal(rmsnorm_ir_fuse(b->ir, &options), RMSNORM_OK);
    assert_string_equal(build_nodes(b, 0), "Add(x, skip) = sum; SimplifiedLayerNormalization(sum, gamma) = y");
    build_end(b);
}

static void nodes_out_of_order_are_refused(void **state)
{
    (void)state;
    build *const b = begin(13, RMSNORM_FLOAT, "2,3,8");
    (void)build_value(b, "later", RMSNORM_FLOAT, "2,3,8");
    (void)build_node(b, "Neg", "later", "y");
    (void)build_node(b, "Neg", "x", "later");
    assert_int_equal(rmsnorm_ir_fuse(b->ir, NULL), RMSNORM_INVALID_ARGUMENT);
    build_end(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f15_f41_scales_that_broadcast),
        cmocka_unit_test(a_scale_that_grows_the_result),
        cmocka_unit_test(what_only_resembles_a_norm),
        cmocka_unit_test(values_in_between_that_are_needed),
        cmocka_unit_test(a_scale_of_other_names),
        cmocka_unit_test(axes_that_cannot_be_told),
        cmocka_unit_test(chains_that_end_inside_another_graph),
        cmocka_unit_test(an_addition_of_an_outer_graph),
        cmocka_unit_test(an_addition_inside_another_graph),
        cmocka_unit_test(a_square_of_an_outer_graph),
        cmocka_unit_test(f42_nodes_without_attributes),
        cmocka_unit_test(f44_casts),
        cmocka_unit_test(f45_f119_targets),
        cmocka_unit_test(f47_a_sum_of_another_type),
        cmocka_unit_test(f48_a_large_outlier),
        cmocka_unit_test(f51_ones_are_shared),
        cmocka_unit_test(f53_errors_shrink),
        cmocka_unit_test(relaxed_chains_in_the_standard_operator),
        cmocka_unit_test(relaxed_mode_adds_no_rounding),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(f56_stash_types),
        cmocka_unit_test(centered_rows_are_a_layer_normalization),
        cmocka_unit_test(norms_multiplied_with_each_other),
        cmocka_unit_test(one_input_normalized_twice),
        cmocka_unit_test(rows_under_two_scales),
        cmocka_unit_test(a_norm_of_a_norm),
        cmocka_unit_test(chains_inside_other_graphs),
        cmocka_unit_test(the_opset_is_raised_where_nothing_changes),
        cmocka_unit_test(the_opset_stays_for_what_op_1_does),
        cmocka_unit_test(the_opset_stays_for_another_node),
        cmocka_unit_test(the_opset_stays_for_a_chain_that_stays),
        cmocka_unit_test(additions_of_two),
        cmocka_unit_test(additions_that_stay),
        cmocka_unit_test(a_bias),
        cmocka_unit_test(an_inner_sum_that_is_needed),
        cmocka_unit_test(f52_uses_of_the_sum),
        cmocka_unit_test(a_place_that_is_too_early),
        cmocka_unit_test(a_subgraph_before_the_norm),
        cmocka_unit_test(two_norms_of_one_sum),
        cmocka_unit_test(narrow_additions),
        cmocka_unit_test(double_additions),
        cmocka_unit_test(a_statistic_beside_the_sum),
        cmocka_unit_test(a_chain_after_an_addition),
        cmocka_unit_test(additions_are_kept_on_request),
        cmocka_unit_test(nodes_out_of_order_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
