#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "graph/external.h"

#include "graph/bytes.h"
#include "graph/source.h"
#include "operator/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Tensors may share data, so a file may be read more than once, but not without end. */
enum { SHARES = 4 };
#define ALLOWANCE_BASE ((uint64_t)64 << 20)

/* ---- Folders --------------------------------------------------------------------------------- */

static void cut_name(char *path)
{
    char *const slash = strrchr(path, '/');
    slash[slash == path] = '\0';
}

rmsnorm_status rmsnorm_external_init(rmsnorm_external *external, const char *path)
{
    *external = (rmsnorm_external){.file.descriptor = -1, .allowance = ALLOWANCE_BASE};
    if (path == NULL || strcmp(path, "-") == 0) {
        return RMSNORM_OK;
    }
    char *const named = malloc(strlen(path) + 3);
    if (named == NULL) {
        return rmsnorm_fail_memory(rmsnorm_file_display(path), strlen(path));
    }
    sprintf(named, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    cut_name(named);
    external->folders[0] = realpath(named, NULL);
    external->folders[1] = external->folders[0] == NULL ? NULL : realpath(path, NULL);
    const int error = errno;
    free(named);
    if (external->folders[1] == NULL) {
        rmsnorm_external_release(external);
        return rmsnorm_fail(rmsnorm_file_status(error), "%s: its folder cannot be found: %s",
                            rmsnorm_file_display(path), strerror(error));
    }
    cut_name(external->folders[1]);
    return RMSNORM_OK;
}

static void close_file(rmsnorm_external *external)
{
    if (external->file.descriptor >= 0) {
        close(external->file.descriptor);
    }
    external->file.descriptor = -1;
    free(external->location);
    external->location = NULL;
}

void rmsnorm_external_release(rmsnorm_external *external)
{
    close_file(external);
    free(external->folders[0]);
    free(external->folders[1]);
    free(external->seen);
    *external = (rmsnorm_external){.file.descriptor = -1};
}

static bool is_inside(const char *path, const char *folder)
{
    const size_t length = strlen(folder);
    return strcmp(folder, "/") == 0 || (strncmp(path, folder, length) == 0 && path[length] == '/');
}

/* ---- What a tensor says ---------------------------------------------------------------------- */

bool rmsnorm_external_has(const Onnx__TensorProto *proto)
{
    return proto->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}

/* NULL: not given. */
static rmsnorm_status find_entry(const char *where, const Onnx__TensorProto *proto, const char *key, const char **value)
{
    *value = NULL;
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const Onnx__StringStringEntryProto *const entry = proto->external_data[i];
        if (entry->key != NULL && strcmp(entry->key, key) == 0) {
            RMSNORM_CHECK(*value == NULL, RMSNORM_MALFORMED, "%s gives the %s of its data twice", where, key);
            *value = entry->value != NULL ? entry->value : "";
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_external_location(const char *where, const Onnx__TensorProto *proto, const char **location)
{
    RMSNORM_TRY(find_entry(where, proto, "location", location));
    RMSNORM_CHECK(*location != NULL && (*location)[0] != '\0', RMSNORM_MALFORMED,
                  "%s has its data in another file but does not say in which", where);
    bool relative = (*location)[0] != '/';
    for (const char *at = *location; relative && at != NULL; at = strchr(at, '/')) {
        at += at[0] == '/';
        relative = strncmp(at, "..", 2) != 0 || (at[2] != '/' && at[2] != '\0');
    }
    RMSNORM_CHECK(relative, RMSNORM_MALFORMED,
                  "%s has its data in \"" RMSNORM_NAME "\"; only files in or below the model's folder are allowed",
                  where, *location);
    return RMSNORM_OK;
}

static rmsnorm_status read_number(const char *where, const Onnx__TensorProto *proto, const char *key, bool *given,
                                  uint64_t *number)
{
    const char *text;
    RMSNORM_TRY(find_entry(where, proto, key, &text));
    *given = text != NULL;
    *number = 0;
    bool sound = text == NULL || text[0] != '\0';
    for (const char *at = text; sound && at != NULL && *at != '\0'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        sound = *at >= '0' && *at <= '9' && *number <= (INT64_MAX - digit) / 10;
        *number = sound ? *number * 10 + digit : 0;
    }
    RMSNORM_CHECK(sound, RMSNORM_MALFORMED,
                  "%s has \"" RMSNORM_NAME "\" as the %s of its data; a decimal number of 63 bits is allowed", where,
                  text, key);
    return RMSNORM_OK;
}

unsigned rmsnorm_external_bits(int32_t data_type)
{
    /* undefined, float, uint8, int8, uint16, int16, int32, int64, string, bool, float16, double, uint32, uint64, complex64,
     * complex128, bfloat16, four of float8, uint4, int4, float4, float8e8m0, uint2, int2 */
    static const uint8_t bits[] = {0,  32,  8,  8, 16, 16, 32, 64, 0, 8, 16, 64, 32, 64,
                                   64, 128, 16, 8, 8,  8,  8,  4,  4, 4, 8,  2,  2};
    return data_type >= 0 && (size_t)data_type < sizeof bits ? bits[data_type] : 0;
}

/* ---- Files ----------------------------------------------------------------------------------- */

static rmsnorm_status fail_system(const char *where, const char *location)
{
    const int error = errno;
    return rmsnorm_fail(error == ENOENT ? RMSNORM_NOT_FOUND : rmsnorm_file_status(error),
                        "%s has its data in \"" RMSNORM_NAME "\", which cannot be read: %s", where, location,
                        strerror(error));
}

/* Without waiting for a pipe's other end. */
static rmsnorm_status open_resolved(const char *where, const char *location, const char *path,
                                    rmsnorm_external_file *file)
{
    file->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);
    if (file->descriptor < 0) {
        return fail_system(where, location);
    }
    const bool known = rmsnorm_file_mark_open(file->descriptor, &file->mark);
    if (known && file->mark.regular) {
        return RMSNORM_OK;
    }
    const rmsnorm_status status =
        known ? rmsnorm_fail(RMSNORM_MALFORMED, "%s has its data in \"" RMSNORM_NAME "\", which is no regular file",
                             where, location)
              : fail_system(where, location);
    close(file->descriptor);
    file->descriptor = -1;
    return status;
}

static rmsnorm_status open_below(rmsnorm_external *external, const char *where, const char *location)
{
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s/%s", external->folders[0], location);
    errno = ENAMETOOLONG;
    char *const resolved = length >= 0 && (size_t)length < sizeof path ? realpath(path, NULL) : NULL;
    if (resolved == NULL) {
        return fail_system(where, location);
    }
    rmsnorm_status status;
    if (is_inside(resolved, external->folders[0]) || is_inside(resolved, external->folders[1])) {
        status = open_resolved(where, location, resolved, &external->file);
    } else {
        status = rmsnorm_fail(RMSNORM_MALFORMED,
                              "%s has its data in \"" RMSNORM_NAME
                              "\", a symbolic link out of the model's folder, which is not followed",
                              where, location);
    }
    free(resolved);
    return status;
}

/* A file adds to the allowance when it is seen first, whatever names lead to it. */
static rmsnorm_status count_file(rmsnorm_external *external, const char *where)
{
    const rmsnorm_file_mark *const mark = &external->file.mark;
    for (size_t i = external->seen_count; i > 0; i--) {
        if (rmsnorm_file_is_same(&external->seen[i - 1], mark)) {
            return RMSNORM_OK;
        }
    }
    if (external->seen_count == external->seen_capacity) {
        const size_t larger = 2 * external->seen_capacity + 8;
        rmsnorm_file_mark *const seen = realloc(external->seen, larger * sizeof *external->seen);
        if (seen == NULL) {
            return rmsnorm_fail_memory(where, larger * sizeof *external->seen);
        }
        external->seen = seen;
        external->seen_capacity = larger;
    }
    external->seen[external->seen_count++] = *mark;
    const uint64_t size = mark->size;
    const uint64_t most = RMSNORM_FILE_LIMIT * 1024;
    external->allowance += SHARES * (size < RMSNORM_FILE_LIMIT ? size : RMSNORM_FILE_LIMIT);
    external->allowance = external->allowance < most ? external->allowance : most;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_external_open(rmsnorm_external *external, const char *where, const char *location,
                                     const rmsnorm_external_file **file)
{
    RMSNORM_CHECK(external->folders[0] != NULL, RMSNORM_UNSUPPORTED,
                  "%s has its data in \"" RMSNORM_NAME
                  "\", in the folder of the model, and a stream has none; name the model's file",
                  where, location);
    *file = &external->file;
    if (external->location != NULL && strcmp(external->location, location) == 0) {
        return RMSNORM_OK;
    }
    close_file(external);
    const size_t length = strlen(location) + 1;
    char *const copy = malloc(length);
    if (copy == NULL) {
        return rmsnorm_fail_memory(where, length);
    }
    memcpy(copy, location, length);
    rmsnorm_status status = open_below(external, where, location);
    if (status == RMSNORM_OK) {
        external->location = copy;
        status = count_file(external, where);
    } else {
        free(copy);
    }
    return status;
}

static rmsnorm_status find(rmsnorm_external *external, const char *where, const Onnx__TensorProto *proto,
                           uint64_t needed, uint64_t *offset)
{
    const char *location;
    const rmsnorm_external_file *file;
    uint64_t length;
    bool given;
    RMSNORM_TRY(rmsnorm_external_location(where, proto, &location));
    RMSNORM_TRY(read_number(where, proto, "offset", &given, offset));
    RMSNORM_TRY(read_number(where, proto, "length", &given, &length));
    const bool known = needed != UINT64_MAX;
    RMSNORM_CHECK(!given || !known || length == needed, RMSNORM_MALFORMED,
                  "%s has %" PRIu64 " bytes in \"" RMSNORM_NAME "\", but its shape and type need %" PRIu64, where,
                  length, location, needed);
    RMSNORM_TRY(rmsnorm_external_open(external, where, location, &file));
    const uint64_t size = file->mark.size;
    length = known ? needed : length;
    RMSNORM_CHECK(*offset <= size && length <= size - *offset, RMSNORM_MALFORMED,
                  "%s has its data in \"" RMSNORM_NAME "\", %" PRIu64 " bytes from byte %" PRIu64
                  " on, but that file ends after %" PRIu64,
                  where, location, length, *offset, size);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_external_check(rmsnorm_external *external, const char *where, const Onnx__TensorProto *proto,
                                      uint64_t needed)
{
    uint64_t offset;
    return find(external, where, proto, needed, &offset);
}

static rmsnorm_status read_at(const char *where, const rmsnorm_external *external, uint64_t offset, uint8_t *to,
                              size_t size)
{
    for (size_t got = 0; got < size;) {
        const size_t most = (size_t)1 << 30;
        const size_t wanted = size - got < most ? size - got : most;
        const ssize_t count = pread(external->file.descriptor, to + got, wanted, (off_t)(offset + got));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail_system(where, external->location);
        }
        RMSNORM_CHECK(count > 0, RMSNORM_MALFORMED,
                      "%s has its data in \"" RMSNORM_NAME "\", which has become shorter while it was read", where,
                      external->location);
        got += (size_t)count;
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_external_read(rmsnorm_external *external, const char *where, const Onnx__TensorProto *proto,
                                     uint64_t needed, size_t spare, uint8_t **bytes)
{
    uint64_t offset;
    RMSNORM_TRY(find(external, where, proto, needed, &offset));
    RMSNORM_CHECK(needed <= RMSNORM_FILE_LIMIT && needed < SIZE_MAX - spare, RMSNORM_UNSUPPORTED,
                  "%s has %" PRIu64 " bytes; at most %" PRIu64 " are read", where, needed, RMSNORM_FILE_LIMIT);
    RMSNORM_CHECK(needed <= external->allowance, RMSNORM_MALFORMED,
                  "%s is one of too many tensors that have the same bytes of \"" RMSNORM_NAME "\" as their data", where,
                  external->location);
    uint8_t *const memory = rmsnorm_memory_aligned((size_t)needed + spare);
    if (memory == NULL) {
        return rmsnorm_fail_memory(where, needed);
    }
    const rmsnorm_status status = read_at(where, external, offset, memory, (size_t)needed);
    if (status != RMSNORM_OK) {
        free(memory);
        return status;
    }
    external->allowance -= needed;
    *bytes = memory;
    return RMSNORM_OK;
}
