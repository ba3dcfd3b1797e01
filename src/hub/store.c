/* store.c: files that get their names when they are complete. What is not yet lies in blobs/, under a name that ends in
 * .incomplete, and is in nobody's way. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "hub/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".incomplete"
#define SPARE "rmsnorm" ENDING /* whoever holds the lock of the cache writes it */

enum { MAKE = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK };

static bool write_all(int file, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t count = write(file, data, size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return false;
        }
        data += count;
        size -= (size_t)count;
    }
    return true;
}

/* The spare file, on the disk, gets its name; it is closed in any case. */
static rmsnorm_status name_spare(const rmsnorm_cache *cache, int file, bool written, int folder, const char *name)
{
    bool done = written && fsync(file) == 0;
    int error = errno;
    if (close(file) != 0 && done) {
        done = false;
        error = errno;
    }
    errno = error;
    done = done && renameat(cache->blobs, SPARE, folder, name) == 0;
    (void)fsync(folder);
    return done ? RMSNORM_OK : rmsnorm_cache_fail(cache, name, "written");
}

rmsnorm_status rmsnorm_store_text(const rmsnorm_cache *cache, int folder, const char *name, const char *text)
{
    (void)unlinkat(cache->blobs, SPARE, 0);
    const int file = openat(cache->blobs, SPARE, MAKE | O_EXCL, 0666);
    if (file < 0) {
        return rmsnorm_cache_fail(cache, name, "written");
    }
    return name_spare(cache, file, write_all(file, text, strlen(text)), folder, name);
}

/* ---- Blobs ------------------------------------------------------------------------------------ */

int rmsnorm_cache_open_blob(const rmsnorm_cache *cache, const char *etag, bool incomplete)
{
    char name[192];
    (void)snprintf(name, sizeof name, "%s%s", etag, incomplete ? ENDING : "");
    const int flags = incomplete ? MAKE : O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    const int file = openat(cache->blobs, name, flags, 0666);
    struct stat status;
    if (file >= 0 && (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))) {
        (void)close(file);
        errno = EINVAL;
        return -1;
    }
    return file;
}

rmsnorm_status rmsnorm_cache_keep(const rmsnorm_cache *cache, const char *etag, int file)
{
    char name[192];
    (void)snprintf(name, sizeof name, "%s" ENDING, etag);
    if (fsync(file) != 0 || renameat(cache->blobs, name, cache->blobs, etag) != 0) {
        return rmsnorm_cache_fail(cache, etag, "written");
    }
    (void)fsync(cache->blobs);
    return RMSNORM_OK;
}

void rmsnorm_cache_drop(const rmsnorm_cache *cache, const char *etag)
{
    char name[192];
    (void)snprintf(name, sizeof name, "%s" ENDING, etag);
    (void)unlinkat(cache->blobs, name, 0);
}

/* ---- Snapshots -------------------------------------------------------------------------------- */

/* Where links cannot be made: the file once more. */
static rmsnorm_status copy_blob(const rmsnorm_cache *cache, const char *etag, int folder, const char *name)
{
    char data[16384];
    ssize_t count = 0;
    const int from = rmsnorm_cache_open_blob(cache, etag, false);
    const int to = from >= 0 ? openat(cache->blobs, SPARE, MAKE | O_EXCL, 0666) : -1;
    bool written = to >= 0;
    while (written && (count = read(from, data, sizeof data)) > 0) {
        written = write_all(to, data, (size_t)count);
    }
    const rmsnorm_status status = to >= 0 ? name_spare(cache, to, written && count == 0, folder, name)
                                          : rmsnorm_cache_fail(cache, name, "written");
    if (from >= 0) {
        (void)close(from);
    }
    return status;
}

static rmsnorm_status link_blob(const rmsnorm_cache *cache, const char *etag, int depth, int folder, const char *name)
{
    static const char up[] = "../../../../";
    char target[192];
    (void)snprintf(target, sizeof target, "%.*sblobs/%s", 3 * depth, up, etag);
    (void)unlinkat(cache->blobs, SPARE, 0);
    if (symlinkat(target, cache->blobs, SPARE) != 0) {
        return errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS ? copy_blob(cache, etag, folder, name)
                                                                        : rmsnorm_cache_fail(cache, name, "written");
    }
    if (renameat(cache->blobs, SPARE, folder, name) != 0) {
        return rmsnorm_cache_fail(cache, name, "written");
    }
    (void)fsync(folder);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_cache_place(const rmsnorm_cache *cache, const char *commit, const char *path, const char *etag)
{
    const char *steps[] = {"snapshots", commit, "build", "webgpu"};
    const char *const slash = strrchr(path, '/');
    const int depth = slash != NULL ? 4 : 2; /* the files are a package's: its README.md, or in build/webgpu */
    int folder = cache->folder;
    for (int i = 0; i < depth; ++i) {
        const int next = rmsnorm_cache_enter(folder, steps[i], true);
        const int error = errno;
        if (folder != cache->folder) {
            (void)close(folder);
        }
        errno = error;
        if (next < 0) {
            return rmsnorm_cache_fail(cache, steps[i], "made");
        }
        folder = next;
    }
    const rmsnorm_status status = link_blob(cache, etag, depth, folder, slash != NULL ? slash + 1 : path);
    (void)close(folder);
    return status;
}
