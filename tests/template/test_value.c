#include "template/support.h"

static int setup(void **state)
{
    static bench at;
    bench_open(&at);
    *state = &at;
    return 0;
}

static int teardown(void **state)
{
    bench_close(*state);
    return 0;
}

static void test_lists_keep_their_order(void **state)
{
    bench *const at = *state;
    const rmsnorm_any list = rmsnorm_any_list(&at->arena);
    assert_int_equal(list.kind, RMSNORM_ANY_LIST);
    for (int64_t i = 0; i < 1000; i++) {
        assert_true(rmsnorm_list_push(&at->arena, list.as.list, rmsnorm_any_integer(i)));
    }
    assert_int_equal(list.as.list->count, 1000);
    for (int64_t i = 0; i < 1000; i++) {
        assert_int_equal(list.as.list->items[i].as.integer, i);
    }
}

/* Around the size from which a map has a table of hashes, and far beyond. */
static void test_maps_find_every_key_and_keep_the_order_of_the_first(void **state)
{
    bench *const at = *state;
    static char keys[2000][8];
    const rmsnorm_any map = rmsnorm_any_map(&at->arena);
    for (int i = 0; i < 2000; i++) {
        const int length = snprintf(keys[i], sizeof keys[i], "k%d", i);
        assert_null(rmsnorm_map_get(map.as.map, keys[i], (size_t)length));
        assert_true(rmsnorm_map_set(&at->arena, map.as.map, keys[i], (size_t)length, rmsnorm_any_integer(i)));
        for (int k = i < 40 ? 0 : i; k <= i; k++) {
            const rmsnorm_any *const found = rmsnorm_map_get(map.as.map, keys[k], strlen(keys[k]));
            assert_non_null(found);
            assert_int_equal(found->as.integer, k);
        }
    }
    assert_true(rmsnorm_map_set(&at->arena, map.as.map, "k7", 2, rmsnorm_any_null()));
    assert_int_equal(map.as.map->count, 2000);
    assert_int_equal(map.as.map->entries[7].value.kind, RMSNORM_ANY_NULL);
    assert_string_equal(map.as.map->entries[1999].key, "k1999");
}

static void test_keys_may_hold_any_bytes(void **state)
{
    bench *const at = *state;
    const rmsnorm_any map = rmsnorm_any_map(&at->arena);
    assert_true(rmsnorm_map_set(&at->arena, map.as.map, "a\0b", 3, rmsnorm_any_integer(1)));
    assert_true(rmsnorm_map_set(&at->arena, map.as.map, NULL, 0, rmsnorm_any_integer(2)));
    assert_int_equal(rmsnorm_map_get(map.as.map, "a\0b", 3)->as.integer, 1);
    assert_int_equal(rmsnorm_map_get(map.as.map, "", 0)->as.integer, 2);
    assert_null(rmsnorm_map_get(map.as.map, "a\0c", 3));
    assert_null(rmsnorm_map_get(map.as.map, "a", 1));
}

static void test_an_exhausted_arena_is_told(void **state)
{
    (void)state;
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, 600);
    const rmsnorm_any list = rmsnorm_any_list(&arena), map = rmsnorm_any_map(&arena);
    assert_int_equal(list.kind, RMSNORM_ANY_LIST);
    assert_int_equal(map.kind, RMSNORM_ANY_MAP);
    size_t pushed = 0;
    while (rmsnorm_list_push(&arena, list.as.list, rmsnorm_any_null())) {
        pushed++;
    }
    assert_int_equal(list.as.list->count, pushed);
    arena.limit = arena.used;
    assert_false(rmsnorm_map_set(&arena, map.as.map, "a", 1, rmsnorm_any_null()));
    assert_int_equal(map.as.map->count, 0);
    assert_int_equal(rmsnorm_any_list(&arena).kind, RMSNORM_ANY_UNDEFINED);
    assert_int_equal(rmsnorm_any_map(&arena).kind, RMSNORM_ANY_UNDEFINED);
    rmsnorm_arena_release(&arena);
}

static void test_truth(void **state)
{
    bench *const at = *state;
    rmsnorm_any list = rmsnorm_any_list(&at->arena), map = rmsnorm_any_map(&at->arena);
    const rmsnorm_any no[] = {rmsnorm_any_undefined(),
                              rmsnorm_any_null(),
                              rmsnorm_any_boolean(false),
                              rmsnorm_any_integer(0),
                              rmsnorm_any_float(-0.0),
                              rmsnorm_any_text(""),
                              list,
                              map};
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        assert_false(rmsnorm_any_is_true(&no[i]));
    }
    assert_true(rmsnorm_list_push(&at->arena, list.as.list, rmsnorm_any_null()));
    assert_true(rmsnorm_map_set(&at->arena, map.as.map, "", 0, rmsnorm_any_null()));
    const rmsnorm_any yes[] = {rmsnorm_any_boolean(true),
                               rmsnorm_any_integer(-1),
                               rmsnorm_any_float(1e-300),
                               rmsnorm_any_text("0"),
                               list,
                               map};
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
        assert_true(rmsnorm_any_is_true(&yes[i]));
    }
}

static void test_every_kind_has_a_name(void **state)
{
    (void)state;
    assert_string_equal(rmsnorm_any_kind_name(RMSNORM_ANY_UNDEFINED), "undefined");
    assert_string_equal(rmsnorm_any_kind_name(RMSNORM_ANY_INTEGER), "integer");
    assert_string_equal(rmsnorm_any_kind_name(RMSNORM_ANY_MAP), "map");
    assert_string_equal(rmsnorm_any_kind_name(RMSNORM_ANY_CALLABLE), "macro");
    assert_string_equal(rmsnorm_any_kind_name((rmsnorm_any_kind)99), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lists_keep_their_order, setup, teardown),
        cmocka_unit_test_setup_teardown(test_maps_find_every_key_and_keep_the_order_of_the_first, setup, teardown),
        cmocka_unit_test_setup_teardown(test_keys_may_hold_any_bytes, setup, teardown),
        cmocka_unit_test(test_an_exhausted_arena_is_told),
        cmocka_unit_test_setup_teardown(test_truth, setup, teardown),
        cmocka_unit_test(test_every_kind_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
