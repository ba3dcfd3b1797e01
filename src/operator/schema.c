/* schema.c: the one table of the operators. Checks, inference, listings, help and documentation all derive from it. */
#include "operator/schema.h"

#ifdef RMSNORM_PROSE
#define PROSE(text) text
#else
#define PROSE(text) ""
#endif

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define FLOAT RMSNORM_DTYPES(RMSNORM_FLOAT)
#define FLOAT16 RMSNORM_DTYPES(RMSNORM_FLOAT16)
#define BFLOAT16 RMSNORM_DTYPES(RMSNORM_BFLOAT16)
#define DOUBLE RMSNORM_DTYPES(RMSNORM_DOUBLE)
#define FOUR_FLOATS (FLOAT | FLOAT16 | BFLOAT16 | DOUBLE)

/* Objects rather than literals: a slot finds its constraint by the address of the name. */
static const char type_t[] = "T";
static const char type_v[] = "V";
static const char type_u[] = "U";

const char rmsnorm_axis[] = "axis";
const char rmsnorm_epsilon[] = "epsilon";
const char rmsnorm_stash_type[] = "stash_type";
const char rmsnorm_keep_dims[] = "keep_dims";

static const char any_leading_shape[] = "(d0,...,d[r-1]), r >= 1, no dim from axis on is 0";
static const char scale_shape[] = "at most r dims, right-aligned, each 1 or equal to that of X";

/* ---- SimplifiedLayerNormalization ------------------------------------------------------------ */

static const rmsnorm_slot simplified_inputs[] = {
    {"X", type_t, any_leading_shape, true,
     PROSE("The values. Everything from axis on is one row, normalized by itself.")},
    {"scale", type_v, scale_shape, true, PROSE("The factor of each element, broadcast to X in NumPy's way.")},
};
static const rmsnorm_slot simplified_outputs[] = {
    {"Y", type_v, "the shape of X", true, PROSE("The normalized and scaled values, in the type of scale.")},
    {"inv_std_var", type_u, "the shape of X, every dim from axis on 1", false,
     PROSE("1 / sqrt(mean(X^2) + epsilon) of each row: what a gradient needs.")},
};
static const rmsnorm_attribute simplified_attributes[] = {
    {rmsnorm_axis, RMSNORM_ATTRIBUTE_INT, -1, 0.0f, "in [-r, r), r being the rank of X",
     PROSE("The first normalized dimension; a negative one counts from the end.")},
    {rmsnorm_epsilon, RMSNORM_ATTRIBUTE_FLOAT, 0, 1e-5f, "any float",
     PROSE("Added to the mean of squares, inside the root, never rounded to the type of X.")},
    {rmsnorm_keep_dims, RMSNORM_ATTRIBUTE_INT, 1, 0.0f, "1", PROSE("inv_std_var keeps the normalized dims as 1.")},
    {rmsnorm_stash_type, RMSNORM_ATTRIBUTE_INT, 1, 0.0f, "1 (float) or 11 (double)",
     PROSE("The element type of inv_std_var, as ONNX numbers it.")},
};
static const rmsnorm_type_constraint simplified_types[] = {
    {type_t, {FOUR_FLOATS, FLOAT | FLOAT16}, PROSE("The type of X.")},
    {type_v, {FOUR_FLOATS, FLOAT | FLOAT16}, PROSE("The type of scale and Y, independent of T.")},
    {type_u, {FLOAT | DOUBLE, FLOAT}, PROSE("The type of the statistics, by stash_type.")},
};

/* ---- SkipSimplifiedLayerNormalization -------------------------------------------------------- */

static const rmsnorm_slot skip_inputs[] = {
    {"input", type_t, "(S,H) or (B,S,H), 1 <= H <= 2147483647", true, PROSE("The output of the layer before.")},
    {"skip", type_t, "the shape of input; for (B,S,H) also (S,H) or (1,S,H)", true, PROSE("The residual to add.")},
    {"gamma", type_t, "(H)", true, PROSE("The factor of each element of a row.")},
    {"bias", type_t, "(H)", false, PROSE("Added to input + skip before the normalization. There is no beta after it.")},
};
static const rmsnorm_slot skip_outputs[] = {
    {"output", type_t, "the shape of input", true, PROSE("The normalized and scaled sum.")},
    {"mean", type_u, "the shape of input, the last dim 1", false,
     PROSE("Zeros: the slot is there for symmetry with SkipLayerNormalization.")},
    {"inv_std_var", type_u, "the shape of input, the last dim 1", false,
     PROSE("1 / sqrt(mean(sum^2) + epsilon) of each row.")},
    {"input_skip_bias_sum", type_t, "the shape of input", false,
     PROSE(
         "(input + skip) + bias, rounded to T once: the residual of the next layer. The normalization itself uses the "
         "unrounded sum.")},
};
static const rmsnorm_attribute skip_attributes[] = {
    {rmsnorm_epsilon, RMSNORM_ATTRIBUTE_FLOAT, 0, 1e-12f, "finite and >= 0",
     PROSE("Added to the mean of squares, inside the root, never rounded to T.")},
};
static const rmsnorm_type_constraint skip_types[] = {
    {type_t, {FLOAT | FLOAT16 | BFLOAT16, FLOAT | FLOAT16}, PROSE("The type of all inputs, output and sum.")},
    {type_u, {FLOAT, FLOAT}, PROSE("The type of the statistics.")},
};

/* ---- RMSNormalization ------------------------------------------------------------------------ */

static const rmsnorm_slot rms_outputs[] = {
    {"Y", type_v, "the shape of X", true, PROSE("The normalized and scaled values, in the type of scale.")},
};
static const rmsnorm_attribute rms_attributes[] = {
    {rmsnorm_axis, RMSNORM_ATTRIBUTE_INT, -1, 0.0f, "in [-r, r), r being the rank of X",
     PROSE("The first normalized dimension; a negative one counts from the end.")},
    {rmsnorm_epsilon, RMSNORM_ATTRIBUTE_FLOAT, 0, 1e-5f, "any float",
     PROSE("Added to the mean of squares, inside the root, never rounded to the type of X.")},
    {rmsnorm_stash_type, RMSNORM_ATTRIBUTE_INT, 1, 0.0f, "1 (float) or 11 (double)",
     PROSE("The type that the normalization before the scale is computed in.")},
};
static const rmsnorm_type_constraint rms_types[] = {
    {type_t, {FOUR_FLOATS, FLOAT | FLOAT16}, PROSE("The type of X, and of the normalized values before the scale.")},
    {type_v, {FOUR_FLOATS, FLOAT | FLOAT16}, PROSE("The type of scale and Y, independent of T.")},
};

/* ---- The table ------------------------------------------------------------------------------- */

#define SLOTS(inputs, outputs, attributes, types) \
    inputs, COUNT(inputs), outputs, COUNT(outputs), attributes, COUNT(attributes), types, COUNT(types)

#define ON_CPU                                                                    \
    {                                                                             \
        .run = true, .shape_inference = true, .peak_memory = true, .fusion = true \
    }
/* Devices are another library's; this one knows from the build whether it is there. */
#ifdef RMSNORM_WEBGPU_DEVICES
#define WEBGPU_RUNS true
#else
#define WEBGPU_RUNS false
#endif
#define ON_WEBGPU                                                   \
    {                                                               \
        .run = WEBGPU_RUNS, .shape_inference = true, .fusion = true \
    }

static const rmsnorm_operator operators[] = {
    {RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION,
     "SimplifiedLayerNormalization",
     "",
     "com.microsoft",
     1,
     "Y = X / sqrt(mean(X^2) + epsilon) * scale, rounded once",
     PROSE("Divides each row of X by the root of the mean of its squares and multiplies by scale. The mean is not "
           "subtracted. Not in the ONNX standard: ONNX Runtime has it in the default domain."),
     SLOTS(simplified_inputs, simplified_outputs, simplified_attributes, simplified_types),
     {ON_CPU, ON_WEBGPU}},
    {RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION,
     "SkipSimplifiedLayerNormalization",
     "com.microsoft",
     NULL,
     1,
     "sum = (input + skip) + bias; output = sum / sqrt(mean(sum^2) + epsilon) * gamma",
     PROSE("A residual addition and the RMS normalization of its result in one step, as between the layers of a "
           "transformer. The sum is available as an output of its own."),
     SLOTS(skip_inputs, skip_outputs, skip_attributes, skip_types),
     {ON_CPU, ON_WEBGPU}},
    {RMSNORM_RMS_NORMALIZATION,
     "RMSNormalization",
     "",
     NULL,
     23,
     "Y = T(X / sqrt(mean(X^2) + epsilon)) * scale, rounded to T before the scale",
     PROSE(
         "The RMS normalization of the ONNX standard. It differs from SimplifiedLayerNormalization in one rounding: the "
         "normalized values take the type of X before they are multiplied by scale."),
     SLOTS(simplified_inputs, rms_outputs, rms_attributes, rms_types),
     {ON_CPU, ON_WEBGPU}},
};

const rmsnorm_operator *rmsnorm_operator_at(size_t index)
{
    return index < COUNT(operators) ? &operators[index] : NULL;
}
