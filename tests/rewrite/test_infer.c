/* What inference finds out, rule by rule. The operators of the contract, faults and graphs inside are in test_infer_graph.c. */
#include "build.h"

#include <stdio.h>

static build *b;

static int setup(void **state)
{
    (void)state;
    b = build_begin(18);
    (void)build_value(b, "x", RMSNORM_FLOAT, "B,S,64");
    (void)build_value(b, "part", RMSNORM_FLOAT, "...,S,64");
    (void)build_value(b, "any", RMSNORM_FLOAT, "*");
    (void)build_value(b, "numbers", RMSNORM_FLOAT, "2,3,4");
    (void)build_constant(b, "one", RMSNORM_FLOAT, "", "1");
    (void)build_constant(b, "gamma", RMSNORM_FLOAT, "64", "1");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    build_end(b);
    return 0;
}

static void infer(void)
{
    size_t count;
    assert_int_equal(rmsnorm_ir_infer(b->ir), RMSNORM_OK);
    const rmsnorm_ir_fault *const faults = rmsnorm_ir_faults(b->ir, &count);
    if (count > 0) {
        fail_msg("%s", faults[0].sentence);
    }
}

typedef struct expected {
    const char *op, *inputs, *type;
} expected;

/* Each node's first output. */
static void check(const expected *cases, size_t count)
{
    char name[32];
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "y%zu", i);
        (void)build_node(b, cases[i].op, cases[i].inputs, name);
    }
    infer();
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "y%zu", i);
        const char *const found = build_type(b, name);
        if (strcmp(found, cases[i].type) != 0) {
            fail_msg("%s(%s): %s instead of %s", cases[i].op, cases[i].inputs, found, cases[i].type);
        }
    }
}

#define CHECK(cases) check(cases, sizeof(cases) / sizeof(cases)[0])

static void a_shape_passes_through(void **state)
{
    (void)state;
    static const expected cases[] = {
        {"Sqrt", "x", "float:B,S,64"},
        {"Identity", "part", "float:...,S,64"},
        {"Tanh", "any", "float:*"},
        {"Softmax axis=-1", "x", "float:B,S,64"},
        {"IsNaN", "x", "bool:B,S,64"},
        {"Cast to=10", "x", "float16:B,S,64"},
        {"Cast to=16", "any", "bfloat16:*"},
        {"CastLike", "x,numbers", "float:B,S,64"},
        {"Dropout", "x", "float:B,S,64"},
        {"LayerNormalization", "x,gamma", "float:B,S,64"},
        {"com.microsoft::FastGelu", "x", "float:B,S,64"},
        {"com.microsoft::Sqrt", "x", "?:*"},
        {"org.example::Sqrt", "x", "?:*"},
        {"Unheard", "x", "?:*"},
    };
    CHECK(cases);
}

static void second_outputs_are_known_too(void **state)
{
    (void)state;
    (void)build_constant(b, "k5", RMSNORM_INT64, "1", "2");
    (void)build_node(b, "Dropout", "x", "d,mask");
    (void)build_node(b, "LayerNormalization axis=-2", "x,gamma", "n,mean,inv");
    (void)build_node(b, "com.microsoft::SkipLayerNormalization", "x,x,gamma", "k,,,sum");
    (void)build_node(b, "TopK axis=1", "numbers,k5", "top,places");
    (void)build_node(b, "DynamicQuantizeLinear", "x", "q,scale,zero");
    infer();
    assert_string_equal(build_type(b, "mask"), "bool:B,S,64");
    assert_string_equal(build_type(b, "mean"), "float:B,1,1");
    assert_string_equal(build_type(b, "sum"), "float:B,S,64");
    assert_string_equal(build_type(b, "top"), "float:2,2,4");
    assert_string_equal(build_type(b, "places"), "int64:2,2,4");
    assert_string_equal(build_type(b, "q"), "uint8:B,S,64");
    assert_string_equal(build_type(b, "scale"), "float:");
}

static void operands_broadcast(void **state)
{
    (void)state;
    (void)build_value(b, "row", RMSNORM_FLOAT, "S,1");
    (void)build_value(b, "t", RMSNORM_FLOAT, "T,1");
    (void)build_value(b, "four", RMSNORM_FLOAT, "4,?,1,?");
    (void)build_value(b, "half", RMSNORM_FLOAT16, "");
    (void)build_value(b, "flag", BUILD_BOOL, "B,1,1");
    static const expected cases[] = {
        {"Mul", "x,gamma", "float:B,S,64"},      {"Add", "one,x", "float:B,S,64"},
        {"Add", "x,row", "float:B,S,64"},        {"Sub", "x,t", "float:B,?,64"}, /* either may be 1 */
        {"Add", "x,four", "float:4,?,S,64"},     {"Add", "four,numbers", "float:4,2,3,4"},
        {"Mul", "part,gamma", "float:...,S,64"}, {"Mul", "any,gamma", "float:...,64"},
        {"Mul", "any,one", "float:*"},           {"Add", "part,x", "float:...,?,S,64"},
        {"Pow", "x,half", "float:B,S,64"},       {"Less", "x,one", "bool:B,S,64"},
        {"Where", "flag,x,one", "float:B,S,64"}, {"Max", "x,one,gamma", "float:B,S,64"},
    };
    CHECK(cases);
}

static void matrices_multiply(void **state)
{
    (void)state;
    (void)build_value(b, "w", RMSNORM_FLOAT, "64,128");
    (void)build_value(b, "v", RMSNORM_FLOAT, "64");
    (void)build_value(b, "thin", RMSNORM_FLOAT, "...,32"); /* its rows are 64 */
    (void)build_value(b, "heads", RMSNORM_FLOAT, "B,8,S,64");
    (void)build_value(b, "keys", RMSNORM_FLOAT, "B,1,64,T");
    (void)build_value(b, "flat", RMSNORM_FLOAT, "S,64");
    (void)build_value(b, "tall", RMSNORM_FLOAT, "...,64,T");
    static const expected cases[] = {
        {"MatMul", "x,w", "float:B,S,128"},
        {"MatMul", "part,w", "float:...,S,128"},
        {"MatMul", "any,w", "float:...,128"},
        {"MatMul", "v,w", "float:128"},
        {"MatMul", "x,v", "float:B,S"},
        {"MatMul", "heads,keys", "float:B,8,S,T"},
        {"MatMul", "v,keys", "float:B,1,T"},
        {"MatMul", "part,tall", "float:...,S,T"},
        {"MatMul", "any,any", "float:*"},
        {"Gemm transB=1", "flat,flat", "float:S,S"},
        {"Gemm", "any,w", "float:?,128"},
        {"com.microsoft::FusedMatMul transB=1", "x,x", "float:B,S,S"},
        {"com.microsoft::FusedMatMul transA=1", "thin,w", "float:...,128"},
        {"com.microsoft::MatMulNBits K=64 N=256 bits=4", "x,any,any", "float:B,S,256"},
        {"MatMulInteger", "x,w", "int32:B,S,128"},
    };
    CHECK(cases);
}

static void reductions_read_axes_wherever_they_are(void **state)
{
    (void)state;
    (void)build_constant(b, "last", RMSNORM_INT64, "1", "-1");
    (void)build_constant(b, "none", RMSNORM_INT64, "0", "");
    (void)build_value(b, "given", RMSNORM_INT64, "?");
    static const expected cases[] = {
        {"ReduceMean axes=[-1] keepdims=1", "x", "float:B,S,1"},
        {"ReduceMean", "x,last", "float:B,S,1"},
        {"ReduceMean", "part,last", "float:...,S,1"},
        {"ReduceMean", "any,last", "float:...,1"},
        {"ReduceL2 axes=[1,2] keepdims=0", "x", "float:B"},
        {"ReduceSum keepdims=0", "x,last", "float:B,S"},
        {"ReduceMax axes=[1]", "part", "float:*"},
        {"ReduceSum", "x", "float:1,1,1"},
        {"ReduceSum keepdims=0", "any", "float:"},
        {"ReduceSum noop_with_empty_axes=1", "x", "float:B,S,64"},
        {"ReduceSum", "x,given", "float:?,?,?"},
        {"ReduceSum keepdims=0", "x,given", "float:*"},
        {"ArgMax axis=-1 keepdims=0", "x", "int64:B,S"},
    };
    CHECK(cases);
}

static void dims_are_moved_added_and_dropped(void **state)
{
    (void)state;
    (void)build_constant(b, "first", RMSNORM_INT64, "1", "0");
    (void)build_constant(b, "ends", RMSNORM_INT64, "2", "0,-1");
    (void)build_constant(b, "before", RMSNORM_INT64, "1", "-2");
    (void)build_value(b, "ones", RMSNORM_FLOAT, "1,S,1");
    (void)build_value(b, "ones4", RMSNORM_FLOAT, "1,4,1");
    static const expected cases[] = {
        {"Transpose perm=[0,2,1]", "x", "float:B,64,S"},
        {"Transpose", "x", "float:64,S,B"},
        {"Transpose perm=[1,2,0]", "part", "float:S,64,?"},
        {"Flatten axis=2", "numbers", "float:6,4"},
        {"Flatten axis=1", "x", "float:B,?"},
        {"Unsqueeze", "x,ends", "float:1,B,S,64,1"},
        {"Unsqueeze", "part,before", "float:...,S,1,64"},
        {"Unsqueeze axes=[1]", "x", "float:B,1,S,64"},
        {"Unsqueeze", "part,first", "float:*"},
        {"Squeeze", "ones,ends", "float:S"},
        {"Squeeze", "ones", "float:*"}, /* S may be 1 */
        {"Squeeze", "ones4", "float:4"},
        {"Concat axis=-1", "x,x", "float:B,S,128"},
        {"Concat axis=1", "x,x", "float:B,?,64"},
        {"Concat axis=-1", "part,x", "float:B,S,128"},
        {"Concat axis=-1", "part,part", "float:...,S,128"},
        {"Concat axis=0", "part,part", "float:*"},
    };
    CHECK(cases);
}

static void parts_of_a_split(void **state)
{
    (void)state;
    (void)build_constant(b, "sizes", RMSNORM_INT64, "3", "32,16,16");
    (void)build_node(b, "Split axis=-1", "x,sizes", "q,k,v");
    (void)build_node(b, "Split axis=-1", "part", "left,right");
    (void)build_node(b, "Split axis=2 num_outputs=3", "x", "p,o,r");
    (void)build_node(b, "Split axis=1", "x", "s,t");
    (void)build_node(b, "Split axis=2 split=[60,4]", "x", "m,n");
    infer();
    assert_string_equal(build_type(b, "q"), "float:B,S,32");
    assert_string_equal(build_type(b, "v"), "float:B,S,16");
    assert_string_equal(build_type(b, "right"), "float:...,S,32");
    assert_string_equal(build_type(b, "p"), "float:B,S,22");
    assert_string_equal(build_type(b, "o"), "float:B,S,22");
    assert_string_equal(build_type(b, "r"), "float:B,S,20");
    assert_string_equal(build_type(b, "t"), "float:B,?,64");
    assert_string_equal(build_type(b, "n"), "float:B,S,4");
}

static void elements_are_picked_and_repeated(void **state)
{
    (void)state;
    (void)build_constant(b, "table", RMSNORM_FLOAT16, "1000,64", "0");
    (void)build_value(b, "ids", RMSNORM_INT64, "B,S");
    (void)build_value(b, "ids_any", RMSNORM_INT64, "*");
    (void)build_constant(b, "i0", RMSNORM_INT64, "", "0");
    (void)build_constant(b, "zero", RMSNORM_INT64, "1", "0");
    (void)build_constant(b, "two", RMSNORM_INT64, "1", "2");
    (void)build_constant(b, "minus", RMSNORM_INT64, "1", "-1");
    (void)build_constant(b, "max", RMSNORM_INT64, "1", "9223372036854775807");
    (void)build_constant(b, "axis1", RMSNORM_INT64, "1", "1");
    (void)build_constant(b, "times", RMSNORM_INT64, "3", "1,2,1");
    (void)build_constant(b, "wide", RMSNORM_INT64, "4", "2,1,1,1");
    (void)build_value(b, "rows", RMSNORM_FLOAT, "5,3");
    static const expected cases[] = {
        {"Gather", "table,ids", "float16:B,S,64"},
        {"Gather", "table,ids_any", "float16:...,64"},
        {"Gather axis=1", "x,i0", "float:B,64"},
        {"Gather axis=-1", "part,i0", "float:...,S"},
        {"Gather", "part,i0", "float:*"},
        {"GatherElements axis=0", "table,ids", "float16:B,S"},
        {"Slice", "x,zero,max,minus", "float:B,S,64"},
        {"Slice", "x,zero,two,minus", "float:B,S,2"},
        {"Slice", "x,minus,max,axis1", "float:B,?,64"},
        {"Slice", "part,zero,two,minus", "float:...,S,2"},
        {"Slice", "part,zero,two,axis1", "float:*"},
        {"Slice", "numbers,zero,max,axis1,two", "float:2,2,4"},
        {"Slice", "numbers,minus,zero,axis1,minus", "float:2,2,4"},
        {"Slice starts=[1] ends=[4] axes=[0]", "rows", "float:3,3"},
        {"Tile", "x,times", "float:B,?,64"},
        {"Tile", "numbers,times", "float:2,6,4"},
        {"Expand", "x,wide", "float:2,B,S,64"},
        {"NonZero", "x", "int64:3,?"},
    };
    CHECK(cases);
}

static void constants_have_their_types(void **state)
{
    (void)state;
    (void)build_constant(b, "dims", RMSNORM_INT64, "2", "2,7");
    (void)build_constant(b, "start", RMSNORM_INT64, "", "0");
    (void)build_constant(b, "step", RMSNORM_INT64, "", "1");
    (void)build_constant(b, "limit", RMSNORM_INT64, "", "9");
    static const expected cases[] = {
        {"Constant value=float16:[1,2,3]", "", "float16:3"},
        {"Constant value=int64:4", "", "int64:"},
        {"Constant value_float=1.5", "", "float:"},
        {"Constant value_floats=[1.5,2.5]", "", "float:2"},
        {"Constant value_int=3", "", "int64:"},
        {"Constant value_ints=[3,4,5]", "", "int64:3"},
        {"Constant value_string=\"s\"", "", "string:"},
        {"ConstantOfShape", "dims", "float:2,7"},
        {"ConstantOfShape value=int64:[1]", "dims", "int64:2,7"},
        {"Range", "start,limit,step", "int64:9"},
        {"Shape", "x", "int64:3"},
        {"Shape start=1", "x", "int64:2"},
        {"Shape end=-1", "x", "int64:2"},
        {"Shape", "any", "int64:?"},
        {"Size", "x", "int64:"},
    };
    CHECK(cases);
}

static void heads_are_attended_to(void **state)
{
    (void)state;
    (void)build_value(b, "q4", RMSNORM_FLOAT16, "B,8,S,32");
    (void)build_value(b, "v4", RMSNORM_FLOAT16, "B,2,T,16");
    (void)build_value(b, "q3", RMSNORM_FLOAT16, "B,S,256");
    (void)build_value(b, "v3", RMSNORM_FLOAT16, "B,T,32");
    (void)build_value(b, "packed", RMSNORM_FLOAT16, "B,S,384");
    static const expected cases[] = {
        {"Attention", "q4,q4,v4", "float16:B,8,S,16"},
        {"Attention q_num_heads=8 kv_num_heads=2", "q3,q3,v3", "float16:B,S,128"},
        {"RotaryEmbedding", "q4,any,any", "float16:B,8,S,32"},
        {"com.microsoft::MultiHeadAttention num_heads=8", "q3,q3,v3", "float16:B,S,32"},
        {"com.microsoft::GroupQueryAttention num_heads=8 kv_num_heads=2", "q3,v3,v3", "float16:B,S,256"},
        {"com.microsoft::GroupQueryAttention num_heads=8 kv_num_heads=2", "packed,,", "float16:B,S,256"},
        {"com.microsoft::RotaryEmbedding", "q3,any,any,any", "float16:B,S,256"},
    };
    CHECK(cases);
}

static void only_the_rank_or_the_type_of_some(void **state)
{
    (void)state;
    (void)build_value(b, "image", RMSNORM_FLOAT16, "B,3,224,224");
    static const expected cases[] = {
        {"Conv", "image,any", "float16:?,?,?,?"},
        {"Einsum", "x,x", "float:*"},
        {"Pad", "x,any", "float:?,?,?"},
        {"QuantizeLinear", "x,one", "uint8:B,S,64"},
        {"DequantizeLinear", "image,one", "float:B,3,224,224"},
    };
    CHECK(cases);
}

/* ---- Shapes that are computed ---------------------------------------------------------------- */

static void reshape_with_constants(void **state)
{
    (void)state;
    (void)build_constant(b, "split", RMSNORM_INT64, "4", "0,0,-1,16");
    (void)build_constant(b, "flat", RMSNORM_INT64, "2", "-1,64");
    (void)build_constant(b, "line", RMSNORM_INT64, "1", "-1");
    (void)build_constant(b, "fit", RMSNORM_INT64, "2", "6,-1");
    (void)build_value(b, "unknown", RMSNORM_INT64, "2");
    (void)build_value(b, "longer", RMSNORM_INT64, "?");
    (void)build_constant(b, "empty", RMSNORM_INT64, "2", "0,5");
    static const expected cases[] = {
        {"Reshape", "x,split", "float:B,S,4,16"},
        {"Reshape", "x,flat", "float:?,64"},
        {"Reshape", "part,flat", "float:?,64"},
        {"Reshape", "numbers,fit", "float:6,4"},
        {"Reshape", "numbers,line", "float:24"},
        {"Reshape", "gamma,line", "float:64"},
        {"Reshape", "x,unknown", "float:?,?"},
        {"Reshape", "x,longer", "float:*"},
        {"Reshape allowzero=1", "any,empty", "float:0,5"},
    };
    CHECK(cases);
}

/* Heads as a decoder's exporter writes them: batch and length read from the hidden states, numbers behind. */
static void names_pass_through_a_computed_reshape(void **state)
{
    (void)state;
    (void)build_node(b, "Constant value=int64:0", "", "i0");
    (void)build_node(b, "Constant value=int64:1", "", "i1");
    (void)build_node(b, "Shape", "x", "shape");
    (void)build_node(b, "Gather axis=0", "shape,i0", "batch");
    (void)build_node(b, "Shape start=1 end=2", "x", "length1");
    (void)build_node(b, "Gather axis=0", "shape,i1", "length");
    (void)build_constant(b, "axis", RMSNORM_INT64, "1", "0");
    (void)build_node(b, "Unsqueeze", "batch,axis", "batch1");
    (void)build_constant(b, "heads", RMSNORM_INT64, "1", "8");
    (void)build_constant(b, "rest", RMSNORM_INT64, "1", "-1");
    (void)build_node(b, "Concat axis=0", "batch1,length1,heads,rest", "wanted");
    (void)build_node(b, "Reshape", "x,wanted", "states");
    (void)build_node(b, "Transpose perm=[0,2,1,3]", "states", "turned");
    (void)build_node(b, "Transpose perm=[0,2,1,3]", "turned", "back");
    (void)build_node(b, "Concat axis=0", "batch1,length1,rest", "merged");
    (void)build_node(b, "Reshape", "back,merged", "y");
    (void)build_node(b, "Mul", "batch,length", "rows");
    (void)build_node(b, "Squeeze", "length1,axis", "again");
    (void)build_node(b, "Range", "i0,again,i1", "positions");
    infer();
    assert_string_equal(build_type(b, "wanted"), "int64:4");
    assert_string_equal(build_type(b, "states"), "float:B,S,8,8");
    assert_string_equal(build_type(b, "turned"), "float:B,8,S,8");
    assert_string_equal(build_type(b, "y"), "float:B,S,64");
    assert_string_equal(build_type(b, "rows"), "int64:");
    assert_string_equal(build_type(b, "positions"), "int64:S");
}

static void numbers_of_shapes_are_computed(void **state)
{
    (void)state;
    (void)build_node(b, "Shape", "numbers", "shape");
    (void)build_node(b, "Slice starts=[1] ends=[3]", "shape", "tail");
    (void)build_constant(b, "k2", RMSNORM_INT64, "", "2");
    (void)build_node(b, "Mul", "tail,k2", "doubled"); /* 6,8 */
    (void)build_node(b, "Sub", "doubled,k2", "less"); /* 4,6 */
    (void)build_node(b, "Div", "less,k2", "halved");  /* 2,3 */
    (void)build_node(b, "Add", "halved,k2", "more");  /* 4,5 */
    (void)build_node(b, "Cast to=6", "more", "small");
    (void)build_node(b, "Cast to=7", "small", "large");
    (void)build_node(b, "ConstantOfShape", "large", "y");
    (void)build_node(b, "Shape", "x", "names");
    (void)build_node(b, "Slice starts=[0] ends=[1]", "names", "name");
    (void)build_constant(b, "k1", RMSNORM_INT64, "1", "1");
    (void)build_node(b, "Mul", "name,k1", "kept");
    (void)build_node(b, "Add", "name,k1", "lost");
    (void)build_node(b, "Concat axis=0", "kept,lost,k1", "dims");
    (void)build_node(b, "ConstantOfShape", "dims", "z");
    (void)build_node(b, "Size", "numbers", "size");
    (void)build_node(b, "Reshape", "size,k1", "vector");
    (void)build_node(b, "ConstantOfShape", "vector", "line");
    infer();
    assert_string_equal(build_type(b, "y"), "float:4,5");
    assert_string_equal(build_type(b, "z"), "float:B,?,1");
    assert_string_equal(build_type(b, "line"), "float:24");
}

/* Expand as it is exported: dims that are -1 stand for 1. */
static void names_pass_through_where(void **state)
{
    (void)state;
    (void)build_value(b, "mask", RMSNORM_FLOAT, "1,1,S");
    (void)build_node(b, "Shape end=1", "x", "front");
    (void)build_constant(b, "count", RMSNORM_INT64, "1", "3");
    (void)build_node(b, "ConstantOfShape value=int64:[1]", "count", "ones");
    (void)build_constant(b, "minus", RMSNORM_INT64, "", "-1");
    (void)build_node(b, "Mul", "ones,minus", "minuses");
    (void)build_constant(b, "two", RMSNORM_INT64, "1", "2");
    (void)build_constant(b, "free", RMSNORM_INT64, "1", "-1");
    (void)build_node(b, "Concat axis=0", "front,two,free", "wanted");
    (void)build_node(b, "Equal", "wanted,minuses", "is_free");
    (void)build_node(b, "Where", "is_free,ones,wanted", "dims");
    (void)build_node(b, "Expand", "mask,dims", "y");
    infer();
    assert_string_equal(build_type(b, "y"), "float:B,2,S");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_shape_passes_through, setup, teardown),
        cmocka_unit_test_setup_teardown(second_outputs_are_known_too, setup, teardown),
        cmocka_unit_test_setup_teardown(operands_broadcast, setup, teardown),
        cmocka_unit_test_setup_teardown(matrices_multiply, setup, teardown),
        cmocka_unit_test_setup_teardown(reductions_read_axes_wherever_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(dims_are_moved_added_and_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(parts_of_a_split, setup, teardown),
        cmocka_unit_test_setup_teardown(elements_are_picked_and_repeated, setup, teardown),
        cmocka_unit_test_setup_teardown(constants_have_their_types, setup, teardown),
        cmocka_unit_test_setup_teardown(heads_are_attended_to, setup, teardown),
        cmocka_unit_test_setup_teardown(only_the_rank_or_the_type_of_some, setup, teardown),
        cmocka_unit_test_setup_teardown(reshape_with_constants, setup, teardown),
        cmocka_unit_test_setup_teardown(names_pass_through_a_computed_reshape, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers_of_shapes_are_computed, setup, teardown),
        cmocka_unit_test_setup_teardown(names_pass_through_where, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
