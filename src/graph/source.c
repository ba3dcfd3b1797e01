#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "graph/source.h"

#include "graph/bytes.h"
#include "graph/file.h"
#include "operator/error.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is allocated for a stream before it has delivered anything. */
#define STREAM_START ((uint64_t)1 << 16)

static rmsnorm_status fail_system(const char *file, const char *verb)
{
    const int error = errno;
    return rmsnorm_fail(error == ENOENT ? RMSNORM_NOT_FOUND : rmsnorm_file_status(error), "%s: cannot %s: %s", file,
                        verb, strerror(error));
}

/* A size of 0 is no promise: the files of /proc report it whatever they hold. */
static rmsnorm_status measure(rmsnorm_source *source)
{
    struct stat status;
    if (fstat(source->descriptor, &status) != 0) {
        return fail_system(source->file, "be read");
    }
    RMSNORM_CHECK(!S_ISDIR(status.st_mode), RMSNORM_IO, "%s: is a directory, not a file", source->file);
    if (S_ISREG(status.st_mode)) {
        const off_t at = lseek(source->descriptor, 0, SEEK_CUR);
        source->sized = at >= 0 && status.st_size > at;
        source->size = source->sized ? (uint64_t)(status.st_size - at) : 0;
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_source_open(rmsnorm_source *source, const char *path)
{
    const bool standard = strcmp(path, "-") == 0;
    *source = (rmsnorm_source){.file = standard ? "standard input" : rmsnorm_file_display(path), .owned = !standard};
    source->descriptor = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (source->descriptor < 0) {
        return fail_system(source->file, "be opened");
    }
    const rmsnorm_status status = measure(source);
    if (status != RMSNORM_OK) {
        rmsnorm_source_close(source);
    }
    return status;
}

rmsnorm_source rmsnorm_source_memory(const char *file, const void *bytes, size_t size)
{
    return (rmsnorm_source){.file = file, .descriptor = -1, .memory = bytes, .sized = true, .size = size};
}

void rmsnorm_source_close(rmsnorm_source *source)
{
    if (source->owned && source->descriptor >= 0) {
        close(source->descriptor);
    }
    source->descriptor = -1;
    source->owned = false;
}

/* As many bytes as there are, at most size, from behind the head. */
static rmsnorm_status read_behind(rmsnorm_source *source, uint8_t *to, size_t size, size_t *got)
{
    *got = 0;
    if (source->descriptor < 0) {
        const uint64_t left = source->size - source->position - source->head_size;
        *got = size < left ? size : (size_t)left;
        if (*got > 0) {
            memcpy(to, source->memory, *got);
            source->memory += *got;
        }
        return RMSNORM_OK;
    }
    while (*got < size) {
        const size_t most = (size_t)1 << 30; /* one read() of more than SSIZE_MAX or 2 GiB is not portable */
        const size_t wanted = size - *got < most ? size - *got : most;
        const ssize_t count = read(source->descriptor, to + *got, wanted);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail_system(source->file, "be read");
        }
        if (count == 0) {
            break;
        }
        *got += (size_t)count;
    }
    return RMSNORM_OK;
}

static rmsnorm_status read_some(rmsnorm_source *source, uint8_t *to, size_t size, size_t *got)
{
    const size_t from_head = size < source->head_size ? size : source->head_size;
    memcpy(to, source->head, from_head);
    source->head_size -= from_head;
    memmove(source->head, source->head + from_head, source->head_size);
    source->position += from_head;
    size_t from_behind = 0;
    if (from_head < size) {
        RMSNORM_TRY(read_behind(source, to + from_head, size - from_head, &from_behind));
    }
    source->position += from_behind;
    *got = from_head + from_behind;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_source_peek(rmsnorm_source *source, size_t wanted, const uint8_t **head, size_t *size)
{
    size_t got = 0;
    if (wanted > source->head_size) {
        RMSNORM_TRY(read_behind(source, source->head + source->head_size, wanted - source->head_size, &got));
        source->head_size += got;
    }
    *head = source->head;
    *size = source->head_size;
    return RMSNORM_OK;
}

static rmsnorm_status fail_short(const rmsnorm_source *source, uint64_t end, uint64_t wanted, const char *what)
{
    return rmsnorm_fail(RMSNORM_MALFORMED, "%s: ends after %" PRIu64 " bytes, but %s needs %" PRIu64 " more",
                        source->file, end, what, wanted);
}

/* Nothing is allocated or read for bytes that a sized file cannot hold. */
static rmsnorm_status check_left(const rmsnorm_source *source, uint64_t wanted, const char *what)
{
    if (source->sized && wanted > source->size - source->position) {
        return fail_short(source, source->size, wanted - (source->size - source->position), what);
    }
    RMSNORM_CHECK(wanted <= RMSNORM_FILE_LIMIT && wanted < SIZE_MAX, RMSNORM_UNSUPPORTED,
                  "%s: %s has %" PRIu64 " bytes; at most %" PRIu64 " are read", source->file, what, wanted,
                  RMSNORM_FILE_LIMIT);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_source_read(rmsnorm_source *source, void *to, size_t size, const char *what)
{
    size_t got = 0;
    RMSNORM_TRY(check_left(source, size, what));
    RMSNORM_TRY(read_some(source, to, size, &got));
    return got == size ? RMSNORM_OK : fail_short(source, source->position, size - got, what);
}

rmsnorm_status rmsnorm_source_skip(rmsnorm_source *source, uint64_t size, const char *what)
{
    uint8_t ignored[4096];
    RMSNORM_TRY(check_left(source, size, what));
    while (size > 0 && (!source->sized || source->descriptor < 0 || source->head_size > 0)) {
        const size_t step = size < sizeof ignored ? (size_t)size : sizeof ignored;
        RMSNORM_TRY(rmsnorm_source_read(source, ignored, step, what));
        size -= step;
    }
    if (size > 0) {
        if (lseek(source->descriptor, (off_t)size, SEEK_CUR) < 0) {
            return fail_system(source->file, "be read");
        }
        source->position += size;
    }
    return RMSNORM_OK;
}

/* Reads until `most` bytes or the end into memory that has `spare` bytes beyond them. */
static rmsnorm_status read_growing(rmsnorm_source *source, uint64_t most, size_t spare, const rmsnorm_source_form *form,
                                   uint8_t **bytes, size_t *size)
{
    const uint64_t left = source->size - source->position;
    uint64_t capacity = source->sized ? left : STREAM_START;
    capacity = capacity < most ? capacity : most;
    uint8_t *memory = NULL;
    size_t used = 0;
    for (;;) {
        uint8_t *const larger = rmsnorm_memory_aligned((size_t)capacity + spare);
        if (larger == NULL) {
            free(memory);
            return rmsnorm_fail_memory(source->file, capacity);
        }
        if (used > 0) {
            memcpy(larger, memory, used);
        }
        free(memory);
        memory = larger;
        size_t got = 0;
        rmsnorm_status status = read_some(source, memory + used, (size_t)capacity - used, &got);
        used += got;
        if (status == RMSNORM_OK && form != NULL && !source->sized && used == capacity) {
            status = form->check(source->file, form->format, memory, used);
        }
        if (status != RMSNORM_OK) {
            free(memory);
            return status;
        }
        if (used < capacity || capacity == most) {
            break;
        }
        /* Full. A sized file ends here, unless it has grown since it was measured. */
        if (source->sized) {
            break;
        }
        capacity = capacity < most / 2 ? capacity * 2 : most;
    }
    *bytes = memory;
    *size = used;
    return RMSNORM_OK;
}

static rmsnorm_status take(rmsnorm_source *source, uint64_t size, size_t spare, const char *what, uint8_t **bytes)
{
    size_t got = 0;
    RMSNORM_TRY(check_left(source, size, what));
    RMSNORM_TRY(read_growing(source, size, spare, NULL, bytes, &got));
    if (got < size) {
        free(*bytes);
        return fail_short(source, source->position, size - got, what);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_source_take(rmsnorm_source *source, uint64_t size, const char *what, uint8_t **bytes)
{
    RMSNORM_TRY(take(source, size, 1, what, bytes));
    (*bytes)[size] = 0;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_source_rest(rmsnorm_source *source, uint64_t limit, const rmsnorm_source_form *form,
                                   uint8_t **bytes, size_t *size)
{
    const uint64_t left = source->size - source->position;
    if (!source->sized || left <= limit) {
        RMSNORM_TRY(read_growing(source, source->sized ? left : limit + 1, 0, form, bytes, size));
        if (*size <= limit) {
            return RMSNORM_OK;
        }
        free(*bytes);
    }
    return rmsnorm_fail(RMSNORM_UNSUPPORTED, "%s: is larger than the %" PRIu64 " bytes this format can have",
                        source->file, limit);
}

rmsnorm_status rmsnorm_source_end(rmsnorm_source *source, const char *what)
{
    uint8_t next;
    size_t got = 0;
    RMSNORM_TRY(read_some(source, &next, 1, &got));
    RMSNORM_CHECK(got == 0, RMSNORM_MALFORMED, "%s: goes on after %s, which ends at byte %" PRIu64, source->file, what,
                  source->position - 1);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_source_elements(rmsnorm_source *source, rmsnorm_tensor *tensor, bool big_endian,
                                       const char *name, const char **name_copy)
{
    const size_t item = rmsnorm_dtype_size(tensor->dtype);
    const uint64_t count = (uint64_t)rmsnorm_tensor_count(tensor);
    const size_t name_size = strlen(name) + 1;
    uint8_t *bytes = NULL;
    RMSNORM_TRY(take(source, count * item, name_size, "the data of its shape", &bytes));
    rmsnorm_bytes_reorder(bytes, (size_t)count, item, big_endian);
    memcpy(bytes + count * item, name, name_size);
    tensor->data = bytes;
    *name_copy = (const char *)bytes + count * item;
    return RMSNORM_OK;
}
