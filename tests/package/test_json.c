/* JSON into values: what is strict about it, and where an error says it is. */
#include <stdlib.h>
#include <string.h>

#include "package/json.h"
#include "package/support.h"

static rmsnorm_arena arena;

static rmsnorm_status parse(const char *text, rmsnorm_any *value)
{
    rmsnorm_arena_release(&arena);
    rmsnorm_arena_init(&arena, (size_t)64 << 20);
    return rmsnorm_json_parse(&arena, "FILE", text, strlen(text), value);
}

static const rmsnorm_any *get(const rmsnorm_any *map, const char *key)
{
    const rmsnorm_any *value = rmsnorm_map_get(map->as.map, key, strlen(key));
    assert_non_null(value);
    return value;
}

static void test_every_kind_arrives(void **state)
{
    (void)state;
    rmsnorm_any root;
    assert_int_equal(parse("{\"i\": -9223372036854775808, \"f\": 1.0, \"e\": 1e2, \"s\": \"a\\u00e9\", \"t\": true, "
                           "\"n\": null, \"l\": [1, \"2\", []], \"m\": {\"z\": 1, \"a\": 2}}",
                           &root),
                     RMSNORM_OK);
    assert_int_equal(root.kind, RMSNORM_ANY_MAP);
    assert_int_equal(get(&root, "i")->kind, RMSNORM_ANY_INTEGER);
    assert_true(get(&root, "i")->as.integer == INT64_MIN);
    assert_int_equal(get(&root, "f")->kind, RMSNORM_ANY_FLOAT);
    assert_int_equal(get(&root, "e")->kind, RMSNORM_ANY_FLOAT);
    assert_true(get(&root, "e")->as.number == 100.0);
    assert_int_equal(get(&root, "s")->as.string.length, 3);
    assert_memory_equal(get(&root, "s")->as.string.text, "a\xc3\xa9", 3);
    assert_true(get(&root, "t")->as.boolean);
    assert_int_equal(get(&root, "n")->kind, RMSNORM_ANY_NULL);
    assert_int_equal(get(&root, "l")->as.list->count, 3);
    assert_int_equal(get(&root, "l")->as.list->items[2].kind, RMSNORM_ANY_LIST);
    const rmsnorm_map *map = get(&root, "m")->as.map;
    assert_int_equal(map->count, 2);
    assert_string_equal(map->entries[0].key, "z"); /* the file's order */
}

static void test_errors_have_a_place(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"{\"a\": 1,\n \"a\": 2}", "FILE:2:4: duplicate object key"},
        {"{\"a\": 1,}", "FILE:1:9: "},
        {"[1] x", "FILE:1:5: "},
        {"", "FILE:1:0: "},
        {"7", "FILE:1:1: "},
        {"[9223372036854775808]", "too big integer"},
        {"[1e999]", "real number overflow"},
        {"[\"\\u0000\"]", "\\u0000 is not allowed"},
        {"[\"\x80\"]", "FILE:1:2: unable to decode byte 0x80"},
        {"[NaN]", "FILE:1:"},
        {"['a']", "FILE:1:"},
        {"[\"a\nb\"]", "FILE:1:"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        rmsnorm_any root;
        expect_sentence(parse(pairs[i][0], &root), RMSNORM_MALFORMED, pairs[i][1]);
    }
}

static char *repeated(const char *part, size_t count)
{
    char *text = malloc(2 + count * strlen(part) + 1);
    assert_non_null(text);
    text[0] = '[';
    text[1] = '\0';
    for (size_t i = 0; i < count; ++i) {
        memcpy(text + 1 + i * strlen(part), part, strlen(part) + 1);
    }
    return text;
}

static void test_depth_and_number_of_values_are_bounded(void **state)
{
    (void)state;
    rmsnorm_any root;
    char *text = repeated("[", RMSNORM_JSON_DEPTH);
    expect_sentence(parse(text, &root), RMSNORM_MALFORMED, "FILE:1:65: nested deeper than 64 levels");
    free(text);
    text = repeated("0,", RMSNORM_JSON_VALUES);
    expect_sentence(parse(text, &root), RMSNORM_MALFORMED, "more than 32768 values");
    free(text);
    /* Brackets and commas in strings are none. */
    text = repeated("\"[{,\\\"[,\",", RMSNORM_JSON_VALUES / 2);
    text[strlen(text) - 1] = ']';
    assert_int_equal(parse(text, &root), RMSNORM_OK);
    assert_int_equal(root.as.list->count, RMSNORM_JSON_VALUES / 2);
    free(text);
    char deep[2 * RMSNORM_JSON_DEPTH + 1] = "";
    memset(deep, '[', RMSNORM_JSON_DEPTH);
    memset(deep + RMSNORM_JSON_DEPTH, ']', RMSNORM_JSON_DEPTH);
    assert_int_equal(parse(deep, &root), RMSNORM_OK);
}

static void test_the_arena_bounds_the_memory(void **state)
{
    (void)state;
    rmsnorm_any root;
    rmsnorm_arena small;
    rmsnorm_arena_init(&small, 64);
    const char text[] = "{\"key\": [1, 2, 3, 4, 5, 6, 7, 8]}";
    assert_int_equal(rmsnorm_json_parse(&small, "FILE", text, strlen(text), &root), RMSNORM_OUT_OF_MEMORY);
    rmsnorm_arena_release(&small);
}

static int release(void **state)
{
    (void)state;
    rmsnorm_arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_arrives),
        cmocka_unit_test(test_errors_have_a_place),
        cmocka_unit_test(test_depth_and_number_of_values_are_bounded),
        cmocka_unit_test(test_the_arena_bounds_the_memory),
    };
    return cmocka_run_group_tests(tests, NULL, release);
}
