#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "graph/output.h"

#include "graph/bytes.h"
#include "operator/error.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Rows are gathered, and swapped on a big-endian host, in pieces of this size; a multiple of every element size. */
#define PIECE ((size_t)1 << 14)

static rmsnorm_status fail_system(const char *path, const char *verb)
{
    const int error = errno;
    return rmsnorm_fail(RMSNORM_IO, "%s: cannot %s: %s", rmsnorm_file_display(path), verb, strerror(error));
}

static bool write_all(int descriptor, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        const size_t most = (size_t)1 << 30;
        const ssize_t count = write(descriptor, bytes, size < most ? size : most);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return false;
        }
        bytes += count;
        size -= (size_t)count;
    }
    return true;
}

/* Rows of `row` bytes, `stride` bytes apart. */
static bool write_rows(int descriptor, const uint8_t *data, size_t rows, size_t row, size_t stride, size_t item)
{
    assert(item > 0);
    uint8_t piece[PIECE];
    size_t used = 0;
    for (size_t r = 0; r < rows; r++) {
        for (size_t done = 0; done < row;) {
            const size_t step = row - done < PIECE - used ? row - done : PIECE - used;
            memcpy(piece + used, data + r * stride + done, step);
            used += step;
            done += step;
            if (used == PIECE) {
                rmsnorm_bytes_reorder(piece, used / item, item, false);
                if (!write_all(descriptor, piece, used)) {
                    return false;
                }
                used = 0;
            }
        }
    }
    rmsnorm_bytes_reorder(piece, used / item, item, false);
    return write_all(descriptor, piece, used);
}

static bool write_elements(int descriptor, const rmsnorm_tensor *tensor)
{
    const size_t item = rmsnorm_dtype_size(tensor->dtype);
    const size_t count = (size_t)rmsnorm_tensor_count(tensor);
    const size_t row = tensor->rank > 0 ? (size_t)tensor->dims[tensor->rank - 1] : 1;
    if (count == 0 || row == 0) {
        return true;
    }
    if (tensor->row_stride == 0 && !rmsnorm_bytes_differ(item, false)) {
        return write_all(descriptor, tensor->data, count * item);
    }
    const size_t stride = tensor->row_stride > 0 ? (size_t)tensor->row_stride : row;
    return write_rows(descriptor, tensor->data, count / row, row * item, stride * item, item);
}

static bool write_content(int descriptor, const uint8_t *header, size_t header_size, const rmsnorm_tensor *tensor)
{
    return write_all(descriptor, header, header_size) && write_elements(descriptor, tensor);
}

/* Devices, pipes, standard output: nothing to rename. */
static rmsnorm_status write_stream(const char *path, int descriptor, bool owned, const uint8_t *header,
                                   size_t header_size, const rmsnorm_tensor *tensor)
{
    if (descriptor < 0) {
        return fail_system(path, "be opened for writing");
    }
    rmsnorm_status status = RMSNORM_OK;
    if (!write_content(descriptor, header, header_size, tensor)) {
        status = fail_system(path, "be written");
    }
    if (owned && close(descriptor) != 0 && status == RMSNORM_OK) {
        status = fail_system(path, "be written");
    }
    return status;
}

/* A new file in the directory of target, with a name nobody else has. -1: errno tells. */
static int create_beside(const char *target, char *name, size_t size)
{
    const char *const slash = strrchr(target, '/');
    const int directory = slash != NULL ? (int)(slash - target) + 1 : 0;
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        const int length = snprintf(name, size, "%.*s.rmsnorm-%ld-%u.part", directory, target, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (descriptor >= 0 || errno != EEXIST) {
            return descriptor;
        }
    }
    return -1;
}

static rmsnorm_status write_renamed(const char *target, const struct stat *replaced, const uint8_t *header,
                                    size_t header_size, const rmsnorm_tensor *tensor)
{
    char name[PATH_MAX];
    const int descriptor = create_beside(target, name, sizeof name);
    if (descriptor < 0) {
        return fail_system(target, "be created");
    }
    bool complete = write_content(descriptor, header, header_size, tensor);
    if (replaced != NULL) {
        complete = complete && fchmod(descriptor, replaced->st_mode & 07777) == 0;
    }
    int error = errno;
    if (close(descriptor) != 0 && complete) {
        complete = false;
        error = errno;
    }
    if (complete && rename(name, target) == 0) {
        return RMSNORM_OK;
    }
    error = complete ? errno : error;
    unlink(name);
    errno = error;
    return fail_system(target, "be written");
}

rmsnorm_status rmsnorm_output_write(const char *path, const uint8_t *header, size_t header_size,
                                    const rmsnorm_tensor *tensor)
{
    if (strcmp(path, "-") == 0) {
        fflush(stdout); /* what the program has printed comes first */
        return write_stream("standard output", STDOUT_FILENO, false, header, header_size, tensor);
    }
    struct stat status;
    if (stat(path, &status) != 0) {
        return write_renamed(path, NULL, header, header_size, tensor);
    }
    RMSNORM_CHECK(!S_ISDIR(status.st_mode), RMSNORM_IO, "%s: is a directory, not a file", rmsnorm_file_display(path));
    if (!S_ISREG(status.st_mode)) {
        return write_stream(path, open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), true, header, header_size, tensor);
    }
    /* Renaming asks the directory only; a file that may not be written shall not be replaced either. */
    if (access(path, W_OK) != 0) {
        return fail_system(path, "be written");
    }
    char *const target = realpath(path, NULL);
    if (target == NULL) {
        return fail_system(path, "be written");
    }
    const rmsnorm_status result = write_renamed(target, &status, header, header_size, tensor);
    free(target);
    return result;
}
