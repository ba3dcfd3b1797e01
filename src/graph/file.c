#define _GNU_SOURCE /* copy_file_range, SEEK_DATA */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "graph/file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static rmsnorm_file_mark mark_of(const struct stat *status)
{
    return (rmsnorm_file_mark){.device = (uint64_t)status->st_dev,
                               .number = (uint64_t)status->st_ino,
                               .size = (uint64_t)status->st_size,
                               .seconds = (int64_t)status->st_mtim.tv_sec,
                               .nanoseconds = (int64_t)status->st_mtim.tv_nsec,
                               .regular = S_ISREG(status->st_mode)};
}

bool rmsnorm_file_mark_open(int descriptor, rmsnorm_file_mark *mark)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return false;
    }
    *mark = mark_of(&status);
    return true;
}

bool rmsnorm_file_mark_named(const char *path, rmsnorm_file_mark *mark)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        return false;
    }
    *mark = mark_of(&status);
    return true;
}

bool rmsnorm_file_is_same(const rmsnorm_file_mark *left, const rmsnorm_file_mark *right)
{
    return left->device == right->device && left->number == right->number;
}

rmsnorm_status rmsnorm_file_status(int error)
{
    return error == ENOMEM ? RMSNORM_OUT_OF_MEMORY : RMSNORM_IO;
}

bool rmsnorm_file_write(int descriptor, const uint8_t *bytes, size_t size)
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

/* As many bytes as the kernel copies; what is left is read and written, which tells what is wrong, if anything. */
static uint64_t copy_inside(int from, uint64_t at, int to, uint64_t size)
{
    uint64_t copied = 0;
#ifdef __linux__
    while (copied < size) {
        off_t position = (off_t)(at + copied);
        const uint64_t most = (uint64_t)1 << 30;
        const uint64_t wanted = size - copied < most ? size - copied : most;
        const ssize_t count = copy_file_range(from, &position, to, NULL, (size_t)wanted, 0);
        if (count <= 0) {
            break;
        }
        copied += (uint64_t)count;
    }
#else
    (void)from, (void)at, (void)to, (void)size;
#endif
    return copied;
}

rmsnorm_file_copied rmsnorm_file_copy(int from, uint64_t at, int to, uint64_t size)
{
    uint8_t piece[1 << 14];
    for (uint64_t done = copy_inside(from, at, to, size); done < size;) {
        const size_t wanted = size - done < sizeof piece ? (size_t)(size - done) : sizeof piece;
        const ssize_t count = pread(from, piece, wanted, (off_t)(at + done));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return count == 0 ? RMSNORM_FILE_ENDED : RMSNORM_FILE_UNREADABLE;
        }
        if (!rmsnorm_file_write(to, piece, (size_t)count)) {
            return RMSNORM_FILE_UNWRITABLE;
        }
        done += (uint64_t)count;
    }
    return RMSNORM_FILE_COPIED;
}

uint64_t rmsnorm_file_skip_hole(int descriptor, uint64_t at, uint64_t size)
{
#ifdef SEEK_DATA
    const off_t data = lseek(descriptor, (off_t)at, SEEK_DATA);
    if (data < 0) {
        return errno == ENXIO ? size : at;
    }
    return (uint64_t)data < size ? (uint64_t)data : size;
#else
    (void)descriptor, (void)size;
    return at;
#endif
}
