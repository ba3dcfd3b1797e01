/* What an operator of ai.onnx means at another opset version. ONNX gives an operator a new version also when it only takes more
 * element types, or gets an optional input, output or attribute whose default is what was before: an existing node means the
 * same then, and nothing stands here. Where a change is in doubt, it counts as one. */
#include "rewrite/ir.h"

#include <inttypes.h>
#include <string.h>

#define NAME "%.160s"

/* The newest version of which all changes are known. */
enum { NEWEST = 25 };

/* Every operator, with the version it came with. SimplifiedLayerNormalization is none of the standard's: it means the same at
 * every version. */
static const struct {
    char name[30];
    int since;
} operators[] = {
    {"Abs", 1},
    {"Acos", 7},
    {"Acosh", 9},
    {"Add", 1},
    {"AffineGrid", 20},
    {"And", 1},
    {"ArgMax", 1},
    {"ArgMin", 1},
    {"Asin", 7},
    {"Asinh", 9},
    {"Atan", 7},
    {"Atanh", 9},
    {"Attention", 23},
    {"AveragePool", 1},
    {"BatchNormalization", 1},
    {"Bernoulli", 15},
    {"BitShift", 11},
    {"BitwiseAnd", 18},
    {"BitwiseNot", 18},
    {"BitwiseOr", 18},
    {"BitwiseXor", 18},
    {"BlackmanWindow", 17},
    {"Cast", 1},
    {"CastLike", 15},
    {"Ceil", 1},
    {"Celu", 12},
    {"CenterCropPad", 18},
    {"Clip", 1},
    {"Col2Im", 18},
    {"Compress", 9},
    {"Concat", 1},
    {"ConcatFromSequence", 11},
    {"Constant", 1},
    {"ConstantOfShape", 9},
    {"Conv", 1},
    {"ConvInteger", 10},
    {"ConvTranspose", 1},
    {"Cos", 7},
    {"Cosh", 9},
    {"CumSum", 11},
    {"DFT", 17},
    {"DeformConv", 19},
    {"DepthToSpace", 1},
    {"DequantizeLinear", 10},
    {"Det", 11},
    {"Div", 1},
    {"Dropout", 1},
    {"DynamicQuantizeLinear", 11},
    {"Einsum", 12},
    {"Elu", 1},
    {"Equal", 1},
    {"Erf", 9},
    {"Exp", 1},
    {"Expand", 8},
    {"EyeLike", 9},
    {"Flatten", 1},
    {"Floor", 1},
    {"GRU", 1},
    {"Gather", 1},
    {"GatherElements", 11},
    {"GatherND", 11},
    {"Gelu", 20},
    {"Gemm", 1},
    {"GlobalAveragePool", 1},
    {"GlobalLpPool", 1},
    {"GlobalMaxPool", 1},
    {"Greater", 1},
    {"GreaterOrEqual", 12},
    {"GridSample", 16},
    {"GroupNormalization", 18},
    {"HammingWindow", 17},
    {"HannWindow", 17},
    {"HardSigmoid", 1},
    {"HardSwish", 14},
    {"Hardmax", 1},
    {"Identity", 1},
    {"If", 1},
    {"ImageDecoder", 20},
    {"InstanceNormalization", 1},
    {"IsInf", 10},
    {"IsNaN", 9},
    {"LRN", 1},
    {"LSTM", 1},
    {"LayerNormalization", 17},
    {"LeakyRelu", 1},
    {"Less", 1},
    {"LessOrEqual", 12},
    {"Log", 1},
    {"LogSoftmax", 1},
    {"Loop", 1},
    {"LpNormalization", 1},
    {"LpPool", 1},
    {"MatMul", 1},
    {"MatMulInteger", 10},
    {"Max", 1},
    {"MaxPool", 1},
    {"MaxRoiPool", 1},
    {"MaxUnpool", 9},
    {"Mean", 1},
    {"MeanVarianceNormalization", 9},
    {"MelWeightMatrix", 17},
    {"Min", 1},
    {"Mish", 18},
    {"Mod", 10},
    {"Mul", 1},
    {"Multinomial", 7},
    {"Neg", 1},
    {"NegativeLogLikelihoodLoss", 12},
    {"NonMaxSuppression", 10},
    {"NonZero", 9},
    {"Not", 1},
    {"OneHot", 9},
    {"Optional", 15},
    {"OptionalGetElement", 15},
    {"OptionalHasElement", 15},
    {"Or", 1},
    {"PRelu", 1},
    {"Pad", 1},
    {"Pow", 1},
    {"QLinearConv", 10},
    {"QLinearMatMul", 10},
    {"QuantizeLinear", 10},
    {"RMSNormalization", 23},
    {"RNN", 1},
    {"RandomNormal", 1},
    {"RandomNormalLike", 1},
    {"RandomUniform", 1},
    {"RandomUniformLike", 1},
    {"Range", 11},
    {"Reciprocal", 1},
    {"ReduceL1", 1},
    {"ReduceL2", 1},
    {"ReduceLogSum", 1},
    {"ReduceLogSumExp", 1},
    {"ReduceMax", 1},
    {"ReduceMean", 1},
    {"ReduceMin", 1},
    {"ReduceProd", 1},
    {"ReduceSum", 1},
    {"ReduceSumSquare", 1},
    {"RegexFullMatch", 20},
    {"Relu", 1},
    {"Reshape", 1},
    {"Resize", 10},
    {"ReverseSequence", 10},
    {"RoiAlign", 10},
    {"RotaryEmbedding", 23},
    {"Round", 11},
    {"STFT", 17},
    {"Scan", 8},
    {"Scatter", 9},
    {"ScatterElements", 11},
    {"ScatterND", 11},
    {"Selu", 1},
    {"SequenceAt", 11},
    {"SequenceConstruct", 11},
    {"SequenceEmpty", 11},
    {"SequenceErase", 11},
    {"SequenceInsert", 11},
    {"SequenceLength", 11},
    {"SequenceMap", 17},
    {"Shape", 1},
    {"Shrink", 9},
    {"Sigmoid", 1},
    {"Sign", 9},
    {"SimplifiedLayerNormalization", 1},
    {"Sin", 7},
    {"Sinh", 9},
    {"Size", 1},
    {"Slice", 1},
    {"Softmax", 1},
    {"SoftmaxCrossEntropyLoss", 12},
    {"Softplus", 1},
    {"Softsign", 1},
    {"SpaceToDepth", 1},
    {"Split", 1},
    {"SplitToSequence", 11},
    {"Sqrt", 1},
    {"Squeeze", 1},
    {"StringConcat", 20},
    {"StringNormalizer", 10},
    {"StringSplit", 20},
    {"Sub", 1},
    {"Sum", 1},
    {"Swish", 24},
    {"Tan", 7},
    {"Tanh", 1},
    {"TensorScatter", 24},
    {"TfIdfVectorizer", 9},
    {"ThresholdedRelu", 10},
    {"Tile", 1},
    {"TopK", 1},
    {"Transpose", 1},
    {"Trilu", 14},
    {"Unique", 11},
    {"Unsqueeze", 1},
    {"Upsample", 7},
    {"Where", 9},
    {"Xor", 1},
};

/* Which nodes a change concerns. */
typedef enum condition {
    ALWAYS,
    WITH,       /* an attribute */
    WITHOUT,    /* an attribute */
    WITH_INPUT, /* in slot `slot` or behind */
    WITHOUT_INPUT,
    WITH_OUTPUT,
    NOT_LAST_AXIS /* the attribute axis is not -1 */
} condition;

static const struct {
    char name[26];
    int version; /* the change comes with */
    condition condition;
    const char *attribute; /* of WITH and WITHOUT */
    int slot;
} changes[] = {
    /* Operands were broadcast by an attribute. */
    {"Add", 7, WITH, "broadcast", 0},
    {"And", 7, WITH, "broadcast", 0},
    {"Div", 7, WITH, "broadcast", 0},
    {"Equal", 7, WITH, "broadcast", 0},
    {"Gemm", 7, WITH, "broadcast", 0},
    {"Greater", 7, WITH, "broadcast", 0},
    {"Less", 7, WITH, "broadcast", 0},
    {"Mul", 7, WITH, "broadcast", 0},
    {"Or", 7, WITH, "broadcast", 0},
    {"PRelu", 7, ALWAYS, NULL, 0},
    {"Pow", 7, WITH, "broadcast", 0},
    {"Sub", 7, WITH, "broadcast", 0},
    {"Xor", 7, WITH, "broadcast", 0},

    /* Indices below 0 count from the end. */
    {"OneHot", 11, ALWAYS, NULL, 0},

    /* Attributes became inputs. */
    {"Clip", 11, WITH, "max", 0},
    {"Clip", 11, WITH, "min", 0},
    {"DFT", 20, ALWAYS, NULL, 0},
    {"Dropout", 12, WITH, "ratio", 0},
    {"Pad", 11, ALWAYS, NULL, 0},
    {"ReduceL1", 18, WITH, "axes", 0},
    {"ReduceL2", 18, WITH, "axes", 0},
    {"ReduceLogSum", 18, WITH, "axes", 0},
    {"ReduceLogSumExp", 18, WITH, "axes", 0},
    {"ReduceMax", 18, WITH, "axes", 0},
    {"ReduceMean", 18, WITH, "axes", 0},
    {"ReduceMin", 18, WITH, "axes", 0},
    {"ReduceProd", 18, WITH, "axes", 0},
    {"ReduceSum", 13, WITH, "axes", 0},
    {"ReduceSumSquare", 18, WITH, "axes", 0},
    {"Reshape", 5, ALWAYS, NULL, 0},
    {"Slice", 10, ALWAYS, NULL, 0},
    {"Split", 13, WITH, "split", 0},
    {"Squeeze", 13, WITH, "axes", 0},
    {"Tile", 6, ALWAYS, NULL, 0},
    {"TopK", 10, ALWAYS, NULL, 0},
    {"Unsqueeze", 13, ALWAYS, NULL, 0},
    {"Upsample", 9, ALWAYS, NULL, 0},

    /* Attributes or inputs went, were renamed, or are required since. */
    {"BatchNormalization", 7, WITH, "is_test", 0},
    {"BatchNormalization", 9, WITH, "spatial", 0},
    {"Cast", 6, ALWAYS, NULL, 0},
    {"Concat", 4, WITHOUT, "axis", 0},
    {"Dropout", 7, WITH, "is_test", 0},
    {"GRU", 7, WITH, "output_sequence", 0},
    {"GridSample", 20, WITH, "mode", 0},
    {"LSTM", 7, WITH, "output_sequence", 0},
    {"Pad", 2, ALWAYS, NULL, 0},
    {"RNN", 7, WITH, "output_sequence", 0},
    {"Resize", 13, WITH, "coordinate_transformation_mode", 0},
    {"Scan", 9, ALWAYS, NULL, 0},
    {"Scatter", 11, ALWAYS, NULL, 0},
    {"Split", 2, WITH_INPUT, NULL, 1},
    {"Split", 18, WITHOUT_INPUT, NULL, 1},
    {"Upsample", 10, ALWAYS, NULL, 0},

    /* Results or defaults are others. */
    {"Attention", 24, ALWAYS, NULL, 0},
    {"AveragePool", 7, ALWAYS, NULL, 0},
    {"AveragePool", 19, WITH, "ceil_mode", 0},
    {"AveragePool", 22, WITH, "ceil_mode", 0},
    {"BatchNormalization", 6, ALWAYS, NULL, 0},
    {"BatchNormalization", 14, WITH_OUTPUT, NULL, 1},
    {"ConvTranspose", 11, WITH, "auto_pad", 0},
    {"Dropout", 6, ALWAYS, NULL, 0},
    {"Dropout", 10, WITH_OUTPUT, NULL, 1},
    {"GRU", 3, ALWAYS, NULL, 0},
    {"GlobalLpPool", 2, ALWAYS, NULL, 0},
    {"GroupNormalization", 21, ALWAYS, NULL, 0},
    {"HardSigmoid", 6, ALWAYS, NULL, 0},
    {"Hardmax", 13, NOT_LAST_AXIS, NULL, 0},
    {"LogSoftmax", 13, NOT_LAST_AXIS, NULL, 0},
    {"LpPool", 2, ALWAYS, NULL, 0},
    {"LpPool", 22, WITH, "ceil_mode", 0},
    {"MaxPool", 22, WITH, "ceil_mode", 0},
    {"Resize", 11, ALWAYS, NULL, 0},
    {"Resize", 18, WITH_INPUT, NULL, 3},
    {"RoiAlign", 16, ALWAYS, NULL, 0},
    {"Selu", 6, ALWAYS, NULL, 0},
    {"Softmax", 13, NOT_LAST_AXIS, NULL, 0},
};

static const rmsnorm_node_attribute *attribute_of(const rmsnorm_ir_node *node, const char *name)
{
    for (size_t i = 0; i < node->attribute_count; i++) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return &node->attributes[i];
        }
    }
    return NULL;
}

/* Whether a slot from `first` on is in use. */
static bool used_from(const size_t *slots, size_t count, int first)
{
    for (size_t i = (size_t)first; i < count; i++) {
        if (slots[i] != RMSNORM_NO_INDEX) {
            return true;
        }
    }
    return false;
}

static bool concerns(const rmsnorm_ir_node *node, size_t change)
{
    const rmsnorm_node_attribute *axis;
    switch (changes[change].condition) {
    case WITH:
        return attribute_of(node, changes[change].attribute) != NULL;
    case WITHOUT:
        return attribute_of(node, changes[change].attribute) == NULL;
    case WITH_INPUT:
        return used_from(node->inputs, node->input_count, changes[change].slot);
    case WITHOUT_INPUT:
        return !used_from(node->inputs, node->input_count, changes[change].slot);
    case WITH_OUTPUT:
        return used_from(node->outputs, node->output_count, changes[change].slot);
    case NOT_LAST_AXIS:
        axis = attribute_of(node, "axis");
        return axis == NULL || axis->kind != RMSNORM_NODE_ATTRIBUTE_INT || axis->i != -1;
    default:
        return true;
    }
}

/* 0: no such operator. */
static int since(const rmsnorm_ir_node *node)
{
    for (size_t i = 0; !node->function && i < sizeof operators / sizeof operators[0]; i++) {
        if (strcmp(operators[i].name, node->op_type) == 0) {
            return operators[i].since;
        }
    }
    return 0;
}

rmsnorm_status rmsnorm_opset_check_raise(const rmsnorm_ir_node *node, int64_t from, int64_t to)
{
    RMSNORM_CHECK(node != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_opset_check_raise: node is NULL");
    const bool foreign = node->domain[0] != '\0' && strcmp(node->domain, "ai.onnx") != 0;
    if (from == to || foreign) { /* another domain has versions of its own */
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(from >= 1 && from < to, RMSNORM_UNSUPPORTED,
                  NAME ": from opset %" PRId64 " to %" PRId64 "; allowed: to a higher one", node->op_type, from, to);
    RMSNORM_CHECK(to <= NEWEST, RMSNORM_UNSUPPORTED,
                  NAME ": what changed up to opset %" PRId64 " is not known; known: up to %d", node->op_type, to,
                  NEWEST);
    const int first = since(node);
    RMSNORM_CHECK(first > 0, RMSNORM_UNSUPPORTED, "ai.onnx::" NAME " is not known as an operator of ONNX",
                  node->op_type);
    RMSNORM_CHECK(first <= from, RMSNORM_UNSUPPORTED, NAME " is not in opset %" PRId64 "; it is there since opset %d",
                  node->op_type, from, first);
    /* Operators of opset 1 named the inputs they might overwrite. */
    RMSNORM_CHECK(from >= 6 || to < 6 || attribute_of(node, "consumed_inputs") == NULL, RMSNORM_UNSUPPORTED,
                  NAME " has no attribute consumed_inputs since opset 6", node->op_type);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const bool crossed = changes[i].version > from && changes[i].version <= to;
        RMSNORM_CHECK(!crossed || strcmp(changes[i].name, node->op_type) != 0 || !concerns(node, i),
                      RMSNORM_UNSUPPORTED, NAME " means something else since opset %d", node->op_type,
                      changes[i].version);
    }
    return RMSNORM_OK;
}
