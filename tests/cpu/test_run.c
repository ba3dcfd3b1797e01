/* rmsnorm_run as a call: outputs that are not wanted, no rows, shared buffers, options. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "support.h"

static void test_any_subset_of_optional_outputs_gives_the_same_bits(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
        trial all = skip_trial(dtypes[d], 5, 77);
        trial_want(&all, 0xF);
        trial_must_run(&all);
        assert_true(tensor_get(&all.out[1], 4) == 0);
        for (unsigned which = 1; which < 16; which += 2) {
            trial some = skip_trial(dtypes[d], 5, 77);
            trial_want(&some, which);
            trial_must_run(&some);
            for (int i = 0; i < 4; i++) {
                if (some.out[i].data != NULL) {
                    expect_same_bits(&all.out[i], &some.out[i]);
                }
            }
            trial_end(&some);
        }
        trial_end(&all);
    }
}

static void test_zero_rows_are_done_at_once(void **state)
{
    (void)state;
    static const struct {
        int rank;
        int64_t dims[3];
    } shapes[] = {{2, {0, 8}}, {3, {1, 0, 8}}, {3, {0, 3, 8}}};
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        for (int kind = 0; kind < 3; kind++) {
            trial t = trial_start((rmsnorm_operator_kind)kind);
            trial_in(&t, 0, F32, shapes[i].rank, shapes[i].dims, NULL);
            trial_in(&t, 1, F32, kind == SKIP ? shapes[i].rank : 1,
                     kind == SKIP ? shapes[i].dims : &shapes[i].dims[shapes[i].rank - 1], NULL);
            if (kind == SKIP) {
                trial_in(&t, 2, F32, SHAPE(8), NULL);
            }
            rmsnorm_tensor *const out = trial_out(&t, 0, F32, shapes[i].rank, shapes[i].dims);
            *(unsigned char *)out->data = 0xA7; /* the byte past the end of nothing */
            trial_must_run(&t);
            assert_int_equal(*(unsigned char *)out->data, 0xA7);
            trial_end(&t);
        }
    }
}

/* ---- Shared buffers ---- */

static void test_a_partial_overlap_is_refused(void **state)
{
    (void)state;
    trial t = skip_trial(F32, 4, 8);
    trial_want(&t, 0xF);
    char *const output = t.out[0].data;
    for (int slot = 0; slot < 4; slot++) {
        rmsnorm_tensor *const in = &t.in[slot];
        void *const before = in->data;
        in->data = output + 4; /* inside, an element further */
        trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, t.op->inputs[slot].name, "output", NULL);
        in->data = before;
    }
    t.out[3].data = output; /* two outputs in one buffer */
    trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, "input_skip_bias_sum", NULL);
    t.out[3].data = t.owned[5 + 3];
    t.out[2].data = output + 16;
    trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, "inv_std_var", NULL);
    t.out[2].data = t.owned[5 + 2];
    t.in[2].data = t.in[3].data; /* inputs may share */
    trial_must_run(&t);
    trial_end(&t);
}

static void test_an_output_in_an_inputs_place_has_the_same_bits(void **state)
{
    (void)state;
    static const struct {
        int output, input;
    } pairs[] = {{0, 0}, {0, 1}, {3, 0}, {3, 1}};
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16};
    for (size_t i = 0; i < COUNT_OF(pairs) * COUNT_OF(dtypes); i++) {
        const int output = pairs[i % COUNT_OF(pairs)].output;
        trial apart = skip_trial(dtypes[i / COUNT_OF(pairs)], 4, 129);
        trial shared = skip_trial(dtypes[i / COUNT_OF(pairs)], 4, 129);
        trial_want(&apart, 0xF);
        trial_want(&shared, 0xF);
        shared.out[output].data = shared.in[pairs[i % COUNT_OF(pairs)].input].data;
        trial_must_run(&apart);
        trial_must_run(&shared);
        for (int j = 0; j < 4; j++) {
            expect_same_bits(&apart.out[j], &shared.out[j]);
        }
        trial_end(&shared);
        trial_end(&apart);
    }
}

/* Statistics of one-element rows have the input's shape: they may have its place, too. */
static void test_a_statistic_in_an_inputs_place_comes_after_the_row_is_read(void **state)
{
    (void)state;
    for (int output = 1; output <= 2; output++) {
        trial apart = skip_trial(F32, 9, 1);
        trial shared = skip_trial(F32, 9, 1);
        trial_want(&apart, 0xF);
        trial_want(&shared, 0xF);
        shared.out[output].data = shared.in[0].data;
        trial_must_run(&apart);
        trial_must_run(&shared);
        for (int i = 0; i < 4; i++) {
            expect_same_bits(&apart.out[i], &shared.out[i]);
        }
        trial_end(&shared);
        trial_end(&apart);
    }
}

/* F28, F27: every output in every input's place that has its type and shape. */
static void test_rows_are_read_before_they_are_written(void **state)
{
    (void)state;
    trial t = trial_start(SIMPLE);
    trial_in(&t, 0, F32, SHAPE(4), VALUES(1, 0, 0, 0));
    tensor_set_all(trial_in(&t, 1, F32, SHAPE(4), NULL), 1);
    t.attributes.epsilon = 1e-4F;
    t.out[0] = t.in[0];
    trial_must_run(&t);
    expect_near(&t.out[0], VALUES(1 / sqrt(0.25 + (double)1e-4F), 0, 0, 0), 3);
    trial_in(&t, 0, F32, SHAPE(4), VALUES(1, -1, 1, -1));
    trial_in(&t, 1, F32, SHAPE(4), VALUES(1, 2, 3, 4));
    t.attributes.epsilon = 0;
    t.out[0] = t.in[1]; /* in the scale's place */
    trial_must_run(&t);
    expect_values(&t.out[0], VALUES(1, -2, 3, -4));
    trial_end(&t);
}

/* ---- Options ---- */

static void forbidden(void *user, rmsnorm_task task, void *job, size_t count)
{
    (void)user;
    (void)task;
    (void)job;
    (void)count;
    fail_msg("a field beyond struct_size was used");
}

static void test_options_of_an_older_header_are_accepted(void **state)
{
    (void)state;
    trial t = skip_trial(F32, 64, 4096); /* large enough for a runner to be used */
    trial_want(&t, 1);
    t.options.runner = (rmsnorm_runner){forbidden, NULL, 8};
    t.options.max_isa = (rmsnorm_isa)77;
    t.options.struct_size = sizeof(size_t);
    trial_must_run(&t);
    t.options.max_isa = RMSNORM_ISA_AUTO;
    t.options.struct_size = offsetof(rmsnorm_options, runner);
    trial_must_run(&t);
    trial_end(&t);
}

static void test_options_that_mean_nothing_are_refused(void **state)
{
    (void)state;
    trial t = skip_trial(F32, 2, 4);
    trial_want(&t, 0xF);
    t.options.max_isa = (rmsnorm_isa)77;
    trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, "max_isa", "77", NULL);
    t.options.max_isa = RMSNORM_ISA_AUTO;
    t.options.struct_size = 0;
    trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, "struct_size", NULL);
    trial_end(&t);
}

static void test_no_options_are_the_defaults(void **state)
{
    (void)state;
    trial t = skip_trial(BF16, 3, 50);
    trial_want(&t, 1);
    trial_must_run(&t);
    trial again = skip_trial(BF16, 3, 50);
    trial_want(&again, 1);
    const rmsnorm_tensor *inputs[] = {&again.in[0], &again.in[1], &again.in[2], &again.in[3]};
    rmsnorm_tensor *outputs[] = {&again.out[0]};
    assert_int_equal(rmsnorm_run(again.op, NULL, inputs, 4, outputs, 1, NULL), RMSNORM_OK);
    expect_same_bits(&t.out[0], &again.out[0]);
    trial_end(&again);
    trial_end(&t);
}

static void test_missing_arguments_are_refused(void **state)
{
    (void)state;
    const rmsnorm_operator *const op = rmsnorm_operator_at(0);
    assert_int_not_equal(rmsnorm_run(NULL, NULL, NULL, 0, NULL, 0, NULL), RMSNORM_OK);
    assert_int_not_equal(rmsnorm_run(op, NULL, NULL, 0, NULL, 0, NULL), RMSNORM_OK);
    assert_int_not_equal(rmsnorm_run(op, NULL, NULL, 2, NULL, 1, NULL), RMSNORM_OK);
    assert_int_not_equal(rmsnorm_run_alloc(NULL, NULL, NULL, 0, NULL, 0, NULL), RMSNORM_OK);
    assert_int_not_equal(rmsnorm_run_alloc(op, NULL, NULL, 2, NULL, 1, NULL), RMSNORM_OK);
    assert_int_not_equal(rmsnorm_run_alloc(op, NULL, NULL, 0, NULL, SIZE_MAX, NULL), RMSNORM_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_subset_of_optional_outputs_gives_the_same_bits),
        cmocka_unit_test(test_zero_rows_are_done_at_once),
        cmocka_unit_test(test_a_partial_overlap_is_refused),
        cmocka_unit_test(test_an_output_in_an_inputs_place_has_the_same_bits),
        cmocka_unit_test(test_a_statistic_in_an_inputs_place_comes_after_the_row_is_read),
        cmocka_unit_test(test_rows_are_read_before_they_are_written),
        cmocka_unit_test(test_options_of_an_older_header_are_accepted),
        cmocka_unit_test(test_options_that_mean_nothing_are_refused),
        cmocka_unit_test(test_no_options_are_the_defaults),
        cmocka_unit_test(test_missing_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
