/* rmsnorm fuse, convert and check on files: what they say, what they write, what they refuse. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "support.h"

/* A chain on "X" to "Y" with a scale, after an addition of "skip"; root: what stands for Sqrt. */
static void write_chain(const char *path, const char *root, int opset)
{
    static model m;
    const float two = 2.0F, epsilon = 0.001F;
    const float scale[] = {1, 2, 3, 4};
    const int64_t axes[] = {-1};
    model_begin(&m);
    model_input(&m, "X", RMSNORM_FLOAT, "B,S,4");
    model_input(&m, "skip", RMSNORM_FLOAT, "B,S,4");
    model_output(&m, "Y", RMSNORM_FLOAT, "B,S,4");
    model_output(&m, "sum", RMSNORM_FLOAT, "B,S,4");
    model_initializer(&m, "two", "", &two);
    model_initializer(&m, "epsilon", "1", &epsilon);
    model_initializer(&m, "scale", "4", scale);
    model_integers(&m, "axes", "1", axes);
    model_node(&m, "/norm/Add_0", "", "Add", "X,skip", "sum", "");
    model_node(&m, "/norm/Pow", "", "Pow", "sum,two", "square", "");
    model_node(&m, "/norm/ReduceMean", "", "ReduceMean", opset < 18 ? "square" : "square,axes", "mean",
               opset < 18 ? "axes=[-1]" : "");
    model_node(&m, "/norm/Add", "", "Add", "mean,epsilon", "moved", "");
    model_node(&m, "/norm/Sqrt", "", root, "moved", "root", "");
    model_node(&m, "/norm/Div", "", "Div", "sum,root", "rows", "");
    model_node(&m, "/norm/Mul", "", "Mul", "rows,scale", "Y", "");
    model_write(&m, opset, path);
}

static void test_fuse(void **state)
{
    (void)state;
    write_chain("m.onnx", "Sqrt", 17);
    DONE("rmsnorm fuse m.onnx -o f.onnx --verify",
         "fused     chain    6 nodes, Pow '/norm/Pow' to Mul '/norm/Mul' -> SimplifiedLayerNormalization "
         "'/norm/SimplifiedLayerNormalization'\n",
         "fused     residual Add '/norm/Add_0', SimplifiedLayerNormalization '/norm/SimplifiedLayerNormalization' -> "
         "SkipSimplifiedLayerNormalization '/norm/SkipSimplifiedLayerNormalization'\n",
         "verified 2 on random inputs: at most ", "fused 1 chain and 1 residual, left 0 alone; 1 node, before 7\n");
    DONE("rmsnorm check f.onnx",
         "SkipSimplifiedLayerNormalization '/norm/SkipSimplifiedLayerNormalization' epsilon=0.001\n",
         "  input: float [B,S,4] 'X'\n", "  skip: float [B,S,4] 'skip'\n", "  gamma: float [4] 'scale'\n",
         "  output: float [B,S,4] 'Y'\n", "  input_skip_bias_sum: float [B,S,4] 'sum'\n",
         "1 norm node, 0 violations\n");
    WRITE("x.npy", RMSNORM_FLOAT, "1,1,4", 1, -3, 3, -5);
    WRITE("s.npy", RMSNORM_FLOAT, "1,1,4", 1, 1, 1, 1);
    DONE("rmsnorm run f.onnx x.npy s.npy -o Y=y.npy -o sum=sum.npy", "Y: float [1,1,4] -> y.npy");
    EXPECT("sum.npy", RMSNORM_FLOAT, "1,1,4", 2, -2, 4, -4);
    DONE("rmsnorm run m.onnx x.npy s.npy -o Y=before.npy", "Y: float [1,1,4] -> before.npy");
}

static void test_dry_run_and_json(void **state)
{
    (void)state;
    write_chain("d.onnx", "Sqrt", 18);
    json_t *root = json_of("rmsnorm fuse d.onnx --dry-run --json --target onnx", 0);
    assert_true(json_is_null(at(root, "output")));
    assert_string_equal(json_string_value(at(root, "target")), "onnx");
    assert_int_equal(json_integer_value(at(root, "counts.chains")), 1);
    assert_int_equal(json_integer_value(at(root, "counts.residuals")), 0);
    assert_int_equal(json_integer_value(at(root, "opset.before")), 18);
    assert_int_equal(json_integer_value(at(root, "opset.after")), 23);
    assert_int_equal(json_integer_value(at(root, "nodes.after")), 2);
    assert_string_equal(json_string_value(at(root, "findings.0.made.0.op_type")), "RMSNormalization");
    assert_string_equal(json_string_value(at(root, "findings.0.nodes.0.name")), "/norm/Pow");
    json_decref(root);
}

static void test_left_alone(void **state)
{
    (void)state;
    write_chain("l.onnx", "Abs", 17);
    DONE("rmsnorm fuse l.onnx -o same.onnx", "left      chain    ",
         "node \"/norm/Sqrt\" takes the mean with epsilon, where the root would be\n",
         "fused 0 chains and 0 residuals, left 1 alone; 7 nodes, before 7\n");
    DONE("cmp l.onnx same.onnx && echo same", "same\n");
}

static void test_over_itself_and_to_standard_output(void **state)
{
    (void)state;
    write_chain("o.onnx", "Sqrt", 17);
    DONE(
        "rmsnorm fuse o.onnx -o - 2> report > piped.onnx; tail -n 1 report; rmsnorm fuse o.onnx -o o.onnx -q; cmp o.onnx piped.onnx && echo same",
        "fused 1 chain and 1 residual", "fused 1 chain and 1 residual", "same\n");
    DONE("cat piped.onnx | rmsnorm check -", "1 norm node, 0 violations\n");
}

/* A node's function would be called in place of the operator. */
static void test_functions_are_not_called(void **state)
{
    (void)state;
    write_chain("w.onnx", "Sqrt", 17);
    /* FunctionProto: a name, an opset_import of ai.onnx 17. */
    static const char function[] = "\312\001\042\012\034SimplifiedLayerNormalization\112\002\020\021";
    write_bytes("function", function, sizeof function - 1);
    DONE("cat w.onnx function > named.onnx; rmsnorm fuse named.onnx -o unnamed.onnx --residuals keep",
         "left      chain", "cannot be raised: the model defines functions");
    DONE("cmp named.onnx unnamed.onnx && echo same", "same\n");
}

static void test_nothing_to_do(void **state)
{
    (void)state;
    write_chain("n.onnx", "Sqrt", 17);
    DONE("rmsnorm fuse n.onnx -o nf.onnx -q; rmsnorm fuse nf.onnx --dry-run",
         "no small nodes that resemble RMS normalization were found\n");
    DONE("rmsnorm check n.onnx", "0 norm nodes, 0 violations; small nodes become some by rmsnorm fuse\n");
    DONE("rmsnorm convert n.onnx --to simplified --dry-run",
         "no norm nodes to convert were found; small nodes become some by rmsnorm fuse\n");
}

/* An end in the middle of writing leaves nothing. */
static void test_interrupted(void **state)
{
    (void)state;
    write_chain("i.onnx", "Sqrt", 17);
    DONE(
        "mkdir to; mkfifo to/pipe 2>/dev/null; (ulimit -f 0; rmsnorm fuse i.onnx -o to/big.onnx) 2>/dev/null; ls -A to",
        "pipe\n");
    assert_int_equal(entry_count("to"), 1);
}

static void test_convert(void **state)
{
    (void)state;
    write_chain("c.onnx", "Sqrt", 17);
    DONE("rmsnorm fuse c.onnx -o cf.onnx", "fused 1 chain and 1 residual");
    DONE(
        "rmsnorm convert cf.onnx --to rmsnormalization -o cr.onnx --verify",
        "converted norm     SkipSimplifiedLayerNormalization '/norm/SkipSimplifiedLayerNormalization' -> Add '/norm/Add",
        "RMSNormalization '/norm/RMSNormalization'\n", "verified 1 on random inputs: at most 0 ulp apart",
        "converted 1 node, left 0 alone; 2 nodes, before 1; opset 23, before 17\n");
    DONE("rmsnorm convert cf.onnx --to decomposed -o cd.onnx --verify",
         "converted 1 node, left 0 alone; 8 nodes, before 1\n");
    DONE("rmsnorm fuse cd.onnx -o again.onnx", "fused 1 chain and 1 residual, left 0 alone; 1 node, before 8\n");
    json_t *root = json_of("rmsnorm convert cf.onnx --to simplified --dry-run --json", 0);
    assert_int_equal(json_integer_value(at(root, "counts.norms")), 1);
    assert_string_equal(json_string_value(at(root, "findings.0.kind")), "norm");
    json_decref(root);
}

static void test_check_violations(void **state)
{
    (void)state;
    static model m;
    const float scale[] = {1, 2, 3, 4, 5};
    model_begin(&m);
    model_input(&m, "X", RMSNORM_FLOAT, "B,S,4");
    model_output(&m, "Y", RMSNORM_FLOAT, NULL);
    model_initializer(&m, "scale", "5", scale);
    model_node(&m, "bad", "", "RMSNormalization", "X,scale", "Y", "epsilon=1e-6.");
    model_write(&m, 23, "v.onnx");
    json_t *root = json_of("rmsnorm check v.onnx --json", 1);
    assert_int_equal(json_array_size(at(root, "violations")), 1);
    assert_string_equal(json_string_value(at(root, "violations.0.node.name")), "bad");
    assert_non_null(strstr(json_string_value(at(root, "violations.0.sentence")), "scale"));
    assert_string_equal(json_string_value(at(root, "nodes.0.inputs.0.value")), "X");
    json_decref(root);
}

static void test_refusals(void **state)
{
    (void)state;
    write_chain("r.onnx", "Sqrt", 17);
    REFUSED("rmsnorm fuse", "no model is given, write rmsnorm fuse MODEL.onnx -o FILE");
    REFUSED("rmsnorm fuse r.onnx", "no output is given, write -o FILE, or --dry-run to see what would be done");
    REFUSED("rmsnorm fuse r.onnx s.onnx -o x.onnx", "one model at a time: 'r.onnx' and 's.onnx' were given");
    REFUSED("rmsnorm fuse none.onnx -o x.onnx", "none.onnx: cannot be opened");
    REFUSED("rmsnorm fuse r.onnx -o x.onnx --target cuda",
            "--target is 'cuda', allowed are rmsnorm, onnx, ort-cpu, ort-webgpu");
    REFUSED("rmsnorm fuse r.onnx -o x.onnx --target ort", "--target is 'ort'",
            "for ONNX Runtime on the CPU it is ort-cpu");
    REFUSED("rmsnorm fuse r.onnx -o x.onnx --residuals drop", "--residuals is 'drop', allowed are fuse, keep");
    REFUSED("rmsnorm fuse r.onnx -o x.onnx --data-files move", "--data-files is 'move', allowed are copy, link, leave");
    REFUSED("rmsnorm convert r.onnx -o x.onnx",
            "no form is given, write --to rmsnormalization, simplified or decomposed");
    REFUSED("rmsnorm convert r.onnx -o x.onnx --to caffe", "--to is 'caffe', allowed are");
    REFUSED("rmsnorm check", "no model is given, write rmsnorm check MODEL.onnx");
    REFUSED("rmsnorm fuse r.onnx -o no/such/folder.onnx", "no/such/folder.onnx");
    REFUSED("printf garbage > g.onnx; rmsnorm fuse g.onnx -o x.onnx", "g.onnx: is no valid ONNX protobuf");
    REFUSED("head -c 100 r.onnx > t.onnx; rmsnorm check t.onnx", "t.onnx: is no valid ONNX protobuf");
    REFUSED("rmsnorm fuse . -o x.onnx", "is a directory, not a file");
    REFUSED("rmsnorm fuse r.onnx -o /dev/full", "/dev/full: cannot be written");
    assert_false(exists("x.onnx"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fuse),
        cmocka_unit_test(test_dry_run_and_json),
        cmocka_unit_test(test_left_alone),
        cmocka_unit_test(test_over_itself_and_to_standard_output),
        cmocka_unit_test(test_functions_are_not_called),
        cmocka_unit_test(test_nothing_to_do),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_convert),
        cmocka_unit_test(test_check_violations),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("rewrite", tests, folder_make, folder_remove);
}
