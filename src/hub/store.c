/* store.c: files that get their names when they are complete. What is not yet lies in blobs/, under a name that ends in
 * .incomplete, and is in nobody's way. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "hub/store.h"

#include <dirent.h>
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
        if (count <= 0) {
            return false;
        }
        data += count;
        size -= (size_t)count;
    }
    return true;
}

enum { DEEPEST = 64 }; /* folders in folders that are removed: each is open meanwhile */

static bool remove_tree(int parent, const char *name, int depth);

/* Takes the descriptor over. */
static bool empty(int folder, int depth)
{
    DIR *const stream = fdopendir(folder);
    if (stream == NULL) {
        (void)close(folder);
        return false;
    }
    bool done = true;
    const struct dirent *entry;
    while (done && (errno = 0, entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            done = remove_tree(folder, entry->d_name, depth);
        }
    }
    const int error = errno;
    (void)closedir(stream);
    errno = error;
    return done && error == 0;
}

static bool remove_tree(int parent, const char *name, int depth)
{
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) {
        return true;
    }
    const int error = errno;
    const int folder = depth < DEEPEST ? rmsnorm_cache_enter(parent, name, false) : -1;
    if (folder < 0) {
        errno = error;
        return false;
    }
    return empty(folder, depth + 1) && unlinkat(parent, name, AT_REMOVEDIR) == 0;
}

bool rmsnorm_store_remove(int folder, const char *name)
{
    return remove_tree(folder, name, 0);
}

/* A file gets its final name, in place of what is there, were it a folder. */
static bool give_name(int folder, const char *name, int final_folder, const char *final_name)
{
    if (renameat(folder, name, final_folder, final_name) == 0) {
        return true;
    }
    return errno == EISDIR && rmsnorm_store_remove(final_folder, final_name) &&
           renameat(folder, name, final_folder, final_name) == 0;
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
    done = done && give_name(cache->blobs, SPARE, folder, name);
    (void)fsync(folder);
    return done ? RMSNORM_OK : rmsnorm_cache_fail(cache, name, "written");
}

rmsnorm_status rmsnorm_store_text(const rmsnorm_cache *cache, int folder, const char *name, const char *text)
{
    (void)rmsnorm_store_remove(cache->blobs, SPARE);
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
    int file = openat(cache->blobs, name, flags, 0666);
    if (file < 0 && errno == EISDIR && rmsnorm_store_remove(cache->blobs, name)) { /* only where it is to be written */
        file = openat(cache->blobs, name, flags, 0666);
    }
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
    if (fsync(file) != 0 || !give_name(cache->blobs, name, cache->blobs, etag)) {
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

/* ---- Links ------------------------------------------------------------------------------------ */

/* Where links cannot be made: the file once more. */
static rmsnorm_status copy_blob(const rmsnorm_cache *cache, const char *etag, int folder, const char *name)
{
    char data[16384];
    ssize_t count = 0;
    const int from = rmsnorm_cache_open_blob(cache, etag, false);
    const int to = from >= 0 ? openat(cache->blobs, SPARE, MAKE | O_EXCL, 0666) : -1;
    bool written = to >= 0;
    while (written && ((count = read(from, data, sizeof data)) > 0 || (count < 0 && errno == EINTR))) {
        written = count < 0 || write_all(to, data, (size_t)count);
    }
    const rmsnorm_status status = to >= 0 ? name_spare(cache, to, written && count == 0, folder, name)
                                          : rmsnorm_cache_fail(cache, name, "written");
    if (from >= 0) {
        (void)close(from);
    }
    return status;
}

rmsnorm_status rmsnorm_store_link(const rmsnorm_cache *cache, const char *etag, int depth, int folder, const char *name)
{
    static const char up[] = "../../../../";
    char target[192];
    (void)snprintf(target, sizeof target, "%.*sblobs/%s", 3 * depth, up, etag);
    (void)rmsnorm_store_remove(cache->blobs, SPARE);
    if (symlinkat(target, cache->blobs, SPARE) != 0) {
        return errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS ? copy_blob(cache, etag, folder, name)
                                                                        : rmsnorm_cache_fail(cache, name, "written");
    }
    if (!give_name(cache->blobs, SPARE, folder, name)) {
        return rmsnorm_cache_fail(cache, name, "written");
    }
    (void)fsync(folder);
    return RMSNORM_OK;
}
