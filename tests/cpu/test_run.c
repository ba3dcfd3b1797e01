/* rmsnorm_run and rmsnorm_run_alloc as calls: memory, refusals, options, outputs that are not wanted, shared buffers. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "kerncheck/rng.h"
#include "support.h"

/* ---- Every allocation of this program is counted: the linker sends the C library's functions here (--wrap). ---- */

static int allocations;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    allocations++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    allocations++;
    return __real_realloc(old, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    allocations++;
    return __real_aligned_alloc(alignment, size);
}

/* ---- Calls ---- */

static trial draw_skip_trial(rmsnorm_dtype dtype, int64_t rows, int64_t width)
{
    trial t = trial_start(SKIP);
    rng r = rng_seeded((uint64_t)width);
    const struct {
        int slot, rank;
    } inputs[] = {{0, 2}, {1, 2}, {2, 1}, {3, 1}};
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        const int64_t dims[] = {inputs[i].rank == 2 ? rows : width, width};
        rmsnorm_tensor *const tensor = trial_in(&t, inputs[i].slot, dtype, inputs[i].rank, dims, NULL);
        for (size_t j = 0; j < tensor_elements(tensor); j++) {
            tensor_set(tensor, j, rng_normal(&r));
        }
    }
    return t;
}

static void want_outputs(trial *t, unsigned which)
{
    const rmsnorm_tensor x = t->in[0];
    for (int i = 0; i < 4; i++) {
        const bool statistic = i == 1 || i == 2;
        t->out[i].data = NULL;
        if ((which & 1u << i) != 0) {
            trial_out(t, i, statistic ? F32 : x.dtype, SHAPE(x.dims[0], statistic ? 1 : x.dims[1]));
        }
    }
}

static void test_a_run_allocates_nothing(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
        for (int64_t width = 1; width < 100000; width = width * 9 + 1) {
            trial t = draw_skip_trial(dtypes[d], 3, width);
            want_outputs(&t, 0xF);
            const int before = allocations;
            const rmsnorm_status status = trial_run(&t);
            const int during = allocations - before;
            assert_int_equal(status, RMSNORM_OK);
            assert_int_equal(during, 0);
            trial_end(&t);
        }
    }
}

static void test_any_subset_of_optional_outputs_gives_the_same_bits(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
        trial all = draw_skip_trial(dtypes[d], 5, 77);
        want_outputs(&all, 0xF);
        trial_must_run(&all);
        assert_true(tensor_get(&all.out[1], 4) == 0);
        for (unsigned which = 1; which < 16; which += 2) {
            trial some = draw_skip_trial(dtypes[d], 5, 77);
            want_outputs(&some, which);
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
            trial_in(&t, 1, F32, kind == SKIP ? shapes[i].rank : 1, kind == SKIP ? shapes[i].dims : &shapes[i].dims[shapes[i].rank - 1],
                     NULL);
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

/* ---- Allocation ---- */

typedef struct ledger {
    int calls, held, fail_at;
    size_t sizes[4];
} ledger;

static void *ledger_allocate(void *user, size_t size, size_t alignment)
{
    ledger *const l = user;
    if (++l->calls == l->fail_at) {
        return NULL;
    }
    assert_true(alignment >= sizeof(double) && (alignment & (alignment - 1)) == 0);
    l->sizes[l->held++] = size;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void ledger_release(void *user, void *memory)
{
    ((ledger *)user)->held--;
    free(memory);
}

typedef struct allocated {
    trial t;
    ledger book;
    rmsnorm_tensor out[4];
    rmsnorm_tensor *slots[4];
    const rmsnorm_tensor *inputs[4];
} allocated;

static void allocated_start(allocated *a, unsigned which)
{
    *a = (allocated){.t = draw_skip_trial(F16, 6, 33)};
    a->t.options.allocator = (rmsnorm_allocator){ledger_allocate, ledger_release, &a->book};
    for (int i = 0; i < 4; i++) {
        a->inputs[i] = &a->t.in[i];
        a->slots[i] = (which & 1u << i) != 0 ? &a->out[i] : NULL;
    }
}

static rmsnorm_status allocated_run(allocated *a)
{
    return rmsnorm_run_alloc(a->t.op, &a->t.attributes, a->inputs, 4, a->slots, 4, &a->t.options);
}

static void test_the_allocator_is_used_for_outputs_and_for_nothing_else(void **state)
{
    (void)state;
    trial all = draw_skip_trial(F16, 6, 33);
    want_outputs(&all, 0xF);
    trial_must_run(&all);
    for (unsigned which = 1; which < 16; which += 2) {
        allocated a;
        allocated_start(&a, which);
        const int before = allocations;
        const rmsnorm_status status = allocated_run(&a);
        const int during = allocations - before;
        assert_int_equal(status, RMSNORM_OK);
        assert_int_equal(during, a.book.calls); /* the ledger's own, of which each is one of the C library's */
        int wanted = 0;
        for (int i = 0; i < 4; i++) {
            if (a.slots[i] != NULL) {
                assert_true(a.book.sizes[wanted++] >= tensor_bytes(&a.out[i]));
                assert_int_equal(a.out[i].rank, 2);
                assert_int_equal(a.out[i].row_stride, 0);
                expect_same_bits(&all.out[i], &a.out[i]);
                rmsnorm_tensor_release(&a.out[i], &a.t.options);
                assert_null(a.out[i].data);
            }
        }
        assert_int_equal(a.book.calls, wanted);
        assert_int_equal(a.book.held, 0);
        trial_end(&a.t);
    }
    trial_end(&all);
}

static void test_an_output_with_memory_keeps_it(void **state)
{
    (void)state;
    allocated a;
    allocated_start(&a, 0xF);
    rmsnorm_tensor *const given = trial_out(&a.t, 0, F16, SHAPE(6, 33));
    void *const memory = given->data;
    a.out[0] = *given;
    assert_int_equal(allocated_run(&a), RMSNORM_OK);
    assert_ptr_equal(a.out[0].data, memory);
    assert_int_equal(a.book.calls, 3);
    for (int i = 1; i < 4; i++) {
        rmsnorm_tensor_release(&a.out[i], &a.t.options);
    }
    trial_end(&a.t);
}

static void test_the_c_library_is_the_default_allocator(void **state)
{
    (void)state;
    allocated a;
    allocated_start(&a, 0x9);
    a.t.options.allocator = (rmsnorm_allocator){NULL, NULL, NULL};
    assert_int_equal(allocated_run(&a), RMSNORM_OK);
    assert_true(tensor_get(&a.out[3], 0) == tensor_get(&a.out[3], 0));
    rmsnorm_tensor_release(&a.out[0], NULL);
    rmsnorm_tensor_release(&a.out[3], &a.t.options);
    assert_null(a.out[0].data);
    trial_end(&a.t);
}

static void test_an_allocator_that_fails_leaves_nothing_behind(void **state)
{
    (void)state;
    for (int fail_at = 1; fail_at <= 4; fail_at++) {
        allocated a;
        allocated_start(&a, 0xF);
        a.book.fail_at = fail_at;
        const rmsnorm_tensor untouched = a.out[0];
        assert_int_equal(allocated_run(&a), RMSNORM_OUT_OF_MEMORY);
        assert_non_null(strstr(rmsnorm_last_error(), a.t.op->name));
        assert_int_equal(a.book.held, 0);
        for (int i = 0; i < 4; i++) {
            assert_memory_equal(&a.out[i], &untouched, sizeof(untouched));
        }
        trial_end(&a.t);
    }
}

static void test_a_refused_call_allocates_nothing_that_stays(void **state)
{
    (void)state;
    allocated a;
    allocated_start(&a, 0xF);
    a.t.attributes.epsilon = -1;
    assert_int_equal(allocated_run(&a), RMSNORM_INVALID_ARGUMENT);
    assert_int_equal(a.book.held, 0);
    assert_null(a.out[0].data);
    assert_int_equal(a.out[0].rank, 0);
    trial_end(&a.t);
}

static void test_zero_rows_can_be_allocated(void **state)
{
    (void)state;
    trial t = trial_start(SIMPLE);
    trial_in(&t, 0, F32, SHAPE(2, 0, 4), NULL);
    trial_in(&t, 1, F32, SHAPE(4), NULL);
    rmsnorm_tensor out = {0};
    rmsnorm_tensor *slot = &out;
    const rmsnorm_tensor *inputs[] = {&t.in[0], &t.in[1]};
    assert_int_equal(rmsnorm_run_alloc(t.op, NULL, inputs, 2, &slot, 1, NULL), RMSNORM_OK);
    assert_int_equal(out.rank, 3);
    assert_int_equal(out.dims[1], 0);
    rmsnorm_tensor_release(&out, NULL);
    rmsnorm_tensor_release(&out, NULL); /* of nothing */
    rmsnorm_tensor_release(NULL, NULL);
    trial_end(&t);
}

/* ---- Shared buffers ---- */

static void test_a_partial_overlap_is_refused(void **state)
{
    (void)state;
    trial t = draw_skip_trial(F32, 4, 8);
    want_outputs(&t, 0xF);
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
        trial apart = draw_skip_trial(dtypes[i / COUNT_OF(pairs)], 4, 129);
        trial shared = draw_skip_trial(dtypes[i / COUNT_OF(pairs)], 4, 129);
        want_outputs(&apart, 0xF);
        want_outputs(&shared, 0xF);
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
        trial apart = draw_skip_trial(F32, 9, 1);
        trial shared = draw_skip_trial(F32, 9, 1);
        want_outputs(&apart, 0xF);
        want_outputs(&shared, 0xF);
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
    trial t = draw_skip_trial(F32, 64, 4096); /* large enough for a runner to be used */
    want_outputs(&t, 1);
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
    trial t = draw_skip_trial(F32, 2, 4);
    want_outputs(&t, 0xF);
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
    trial t = draw_skip_trial(BF16, 3, 50);
    want_outputs(&t, 1);
    trial_must_run(&t);
    trial again = draw_skip_trial(BF16, 3, 50);
    want_outputs(&again, 1);
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
        cmocka_unit_test(test_a_run_allocates_nothing),
        cmocka_unit_test(test_any_subset_of_optional_outputs_gives_the_same_bits),
        cmocka_unit_test(test_zero_rows_are_done_at_once),
        cmocka_unit_test(test_the_allocator_is_used_for_outputs_and_for_nothing_else),
        cmocka_unit_test(test_an_output_with_memory_keeps_it),
        cmocka_unit_test(test_the_c_library_is_the_default_allocator),
        cmocka_unit_test(test_an_allocator_that_fails_leaves_nothing_behind),
        cmocka_unit_test(test_a_refused_call_allocates_nothing_that_stays),
        cmocka_unit_test(test_zero_rows_can_be_allocated),
        cmocka_unit_test(test_a_partial_overlap_is_refused),
        cmocka_unit_test(test_an_output_in_an_inputs_place_has_the_same_bits),
        cmocka_unit_test(test_a_statistic_in_an_inputs_place_comes_after_the_row_is_read),
        cmocka_unit_test(test_options_of_an_older_header_are_accepted),
        cmocka_unit_test(test_options_that_mean_nothing_are_refused),
        cmocka_unit_test(test_no_options_are_the_defaults),
        cmocka_unit_test(test_missing_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
