/* render.c: a template by itself, for whoever writes one. */
#include <stdlib.h>
#include <string.h>

#include "package/json.h"
#include "template/template.h"
#include "rmsnorm/package.h"

#define STEP_LIMIT 10000000
#define MEMORY_LIMIT ((size_t)64 << 20)
#define TEXT_LIMIT ((size_t)16 << 20)

static rmsnorm_status render(rmsnorm_arena *arena, const rmsnorm_text_source *source, const char *context,
                             const char **text, size_t *length)
{
    rmsnorm_any json;
    const rmsnorm_template *parsed;
    rmsnorm_evaluation evaluation = {.arena = arena, .steps = STEP_LIMIT};
    RMSNORM_TRY(rmsnorm_json_parse(arena, "context", context, strlen(context), &json));
    RMSNORM_CHECK(json.kind == RMSNORM_ANY_MAP, RMSNORM_MALFORMED,
                  "context: a JSON object is wanted, of variables by name");
    RMSNORM_TRY(rmsnorm_template_parse(arena, source, &parsed));
    return rmsnorm_template_render(parsed, json.as.map, NULL, &evaluation, TEXT_LIMIT, text, length);
}

rmsnorm_status rmsnorm_template_render_json(const char *name, const char *source, size_t length, const char *context,
                                            char **text)
{
    const rmsnorm_text_source named = {name, source, length};
    rmsnorm_arena arena;
    const char *rendered;
    size_t size;
    RMSNORM_CHECK(name != NULL && (source != NULL || length == 0) && context != NULL && text != NULL,
                  RMSNORM_INVALID_ARGUMENT, "rmsnorm_template_render_json: name, source, context or text is NULL");
    *text = NULL;
    rmsnorm_arena_init(&arena, MEMORY_LIMIT);
    rmsnorm_status status = render(&arena, &named, context, &rendered, &size);
    if (status == RMSNORM_OK) {
        *text = malloc(size + 1);
        if (*text != NULL) {
            memcpy(*text, rendered, size + 1);
        } else {
            status = rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "%s: no memory for %zu bytes of text", name, size);
        }
    }
    rmsnorm_arena_release(&arena);
    return status;
}
