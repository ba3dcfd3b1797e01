/* rmsnorm run MODEL: the arithmetic of the primitives, bit by bit against what is computed here in the plainest way. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model.h"
#include "naive.h"
#include "support.h"

static model file;
static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_DOUBLE, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};

/* ---- Arithmetic ------------------------------------------------------------------------------ */

static double in_double(char op, double a, double b)
{
    switch (op) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        return a / b;
    case 'r':
        return 1 / a;
    case 's':
        return sqrt(a);
    default:
        return pow(a, b);
    }
}

static float in_float(char op, float a, float b)
{
    switch (op) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        return a / b;
    case 'r':
        return 1 / a;
    default:
        return sqrtf(a);
    }
}

/* In the arithmetic that the contract names for the type; powers in double. */
static double computed(char op, rmsnorm_dtype dtype, double a, double b)
{
    return dtype == RMSNORM_DOUBLE || op == '^' ? rounded(dtype, in_double(op, a, b))
                                                : rounded(dtype, (double)in_float(op, (float)a, (float)b));
}

/* Runs one node on a and b (NULL: one input) of types of their own. */
static tensor run_node(const char *op_type, const char *attributes, int opset, rmsnorm_dtype dtype, const tensor *a,
                       rmsnorm_dtype second, const tensor *b, const char *dims_a, const char *dims_b)
{
    char paths[3][64];
    model_begin(&file);
    model_input(&file, "a", (int)dtype, NULL);
    write_tensor(path_of("a", dtype, paths[0]), dtype, dims_a, a->values, a->count);
    if (b != NULL) {
        model_input(&file, "b", (int)second, NULL);
        write_tensor(path_of("b", second, paths[1]), second, dims_b, b->values, b->count);
    }
    model_node(&file, "n", "", op_type, b != NULL ? "a,b" : "a", "y", attributes);
    model_output(&file, "y", (int)dtype, NULL);
    model_write(&file, opset, "node.onnx");
    outcome result = shell("rmsnorm run node.onnx %s %s --output y=%s", paths[0], b != NULL ? paths[1] : "",
                           path_of("y", dtype, paths[2]));
    expect_done(result, (const char *const[]){op_type, "y: ", NULL});
    return read_tensor(paths[2], dtype);
}

static void arithmetic_is_rounded_once(void **state)
{
    (void)state;
    static const struct {
        char op;
        const char *op_type;
    } cases[] = {{'+', "Add"},        {'-', "Sub"},  {'*', "Mul"}, {'/', "Div"},
                 {'r', "Reciprocal"}, {'s', "Sqrt"}, {'^', "Pow"}};
    static const int opsets[] = {7, 13, 25};
    for (size_t t = 0; t < 4; ++t) {
        const rmsnorm_dtype dtype = types[t];
        for (size_t i = 0; i < 21; ++i) {
            const char op = cases[i % 7].op;
            const bool unary = op == 'r' || op == 's';
            const int spread = op == '^' || op == '+' || op == '-' ? 3 : dtype == RMSNORM_FLOAT16 ? 12 : 70;
            const char *dims_b = unary ? "" : "4,1";
            tensor a = random_tensor(dtype, "3,1,50", spread);
            const tensor b = random_tensor(dtype, dims_b, spread);
            for (size_t k = 0; k < a.count && op == '^'; ++k) {
                a.values[k] = fabs(a.values[k]);
            }
            const tensor got = run_node(cases[i % 7].op_type, "", opsets[i / 7], dtype, &a, dtype, unary ? NULL : &b,
                                        "3,1,50", dims_b);
            tensor wanted = shaped(unary ? "3,1,50" : "3,4,50");
            for (size_t k = 0; k < wanted.count; ++k) {
                wanted.values[k] = computed(op, dtype, operand(&a, &wanted, k), unary ? 0 : operand(&b, &wanted, k));
            }
            expect_same(cases[i % 7].op_type, &got, &wanted);
        }
    }
}

/* A square is the product, whatever the exponent's type. */
static void exponents_may_be_of_another_type(void **state)
{
    (void)state;
    static const char *const exponents[] = {"2", "0.5", "-0.5", "3"};
    for (size_t t = 0; t < 8; ++t) {
        const rmsnorm_dtype dtype = types[t % 4];
        const rmsnorm_dtype second = types[(t % 4 + 1) % 4];
        const double exponent = strtod(exponents[t / 2], NULL);
        tensor a = random_tensor(dtype, "2,20", 4);
        tensor b = shaped("");
        b.values[0] = exponent;
        tensor wanted = a;
        for (size_t i = 0; i < a.count; ++i) {
            a.values[i] = exponent == 2 ? a.values[i] : fabs(a.values[i]);
            wanted.values[i] = rounded(dtype, exponent == 2 ? a.values[i] * a.values[i] : pow(a.values[i], exponent));
        }
        const tensor got = run_node("Pow", "", 12, dtype, &a, second, &b, "2,20", "");
        expect_same("Pow", &got, &wanted);
    }
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "3");
    model_integers(&file, "three", "", (const int64_t[]){3});
    model_foreign_initializer(&file, "none", RMSNORM_INT32, 4, "1");
    model_node(&file, "cube", "", "Pow", "x,three", "y", "");
    model_node(&file, "one", "", "Pow", "x,none", "z", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_output(&file, "z", RMSNORM_FLOAT, NULL);
    model_write(&file, 15, "cube.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "3", -2, 0, 3);
    DONE("rmsnorm run cube.onnx x.npy --output y=y.npy --output z=z.npy");
    EXPECT("y.npy", RMSNORM_FLOAT, "3", -8, 0, 27);
    EXPECT("z.npy", RMSNORM_FLOAT, "3", 1, 1, 1);
}

static void specials_follow_ieee(void **state)
{
    (void)state;
    tensor a = shaped("6");
    tensor b = shaped("6");
    const double first[] = {0, -0.0, 1, -1, (double)INFINITY, (double)NAN};
    const double second[] = {0, 3, 0, 0, -(double)INFINITY, 1};
    memcpy(a.values, first, sizeof first);
    memcpy(b.values, second, sizeof second);
    for (size_t t = 0; t < 4; ++t) {
        static const struct {
            char op;
            const char *op_type;
        } cases[] = {{'+', "Add"}, {'/', "Div"}, {'*', "Mul"}, {'s', "Sqrt"}};
        for (size_t i = 0; i < 4; ++i) {
            const bool unary = cases[i].op == 's';
            const tensor got = run_node(cases[i].op_type, "", 14, types[t], &a, types[t], unary ? NULL : &b, "6", "6");
            tensor wanted = a;
            for (size_t k = 0; k < 6; ++k) {
                wanted.values[k] = in_double(cases[i].op, first[k], second[k]);
            }
            expect_same(cases[i].op_type, &got, &wanted);
        }
    }
}

static void shapes_broadcast_both_ways(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b, *result;
    } cases[] = {
        {"", "", ""},
        {"2,3", "", "2,3"},
        {"", "4", "4"},
        {"1", "", "1"},
        {"3,1", "1,4", "3,4"},
        {"4", "2,3,4", "2,3,4"},
        {"2,1,4", "3,1", "2,3,4"},
        {"0", "1", "0"},
        {"1,3", "0,1", "0,3"},
        {"2,0", "", "2,0"},
        {"2,1,1,1,2,1,1,1,1,1,1,1,1,1,1,3", "2,1,1,2,1,1,1,1,1,1,1,1,1,5,1", "2,2,1,1,2,1,1,1,1,1,1,1,1,1,5,3"},
        {"1,2,1,1,2,1,1,1,1,1,1,1,1,1,1,3", "3", "1,2,1,1,2,1,1,1,1,1,1,1,1,1,1,3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const tensor a = random_tensor(RMSNORM_FLOAT, cases[i].a, 5);
        const tensor b = random_tensor(RMSNORM_FLOAT, cases[i].b, 5);
        tensor wanted = shaped(cases[i].result);
        for (size_t k = 0; k < wanted.count; ++k) {
            wanted.values[k] = computed('-', RMSNORM_FLOAT, operand(&a, &wanted, k), operand(&b, &wanted, k));
        }
        const tensor got = run_node("Sub", "", 7, RMSNORM_FLOAT, &a, RMSNORM_FLOAT, &b, cases[i].a, cases[i].b);
        expect_same(cases[i].result, &got, &wanted);
    }
}

/* ---- ReduceMean ------------------------------------------------------------------------------ */

/* The tensors here have three dims at most. */
static bool in_mask(unsigned mask, int dim)
{
    return dim < 3 && (mask >> dim & 1U) != 0;
}

/* The mean over the dims of the mask; keeps them as 1. */
static tensor mean_of(const tensor *x, unsigned mask, rmsnorm_dtype dtype)
{
    tensor result = {.rank = x->rank, .count = 1};
    size_t terms = 1;
    for (int i = 0; i < x->rank; ++i) {
        const bool reduced = in_mask(mask, i);
        result.dims[i] = reduced ? 1 : x->dims[i];
        result.count *= (size_t)result.dims[i];
        terms *= reduced ? (size_t)x->dims[i] : 1;
    }
    for (size_t k = 0; k < result.count; ++k) {
        double sum = 0;
        for (size_t i = 0; i < x->count; ++i) {
            size_t rest = i;
            size_t at = 0;
            size_t stride = 1;
            for (int d = x->rank - 1; d >= 0; --d) {
                at += in_mask(mask, d) ? 0 : rest % (size_t)x->dims[d] * stride;
                stride *= (size_t)result.dims[d];
                rest /= (size_t)x->dims[d];
            }
            sum += at == k ? x->values[i] : 0;
        }
        result.values[k] = rounded(dtype, sum / (double)terms);
    }
    return result;
}

static tensor without_ones(tensor of, unsigned mask)
{
    int rank = 0;
    for (int i = 0; i < of.rank; ++i) {
        if (!in_mask(mask, i)) {
            of.dims[rank++] = of.dims[i];
        }
    }
    of.rank = rank;
    return of;
}

/* axes NULL: not given. As attribute before opset 18, later as an initializer. */
static void check_mean(rmsnorm_dtype dtype, const char *dims, const char *axes, unsigned mask, int opset,
                       const char *attributes)
{
    char paths[2][64];
    char words[128];
    const tensor x = random_tensor(dtype == RMSNORM_DOUBLE ? RMSNORM_FLOAT : dtype, dims, 3); /* exact sums */
    model_begin(&file);
    model_input(&file, "x", (int)dtype, NULL);
    const bool input = opset >= 18 && axes != NULL;
    (void)snprintf(words, sizeof words, "%s%s", attributes, attributes[0] != '\0' ? " " : "");
    if (input) {
        int64_t list[4];
        char count[8];
        int64_t used = 0;
        for (const char *next = axes; *next != '\0'; ++used) {
            char *end;
            list[used] = strtoll(next, &end, 10);
            next = end + (*end == ',');
        }
        (void)snprintf(count, sizeof count, "%d", (int)used);
        model_integers(&file, "axes", count, list);
    } else if (axes != NULL) {
        (void)snprintf(words + strlen(words), sizeof words - strlen(words), "axes=[%s]", axes);
    }
    model_node(&file, "mean", "", "ReduceMean", input ? "x,axes" : "x", "y", words);
    model_output(&file, "y", (int)dtype, NULL);
    model_write(&file, opset, "mean.onnx");
    write_tensor(path_of("x", dtype, paths[0]), dtype, dims, x.values, x.count);
    outcome result = shell("rmsnorm run mean.onnx %s --output y=%s", paths[0], path_of("y", dtype, paths[1]));
    expect_done(result, (const char *const[]){"mean = ai.onnx::ReduceMean ", "keepdims=", NULL});
    tensor wanted = mean_of(&x, mask, dtype);
    if (strstr(attributes, "keepdims=0") != NULL) {
        wanted = without_ones(wanted, mask);
    }
    const tensor got = read_tensor(paths[1], dtype);
    expect_same(words, &got, &wanted);
}

static void means_are_over_the_axes_given(void **state)
{
    (void)state;
    static const int opsets[] = {7, 13, 17, 18, 25};
    for (size_t t = 0; t < 4; ++t) {
        for (size_t i = 0; i < 5; ++i) {
            const int opset = opsets[i];
            check_mean(types[t], "3,4,25", "-1", 4, opset, "");
            check_mean(types[t], "3,4,25", "0,-2", 3, opset, "keepdims=1");
            check_mean(types[t], "3,4,25", "1", 2, opset, "keepdims=0");
            check_mean(types[t], "3,4,25", NULL, 7, opset, "keepdims=0");
        }
    }
    check_mean(RMSNORM_FLOAT, "3,4", "", 3, 13, "");
    check_mean(RMSNORM_FLOAT, "3,4", "", 3, 18, "");
    check_mean(RMSNORM_FLOAT, "3,4", "", 0, 18, "noop_with_empty_axes=1");
    check_mean(RMSNORM_FLOAT, "3,4", NULL, 0, 18, "noop_with_empty_axes=1 keepdims=0");
    check_mean(RMSNORM_FLOAT, "3,4", "0", 1, 18, "noop_with_empty_axes=1");
    check_mean(RMSNORM_FLOAT, "", NULL, 0, 18, "");
    check_mean(RMSNORM_FLOAT, "0,3", "1", 2, 18, "");
    check_mean(RMSNORM_FLOAT, "0,3", "0", 1, 18, ""); /* NaN */
}

/* In float, 2^24 + 1 is 2^24. */
static void means_add_up_in_double(void **state)
{
    (void)state;
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, NULL);
    model_node(&file, "", "", "ReduceMean", "x", "y", "");
    model_output(&file, "y", RMSNORM_FLOAT, NULL);
    model_write(&file, 18, "sum.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "1,4", 0x1p24, 1, 1, 2);
    DONE("rmsnorm run sum.onnx x.npy --output y=y.npy");
    EXPECT("y.npy", RMSNORM_FLOAT, "1,1", 0x1p22 + 1);
}

/* ---- Conversions ----------------------------------------------------------------------------- */

static void casts_round_once(void **state)
{
    (void)state;
    char paths[2][64];
    for (size_t from = 0; from < 4; ++from) {
        for (size_t to = 0; to < 4; ++to) {
            tensor a = random_tensor(types[from], "200", types[from] == RMSNORM_FLOAT16 ? 12 : 30);
            /* The middle of two halves, and a little more: float alone would take it for the middle. */
            a.values[0] = rounded(types[from], 1 + 0x1p-11 + 0x1p-40);
            a.values[1] = rounded(types[from], 1 + 0x1p-8 + 0x1p-40);
            a.values[2] = rounded(types[from], -(0x1p-25 + 0x1p-70));
            a.values[2] = types[from] == RMSNORM_FLOAT16 ? 0 : a.values[2];
            a.values[3] = rounded(types[from], 65519.9999999);
            a.values[4] = (double)INFINITY;
            a.values[5] = (double)NAN;
            a.values[6] = -0.0;
            char word[16];
            (void)snprintf(word, sizeof word, "to=%d", (int)types[to]);
            model_begin(&file);
            model_input(&file, "a", (int)types[from], "200");
            model_node(&file, "cast", "", "Cast", "a", "y", word);
            model_output(&file, "y", (int)types[to], "200");
            model_write(&file, 13, "cast.onnx");
            write_tensor(path_of("a", types[from], paths[0]), types[from], "200", a.values, 200);
            outcome result =
                shell("rmsnorm run cast.onnx %s --output y=%s", paths[0], path_of("y", types[to], paths[1]));
            (void)snprintf(word, sizeof word, "to=%s", rmsnorm_dtype_name(types[to]));
            expect_done(result, (const char *const[]){"cast = ai.onnx::Cast ", word, NULL});
            tensor wanted = a;
            for (size_t i = 0; i < 200; ++i) {
                wanted.values[i] = rounded(types[to], a.values[i]);
            }
            const tensor got = read_tensor(paths[1], types[to]);
            expect_same(word, &got, &wanted);
        }
    }
}

static void casts_go_through_integers(void **state)
{
    (void)state;
    const int64_t large = (INT64_C(1) << 62) + (INT64_C(1) << 38) + 1; /* the double next to it is a middle of floats */
    model_begin(&file);
    model_input(&file, "x", RMSNORM_FLOAT, "5");
    model_integers(&file, "large", "3", (const int64_t[]){large, -large, INT64_MIN});
    for (int to = 6; to <= 7; ++to) {
        char words[3][16];
        (void)snprintf(words[0], sizeof words[0], "to=%d", to);
        (void)snprintf(words[1], sizeof words[1], "i%d", to);
        (void)snprintf(words[2], sizeof words[2], "y%d", to);
        model_node(&file, "", "", "Cast", "x", words[1], words[0]);
        model_node(&file, "", "", "Cast", words[1], words[2], "to=1");
        model_output(&file, words[2], RMSNORM_FLOAT, "5");
    }
    model_node(&file, "", "", "Cast", "large", "f", "to=1");
    model_node(&file, "", "", "Cast", "large", "d", "to=11");
    model_node(&file, "", "", "Cast", "large", "b", "to=16");
    model_output(&file, "f", RMSNORM_FLOAT, "3");
    model_output(&file, "d", RMSNORM_DOUBLE, "3");
    model_output(&file, "b", RMSNORM_BFLOAT16, "3");
    model_write(&file, 19, "integers.onnx");
    WRITE("x.npy", RMSNORM_FLOAT, "5", 2.75, -2.75, 0.5, -0x1p31, 16777216);
    DONE("rmsnorm run integers.onnx x.npy --output-dir integers");
    EXPECT("integers/y6.npy", RMSNORM_FLOAT, "5", 2, -2, 0, -0x1p31, 16777216);
    EXPECT("integers/y7.npy", RMSNORM_FLOAT, "5", 2, -2, 0, -0x1p31, 16777216);
    EXPECT("integers/f.npy", RMSNORM_FLOAT, "3", 0x1p62 + 0x1p39, -0x1p62 - 0x1p39, -0x1p63);
    EXPECT("integers/d.npy", RMSNORM_DOUBLE, "3", 0x1p62 + 0x1p38, -0x1p62 - 0x1p38, -0x1p63);
    EXPECT("integers/b.npy:bfloat16", RMSNORM_BFLOAT16, "3", 0x1p62, -0x1p62, -0x1p63);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic_is_rounded_once),
        cmocka_unit_test(exponents_may_be_of_another_type),
        cmocka_unit_test(specials_follow_ieee),
        cmocka_unit_test(shapes_broadcast_both_ways),
        cmocka_unit_test(means_are_over_the_axes_given),
        cmocka_unit_test(means_add_up_in_double),
        cmocka_unit_test(casts_round_once),
        cmocka_unit_test(casts_go_through_integers),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
