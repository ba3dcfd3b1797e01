/* What has gone wrong elsewhere, as properties: numerics and types. F-numbers are the reports'; the cases are ours. */
#include <math.h>
#include <string.h>

#include "kerncheck/rng.h"
#include "support.h"

static const rmsnorm_operator_kind every_kind[] = {SIMPLE, SKIP, PLAIN};
static const rmsnorm_dtype narrow[] = {F16, BF16};

/* X [rows, width] of one type with a scale of ones and no skip to speak of; output 0. */
static trial start(rmsnorm_operator_kind kind, rmsnorm_dtype dtype, int64_t rows, int64_t width, double epsilon)
{
    trial t = trial_start(kind);
    trial_in(&t, 0, dtype, SHAPE(rows, width), NULL);
    if (kind == SKIP) {
        trial_in(&t, 1, dtype, SHAPE(rows, width), NULL);
        trial_out(&t, 3, dtype, SHAPE(rows, width));
    }
    tensor_set_all(trial_in(&t, kind == SKIP ? 2 : 1, dtype, SHAPE(width), NULL), 1);
    trial_out(&t, 0, dtype, SHAPE(rows, width));
    t.attributes.epsilon = (float)epsilon;
    return t;
}

static void fill_normal(rmsnorm_tensor *tensor, rng *r, double spread)
{
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        tensor_set(tensor, i, rng_normal(r) * spread);
    }
}

/* F1, F20: constant rows whose squares, or sums of squares, are beyond float16. */
static void test_large_float16_rows_neither_vanish_nor_overflow(void **state)
{
    (void)state;
    static const double values[] = {180, 300, 12000, 30000, 65504};
    static const int64_t widths[] = {8, 2048, 4096};
    for (size_t i = 0; i < COUNT_OF(values) * COUNT_OF(widths) * COUNT_OF(every_kind); i++) {
        const int64_t width = widths[i / COUNT_OF(values) % COUNT_OF(widths)];
        trial t = start(every_kind[i / COUNT_OF(values) / COUNT_OF(widths)], F16, 1, width, 1e-5);
        tensor_set_all(&t.in[0], values[i % COUNT_OF(values)]);
        run_everywhere(&t);
        for (size_t j = 0; j < (size_t)width; j++) {
            assert_true(tensor_get(&t.out[0], j) == 1);
        }
        if (t.out[3].data != NULL) {
            expect_same_bits(&t.out[3], &t.in[0]);
        }
        trial_end(&t);
    }
}

/* F1: one large element among ones. */
static void test_a_spike_leaves_its_row_finite(void **state)
{
    (void)state;
    static const int64_t widths[] = {8, 2048, 4096};
    for (size_t i = 0; i < COUNT_OF(widths) * COUNT_OF(every_kind); i++) {
        trial t = start(every_kind[i % COUNT_OF(every_kind)], F16, 1, widths[i / COUNT_OF(every_kind)], 1e-5);
        tensor_set_all(&t.in[0], 1);
        tensor_set(&t.in[0], (size_t)t.in[0].dims[1] - 3, 12000);
        run_everywhere(&t);
        assert_true(tensor_get(&t.out[0], 0) > 0);
        trial_end(&t);
    }
}

/* F4. */
static void test_squares_are_taken_after_widening(void **state)
{
    (void)state;
    trial t = start(PLAIN, F16, 1, 2, 0);
    tensor_set_all(&t.in[0], 256);
    run_everywhere(&t);
    expect_values(&t.out[0], VALUES(1, 1));
    trial_end(&t);
}

/* F5: 2049 is no float16; the sum output is rounded, what is normalized is not. */
static void test_the_residual_is_normalized_before_it_is_rounded(void **state)
{
    (void)state;
    trial t = start(SKIP, F16, 1, 4, 0);
    for (size_t i = 0; i < 4; i++) {
        tensor_set(&t.in[0], i, i == 0 ? 2048 : 3);
    }
    tensor_set(&t.in[1], 0, 1);
    run_everywhere(&t);
    assert_true(tensor_get(&t.out[3], 0) == 2048);
    assert_true(tensor_get(&t.out[0], 1) == round_double(0.0029278, format_of(F16)));
    trial_end(&t);
}

/* F10. */
static void test_the_mean_is_not_subtracted(void **state)
{
    (void)state;
    rng r = rng_seeded(10);
    trial t = start(SIMPLE, F32, 3, 8, 1e-5);
    for (size_t i = 0; i < 24; i++) {
        tensor_set(&t.in[0], i, 1 + 0.2 * rng_normal(&r));
    }
    run_everywhere(&t);
    for (size_t i = 0; i < 24; i++) {
        assert_true(tensor_get(&t.out[0], i) > 0.2); /* centred, half of them would be negative */
    }
    trial_end(&t);
}

/* F21, F71: epsilon stays the float it was given. */
static void test_epsilon_is_not_rounded_to_the_tensors_type(void **state)
{
    (void)state;
    static const double spreads[] = {1e-3, 1e-2, 0.058, 0.1};
    static const double epsilons[] = {1e-5, 1e-6, 1e-12};
    for (size_t i = 0; i < COUNT_OF(spreads) * COUNT_OF(epsilons) * COUNT_OF(narrow); i++) {
        rng r = rng_seeded(i);
        trial t = start(i % 2 == 0 ? SIMPLE : SKIP, narrow[i / 12], 8, 32, epsilons[i / 4 % 3]);
        fill_normal(&t.in[0], &r, spreads[i % 4]);
        run_everywhere(&t);
        trial_end(&t);
    }
}

/* F35: rows of 1e-3, 1 and 1e3 in turn, widths at the borders between vector and tail. */
static void test_a_row_sees_only_its_own_elements(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 257, 511, 512, 513};
    static const double magnitudes[] = {1e-3, 1, 1e3};
    for (size_t i = 0; i < COUNT_OF(widths) * 17; i++) {
        rng r = rng_seeded(i);
        const int64_t rows = 1 + (int64_t)(i % 17);
        trial t = start(every_kind[i % 3], i % 2 == 0 ? F32 : F16, rows, widths[i / 17], 1e-9);
        for (size_t j = 0; j < tensor_elements(&t.in[0]); j++) {
            tensor_set(&t.in[0], j, rng_normal(&r) * magnitudes[j / (size_t)widths[i / 17] % 3]);
        }
        run_everywhere(&t);
        trial_end(&t);
    }
}

/* F65: also where epsilon is 0 in float16. Without epsilon a zero row is 0 / 0. */
static void test_zero_rows_give_zeros_or_without_epsilon_nan(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16, F64};
    static const double epsilons[] = {0, 1e-12, 1e-6, 1e-5};
    for (size_t i = 0; i < COUNT_OF(dtypes) * COUNT_OF(epsilons) * COUNT_OF(every_kind); i++) {
        const rmsnorm_operator_kind kind = every_kind[i / 16];
        if (kind == SKIP && dtypes[i % 4] == F64) {
            continue;
        }
        trial t = start(kind, dtypes[i % 4], 2, 40, epsilons[i / 4 % 4]);
        for (size_t j = 40; j < 80; j++) {
            tensor_set(&t.in[0], j, 2);
        }
        run_everywhere(&t);
        for (size_t j = 0; j < 40; j++) {
            const double y = tensor_get(&t.out[0], j);
            assert_true(epsilons[i / 4 % 4] == 0 ? isnan(y) : y == 0);
            assert_true(tensor_get(&t.out[0], 40 + j) > 0.99);
        }
        trial_end(&t);
    }
}

/* F67. */
static void test_subnormals_are_kept(void **state)
{
    (void)state;
    static const struct {
        rmsnorm_dtype dtype;
        double x, gamma;
    } cases[] = {{F32, 1e-39, 1},  {F32, 1, 1e-39},  {F16, 1e-7, 1},  {F16, 1, 1e-7},
                 {BF16, 1e-39, 1}, {F64, 1e-310, 1}, {F64, 1, 1e-310}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        trial t = start(SIMPLE, cases[i].dtype, 1, 35, 0);
        tensor_set_all(&t.in[0], cases[i].x);
        tensor_set_all(&t.in[1], cases[i].gamma);
        run_everywhere(&t);
        expect_same_bits(&(rmsnorm_tensor){.dtype = t.out[0].dtype, .rank = 1, .dims = {35}, .data = t.out[0].data},
                         &t.in[1]);
        trial_end(&t);
    }
}

/* F69: long rows with outliers keep their precision. */
static void test_every_512th_channel_40_times_larger(void **state)
{
    (void)state;
    static const int64_t widths[] = {128, 2048, 4096, 65536};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        rng r = rng_seeded(i);
        trial t = start(SIMPLE, F32, 1, widths[i], 1e-6);
        fill_normal(&t.in[0], &r, 1);
        for (size_t j = 511; j < (size_t)widths[i]; j += 512) {
            tensor_set(&t.in[0], j, 40 * tensor_get(&t.in[0], j));
        }
        run_everywhere(&t);
        trial_end(&t);
    }
}

/* F69: squares just below half an ulp of a large one, in its lane and in all: an addition of floats loses each of them. */
static void test_small_squares_beside_a_large_one(void **state)
{
    (void)state;
    static const rmsnorm_dtype types[] = {F32, F16, BF16};
    static const int64_t widths[] = {255, 256, 4096, 65536};
    for (size_t i = 0; i < COUNT_OF(types) * COUNT_OF(widths) * 2; i++) {
        const int64_t width = widths[i / 2 % COUNT_OF(widths)];
        trial t = start(SIMPLE, types[i / 2 / COUNT_OF(widths)], 1, width, 0);
        trial_out(&t, 1, F32, SHAPE(1, 1));
        tensor_set(&t.in[0], 0, 1);
        for (size_t j = 1; j < (size_t)width; j++) {
            tensor_set(&t.in[0], j, i % 2 == 0 || j % 32 == 0 ? ldexp(0.995, -12) : 0);
        }
        run_everywhere(&t);
        trial_end(&t);
    }
}

/* F70: about a quarter of the elements tell the one rounding from the two. */
static void test_rmsnormalization_rounds_before_the_scale_and_the_others_do_not(void **state)
{
    (void)state;
    static const int64_t widths[] = {4095, 4097};
    for (size_t i = 0; i < COUNT_OF(widths) * COUNT_OF(narrow); i++) {
        trial once = start(SIMPLE, narrow[i % 2], 1, widths[i / 2], 1e-5);
        trial twice = start(PLAIN, narrow[i % 2], 1, widths[i / 2], 1e-5);
        rng r = rng_seeded(i);
        fill_normal(&once.in[0], &r, 1);
        fill_normal(&once.in[1], &r, 1);
        memcpy(twice.in[0].data, once.in[0].data, tensor_bytes(&once.in[0]));
        memcpy(twice.in[1].data, once.in[1].data, tensor_bytes(&once.in[1]));
        run_everywhere(&once);
        run_everywhere(&twice);
        int64_t differ = 0;
        for (size_t j = 0; j < (size_t)widths[i / 2]; j++) {
            differ += tensor_get(&once.out[0], j) != tensor_get(&twice.out[0], j);
        }
        assert_in_range(differ, widths[i / 2] / 8, widths[i / 2] / 2);
        trial_end(&once);
        trial_end(&twice);
    }
}

/* F71. */
static void test_bfloat16_sums_at_a_midpoint_go_to_even(void **state)
{
    (void)state;
    trial t = start(SKIP, BF16, 1, 4, 1e-6);
    for (size_t i = 0; i < 4; i++) {
        tensor_set(&t.in[0], i, i < 2 ? 1 : 1.0078125);
        tensor_set(&t.in[1], i, i % 2 == 0 ? 0x1p-8 : -0x1p-9);
    }
    run_everywhere(&t);
    expect_values(&t.out[3], VALUES(1, 1, 1.015625, 1.0078125));
    trial_end(&t);
}

/* F77. */
static void test_the_statistic_is_float_where_the_mean_square_is_beyond_float16(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        trial t = start(i == 0 ? SIMPLE : SKIP, F16, 1, 64, 1e-5);
        rmsnorm_tensor *const inverse = trial_out(&t, i == 0 ? 1 : 2, F32, SHAPE(1, 1));
        tensor_set_all(&t.in[0], 496.5);
        run_everywhere(&t);
        expect_near(inverse, VALUES(1 / sqrt(496.5 * 496.5 + (double)1e-5F)), 2);
        trial_end(&t);
    }
}

/* F91. */
static void test_partial_sums_of_huge_rows_are_added_plainly(void **state)
{
    (void)state;
    static const double values[] = {1e9, 7e9};
    for (size_t i = 0; i < COUNT_OF(values) * COUNT_OF(every_kind); i++) {
        trial t = start(every_kind[i / 2], F32, 2, 1000, 1e-5);
        tensor_set_all(&t.in[0], values[i % 2]);
        run_everywhere(&t);
        assert_true(fabs(tensor_get(&t.out[0], 999) - 1) < 1e-6);
        trial_end(&t);
    }
}

/* F96. */
static void test_a_residual_beyond_float16_is_normalized_all_the_same(void **state)
{
    (void)state;
    trial t = start(SKIP, F16, 1, 2, 1e-5);
    tensor_set(&t.in[0], 0, 60000);
    tensor_set(&t.in[0], 1, 2);
    tensor_set(&t.in[1], 0, 10000);
    run_everywhere(&t);
    expect_values(&t.out[0], VALUES(1.41421, 4.0406e-5));
    expect_values(&t.out[3], VALUES(INFINITY, 2));
    trial_end(&t);
}

/* F116: lanes beyond the row add nothing, a hundred times. */
static void test_rows_shorter_than_a_vector_repeat_exactly(void **state)
{
    (void)state;
    for (int64_t width = 1; width < 32; width++) {
        rng r = rng_seeded((uint64_t)width);
        trial t = start(SIMPLE, F32, 1, width, 1e-5);
        fill_normal(&t.in[0], &r, 1);
        trial_must_run(&t);
        char first[32 * sizeof(float)];
        memcpy(first, t.out[0].data, tensor_bytes(&t.out[0]));
        for (int i = 0; i < 100; i++) {
            run_everywhere(&t);
            assert_memory_equal(first, t.out[0].data, tensor_bytes(&t.out[0]));
        }
        trial_end(&t);
    }
}

/* ---- Types ---- */

/* F46, F73, F75, F76, F86: every triple of types and every operator. The contract's run, the others are refused. */
static void test_every_triple_of_types_is_computed_or_refused_by_name(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16, F64, (rmsnorm_dtype)6 /* int32 */};
    int computed = 0;
    for (size_t i = 0; i < (size_t)3 * 125; i++) {
        const rmsnorm_dtype t = dtypes[i % 5];
        const rmsnorm_dtype v = dtypes[i / 5 % 5];
        const rmsnorm_dtype y = dtypes[i / 25 % 5];
        const rmsnorm_operator_kind kind = every_kind[i / 125];
        rng r = rng_seeded(i);
        trial trial_of_types = start(kind, F64, 3, 20, 1e-5);
        trial *const q = &trial_of_types;
        for (int slot = 0; slot < 3; slot++) {
            if (q->in[slot].data != NULL) {
                q->in[slot].dtype = t == dtypes[4] ? F32 : t;
                fill_normal(&q->in[slot], &r, 1);
                q->in[slot].dtype = t;
            }
        }
        rmsnorm_tensor *const scale = &q->in[kind == SKIP ? 2 : 1];
        scale->dtype = v == dtypes[4] ? F32 : v;
        fill_normal(scale, &r, 1);
        scale->dtype = v;
        q->out[0].dtype = y;
        q->out[3].data = NULL;
        const bool known = t != dtypes[4] && v != dtypes[4];
        const bool legal = known && y == v && (kind != SKIP || (t == v && t != F64));
        if (legal) {
            run_everywhere(q);
            computed++;
        } else {
            const rmsnorm_status status = trial_run(q);
            assert_true(status == RMSNORM_UNSUPPORTED || status == RMSNORM_INVALID_ARGUMENT);
            assert_non_null(strstr(rmsnorm_last_error(), q->op->name));
        }
        trial_end(q);
    }
    assert_int_equal(computed, 16 + 3 + 16);
}

/* F75: stash_type 11 makes the statistic double. */
static void test_stash_type_11_gives_a_double_statistic(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16, F64};
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        rng r = rng_seeded(i);
        trial t = start(SIMPLE, dtypes[i], 4, 100, 1e-5);
        trial_out(&t, 1, F64, SHAPE(4, 1));
        fill_normal(&t.in[0], &r, 1);
        t.attributes.stash_type = F64;
        run_everywhere(&t);
        t.out[1].dtype = F32;
        trial_must_refuse(&t, RMSNORM_UNSUPPORTED, "inv_std_var", "double", NULL);
        trial_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_float16_rows_neither_vanish_nor_overflow),
        cmocka_unit_test(test_a_spike_leaves_its_row_finite),
        cmocka_unit_test(test_squares_are_taken_after_widening),
        cmocka_unit_test(test_the_residual_is_normalized_before_it_is_rounded),
        cmocka_unit_test(test_the_mean_is_not_subtracted),
        cmocka_unit_test(test_epsilon_is_not_rounded_to_the_tensors_type),
        cmocka_unit_test(test_a_row_sees_only_its_own_elements),
        cmocka_unit_test(test_zero_rows_give_zeros_or_without_epsilon_nan),
        cmocka_unit_test(test_subnormals_are_kept),
        cmocka_unit_test(test_every_512th_channel_40_times_larger),
        cmocka_unit_test(test_small_squares_beside_a_large_one),
        cmocka_unit_test(test_rmsnormalization_rounds_before_the_scale_and_the_others_do_not),
        cmocka_unit_test(test_bfloat16_sums_at_a_midpoint_go_to_even),
        cmocka_unit_test(test_the_statistic_is_float_where_the_mean_square_is_beyond_float16),
        cmocka_unit_test(test_partial_sums_of_huge_rows_are_added_plainly),
        cmocka_unit_test(test_a_residual_beyond_float16_is_normalized_all_the_same),
        cmocka_unit_test(test_rows_shorter_than_a_vector_repeat_exactly),
        cmocka_unit_test(test_every_triple_of_types_is_computed_or_refused_by_name),
        cmocka_unit_test(test_stash_type_11_gives_a_double_statistic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
