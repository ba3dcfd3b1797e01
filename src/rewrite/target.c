/* One line a target and operator. ONNX Runtime's lines are what its version 1.30 runs with the right numbers and not slower than
 * the small nodes. RMSNormalization is not among them: in float and double SimplifiedLayerNormalization is the same at every
 * opset. On the CPU it also runs float16 and bfloat16, but converts them element by element: a chain that casts up takes 0.5 to 0.8 of the time when the casts stay around a norm in
 * float, which the runtime then merges with the casts of its other nodes. Its WebGPU provider has float and float16 and takes
 * a scale of exactly the rows' size. */
#include "rewrite/target.h"

#define FLOAT RMSNORM_DTYPES(RMSNORM_FLOAT)
#define HALF RMSNORM_DTYPES(RMSNORM_FLOAT16)
#define BFLOAT RMSNORM_DTYPES(RMSNORM_BFLOAT16)
#define DOUBLE RMSNORM_DTYPES(RMSNORM_DOUBLE)
#define ALL (FLOAT | HALF | BFLOAT | DOUBLE)

enum { OPERATORS = RMSNORM_RMS_NORMALIZATION + 1, TARGETS = RMSNORM_TARGET_ORT_WEBGPU + 1 };

typedef struct line {
    rmsnorm_dtypes types; /* of input and, when they are the same, scale; 0: it does not have the operator */
    rmsnorm_dtypes mixed; /* of input and scale when they differ */
} line;

static const struct {
    const char *name;
    line operators[OPERATORS];
    bool broadcasts; /* any scale of the contract; else as many elements as a row has */
    bool
        skip_gains; /* its skip operator is faster than an addition and a norm: not so on ONNX Runtime's CPU, which adds the
                        squares one by one there */
} targets[TARGETS] = {
    [RMSNORM_TARGET_RMSNORM] = {"rmsnorm",
                                {[RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION] = {ALL, ALL},
                                 [RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF | BFLOAT, 0},
                                 [RMSNORM_RMS_NORMALIZATION] = {ALL, ALL}},
                                true,
                                true},
    [RMSNORM_TARGET_ONNX] = {"onnx", {[RMSNORM_RMS_NORMALIZATION] = {ALL, ALL}}, true, false},
    [RMSNORM_TARGET_ORT_CPU] = {"ort-cpu",
                                {[RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | DOUBLE, 0},
                                 [RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF | BFLOAT, 0}},
                                true,
                                false},
    [RMSNORM_TARGET_ORT_WEBGPU] = {"ort-webgpu",
                                   {[RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF, 0},
                                    [RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF, 0}},
                                   false,
                                   true},
};

const char *rmsnorm_target_name(rmsnorm_target target)
{
    return (unsigned)target < TARGETS ? targets[target].name : NULL;
}

bool rmsnorm_target_has(rmsnorm_target target, rmsnorm_operator_kind kind)
{
    return targets[target].operators[kind].types != 0;
}

bool rmsnorm_target_gains_by_skip(rmsnorm_target target)
{
    return targets[target].skip_gains;
}

bool rmsnorm_target_takes(rmsnorm_target target, rmsnorm_operator_kind kind, rmsnorm_dtype input, rmsnorm_dtype scale)
{
    const line *const found = &targets[target].operators[kind];
    if (rmsnorm_dtype_size(input) == 0 || rmsnorm_dtype_size(scale) == 0) { /* none of the four */
        return false;
    }
    const rmsnorm_dtypes wanted = RMSNORM_DTYPES(input) | RMSNORM_DTYPES(scale);
    return (wanted & ~(input == scale ? found->types : found->mixed)) == 0;
}

bool rmsnorm_target_broadcasts(rmsnorm_target target, const rmsnorm_tensor *input, int64_t axis,
                               const rmsnorm_tensor *scale)
{
    if (targets[target].broadcasts) {
        return true;
    }
    /* Dims before the rows' must be 1; those of the rows the input's own. */
    for (int32_t i = 1; i <= scale->rank; i++) {
        const int64_t dim = scale->dims[scale->rank - i];
        const bool row = i <= -axis;
        if (row ? i > input->rank || dim < 0 || dim != input->dims[input->rank - i] : dim != 1) {
            return false;
        }
    }
    return scale->rank >= -axis;
}
