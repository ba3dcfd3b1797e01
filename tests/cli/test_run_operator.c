/* rmsnorm run --op: numbers, slots, files, summaries. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

#define SKIP "rmsnorm run --op com.microsoft::SkipSimplifiedLayerNormalization "
#define SIMPLE "rmsnorm run --op SimplifiedLayerNormalization "

/* Contract 6, first row. */
static void skip_with_bias_writes_output_and_sum(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype dtype;
        const char *suffix;
    } types[] = {{RMSNORM_FLOAT, ""}, {RMSNORM_FLOAT16, ""}, {RMSNORM_BFLOAT16, ":bfloat16"}};
    for (size_t i = 0; i < 3; ++i) {
        char path[5][64];
        static const char *const names[] = {"input", "skip", "gamma", "bias", "y"};
        for (size_t j = 0; j < 5; ++j) {
            (void)snprintf(path[j], sizeof path[j], "%s.npy%s", names[j], types[i].suffix);
        }
        WRITE(path[0], types[i].dtype, "2,2", 1, -3, 3, -5);
        WRITE(path[1], types[i].dtype, "2,2", 0.5, 0.5, 0.5, 0.5);
        WRITE(path[2], types[i].dtype, "2", 2, -3);
        WRITE(path[3], types[i].dtype, "2", 0.5, 0.5);
        expect_done(shell(SKIP "--attr epsilon=0 %s %s %s %s -o output=%s --output=input_skip_bias_sum=sum.pb", path[0],
                          path[1], path[2], path[3], path[4]),
                    (const char *const[]){"com.microsoft::SkipSimplifiedLayerNormalization epsilon=0\n", "output: ",
                                          "[2,2] -> y", "input_skip_bias_sum: ", "[2,2] -> sum.pb\n", NULL});
        EXPECT(path[4], types[i].dtype, "2,2", 2, 3, 2, 3);
        EXPECT("sum.pb", types[i].dtype, "2,2", 2, -2, 4, -4);
    }
}

static void effective_epsilon_is_printed_and_used(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "4", 1e-3f, 1e-3f, 1e-3f, 1e-3f);
    WRITE("one.npy", RMSNORM_FLOAT, "4", 1, 1, 1, 1);
    DONE(SIMPLE "x.npy one.npy",
         "ai.onnx::SimplifiedLayerNormalization axis=-1 epsilon=1e-5 keep_dims=1 stash_type=1\n",
         "Y: float [4]\n  min 0.301511, max 0.301511, mean 0.301511\n  first 0.301511, 0.301511, 0.301511, 0.301511\n");
    DONE("rmsnorm run --op RMSNormalization --attr epsilon=0 --attr axis=0 x.npy one.npy",
         "ai.onnx::RMSNormalization axis=0 epsilon=0 stash_type=1\n", "first 1, 1, 1, 1\n");
    WRITE("x.npy", RMSNORM_FLOAT, "1,1", 1e-6f);
    WRITE("zero.npy", RMSNORM_FLOAT, "1,1", 0);
    WRITE("one.npy", RMSNORM_FLOAT, "1", 1);
    DONE(SKIP "x.npy zero.npy one.npy", "epsilon=1e-12\n", "first 0.707107\n");
}

static void underscore_leaves_an_optional_input_out(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 2, -2);
    WRITE("zero.npy", RMSNORM_FLOAT, "1,2", 0, 0);
    WRITE("gamma.npy", RMSNORM_FLOAT, "2", 1, 2);
    DONE(SKIP "--attr=epsilon=12 x.npy zero.npy gamma.npy _", "output: float [1,2]\n", "first 0.5, -1\n");
    DONE(SKIP "--attr=epsilon=12 x.npy zero.npy -- gamma.npy", "first 0.5, -1\n");
    REFUSED(SKIP "x.npy zero.npy _", "gamma");
    REFUSED(SKIP "x.npy zero.npy gamma.npy _ _", "5 inputs were given, it has 4: input, skip, gamma, bias");
}

static void only_outputs_asked_for_are_there(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 2, -2);
    WRITE("zero.npy", RMSNORM_FLOAT, "1,2", 0, 0);
    WRITE("gamma.npy", RMSNORM_FLOAT, "2", 1, 1);
    json_t *root = json_of(SKIP "x.npy zero.npy gamma.npy --json", 0);
    assert_int_equal(json_array_size(at(root, "outputs")), 1);
    json_decref(root);
    root = json_of(SKIP "x.npy zero.npy gamma.npy --json -o mean --attr epsilon=12 -o inv_std_var=v.npy", 0);
    assert_int_equal(json_array_size(at(root, "outputs")), 3);
    assert_string_equal(json_string_value(at(root, "outputs.1.name")), "mean");
    assert_string_equal(json_string_value(at(root, "outputs.2.file")), "v.npy");
    assert_null(json_object_get(at(root, "outputs.2"), "first"));
    json_decref(root);
    EXPECT("v.npy", RMSNORM_FLOAT, "1,1", 0.25);
}

static void json_report_has_the_statistics(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "2,4", 1, -1, 1, -1, 2, 2, 2, 2);
    WRITE("scale.npy", RMSNORM_DOUBLE, "4", 1, 2, 3, 0.1);
    json_t *root = json_of(SIMPLE "x.npy scale.npy --attr epsilon=0 --json --threads 1 --isa scalar", 0);
    assert_string_equal(json_string_value(at(root, "nodes.0.operator")), "SimplifiedLayerNormalization");
    assert_string_equal(json_string_value(at(root, "nodes.0.domain")), "ai.onnx");
    assert_int_equal(json_integer_value(at(root, "nodes.0.attributes.axis")), -1);
    assert_true(json_real_value(at(root, "nodes.0.attributes.epsilon")) == 0);
    assert_string_equal(json_string_value(at(root, "isa")), "scalar");
    assert_int_equal(json_integer_value(at(root, "threads")), 1);
    assert_string_equal(json_string_value(at(root, "outputs.0.dtype")), "double");
    assert_int_equal(json_integer_value(at(root, "outputs.0.shape.1")), 4);
    assert_int_equal(json_integer_value(at(root, "outputs.0.count")), 8);
    assert_int_equal(json_integer_value(at(root, "outputs.0.nan")), 0);
    assert_true(json_real_value(at(root, "outputs.0.min")) == -2);
    assert_true(json_real_value(at(root, "outputs.0.max")) == 3);
    assert_true(json_real_value(at(root, "outputs.0.first.3")) == -0.1);
    assert_true(fabs(json_real_value(at(root, "outputs.0.mean")) - 1) < 1e-12);
    json_decref(root);
}

static void values_that_are_not_finite_are_counted(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "3,2", (double)NAN, 1, 3, 4, (double)INFINITY, 1);
    WRITE("one.npy", RMSNORM_FLOAT, "2", 1, 1);
    DONE(SIMPLE "x.npy one.npy --attr epsilon=0",
         "  min 0, max 1.13137, mean 0.659966\n  not finite: 3 NaN, 0 infinite\n",
         "first nan, nan, 0.848528, 1.13137, nan, 0\n");
    json_t *root = json_of(SIMPLE "x.npy one.npy --json", 0);
    assert_int_equal(json_integer_value(at(root, "outputs.0.nan")), 3);
    assert_string_equal(json_string_value(at(root, "outputs.0.first.0")), "nan");
    json_decref(root);
    WRITE("x.npy", RMSNORM_FLOAT, "1,1", (double)NAN);
    WRITE("one.npy", RMSNORM_FLOAT, "1", 1);
    root = json_of(SIMPLE "x.npy one.npy --json", 0);
    assert_true(json_is_null(at(root, "outputs.0.min")));
    json_decref(root);
}

static void an_empty_tensor_has_no_elements(void **state)
{
    (void)state;
    DONE(SIMPLE "random:float:0,4 random:float:4", "Y: float [0,4]\n  no elements\n");
    json_t *root = json_of(SIMPLE "random:float:0,4 random:float:4 --json", 0);
    assert_int_equal(json_array_size(at(root, "outputs.0.first")), 0);
    json_decref(root);
    DONE(SIMPLE "random:float:2,0,4 random:float:4 -o Y=empty.npy", "Y: float [2,0,4] -> empty.npy\n");
    assert_true(exists("empty.npy"));
}

/* The generator is part of what users may rely on. These values are from another implementation of what operand.c describes. */
static void random_tensors_are_the_same_everywhere(void **state)
{
    (void)state;
    WRITE("zero.npy", RMSNORM_FLOAT, "1,4", 0, 0, 0, 0);
    DONE(SKIP "random:float:1,4:7 zero.npy random:float:4 -o input_skip_bias_sum=seven.npy");
    EXPECT("seven.npy", RMSNORM_FLOAT, "1,4", 0.1671634167432785, 1.300174593925476, -1.150242805480957,
           -0.15844184160232544);
    DONE(SKIP "random:float:1,2 random:float:1,2 random:float:2:5 -o input_skip_bias_sum=default.npy");
    DONE(SKIP "random:float:1,2:0 random:float:1,2:1 random:float:2:6 -o input_skip_bias_sum=given.npy");
    DONE("cmp default.npy given.npy");
    DONE("! cmp -s seven.npy default.npy");
}

static void random_tensors_look_normal(void **state)
{
    (void)state;
    static const char *const types[] = {"float", "float16", "bfloat16", "double"};
    for (size_t i = 0; i < 3; ++i) {
        char script[256];
        (void)snprintf(script, sizeof script,
                       SKIP "random:%s:8192,8 random:%s:8192,8:0 random:%s:8 -o input_skip_bias_sum --json", types[i],
                       types[i], types[i]);
        json_t *root = json_of(script, 0); /* twice the same tensor */
        assert_true(fabs(json_real_value(at(root, "outputs.1.mean"))) < 0.03);
        assert_true(json_real_value(at(root, "outputs.1.max")) > 5.5 && json_real_value(at(root, "outputs.1.max")) < 7);
        assert_true(json_real_value(at(root, "outputs.1.min")) < -5.5 &&
                    json_real_value(at(root, "outputs.1.min")) > -7);
        json_decref(root);
    }
    json_t *root = json_of(SIMPLE "random:double:1,65536 random:double: -o inv_std_var --json", 0);
    assert_true(fabs(json_real_value(at(root, "outputs.1.mean")) - 1) < 0.01);
    json_decref(root);
}

static void random_specifications_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *word, *sentence;
    } cases[] = {
        {"random:", "'' has no dims"},
        {"random:float", "'float' has no dims, write DTYPE:DIM,DIM,..."},
        {"random:int8:2", "unknown element type 'int8', allowed are float, float16, bfloat16, double"},
        {"random:float:2,B", "dim 1 is 'B', allowed are whole numbers from 0"},
        {"random:float:2,-1", "dim 1 is '-1'"},
        {"random:float:2,", "dim 1 is ''"},
        {"random:float:2:x", "the seed is 'x'"},
        {"random:float:2:1:1", "the seed is '1:1'"},
        {"random:float:9223372036854775807,9223372036854775807", "more bytes than 64 bits can count"},
        {"random:float:9223372036854775808", "dim 0 is '9223372036854775808'"},
        {"random:float:1000000,1000000,1000", "no memory for a float tensor [1000000,1000000,1000]"},
        {"random:float:1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", "more than 16 dims"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char script[256];
        (void)snprintf(script, sizeof script, SIMPLE "%s random:float:4", cases[i].word);
        REFUSED(script, "X: ", cases[i].sentence);
    }
    WRITE("random:y.npy", RMSNORM_FLOAT, "1", 1);
    DONE(SIMPLE "./random:y.npy ./random:y.npy", "Y: float [1]\n");
}

static void streams_carry_one_tensor(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 2, -2);
    WRITE("scale.npy", RMSNORM_FLOAT, "2", 1, 2);
    outcome result = shell(SIMPLE "- scale.npy --attr epsilon=12 -o Y=- <x.npy >y.npy");
    assert_int_equal(result.code, 0);
    assert_non_null(strstr(result.err, "Y: float [1,2] -> -\n"));
    outcome_free(&result);
    EXPECT("y.npy", RMSNORM_FLOAT, "1,2", 0.5, -1);
    DONE(SIMPLE "x.npy scale.npy -o Y=- 2>/dev/null | rmsnorm run --op RMSNormalization - scale.npy",
         "Y: float [1,2]\n");
    REFUSED(SIMPLE "- - <x.npy", "'-' is given 2 times as an input, standard input can be read once");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=- -o inv_std_var=-", "'Y' and 'inv_std_var' both go to '-'");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=- --json", "--json and an output to '-' both need standard output");
}

static void several_outputs_appear_together_or_not_at_all(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 2, -2);
    WRITE("scale.npy", RMSNORM_FLOAT, "2", 1, 2);
    DONE("mkdir out && printf old >out/y.npy");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=out/y.npy -o inv_std_var=out/missing/v.npy",
            "output 'inv_std_var': out/missing/v.npy: ", "No such file or directory");
    assert_int_equal(entry_count("out"), 1);
    DONE("cat out/y.npy", "old");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=out/y.npy -o inv_std_var=out/v.txt", "output 'inv_std_var': out/v.txt: ");
    assert_int_equal(entry_count("out"), 1);
    REFUSED(SIMPLE "x.npy scale.npy -o Y=out/y.npy -o inv_std_var=out", "'out' is a directory");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=out/y.npy -o inv_std_var=./out/../out/y.npy",
            "both go to './out/../out/y.npy'");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=out/y.safetensors:a -o inv_std_var=out/y.safetensors:b",
            "each needs its own file");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=out/y.npy -o inv_std_var=- >/dev/full", "output 'inv_std_var': ");
    REFUSED(SIMPLE "x.npy scale.npy -o Y=", "output 'Y': the file name is empty");
    assert_int_equal(entry_count("out"), 1);
    DONE("chmod 640 out/y.npy && ln -s y.npy out/link.npy");
    DONE(SIMPLE "x.npy scale.npy --attr epsilon=12 -o Y=out/link.npy -o inv_std_var=out/v.safetensors:a/b.c",
         "Y: float [1,2] -> out/link.npy\n");
    assert_int_equal(entry_count("out"), 3);
    DONE("test -L out/link.npy && stat -c %a out/y.npy", "640\n");
    EXPECT("out/v.safetensors:a/b.c", RMSNORM_FLOAT, "1,1", 0.25);
}

static void a_refused_call_writes_nothing(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 3, 4);
    WRITE("three.npy", RMSNORM_FLOAT, "3", 1, 1, 1);
    REFUSED(SIMPLE "x.npy three.npy -o Y=refused.npy --output-dir refused", "SimplifiedLayerNormalization", "scale");
    assert_false(exists("refused.npy"));
    assert_false(exists("refused"));
}

static void output_dir_takes_all_computed_outputs(void **state)
{
    (void)state;
    static const char script[] = SKIP
        "random:bfloat16:1,8 random:bfloat16:1,8 random:bfloat16:8 --output-dir all -o inv_std_var -o mean=mean.npy";
    DONE(script, "output: bfloat16 [1,8] -> all/output.npy:bfloat16\n", "mean: float [1,1] -> mean.npy\n",
         "inv_std_var: float [1,1] -> all/inv_std_var.npy\n");
    assert_int_equal(entry_count("all"), 2);
    assert_true(exists("mean.npy"));
}

static void every_isa_and_thread_count_gives_the_same_bits(void **state)
{
    (void)state;
    static const char call[] = SKIP "random:float16:3,5,1000 random:float16:5,1000 random:float16:1000";
    expect_done(shell("%s -o output=first.npy", call), (const char *const[]){NULL});
    for (int isa = RMSNORM_ISA_SCALAR; isa < RMSNORM_ISA_COUNT; ++isa) {
        if (rmsnorm_isa_compiled((rmsnorm_isa)isa)) {
            expect_done(shell("%s -o output=next.npy --isa %s && cmp first.npy next.npy", call,
                              rmsnorm_isa_name((rmsnorm_isa)isa)),
                        (const char *const[]){NULL});
        }
    }
    for (int threads = 1; threads <= 4; ++threads) {
        expect_done(shell("%s -o output=next.npy --threads %d && cmp first.npy next.npy", call, threads),
                    (const char *const[]){NULL});
    }
}

#define TWO_OUTPUTS SIMPLE "random:float:1,2 random:float:2 "

static void one_file_under_two_names_is_refused(void **state)
{
    (void)state;
    DONE("mkdir same && cd same && touch there.npy && ln -s there.npy link.npy && ln -s . here");
    static const char *const pairs[][2] = {
        {"there", "link"}, {"link", "there"}, {"new", "here/new"}, {"here/there", "link"}};
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        expect_refused(shell(TWO_OUTPUTS "-o Y=same/%s.npy -o inv_std_var=same/%s.npy", pairs[i][0], pairs[i][1]),
                       (const char *const[]){"outputs 'Y' and 'inv_std_var' both go to 'same/", NULL});
    }
    REFUSED(TWO_OUTPUTS "-o Y=- -o inv_std_var=same/there.npy >>same/there.npy", "both go to 'same/there.npy'");
    assert_false(exists("same/new.npy"));
    DONE("[ ! -s same/there.npy ] && [ -h same/link.npy ]");
    DONE(TWO_OUTPUTS "-o Y=same/link.npy -o inv_std_var=same/other.npy && [ -s same/there.npy ]");
}

/* One output is written by another way than several. */
static void safetensors_with_other_tensors_are_not_replaced(void **state)
{
    (void)state;
    WRITE("s.safetensors:a", RMSNORM_FLOAT, "1", 7);
    WRITE("one.npy", RMSNORM_FLOAT, "1", 1);
    write_bytes("text.safetensors", "this is a text of mine", 22);
    DONE("cp s.safetensors kept && cp text.safetensors kept.text && : >empty.safetensors");
    REFUSED(TWO_OUTPUTS "-o Y=s.safetensors:b",
            "output 'Y': s.safetensors: holds 1 tensor (a) that writing \"b\" would remove; a new file, or one that "
            "holds this tensor alone, is allowed");
    REFUSED(TWO_OUTPUTS "-o Y=s.safetensors", "would remove");
    REFUSED(TWO_OUTPUTS "-o Y=fresh.npy -o inv_std_var=s.safetensors:b", "output 'inv_std_var': ", "would remove");
    REFUSED(TWO_OUTPUTS "-o Y=text.safetensors:b",
            "text.safetensors: ", "a file that is no .safetensors is not replaced");
    DONE("cmp s.safetensors kept && cmp text.safetensors kept.text && [ ! -e fresh.npy ]");
    DONE(SIMPLE "one.npy one.npy -o Y=s.safetensors:a --attr epsilon=0 && " SIMPLE
                "one.npy one.npy -o Y=empty.safetensors:b --attr epsilon=0");
    EXPECT("s.safetensors:a", RMSNORM_FLOAT, "1", 1);
    EXPECT("empty.safetensors:b", RMSNORM_FLOAT, "1", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skip_with_bias_writes_output_and_sum),
        cmocka_unit_test(effective_epsilon_is_printed_and_used),
        cmocka_unit_test(underscore_leaves_an_optional_input_out),
        cmocka_unit_test(only_outputs_asked_for_are_there),
        cmocka_unit_test(json_report_has_the_statistics),
        cmocka_unit_test(values_that_are_not_finite_are_counted),
        cmocka_unit_test(an_empty_tensor_has_no_elements),
        cmocka_unit_test(random_tensors_are_the_same_everywhere),
        cmocka_unit_test(random_tensors_look_normal),
        cmocka_unit_test(random_specifications_are_checked),
        cmocka_unit_test(streams_carry_one_tensor),
        cmocka_unit_test(several_outputs_appear_together_or_not_at_all),
        cmocka_unit_test(a_refused_call_writes_nothing),
        cmocka_unit_test(one_file_under_two_names_is_refused),
        cmocka_unit_test(safetensors_with_other_tensors_are_not_replaced),
        cmocka_unit_test(output_dir_takes_all_computed_outputs),
        cmocka_unit_test(every_isa_and_thread_count_gives_the_same_bits),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
