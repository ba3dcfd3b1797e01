/* cache.c: folders, locks and refs. */
#define _DEFAULT_SOURCE /* flock */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "hub/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/store.h"

enum { LOCK_PAUSE = 50 }; /* milliseconds */

rmsnorm_status rmsnorm_cache_fail(const rmsnorm_cache *cache, const char *what, const char *verb)
{
    const int error = errno;
    return rmsnorm_fail(error == ENOENT ? RMSNORM_NOT_FOUND : RMSNORM_IO, "%s: %s in the cache %.200s cannot be %s: %s",
                        cache->settings->name, what, cache->settings->cache, verb, strerror(error));
}

int rmsnorm_cache_enter(int parent, const char *name, bool make)
{
    if (make && mkdirat(parent, name, 0777) == 0) {
        (void)fsync(parent);
    } else if (make && errno != EEXIST) {
        return -1;
    }
    return openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* The path is the caller's own choice: links on the way to it are followed. */
static rmsnorm_status make_root(const rmsnorm_cache *cache)
{
    char *const path = cache->settings->cache;
    for (char *at = strchr(path + 1, '/');; at = strchr(at + 1, '/')) {
        if (at != NULL) {
            *at = '\0';
        }
        const bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
        const int error = errno;
        if (at != NULL) {
            *at = '/';
        }
        errno = error;
        if (!made && (at == NULL || error != EROFS)) {
            return rmsnorm_cache_fail(cache, "the folder", "made");
        }
        if (at == NULL) {
            return RMSNORM_OK;
        }
    }
}

static void name_cache(const rmsnorm_hub_settings *settings, char *name, size_t size)
{
    const int length = (int)strcspn(settings->name, "/");
    (void)snprintf(name, size, "kernels--%.*s--%s", length, settings->name, settings->name + length + 1);
}

static void start(const rmsnorm_hub_settings *settings, rmsnorm_cache *cache)
{
    *cache = (rmsnorm_cache){.settings = settings, .root = -1, .folder = -1, .blobs = -1, .lock = -1};
    name_cache(settings, cache->name, sizeof cache->name);
}

static rmsnorm_status open_root(rmsnorm_cache *cache)
{
    cache->root = open(cache->settings->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return cache->root >= 0 ? RMSNORM_OK : rmsnorm_cache_fail(cache, "the folder", "opened");
}

rmsnorm_status rmsnorm_cache_read(const rmsnorm_hub_settings *settings, rmsnorm_cache *cache)
{
    start(settings, cache);
    RMSNORM_TRY(open_root(cache));
    cache->folder = rmsnorm_cache_enter(cache->root, cache->name, false);
    return cache->folder >= 0 ? RMSNORM_OK : rmsnorm_cache_fail(cache, cache->name, "opened");
}

rmsnorm_status rmsnorm_cache_write(const rmsnorm_hub_settings *settings, rmsnorm_cache *cache)
{
    start(settings, cache);
    RMSNORM_TRY(make_root(cache));
    RMSNORM_TRY(open_root(cache));
    cache->folder = rmsnorm_cache_enter(cache->root, cache->name, true);
    if (cache->folder < 0) {
        return rmsnorm_cache_fail(cache, cache->name, "made");
    }
    cache->blobs = rmsnorm_cache_enter(cache->folder, "blobs", true);
    if (cache->blobs < 0) {
        return rmsnorm_cache_fail(cache, "blobs", "made");
    }
    return rmsnorm_cache_lock(cache, "rmsnorm", &cache->lock);
}

static void shut(int *descriptor)
{
    if (*descriptor >= 0) {
        (void)close(*descriptor);
        *descriptor = -1;
    }
}

void rmsnorm_cache_close(rmsnorm_cache *cache)
{
    shut(&cache->blobs);
    shut(&cache->folder);
    shut(&cache->root);
    shut(&cache->lock);
}

char *rmsnorm_cache_snapshot(const rmsnorm_hub_settings *settings, const char *commit)
{
    char name[224];
    name_cache(settings, name, sizeof name);
    const size_t size = strlen(settings->cache) + strlen(name) + strlen(commit) + 16;
    char *const path = malloc(size);
    if (path != NULL) {
        (void)snprintf(path, size, "%s/%s/snapshots/%s", settings->cache, name, commit);
    }
    return path;
}

/* ---- Locks ------------------------------------------------------------------------------------ */

static int open_lock(const rmsnorm_cache *cache, const char *etag)
{
    char name[160];
    (void)snprintf(name, sizeof name, "%s.lock", etag);
    const int locks = rmsnorm_cache_enter(cache->root, ".locks", true);
    const int folder = locks >= 0 ? rmsnorm_cache_enter(locks, cache->name, true) : -1;
    const int lock = folder >= 0 ? openat(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666) : -1;
    const int error = errno;
    if (folder >= 0) {
        (void)close(folder);
    }
    if (locks >= 0) {
        (void)close(locks);
    }
    errno = error;
    return lock;
}

rmsnorm_status rmsnorm_cache_lock(const rmsnorm_cache *cache, const char *etag, int *lock)
{
    *lock = -1;
    const int file = open_lock(cache, etag);
    if (file < 0) {
        return rmsnorm_cache_fail(cache, "a lock", "made");
    }
    while (flock(file, LOCK_EX | LOCK_NB) != 0) {
        rmsnorm_status status = RMSNORM_OK;
        if (errno != EWOULDBLOCK && errno != EINTR) {
            status = rmsnorm_cache_fail(cache, "a lock", "taken");
        } else {
            status = rmsnorm_hub_pause(cache->settings, LOCK_PAUSE);
        }
        if (status != RMSNORM_OK) {
            (void)close(file);
            return status;
        }
    }
    *lock = file;
    return RMSNORM_OK;
}

/* ---- Refs ------------------------------------------------------------------------------------- */

static ssize_t read_small(int file, char *text, size_t size)
{
    size_t length = 0;
    ssize_t count = 1;
    while (length < size && count != 0) {
        count = read(file, text + length, size - length);
        if (count < 0 && errno != EINTR) {
            return -1;
        }
        length += count > 0 ? (size_t)count : 0;
    }
    return (ssize_t)length;
}

rmsnorm_status rmsnorm_cache_get_ref(const rmsnorm_cache *cache, const char *branch, char commit[RMSNORM_COMMIT_TEXT])
{
    char text[RMSNORM_COMMIT_TEXT + 1] = "";
    const int refs = rmsnorm_cache_enter(cache->folder, "refs", false);
    const int file = refs >= 0 ? openat(refs, branch, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK) : -1;
    const ssize_t length = file >= 0 ? read_small(file, text, sizeof text - 1) : -1;
    rmsnorm_status status = RMSNORM_OK;
    if (length < 0) {
        status = rmsnorm_cache_fail(cache, branch, "read");
    } else {
        text[strcspn(text, "\r\n")] = '\0';
        if (rmsnorm_hub_is_hex(text, RMSNORM_COMMIT_TEXT - 1)) {
            memcpy(commit, text, RMSNORM_COMMIT_TEXT);
        } else {
            status = rmsnorm_fail(RMSNORM_MALFORMED, "%s: refs/%s in the cache %.200s is no commit",
                                  cache->settings->name, branch, cache->settings->cache);
        }
    }
    if (file >= 0) {
        (void)close(file);
    }
    if (refs >= 0) {
        (void)close(refs);
    }
    return status;
}

rmsnorm_status rmsnorm_cache_set_ref(const rmsnorm_cache *cache, const char *branch, const char *commit)
{
    char there[RMSNORM_COMMIT_TEXT];
    if (rmsnorm_cache_get_ref(cache, branch, there) == RMSNORM_OK && strcmp(there, commit) == 0) {
        return RMSNORM_OK;
    }
    const int refs = rmsnorm_cache_enter(cache->folder, "refs", true);
    if (refs < 0) {
        return rmsnorm_cache_fail(cache, "refs", "made");
    }
    const rmsnorm_status status = rmsnorm_store_text(cache, refs, branch, commit);
    (void)close(refs);
    return status;
}
