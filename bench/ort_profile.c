#include "ort_profile.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *const text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* "NODE_kernel_time", of category "Node". */
static bool is_kernel(const json_t *event)
{
    static const char ending[] = "_kernel_time";
    const char *const name = text_of(event, "name");
    const size_t length = strlen(name);
    return strcmp(text_of(event, "cat"), "Node") == 0 && length >= sizeof ending - 1 &&
           strcmp(name + length - (sizeof ending - 1), ending) == 0;
}

/* Fused nodes have names for types that end in two numbers: PROVIDER_HASH_INDEX; they are one kind. */
static void name_kind(const json_t *arguments, bench_model_kind *kind)
{
    const char *const op = text_of(arguments, "op_name"), *const provider = text_of(arguments, "provider");
    const size_t length = strlen(provider);
    const bool fused = length > 0 && strncmp(op, provider, length) == 0 && op[length] == '_';
    snprintf(kind->op, sizeof kind->op, "%s", fused ? "(fused)" : op);
    snprintf(kind->provider, sizeof kind->provider, "%s", provider);
}

static void add(bench_model_kind *kinds, size_t *count, const json_t *event, size_t runs)
{
    bench_model_kind kind = {.nodes = 0};
    size_t at = 0;
    name_kind(json_object_get(event, "args"), &kind);
    while (at < *count && (strcmp(kinds[at].op, kind.op) != 0 || strcmp(kinds[at].provider, kind.provider) != 0)) {
        at++;
    }
    if (at == BENCH_MODEL_KINDS) {
        return;
    }
    if (at == *count) {
        kinds[(*count)++] = kind;
    }
    kinds[at].nodes += 1.0 / (double)runs;
    kinds[at].microseconds += json_number_value(json_object_get(event, "dur")) / (double)runs;
}

static int compare(const void *a, const void *b)
{
    const double x = ((const bench_model_kind *)a)->microseconds;
    const double y = ((const bench_model_kind *)b)->microseconds;
    return (x < y) - (x > y);
}

bool bench_profile_read(const char *path, size_t runs, bench_model_kind *kinds, size_t *count, char why[256])
{
    json_error_t error;
    json_t *const profile = json_load_file(path, 0, &error);
    size_t i, kernels = 0, seen = 0;
    const json_t *event;
    *count = 0;
    if (profile == NULL) {
        snprintf(why, 256, "ONNX Runtime's profile cannot be read: %s", error.text);
        return false;
    }
    json_array_foreach(profile, i, event)
    {
        kernels += is_kernel(event);
    }
    json_array_foreach(profile, i, event)
    {
        if (is_kernel(event) && seen++ >= kernels / (runs + 1)) {
            add(kinds, count, event, runs);
        }
    }
    json_decref(profile);
    qsort(kinds, *count, sizeof kinds[0], compare);
    return true;
}
