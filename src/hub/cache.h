/* cache.h: one kernel's folder in the cache, laid out as the Hub's own clients have it:
 *
 *   CACHE/kernels--ORG--NAME/refs/v1                                   a commit
 *                           /snapshots/COMMIT/build/webgpu/FILE        a link to ../../../../blobs/ETAG
 *                                            /build/rmsnorm.incomplete   build/webgpu until it is whole
 *                           /blobs/ETAG, ETAG.incomplete
 *   CACHE/.locks/kernels--ORG--NAME/rmsnorm.lock, ETAG.lock
 *
 * Everything below CACHE is opened step by step and no link is followed, so that nothing leads out of it. Whatever gets a final
 * name is complete by then, and on the disk. */
#ifndef RMSNORM_HUB_CACHE_H
#define RMSNORM_HUB_CACHE_H

#include "hub/settings.h"

typedef struct rmsnorm_cache {
    const rmsnorm_hub_settings *settings;
    char name[224];                /* "kernels--org--name" */
    int root, folder, blobs, lock; /* -1: not open */
} rmsnorm_cache;

/* To be read: RMSNORM_NOT_FOUND where there is no such folder. To be written: makes what is missing, and takes the lock that
 * keeps every other fetch of this kernel out until the cache is closed. */
rmsnorm_status rmsnorm_cache_read(const rmsnorm_hub_settings *settings, rmsnorm_cache *cache);
rmsnorm_status rmsnorm_cache_write(const rmsnorm_hub_settings *settings, rmsnorm_cache *cache);
void rmsnorm_cache_close(rmsnorm_cache *cache);

/* CACHE/kernels--ORG--NAME/snapshots/COMMIT; to be freed. NULL without memory. */
char *rmsnorm_cache_snapshot(const rmsnorm_hub_settings *settings, const char *commit);

/* The commit of a branch; RMSNORM_NOT_FOUND when none is kept. */
rmsnorm_status rmsnorm_cache_get_ref(const rmsnorm_cache *cache, const char *branch, char commit[RMSNORM_COMMIT_TEXT]);
rmsnorm_status rmsnorm_cache_set_ref(const rmsnorm_cache *cache, const char *branch, const char *commit);

/* The lock that the Hub's own clients take for a blob; closing the descriptor lets go. */
rmsnorm_status rmsnorm_cache_lock(const rmsnorm_cache *cache, const char *etag, int *lock);

/* blobs/ETAG, or with `incomplete` blobs/ETAG.incomplete for writing; -1: errno tells. */
int rmsnorm_cache_open_blob(const rmsnorm_cache *cache, const char *etag, bool incomplete);
/* blobs/ETAG.incomplete becomes blobs/ETAG. */
rmsnorm_status rmsnorm_cache_keep(const rmsnorm_cache *cache, const char *etag, int file);
/* blobs/ETAG.incomplete is worth nothing. */
void rmsnorm_cache_drop(const rmsnorm_cache *cache, const char *etag);

/* A file of a snapshot, and the blob that it is. */
typedef struct rmsnorm_placed {
    const char *name, *etag;
} rmsnorm_placed;

/* build/webgpu of a snapshot with these files and no others, all at once and in place of whatever is there. */
rmsnorm_status rmsnorm_cache_place(const rmsnorm_cache *cache, const char *commit, const rmsnorm_placed *files,
                                   size_t count);
/* A file in the snapshot's own folder: README.md. */
rmsnorm_status rmsnorm_cache_place_card(const rmsnorm_cache *cache, const char *commit, const rmsnorm_placed *card);

#endif
