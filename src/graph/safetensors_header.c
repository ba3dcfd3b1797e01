#include "graph/bytes.h"
#include "graph/safetensors.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Types smaller than a byte are not listed: their sizes are not checked, and none of the four is among them. */
static const struct {
    const char *name;
    uint64_t size;
    rmsnorm_dtype dtype;
} types[] = {
    {"F16", 2, RMSNORM_FLOAT16},       {"BF16", 2, RMSNORM_BFLOAT16},     {"F32", 4, RMSNORM_FLOAT},
    {"F64", 8, RMSNORM_DOUBLE},        {"BOOL", 1, RMSNORM_UNDEFINED},    {"U8", 1, RMSNORM_UNDEFINED},
    {"I8", 1, RMSNORM_UNDEFINED},      {"U16", 2, RMSNORM_UNDEFINED},     {"I16", 2, RMSNORM_UNDEFINED},
    {"U32", 4, RMSNORM_UNDEFINED},     {"I32", 4, RMSNORM_UNDEFINED},     {"U64", 8, RMSNORM_UNDEFINED},
    {"I64", 8, RMSNORM_UNDEFINED},     {"F8_E4M3", 1, RMSNORM_UNDEFINED}, {"F8_E5M2", 1, RMSNORM_UNDEFINED},
    {"F8_E8M0", 1, RMSNORM_UNDEFINED}, {"C64", 8, RMSNORM_UNDEFINED},
};

static const size_t type_count = sizeof types / sizeof types[0];

const char *rmsnorm_safetensors_type(rmsnorm_dtype dtype)
{
    for (size_t i = 0; i < type_count && dtype != RMSNORM_UNDEFINED; i++) {
        if (types[i].dtype == dtype) {
            return types[i].name;
        }
    }
    return NULL;
}

rmsnorm_dtype rmsnorm_safetensors_dtype(const char *type)
{
    for (size_t i = 0; i < type_count; i++) {
        if (strcmp(types[i].name, type) == 0) {
            return types[i].dtype;
        }
    }
    return RMSNORM_UNDEFINED;
}

/* Whether the document is flat enough and small enough to be built. An object costs jansson some 400 bytes and an
 * element some 120, so a header of "[],[],[]" would take fifty times its size. An honest one takes about twenty, but
 * is small: 64 MiB are enough for 30,000 tensors whatever their names. */
static rmsnorm_status check_weight(const char *file, const char *text, size_t size)
{
    const uint64_t limit = ((uint64_t)64 << 20) + 10 * (uint64_t)size;
    const int depth_limit = 3; /* the header, a tensor, its shape */
    uint64_t weight = 0;
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; i++) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\';
            quoted = c != '"';
            weight += 2;
        } else if (c == '{' || c == '[') {
            depth++;
            weight += 400;
        } else if (c == '}' || c == ']') {
            depth--;
        } else if (c == ',' || c == ':') {
            weight += 120;
        } else {
            quoted = c == '"';
        }
        RMSNORM_CHECK(depth <= depth_limit, RMSNORM_MALFORMED,
                      "%s: the safetensors header is nested deeper than its format", file);
        RMSNORM_CHECK(weight <= limit, RMSNORM_MALFORMED,
                      "%s: the safetensors header holds far more items than tensors need", file);
    }
    return RMSNORM_OK;
}

static bool read_natural(const json_t *value, uint64_t *number)
{
    const json_int_t integer = json_integer_value(value);
    *number = (uint64_t)integer;
    return json_is_integer(value) && integer >= 0;
}

static rmsnorm_status check_metadata(const char *file, const json_t *metadata)
{
    bool strings = json_is_object(metadata);
    for (void *at = json_object_iter((json_t *)metadata); at != NULL;
         at = json_object_iter_next((json_t *)metadata, at)) {
        strings = strings && json_is_string(json_object_iter_value(at));
    }
    RMSNORM_CHECK(strings, RMSNORM_MALFORMED,
                  "%s: the safetensors header has a " RMSNORM_SAFETENSORS_METADATA " that is not strings by name",
                  file);
    return RMSNORM_OK;
}

/* Bytes by shape and type must be those between the offsets. */
static rmsnorm_status check_size(const char *file, const rmsnorm_safetensors_entry *entry)
{
    uint64_t item = 0;
    for (size_t i = 0; i < type_count; i++) {
        item = strcmp(types[i].name, entry->type) == 0 ? types[i].size : item;
    }
    uint64_t bytes = item;
    bool empty = false;
    bool fits = true;
    for (size_t i = 0; i < json_array_size(entry->shape); i++) {
        uint64_t dim;
        RMSNORM_CHECK(read_natural(json_array_get(entry->shape, i), &dim), RMSNORM_MALFORMED,
                      "%s: tensor \"" RMSNORM_NAME "\" has a dim %zu that is no integer >= 0", file, entry->name, i);
        empty = empty || dim == 0;
        fits = fits && (dim == 0 || bytes <= INT64_MAX / dim);
        bytes = fits ? bytes * dim : bytes;
    }
    bytes = empty ? 0 : bytes;
    RMSNORM_CHECK(fits || empty, RMSNORM_MALFORMED,
                  "%s: tensor \"" RMSNORM_NAME "\" has a shape whose bytes do not fit 63 bits", file, entry->name);
    RMSNORM_CHECK(item == 0 || bytes == entry->end - entry->begin, RMSNORM_MALFORMED,
                  "%s: tensor \"" RMSNORM_NAME "\" has %" PRIu64
                  " bytes by data_offsets, but its shape and type need %" PRIu64,
                  file, entry->name, entry->end - entry->begin, bytes);
    return RMSNORM_OK;
}

static rmsnorm_status read_entry(const char *file, const char *name, const json_t *value,
                                 rmsnorm_safetensors_entry *entry)
{
    const json_t *const offsets = json_object_get(value, "data_offsets");
    *entry = (rmsnorm_safetensors_entry){.name = name,
                                         .type = json_string_value(json_object_get(value, "dtype")),
                                         .shape = json_object_get(value, "shape")};
    RMSNORM_CHECK(entry->type != NULL && json_is_array(entry->shape) && json_is_array(offsets), RMSNORM_MALFORMED,
                  "%s: tensor \"" RMSNORM_NAME "\" lacks a dtype (string), a shape (array) or data_offsets (array)",
                  file, name);
    RMSNORM_CHECK(json_array_size(offsets) == 2 && read_natural(json_array_get(offsets, 0), &entry->begin) &&
                      read_natural(json_array_get(offsets, 1), &entry->end) && entry->begin <= entry->end,
                  RMSNORM_MALFORMED,
                  "%s: tensor \"" RMSNORM_NAME "\" has data_offsets that are not [begin, end], 0 <= begin <= end", file,
                  name);
    return check_size(file, entry);
}

static int compare_entries(const void *left, const void *right)
{
    const rmsnorm_safetensors_entry *const a = left;
    const rmsnorm_safetensors_entry *const b = right;
    if (a->begin != b->begin) {
        return a->begin < b->begin ? -1 : 1;
    }
    return (a->end > b->end) - (a->end < b->end);
}

/* Every byte of the data belongs to exactly one tensor. */
static rmsnorm_status check_cover(const char *file, rmsnorm_safetensors_index *index)
{
    if (index->count > 0) {
        qsort(index->entries, index->count, sizeof *index->entries, compare_entries);
    }
    uint64_t covered = 0;
    for (size_t i = 0; i < index->count; i++) {
        const rmsnorm_safetensors_entry *const entry = &index->entries[i];
        RMSNORM_CHECK(entry->begin == covered, RMSNORM_MALFORMED,
                      "%s: tensor \"" RMSNORM_NAME "\" begins at byte %" PRIu64 " of the data, %s %" PRIu64
                      ", where the one before it ends",
                      file, entry->name, entry->begin, entry->begin < covered ? "before" : "after", covered);
        covered = entry->end;
    }
    index->data_size = covered;
    return RMSNORM_OK;
}

static rmsnorm_status fill_index(const char *file, rmsnorm_safetensors_index *index)
{
    index->entries = calloc(json_object_size(index->document) + 1, sizeof *index->entries);
    if (index->entries == NULL) {
        return rmsnorm_fail_memory(file, json_object_size(index->document) * sizeof *index->entries);
    }
    json_t *const document = index->document;
    for (void *at = json_object_iter(document); at != NULL; at = json_object_iter_next(document, at)) {
        const char *const name = json_object_iter_key(at);
        const json_t *const value = json_object_iter_value(at);
        if (strcmp(name, RMSNORM_SAFETENSORS_METADATA) == 0) {
            RMSNORM_TRY(check_metadata(file, value));
        } else {
            RMSNORM_TRY(read_entry(file, name, value, &index->entries[index->count++]));
        }
    }
    return check_cover(file, index);
}

rmsnorm_status rmsnorm_safetensors_parse(const char *file, const char *text, size_t size,
                                         rmsnorm_safetensors_index *index)
{
    *index = (rmsnorm_safetensors_index){.document = NULL};
    RMSNORM_CHECK(size > 0 && text[0] == '{', RMSNORM_MALFORMED,
                  "%s: the safetensors header does not begin with a brace", file);
    RMSNORM_TRY(check_weight(file, text, size));
    json_error_t error;
    index->document = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (index->document == NULL) {
        if (error.text[0] == '\0') { /* so jansson reports a lack of memory, when it does not take it for bad JSON */
            return rmsnorm_fail_memory(file, size);
        }
        return rmsnorm_fail(RMSNORM_MALFORMED, "%s: the safetensors header is not the JSON it must be: %s", file,
                            error.text);
    }
    const rmsnorm_status status = fill_index(file, index);
    if (status != RMSNORM_OK) {
        rmsnorm_safetensors_close(index);
    }
    return status;
}

void rmsnorm_safetensors_close(rmsnorm_safetensors_index *index)
{
    json_decref(index->document);
    free(index->entries);
    *index = (rmsnorm_safetensors_index){.document = NULL};
}
