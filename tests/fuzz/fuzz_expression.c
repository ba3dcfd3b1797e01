#include <string.h>

#include "fuzz/stop.h"
#include "template/expression.h"

/* A refusal has one line, which names the text. */
static void check_status(rmsnorm_status status)
{
    const char *const sentence = rmsnorm_last_error();
    FUZZ_CHECK(status == RMSNORM_OK || strncmp(sentence, "TEXT:", 5) == 0 || status == RMSNORM_OUT_OF_MEMORY);
    FUZZ_CHECK(status == RMSNORM_OK || strpbrk(sentence, "\r\n\t\033") == NULL);
}

/* Every byte that a value holds can be read. */
static size_t count_bytes(const rmsnorm_any *value, int depth)
{
    size_t bytes = 0;
    if (value->kind == RMSNORM_ANY_STRING) {
        for (size_t i = 0; i < value->as.string.length; i++) {
            bytes += value->as.string.text[i] != '\0';
        }
    } else if (value->kind == RMSNORM_ANY_LIST) {
        for (size_t i = 0; i < value->as.list->count && depth > 0; i++) {
            bytes += count_bytes(&value->as.list->items[i], depth - 1);
        }
    } else if (value->kind == RMSNORM_ANY_MAP) {
        for (size_t i = 0; i < value->as.map->count && depth > 0; i++) {
            const rmsnorm_entry *const entry = &value->as.map->entries[i];
            FUZZ_CHECK(rmsnorm_map_get(value->as.map, entry->key, entry->length) == &entry->value);
            bytes += entry->length + count_bytes(&entry->value, depth - 1);
        }
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, 1 << 20);
    const rmsnorm_text_source source = {"TEXT", (const char *)data, size};
    const rmsnorm_any map = rmsnorm_any_map(&arena), list = rmsnorm_any_list(&arena);
    FUZZ_CHECK(rmsnorm_map_set(&arena, map.as.map, "n", 1, rmsnorm_any_integer(7)));
    FUZZ_CHECK(rmsnorm_map_set(&arena, map.as.map, "s", 1, rmsnorm_any_string("a b\xFF\0\xE2\x82 c", 9)));
    FUZZ_CHECK(rmsnorm_list_push(&arena, list.as.list, map));
    FUZZ_CHECK(rmsnorm_map_set(&arena, map.as.map, "a", 1, list));
    const rmsnorm_scope scope = {.variables = map.as.map};
    const rmsnorm_expression *expression;
    rmsnorm_status status = rmsnorm_expression_parse(&arena, &source, &expression);
    check_status(status);
    if (status == RMSNORM_OK) {
        rmsnorm_evaluation evaluation = {.arena = &arena, .steps = 20000};
        rmsnorm_any value;
        status = rmsnorm_expression_evaluate(expression, &scope, &evaluation, &value);
        check_status(status);
        FUZZ_CHECK(evaluation.steps >= 0);
        FUZZ_CHECK(status != RMSNORM_OK || count_bytes(&value, 8) <= (size_t)1 << 30);
    }
    rmsnorm_arena_release(&arena);
    return 0;
}
