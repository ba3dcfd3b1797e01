/* Inference over whole graphs: what is declared, contradictions, order, graphs inside, and the operators of the contract. */
#include "build.h"

#include <stdio.h>

static build *b;

static int setup(void **state)
{
    (void)state;
    b = build_begin(23);
    (void)build_value(b, "x", RMSNORM_FLOAT, "B,S,64");
    (void)build_value(b, "numbers", RMSNORM_FLOAT, "2,3,4");
    (void)build_value(b, "any", RMSNORM_FLOAT, "*");
    (void)build_constant(b, "gamma", RMSNORM_FLOAT, "64", "1");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    build_end(b);
    return 0;
}

/* The sentences of all faults, with a line break between. */
static const char *faults(void)
{
    static char text[4096];
    size_t count;
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    const rmsnorm_ir_fault *const found = rmsnorm_ir_faults(b->ir, &count);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(text);
        snprintf(text + length, sizeof text - length, "%s%s", i > 0 ? "\n" : "", found[i].sentence);
    }
    return text;
}

/* ---- What is declared ------------------------------------------------------------------------ */

static void declared_types_stay_and_are_filled_in(void **state)
{
    (void)state;
    (void)build_value(b, "named", RMSNORM_FLOAT, "N,M,64");
    (void)build_value(b, "partly", RMSNORM_UNDEFINED, "?,T,?");
    (void)build_value(b, "open", RMSNORM_UNDEFINED, "...,H");
    (void)build_value(b, "width", RMSNORM_FLOAT, "?,3,K");
    (void)build_node(b, "Neg", "x", "named");
    (void)build_node(b, "Neg", "x", "partly");
    (void)build_node(b, "Neg", "x", "open");
    (void)build_node(b, "Neg", "numbers", "width");
    assert_string_equal(faults(), "");
    assert_string_equal(build_type(b, "named"), "float:N,M,64");
    assert_string_equal(build_type(b, "partly"), "float:B,T,64");
    assert_string_equal(build_type(b, "open"), "float:B,S,H");
    assert_string_equal(build_type(b, "width"), "float:2,3,K");
}

static void contradictions_are_faults(void **state)
{
    (void)state;
    (void)build_value(b, "wrong_dim", RMSNORM_FLOAT, "B,S,32");
    (void)build_value(b, "wrong_type", RMSNORM_FLOAT16, "*");
    (void)build_value(b, "wrong_rank", RMSNORM_FLOAT, "B,64");
    (void)build_value(b, "too_long", RMSNORM_UNDEFINED, "...,A,B,S,64");
    const size_t first = build_node(b, "Neg", "x", "wrong_dim");
    (void)build_node(b, "Neg", "x", "wrong_type");
    (void)build_node(b, "Neg @", "x", "wrong_rank");
    (void)build_node(b, "Neg", "x", "too_long");
    static const char expected[] =
        "node \"wrong_dim\": \"wrong_dim\" is said to be float (B,S,32), but from what goes in it is float (B,S,64)\n"
        "node \"wrong_type\": \"wrong_type\" is said to be float16 of unknown shape, but from what goes in it is float "
        "(B,S,64)\n"
        "node Neg of \"wrong_rank\": \"wrong_rank\" is said to be float (B,64), but from what goes in it is float "
        "(B,S,64)\n"
        "node \"too_long\": \"too_long\" is said to be of unknown type (...,A,B,S,64), but from what goes in it is "
        "float (B,S,64)";
    assert_string_equal(faults(), expected);
    assert_string_equal(build_type(b, "wrong_dim"), "float:B,S,32");
    assert_string_equal(faults(), expected); /* not twice */
    size_t count;
    assert_int_equal(rmsnorm_ir_faults(b->ir, &count)[0].node, first);
    assert_int_equal(count, 4);
}

static void operands_that_contradict_each_other(void **state)
{
    (void)state;
    (void)build_constant(b, "half", RMSNORM_FLOAT16, "64", "1");
    (void)build_constant(b, "w", RMSNORM_FLOAT, "32,8", "0");
    (void)build_constant(b, "shape", RMSNORM_INT64, "2", "5,5");
    (void)build_node(b, "Add", "x,numbers", "a");
    (void)build_node(b, "Mul", "x,half", "m");
    (void)build_node(b, "MatMul", "x,w", "p");
    (void)build_node(b, "Reshape", "numbers,shape", "r");
    (void)build_node(b, "Transpose perm=[0,1]", "x", "t");
    (void)build_node(b, "Concat axis=0", "x,numbers", "c");
    (void)build_node(b, "Squeeze axes=[2]", "x", "s");
    (void)build_node(b, "ReduceMean axes=[3]", "x", "e");
    assert_string_equal(
        faults(),
        "node \"a\": operands of the shapes (B,S,64) and (2,3,4) do not go together; allowed: dims that are equal or "
        "1, from the right\n"
        "node \"m\": operands are float and float16; allowed: one element type\n"
        "node \"p\": matrices of the shapes (B,S,64) and (32,8) cannot be multiplied\n"
        "node \"r\": a tensor of the shape (2,3,4) cannot be reshaped to (5,5)\n"
        "node \"t\": the attribute perm is no order of the dims of (B,S,64)\n"
        "node \"c\": input 1, float (2,3,4), does not go with the others, float (B,S,64)\n"
        "node \"s\": a dim of (B,S,64) that is not 1 cannot be squeezed\n"
        "node \"e\": an axis is not among the dims of (B,S,64)");
}

static void what_is_added_later_is_inferred_later(void **state)
{
    (void)state;
    (void)build_node(b, "Neg", "x", "first");
    assert_string_equal(faults(), "");
    (void)build_node(b, "Neg", "first", "second");
    assert_string_equal(faults(), "");
    assert_string_equal(build_type(b, "second"), "float:B,S,64");
}

/* ---- Order ----------------------------------------------------------------------------------- */

static void an_input_that_is_made_later(void **state)
{
    (void)state;
    (void)build_value(b, "late", RMSNORM_FLOAT, "B,S,64");
    (void)build_value(b, "self", RMSNORM_FLOAT, "B,S,64");
    (void)build_node(b, "Neg", "late", "early");
    (void)build_node(b, "Neg", "x", "late");
    (void)build_node(b, "Add", "x,self", "self");
    assert_string_equal(faults(), "node \"early\": stands before node \"late\" that makes its input \"late\"\n"
                                  "node \"self\": its input \"self\" is its own output");
}

static void a_value_of_a_graph_that_is_not_seen(void **state)
{
    (void)state;
    (void)build_value(b, "condition", BUILD_BOOL, "");
    const size_t node = build_node(b, "If", "condition", "y");
    (void)build_node(b, "Neg", "y", "z");
    (void)build_graph(b, node);
    (void)build_node(b, "Neg", "x", "inner");
    (void)build_graph(b, node);
    (void)build_node(b, "Neg", "inner", "other");
    (void)build_node(b, "Neg", "z", "later");
    b->graph = 0;
    assert_string_equal(faults(), "node \"other\": its input \"inner\" is of a graph that it does not see\n"
                                  "node \"later\": stands before node \"z\" that makes its input \"z\"");
}

/* ---- Graphs inside --------------------------------------------------------------------------- */

static size_t branch(size_t node, const char *op, const char *input, const char *output)
{
    const size_t graph = build_graph(b, node);
    (void)build_node(b, op, input, output);
    build_output(b, output);
    b->graph = 0;
    return graph;
}

static void branches_that_agree(void **state)
{
    (void)state;
    (void)build_value(b, "condition", BUILD_BOOL, "");
    (void)build_value(b, "shorter", RMSNORM_FLOAT, "B,1,64");
    const size_t same = build_node(b, "If", "condition", "same");
    const size_t part = build_node(b, "If", "condition", "part");
    const size_t type = build_node(b, "If", "condition", "type");
    (void)branch(same, "Neg", "x", "same_yes");
    (void)branch(same, "Abs", "x", "same_no");
    (void)branch(part, "Neg", "x", "part_yes");
    (void)branch(part, "Neg", "shorter", "part_no");
    (void)branch(type, "Cast to=10", "x", "type_yes");
    (void)branch(type, "ReduceSum keepdims=0", "x", "type_no");
    (void)build_node(b, "Neg", "same", "after");
    assert_string_equal(faults(), "");
    assert_string_equal(build_type(b, "same_no"), "float:B,S,64");
    assert_string_equal(build_type(b, "same"), "float:B,S,64");
    assert_string_equal(build_type(b, "after"), "float:B,S,64");
    assert_string_equal(build_type(b, "part"), "float:B,?,64");
    assert_string_equal(build_type(b, "type"), "?:*");
}

static void what_a_loop_carries_keeps_its_type(void **state)
{
    (void)state;
    (void)build_value(b, "rounds", RMSNORM_INT64, "");
    (void)build_value(b, "going", BUILD_BOOL, "");
    const size_t loop = build_node(b, "Loop", "rounds,going,x", "carried,gathered");
    (void)build_node(b, "Scan num_scan_inputs=1", "x,numbers", "state,rows");
    (void)build_graph(b, loop);
    (void)build_node(b, "Neg", "x", "inner");
    b->graph = 0;
    assert_string_equal(faults(), "");
    assert_string_equal(build_type(b, "carried"), "float:*");
    assert_string_equal(build_type(b, "gathered"), "?:*");
    assert_string_equal(build_type(b, "inner"), "float:B,S,64");
    assert_string_equal(build_type(b, "state"), "float:*");
    assert_string_equal(build_type(b, "rows"), "?:*");
}

/* Two thousand graphs, one in the other. */
static void depth_costs_no_stack(void **state)
{
    (void)state;
    char name[16];
    (void)build_value(b, "condition", BUILD_BOOL, "");
    size_t node = build_node(b, "If", "condition", "");
    for (int i = 0; i < 2000; i++) {
        (void)build_graph(b, node);
        snprintf(name, sizeof name, "n%d", i);
        (void)build_node(b, "Neg", "x", name);
        node = build_node(b, "If", "condition", "");
    }
    b->graph = 0;
    assert_string_equal(faults(), "");
    assert_string_equal(build_type(b, "n1999"), "float:B,S,64");
}

/* ---- The operators of the contract ----------------------------------------------------------- */

static void norms_are_inferred(void **state)
{
    (void)state;
    (void)build_constant(b, "g16", RMSNORM_FLOAT16, "64", "1");
    (void)build_value(b, "part", RMSNORM_FLOAT, "...,S,64");
    (void)build_node(b, "RMSNormalization epsilon=1e-6", "x,g16", "rms");
    (void)build_node(b, "SimplifiedLayerNormalization axis=-2", "x,gamma", "simple,inv");
    (void)build_node(b, "com.microsoft::SimplifiedLayerNormalization", "x,gamma", "other");
    (void)build_node(b, "com.microsoft::SkipSimplifiedLayerNormalization", "x,x,gamma", "skip,,sinv,sum");
    (void)build_node(b, "RMSNormalization", "part,gamma", "p");
    (void)build_node(b, "RMSNormalization", "any,gamma", "a");
    (void)build_node(b, "com.microsoft::SkipSimplifiedLayerNormalization", "part,any,gamma", "s,,,t");
    assert_string_equal(faults(), "");
    assert_string_equal(build_type(b, "rms"), "float16:B,S,64");
    assert_string_equal(build_type(b, "simple"), "float:B,S,64");
    assert_string_equal(build_type(b, "inv"), "float:B,1,1");
    assert_string_equal(build_type(b, "other"), "float:B,S,64");
    assert_string_equal(build_type(b, "skip"), "float:B,S,64");
    assert_string_equal(build_type(b, "sinv"), "float:B,S,1");
    assert_string_equal(build_type(b, "sum"), "float:B,S,64");
    assert_string_equal(build_type(b, "p"), "float:...,S,64");
    assert_string_equal(build_type(b, "a"), "float:*");
    assert_string_equal(build_type(b, "s"), "float:...,S,64");
}

typedef struct refusal {
    const char *op, *inputs, *outputs, *sentence;
} refusal;

static void norms_that_the_contract_refuses(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {"RMSNormalization", "x,w32", "y",
         "node \"y\": RMSNormalization: scale has the shape (32), X (B,S,64); allowed: at most as many dims as X, "
         "right-aligned, each 1 or equal to X's"},
        {"RMSNormalization", "part,w32", "y",
         "node \"y\": RMSNormalization: scale has the shape (32), X (64); allowed: at most as many dims as X, "
         "right-aligned, each 1 or equal to X's"},
        {"com.microsoft::RMSNormalization", "x,gamma", "y",
         "node \"y\": no operator com.microsoft::RMSNormalization; did you mean ai.onnx::RMSNormalization?"},
        {"SkipSimplifiedLayerNormalization", "x,x,gamma", "y",
         "node \"y\": no operator ai.onnx::SkipSimplifiedLayerNormalization; did you mean "
         "com.microsoft::SkipSimplifiedLayerNormalization?"},
        {"RMSNormalization mode=\"fast\"", "x,gamma", "y",
         "node \"y\": RMSNormalization: attribute \"mode\" is neither an int nor a float, the only ones allowed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        build_end(b);
        (void)setup(NULL);
        (void)build_constant(b, "w32", RMSNORM_FLOAT, "32", "1");
        (void)build_value(b, "part", RMSNORM_FLOAT, "...,64");
        (void)build_node(b, cases[i].op, cases[i].inputs, cases[i].outputs);
        assert_string_equal(faults(), cases[i].sentence);
    }
}

static void attributes_and_slots_of_norms_are_checked(void **state)
{
    (void)state;
    (void)build_node(b, "RMSNormalization epsilon=1", "x,gamma", "kind");
    (void)build_node(b, "RMSNormalization eps=1e-5", "x,gamma", "name");
    (void)build_node(b, "RMSNormalization", "x,gamma,gamma", "more");
    (void)build_node(b, "com.microsoft::SkipSimplifiedLayerNormalization", "x,x", "less");
    (void)build_node(b, "RMSNormalization", "x,gamma", "two,outputs");
    (void)faults();
    size_t count;
    const rmsnorm_ir_fault *const found = rmsnorm_ir_faults(b->ir, &count);
    static const char *const parts[][2] = {{"node \"kind\": ", "epsilon"},
                                           {"node \"name\": ", "eps"},
                                           {"node \"more\": ", "an input in slot 2"},
                                           {"node \"less\": ", "gamma"},
                                           {"node \"two\": ", "an output in slot 1"}};
    assert_int_equal(count, 5);
    for (size_t i = 0; i < count; i++) {
        assert_memory_equal(found[i].sentence, parts[i][0], strlen(parts[i][0]));
        assert_non_null(strstr(found[i].sentence, parts[i][1]));
    }
}

static void a_norm_needs_its_opset(void **state)
{
    (void)state;
    build *const old = build_begin(22);
    build_end(b);
    b = old;
    (void)build_value(b, "x", RMSNORM_FLOAT, "B,S,64");
    (void)build_constant(b, "gamma", RMSNORM_FLOAT, "64", "1");
    const size_t node = build_node(b, "RMSNormalization", "x,gamma", "y");
    assert_string_equal(faults(),
                        "node \"y\": RMSNormalization: not in opset 22 of ai.onnx; it is there since opset 23");
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    assert_int_equal(rmsnorm_ir_resolve(b->ir, node, &op, &attributes), RMSNORM_NOT_FOUND);
    assert_int_equal(rmsnorm_ir_set_opset(b->ir, "", 0), RMSNORM_OK);
    assert_string_equal(faults(), "node \"y\": RMSNormalization is of domain \"ai.onnx\", but the model imports no "
                                  "opset of that domain");
}

static void names_in_other_domains_are_others(void **state)
{
    (void)state;
    const size_t node = build_node(b, "org.example::RMSNormalization what=\"ever\"", "x", "y");
    const size_t x = build_find(b, "x");
    (void)build_value(b, "z", RMSNORM_UNDEFINED, "*");
    const size_t z = build_find(b, "z");
    const rmsnorm_ir_node call = {.name = "call",
                                  .op_type = "RMSNormalization",
                                  .domain = "",
                                  .inputs = &x,
                                  .input_count = 1,
                                  .outputs = &z,
                                  .output_count = 1,
                                  .function = true};
    size_t function;
    assert_int_equal(rmsnorm_ir_add_node(b->ir, &call, &function), RMSNORM_OK);
    assert_string_equal(faults(), "");
    assert_string_equal(build_type(b, "y"), "?:*");
    assert_string_equal(build_type(b, "z"), "?:*");
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    assert_int_equal(rmsnorm_ir_resolve(b->ir, node, &op, &attributes), RMSNORM_NOT_FOUND);
    assert_int_equal(rmsnorm_ir_resolve(b->ir, function, &op, &attributes), RMSNORM_NOT_FOUND);
    assert_int_equal(rmsnorm_ir_resolve(b->ir, 99, &op, &attributes), RMSNORM_NOT_FOUND);
}

static void resolve_reads_attributes(void **state)
{
    (void)state;
    const size_t node = build_node(b, "RMSNormalization axis=-2 epsilon=1e-6", "x,gamma", "y");
    const size_t wrong = build_node(b, "RMSNormalization axis=1.5", "x,gamma", "z");
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    assert_int_equal(rmsnorm_ir_resolve(b->ir, node, &op, &attributes), RMSNORM_OK);
    assert_int_equal(op->kind, RMSNORM_RMS_NORMALIZATION);
    assert_int_equal(attributes.axis, -2);
    assert_true(attributes.epsilon == 1e-6f);
    assert_int_equal(attributes.stash_type, 1);
    assert_int_equal(rmsnorm_ir_resolve(b->ir, wrong, &op, &attributes), RMSNORM_INVALID_ARGUMENT);
}

/* ---- Hostile --------------------------------------------------------------------------------- */

static void numbers_out_of_every_range(void **state)
{
    (void)state;
    (void)build_value(b, "huge", RMSNORM_FLOAT, "9223372036854775807,9223372036854775807");
    (void)build_constant(b, "many", RMSNORM_INT64, "20", "1");
    (void)build_constant(b, "far", RMSNORM_INT64, "1", "9223372036854775807");
    (void)build_constant(b, "near", RMSNORM_INT64, "1", "-9223372036854775807");
    (void)build_constant(b, "line", RMSNORM_INT64, "1", "-1");
    (void)build_constant(b, "none", RMSNORM_INT64, "1", "0");
    (void)build_node(b, "Reshape", "huge,line", "a");
    (void)build_node(b, "Reshape", "x,many", "c");
    (void)build_node(b, "Unsqueeze", "x,far", "d");
    (void)build_node(b, "Slice", "x,near,far,none,none", "e");
    (void)build_node(b, "Slice", "huge,far,near,none,near", "f");
    (void)build_node(b, "Concat axis=9223372036854775807", "x,x", "g");
    (void)build_node(b, "Concat axis=0", "huge,huge", "h");
    (void)build_node(b, "Split axis=0 num_outputs=9223372036854775807", "huge", "i,j");
    (void)build_node(b, "Gather axis=-9223372036854775807", "x,none", "k");
    (void)build_node(b, "Flatten axis=-9223372036854775807", "x", "l");
    (void)build_node(b, "ReduceSum", "x,near", "m");
    (void)build_node(b, "Tile", "huge,many", "n");
    (void)build_node(b, "Mul", "far,far", "o");
    (void)build_node(b, "Sub", "near,far", "p");
    (void)build_node(b, "Div", "near,line", "q");
    (void)build_node(b, "Div", "near,none", "r");
    (void)build_node(b, "ConstantOfShape", "far", "s");
    (void)build_node(b, "Transpose perm=[9223372036854775807,0,-1]", "x", "t");
    (void)build_node(b, "TopK axis=-17", "x,near", "u,v");
    (void)build_node(b, "Shape start=-9223372036854775807 end=9223372036854775807", "x", "w");
    (void)build_node(b, "Concat axis=0", "", "y");
    (void)build_node(b, "Scan num_scan_inputs=9223372036854775807", "x", "z");
    (void)build_node(b, "com.microsoft::GroupQueryAttention num_heads=9223372036854775807 kv_num_heads=1", "x,,", "aa");
    (void)faults();
    assert_string_equal(build_type(b, "a"), "float:?");
    assert_string_equal(build_type(b, "e"), "float:?,S,64");
    assert_string_equal(build_type(b, "h"), "float:?,9223372036854775807");
    assert_string_equal(build_type(b, "s"), "float:9223372036854775807");
    assert_string_equal(build_type(b, "w"), "int64:3");
}

/* Names are whatever a file has. */
static void sentences_are_one_line(void **state)
{
    (void)state;
    char longest[600];
    memset(longest, 'n', sizeof longest);
    memcpy(longest, "Neg @", 5);
    longest[sizeof longest - 1] = '\0';
    (void)build_value(b, "y\n\x1b[1m", RMSNORM_FLOAT, "B,S");
    (void)build_value(b, "z", RMSNORM_FLOAT16, "B,S,64");
    (void)build_node(b, "Neg @n\n\xff", "x", "y\n\x1b[1m");
    (void)build_node(b, longest, "x", "z");
    const char *const text = faults();
    const char *const second = strchr(text, '\n'); /* the only one, between the two */
    static const char first[] =
        "node \"n??\": \"y??[1m\" is said to be float (B,S), but from what goes in it is float (B,S,64)";
    assert_memory_equal(text, first, sizeof first - 1);
    assert_ptr_equal(second, text + sizeof first - 1);
    assert_null(strchr(second + 1, '\n'));
    assert_non_null(strstr(second, "\"z\" is said to be float16 (B,S,64), but from what goes in it is float (B,S,64)"));
}

/* Every operator with what it does not expect: nothing, scalars, the deepest tensors. */
static const char *const odd_ops[] = {"Sqrt",
                                      "Cast",
                                      "CastLike",
                                      "QuantizeLinear",
                                      "DynamicQuantizeLinear",
                                      "Dropout",
                                      "Add",
                                      "Where",
                                      "Expand",
                                      "MatMul",
                                      "MatMulInteger",
                                      "Gemm",
                                      "Attention",
                                      "ReduceMean axes=[-1]",
                                      "ArgMax",
                                      "TopK",
                                      "LayerNormalization",
                                      "Concat axis=-1",
                                      "Flatten",
                                      "Reshape",
                                      "Split axis=-1",
                                      "Squeeze axes=[-1]",
                                      "Transpose perm=[1,0]",
                                      "Unsqueeze axes=[0,-1]",
                                      "Gather",
                                      "GatherElements",
                                      "Slice",
                                      "Tile",
                                      "NonZero",
                                      "Constant",
                                      "ConstantOfShape",
                                      "Range",
                                      "Shape",
                                      "Size",
                                      "Conv",
                                      "Einsum",
                                      "If",
                                      "Loop",
                                      "Scan",
                                      "com.microsoft::FusedMatMul transA=1",
                                      "com.microsoft::MatMulNBits",
                                      "com.microsoft::GroupQueryAttention",
                                      "com.microsoft::MultiHeadAttention",
                                      "RMSNormalization",
                                      "SimplifiedLayerNormalization",
                                      "com.microsoft::SkipSimplifiedLayerNormalization"};

static const char *const odd_inputs[] = {"",
                                         ",,,",
                                         "deep,deep,deep",
                                         "point,point,point",
                                         "any,any,any",
                                         "list,list,list",
                                         "open,open,open",
                                         "deep,point,open",
                                         "list,deep,any"};

static void every_rule_takes_whatever_comes(void **state)
{
    (void)state;
    (void)build_value(b, "deep", RMSNORM_FLOAT, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,2");
    (void)build_value(b, "open", RMSNORM_FLOAT, "...,1,1,1,1,1,1,1,1,1,1,1,1,1,1,2,2");
    (void)build_value(b, "point", RMSNORM_FLOAT, "");
    (void)build_constant(b, "list", RMSNORM_INT64, "3", "0,1,2");
    char outputs[64];
    size_t made = 0;
    for (size_t i = 0; i < sizeof odd_ops / sizeof odd_ops[0]; i++) {
        for (size_t j = 0; j < sizeof odd_inputs / sizeof odd_inputs[0]; j++) {
            snprintf(outputs, sizeof outputs, "o%zu,,p%zu,q%zu", made, made, made);
            (void)build_node(b, odd_ops[i], odd_inputs[j], outputs);
            made++;
        }
    }
    static char first[4096];
    snprintf(first, sizeof first, "%s", faults());
    assert_string_equal(faults(), first);
    for (size_t i = 0; i < made; i++) {
        snprintf(outputs, sizeof outputs, "o%zu", i);
        const rmsnorm_ir_value *const value = &b->ir->values[build_find(b, outputs)].shown;
        assert_true(value->type.rank >= 0 && value->type.rank <= RMSNORM_MAX_RANK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(declared_types_stay_and_are_filled_in, setup, teardown),
        cmocka_unit_test_setup_teardown(contradictions_are_faults, setup, teardown),
        cmocka_unit_test_setup_teardown(operands_that_contradict_each_other, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_added_later_is_inferred_later, setup, teardown),
        cmocka_unit_test_setup_teardown(an_input_that_is_made_later, setup, teardown),
        cmocka_unit_test_setup_teardown(a_value_of_a_graph_that_is_not_seen, setup, teardown),
        cmocka_unit_test_setup_teardown(branches_that_agree, setup, teardown),
        cmocka_unit_test_setup_teardown(what_a_loop_carries_keeps_its_type, setup, teardown),
        cmocka_unit_test_setup_teardown(depth_costs_no_stack, setup, teardown),
        cmocka_unit_test_setup_teardown(norms_are_inferred, setup, teardown),
        cmocka_unit_test_setup_teardown(norms_that_the_contract_refuses, setup, teardown),
        cmocka_unit_test_setup_teardown(attributes_and_slots_of_norms_are_checked, setup, teardown),
        cmocka_unit_test_setup_teardown(a_norm_needs_its_opset, setup, teardown),
        cmocka_unit_test_setup_teardown(names_in_other_domains_are_others, setup, teardown),
        cmocka_unit_test_setup_teardown(resolve_reads_attributes, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_out_of_every_range, setup, teardown),
        cmocka_unit_test_setup_teardown(sentences_are_one_line, setup, teardown),
        cmocka_unit_test_setup_teardown(every_rule_takes_whatever_comes, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
