/* What has gone wrong elsewhere, as properties: shapes, indices, optional slots. F-numbers are the reports'. */
#define _DEFAULT_SOURCE /* MAP_NORESERVE */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kerncheck/rng.h"
#include "support.h"

static void fill(rmsnorm_tensor *tensor, uint64_t seed)
{
    rng r = rng_seeded(seed);
    for (size_t i = 0; i < tensor_elements(tensor); i++) {
        tensor_set(tensor, i, rng_normal(&r));
    }
}

/* ---- Scales ---- */

static void run_with_scale(rmsnorm_operator_kind kind, const rmsnorm_tensor *x, int64_t axis, int scale_rank,
                           const int64_t *scale_dims)
{
    trial t = trial_start(kind);
    t.attributes.axis = axis;
    fill(trial_in(&t, 0, x->dtype, x->rank, x->dims, NULL), 1);
    fill(trial_in(&t, 1, x->dtype, scale_rank, scale_dims, NULL), 2);
    trial_out(&t, 0, x->dtype, x->rank, x->dims);
    run_everywhere(&t);
    trial_end(&t);
}

/* F6, F41, and every shape of the contract's list. */
static void test_scales_broadcast_as_in_numpy(void **state)
{
    (void)state;
    static const struct {
        int rank;
        int64_t dims[3];
    } scales[] = {{0, {0}},       {1, {1}},    {1, {3}},       {2, {1, 3}},    {3, {1, 1, 3}}, {2, {5, 3}},
                  {3, {2, 1, 1}}, {2, {5, 1}}, {3, {2, 1, 3}}, {3, {2, 5, 3}}, {3, {1, 5, 1}}, {3, {2, 5, 1}}};
    static const int64_t axes[] = {-1, 2, 1, -2, 0, -3};
    static const rmsnorm_dtype dtypes[] = {F32, F16, F64};
    for (size_t i = 0; i < COUNT_OF(scales) * COUNT_OF(axes) * COUNT_OF(dtypes); i++) {
        const rmsnorm_tensor x = {.dtype = dtypes[i / COUNT_OF(scales) / COUNT_OF(axes)], .rank = 3, .dims = {2, 5, 3}};
        const size_t s = i % COUNT_OF(scales);
        run_with_scale(i % 2 == 0 ? SIMPLE : PLAIN, &x, axes[i / COUNT_OF(scales) % COUNT_OF(axes)], scales[s].rank,
                       scales[s].dims);
    }
}

/* F6: those that do not. */
static void test_scales_that_do_not_broadcast_are_refused(void **state)
{
    (void)state;
    static const struct {
        int rank;
        int64_t dims[4];
    } scales[] = {{1, {2}},    {1, {4}},       {1, {0}},          {2, {2, 3}},
                  {2, {3, 5}}, {3, {5, 2, 3}}, {4, {1, 2, 5, 3}}, {4, {1, 1, 1, 1}}};
    for (size_t i = 0; i < COUNT_OF(scales) * 2; i++) {
        trial t = trial_start(i % 2 == 0 ? SIMPLE : PLAIN);
        fill(trial_in(&t, 0, F32, SHAPE(2, 5, 3), NULL), 1);
        trial_in(&t, 1, F32, scales[i / 2].rank, scales[i / 2].dims, NULL);
        trial_out(&t, 0, F32, SHAPE(2, 5, 3));
        trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, "scale", NULL);
        trial_end(&t);
    }
}

/* F89. */
static void test_axis_to_the_end_is_normalized_together(void **state)
{
    (void)state;
    static const int64_t dims[] = {2, 3, 2, 3, 2};
    for (int rank = 1; rank <= 5; rank++) {
        for (int axis = -rank; axis < rank; axis++) {
            const int first = axis < 0 ? axis + rank : axis;
            rmsnorm_tensor x = {.dtype = F32, .rank = rank};
            memcpy(x.dims, dims, sizeof(dims));
            run_with_scale(SIMPLE, &x, axis, rank - first, &dims[first]);
            run_with_scale(PLAIN, &x, axis, 0, NULL);
            run_with_scale(PLAIN, &x, axis, 1, &dims[rank - 1]);
        }
    }
}

/* ---- Residuals ---- */

static trial residual(rmsnorm_dtype dtype, int64_t b, int64_t s, int64_t h)
{
    trial t = trial_start(SKIP);
    fill(trial_in(&t, 0, dtype, SHAPE(b, s, h), NULL), 1);
    fill(trial_in(&t, 2, dtype, SHAPE(h), NULL), 3);
    trial_out(&t, 0, dtype, SHAPE(b, s, h));
    trial_out(&t, 3, dtype, SHAPE(b, s, h));
    return t;
}

/* F24, F26. */
static void test_skip_is_repeated_for_every_batch(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16};
    for (size_t i = 0; i < COUNT_OF(dtypes) * 3; i++) {
        for (int64_t b = 1; b <= 3; b++) {
            trial t = residual(dtypes[i / 3], b, 2, 8);
            const int64_t full[] = {b, 2, 8};
            const int64_t one[] = {1, 2, 8};
            fill(trial_in(&t, 1, dtypes[i / 3], i % 3 == 1 ? 2 : 3,
                          i % 3 == 0   ? full
                          : i % 3 == 1 ? &full[1]
                                       : one,
                          NULL),
                 2);
            run_everywhere(&t);
            trial_end(&t);
        }
    }
}

/* F23. */
static void test_residuals_of_other_shapes_are_refused(void **state)
{
    (void)state;
    static const struct {
        int slot, rank;
        int64_t dims[3];
        const char *name;
    } wrong[] = {{1, 3, {1, 3, 2}, "skip"}, {1, 3, {0, 2, 2}, "skip"}, {1, 3, {2, 2, 2}, "skip"},
                 {1, 2, {2, 1}, "skip"},    {1, 1, {2}, "skip"},       {1, 2, {1, 2}, "skip"},
                 {2, 1, {1}, "gamma"},      {2, 1, {3}, "gamma"},      {2, 2, {1, 2}, "gamma"},
                 {3, 1, {1}, "bias"},       {3, 1, {3}, "bias"},       {3, 2, {2, 2}, "bias"}};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        trial t = residual(F16, 3, 2, 2);
        trial_in(&t, 1, F16, SHAPE(3, 2, 2), NULL);
        trial_in(&t, wrong[i].slot, F16, wrong[i].rank, wrong[i].dims, NULL);
        trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, wrong[i].name, NULL);
        trial_end(&t);
    }
}

/* F2, F79, F80: bias is slot 3 and part of what is normalized; there is no slot 4. */
static void test_bias_is_added_before_the_norm_and_to_the_sum(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16};
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        trial t = residual(dtypes[i], 1, 1, 8);
        fill(trial_in(&t, 1, dtypes[i], SHAPE(1, 1, 8), NULL), 2);
        t.attributes.epsilon = 1e-5F;
        run_everywhere(&t);
        const double without = tensor_get(&t.out[3], 0);
        tensor_set_all(trial_in(&t, 3, dtypes[i], SHAPE(8), NULL), 8);
        run_everywhere(&t);
        assert_true(fabs(tensor_get(&t.out[3], 0) - without - 8) < 0.1);
        assert_true(tensor_get(&t.out[0], 0) / tensor_get(&t.in[2], 0) > 0.5); /* 8 is nearly all of every element */
        trial_in(&t, 4, dtypes[i], SHAPE(8), NULL);
        trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, NULL);
        trial_end(&t);
    }
}

/* F9. */
static void test_each_operator_has_its_own_default_epsilon(void **state)
{
    (void)state;
    static const rmsnorm_operator_kind kinds[] = {SIMPLE, SKIP, PLAIN};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        trial t = trial_start(kinds[i]);
        tensor_set_all(trial_in(&t, 0, F32, SHAPE(1, 4), NULL), 1e-4);
        if (kinds[i] == SKIP) {
            trial_in(&t, 1, F32, SHAPE(1, 4), NULL);
        }
        tensor_set_all(trial_in(&t, kinds[i] == SKIP ? 2 : 1, F32, SHAPE(4), NULL), 1);
        trial_out(&t, 0, F32, SHAPE(1, 4));
        run_everywhere(&t);
        assert_true(fabs(tensor_get(&t.out[0], 0) - (kinds[i] == SKIP ? 0.99995 : 0.03161)) < 1e-5);
        trial_end(&t);
    }
}

/* F11: the statistic has its own type and keeps the rank; RMSNormalization has none. */
static void test_the_statistic_is_the_second_output_of_one_operator_only(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        trial t = trial_start(kind == 0 ? SIMPLE : PLAIN);
        fill(trial_in(&t, 0, F16, SHAPE(3, 8), NULL), 1);
        fill(trial_in(&t, 1, F16, SHAPE(8), NULL), 2);
        trial_out(&t, 0, F16, SHAPE(3, 8));
        trial_out(&t, 1, F32, SHAPE(3, 1));
        if (kind == 0) {
            run_everywhere(&t);
            t.out[1].dims[1] = 8;
            trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, "inv_std_var", NULL);
            t.out[1].dims[1] = 1;
        } else {
            trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, NULL);
        }
        trial_end(&t);
    }
}

/* F12: an output lands in its own slot, whichever others are left out; the first cannot be. */
static void test_outputs_are_positional(void **state)
{
    (void)state;
    trial t = residual(F32, 1, 2, 4);
    fill(trial_in(&t, 1, F32, SHAPE(1, 2, 4), NULL), 2);
    run_everywhere(&t); /* output and sum, nothing between */
    t.out[0].data = NULL;
    trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, "output", NULL);
    trial_end(&t);
}

/* ---- Sizes ---- */

/* F37: odd addresses and the hidden size that is no multiple of a large power of two. */
static void test_hidden_size_3584_at_odd_addresses(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F16, BF16, F32};
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        const size_t size = rmsnorm_dtype_size(dtypes[i]);
        trial t = trial_start(SIMPLE);
        rmsnorm_tensor *const tensors[] = {trial_in(&t, 0, dtypes[i], SHAPE(3, 3585), NULL),
                                           trial_in(&t, 1, dtypes[i], SHAPE(3585), NULL),
                                           trial_out(&t, 0, dtypes[i], SHAPE(3, 3585))};
        for (size_t j = 0; j < COUNT_OF(tensors); j++) {
            tensors[j]->data = (char *)tensors[j]->data + size;
        }
        t.in[0].dims[1] = t.in[1].dims[0] = t.out[0].dims[1] = 3584;
        fill(&t.in[0], 1);
        fill(&t.in[1], 2);
        run_everywhere(&t);
        trial_end(&t);
    }
}

/* F63. */
static void test_one_element_rows_give_signs(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 7; rows += 6) {
        for (int kind = 0; kind < 2; kind++) {
            trial t = trial_start(kind == 0 ? SIMPLE : PLAIN);
            rmsnorm_tensor *const x = trial_in(&t, 0, F32, SHAPE(rows, 1), NULL);
            tensor_set_all(trial_in(&t, 1, F32, SHAPE(1), NULL), 1);
            trial_out(&t, 0, F32, SHAPE(rows, 1));
            for (size_t i = 0; i < (size_t)rows; i++) {
                tensor_set(x, i, i % 2 == 0 ? 0.37 + (double)i : -1e-20);
            }
            t.attributes.epsilon = 0;
            run_everywhere(&t);
            for (size_t i = 0; i < (size_t)rows; i++) {
                assert_true(fabs(tensor_get(&t.out[0], i) - (i % 2 == 0 ? 1 : -1)) < 1e-6);
            }
            trial_end(&t);
        }
    }
}

/* F64. */
static void test_no_rows_is_fine_and_no_columns_is_not(void **state)
{
    (void)state;
    trial t = trial_start(SIMPLE);
    trial_in(&t, 0, F32, SHAPE(1, 0, 8), NULL);
    trial_in(&t, 1, F32, SHAPE(8), NULL);
    trial_out(&t, 0, F32, SHAPE(1, 0, 8));
    trial_must_run(&t);
    trial_in(&t, 0, F32, SHAPE(2, 0), NULL);
    trial_in(&t, 1, F32, SHAPE(1), NULL);
    trial_out(&t, 0, F32, SHAPE(2, 0));
    trial_must_refuse(&t, RMSNORM_INVALID_ARGUMENT, t.op->name, "X", NULL);
    trial_end(&t);
}

/* F92: the heads of a packed query-key-value tensor, normalized where they lie. */
static void test_strided_rows_leave_their_neighbours_alone(void **state)
{
    (void)state;
    trial t = trial_start(SIMPLE);
    fill(trial_in(&t, 0, F16, SHAPE(6, 48), NULL), 1);
    fill(trial_in(&t, 1, F16, SHAPE(16), NULL), 2);
    trial apart = trial_start(SIMPLE);
    trial_in(&apart, 0, F16, SHAPE(6, 16), NULL);
    fill(trial_in(&apart, 1, F16, SHAPE(16), NULL), 2);
    trial_out(&apart, 0, F16, SHAPE(6, 16));
    char before[6 * 48 * 2];
    memcpy(before, t.in[0].data, sizeof(before));
    for (size_t row = 0; row < 6; row++) {
        memcpy((char *)apart.in[0].data + row * 32, before + row * 96 + 32, 32);
    }
    trial_must_run(&apart);
    t.in[0].data = (char *)t.in[0].data + 32; /* the middle third */
    t.in[0].dims[1] = 16;
    t.in[0].row_stride = 48;
    t.out[0] = t.in[0];
    trial_must_run(&t);
    for (size_t row = 0; row < 6; row++) {
        const char *const now = (const char *)t.in[0].data + row * 96;
        assert_memory_equal(now, (const char *)apart.out[0].data + row * 32, 32);
        assert_memory_equal(now - 32, before + row * 96, 32);
        assert_memory_equal(now + 32, before + row * 96 + 64, 32);
    }
    t.in[0].row_stride = t.out[0].row_stride = 15;
    assert_int_equal(trial_run(&t), RMSNORM_INVALID_ARGUMENT);
    trial_end(&apart);
    trial_end(&t);
}

/* F31: rows 2^31 and 2^32 elements from the first, in memory that is only promised. */
static void test_rows_beyond_32_bits_of_elements_are_found(void **state)
{
    (void)state;
#if SIZE_MAX > UINT32_MAX
    static const int64_t strides[] = {INT64_C(1) << 31, INT64_C(1) << 32, (INT64_C(1) << 31) - 1};
    const size_t bytes = ((size_t)1 << 33) + 4096;
    char *const promised =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (promised == MAP_FAILED) {
        skip();
    }
    for (size_t i = 0; i < COUNT_OF(strides); i++) {
        trial t = trial_start(SIMPLE);
        trial_in(&t, 0, F16, SHAPE(8), VALUES(9, 9, 9, 9, 9, 9, 9, 9));
        fill(trial_in(&t, 1, F16, SHAPE(8), NULL), 2);
        trial_out(&t, 0, F16, SHAPE(2, 8));
        for (size_t j = 0; j < 8; j++) {
            element_store(F16, promised, j, 1);
            element_store(F16, promised, (size_t)strides[i] + j, j < 4 ? 3 : -3);
        }
        t.in[0] = (rmsnorm_tensor){.dtype = F16, .rank = 2, .dims = {2, 8}, .data = promised, .row_stride = strides[i]};
        t.attributes.epsilon = 0;
        trial_must_run(&t);
        for (size_t j = 0; j < 8; j++) {
            assert_true(tensor_get(&t.out[0], j) == tensor_get(&t.in[1], j));
            assert_true(tensor_get(&t.out[0], 8 + j) == (j < 4 ? 1 : -1) * tensor_get(&t.in[1], j));
        }
        trial_end(&t);
    }
    (void)munmap(promised, bytes);
#else
    skip();
#endif
}

/* F118: outputs start as NaNs, so a row that is left out shows. */
static void test_every_row_is_written(void **state)
{
    (void)state;
    for (int64_t rows = 1; rows <= 301; rows++) {
        const int64_t count = rows <= 300 ? rows : 100000;
        trial t = trial_start(rows % 2 == 0 ? SIMPLE : PLAIN);
        fill(trial_in(&t, 0, F32, SHAPE(count, 3), NULL), (uint64_t)rows);
        tensor_set_all(trial_in(&t, 1, F32, SHAPE(3), NULL), 1);
        trial_out(&t, 0, F32, SHAPE(count, 3));
        trial_must_run(&t);
        for (size_t i = 0; i < tensor_elements(&t.out[0]); i++) {
            assert_true(isfinite(tensor_get(&t.out[0], i)));
        }
        trial_end(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scales_broadcast_as_in_numpy),
        cmocka_unit_test(test_scales_that_do_not_broadcast_are_refused),
        cmocka_unit_test(test_axis_to_the_end_is_normalized_together),
        cmocka_unit_test(test_skip_is_repeated_for_every_batch),
        cmocka_unit_test(test_residuals_of_other_shapes_are_refused),
        cmocka_unit_test(test_bias_is_added_before_the_norm_and_to_the_sum),
        cmocka_unit_test(test_each_operator_has_its_own_default_epsilon),
        cmocka_unit_test(test_the_statistic_is_the_second_output_of_one_operator_only),
        cmocka_unit_test(test_outputs_are_positional),
        cmocka_unit_test(test_hidden_size_3584_at_odd_addresses),
        cmocka_unit_test(test_one_element_rows_give_signs),
        cmocka_unit_test(test_no_rows_is_fine_and_no_columns_is_not),
        cmocka_unit_test(test_strided_rows_leave_their_neighbours_alone),
        cmocka_unit_test(test_rows_beyond_32_bits_of_elements_are_found),
        cmocka_unit_test(test_every_row_is_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
