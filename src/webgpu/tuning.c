/* tuning.c: which variant and tunables won on an adapter, in a JSON file:
 * {"adapters": {ADAPTER: {CLASS: {"variant": ..., "tunables": {NAME: INTEGER}, "seconds": ..., "default_seconds": ...}}}} */
#define _POSIX_C_SOURCE 200809L /* mkstemp, fchmod */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "operator/error.h"
#include "operator/text.h"
#include "rmsnorm/webgpu.h"

#define FILE_LIMIT ((long)8 << 20)

struct rmsnorm_tuning {
    char *path;
    json_t *root; /* an object with the member "adapters", an object */
};

/* ---- The place ------------------------------------------------------------------------------- */

static rmsnorm_status find_path(const char *path, char *text, size_t size)
{
    const char *const named = path != NULL ? path : getenv("RMSNORM_TUNING");
    const char *const cache = getenv("XDG_CACHE_HOME");
    const char *const home = getenv("HOME");
    int length;
    if (named != NULL && named[0] != '\0') {
        length = snprintf(text, size, "%s", named);
    } else if (cache != NULL && cache[0] == '/') {
        length = snprintf(text, size, "%s/rmsnorm/tuning.json", cache);
    } else {
        length = snprintf(text, size, "%s/.cache/rmsnorm/tuning.json", home == NULL ? "" : home);
    }
    RMSNORM_CHECK(length >= 0 && (size_t)length < size, RMSNORM_INVALID_ARGUMENT,
                  "tuning: the path of the file is longer than %zu", size);
    return RMSNORM_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static rmsnorm_status empty(json_t **root)
{
    *root = json_pack("{s:{}}", "adapters");
    RMSNORM_CHECK(*root != NULL, RMSNORM_OUT_OF_MEMORY, "tuning: out of memory");
    return RMSNORM_OK;
}

/* Not waiting: the path may be a pipe. */
static rmsnorm_status read_file(const char *path, json_t **root)
{
    struct stat status;
    const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (descriptor < 0) {
        RMSNORM_CHECK(errno == ENOENT || errno == ENOTDIR, RMSNORM_IO, "tuning: %s: %s", path, strerror(errno));
        return empty(root);
    }
    const bool regular = fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    const bool small = regular && status.st_size <= FILE_LIMIT;
    json_error_t error = {.line = 0};
    *root = small ? json_loadfd(descriptor, JSON_REJECT_DUPLICATES, &error) : NULL;
    close(descriptor);
    RMSNORM_CHECK(regular, RMSNORM_IO, "tuning: %s is no regular file", path);
    RMSNORM_CHECK(small, RMSNORM_MALFORMED, "tuning: %s has more than %ld bytes", path, FILE_LIMIT);
    RMSNORM_CHECK(*root != NULL, RMSNORM_MALFORMED, "tuning: %s: line %d, column %d: %s", path, error.line,
                  error.column, error.text);
    if (!json_is_object(json_object_get(*root, "adapters"))) {
        json_decref(*root);
        *root = NULL;
        return rmsnorm_fail(RMSNORM_MALFORMED,
                            "tuning: %s has no object \"adapters\"; `rmsnorm tune` writes such files", path);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_tuning_open(const char *path, rmsnorm_tuning **tuning)
{
    char where[4096];
    RMSNORM_CHECK(tuning != NULL && (path == NULL || path[0] != '\0'), RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_tuning_open: tuning is NULL, or the path is empty");
    *tuning = NULL;
    RMSNORM_TRY(find_path(path, where, sizeof where));
    rmsnorm_tuning *const opened = calloc(1, sizeof *opened);
    const size_t bytes = strlen(where) + 1;
    char *const kept = malloc(bytes);
    rmsnorm_status status = opened == NULL || kept == NULL
                                ? rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "tuning: out of memory")
                                : read_file(where, &opened->root);
    if (status != RMSNORM_OK) {
        free(opened);
        free(kept);
        return status;
    }
    memcpy(kept, where, bytes);
    opened->path = kept;
    *tuning = opened;
    return RMSNORM_OK;
}

void rmsnorm_tuning_close(rmsnorm_tuning *tuning)
{
    if (tuning != NULL) {
        json_decref(tuning->root);
        free(tuning->path);
        free(tuning);
    }
}

const char *rmsnorm_tuning_path(const rmsnorm_tuning *tuning)
{
    return tuning != NULL ? tuning->path : NULL;
}

/* ---- Classes --------------------------------------------------------------------------------- */

static int log2_floor(uint64_t value)
{
    int bits = 0;
    while (value > 1) {
        value /= 2;
        bits++;
    }
    return bits;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): written through rmsnorm_text */
rmsnorm_status rmsnorm_tuning_class(const rmsnorm_package *package, const rmsnorm_request *request, char *text,
                                    size_t size)
{
    rmsnorm_package_info info;
    RMSNORM_CHECK(package != NULL && request != NULL && (text != NULL || size == 0), RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_tuning_class: package, request or text is NULL");
    rmsnorm_package_describe(package, &info);
    const rmsnorm_tensor *const first = request->inputs[0];
    RMSNORM_CHECK(first != NULL && first->rank >= 1 && first->rank <= RMSNORM_MAX_RANK, RMSNORM_INVALID_ARGUMENT,
                  "tuning: %s has no first input with at least one dim", info.name);
    const bool by_axis = strstr(info.name, "Skip") == NULL && request->attributes != NULL;
    const int64_t given = by_axis ? request->attributes->axis : -1;
    const int64_t axis = given < 0 ? given + first->rank : given;
    uint64_t rows = 1;
    uint64_t width = 1;
    for (int32_t d = 0; d < first->rank; d++) {
        uint64_t *const product = d < axis ? &rows : &width;
        *product *= (uint64_t)first->dims[d];
    }
    rmsnorm_text to = {.data = text, .size = size};
    rmsnorm_text_add(&to, "%s", info.id);
    for (size_t i = 0; i < info.input_count; i++) {
        if (request->inputs[i] != NULL) {
            rmsnorm_text_add(&to, " %s", rmsnorm_dtype_name(request->inputs[i]->dtype));
        }
    }
    for (size_t i = 0; i < info.output_count; i++) {
        if (info.outputs[i].optional && request->wanted[i]) {
            rmsnorm_text_add(&to, " %s", info.outputs[i].onnx);
        }
    }
    rmsnorm_text_add(&to, " rows 2^%d width 2^%d%s", log2_floor(rows), log2_floor(width), width % 4 == 0 ? "*4" : "");
    RMSNORM_CHECK(to.length < size, RMSNORM_INVALID_ARGUMENT, "tuning: a class takes %zu bytes; given: %zu",
                  to.length + 1, size);
    return RMSNORM_OK;
}

/* ---- Choices --------------------------------------------------------------------------------- */

static const char *adapter_key(const rmsnorm_adapter *adapter, char *text, size_t size)
{
    snprintf(text, size, "%s, %s, %08x:%08x, %s%s%s", adapter->name, adapter->backend, (unsigned)adapter->vendor_id,
             (unsigned)adapter->device_id, adapter->driver, adapter->profile.shader_f16 ? "" : ", without shader-f16",
             adapter->profile.subgroups ? "" : ", without subgroups");
    return text;
}

/* A name that is longer than its room is not cut: what is left of it could be another one. */
static bool read_name(const char *from, char *to, size_t size)
{
    const size_t length = from != NULL ? strlen(from) : size;
    if (length >= size) {
        return false;
    }
    memcpy(to, from, length + 1);
    return true;
}

static bool read_choice(const json_t *entry, rmsnorm_tuning_choice *choice)
{
    const json_t *const variant = json_object_get(entry, "variant");
    json_t *const tunables = json_object_get(entry, "tunables");
    bool good = json_is_object(entry) && (tunables == NULL || json_is_object(tunables)) &&
                json_object_size(tunables) <= RMSNORM_MAX_TUNABLES &&
                (variant == NULL || read_name(json_string_value(variant), choice->variant, sizeof choice->variant));
    for (void *at = json_object_iter(tunables); good && at != NULL; at = json_object_iter_next(tunables, at)) {
        const size_t i = choice->tunable_count++;
        good = read_name(json_object_iter_key(at), choice->tunables[i].name, sizeof choice->tunables[i].name) &&
               json_is_integer(json_object_iter_value(at));
        choice->tunables[i].value = json_integer_value(json_object_iter_value(at));
    }
    choice->seconds = json_number_value(json_object_get(entry, "seconds"));
    choice->default_seconds = json_number_value(json_object_get(entry, "default_seconds"));
    return good;
}

bool rmsnorm_tuning_find(const rmsnorm_tuning *tuning, const rmsnorm_adapter *adapter, const char *request_class,
                         rmsnorm_tuning_choice *choice)
{
    char key[512];
    rmsnorm_tuning_choice read = {.variant = ""};
    if (tuning == NULL || adapter == NULL || request_class == NULL || choice == NULL) {
        return false;
    }
    const json_t *const classes =
        json_object_get(json_object_get(tuning->root, "adapters"), adapter_key(adapter, key, sizeof key));
    const bool found = read_choice(json_object_get(classes, request_class), &read);
    if (found) {
        *choice = read;
    }
    return found;
}

static bool is_whole(const rmsnorm_tuning_choice *choice)
{
    bool whole =
        choice->tunable_count <= RMSNORM_MAX_TUNABLES && memchr(choice->variant, '\0', sizeof choice->variant) != NULL;
    for (size_t i = 0; whole && i < choice->tunable_count; i++) {
        whole = memchr(choice->tunables[i].name, '\0', sizeof choice->tunables[i].name) != NULL;
    }
    return whole;
}

rmsnorm_status rmsnorm_tuning_put(rmsnorm_tuning *tuning, const rmsnorm_adapter *adapter, const char *request_class,
                                  const rmsnorm_tuning_choice *choice)
{
    char key[512];
    RMSNORM_CHECK(tuning != NULL && adapter != NULL && request_class != NULL && choice != NULL,
                  RMSNORM_INVALID_ARGUMENT, "rmsnorm_tuning_put: tuning, adapter, request_class or choice is NULL");
    RMSNORM_CHECK(is_whole(choice), RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_tuning_put: the choice has more than %d tunables, or a name without an end",
                  RMSNORM_MAX_TUNABLES);
    json_t *const adapters = json_object_get(tuning->root, "adapters");
    adapter_key(adapter, key, sizeof key);
    json_t *classes = json_object_get(adapters, key);
    if (!json_is_object(classes)) {
        RMSNORM_CHECK(json_object_set_new(adapters, key, json_object()) == 0, RMSNORM_OUT_OF_MEMORY,
                      "tuning: out of memory");
        classes = json_object_get(adapters, key);
    }
    json_t *const tunables = json_object();
    bool good = tunables != NULL;
    for (size_t i = 0; good && i < choice->tunable_count; i++) {
        good = json_object_set_new(tunables, choice->tunables[i].name, json_integer(choice->tunables[i].value)) == 0;
    }
    json_t *const entry = good ? json_pack("{s:s, s:O, s:f, s:f}", "variant", choice->variant, "tunables", tunables,
                                           "seconds", choice->seconds, "default_seconds", choice->default_seconds)
                               : NULL;
    json_decref(tunables);
    RMSNORM_CHECK(entry != NULL && json_object_set_new(classes, request_class, entry) == 0, RMSNORM_OUT_OF_MEMORY,
                  "tuning: out of memory, or a name that is no UTF-8");
    return RMSNORM_OK;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The folders above the file. 0, or what the system had against one. */
static int make_folders(const char *path)
{
    char part[4096];
    for (size_t i = 1; path[i] != '\0' && i < sizeof part; i++) {
        if (path[i] == '/') {
            memcpy(part, path, i);
            part[i] = '\0';
            const int reason = mkdir(part, 0777) != 0 ? errno : 0;
            if (reason != 0 && access(part, F_OK) != 0) {
                return reason;
            }
        }
    }
    return 0;
}

static bool write_all(int descriptor, const char *text, size_t size)
{
    while (size > 0) {
        const ssize_t count = write(descriptor, text, size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        text += count;
        size -= (size_t)count;
    }
    return true;
}

/* 0, or what the system had against it. */
static int write_file(const rmsnorm_tuning *tuning, int descriptor)
{
    char *const text = json_dumps(tuning->root, JSON_INDENT(2) | JSON_SORT_KEYS);
    const bool written = text != NULL && write_all(descriptor, text, strlen(text)) && write_all(descriptor, "\n", 1) &&
                         fsync(descriptor) == 0 && fchmod(descriptor, 0644) == 0;
    const int reason = written ? 0 : text == NULL ? ENOMEM : errno;
    free(text);
    return close(descriptor) == 0 || reason != 0 ? reason : errno;
}

/* 0, or what the system had against it. */
static int replace_file(const rmsnorm_tuning *tuning)
{
    char temporary[4200];
    snprintf(temporary, sizeof temporary, "%s.XXXXXX", tuning->path);
    const int descriptor = mkstemp(temporary);
    if (descriptor < 0) {
        return errno;
    }
    int reason = write_file(tuning, descriptor);
    if (reason == 0 && rename(temporary, tuning->path) != 0) {
        reason = errno;
    }
    if (reason != 0) {
        (void)unlink(temporary);
    }
    return reason;
}

rmsnorm_status rmsnorm_tuning_save(const rmsnorm_tuning *tuning)
{
    RMSNORM_CHECK(tuning != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_tuning_save: tuning is NULL");
    int reason = make_folders(tuning->path);
    if (reason == 0) {
        reason = replace_file(tuning);
    }
    RMSNORM_CHECK(reason == 0, reason == ENOMEM ? RMSNORM_OUT_OF_MEMORY : RMSNORM_IO,
                  "tuning: %s cannot be written: %s", tuning->path, strerror(reason));
    return RMSNORM_OK;
}
