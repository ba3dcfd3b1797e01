/* Norm nodes in another form give what they gave: every operator, type, output, axis and stash_type. */
#include "rewritten.h"

#include <stdio.h>
#include <stdlib.h>

static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};
static const int64_t opsets[] = {7, 11, 13, 17, 18, 23, 24};
static const char *const forms[] = {"RMSNormalization", "SimplifiedLayerNormalization", NULL};

enum { TYPES = 4, OPSETS = 7, FORMS = 3 };

static bool has_bfloat(rmsnorm_dtype a, rmsnorm_dtype b)
{
    return a == RMSNORM_BFLOAT16 || b == RMSNORM_BFLOAT16;
}

/* Converts and compares; statistics may be an ulp off where they are computed in another way. Ends the build. */
static void check(build *b, rmsnorm_conversion to, const char *what, bool coarse, bool loose)
{
    rewritten runs[3];
    rewritten_infer(b);
    for (unsigned i = 0; i < 3; i++) {
        runs[i] = (rewritten){.b = b, .seed = i * 3 + 1, .specials = i == 2, .coarse = coarse, .what = what};
        rewritten_before(&runs[i], NULL);
    }
    if (rmsnorm_ir_convert(b->ir, to) != RMSNORM_OK) {
        fail_msg("%s: %s", what, rmsnorm_last_error());
    }
    size_t count;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
    if (count != 1 || !found->done || found->kind != RMSNORM_FOUND_NORM || found->made_count == 0) {
        fail_msg("%s: %s", what, count == 1 ? found->reason : "not one finding");
    }
    for (int form = 0; form < 2; form++) {
        assert_int_equal(rewritten_count(b, forms[form]), form == (int)to);
    }
    assert_int_equal(rewritten_count(b, "SkipSimplifiedLayerNormalization"), 0);
    rewritten_check_graph(b, RMSNORM_TARGET_RMSNORM, what);
    for (unsigned i = 0; i < 3; i++) {
        rewritten_after_loose(&runs[i], "inv", loose ? 1.0 : 0.0);
        rewritten_end(&runs[i]);
    }
    build_end(b);
}

static void one_operator(bool standard)
{
    static const char *const attributes[] = {"",
                                             " axis=-1 epsilon=1e-3 stash_type=1",
                                             " axis=-1 epsilon=1e-3 stash_type=11",
                                             " axis=1 epsilon=0.25 stash_type=1",
                                             " axis=-2 epsilon=0.25 stash_type=11",
                                             " axis=0 stash_type=1",
                                             " axis=-3 stash_type=11"};
    static const char *const scales[] = {"4", "1", "2,4", "2,1,4", ""};
    size_t checked = 0;
    for (size_t i = 0; i < (size_t)TYPES * TYPES * 7 * 5 * FORMS * 2; i++) {
        const rmsnorm_dtype t = types[i % 4], v = types[i / 4 % 4];
        const char *const attribute = attributes[i / 16 % 7], *const scale = scales[i / 112 % 5];
        const rmsnorm_conversion to = (rmsnorm_conversion)(i / 560 % 3);
        const bool statistic = i / 1680 != 0;
        const int64_t opset = standard ? opsets[5 + i % 2] : opsets[(i / 16 + i) % OPSETS];
        const bool own = to == (standard ? RMSNORM_TO_RMS_NORMALIZATION : RMSNORM_TO_SIMPLIFIED_LAYER_NORMALIZATION);
        if (own || (statistic && standard) || (has_bfloat(t, v) && opset < 13)) {
            continue;
        }
        build *const b = build_begin(opset);
        (void)build_value(b, "x", t, "2,2,4");
        (void)build_value(b, "scale", v, scale);
        char op[120];
        char what[200];
        snprintf(op, sizeof op, "%s%s", standard ? "RMSNormalization" : "SimplifiedLayerNormalization", attribute);
        snprintf(what, sizeof what, "%s, %s and %s, scale (%s), opset %d, to %d", op, rmsnorm_dtype_name(t),
                 rmsnorm_dtype_name(v), scale, (int)opset, (int)to);
        (void)build_node(b, op, "x,scale", statistic ? "y,inv" : "y");
        build_output(b, statistic ? "y,inv" : "y");
        check(b, to, what, false, true);
        checked++;
    }
    assert_true(checked > 1000);
}

static void simplified_layer_normalization(void **state)
{
    (void)state;
    one_operator(false);
}

static void rms_normalization(void **state)
{
    (void)state;
    one_operator(true);
}

/* All subsets of the optional outputs; bias or none; three forms of skip. */
static void skip_simplified_layer_normalization(void **state)
{
    (void)state;
    static const char *const skips[] = {"2,2,4", "2,4", "1,2,4"};
    for (size_t i = 0; i < (size_t)3 * 8 * 2 * 3 * FORMS * 2; i++) {
        const rmsnorm_dtype t = types[i % 3];
        const unsigned outputs = (unsigned)(i / 3 % 8);
        const bool bias = i / 24 % 2 != 0;
        const char *const skip = skips[i / 48 % 3];
        const rmsnorm_conversion to = (rmsnorm_conversion)(i / 144 % 3);
        const bool coarse = t != RMSNORM_FLOAT || i / 432 != 0;
        const bool mean = (outputs & 1) != 0; /* whose zeros ConstantOfShape makes */
        const int64_t opset = t == RMSNORM_BFLOAT16 ? opsets[2 + i % 5] : opsets[mean ? 1 + i / 3 % 6 : i / 3 % OPSETS];
        build *const b = build_begin(opset);
        (void)build_value(b, "x", t, "2,2,4");
        (void)build_value(b, "skip", t, skip);
        (void)build_value(b, "gamma", t, "4");
        (void)build_value(b, "bias", t, "4");
        char slots[64];
        char names[64];
        char what[200];
        snprintf(slots, sizeof slots, "y,%s,%s,%s", (outputs & 1) != 0 ? "mean" : "", (outputs & 2) != 0 ? "inv" : "",
                 (outputs & 4) != 0 ? "sum" : "");
        snprintf(names, sizeof names, "y%s%s%s", (outputs & 1) != 0 ? ",mean" : "", (outputs & 2) != 0 ? ",inv" : "",
                 (outputs & 4) != 0 ? ",sum" : "");
        snprintf(what, sizeof what, "skip (%s), %s, outputs %s, opset %d, to %d%s", skip, rmsnorm_dtype_name(t), names,
                 (int)opset, (int)to, bias ? ", with bias" : "");
        (void)build_node(b,
                         i % 5 == 0 ? "com.microsoft::SkipSimplifiedLayerNormalization"
                                    : "com.microsoft::SkipSimplifiedLayerNormalization epsilon=0.001",
                         bias ? "x,skip,gamma,bias" : "x,skip,gamma", slots);
        build_output(b, names);
        check(b, to, what, coarse, true);
    }
}

/* The statistic is bit for bit the same where another norm operator gives it. */
static void a_statistic_from_an_operator(void **state)
{
    (void)state;
    static const rmsnorm_conversion tos[] = {RMSNORM_TO_SIMPLIFIED_LAYER_NORMALIZATION, RMSNORM_TO_DECOMPOSED};
    for (size_t i = 0; i < 2; i++) {
        build *const b = build_begin(18);
        (void)build_value(b, "x", RMSNORM_FLOAT, "2,2,4");
        (void)build_value(b, "skip", RMSNORM_FLOAT, "2,2,4");
        (void)build_value(b, "gamma", RMSNORM_FLOAT, "4");
        (void)build_node(b, "com.microsoft::SkipSimplifiedLayerNormalization epsilon=0.001", "x,skip,gamma",
                         "y,,inv,sum");
        build_output(b, "y,inv,sum");
        check(b, tos[i], "inv_std_var of the skip operator", false, false);
    }
}

/* What is in a form already stays. */
static void nodes_of_the_form_stay(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        build *const b = build_begin(23);
        (void)build_value(b, "x", RMSNORM_FLOAT, "2,2,4");
        (void)build_value(b, "scale", RMSNORM_FLOAT, "4");
        (void)build_node(b, forms[form], "x,scale", "y");
        rewritten_infer(b);
        const char *const before = build_nodes(b, 0);
        assert_int_equal(rmsnorm_ir_convert(b->ir, (rmsnorm_conversion)form), RMSNORM_OK);
        assert_string_equal(build_nodes(b, 0), before);
        size_t count;
        (void)rmsnorm_ir_findings(b->ir, &count);
        assert_int_equal(count, 0);
        build_end(b);
    }
}

static build *begin(int64_t opset, rmsnorm_dtype dtype, const char *dims, const char *op, const char *inputs,
                    const char *outputs)
{
    build *const b = build_begin(opset);
    (void)build_value(b, "x", dtype, dims);
    (void)build_value(b, "skip", dtype, dims);
    (void)build_value(b, "gamma", dtype, "8");
    (void)build_value(b, "bias", dtype, "8");
    (void)build_node(b, op, inputs, outputs);
    return b;
}

static void expect_nodes(build *b, rmsnorm_conversion to, const char *nodes)
{
    rewritten_infer(b);
    assert_int_equal(rmsnorm_ir_convert(b->ir, to), RMSNORM_OK);
    assert_string_equal(build_nodes(b, 0), nodes);
}

/* F83: the sum keeps its name, and opset and attributes are the new operator's. */
static void f83_skip_with_a_sum(void **state)
{
    (void)state;
    build *b =
        begin(21, RMSNORM_FLOAT, "B,S,8", "com.microsoft::SkipSimplifiedLayerNormalization", "x,skip,gamma", "y,,,sum");
    expect_nodes(b, RMSNORM_TO_RMS_NORMALIZATION, "Add(x, skip) = sum; RMSNormalization(sum, gamma) = y");
    assert_int_equal(rmsnorm_ir_opset(b->ir, ""), 23);
    const size_t norm = b->ir->graphs[0].last;
    assert_true(rmsnorm_ir_attribute(b->ir, norm, "epsilon")->f == 1e-12f);
    assert_int_equal(rmsnorm_ir_attribute(b->ir, norm, "axis")->i, -1);
    assert_string_equal(build_type(b, "sum"), "float:B,S,8");
    build_end(b);
    b = begin(21, RMSNORM_FLOAT16, "B,S,8", "com.microsoft::SkipSimplifiedLayerNormalization", "x,skip,gamma,bias",
              "y,,,sum");
    rewritten_infer(b);
    assert_int_equal(rmsnorm_ir_convert(b->ir, RMSNORM_TO_SIMPLIFIED_LAYER_NORMALIZATION), RMSNORM_OK);
    assert_string_equal(build_nodes(b, 0),
                        "Cast(x) = y_Cast; Cast(skip) = y_Cast_1; Add(y_Cast, y_Cast_1) = y_Add; Cast(bias) = "
                        "y_Cast_2; Add(y_Add, y_Cast_2) = y_Add_1; Cast(y_Add_1) = sum; "
                        "SimplifiedLayerNormalization(y_Add_1, gamma) = y");
    assert_int_equal(rmsnorm_ir_opset(b->ir, ""), 21);
    build_end(b);
}

/* ReduceMean's axes: an attribute before opset 18, counted from the front before 11. */
static void axes_as_the_opset_has_them(void **state)
{
    (void)state;
    for (int64_t opset = 7; opset <= 24; opset++) {
        build *const b = begin(opset, RMSNORM_FLOAT, "2,3,8", "SimplifiedLayerNormalization axis=1", "x,gamma", "y");
        rewritten_infer(b);
        assert_int_equal(rmsnorm_ir_convert(b->ir, RMSNORM_TO_DECOMPOSED), RMSNORM_OK);
        assert_int_equal(rmsnorm_ir_opset(b->ir, ""), opset);
        for (size_t n = b->ir->graphs[0].first; n != RMSNORM_NO_INDEX; n = b->ir->nodes[n].shown.next) {
            if (!rmsnorm_ir_is(b->ir, n, "ReduceMean")) {
                continue;
            }
            const rmsnorm_node_attribute *const axes = rmsnorm_ir_attribute(b->ir, n, "axes");
            int64_t numbers[2] = {0, 0};
            size_t count = 0;
            if (opset < 18) {
                assert_int_equal(axes->count, 2);
                memcpy(numbers, axes->ints, sizeof numbers);
                assert_int_equal(b->ir->nodes[n].shown.input_count, 1);
            } else {
                assert_null(axes);
                assert_true(rmsnorm_ir_integers(b->ir, rmsnorm_ir_input(b->ir, n, 1), numbers, 2, &count));
                assert_int_equal(count, 2);
            }
            assert_int_equal(numbers[0], opset < 11 ? 1 : -2);
            assert_int_equal(numbers[1], opset < 11 ? 2 : -1);
        }
        assert_int_equal(rewritten_count(b, "ReduceMean"), 1);
        build_end(b);
    }
}

/* Taken apart and fused again: the same node, and the same bits. */
static void round_trips(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype dtype;
        const char *op, *inputs, *nodes;
    } cases[] = {
        {RMSNORM_FLOAT, "SimplifiedLayerNormalization epsilon=0.001", "x,gamma",
         "SimplifiedLayerNormalization(x, gamma) = y"},
        {RMSNORM_FLOAT16, "SimplifiedLayerNormalization", "x,gamma", "SimplifiedLayerNormalization(x, gamma) = y"},
        {RMSNORM_BFLOAT16, "SimplifiedLayerNormalization axis=2", "x,gamma",
         "SimplifiedLayerNormalization(x, gamma) = y"},
        {RMSNORM_DOUBLE, "SimplifiedLayerNormalization", "x,gamma", "SimplifiedLayerNormalization(x, gamma) = y"},
        {RMSNORM_FLOAT, "RMSNormalization", "x,gamma", "RMSNormalization(x, gamma) = y"},
        {RMSNORM_FLOAT16, "RMSNormalization", "x,gamma", "RMSNormalization(x, gamma) = y"},
        {RMSNORM_BFLOAT16, "RMSNormalization axis=-1", "x,gamma", "RMSNormalization(x, gamma) = y"},
        {RMSNORM_DOUBLE, "RMSNormalization stash_type=11", "x,gamma", "RMSNormalization(x, gamma) = y"},
        {RMSNORM_FLOAT16, "RMSNormalization stash_type=11", "x,gamma", "RMSNormalization(x, gamma) = y"},
        {RMSNORM_FLOAT, "com.microsoft::SkipSimplifiedLayerNormalization", "x,skip,gamma",
         "SkipSimplifiedLayerNormalization(x, skip, gamma) = y"},
        {RMSNORM_FLOAT, "com.microsoft::SkipSimplifiedLayerNormalization", "x,skip,gamma,bias",
         "SkipSimplifiedLayerNormalization(x, skip, gamma, bias) = y"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int64_t opset =
            strncmp(cases[i].nodes, "RMS", 3) == 0 ? 23 : 18; /* from 23 on the standard's is preferred */
        build *const b = begin(opset, cases[i].dtype, "2,3,8", cases[i].op, cases[i].inputs, "y");
        build_output(b, "y");
        rewritten_infer(b);
        rewritten r = {.b = b, .seed = 4, .specials = true, .what = cases[i].op};
        rewritten_before(&r, NULL);
        assert_int_equal(rmsnorm_ir_convert(b->ir, RMSNORM_TO_DECOMPOSED), RMSNORM_OK);
        rewritten_after(&r);
        assert_int_equal(rewritten_count(b, cases[i].nodes), 0);
        if (rmsnorm_ir_fuse(b->ir, NULL) != RMSNORM_OK) {
            fail_msg("%s: %s", cases[i].op, rmsnorm_last_error());
        }
        assert_string_equal(build_nodes(b, 0), cases[i].nodes);
        rewritten_check_graph(b, RMSNORM_TARGET_RMSNORM, cases[i].op);
        rewritten_after(&r);
        rewritten_end(&r);
        build_end(b);
    }
}

/* Between the operators and back. */
static void there_and_back(void **state)
{
    (void)state;
    for (int i = 0; i < TYPES; i++) {
        build *const b = begin(18, types[i], "2,3,8", "SimplifiedLayerNormalization epsilon=0.001", "x,gamma", "y");
        build_output(b, "y");
        rewritten_infer(b);
        rewritten r = {.b = b, .seed = 1, .specials = true};
        rewritten_before(&r, NULL);
        static const rmsnorm_conversion ways[] = {RMSNORM_TO_RMS_NORMALIZATION,
                                                  RMSNORM_TO_SIMPLIFIED_LAYER_NORMALIZATION, RMSNORM_TO_DECOMPOSED};
        for (size_t way = 0; way < 3; way++) {
            assert_int_equal(rmsnorm_ir_convert(b->ir, ways[way]), RMSNORM_OK);
            rewritten_check_graph(b, RMSNORM_TARGET_RMSNORM, "");
            rewritten_after(&r);
        }
        rewritten_end(&r);
        build_end(b);
    }
}

static void norms_inside_other_graphs(void **state)
{
    (void)state;
    for (int to = 0; to < FORMS; to++) {
        build *const b = begin(23, RMSNORM_FLOAT16, "2,3,8", "Neg", "x", "unused");
        (void)build_value(b, "choice", BUILD_BOOL, "");
        const size_t owner = build_node(b, "If", "choice", "y");
        build_output(b, "y");
        (void)build_graph(b, owner);
        (void)build_node(b, to == 0 ? "SimplifiedLayerNormalization" : "RMSNormalization", "x,gamma", "inside");
        build_output(b, "inside");
        b->graph = 0;
        check(b, (rmsnorm_conversion)to, "inside an If", false, false);
    }
}

/* Nothing changes, and the reason is this one. */
static void refuse(build *b, rmsnorm_conversion to, const char *reason)
{
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    const char *const before = build_nodes(b, 0);
    const int64_t opset = rmsnorm_ir_opset(b->ir, "");
    assert_int_equal(rmsnorm_ir_convert(b->ir, to), RMSNORM_OK);
    assert_string_equal(build_nodes(b, 0), before);
    assert_int_equal(rmsnorm_ir_opset(b->ir, ""), opset);
    size_t count;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
    assert_int_equal(count, 1);
    assert_false(found->done);
    assert_string_equal(found->reason, reason);
    build_end(b);
}

static void what_cannot_be_converted(void **state)
{
    (void)state;
    static const char *const op = "SimplifiedLayerNormalization";
    refuse(begin(6, RMSNORM_FLOAT, "2,3,8", op, "x,gamma", "y"), RMSNORM_TO_DECOMPOSED,
           "the nodes in its place need opset 7, and the model's is older");
    refuse(begin(11, RMSNORM_BFLOAT16, "2,3,8", op, "x,gamma", "y"), RMSNORM_TO_DECOMPOSED,
           "the nodes in its place take bfloat16 from opset 13 on, and the model's is older");
    refuse(begin(18, RMSNORM_UNDEFINED, "2,3,8", op, "x,gamma", "y"), RMSNORM_TO_DECOMPOSED,
           "its element types are not known");
    refuse(begin(18, RMSNORM_FLOAT, "*", "SimplifiedLayerNormalization axis=1", "x,gamma", "y"), RMSNORM_TO_DECOMPOSED,
           "the rank of its input is not known");
    refuse(begin(9, RMSNORM_FLOAT, "*", op, "x,gamma", "y"), RMSNORM_TO_DECOMPOSED,
           "the rank of its input is not known, and before opset 11 axes are counted from the front");
    refuse(begin(18, RMSNORM_FLOAT, "2,3,8", "SimplifiedLayerNormalization axis=3", "x,gamma", "y"),
           RMSNORM_TO_DECOMPOSED, "its axis is no dim of its input");
    refuse(begin(18, RMSNORM_FLOAT, "2,3,8", op, "x", "y"), RMSNORM_TO_DECOMPOSED,
           "it lacks an input or its first output");
    refuse(
        begin(8, RMSNORM_FLOAT, "2,3,8", "com.microsoft::SkipSimplifiedLayerNormalization", "x,skip,gamma", "y,mean"),
        RMSNORM_TO_DECOMPOSED, "the mean's zeros need opset 9, and the model's is older");
    refuse(begin(18, RMSNORM_UNDEFINED, "2,3,8", op, "x,gamma", "y"), RMSNORM_TO_RMS_NORMALIZATION,
           "its element types are not known"); /* and the opset stays */
    build *b = begin(18, RMSNORM_FLOAT, "2,3,8", op, "x,gamma", "y");
    (void)build_node(b, "Unheard", "y", "z");
    rewritten_infer(b);
    assert_int_equal(rmsnorm_ir_convert(b->ir, RMSNORM_TO_RMS_NORMALIZATION), RMSNORM_OK);
    size_t count;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
    assert_true(count == 1 && !found->done);
    assert_non_null(
        strstr(found->reason, "RMSNormalization needs opset 23, and the model's 18 cannot be raised: node \"z\": "));
    assert_int_equal(rewritten_count(b, op), 1);
    build_end(b);
}

/* An input of unknown rank has its last dim all the same. */
static void an_unknown_rank(void **state)
{
    (void)state;
    build *b = begin(18, RMSNORM_FLOAT, "*", "SimplifiedLayerNormalization", "x,gamma", "y");
    build_output(b, "y");
    expect_nodes(b, RMSNORM_TO_DECOMPOSED,
                 "Mul(x, x) = y_Mul; ReduceMean(y_Mul, rmsnorm_axes) = y_ReduceMean; Add(y_ReduceMean, "
                 "rmsnorm_number) = y_Add; Sqrt(y_Add) = y_Sqrt; Reciprocal(y_Sqrt) = y_Reciprocal; "
                 "Mul(x, y_Reciprocal) = y_Mul_1; Mul(y_Mul_1, gamma) = y");
    build_end(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simplified_layer_normalization),
        cmocka_unit_test(rms_normalization),
        cmocka_unit_test(skip_simplified_layer_normalization),
        cmocka_unit_test(a_statistic_from_an_operator),
        cmocka_unit_test(nodes_of_the_form_stay),
        cmocka_unit_test(f83_skip_with_a_sum),
        cmocka_unit_test(axes_as_the_opset_has_them),
        cmocka_unit_test(round_trips),
        cmocka_unit_test(there_and_back),
        cmocka_unit_test(norms_inside_other_graphs),
        cmocka_unit_test(what_cannot_be_converted),
        cmocka_unit_test(an_unknown_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
