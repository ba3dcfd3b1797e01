/* tune_source.c: what of a package there is to try: manifest.json's variants and bench.json's tunables, on bench.json's cases. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "json.h"
#include "text.h"
#include "tune.h"

/* ---- Variants and tunables ------------------------------------------------------------------- */

/* Manifest and bench.json were read when the package was opened or built; only what is used here is looked at. */
static json_t *load(const rmsnorm_package *package, const char *name)
{
    size_t size;
    const char *const text = rmsnorm_package_text(package, name, &size);
    return text == NULL ? NULL : json_loadb(text, size, 0, NULL);
}

/* A name is tried and kept whole or not at all: what is left of a cut one could be another. */
static int copy_name(const rmsnorm_cli_tune_source *source, const char *name, char *to, size_t size)
{
    if (strlen(name) >= size) {
        return rmsnorm_cli_fail("%s: the name %.80s is longer than the %zu bytes that a tuning file holds",
                                source->info.name, name, size - 1);
    }
    (void)snprintf(to, size, "%s", name);
    return RMSNORM_CLI_DONE;
}

static int read_knob(rmsnorm_cli_tune_source *source, const char *name, const json_t *tunable, const json_t *tried)
{
    if (source->knob_count == RMSNORM_MAX_TUNABLES || tunable == NULL) {
        return rmsnorm_cli_fail("%s: bench.json has a tunable %.32s that the manifest has not", source->info.name,
                                name);
    }
    rmsnorm_cli_tune_knob *const knob = &source->knobs[source->knob_count++];
    size_t i;
    const json_t *value;
    if (copy_name(source, name, knob->name, sizeof knob->name) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    knob->standard = json_integer_value(json_object_get(tunable, "default"));
    json_array_foreach(tried, i, value)
    {
        if (knob->count < RMSNORM_CLI_TUNE_VALUES) {
            knob->values[knob->count++] = json_integer_value(value);
        }
    }
    return RMSNORM_CLI_DONE;
}

static int read_space(rmsnorm_cli_tune_source *source, const json_t *manifest, json_t *tried)
{
    size_t i;
    const json_t *variant;
    json_array_foreach(json_object_get(manifest, "variants"), i, variant)
    {
        const char *const name = json_string_value(json_object_get(variant, "name"));
        if (name != NULL && source->variant_count < RMSNORM_CLI_TUNE_VARIANTS &&
            copy_name(source, name, source->variants[source->variant_count++], sizeof source->variants[0]) !=
                RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    const json_t *const tunables = json_object_get(manifest, "tunables");
    for (void *at = json_object_iter(tried); at != NULL; at = json_object_iter_next(tried, at)) {
        const char *const name = json_object_iter_key(at);
        if (read_knob(source, name, json_object_get(tunables, name), json_object_iter_value(at)) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return RMSNORM_CLI_DONE;
}

/* ---- Cases ----------------------------------------------------------------------------------- */

static int read_tensor(const char *where, const json_t *object, rmsnorm_tensor *tensor)
{
    const char *const dtype = json_string_value(json_object_get(object, "dtype"));
    const json_t *const shape = json_object_get(object, "shape");
    tensor->dtype = dtype == NULL ? RMSNORM_UNDEFINED : rmsnorm_dtype_from_name(dtype);
    tensor->rank = (int32_t)json_array_size(shape);
    if (tensor->dtype == RMSNORM_UNDEFINED || tensor->rank < 1 || tensor->rank > RMSNORM_MAX_RANK) {
        return rmsnorm_cli_fail("%s: allowed is {\"dtype\": TYPE, \"shape\": [DIM, ...]}", where);
    }
    for (int32_t i = 0; i < tensor->rank; ++i) {
        tensor->dims[i] = json_integer_value(json_array_get(shape, (size_t)i));
        if (tensor->dims[i] < 1) {
            return rmsnorm_cli_fail("%s: dim %d is no whole number from 1", where, (int)i);
        }
    }
    return RMSNORM_CLI_DONE;
}

static bool has_text(const json_t *list, const char *text)
{
    size_t i;
    const json_t *item;
    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && strcmp(json_string_value(item), text) == 0) {
            return true;
        }
    }
    return false;
}

static int read_case(const rmsnorm_cli_tune_source *source, const json_t *object, rmsnorm_cli_tune_case *what)
{
    const char *const name = json_string_value(json_object_get(object, "name"));
    const json_t *const inputs = json_object_get(object, "inputs");
    size_t found = 0;
    (void)snprintf(what->name, sizeof what->name, "%s", name == NULL ? "?" : name);
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        const json_t *const input =
            i < source->info.input_count ? json_object_get(inputs, source->info.inputs[i].key) : NULL;
        what->inputs[i].rank = RMSNORM_UNKNOWN;
        if (input != NULL) {
            char where[256];
            (void)snprintf(where, sizeof where, "%.60s: bench.json, case '%.80s', input %.40s", source->info.name,
                           what->name, source->info.inputs[i].key);
            if (read_tensor(where, input, &what->inputs[i]) != RMSNORM_CLI_DONE) {
                return RMSNORM_CLI_BAD;
            }
            ++found;
        }
        if (i < source->info.output_count) {
            what->wanted[i] = !source->info.outputs[i].optional ||
                              has_text(json_object_get(object, "outputs"), source->info.outputs[i].key);
        }
    }
    return found == json_object_size(inputs) && found > 0
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s: bench.json, case '%.80s': its inputs are not those of the package",
                                  source->info.name, what->name);
}

/* ---- Shapes of the command line -------------------------------------------------------------- */

static bool same_kind(const rmsnorm_cli_tune_case *a, const rmsnorm_cli_tune_case *b)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        if (a->wanted[i] != b->wanted[i] || (a->inputs[i].rank < 0) != (b->inputs[i].rank < 0) ||
            a->inputs[i].dtype != b->inputs[i].dtype) {
            return false;
        }
    }
    return true;
}

static int read_shape(const char *word, int64_t shape[2])
{
    const long long most = 1LL << 36;
    char *end;
    shape[0] = strtoll(word, &end, 10);
    shape[1] = *end == 'x' ? strtoll(end + 1, &end, 10) : 0;
    return *end == '\0' && shape[0] >= 1 && shape[1] >= 1 && shape[0] <= most && shape[1] <= most / shape[0]
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("--shape is '%s', allowed is ROWSxWIDTH, both at least 1, at most 2^36 elements",
                                  word);
}

/* The case with other rows and another width: a tensor of one dim is a row. */
static rmsnorm_cli_tune_case reshaped(const rmsnorm_cli_tune_source *source, const rmsnorm_cli_tune_case *from,
                                      const char *word, const int64_t shape[2], bool optional)
{
    rmsnorm_cli_tune_case made = *from;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; ++i) {
        rmsnorm_tensor *const tensor = &made.inputs[i];
        if (tensor->rank >= 1) {
            tensor->rank = tensor->rank == 1 ? 1 : 2;
            tensor->dims[0] = tensor->rank == 1 ? shape[1] : shape[0];
            tensor->dims[1] = tensor->rank == 1 ? 0 : shape[1];
        }
    }
    made.name[0] = '\0';
    rmsnorm_cli_append(made.name, sizeof made.name, "%.40s, %s", word, rmsnorm_dtype_name(made.inputs[0].dtype));
    for (size_t i = 0; i < source->info.output_count; ++i) {
        made.wanted[i] = made.wanted[i] && (optional || !source->info.outputs[i].optional);
        if (made.wanted[i] && source->info.outputs[i].optional) {
            rmsnorm_cli_append(made.name, sizeof made.name, " + %s", source->info.outputs[i].key);
        }
    }
    return made;
}

/* Adds the case to those of the same shape, unless it is there. */
static void add_new(rmsnorm_cli_tune_case *cases, size_t first, size_t *count, const rmsnorm_cli_tune_case *made)
{
    for (size_t i = first; i < *count; ++i) {
        if (same_kind(&cases[i], made)) {
            return;
        }
    }
    cases[(*count)++] = *made;
}

static int replace_shapes(rmsnorm_cli_tune_source *source, const rmsnorm_cli_list *words)
{
    rmsnorm_cli_tune_case *const made = rmsnorm_cli_allocate(2 * source->case_count * words->count, sizeof *made);
    size_t count = 0;
    int code = RMSNORM_CLI_DONE;
    for (size_t w = 0; w < words->count && code == RMSNORM_CLI_DONE; ++w) {
        const size_t first = count;
        int64_t shape[2];
        code = read_shape(words->items[w], shape);
        for (size_t i = 0; i < 2 * source->case_count && code == RMSNORM_CLI_DONE; ++i) {
            const rmsnorm_cli_tune_case next =
                reshaped(source, &source->cases[i / 2], words->items[w], shape, i % 2 != 0);
            add_new(made, first, &count, &next);
        }
    }
    free(source->cases);
    source->cases = made;
    source->case_count = count;
    return code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int read_cases(rmsnorm_cli_tune_source *source, const json_t *list)
{
    source->case_count = json_array_size(list);
    source->cases = rmsnorm_cli_allocate(source->case_count, sizeof *source->cases);
    for (size_t i = 0; i < source->case_count; ++i) {
        if (read_case(source, json_array_get(list, i), &source->cases[i]) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return source->case_count > 0
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s: there is no bench.json with cases to tune on", source->info.name);
}

int rmsnorm_cli_tune_source_open(rmsnorm_package *package, const rmsnorm_cli_list *shapes,
                                 rmsnorm_cli_tune_source *source)
{
    *source = (rmsnorm_cli_tune_source){.package = package};
    rmsnorm_package_describe(package, &source->info);
    source->op = rmsnorm_operator_find(source->info.domain, source->info.operator_name, source->info.since_version);
    if (source->op == NULL) {
        return rmsnorm_cli_fail("%s: its results cannot be checked: %s", source->info.name, rmsnorm_last_error());
    }
    json_t *const manifest = load(package, "manifest.json");
    json_t *const bench = load(package, "bench.json");
    int code = read_space(source, manifest, json_object_get(bench, "tunables"));
    if (code == RMSNORM_CLI_DONE) {
        code = read_cases(source, json_object_get(bench, "cases"));
    }
    if (code == RMSNORM_CLI_DONE && shapes->count > 0) {
        code = replace_shapes(source, shapes);
    }
    json_decref(manifest);
    json_decref(bench);
    return code;
}

void rmsnorm_cli_tune_source_close(rmsnorm_cli_tune_source *source)
{
    rmsnorm_package_close(source->package);
    free(source->cases);
    *source = (rmsnorm_cli_tune_source){.package = NULL};
}
