/* What has been slow elsewhere, as properties: ratios of times that are taken in turn, the shortest of many. Their bounds are wide:
 * what they are to find is a conversion in scalar code or a sum that waits for itself, which cost five times as much. */
#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <time.h>

#include "support.h"

enum { ROUNDS = 40 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool is_vector(void)
{
    rmsnorm_isa isa = RMSNORM_ISA_AUTO;
    assert_int_equal(rmsnorm_isa_in_use(RMSNORM_ISA_AUTO, &isa), RMSNORM_OK);
    return isa != RMSNORM_ISA_SCALAR;
}

static trial call_of(rmsnorm_dtype x, rmsnorm_dtype scale, int64_t rows, int64_t width)
{
    trial t = trial_start(SIMPLE);
    tensor_set_all(trial_in(&t, 0, x, SHAPE(rows, width), NULL), 0.5);
    tensor_set_all(trial_in(&t, 1, scale, SHAPE(width), NULL), 1.5);
    trial_out(&t, 0, scale, SHAPE(rows, width));
    return t;
}

/* How much longer the first takes than the second. */
static double ratio_of(trial *first, trial *second)
{
    trial *const both[] = {first, second};
    double shortest[] = {1e9, 1e9};
    for (int i = 0; i < 2 * ROUNDS; i++) {
        const double begin = now();
        trial_must_run(both[i % 2]);
        const double taken = now() - begin;
        shortest[i % 2] = taken < shortest[i % 2] ? taken : shortest[i % 2];
    }
    return shortest[0] / shortest[1];
}

/* F98, F71. */
static void test_narrow_types_are_converted_in_vectors(void **state)
{
    (void)state;
    if (!is_vector()) {
        print_message("  not run: scalar kernels alone\n");
        return;
    }
    static const rmsnorm_dtype narrow[] = {F16, BF16};
    for (size_t i = 0; i < COUNT_OF(narrow); i++) {
        trial t = call_of(narrow[i], narrow[i], 128, 4096);
        trial wide = call_of(F32, F32, 128, 4096);
        const double ratio = ratio_of(&t, &wide);
        print_message("  %s: %.2f times float\n", rmsnorm_dtype_name(narrow[i]), ratio);
        assert_true(ratio < 4);
        trial_end(&wide);
        trial_end(&t);
    }
}

/* F74. */
static void test_mixed_types_are_as_fast_as_one(void **state)
{
    (void)state;
    static const rmsnorm_dtype pairs[][2] = {{BF16, F32}, {F16, F32}, {F32, F16}, {F32, BF16}};
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        trial mixed = call_of(pairs[i][0], pairs[i][1], 128, 1024);
        trial first = call_of(pairs[i][0], pairs[i][0], 128, 1024);
        trial second = call_of(pairs[i][1], pairs[i][1], 128, 1024);
        const double of_first = ratio_of(&mixed, &first);
        const double of_second = ratio_of(&mixed, &second);
        print_message("  %s by %s: %.2f and %.2f times one type\n", rmsnorm_dtype_name(pairs[i][0]),
                      rmsnorm_dtype_name(pairs[i][1]), of_first, of_second);
        assert_true(of_first < 3 || of_second < 3);
        trial_end(&second);
        trial_end(&first);
        trial_end(&mixed);
    }
}

/* Adds up in one chain, as a plain loop does, then scales. */
static void normalize_plainly(const float *x, const float *gamma, float *y, int64_t width)
{
    double sum = 0;
    for (int64_t i = 0; i < width; i++) {
        sum += (double)x[i] * (double)x[i];
    }
    const float inverse = (float)(1 / (sum / (double)width + 1e-5)); /* its time counts, not its value */
    for (int64_t i = 0; i < width; i++) {
        y[i] = x[i] * inverse * gamma[i];
    }
}

/* F99: one row, as a decoder has it. */
static void test_one_row_is_summed_in_several_chains(void **state)
{
    (void)state;
    if (!is_vector()) {
        print_message("  not run: scalar kernels alone\n");
        return;
    }
    static const int64_t widths[] = {2048, 4096, 8192};
    for (size_t i = 0; i < COUNT_OF(widths); i++) {
        trial t = call_of(F32, F32, 1, widths[i]);
        double ours = 1e9;
        double plain = 1e9;
        for (int round = 0; round < 20 * ROUNDS; round++) {
            const double begin = now();
            trial_must_run(&t);
            const double middle = now();
            normalize_plainly(t.in[0].data, t.in[1].data, t.out[0].data, widths[i]);
            const double end = now();
            ours = middle - begin < ours ? middle - begin : ours;
            plain = end - middle < plain ? end - middle : plain;
        }
        print_message("  1 x %d: %.2f of a plain loop\n", (int)widths[i], ours / plain);
        assert_true(ours < plain);
        trial_end(&t);
    }
}

typedef struct counter {
    size_t calls, most;
} counter;

static void run_counted(void *user, rmsnorm_task task, void *job, size_t count)
{
    counter *const c = user;
    c->calls++;
    c->most = count > c->most ? count : c->most;
    for (size_t i = 0; i < count; i++) {
        task(job, i);
    }
}

static counter count_tasks(int64_t rows, int64_t width, size_t threads)
{
    trial t = call_of(F32, F32, rows, width);
    counter c = {0, 0};
    t.options.runner = (rmsnorm_runner){run_counted, &c, threads};
    trial_must_run(&t);
    trial_end(&t);
    return c;
}

/* F102. */
static void test_small_calls_do_not_wake_the_pool(void **state)
{
    (void)state;
    static const size_t threads[] = {2, 8, 64};
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        assert_int_equal(count_tasks(1, 768, threads[i]).most, 0);
        assert_int_equal(count_tasks(8, 128, threads[i]).most, 0);
        assert_true(count_tasks(1000, 4096, threads[i]).most > 1);
    }
}

/* F100: fewer rows than threads. */
static void test_few_long_rows_are_split(void **state)
{
    (void)state;
    assert_true(count_tasks(1, 1 << 20, 8).most > 1);
    assert_true(count_tasks(3, 1 << 18, 8).most > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow_types_are_converted_in_vectors),
        cmocka_unit_test(test_mixed_types_are_as_fast_as_one),
        cmocka_unit_test(test_one_row_is_summed_in_several_chains),
        cmocka_unit_test(test_small_calls_do_not_wake_the_pool),
        cmocka_unit_test(test_few_long_rows_are_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
