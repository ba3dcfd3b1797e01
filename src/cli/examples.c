/* examples.c: the table of the worked examples. Numbers that no float is are rounded to the type by whoever runs them. */
#include "examples.h"

#include <math.h>

#define FLOAT RMSNORM_DTYPES(RMSNORM_FLOAT)
#define FLOAT16 RMSNORM_DTYPES(RMSNORM_FLOAT16)
#define BFLOAT16 RMSNORM_DTYPES(RMSNORM_BFLOAT16)
#define DOUBLE RMSNORM_DTYPES(RMSNORM_DOUBLE)
#define FOUR (FLOAT | FLOAT16 | BFLOAT16 | DOUBLE)
#define THREE (FLOAT | FLOAT16 | BFLOAT16)

#define SIMPLE "SimplifiedLayerNormalization"
#define SKIP "com.microsoft::SkipSimplifiedLayerNormalization"
#define RMS "RMSNormalization"

#define V(...)                                                                                \
    {                                                                                         \
        (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double) \
    }
#define NONE    \
    {           \
        NULL, 0 \
    }

/* More rows than a dimension of a dispatch has workgroups. */
enum { MANY_ROWS = 3 * 21847 };

/* clang-format off */
static const rmsnorm_cli_example examples[] = {
    /* The contract. */
    {"input [[1,-3],[3,-5]], skip and bias 0.5", SKIP, THREE, 2, 2, 0,
     {V(1, -3, 3, -5), V(.5), V(2, -3), V(.5)}, {V(2, 3, 2, 3), V(0), V(.5, .25), V(2, -2, 4, -4)}, 0, false},
    {"epsilon 12 is inside the root", SKIP, FLOAT, 1, 2, 12,
     {V(2, -2), V(0), V(1, 2)}, {V(.5, -1), NONE, V(.25)}, 0, false},
    {"the default epsilon is 1e-12", SKIP, FLOAT, 1, 1, -1,
     {V(1e-6), V(0), V(1)}, {V(0.70710678)}, 2, false},
    {"half steps without bias", SKIP, FLOAT16, 1, 2, 0,
     {V(1, 2), V(0x1p-11, 0x1p-10), V(1)}, {V(0.6323428, 1.2646856), NONE, NONE, V(1, 2)}, 0, false},
    {"half steps with bias = skip", SKIP, FLOAT16, 1, 2, 0,
     {V(1, 2), V(0x1p-11, 0x1p-10), V(1), V(0x1p-11, 0x1p-10)},
     {V(0.6323428, 1.2646856), NONE, NONE, V(1.0009765625, 2.001953125)}, 0, false},
    {"the norm sees the unrounded float16 sum", SKIP, FLOAT16, 1, 2, 0,
     {V(1, 2), V(0x1p-11, 0), V(1)}, {V(0.6328125, 1.2646484375), NONE, NONE, V(1, 2)}, 0, false},
    {"the norm sees the unrounded bfloat16 sum", SKIP, BFLOAT16, 1, 2, 0,
     {V(1, 3), V(0x1p-8, 0), V(1)}, {V(0.44921875, 1.34375), NONE, NONE, V(1, 3)}, 0, false},
    {"a sum past float16 is infinite, its norm is not", SKIP, FLOAT16, 1, 2, 0,
     {V(65504), V(65504), V(1, -2)}, {V(1, -2), NONE, V(1.0 / 131008), V(INFINITY)}, 0, false},
    {"bfloat16 ties go to even", SKIP, BFLOAT16, 1, 2, -1,
     {V(1), V(0x1p-8, 3 * 0x1p-8), V(1)}, {NONE, NONE, NONE, V(1, 1.015625)}, 0, false},
    {"float16 is widened before it is squared", RMS, FLOAT16, 1, 2, 0,
     {V(256), V(1)}, {V(1)}, 0, false},
    {"a double row of 1e100", SIMPLE, DOUBLE, 1, 3, -1,
     {V(1e100, 2e100, 3e100), V(1)}, {V(0.4629100498862757, 0.9258200997725514, 1.3887301496588271)}, 2, false},
    {"stash_type 1 sees a double as float", RMS, DOUBLE, 1, 2, 0,
     {V(100000001, 100000002), V(1)}, {V(1)}, 0, false},
    {"epsilon inside the root", SIMPLE, FLOAT, 1, 4, 1e-5, {V(1e-3), V(1)}, {V(0.30151134)}, 2, false},
    {"epsilon inside the root", RMS, FLOAT, 1, 4, 1e-5, {V(1e-3), V(1)}, {V(0.30151134)}, 2, false},
    {"epsilon inside the root", SKIP, FLOAT, 1, 4, 1e-5, {V(1e-3), V(0), V(1)}, {V(0.30151134)}, 2, false},
    /* Squares, sums and inverses beyond the type. */
    {"rows of 65504", SIMPLE, FLOAT16, 3, 257, 0, {V(65504), V(1)}, {V(1)}, 0, false},
    {"rows of 65504", SKIP, FLOAT16, 3, 257, 0, {V(65504), V(0), V(1)}, {V(1), NONE, NONE, V(65504)}, 0, false},
    {"rows of 1e-30", SIMPLE, FLOAT | BFLOAT16, 3, 257, 0, {V(1e-30), V(1)}, {V(1)}, 0, false},
    {"rows of 1e25", RMS, FLOAT | BFLOAT16, 3, 257, 0, {V(1e25), V(1)}, {V(1)}, 0, false},
    {"rows of 3e38", SIMPLE, FLOAT | BFLOAT16, 3, 257, 0, {V(3e38), V(1)}, {V(1)}, 0, false},
    {"rows of 3e38", SKIP, FLOAT | BFLOAT16, 3, 257, 0, {V(3e38), V(0), V(1)}, {V(1), NONE, NONE, V(3e38)}, 0, false},
    {"rows of 1e200", SIMPLE, DOUBLE, 3, 257, 0, {V(1e200), V(1)}, {V(1)}, 0, false},
    {"a row of zeros", SIMPLE, THREE, 2, 3, 1e-5, {V(0, 0, 0, 2, 2, -2), V(1)}, {V(0, 0, 0, 0.99999875, 0.99999875, -0.99999875)}, 2, false},
    /* Rows do not see each other. */
    {"a NaN stays in its row", SIMPLE, FOUR, 3, 4, 0,
     {V(1, 1, -1, 1, 3, NAN, 3, 3, 2, -2, 2, 2), V(1)},
     {V(1, 1, -1, 1, NAN, NAN, NAN, NAN, 1, -1, 1, 1)}, 0, true},
    {"a NaN stays in its row", SKIP, THREE, 3, 4, 0,
     {V(1, 1, -1, 1, 3, NAN, 3, 3, 2, -2, 2, 2), V(0), V(1)},
     {V(1, 1, -1, 1, NAN, NAN, NAN, NAN, 1, -1, 1, 1)}, 0, true},
    {"an infinity stays in its row", RMS, FOUR, 3, 4, 0,
     {V(1, 1, -1, 1, 3, INFINITY, 3, 3, 2, -2, 2, 2), V(1)},
     {V(1, 1, -1, 1, 0, NAN, 0, 0, 1, -1, 1, 1)}, 0, true},
    /* Sizes. */
    {"more than 65535 rows", SIMPLE, FLOAT | FLOAT16, MANY_ROWS, 2, 0,
     {V(1, -1, 4, 4, -.5, .5), V(1, 2)}, {V(1, -2, 1, 2, -1, 2), V(1, .25, 2)}, 0, false},
    {"more than 65535 rows", SKIP, FLOAT | FLOAT16, MANY_ROWS, 2, 0,
     {V(1, -1, 4, 4, -.5, .5), V(0), V(1, 2)}, {V(1, -2, 1, 2, -1, 2), NONE, NONE, V(1, -1, 4, 4, -.5, .5)}, 0, false},
    {"odd rows of odd width", SIMPLE, FOUR, 3, 7, 0,
     {V(2, -2, 2), V(1, 2, 3, 4, 5, 6, 7)},
     {V(1, -2, 3, 4, -5, 6, 7, -1, 2, 3, -4, 5, 6, -7, 1, 2, -3, 4, 5, -6, 7), V(.5)}, 0, false},
    {"odd rows of odd width", SKIP, THREE, 3, 7, 0,
     {V(2, -2, 2), V(0), V(1, 2, 3, 4, 5, 6, 7)},
     {V(1, -2, 3, 4, -5, 6, 7, -1, 2, 3, -4, 5, 6, -7, 1, 2, -3, 4, 5, -6, 7), V(0), V(.5), V(2, -2, 2)}, 0, false},
    {"rows of one element", RMS, FOUR, 5, 1, 0, {V(3, -5, 7, -9, 11), V(2)}, {V(2, -2, 2, -2, 2)}, 0, false},
    {"a row longer than a workgroup", RMS, FLOAT | FLOAT16, 2, 9999, 0, {V(3, -3), V(1)}, {V(1, -1)}, 0, false},
};
/* clang-format on */

const rmsnorm_cli_example *rmsnorm_cli_example_at(size_t index)
{
    return index < sizeof examples / sizeof examples[0] ? &examples[index] : NULL;
}
