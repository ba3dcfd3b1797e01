#define _GNU_SOURCE /* O_TMPFILE, where the system has it */
#define _FILE_OFFSET_BITS 64

#include "graph/output.h"

#include "graph/bytes.h"
#include "graph/file.h"
#include "operator/error.h"
#include "rmsnorm/graph.h"

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
    return rmsnorm_fail(rmsnorm_file_status(error), "%s: cannot %s: %s", rmsnorm_file_display(path), verb,
                        strerror(error));
}

rmsnorm_status rmsnorm_output_fail(const char *path)
{
    return fail_system(path, "be written");
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
                if (!rmsnorm_file_write(descriptor, piece, used)) {
                    return false;
                }
                used = 0;
            }
        }
    }
    rmsnorm_bytes_reorder(piece, used / item, item, false);
    return rmsnorm_file_write(descriptor, piece, used);
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
        return rmsnorm_file_write(descriptor, tensor->data, count * item);
    }
    const size_t stride = tensor->row_stride > 0 ? (size_t)tensor->row_stride : row;
    return write_rows(descriptor, tensor->data, count / row, row * item, stride * item, item);
}

/* Devices, pipes, standard output: nothing to rename. */
static rmsnorm_status write_stream(const char *path, int descriptor, bool owned, rmsnorm_output_writer writer,
                                   void *content)
{
    if (descriptor < 0) {
        return fail_system(path, "be opened for writing");
    }
    const rmsnorm_status status = writer(content, descriptor, path);
    if (owned && close(descriptor) != 0 && status == RMSNORM_OK) {
        return rmsnorm_output_fail(path);
    }
    return status;
}

static int directory_length(const char *target)
{
    const char *const slash = strrchr(target, '/');
    return slash != NULL ? (int)(slash - target) + 1 : 0;
}

/* Gives an open file a name that nobody has. False: errno tells. */
static bool link_open(int descriptor, const char *name)
{
    char self[40];
    snprintf(self, sizeof self, "/proc/self/fd/%d", descriptor);
    return linkat(AT_FDCWD, self, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Finds a name in the directory of target that nobody else has, for a file that is made or, when descriptor is one, for that
 * file. The descriptor, or -1: errno tells. */
static int name_beside(const char *target, int descriptor, char *name, size_t size)
{
    for (unsigned attempt = 0; attempt < 1000; attempt++) {
        const int length =
            snprintf(name, size, "%.*s.rmsnorm-%ld-%u.part", directory_length(target), target, (long)getpid(), attempt);
        if (length < 0 || (size_t)length >= size) {
            errno = ENAMETOOLONG;
            return -1;
        }
        const int named = descriptor < 0                ? open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)
                          : link_open(descriptor, name) ? descriptor
                                                        : -1;
        if (named >= 0 || errno != EEXIST) {
            return named;
        }
    }
    return -1;
}

/* A new file in the directory of target: without a name (name is "" then) where the system can, so that nothing is left of it
 * when the process is ended. -1: errno tells. */
static int create_beside(const char *target, char *name, size_t size)
{
#ifdef O_TMPFILE
    const int length = snprintf(name, size, "%.*s", directory_length(target), target);
    if (length >= 0 && (size_t)length < size && access("/proc/self/fd", X_OK) == 0) {
        const int descriptor = open(length > 0 ? name : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        if (descriptor >= 0) {
            name[0] = '\0';
            return descriptor;
        }
    }
#endif
    return name_beside(target, -1, name, size);
}

/* What gives a complete file its name. False: errno tells. */
typedef bool (*naming)(const char *part, const char *target);

static bool replace(const char *part, const char *target)
{
    return rename(part, target) == 0;
}

/* link(), unlike rename(), does not replace; file systems without links are asked first, and renamed on. */
static bool appear(const char *part, const char *target)
{
    if (link(part, target) == 0) {
        unlink(part);
        return true;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) {
        return false;
    }
    struct stat there;
    if (lstat(target, &there) == 0) {
        errno = EEXIST;
        return false;
    }
    return rename(part, target) == 0;
}

static rmsnorm_status write_beside(const char *target, const struct stat *replaced, naming name_it,
                                   rmsnorm_output_writer writer, void *content)
{
    char name[PATH_MAX];
    const int descriptor = create_beside(target, name, sizeof name);
    if (descriptor < 0) {
        return fail_system(target, "be created");
    }
    rmsnorm_status status = writer(content, descriptor, target);
    if (status == RMSNORM_OK && replaced != NULL && fchmod(descriptor, replaced->st_mode & 07777) != 0) {
        status = rmsnorm_output_fail(target);
    }
    /* One step where nobody has the name. */
    const bool linked = status == RMSNORM_OK && name[0] == '\0' && link_open(descriptor, target);
    if (linked) {
        snprintf(name, sizeof name, "%s", target);
    } else if (status == RMSNORM_OK && name[0] == '\0' &&
               (errno != EEXIST || name_beside(target, descriptor, name, sizeof name) < 0)) {
        status = rmsnorm_output_fail(target);
        name[0] = '\0';
    }
    if (close(descriptor) != 0 && status == RMSNORM_OK) {
        status = rmsnorm_output_fail(target);
    }
    if (status == RMSNORM_OK && !linked && !name_it(name, target)) {
        status = errno == EEXIST ? rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: is there already, and is not replaced",
                                                rmsnorm_file_display(target))
                                 : rmsnorm_output_fail(target);
    }
    if (status != RMSNORM_OK && name[0] != '\0') {
        unlink(name);
    }
    return status;
}

rmsnorm_status rmsnorm_output_make(const char *path, rmsnorm_output_writer writer, void *content)
{
    if (strcmp(path, "-") == 0) {
        fflush(stdout); /* what the program has printed comes first */
        return write_stream("standard output", STDOUT_FILENO, false, writer, content);
    }
    struct stat status;
    if (stat(path, &status) != 0) {
        RMSNORM_CHECK(lstat(path, &status) != 0, RMSNORM_IO, "%s: is a symbolic link that leads to no file",
                      rmsnorm_file_display(path));
        return write_beside(path, NULL, replace, writer, content);
    }
    RMSNORM_CHECK(!S_ISDIR(status.st_mode), RMSNORM_IO, "%s: is a directory, not a file", rmsnorm_file_display(path));
    if (!S_ISREG(status.st_mode)) {
        return write_stream(path, open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY), true, writer, content);
    }
    /* Renaming asks the directory only; a file that may not be written shall not be replaced either. */
    if (access(path, W_OK) != 0) {
        return rmsnorm_output_fail(path);
    }
    char *const target = realpath(path, NULL);
    if (target == NULL) {
        return rmsnorm_output_fail(path);
    }
    const rmsnorm_status result = write_beside(target, &status, replace, writer, content);
    free(target);
    return result;
}

rmsnorm_status rmsnorm_output_make_new(const char *path, rmsnorm_output_writer writer, void *content)
{
    return write_beside(path, NULL, appear, writer, content);
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

typedef struct plain_content {
    const uint8_t *bytes;
    size_t size;
} plain_content;

static rmsnorm_status write_plain(void *content, int descriptor, const char *path)
{
    const plain_content *const c = content;
    return rmsnorm_file_write(descriptor, c->bytes, c->size) ? RMSNORM_OK : rmsnorm_output_fail(path);
}

rmsnorm_status rmsnorm_bytes_write(const char *path, const void *bytes, size_t size)
{
    RMSNORM_CHECK(path != NULL && path[0] != '\0', RMSNORM_INVALID_ARGUMENT, "rmsnorm_bytes_write: the path is empty");
    RMSNORM_CHECK(bytes != NULL || size == 0, RMSNORM_INVALID_ARGUMENT, "rmsnorm_bytes_write: bytes is NULL");
    plain_content content = {bytes, size};
    return rmsnorm_output_make(path, write_plain, &content);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

typedef struct tensor_content {
    const uint8_t *header;
    size_t header_size;
    const rmsnorm_tensor *tensor;
} tensor_content;

static rmsnorm_status write_tensor(void *content, int descriptor, const char *path)
{
    const tensor_content *const c = content;
    const bool written =
        rmsnorm_file_write(descriptor, c->header, c->header_size) && write_elements(descriptor, c->tensor);
    return written ? RMSNORM_OK : rmsnorm_output_fail(path);
}

rmsnorm_status rmsnorm_output_write(const char *path, const uint8_t *header, size_t header_size,
                                    const rmsnorm_tensor *tensor)
{
    tensor_content content = {header, header_size, tensor};
    return rmsnorm_output_make(path, write_tensor, &content);
}
