/* snapshot.c: build/webgpu of a snapshot: made beside its place, then put there in one step. What else is in the snapshot may be
 * another client's, and stays. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* renameat2, where there is one */
#endif
#define _FILE_OFFSET_BITS 64

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hub/store.h"

#define FOLDER "webgpu"
/* Beside it; whoever holds the lock of the cache has them. */
#define SPARE "rmsnorm.incomplete"
#define OLD "rmsnorm.old.incomplete"

static bool exchange(int folder, const char *one, const char *other)
{
#ifdef RENAME_EXCHANGE
    return renameat2(folder, one, folder, other, RENAME_EXCHANGE) == 0;
#else
    (void)folder, (void)one, (void)other;
    errno = ENOSYS;
    return false;
#endif
}

static void close_keeping_error(int descriptor)
{
    const int error = errno;
    (void)close(descriptor);
    errno = error;
}

/* A folder of the snapshot. A file or a link in its place goes. -1: errno tells. */
static int enter(int parent, const char *name)
{
    const int folder = rmsnorm_cache_enter(parent, name, true);
    if (folder >= 0 || (errno != ENOTDIR && errno != ELOOP)) {
        return folder;
    }
    return rmsnorm_store_remove(parent, name) ? rmsnorm_cache_enter(parent, name, true) : -1;
}

/* *folder is snapshots/COMMIT. */
static rmsnorm_status open_snapshot(const rmsnorm_cache *cache, const char *commit, int *folder)
{
    const int snapshots = rmsnorm_cache_enter(cache->folder, "snapshots", true);
    if (snapshots < 0) {
        return rmsnorm_cache_fail(cache, "snapshots", "made");
    }
    *folder = enter(snapshots, commit);
    close_keeping_error(snapshots);
    return *folder >= 0 ? RMSNORM_OK : rmsnorm_cache_fail(cache, commit, "made");
}

static rmsnorm_status fill(const rmsnorm_cache *cache, int folder, const rmsnorm_placed *files, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        RMSNORM_TRY(rmsnorm_store_link(cache, files[i].etag, 4, folder, files[i].name));
    }
    return RMSNORM_OK;
}

/* The spare folder gets its name. Where two names cannot be exchanged, neither is there for a moment; a process that ends in it
 * leaves a snapshot that is fetched anew. */
static rmsnorm_status name_spare(const rmsnorm_cache *cache, int build)
{
    bool done = renameat(build, SPARE, build, FOLDER) == 0;
    if (!done && (errno == ENOTEMPTY || errno == EEXIST || errno == ENOTDIR)) { /* something is there */
        done = exchange(build, SPARE, FOLDER);
        if (!done && rmsnorm_store_remove(build, OLD) && renameat(build, FOLDER, build, OLD) == 0) {
            done = renameat(build, SPARE, build, FOLDER) == 0;
        }
    }
    const rmsnorm_status status = done ? RMSNORM_OK : rmsnorm_cache_fail(cache, "build/" FOLDER, "replaced");
    (void)fsync(build);
    (void)rmsnorm_store_remove(build, SPARE);
    (void)rmsnorm_store_remove(build, OLD);
    return status;
}

static rmsnorm_status rebuild(const rmsnorm_cache *cache, int build, const rmsnorm_placed *files, size_t count)
{
    const int folder = rmsnorm_store_remove(build, SPARE) ? rmsnorm_cache_enter(build, SPARE, true) : -1;
    if (folder < 0) {
        return rmsnorm_cache_fail(cache, "build/" SPARE, "made");
    }
    const rmsnorm_status status = fill(cache, folder, files, count);
    (void)close(folder);
    return status == RMSNORM_OK ? name_spare(cache, build) : status;
}

rmsnorm_status rmsnorm_cache_place(const rmsnorm_cache *cache, const char *commit, const rmsnorm_placed *files,
                                   size_t count)
{
    int snapshot = -1;
    RMSNORM_TRY(open_snapshot(cache, commit, &snapshot));
    const int build = enter(snapshot, "build");
    close_keeping_error(snapshot);
    if (build < 0) {
        return rmsnorm_cache_fail(cache, "build", "made");
    }
    const rmsnorm_status status = rebuild(cache, build, files, count);
    (void)close(build);
    return status;
}

rmsnorm_status rmsnorm_cache_place_card(const rmsnorm_cache *cache, const char *commit, const rmsnorm_placed *card)
{
    int snapshot = -1;
    RMSNORM_TRY(open_snapshot(cache, commit, &snapshot));
    const rmsnorm_status status = rmsnorm_store_link(cache, card->etag, 2, snapshot, card->name);
    (void)close(snapshot);
    return status;
}
