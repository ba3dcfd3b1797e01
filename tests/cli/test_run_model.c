/* rmsnorm run MODEL: chains, declared inputs and outputs, what is refused before anything is computed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "support.h"

#define MS "com.microsoft"
#define SKIP "SkipSimplifiedLayerNormalization"

static const float twos[] = {2, 2, 2, 2};
static model file;

/* Three residual layers: sums 2, 3, 4 of constant rows, so that every result is exact. */
static void write_chain(const char *path)
{
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "B,S,4");
    model_input(&file, "skip", RMSNORM_FLOAT, "B,S,4");
    model_input(&file, "unused", RMSNORM_FLOAT, "?");
    model_output(&file, "y3", RMSNORM_FLOAT, "B,S,4");
    model_output(&file, "s3", RMSNORM_FLOAT, "B,S,4");
    model_initializer(&file, "gamma", "4", twos);
    model_constant(&file, "ones", "bias", "4", (const float[]){1, 1, 1, 1});
    model_node(&file, "first", MS, SKIP, "x,skip,gamma", "y1,,,s1", "epsilon=0.0");
    model_node(&file, "second", MS, SKIP, "y1,s1,gamma,bias", "y2,,,s2", "epsilon=0.0");
    model_node(&file, "third", MS, SKIP, "y2,s2,gamma,", "y3,,v3,s3", "epsilon=0.0");
    model_write(&file, 23, path);
}

static void chain_needs_exactly_the_declared_inputs(void **state)
{
    (void)state;
    write_chain("chain.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "1,2,4", 1, 1, 1, 1, 5, 5, 5, 5);
    DONE("rmsnorm run chain.onnx x.npy x.npy random:float:3 --output s3=s.npy --output=y3=y.pb",
         "first = com.microsoft::SkipSimplifiedLayerNormalization epsilon=0\n",
         "second = ", "third = ", "y3: float [1,2,4] -> y.pb\ns3: float [1,2,4] -> s.npy\n");
    /* Row 1: 2; y 2; 2+2+1 = 5; y 2; 7. Row 2: 10; 2; 13; 2; 15. */
    EXPECT("s.npy", RMSNORM_FLOAT, "1,2,4", 7, 7, 7, 7, 15, 15, 15, 15);
    EXPECT("y.pb", RMSNORM_FLOAT, "1,2,4", 2, 2, 2, 2, 2, 2, 2, 2);
    REFUSED("rmsnorm run chain.onnx x.npy", "chain.onnx needs the inputs 'skip', 'unused', they are not given");
    REFUSED("rmsnorm run chain.onnx --input unused=x.npy", "needs the inputs 'x', 'skip'");
    REFUSED("rmsnorm run chain.onnx x.npy x.npy x.npy extra.npy",
            "no input is left for 'extra.npy', chain.onnx declares 'x', 'skip', 'unused'");
    REFUSED("rmsnorm run chain.onnx --input gamma=x.npy",
            "chain.onnx has no input 'gamma', it declares 'x', 'skip', 'unused'");
    REFUSED("rmsnorm run chain.onnx --input x=x.npy --input=x=x.npy", "input 'x' is given twice");
    REFUSED("rmsnorm run chain.onnx --input x", "--input 'x' names no file");
    REFUSED("rmsnorm run chain.onnx --input x=", "--input 'x' names no file");
    REFUSED("rmsnorm run chain.onnx x.npy x.npy random:float:3 --output v3=v.npy",
            "chain.onnx has no output 'v3', it declares 'y3', 's3'");
    REFUSED("rmsnorm run chain.onnx x.npy x.npy random:float:3 -o v.npy",
            "chain.onnx has no output 'v.npy', it declares 'y3', 's3'; a file goes behind a name: NAME=FILE");
    assert_false(exists("v.npy"));
}

static void files_fill_the_inputs_left_by_names(void **state)
{
    (void)state;
    write_chain("chain.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "1,1,4", 1, 1, 1, 1);
    WRITE("skip.npy", RMSNORM_FLOAT, "1,1,4", 3, 3, 3, 3);
    DONE("rmsnorm run chain.onnx --input skip=skip.npy x.npy random:float:1 --output s3=s.npy",
         "s3: float [1,1,4] -> s.npy");
    EXPECT("s.npy", RMSNORM_FLOAT, "1,1,4", 9, 9, 9, 9);
}

static void a_name_may_hold_an_equals_sign(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "a", RMSNORM_FLOAT, "1");
    model_input(&file, "a=b", RMSNORM_FLOAT, "2");
    model_output(&file, "a", RMSNORM_FLOAT, "1");
    model_output(&file, "a=b", RMSNORM_FLOAT, "2");
    model_write(&file, 23, "equals.onnx");
    DONE("rmsnorm run equals.onnx --input a=b=random:float:2 --input a=random:float:1 --output a=b=b.npy",
         "a: float [1]\n  min", "a=b: float [2] -> b.npy\n");
}

static void declared_types_and_shapes_are_checked(void **state)
{
    (void)state;
    write_chain("chain.onnx");
    REFUSED("rmsnorm run chain.onnx random:float16:1,2,4 random:float:1,2,4 random:float:1",
            "input 'x' is float16 [1,2,4], the model declares float [B,S,4]");
    REFUSED("rmsnorm run chain.onnx random:float:1,2,5 random:float:1,2,4 random:float:1",
            "input 'x' is float [1,2,5]");
    REFUSED("rmsnorm run chain.onnx random:float:2,4 random:float:1,2,4 random:float:1", "input 'x' is float [2,4]");
    REFUSED("rmsnorm run chain.onnx random:float:3,2,4 random:float:1,2,4 random:float:1",
            "input 'skip': dim 0, which the model names 'B', is 1, but 'B' is 3 in 'x'");
    REFUSED("rmsnorm run chain.onnx random:float:3,2,4 random:float:3,2,4 random:float:1,1",
            "input 'unused' is float [1,1]", "declares float [?]");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, NULL);
    model_initializer(&file, "g", "", twos);
    model_node(&file, "n", "", "RMSNormalization", "x,g", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT16, NULL);
    model_write(&file, 23, "type.onnx");
    REFUSED("rmsnorm run type.onnx random:float:4",
            "output 'y' is float [4], the model declares float16 of unknown rank");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "N,4");
    model_initializer(&file, "g", "", twos);
    model_node(&file, "n", "", "RMSNormalization", "x,g", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, "4,N");
    model_write(&file, 24, "shape.onnx");
    REFUSED("rmsnorm run shape.onnx random:float:2,4", "output 'y' is float [2,4]");
    REFUSED("rmsnorm run shape.onnx random:float:4,3", "input 'x' is float [4,3], the model declares float [N,4]");
    DONE("rmsnorm run shape.onnx random:float:4,4", "y: float [4,4]\n");
}

static void other_nodes_are_named_before_anything_is_computed(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_initializer(&file, "g", "4", twos);
    model_node(&file, "norm", "", "RMSNormalization", "x,g", "y", "");
    model_node(&file, "the cast", "my.domain", "Cast", "y", "z", "to=1");
    model_output(&file, "z", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "cast.onnx");
    REFUSED("rmsnorm run cast.onnx missing.npy", "cast.onnx: ", "the cast", "Cast", "my.domain",
            "; of ai.onnx Add, Cast, Constant, ConstantOfShape, Div, Identity, Mul, Pow, Range, ",
            "Reciprocal, ReduceMean, Shape, Size, Sqrt, Sub are run as well\n");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_initializer(&file, "g", "4", twos);
    model_node(&file, "old", "", "RMSNormalization", "x,g", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, "4");
    model_write(&file, 22, "old.onnx");
    REFUSED("rmsnorm run old.onnx missing.npy", "old", "22", "23");
}

static void nodes_must_be_in_topological_order(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_initializer(&file, "g", "4", twos);
    model_node(&file, "late", "", "RMSNormalization", "a,g", "y", "");
    model_node(&file, "early", "", "RMSNormalization", "x,g", "a", "");
    model_output(&file, "y", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "order.onnx");
    REFUSED("rmsnorm run order.onnx random:float:4",
            "node 0 'late' (ai.onnx::RMSNormalization) reads 'a', which node 1 'early'", "makes only later",
            "topological order");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_node(&file, "a", "", "RMSNormalization", "x,q", "p", "");
    model_node(&file, "b", "", "RMSNormalization", "x,p", "q", "");
    model_output(&file, "q", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "cycle.onnx");
    REFUSED("rmsnorm run cycle.onnx random:float:4", "node 0 'a'", "reads 'q'", "without a cycle");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_node(&file, "self", "", "RMSNormalization", "x,y", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "self.onnx");
    REFUSED("rmsnorm run self.onnx random:float:4", "node 0 'self'", "reads its own output 'y'");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_node(&file, "lost", "", "RMSNormalization", "x,nowhere", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "lost.onnx");
    REFUSED("rmsnorm run lost.onnx random:float:4", "node 0 'lost'",
            "reads 'nowhere', which no input, initializer or node makes");
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "4");
    model_output(&file, "nothing", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "nothing.onnx");
    REFUSED("rmsnorm run nothing.onnx random:float:4", "nothing makes the declared output 'nothing'");
}

static void a_refusal_in_the_middle_names_the_node(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "?,?");
    model_initializer(&file, "g", "4", twos);
    model_initializer(&file, "three", "3", twos);
    model_node(&file, "fine", "", "RMSNormalization", "x,g", "y", "");
    model_node(&file, "bad", "", "RMSNormalization", "y,three", "z", "");
    model_output(&file, "z", RMSNORM_FLOAT, NULL);
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "bad.onnx");
    REFUSED("rmsnorm run bad.onnx random:float:2,4 --output y=y.npy --output-dir d",
            "bad.onnx: node 1 'bad' (ai.onnx::RMSNormalization): ", "scale");
    assert_false(exists("y.npy"));
    assert_false(exists("d"));
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "2,4");
    model_initializer(&file, "g", "4", twos);
    model_node(&file, "five", MS, SKIP, "x,x,g,g,g", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "five.onnx");
    REFUSED("rmsnorm run five.onnx random:float:2,4", "node 0 'five'", "slot 4");
}

/* Optional slots as empty names, two of them in one node; a value that is input and output; one initializer for two nodes. */
static void empty_names_are_no_values(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "1,4");
    model_initializer(&file, "g", "4", twos);
    model_node(&file, "", MS, SKIP, "x,x,g,", "y,,,s", "");
    model_node(&file, "", MS, SKIP, "s,x,g,", "z,,,", "");
    model_output(&file, "x", RMSNORM_FLOAT, "1,4");
    model_output(&file, "s", RMSNORM_FLOAT, "1,4");
    model_output(&file, "g", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "empty.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "1,4", 1, 2, 3, 4);
    DONE("rmsnorm run empty.onnx x.npy --output-dir empty", "x: float [1,4] -> empty/x.npy\n");
    EXPECT("empty/x.npy", RMSNORM_FLOAT, "1,4", 1, 2, 3, 4);
    EXPECT("empty/s.npy", RMSNORM_FLOAT, "1,4", 2, 4, 6, 8);
    EXPECT("empty/g.npy", RMSNORM_FLOAT, "4", 2, 2, 2, 2);
}

/* Names from a file end up on a terminal and in file names. */
static void hostile_names_stay_harmless(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x=\x1b[31m\n", RMSNORM_FLOAT, "N\x07,4");
    model_initializer(&file, "g", "4", twos);
    model_node(&file, "../n\x0b", "", "RMSNormalization", "x=\x1b[31m\n,g", "../../y", "");
    model_node(&file, "", "", "RMSNormalization", "x=\x1b[31m\n,g", "/etc/y%", "");
    model_node(&file, "", "", "RMSNormalization", "x=\x1b[31m\n,g", ".", "");
    model_node(&file, "", "", "RMSNormalization", "x=\x1b[31m\n,g", "a:bfloat16", "");
    model_output(&file, "../../y", RMSNORM_FLOAT, NULL);
    model_output(&file, "/etc/y%", RMSNORM_FLOAT, NULL);
    model_output(&file, ".", RMSNORM_FLOAT, NULL);
    model_output(&file, "a:bfloat16", RMSNORM_FLOAT, NULL);
    model_write(&file, 23, "hostile.onnx");
    REFUSED("rmsnorm run hostile.onnx", "needs the inputs 'x=?[31m?'");
    REFUSED("rmsnorm run hostile.onnx random:float:1,5",
            "input 'x=?[31m?' is float [1,5], the model declares float [N?,4]");
    DONE("mkdir deep && cd deep && rmsnorm run ../hostile.onnx random:float:1,4 --output-dir out",
         "../../y: float [1,4] -> out/%2E.%2F..%2Fy.npy\n", "/etc/y%: float [1,4] -> out/%2Fetc%2Fy%25.npy\n",
         ".: float [1,4] -> out/%2E.npy\n", "a:bfloat16: float [1,4] -> out/a%3Abfloat16.npy\n");
    assert_int_equal(entry_count("deep/out"), 4);
    DONE("rmsnorm run hostile.onnx --input 'x=\x1b[31m\n=random:float:1,4'", "../n? = ai.onnx::RMSNormalization ");
    json_t *root = json_of("rmsnorm run hostile.onnx random:float:1,4 --json", 0);
    assert_string_equal(json_string_value(at(root, "nodes.0.name")), "../n\x0b");
    json_decref(root);
}

static void long_chains_are_listed_in_part(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "v0", RMSNORM_FLOAT, "4");
    model_initializer(&file, "g", "4", twos);
    for (int i = 0; i < 200; ++i) {
        char inputs[32];
        char output[32];
        (void)snprintf(inputs, sizeof inputs, "v%d,g", i);
        (void)snprintf(output, sizeof output, "v%d", i + 1);
        model_node(&file, "", "", "RMSNormalization", inputs, output, "");
    }
    model_output(&file, "v200", RMSNORM_FLOAT, "4");
    model_write(&file, 23, "long.onnx");
    DONE("rmsnorm run long.onnx random:float:4", "... and 192 more nodes (--json lists all)\n", "v200: float [4]\n");
    json_t *root = json_of("rmsnorm run long.onnx random:float:4 --json", 0);
    assert_int_equal(json_array_size(at(root, "nodes")), 200);
    json_decref(root);
}

static void model_and_input_cannot_both_be_standard_input(void **state)
{
    (void)state;
    write_chain("chain.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "1,1,4", 1, 1, 1, 1);
    DONE("rmsnorm run - x.npy x.npy random:float:1 <chain.onnx", "s3: float [1,1,4]\n");
    DONE("rmsnorm run chain.onnx x.npy - random:float:1 <x.npy", "s3: float [1,1,4]\n");
    REFUSED("rmsnorm run - x.npy - random:float:1 <chain.onnx", "'-' is given 2 times");
    outcome result = shell("rmsnorm run chain.onnx x.npy x.npy random:float:1 --output s3=- >s.npy");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.err, "y3: float [1,1,4]\n  min 2, max 2"));
    outcome_free(&result);
    EXPECT("s.npy", RMSNORM_FLOAT, "1,1,4", 7, 7, 7, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_needs_exactly_the_declared_inputs),
        cmocka_unit_test(files_fill_the_inputs_left_by_names),
        cmocka_unit_test(a_name_may_hold_an_equals_sign),
        cmocka_unit_test(declared_types_and_shapes_are_checked),
        cmocka_unit_test(other_nodes_are_named_before_anything_is_computed),
        cmocka_unit_test(nodes_must_be_in_topological_order),
        cmocka_unit_test(a_refusal_in_the_middle_names_the_node),
        cmocka_unit_test(empty_names_are_no_values),
        cmocka_unit_test(hostile_names_stay_harmless),
        cmocka_unit_test(long_chains_are_listed_in_part),
        cmocka_unit_test(model_and_input_cannot_both_be_standard_input),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
