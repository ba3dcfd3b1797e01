/* What a call allocates: nothing for a run; the outputs for rmsnorm_run_alloc; after a failure nothing that stays. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

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

static void test_a_run_allocates_nothing(void **state)
{
    (void)state;
    static const rmsnorm_dtype dtypes[] = {F32, F16, BF16};
    for (size_t d = 0; d < COUNT_OF(dtypes); d++) {
        for (int64_t width = 1; width < 100000; width = width * 9 + 1) {
            trial t = skip_trial(dtypes[d], 3, width);
            trial_want(&t, 0xF);
            const int before = allocations;
            const rmsnorm_status status = trial_run(&t);
            const int during = allocations - before;
            assert_int_equal(status, RMSNORM_OK);
            assert_int_equal(during, 0);
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
    *a = (allocated){.t = skip_trial(F16, 6, 33)};
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
    trial all = skip_trial(F16, 6, 33);
    trial_want(&all, 0xF);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_allocates_nothing),
        cmocka_unit_test(test_the_allocator_is_used_for_outputs_and_for_nothing_else),
        cmocka_unit_test(test_an_output_with_memory_keeps_it),
        cmocka_unit_test(test_the_c_library_is_the_default_allocator),
        cmocka_unit_test(test_an_allocator_that_fails_leaves_nothing_behind),
        cmocka_unit_test(test_a_refused_call_allocates_nothing_that_stays),
        cmocka_unit_test(test_zero_rows_can_be_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
