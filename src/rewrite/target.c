/* One line a target and operator. ONNX Runtime's lines are what its version 1.30 loads and runs with the right numbers, tried
 * one by one (tests/rewrite/test_targets.c does it again): it has no kernel for RMSNormalization but expands it, on the CPU
 * it also takes float beside float16, and its WebGPU provider has float and float16 and a scale of exactly the rows'
 * size. */
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
} targets[TARGETS] = {
    [RMSNORM_TARGET_RMSNORM] = {"rmsnorm",
                                {[RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION] = {ALL, ALL},
                                 [RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF | BFLOAT, 0},
                                 [RMSNORM_RMS_NORMALIZATION] = {ALL, ALL}},
                                true},
    [RMSNORM_TARGET_ONNX] = {"onnx", {[RMSNORM_RMS_NORMALIZATION] = {ALL, ALL}}, true},
    [RMSNORM_TARGET_ORT_CPU] = {"ort-cpu",
                                {[RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION] = {ALL, FLOAT | HALF},
                                 [RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF | BFLOAT, 0}},
                                true},
    [RMSNORM_TARGET_ORT_WEBGPU] = {"ort-webgpu",
                                   {[RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF, 0},
                                    [RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION] = {FLOAT | HALF, 0}},
                                   false},
};

const char *rmsnorm_target_name(rmsnorm_target target)
{
    return targets[target].name;
}

bool rmsnorm_target_has(rmsnorm_target target, rmsnorm_operator_kind kind)
{
    return targets[target].operators[kind].types != 0;
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
