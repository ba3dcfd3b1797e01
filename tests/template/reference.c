/* reference: what the reference made of many templates, compared byte for byte with what this project makes of them.
 *
 * usage: reference CASES.json   as reference.mjs writes them
 * Where the reference fails, this project must refuse; where it renders, the same text must come, or a refusal that the case
 * allows. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "template/template.h"

enum { LEAST_COMPARED = 300, MEMORY = 1 << 26, STEPS = 10000000, TEXT = 1 << 22 };

typedef struct tally {
    int equal, random_equal, refused, both_fail, wrong;
} tally;

static rmsnorm_any value_of(rmsnorm_arena *arena, const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_TRUE:
    case JSON_FALSE:
        return rmsnorm_any_boolean(json_is_true(json));
    case JSON_INTEGER:
        return rmsnorm_any_integer(json_integer_value(json));
    case JSON_REAL:
        return rmsnorm_any_float(json_real_value(json));
    case JSON_STRING:
        return rmsnorm_any_string(json_string_value(json), json_string_length(json));
    case JSON_ARRAY: {
        const rmsnorm_any list = rmsnorm_any_list(arena);
        for (size_t i = 0; i < json_array_size(json); i++) {
            if (!rmsnorm_list_push(arena, list.as.list, value_of(arena, json_array_get(json, i)))) {
                abort();
            }
        }
        return list;
    }
    case JSON_OBJECT: {
        const rmsnorm_any map = rmsnorm_any_map(arena);
        const char *key;
        json_t *item;
        json_object_foreach((json_t *)json, key, item)
        {
            if (!rmsnorm_map_set(arena, map.as.map, key, strlen(key), value_of(arena, item))) {
                abort();
            }
        }
        return map;
    }
    default:
        return rmsnorm_any_null();
    }
}

static rmsnorm_status render(rmsnorm_arena *arena, const json_t *context, const json_t *text, const char **rendered,
                             size_t *length)
{
    const rmsnorm_text_source source = {"case", json_string_value(text), json_string_length(text)};
    rmsnorm_evaluation evaluation = {.arena = arena, .steps = STEPS};
    const rmsnorm_template *parsed;
    const rmsnorm_status status = rmsnorm_template_parse(arena, &source, &parsed);
    return status != RMSNORM_OK ? status
                                : rmsnorm_template_render(parsed, value_of(arena, context).as.map, NULL, &evaluation,
                                                          TEXT, rendered, length);
}

static bool is_allowed(const json_t *refusals)
{
    size_t i;
    const json_t *words;
    json_array_foreach(refusals, i, words)
    {
        if (strstr(rmsnorm_last_error(), json_string_value(words)) != NULL) {
            return true;
        }
    }
    return false;
}

static void complain(tally *count, const json_t *one, const char *what, const char *given)
{
    const json_t *const text = json_object_get(one, "text"), *const error = json_object_get(one, "error");
    count->wrong++;
    printf("%s\n  template:  %s\n  reference: %s%s\n  here:      %s\n", what,
           json_string_value(json_object_get(one, "template")), text == NULL ? "fails: " : "",
           json_string_value(text == NULL ? error : text), given);
}

static void check(const json_t *context, const json_t *one, tally *count)
{
    const json_t *const text = json_object_get(one, "text"), *const refusals = json_object_get(one, "refusals");
    const bool random = json_is_true(json_object_get(one, "random"));
    const char *rendered = "";
    size_t length = 0;
    rmsnorm_arena arena;
    rmsnorm_arena_init(&arena, MEMORY);
    const rmsnorm_status status = render(&arena, context, json_object_get(one, "template"), &rendered, &length);
    if (text == NULL && status != RMSNORM_OK) {
        count->both_fail++;
    } else if (text == NULL) {
        complain(count, one, "only the reference fails:", rendered);
    } else if (status != RMSNORM_OK && is_allowed(refusals)) {
        count->refused++;
    } else if (status != RMSNORM_OK) {
        complain(count, one, "refused, though not marked so:", rmsnorm_last_error());
    } else if (length != json_string_length(text) || memcmp(rendered, json_string_value(text), length) != 0) {
        complain(count, one, "another text:", rendered);
    } else if (!random && json_array_size(refusals) > 0) {
        complain(count, one, "marked as refused, but rendered:", rendered);
    } else {
        count->equal++;
        count->random_equal += random;
    }
    rmsnorm_arena_release(&arena);
}

int main(int argc, char **argv)
{
    json_error_t error;
    json_t *const file = argc == 2 ? json_load_file(argv[1], JSON_ALLOW_NUL, &error) : NULL;
    if (file == NULL) {
        fprintf(stderr, "reference: %s\n", argc == 2 ? error.text : "usage: reference CASES.json");
        return 2;
    }
    tally count = {0};
    size_t i;
    const json_t *one;
    json_array_foreach(json_object_get(file, "cases"), i, one)
    {
        check(json_object_get(file, "context"), one, &count);
    }
    printf("%d texts are the same (%d of them random); %d refused here as marked; %d failed in both; %d wrong\n",
           count.equal, count.random_equal, count.refused, count.both_fail, count.wrong);
    if (count.random_equal < LEAST_COMPARED) {
        printf("fewer than %d random texts were compared\n", LEAST_COMPARED);
    }
    json_decref(file);
    return count.wrong > 0 || count.random_equal < LEAST_COMPARED;
}
