/* What has gone wrong elsewhere, as properties of devices. F-numbers are those of tests/field-reports.md; the cases are ours. */
#include <math.h>
#include <string.h>

#include "kerncheck/rng.h"
#include "package/package.h"
#include "support.h"

static rmsnorm_webgpu *gpu;

static int open_gpu(void **state)
{
    (void)state;
    gpu = gpu_open(NULL);
    return 0;
}

static int close_gpu(void **state)
{
    (void)state;
    rmsnorm_webgpu_close(gpu);
    return 0;
}

static const rmsnorm_operator_kind every_kind[] = {SIMPLE, SKIP, PLAIN};

/* X [rows, width] of zeros and a scale of ones; the skip operator's skip is zeros, too, and its sum is wanted. */
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

/* ---- Numerics -------------------------------------------------------------------------------- */

/* F1: constant rows whose squares, or sums of squares, are beyond float16, and one large element among ones. */
static void test_large_float16_rows_neither_vanish_nor_overflow(void **state)
{
    (void)state;
    static const double values[] = {180, 300, 12000, 30000, 65504, 0};
    static const int64_t widths[] = {8, 2048, 4096};
    for (size_t i = 0; i < COUNT_OF(values) * COUNT_OF(widths) * COUNT_OF(every_kind); i++) {
        const double value = values[i % COUNT_OF(values)];
        const int64_t width = widths[i / COUNT_OF(values) % COUNT_OF(widths)];
        trial t = start(every_kind[i / COUNT_OF(values) / COUNT_OF(widths)], F16, 1, width, 1e-5);
        tensor_set_all(&t.in[0], value == 0 ? 1 : value);
        if (value == 0) {
            tensor_set(&t.in[0], (size_t)width - 3, 12000);
        }
        expect_host_run(gpu, &t, NULL);
        for (size_t j = 0; j < (size_t)width; j++) {
            const double got = tensor_get(&t.out[0], j);
            assert_true(value == 0 ? got > 0 && got < 100 : fabs(got - 1) <= ldexp(1, -10));
        }
        trial_end(&t);
    }
}

/* F5, F96: the sum output is rounded, to infinity if it has to; what is normalized is not. */
static void test_the_residual_is_normalized_before_it_is_rounded(void **state)
{
    (void)state;
    trial t = start(SKIP, F16, 1, 4, 0);
    for (size_t i = 0; i < 4; i++) {
        tensor_set(&t.in[0], i, i == 0 ? 2048 : 3);
    }
    tensor_set(&t.in[1], 0, 1);
    expect_host_run(gpu, &t, NULL);
    assert_true(tensor_get(&t.out[3], 0) == 2048);
    assert_true(tensor_get(&t.out[0], 1) == round_double(0.0029278, format_of(F16)));
    trial_end(&t);
    t = start(SKIP, F16, 1, 2, 1e-5);
    tensor_set(&t.in[0], 0, 60000);
    tensor_set(&t.in[0], 1, 2);
    tensor_set(&t.in[1], 0, 10000);
    gpu_must(gpu_run_host(gpu, &t, NULL));
    expect_near(&t.out[0], VALUES(1.41421356, 4.0406e-5), 1);
    assert_true(isinf(tensor_get(&t.out[3], 0)) && tensor_get(&t.out[3], 0) > 0);
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
    expect_host_run(gpu, &t, NULL);
    for (size_t i = 0; i < 24; i++) {
        assert_true(tensor_get(&t.out[0], i) > 0.2); /* centred, half of them would be negative */
    }
    trial_end(&t);
}

/* F35, F105: rows of 1e-3, 1 and 1e3 in turn, widths at the borders of workgroups and beside them. */
static void test_a_row_sees_only_its_own_elements(void **state)
{
    (void)state;
    static const int64_t widths[] = {255, 256, 257, 511, 512, 513};
    static const double magnitudes[] = {1e-3, 1, 1e3};
    for (size_t i = 0; i < COUNT_OF(widths) * 6; i++) {
        rng r = rng_seeded(i);
        const int64_t width = widths[i / 6];
        trial t = start(every_kind[i % 3], i % 2 == 0 ? F32 : F16, (int64_t[]){1, 4, 17}[i % 3], width, 1e-9);
        for (size_t j = 0; j < tensor_elements(&t.in[0]); j++) {
            tensor_set(&t.in[0], j, rng_normal(&r) * magnitudes[j / (size_t)width % 3]);
        }
        expect_host_run(gpu, &t, NULL);
        trial_end(&t);
    }
}

/* F65: also where epsilon is 0 in float16. Without epsilon a zero row is 0 / 0, and its neighbour is none of that. */
static void test_zero_rows_give_zeros_and_leave_their_neighbours_alone(void **state)
{
    (void)state;
    static const double epsilons[] = {1e-12, 1e-6, 1e-5, 0};
    for (size_t i = 0; i < COUNT_OF(epsilons) * 6; i++) {
        trial t = start(every_kind[i / 2 % 3], i % 2 == 0 ? F32 : F16, 2, 64, epsilons[i / 6]);
        for (size_t j = 64; j < 128; j++) {
            tensor_set(&t.in[0], j, 3);
        }
        gpu_must(gpu_run_host(gpu, &t, NULL));
        for (size_t j = 0; j < 64; j++) {
            const double got = tensor_get(&t.out[0], j);
            assert_true(got == 0 || (epsilons[i / 6] == 0 && isnan(got)));
            assert_true(fabs(tensor_get(&t.out[0], 64 + j) - 1) < 1e-3);
        }
        trial_end(&t);
    }
}

/* F77, F116. */
static void test_the_statistic_is_float_where_the_mean_square_is_beyond_float16(void **state)
{
    (void)state;
    trial t = start(SIMPLE, F16, 1, 64, 1e-5);
    tensor_set_all(&t.in[0], 496.4);
    trial_out(&t, 1, F32, SHAPE(1, 1));
    expect_host_run(gpu, &t, NULL);
    assert_true(fabs(tensor_get(&t.out[1], 0) * tensor_get(&t.in[0], 0) - 1) < 1e-6);
    trial_end(&t);
}

/* F91. */
static void test_partial_sums_of_huge_rows_are_added_plainly(void **state)
{
    (void)state;
    static const double values[] = {1e9, 7e9, 3e19};
    for (size_t i = 0; i < COUNT_OF(values) * COUNT_OF(every_kind); i++) {
        trial t = start(every_kind[i / COUNT_OF(values)], F32, 2, 1000, 1e-5);
        tensor_set_all(&t.in[0], values[i % COUNT_OF(values)]);
        expect_host_run(gpu, &t, NULL);
        for (size_t j = 0; j < 2000; j++) {
            assert_true(fabs(tensor_get(&t.out[0], j) - 1) < 1e-6);
        }
        trial_end(&t);
    }
}

/* F116: lanes beyond the row add nothing, however often it is asked. */
static void test_rows_shorter_than_a_workgroup_repeat_exactly(void **state)
{
    (void)state;
    static const int64_t widths[] = {1, 2, 3, 4, 7, 8, 15, 31};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        trial t = rms_trial(SIMPLE, F32, F32, 3, widths[i]);
        trial again = trial_copy(&t);
        expect_host_run(gpu, &t, NULL);
        for (int repeat = 0; repeat < 100; repeat++) {
            memset(again.out[0].data, 0xFF, tensor_bytes(&again.out[0]));
            gpu_must(gpu_run_host(gpu, &again, NULL));
            expect_same_bits(&t.out[0], &again.out[0]);
        }
        trial_end(&again);
        trial_end(&t);
    }
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

/* F24, F2: with a bias, which is slot 3, and without. */
static void test_skip_is_repeated_for_every_batch(void **state)
{
    (void)state;
    for (size_t i = 0; i < 24; i++) {
        const rmsnorm_dtype dtype = i % 2 == 0 ? F32 : F16;
        const int64_t batch = 2 + (int64_t)(i / 2 % 2);
        const int64_t dims[] = {i / 4 % 3 == 0 ? batch : 1, 2, 8};
        const bool flat = i / 4 % 3 == 1;
        rng r = rng_seeded(i);
        trial t = trial_start(SKIP);
        fill_normal(trial_in(&t, 0, dtype, SHAPE(batch, 2, 8), NULL), &r, 1);
        fill_normal(trial_in(&t, 1, dtype, flat ? 2 : 3, flat ? dims + 1 : dims, NULL), &r, 1);
        fill_normal(trial_in(&t, 2, dtype, SHAPE(8), NULL), &r, 0.1);
        if (i >= 12) {
            fill_normal(trial_in(&t, 3, dtype, SHAPE(8), NULL), &r, 0.5);
        }
        trial_out(&t, 0, dtype, SHAPE(batch, 2, 8));
        trial_out(&t, 3, dtype, SHAPE(batch, 2, 8));
        expect_host_run(gpu, &t, NULL);
        trial_end(&t);
    }
}

/* F63. */
static void test_one_element_rows_give_signs(void **state)
{
    (void)state;
    for (size_t i = 0; i < 12; i++) {
        const int64_t rows = i < 6 ? 1 : 7;
        trial t = start(every_kind[i % 3], i % 2 == 0 ? F32 : F16, rows, 1, 0);
        for (size_t j = 0; j < (size_t)rows; j++) {
            tensor_set(&t.in[0], j, j % 2 == 0 ? 0.001 * (double)(j + 1) : -1000);
        }
        gpu_must(gpu_run_host(gpu, &t, NULL));
        for (size_t j = 0; j < (size_t)rows; j++) {
            assert_true(fabs(tensor_get(&t.out[0], j) - (j % 2 == 0 ? 1 : -1)) < 1e-3);
        }
        trial_end(&t);
    }
}

static void expect_near_cpu(trial *t)
{
    trial cpu = trial_copy(t);
    gpu_must(gpu_run_host(gpu, t, NULL));
    trial_must_run(&cpu);
    expect_agreement(t, &cpu, 3);
    trial_end(&cpu);
    trial_end(t);
}

/* F69: squares just below half an ulp of a large one: an addition of floats loses each of them. */
static void test_small_squares_beside_a_large_one(void **state)
{
    (void)state;
    static const int64_t widths[] = {255, 1023, 4096, 4097, 8191, 65537};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        trial t = start(SIMPLE, F32, 1, widths[i], 0);
        trial_out(&t, 1, F32, SHAPE(1, 1));
        for (size_t j = 0; j < (size_t)widths[i]; j++) {
            tensor_set(&t.in[0], j, j == 0 ? 1 : ldexp(0.995, widths[i] % 4 == 0 ? -13 : -12));
        }
        expect_near_cpu(&t);
    }
}

/* An epsilon as large as the mean, much larger, and one that leaves the range with it; a root that leaves it when squared. */
static void test_any_epsilon(void **state)
{
    (void)state;
    static const double row[] = {1.12647605, 0.647934139, 1.13087463, 0.790216863, 1.15659642};
    static const float epsilons[] = {1e-30F, 0.9F, 1.0F, 982.942688F, 1e30F, 3.4e38F};
    for (size_t i = 0; i < COUNT_OF(epsilons) * 2; i++) {
        trial t = start(SIMPLE, F32, 1, COUNT_OF(row), epsilons[i / 2]);
        trial_out(&t, 1, F32, SHAPE(1, 1));
        for (size_t j = 0; j < COUNT_OF(row); j++) {
            tensor_set(&t.in[0], j, row[j] * (i % 2 == 0 ? 1 : 4e18));
            tensor_set(&t.in[1], j, 1.64485192);
        }
        expect_near_cpu(&t);
    }
}

/* F118: outputs start as NaNs, so a row that is left out shows. */
static void test_every_row_is_written(void **state)
{
    (void)state;
    static const int64_t rows[] = {1, 2, 47, 48, 49, 50, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 100000};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        trial t = rms_trial(SIMPLE, F32, F32, rows[i], 8);
        trial cpu = trial_copy(&t);
        resident all = resident_start(gpu, &t);
        gpu_must(resident_run(&all, NULL));
        resident_finish(&all);
        trial_must_run(&cpu);
        expect_agreement(&t, &cpu, 4);
        resident_end(&all);
        trial_end(&cpu);
        trial_end(&t);
    }
}

/* ---- Shaders --------------------------------------------------------------------------------- */

/* F104: widths with every remainder of 4, each value of each tunable; what does not fit the device is refused. */
static void test_every_value_of_every_tunable_gives_the_result(void **state)
{
    (void)state;
    size_t ran = 0;
    for (size_t k = 0; k < COUNT_OF(every_kind); k++) {
        const rmsnorm_operator *const op = rmsnorm_operator_at(k);
        rmsnorm_package *package = NULL;
        gpu_must(rmsnorm_package_open_operator(op->domain, op->name, &package));
        const rmsnorm_manifest *const manifest = &package->manifest;
        for (size_t i = 0; i < manifest->tunable_count; i++) {
            for (size_t j = 0; j < manifest->tunables[i].value_count; j++) {
                rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
                options.tunable_count = 1;
                options.tunables[0] = (rmsnorm_tunable){manifest->tunables[i].name, manifest->tunables[i].values[j]};
                const int64_t width = 256 + (int64_t)((i + j) % 4);
                trial t = op->kind == SKIP ? skip_trial(F32, 3, width) : rms_trial(op->kind, F32, F32, 3, width);
                if (op->kind == SKIP) {
                    trial_want(&t, 0x9);
                }
                trial cpu = trial_copy(&t);
                const rmsnorm_status status = gpu_run_host(gpu, &t, &options);
                if (status == RMSNORM_UNSUPPORTED) {
                    assert_non_null(strstr(rmsnorm_last_error(), "no variant fits"));
                } else {
                    gpu_must(status);
                    trial_must_run(&cpu);
                    expect_agreement(&t, &cpu, 4);
                    ran++;
                }
                trial_end(&cpu);
                trial_end(&t);
            }
        }
        rmsnorm_package_close(package);
    }
    print_message("  %zu values\n", ran);
    assert_true(ran > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_large_float16_rows_neither_vanish_nor_overflow),
        cmocka_unit_test(test_the_residual_is_normalized_before_it_is_rounded),
        cmocka_unit_test(test_the_mean_is_not_subtracted),
        cmocka_unit_test(test_a_row_sees_only_its_own_elements),
        cmocka_unit_test(test_zero_rows_give_zeros_and_leave_their_neighbours_alone),
        cmocka_unit_test(test_the_statistic_is_float_where_the_mean_square_is_beyond_float16),
        cmocka_unit_test(test_partial_sums_of_huge_rows_are_added_plainly),
        cmocka_unit_test(test_rows_shorter_than_a_workgroup_repeat_exactly),
        cmocka_unit_test(test_skip_is_repeated_for_every_batch),
        cmocka_unit_test(test_one_element_rows_give_signs),
        cmocka_unit_test(test_small_squares_beside_a_large_one),
        cmocka_unit_test(test_any_epsilon),
        cmocka_unit_test(test_every_row_is_written),
        cmocka_unit_test(test_every_value_of_every_tunable_gives_the_result),
    };
    return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
