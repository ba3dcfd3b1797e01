#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "graph/safetensors.h"

#include "graph/bytes.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The limit of the format's own reader. */
#define HEADER_LIMIT ((uint64_t)100000000)

#define NAMES 320

/* "a, b, c, d, e, ..." */
static void list_names(const rmsnorm_safetensors_index *index, char names[NAMES])
{
    size_t used = 0;
    names[0] = '\0';
    for (size_t i = 0; i < index->count && i < 5; i++) {
        used += (size_t)snprintf(names + used, NAMES - used, "%s%.60s", i == 0 ? "" : ", ", index->entries[i].name);
    }
    snprintf(names + used, NAMES - used, "%s", index->count > 5 ? ", ..." : "");
}

/* Says what there is instead. */
static rmsnorm_status fail_choice(const char *file, const rmsnorm_safetensors_index *index, const char *wanted)
{
    char names[NAMES];
    list_names(index, names);
    RMSNORM_CHECK(index->count > 0, RMSNORM_NOT_FOUND, "%s: holds no tensors; a file with at least one is needed",
                  file);
    if (wanted == NULL) {
        return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: holds %zu tensors; name one as FILE.safetensors:TENSOR (%s)",
                            file, index->count, names);
    }
    return rmsnorm_fail(RMSNORM_NOT_FOUND, "%s: holds no tensor \"" RMSNORM_NAME "\"; it holds %zu (%s)", file, wanted,
                        index->count, names);
}

static rmsnorm_status choose(const char *file, const rmsnorm_safetensors_index *index, const char *wanted,
                             const rmsnorm_safetensors_entry **chosen)
{
    *chosen = wanted == NULL && index->count == 1 ? &index->entries[0] : NULL;
    for (size_t i = 0; i < index->count && wanted != NULL && *chosen == NULL; i++) {
        *chosen = strcmp(index->entries[i].name, wanted) == 0 ? &index->entries[i] : NULL;
    }
    return *chosen != NULL ? RMSNORM_OK : fail_choice(file, index, wanted);
}

static rmsnorm_status shape_of(const char *file, const rmsnorm_safetensors_entry *entry, rmsnorm_tensor *tensor)
{
    char where[600];
    snprintf(where, sizeof where, "%s: tensor \"" RMSNORM_NAME "\"", file, entry->name);
    const rmsnorm_dtype dtype = rmsnorm_safetensors_dtype(entry->type);
    RMSNORM_CHECK(dtype != RMSNORM_UNDEFINED, RMSNORM_UNSUPPORTED,
                  "%s has element type \"%.20s\"; F32, F64, F16 and BF16 are allowed", where, entry->type);
    const size_t rank = json_array_size(entry->shape);
    int64_t dims[RMSNORM_MAX_RANK];
    for (size_t i = 0; i < rank && i < RMSNORM_MAX_RANK; i++) {
        dims[i] = json_integer_value(json_array_get(entry->shape, i));
    }
    return rmsnorm_shape_set(tensor, where, dtype, rank, dims);
}

/* The source stands behind the header. All sizes were checked against each other; here, against the file. */
static rmsnorm_status read_chosen(rmsnorm_source *source, const rmsnorm_safetensors_index *index, const char *wanted,
                                  rmsnorm_tensor *tensor, const char **name)
{
    const char *const data = "the data of its tensors";
    const rmsnorm_safetensors_entry *entry;
    RMSNORM_TRY(choose(source->file, index, wanted, &entry));
    rmsnorm_tensor result;
    RMSNORM_TRY(shape_of(source->file, entry, &result));
    if (source->sized) {
        const uint64_t left = source->size - source->position;
        RMSNORM_CHECK(left == index->data_size, RMSNORM_MALFORMED,
                      "%s: has %" PRIu64 " bytes after the header, but its tensors take %" PRIu64, source->file, left,
                      index->data_size);
    }
    RMSNORM_TRY(rmsnorm_source_skip(source, entry->begin, data));
    RMSNORM_TRY(rmsnorm_source_elements(source, &result, false, entry->name, name));
    rmsnorm_status status = rmsnorm_source_skip(source, index->data_size - entry->end, data);
    if (status == RMSNORM_OK) {
        status = rmsnorm_source_end(source, data);
    }
    if (status != RMSNORM_OK) {
        free(result.data);
        return status;
    }
    *tensor = result;
    return RMSNORM_OK;
}

/* Reads the header, behind which the source then stands. */
static rmsnorm_status read_index(rmsnorm_source *source, rmsnorm_safetensors_index *index)
{
    const char *const what = "the safetensors header";
    uint8_t length_bytes[8];
    RMSNORM_TRY(rmsnorm_source_read(source, length_bytes, sizeof length_bytes, what));
    const uint64_t length = rmsnorm_bytes_load(length_bytes, sizeof length_bytes);
    RMSNORM_CHECK(length <= HEADER_LIMIT, RMSNORM_MALFORMED,
                  "%s: the safetensors header claims %" PRIu64 " bytes; at most %" PRIu64 " are allowed", source->file,
                  length, HEADER_LIMIT);
    uint8_t *text = NULL;
    RMSNORM_TRY(rmsnorm_source_take(source, length, what, &text));
    const rmsnorm_status status = rmsnorm_safetensors_parse(source->file, (const char *)text, (size_t)length, index);
    free(text);
    return status;
}

rmsnorm_status rmsnorm_safetensors_read(rmsnorm_source *source, const char *wanted, rmsnorm_tensor *tensor,
                                        const char **name)
{
    rmsnorm_safetensors_index index;
    RMSNORM_TRY(read_index(source, &index));
    const rmsnorm_status status = read_chosen(source, &index, wanted, tensor, name);
    rmsnorm_safetensors_close(&index);
    return status;
}

static rmsnorm_status check_only(const char *file, const rmsnorm_safetensors_index *index, const char *name)
{
    char names[NAMES];
    list_names(index, names);
    const bool only = index->count == 0 || (index->count == 1 && strcmp(index->entries[0].name, name) == 0);
    RMSNORM_CHECK(only, RMSNORM_INVALID_ARGUMENT,
                  "%s: holds %zu tensor%s (%s) that writing \"" RMSNORM_NAME
                  "\" would remove; a new file, or one that holds this tensor alone, is allowed",
                  file, index->count, index->count == 1 ? "" : "s", names, name);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_safetensors_check_replaced(const char *path, const char *name)
{
    struct stat there;
    if (stat(path, &there) != 0 || !S_ISREG(there.st_mode) || there.st_size == 0) {
        return RMSNORM_OK;
    }
    rmsnorm_source source;
    rmsnorm_safetensors_index index;
    RMSNORM_TRY(rmsnorm_source_open(&source, path));
    rmsnorm_status status = read_index(&source, &index);
    if (status == RMSNORM_OK) {
        status = check_only(source.file, &index, name);
        rmsnorm_safetensors_close(&index);
    } else {
        char reason[512];
        snprintf(reason, sizeof reason, "%s", rmsnorm_last_error());
        status = rmsnorm_fail(status, "%s; a file that is no .safetensors is not replaced by one", reason);
    }
    rmsnorm_source_close(&source);
    return status;
}

static json_t *describe(const rmsnorm_tensor *tensor, const char *name, uint64_t bytes)
{
    json_t *const shape = json_array();
    bool complete = true;
    for (int32_t i = 0; i < tensor->rank; i++) {
        complete = json_array_append_new(shape, json_integer(tensor->dims[i])) == 0 && complete;
    }
    json_t *const document =
        json_pack("{s:{s:s, s:o, s:[I, I]}}", name, "dtype", rmsnorm_safetensors_type(tensor->dtype), "shape", shape,
                  "data_offsets", (json_int_t)0, (json_int_t)bytes);
    if (!complete) {
        json_decref(document);
        return NULL;
    }
    return document;
}

rmsnorm_status rmsnorm_safetensors_header_write(const char *file, const rmsnorm_tensor *tensor, const char *name,
                                                uint8_t **header, size_t *size)
{
    RMSNORM_CHECK(rmsnorm_text_valid((const uint8_t *)name, strlen(name)) &&
                      strcmp(name, RMSNORM_SAFETENSORS_METADATA) != 0,
                  RMSNORM_INVALID_ARGUMENT,
                  "%s: a tensor cannot be called \"" RMSNORM_NAME
                  "\" in .safetensors; UTF-8 text other than " RMSNORM_SAFETENSORS_METADATA " is allowed",
                  file, name);
    const uint64_t bytes = (uint64_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype);
    json_t *const document = describe(tensor, name, bytes);
    const size_t length = document != NULL ? json_dumpb(document, NULL, 0, JSON_COMPACT) : 0;
    const size_t padded = (length + 7) / 8 * 8; /* so that the data begins at a multiple of 8 */
    uint8_t *const memory = length > 0 ? malloc(8 + padded) : NULL;
    rmsnorm_status status = RMSNORM_OK;
    /* Writing takes memory as well, and gives another length without it. */
    if (memory != NULL && json_dumpb(document, (char *)memory + 8, length, JSON_COMPACT) == length) {
        rmsnorm_bytes_store(memory, 8, padded);
        memset(memory + 8 + length, ' ', padded - length);
        *header = memory;
        *size = 8 + padded;
    } else {
        free(memory);
        status = rmsnorm_fail_memory(file, 8 + padded);
    }
    json_decref(document);
    return status;
}
