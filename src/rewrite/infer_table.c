/* One line for each operator that inference knows. */
#include "rewrite/infer.h"

#include <string.h>

#define MS "com.microsoft"

/* What the two numbers mean stands at the functions. */
static const rmsnorm_rule rules[] = {
    /* As the input */
    {"", "Abs", rmsnorm_rule_same, 0, 0},
    {"", "Acos", rmsnorm_rule_same, 0, 0},
    {"", "Acosh", rmsnorm_rule_same, 0, 0},
    {"", "Asin", rmsnorm_rule_same, 0, 0},
    {"", "Asinh", rmsnorm_rule_same, 0, 0},
    {"", "Atan", rmsnorm_rule_same, 0, 0},
    {"", "Atanh", rmsnorm_rule_same, 0, 0},
    {"", "BatchNormalization", rmsnorm_rule_same, 0, 0},
    {"", "BitwiseNot", rmsnorm_rule_same, 0, 0},
    {"", "Ceil", rmsnorm_rule_same, 0, 0},
    {"", "Celu", rmsnorm_rule_same, 0, 0},
    {"", "Clip", rmsnorm_rule_same, 0, 0},
    {"", "Cos", rmsnorm_rule_same, 0, 0},
    {"", "Cosh", rmsnorm_rule_same, 0, 0},
    {"", "CumSum", rmsnorm_rule_same, 0, 0},
    {"", "Elu", rmsnorm_rule_same, 0, 0},
    {"", "Erf", rmsnorm_rule_same, 0, 0},
    {"", "Exp", rmsnorm_rule_same, 0, 0},
    {"", "Floor", rmsnorm_rule_same, 0, 0},
    {"", "Gelu", rmsnorm_rule_same, 0, 0},
    {"", "GroupNormalization", rmsnorm_rule_same, 0, 0},
    {"", "HardSigmoid", rmsnorm_rule_same, 0, 0},
    {"", "HardSwish", rmsnorm_rule_same, 0, 0},
    {"", "Hardmax", rmsnorm_rule_same, 0, 0},
    {"", "Identity", rmsnorm_rule_same, 0, 0},
    {"", "InstanceNormalization", rmsnorm_rule_same, 0, 0},
    {"", "IsInf", rmsnorm_rule_same, 0, RMSNORM_BOOL},
    {"", "IsNaN", rmsnorm_rule_same, 0, RMSNORM_BOOL},
    {"", "LRN", rmsnorm_rule_same, 0, 0},
    {"", "LeakyRelu", rmsnorm_rule_same, 0, 0},
    {"", "Log", rmsnorm_rule_same, 0, 0},
    {"", "LogSoftmax", rmsnorm_rule_same, 0, 0},
    {"", "LpNormalization", rmsnorm_rule_same, 0, 0},
    {"", "MeanVarianceNormalization", rmsnorm_rule_same, 0, 0},
    {"", "Mish", rmsnorm_rule_same, 0, 0},
    {"", "Neg", rmsnorm_rule_same, 0, 0},
    {"", "Not", rmsnorm_rule_same, 0, RMSNORM_BOOL},
    {"", "PRelu", rmsnorm_rule_same, 0, 0},
    {"", "Reciprocal", rmsnorm_rule_same, 0, 0},
    {"", "Relu", rmsnorm_rule_same, 0, 0},
    {"", "ReverseSequence", rmsnorm_rule_same, 0, 0},
    {"", "RotaryEmbedding", rmsnorm_rule_same, 0, 0},
    {"", "Round", rmsnorm_rule_same, 0, 0},
    {"", "Scatter", rmsnorm_rule_same, 0, 0},
    {"", "ScatterElements", rmsnorm_rule_same, 0, 0},
    {"", "ScatterND", rmsnorm_rule_same, 0, 0},
    {"", "Selu", rmsnorm_rule_same, 0, 0},
    {"", "Shrink", rmsnorm_rule_same, 0, 0},
    {"", "Sigmoid", rmsnorm_rule_same, 0, 0},
    {"", "Sign", rmsnorm_rule_same, 0, 0},
    {"", "Sin", rmsnorm_rule_same, 0, 0},
    {"", "Sinh", rmsnorm_rule_same, 0, 0},
    {"", "Softmax", rmsnorm_rule_same, 0, 0},
    {"", "Softplus", rmsnorm_rule_same, 0, 0},
    {"", "Softsign", rmsnorm_rule_same, 0, 0},
    {"", "Sqrt", rmsnorm_rule_same, 0, 0},
    {"", "Swish", rmsnorm_rule_same, 0, 0},
    {"", "Tan", rmsnorm_rule_same, 0, 0},
    {"", "Tanh", rmsnorm_rule_same, 0, 0},
    {"", "TensorScatter", rmsnorm_rule_same, 0, 0},
    {"", "ThresholdedRelu", rmsnorm_rule_same, 0, 0},
    {"", "Trilu", rmsnorm_rule_same, 0, 0},
    {MS, "BiasGelu", rmsnorm_rule_same, 0, 0},
    {MS, "FastGelu", rmsnorm_rule_same, 0, 0},
    {MS, "Gelu", rmsnorm_rule_same, 0, 0},
    {MS, "QuickGelu", rmsnorm_rule_same, 0, 0},
    {MS, "RotaryEmbedding", rmsnorm_rule_same, 0, 0},
    {"", "Dropout", rmsnorm_rule_masked, 0, 0},
    {"", "LayerNormalization", rmsnorm_rule_layer_norm, 0, 0},
    {MS, "SkipLayerNormalization", rmsnorm_rule_layer_norm, 3, 0},

    /* Element types */
    {"", "Cast", rmsnorm_rule_cast, 0, 0},
    {"", "CastLike", rmsnorm_rule_like, 1, 0},
    {"", "DequantizeLinear", rmsnorm_rule_like, 1, 0},
    {"", "QuantizeLinear", rmsnorm_rule_quantize, 0, 0},
    {"", "DynamicQuantizeLinear", rmsnorm_rule_dynamic_quantize, 0, 0},

    /* Several operands */
    {"", "Add", rmsnorm_rule_broadcast, '+', 0},
    {"", "And", rmsnorm_rule_broadcast, 0, RMSNORM_BOOL},
    {"", "BitShift", rmsnorm_rule_broadcast, 0, 0},
    {"", "BitwiseAnd", rmsnorm_rule_broadcast, 0, 0},
    {"", "BitwiseOr", rmsnorm_rule_broadcast, 0, 0},
    {"", "BitwiseXor", rmsnorm_rule_broadcast, 0, 0},
    {"", "Div", rmsnorm_rule_broadcast, '/', 0},
    {"", "Equal", rmsnorm_rule_broadcast, '=', RMSNORM_BOOL},
    {"", "Greater", rmsnorm_rule_broadcast, 0, RMSNORM_BOOL},
    {"", "GreaterOrEqual", rmsnorm_rule_broadcast, 0, RMSNORM_BOOL},
    {"", "Less", rmsnorm_rule_broadcast, 0, RMSNORM_BOOL},
    {"", "LessOrEqual", rmsnorm_rule_broadcast, 0, RMSNORM_BOOL},
    {"", "Max", rmsnorm_rule_broadcast, 0, 0},
    {"", "Mean", rmsnorm_rule_broadcast, 0, 0},
    {"", "Min", rmsnorm_rule_broadcast, 0, 0},
    {"", "Mod", rmsnorm_rule_broadcast, 0, 0},
    {"", "Mul", rmsnorm_rule_broadcast, '*', 0},
    {"", "Or", rmsnorm_rule_broadcast, 0, RMSNORM_BOOL},
    {"", "Pow", rmsnorm_rule_broadcast, 'p', 0},
    {"", "Sub", rmsnorm_rule_broadcast, '-', 0},
    {"", "Sum", rmsnorm_rule_broadcast, 0, 0},
    {"", "Where", rmsnorm_rule_where, 0, 0},
    {"", "Xor", rmsnorm_rule_broadcast, 0, RMSNORM_BOOL},
    {"", "Expand", rmsnorm_rule_expand, 0, 0},

    /* Matrices */
    {"", "MatMul", rmsnorm_rule_matmul, 0, 0},
    {"", "MatMulInteger", rmsnorm_rule_matmul, 0, RMSNORM_INT32},
    {"", "Gemm", rmsnorm_rule_gemm, 0, 0},
    {MS, "FusedMatMul", rmsnorm_rule_matmul, 0, 0},
    {MS, "MatMulNBits", rmsnorm_rule_matmul_bits, 0, 0},
    {"", "Attention", rmsnorm_rule_attention, 0, 0},
    {MS, "Attention", rmsnorm_rule_dtype, 0, 0},
    {MS, "GroupQueryAttention", rmsnorm_rule_group_query, 0, 0},
    {MS, "MultiHeadAttention", rmsnorm_rule_multi_head, 0, 0},

    /* Along axes */
    {"", "ReduceL1", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceL2", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceLogSum", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceLogSumExp", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceMax", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceMean", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceMin", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceProd", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceSum", rmsnorm_rule_reduce, 0, 0},
    {"", "ReduceSumSquare", rmsnorm_rule_reduce, 0, 0},
    {"", "ArgMax", rmsnorm_rule_arg, 0, 0},
    {"", "ArgMin", rmsnorm_rule_arg, 0, 0},
    {"", "TopK", rmsnorm_rule_top, 0, 0},

    /* Dims moved, added, dropped */
    {"", "Concat", rmsnorm_rule_concat, 0, 0},
    {"", "Flatten", rmsnorm_rule_flatten, 0, 0},
    {"", "Reshape", rmsnorm_rule_reshape, 0, 0},
    {"", "Split", rmsnorm_rule_split, 0, 0},
    {"", "Squeeze", rmsnorm_rule_squeeze, 0, 0},
    {"", "Transpose", rmsnorm_rule_transpose, 0, 0},
    {"", "Unsqueeze", rmsnorm_rule_unsqueeze, 0, 0},

    /* Elements picked, repeated */
    {"", "Gather", rmsnorm_rule_gather, 0, 0},
    {"", "GatherElements", rmsnorm_rule_gather_elements, 0, 0},
    {"", "Slice", rmsnorm_rule_slice, 0, 0},
    {"", "Tile", rmsnorm_rule_tile, 0, 0},
    {"", "NonZero", rmsnorm_rule_nonzero, 0, 0},

    /* Shapes as tensors, constants */
    {"", "Constant", rmsnorm_rule_constant, 0, 0},
    {"", "ConstantOfShape", rmsnorm_rule_constant_of_shape, 0, 0},
    {"", "Range", rmsnorm_rule_range, 0, 0},
    {"", "Shape", rmsnorm_rule_shape, 0, 0},
    {"", "Size", rmsnorm_rule_size, 0, 0},

    /* The element type and the rank */
    {"", "AveragePool", rmsnorm_rule_ranked, 0, 0},
    {"", "Conv", rmsnorm_rule_ranked, 0, 0},
    {"", "ConvTranspose", rmsnorm_rule_ranked, 0, 0},
    {"", "GlobalAveragePool", rmsnorm_rule_ranked, 0, 0},
    {"", "GlobalMaxPool", rmsnorm_rule_ranked, 0, 0},
    {"", "MaxPool", rmsnorm_rule_ranked, 0, 0},
    {"", "Pad", rmsnorm_rule_ranked, 0, 0},
    {"", "Resize", rmsnorm_rule_ranked, 0, 0},
    {"", "Compress", rmsnorm_rule_dtype, 0, 0},
    {"", "DepthToSpace", rmsnorm_rule_ranked, 0, 0},
    {"", "Einsum", rmsnorm_rule_dtype, 0, 0},
    {"", "GatherND", rmsnorm_rule_dtype, 0, 0},
    {"", "OneHot", rmsnorm_rule_dtype, 2, 0},
    {"", "SpaceToDepth", rmsnorm_rule_ranked, 0, 0},

    /* Graphs inside */
    {"", "If", rmsnorm_rule_if, 0, 0},
    {"", "Loop", rmsnorm_rule_loop, 2, 0},
    {"", "Scan", rmsnorm_rule_loop, 0, 0},
};

const rmsnorm_rule *rmsnorm_rule_find(const char *domain, const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (strcmp(rules[i].name, name) == 0 && strcmp(rules[i].domain, domain) == 0) {
            return &rules[i];
        }
    }
    return NULL;
}
