#include "template/support.h"

static void test_pieces_are_zeroed_and_aligned(void **state)
{
    (void)state;
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, 1 << 20);
    for (size_t size = 0; size < 300; size++) {
        unsigned char *const piece = rmsnorm_arena_allocate(&arena, size);
        assert_non_null(piece);
        assert_int_equal((uintptr_t)piece % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(piece[i], 0);
        }
        memset(piece, 0xFF, size); /* of no other piece */
    }
    assert_int_equal(arena.used, 299 * 300 / 2);
    rmsnorm_arena_release(&arena);
}

static void test_the_limit_is_exact_and_said(void **state)
{
    (void)state;
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, 100);
    assert_non_null(rmsnorm_arena_allocate(&arena, 60));
    assert_null(rmsnorm_arena_allocate(&arena, 41));
    assert_string_equal(rmsnorm_last_error(), "41 bytes more than the 60 in use pass the limit of 100");
    assert_non_null(rmsnorm_arena_allocate(&arena, 40));
    assert_null(rmsnorm_arena_allocate(&arena, 1));
    assert_null(rmsnorm_arena_allocate(&arena, SIZE_MAX));
    rmsnorm_arena_release(&arena);
    assert_int_equal(arena.used, 0);
    assert_non_null(rmsnorm_arena_allocate(&arena, 100)); /* used again */
    rmsnorm_arena_release(&arena);
}

static void test_what_no_memory_holds_is_refused(void **state)
{
    (void)state;
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, SIZE_MAX);
    assert_null(rmsnorm_arena_allocate(&arena, SIZE_MAX));
    assert_null(rmsnorm_arena_copy(&arena, "", SIZE_MAX));
    rmsnorm_arena_release(&arena);
}

static void test_a_copy_has_a_terminator(void **state)
{
    (void)state;
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, 1000);
    assert_memory_equal(rmsnorm_arena_copy(&arena, "a\0bc", 3), "a\0b", 4);
    assert_string_equal(rmsnorm_arena_copy(&arena, NULL, 0), "");
    rmsnorm_arena_release(&arena);
}

static void test_pieces_larger_than_a_block_stand_alone(void **state)
{
    (void)state;
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, 1 << 26);
    char *const first = rmsnorm_arena_copy(&arena, "first", 5);
    memset(rmsnorm_arena_allocate(&arena, 5 << 20), 1, 5 << 20);
    char *const last = rmsnorm_arena_copy(&arena, "last", 4);
    assert_string_equal(first, "first");
    assert_string_equal(last, "last");
    rmsnorm_arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces_are_zeroed_and_aligned),
        cmocka_unit_test(test_the_limit_is_exact_and_said),
        cmocka_unit_test(test_what_no_memory_holds_is_refused),
        cmocka_unit_test(test_a_copy_has_a_terminator),
        cmocka_unit_test(test_pieces_larger_than_a_block_stand_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
