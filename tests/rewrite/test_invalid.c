/* Chains of nodes that mean something else than their names say, or nothing at all: they are left alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rewrite/build.h"

/* A chain with these nodes in the places of its own. */
typedef struct chain {
    int64_t opset;
    const char *square, *mean, *mean_inputs, *add, *epsilon, *epsilon_dims, *root, *product, *reason;
} chain;

static void check(const chain *c)
{
    build *const b = build_begin(c->opset);
    (void)build_value(b, "x", RMSNORM_FLOAT, "2,3,8");
    (void)build_constant(b, "two", RMSNORM_FLOAT, "", "2");
    (void)build_constant(b, "half", RMSNORM_FLOAT, "", "-0.5");
    (void)build_constant(b, "axes", RMSNORM_INT64, "1", "-1");
    (void)build_constant(b, "eps", RMSNORM_FLOAT, c->epsilon_dims != NULL ? c->epsilon_dims : "",
                         c->epsilon != NULL ? c->epsilon : "0.5");
    const bool late = c->opset >= 18;
    (void)build_node(b, c->square != NULL ? c->square : "Mul", "x,x", "square");
    (void)build_node(b,
                     c->mean != NULL ? c->mean
                     : late          ? "ReduceMean"
                                     : "ReduceMean axes=[-1]",
                     c->mean_inputs != NULL ? c->mean_inputs
                     : late                 ? "square,axes"
                                            : "square",
                     "mean");
    (void)build_node(b, c->add != NULL ? c->add : "Add", "mean,eps", "sum");
    if (c->root != NULL && strcmp(c->root, "Pow") == 0) {
        (void)build_node(b, "Pow", "sum,half", "root");
        (void)build_node(b, "Mul", "x,root", "y");
    } else {
        (void)build_node(b, c->root != NULL ? c->root : "Sqrt", "sum", "root");
        (void)build_node(b, c->product != NULL ? c->product : "Div", "x,root", "y");
    }
    build_output(b, "y");
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    assert_int_equal(rmsnorm_ir_fuse(b->ir, NULL), RMSNORM_OK);
    size_t count;
    const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
    assert_int_equal(count, 1);
    assert_int_equal(found->done, c->reason == NULL);
    if (c->reason != NULL && strstr(found->reason, c->reason) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", c->reason, found->reason);
    }
    build_end(b);
}

static void nodes_with_what_their_operators_do_not_have(void **state)
{
    (void)state;
    static const chain chains[] = {
        {.opset = 17, .square = "Mul broadcast=1", .reason = "attribute \"broadcast\", which Mul does not have"},
        {.opset = 17, .add = "Add axis=0", .reason = "attribute \"axis\", which Add does not have"},
        {.opset = 17, .root = "Sqrt consumed_inputs=[0]", .reason = "\"consumed_inputs\""},
        {.opset = 17, .product = "Div broadcast=1", .reason = "\"broadcast\", which Div does not have"},
        {.opset = 17, .mean = "ReduceMean axes=[-1] select=1", .reason = "\"select\", which ReduceMean does not have"},
        {.opset = 23, .mean = "ReduceMean axes=[-1]", .mean_inputs = "square", .reason = "its axes as an attribute"},
        {.opset = 17, .mean = "ReduceMean", .mean_inputs = "square,axes", .reason = "its axes as an input"},
        {.opset = 17, .mean = "ReduceMean axes=[-1,-1]", .reason = "axis -1 is given twice"},
        {.opset = 17, .mean = "ReduceMean axes=[2,-1]", .reason = "axis -1 is given twice"},
        {.opset = 6, .reason = "nodes are understood from opset 7 on"},
    };
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        check(&chains[i]);
    }
}

static void epsilons(void **state)
{
    (void)state;
    static const chain chains[] = {
        {.opset = 17, .epsilon = "-inf", .root = "Pow", .reason = "epsilon is infinite"},
        {.opset = 17, .epsilon = "inf", .reason = "epsilon is infinite"},
        {.opset = 17, .epsilon_dims = "1,1,1"},
        {.opset = 17, .epsilon_dims = "1,1,1,1", .reason = "epsilon has 4 dims"},
    };
    for (size_t i = 0; i < sizeof chains / sizeof chains[0]; i++) {
        check(&chains[i]);
    }
}

static void rows_less_their_mean_in_two_nodes(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        build *const b = build_begin(13);
        (void)build_value(b, "x", RMSNORM_FLOAT, "2,8");
        (void)build_constant(b, "eps", RMSNORM_FLOAT, "", "0.5");
        (void)build_node(b, "ReduceMean axes=[-1]", "x", "m");
        (void)build_node(b, "Neg", "m", "n");
        (void)build_node(b, "Add", turned != 0 ? "n,x" : "x,n", "d");
        (void)build_node(b, "Mul", "d,d", "square");
        (void)build_node(b, "ReduceMean axes=[-1]", "square", "variance");
        (void)build_node(b, "Add", "variance,eps", "sum");
        (void)build_node(b, "Sqrt", "sum", "root");
        (void)build_node(b, "Div", "d,root", "y");
        build_output(b, "y");
        assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
        assert_int_equal(rmsnorm_ir_fuse(b->ir, NULL), RMSNORM_OK);
        size_t count;
        const rmsnorm_finding *const found = rmsnorm_ir_findings(b->ir, &count);
        assert_int_equal(count, 1);
        assert_non_null(strstr(found->reason, "it is a LayerNormalization"));
        build_end(b);
    }
}

/* A node would call the function, not the operator. */
static void names_of_the_model_s_functions_are_not_used(void **state)
{
    (void)state;
    static const struct {
        const char *domain, *name, *nodes;
        rmsnorm_conversion to;
    } cases[] = {
        {"ai.onnx", "RMSNormalization", "SimplifiedLayerNormalization(x, gamma) = y", RMSNORM_TO_RMS_NORMALIZATION},
        {"", "ReduceMean", "SimplifiedLayerNormalization(x, gamma) = y", RMSNORM_TO_DECOMPOSED},
        {"other", "ReduceMean", NULL, RMSNORM_TO_DECOMPOSED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build *const b = build_begin(23);
        (void)build_value(b, "x", RMSNORM_FLOAT, "2,8");
        (void)build_constant(b, "gamma", RMSNORM_FLOAT, "8", "1");
        (void)build_node(b, "SimplifiedLayerNormalization", "x,gamma", "y");
        build_output(b, "y");
        assert_int_equal(rmsnorm_ir_add_function(b->ir, cases[i].domain, cases[i].name), RMSNORM_OK);
        assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
        assert_int_equal(rmsnorm_ir_convert(b->ir, cases[i].to), RMSNORM_OK);
        if (cases[i].nodes != NULL) {
            assert_string_equal(build_nodes(b, 0), cases[i].nodes);
        } else {
            assert_null(strstr(build_nodes(b, 0), "SimplifiedLayerNormalization"));
        }
        build_end(b);
    }
    build *const b = build_begin(13);
    (void)build_value(b, "x", RMSNORM_FLOAT, "2,8");
    (void)build_value(b, "skip", RMSNORM_FLOAT, "2,8");
    (void)build_constant(b, "gamma", RMSNORM_FLOAT, "8", "1");
    (void)build_node(b, "Add", "x,skip", "sum");
    (void)build_node(b, "SimplifiedLayerNormalization", "sum,gamma", "y");
    build_output(b, "y");
    assert_int_equal(rmsnorm_ir_add_function(b->ir, "com.microsoft", "SkipSimplifiedLayerNormalization"), RMSNORM_OK);
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    assert_int_equal(rmsnorm_ir_fuse(b->ir, NULL), RMSNORM_OK);
    assert_string_equal(build_nodes(b, 0), "Add(x, skip) = sum; SimplifiedLayerNormalization(sum, gamma) = y");
    build_end(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_with_what_their_operators_do_not_have),
        cmocka_unit_test(epsilons),
        cmocka_unit_test(rows_less_their_mean_in_two_nodes),
        cmocka_unit_test(names_of_the_model_s_functions_are_not_used),
    };
    return cmocka_run_group_tests_name("invalid", tests, NULL, NULL);
}
