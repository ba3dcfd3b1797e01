/* The worked examples of the contract (section 6), on every instruction set and in every type they name: to the bit
 * where the answer is a number of the type, else within 2 ulp of the decimals written there. */
#include <math.h>
#include <string.h>

#include "support.h"

#define SKIP_THREE (RMSNORM_DTYPES(F32) | RMSNORM_DTYPES(F16) | RMSNORM_DTYPES(BF16))

typedef struct example {
    const char *name;
    rmsnorm_operator_kind kind;
    rmsnorm_dtypes types; /* T, and V with it */
    int64_t rows, width;
    const double *input, *skip, *gamma, *bias; /* gamma NULL: ones */
    double epsilon;                            /* negative: left out */
    const double *output, *sum, *inverse;      /* NULL: not compared */
    bool decimals;                             /* output is written in decimals that are no float */
} example;

static const example examples[] = {
    {.name = "input [[1,-3],[3,-5]], skip and bias all 0.5",
     .kind = SKIP,
     .types = SKIP_THREE,
     .rows = 2,
     .width = 2,
     .input = VALUES(1, -3, 3, -5),
     .skip = VALUES(.5, .5, .5, .5),
     .gamma = VALUES(2, -3),
     .bias = VALUES(.5, .5),
     .output = VALUES(2, 3, 2, 3),
     .sum = VALUES(2, -2, 4, -4),
     .inverse = VALUES(.5, .25)},
    {.name = "epsilon 12 is inside the root",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(F32),
     .rows = 1,
     .width = 2,
     .input = VALUES(2, -2),
     .skip = VALUES(0, 0),
     .gamma = VALUES(1, 2),
     .epsilon = 12,
     .output = VALUES(.5, -1),
     .inverse = VALUES(.25)},
    {.name = "the default epsilon is 1e-12",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(F32),
     .rows = 1,
     .width = 1,
     .input = VALUES(1e-6),
     .skip = VALUES(0),
     .epsilon = -1,
     .output = VALUES(0.70710678),
     .decimals = true},
    {.name = "half steps without bias",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(F16),
     .rows = 1,
     .width = 2,
     .input = VALUES(1, 2),
     .skip = VALUES(0x1p-11, 0x1p-10),
     .output = VALUES(0.6323428, 1.2646856),
     .sum = VALUES(1, 2)},
    {.name = "half steps with bias = skip",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(F16),
     .rows = 1,
     .width = 2,
     .input = VALUES(1, 2),
     .skip = VALUES(0x1p-11, 0x1p-10),
     .bias = VALUES(0x1p-11, 0x1p-10),
     .output = VALUES(0.6323428, 1.2646856),
     .sum = VALUES(1.0009765625, 2.001953125)},
    {.name = "the norm sees the unrounded float16 sum",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(F16),
     .rows = 1,
     .width = 2,
     .input = VALUES(1, 2),
     .skip = VALUES(0x1p-11, 0),
     .output = VALUES(0.6328125, 1.2646484375),
     .sum = VALUES(1, 2)},
    {.name = "the norm sees the unrounded bfloat16 sum",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(BF16),
     .rows = 1,
     .width = 2,
     .input = VALUES(1, 3),
     .skip = VALUES(0x1p-8, 0),
     .output = VALUES(0.44921875, 1.34375),
     .sum = VALUES(1, 3)},
    {.name = "a sum past float16 is infinite, its norm is not",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(F16),
     .rows = 1,
     .width = 2,
     .input = VALUES(65504, 65504),
     .skip = VALUES(65504, 65504),
     .gamma = VALUES(1, -2),
     .output = VALUES(1, -2),
     .sum = VALUES(INFINITY, INFINITY),
     .inverse = VALUES(1.0 / 131008)},
    {.name = "bfloat16 ties go to even",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(BF16),
     .rows = 1,
     .width = 2,
     .input = VALUES(1, 1),
     .skip = VALUES(0x1p-8, 3 * 0x1p-8),
     .epsilon = -1,
     .sum = VALUES(1, 1.015625)},
    {.name = "float16 is widened before it is squared",
     .kind = PLAIN,
     .types = RMSNORM_DTYPES(F16),
     .rows = 1,
     .width = 2,
     .input = VALUES(256, 256),
     .output = VALUES(1, 1)},
    {.name = "epsilon inside the root",
     .kind = SIMPLE,
     .types = RMSNORM_DTYPES(F32),
     .rows = 1,
     .width = 4,
     .input = VALUES(1e-3, 1e-3, 1e-3, 1e-3),
     .epsilon = -1,
     .output = VALUES(0.30151134, 0.30151134, 0.30151134, 0.30151134),
     .decimals = true},
    {.name = "epsilon inside the root",
     .kind = PLAIN,
     .types = RMSNORM_DTYPES(F32),
     .rows = 1,
     .width = 4,
     .input = VALUES(1e-3, 1e-3, 1e-3, 1e-3),
     .epsilon = -1,
     .output = VALUES(0.30151134, 0.30151134, 0.30151134, 0.30151134),
     .decimals = true},
    {.name = "epsilon inside the root",
     .kind = SKIP,
     .types = RMSNORM_DTYPES(F32),
     .rows = 1,
     .width = 4,
     .input = VALUES(1e-3, 1e-3, 1e-3, 1e-3),
     .skip = VALUES(0, 0, 0, 0),
     .epsilon = 1e-5,
     .output = VALUES(0.30151134, 0.30151134, 0.30151134, 0.30151134),
     .decimals = true},
};

static void add_operands(trial *t, const example *e, rmsnorm_dtype dtype)
{
    static const double ones[] = {1, 1, 1, 1};
    const double *const gamma = e->gamma == NULL ? ones : e->gamma;
    trial_in(t, 0, dtype, SHAPE(e->rows, e->width), e->input);
    trial_out(t, 0, dtype, SHAPE(e->rows, e->width));
    if (e->kind != SKIP) {
        trial_in(t, 1, dtype, SHAPE(e->width), gamma);
        return;
    }
    trial_in(t, 1, dtype, SHAPE(e->rows, e->width), e->skip);
    trial_in(t, 2, dtype, SHAPE(e->width), gamma);
    if (e->bias != NULL) {
        trial_in(t, 3, dtype, SHAPE(e->width), e->bias);
    }
    trial_out(t, 1, F32, SHAPE(e->rows, 1));
    trial_out(t, 2, F32, SHAPE(e->rows, 1));
    trial_out(t, 3, dtype, SHAPE(e->rows, e->width));
}

static void run_example(const example *e, rmsnorm_dtype dtype, rmsnorm_isa isa)
{
    trial t = trial_start(e->kind);
    print_message("  %s: %s, %s, %s\n", t.op->name, e->name, rmsnorm_dtype_name(dtype), rmsnorm_isa_name(isa));
    add_operands(&t, e, dtype);
    t.options.max_isa = isa;
    if (e->epsilon >= 0) {
        t.attributes.epsilon = (float)e->epsilon;
    }
    trial_must_run(&t);
    if (e->output != NULL && e->decimals) {
        expect_near(&t.out[0], e->output, 2);
    } else if (e->output != NULL) {
        expect_values(&t.out[0], e->output);
    }
    if (e->sum != NULL) {
        expect_values(&t.out[3], e->sum);
    }
    if (e->inverse != NULL) {
        expect_values(&t.out[2], e->inverse);
    }
    if (e->kind == SKIP) {
        expect_values(&t.out[1], VALUES(0, 0));
    }
    trial_end(&t);
}

static void test_every_worked_example_to_the_bit(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16, F64};
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (size_t i = 0; i < COUNT_OF(examples); i++) {
        for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
            for (int j = 0; j < isa_count && (examples[i].types & RMSNORM_DTYPES(dtypes[d])) != 0; j++) {
                run_example(&examples[i], dtypes[d], isas[j]);
            }
        }
    }
}

/* The two float16 half-step examples: other sums, the same output bits. */
static void test_a_bias_that_only_moves_the_sums_rounding_leaves_the_output(void **state)
{
    (void)state;
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (int j = 0; j < isa_count; j++) {
        trial t[2] = {trial_start(SKIP), trial_start(SKIP)};
        for (int i = 0; i < 2; i++) {
            trial_in(&t[i], 0, F16, SHAPE(1, 2), VALUES(1, 2));
            trial_in(&t[i], 1, F16, SHAPE(1, 2), VALUES(0x1p-11, 0x1p-10));
            trial_in(&t[i], 2, F16, SHAPE(2), VALUES(1, 1));
            trial_out(&t[i], 0, F16, SHAPE(1, 2));
            trial_out(&t[i], 3, F16, SHAPE(1, 2));
            t[i].attributes.epsilon = 0;
            t[i].options.max_isa = isas[j];
        }
        trial_in(&t[1], 3, F16, SHAPE(2), VALUES(0x1p-11, 0x1p-10));
        trial_must_run(&t[0]);
        trial_must_run(&t[1]);
        expect_same_bits(&t[0].out[0], &t[1].out[0]);
        assert_memory_not_equal(t[0].out[3].data, t[1].out[3].data, 4);
        trial_end(&t[0]);
        trial_end(&t[1]);
    }
}

static void test_doubles_keep_their_precision(void **state)
{
    (void)state;
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (int j = 0; j < isa_count; j++) {
        trial t = trial_start(SIMPLE);
        trial_in(&t, 0, F64, SHAPE(3), VALUES(1e100, 2e100, 3e100));
        trial_in(&t, 1, F64, SHAPE(3), VALUES(1, 1, 1));
        trial_out(&t, 0, F64, SHAPE(3));
        t.options.max_isa = isas[j];
        trial_must_run(&t);
        t.out[0].dims[0] = 1;
        expect_near(&t.out[0], VALUES(0.4629100498862757), 1);
        trial_end(&t);
    }
}

static void test_stash_type_1_sees_a_double_as_float(void **state)
{
    (void)state;
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (int j = 0; j < isa_count; j++) {
        trial t = trial_start(PLAIN);
        trial_in(&t, 0, F64, SHAPE(2), VALUES(100000001, 100000002));
        trial_in(&t, 1, F64, SHAPE(2), VALUES(1, 1));
        trial_out(&t, 0, F64, SHAPE(2));
        t.attributes.epsilon = 0;
        t.options.max_isa = isas[j];
        trial_must_run(&t);
        expect_values(&t.out[0], VALUES(1, 1)); /* float(1e8) / sqrt(float(1e8)^2) */
        t.attributes.stash_type = RMSNORM_DOUBLE;
        trial_must_run(&t);
        assert_true(tensor_get(&t.out[0], 0) < tensor_get(&t.out[0], 1));
        trial_end(&t);
    }
}

/* Contract 4.1: constant rows where a square or an inverse leaves the range. */
static void test_rows_of_one_extreme_number_give_gamma(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype dtype;
        double value;
    } rows[] = {{F32, 1e-30}, {F32, 1e18},  {F32, 1e25},  {F32, 3e38},  {BF16, 1e-30},
                {BF16, 3e38}, {F16, 65504}, {F64, 1e200}, {F64, 1e-200}};
    rmsnorm_isa isas[MAX_ISAS];
    const int isa_count = list_isas(isas);
    for (size_t i = 0; i < COUNT_OF(rows) * (size_t)isa_count; i++) {
        const rmsnorm_dtype dtype = rows[i % COUNT_OF(rows)].dtype;
        trial t = trial_start(SIMPLE);
        tensor_set_all(trial_in(&t, 0, dtype, SHAPE(3, 257), NULL), rows[i % COUNT_OF(rows)].value);
        tensor_set_all(trial_in(&t, 1, dtype, SHAPE(257), NULL), 1);
        trial_out(&t, 0, dtype, SHAPE(3, 257));
        t.attributes.epsilon = 0;
        t.options.max_isa = isas[i / COUNT_OF(rows)];
        trial_must_run(&t);
        for (size_t j = 0; j < (size_t)3 * 257; j++) {
            assert_true(tensor_get(&t.out[0], j) == 1);
        }
        trial_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_worked_example_to_the_bit),
        cmocka_unit_test(test_a_bias_that_only_moves_the_sums_rounding_leaves_the_output),
        cmocka_unit_test(test_doubles_keep_their_precision),
        cmocka_unit_test(test_stash_type_1_sees_a_double_as_float),
        cmocka_unit_test(test_rows_of_one_extreme_number_give_gamma),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
