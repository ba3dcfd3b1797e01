#include <string.h>

#include "fuzz/stop.h"
#include "package/json.h"
#include "template/template.h"

enum { TEXT_LIMIT = 1 << 16 };

/* A refusal has one line, which names the text. */
static void check_status(rmsnorm_status status)
{
    const char *const sentence = rmsnorm_last_error();
    FUZZ_CHECK(status == RMSNORM_OK || strncmp(sentence, "TEXT:", 5) == 0 || status == RMSNORM_OUT_OF_MEMORY);
    FUZZ_CHECK(status == RMSNORM_OK || strpbrk(sentence, "\r\n\t\033") == NULL);
}

static const rmsnorm_template *find(void *user, const char *name, size_t length)
{
    return length == 4 && memcmp(name, "self", 4) == 0 ? *(const rmsnorm_template *const *)user : NULL;
}

static void render(rmsnorm_arena *arena, const rmsnorm_template *parsed, const rmsnorm_map *context)
{
    const rmsnorm_library library = {find, &parsed};
    rmsnorm_evaluation evaluation = {.arena = arena, .steps = 20000};
    const char *text;
    size_t length;
    const rmsnorm_status status =
        rmsnorm_template_render(parsed, context, &library, &evaluation, TEXT_LIMIT, &text, &length);
    check_status(status);
    if (status == RMSNORM_OK) {
        FUZZ_CHECK(length <= TEXT_LIMIT && text[length] == '\0');
        FUZZ_CHECK(memchr(text, '\0', length) == NULL || strlen(text) < length);
    }
}

/* JSON behind a zero byte is the context; else there is one that has a value of each kind. */
static rmsnorm_any make_context(rmsnorm_arena *arena, const char *json, size_t size)
{
    rmsnorm_any context;
    const rmsnorm_status status = size > 0 ? rmsnorm_json_parse(arena, "TEXT", json, size, &context) : RMSNORM_OK;
    check_status(status);
    if (size == 0 || status != RMSNORM_OK || context.kind != RMSNORM_ANY_MAP) {
        const rmsnorm_any map = rmsnorm_any_map(arena);
        context = rmsnorm_any_map(arena);
        FUZZ_CHECK(rmsnorm_map_set(arena, map.as.map, "k", 1, rmsnorm_any_float(0.5)));
        FUZZ_CHECK(rmsnorm_map_set(arena, context.as.map, "n", 1, rmsnorm_any_integer(7)));
        FUZZ_CHECK(rmsnorm_map_set(arena, context.as.map, "s", 1, rmsnorm_any_text("self")));
        FUZZ_CHECK(rmsnorm_map_set(arena, context.as.map, "m", 1, map));
    }
    return context;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, 1 << 20);
    const uint8_t *const end = size > 0 ? memchr(data, '\0', size) : NULL;
    const size_t length = end != NULL ? (size_t)(end - data) : size;
    const rmsnorm_text_source source = {"TEXT", (const char *)data, length};
    const rmsnorm_any context =
        make_context(&arena, (const char *)data + length + (end != NULL), size - length - (end != NULL));
    const rmsnorm_template *parsed;
    const rmsnorm_status status = rmsnorm_template_parse(&arena, &source, &parsed);
    check_status(status);
    if (status == RMSNORM_OK) {
        render(&arena, parsed, context.as.map);
    }
    rmsnorm_arena_release(&arena);
    return 0;
}
