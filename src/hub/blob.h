/* blob.h: one file of a kernel, from the server into blobs/. */
#ifndef RMSNORM_HUB_BLOB_H
#define RMSNORM_HUB_BLOB_H

#include "hub/cache.h"
#include "hub/http.h"
#include "package/digest.h"
#include "operator/arena.h"

/* A file that is being fetched. */
typedef struct rmsnorm_blob {
    const char *path;             /* "build/webgpu/manifest.json" */
    const rmsnorm_digest *digest; /* what it must have; NULL: not known */
    char etag[RMSNORM_ETAG_TEXT]; /* its name in blobs/ */
    const char *data;             /* in the arena, with a terminator */
    size_t size;
} rmsnorm_blob;

/* Makes blobs/ETAG hold the file, at most `limit` bytes long. One that is there with the right digest is not asked for. */
rmsnorm_status rmsnorm_blob_fetch(const rmsnorm_cache *cache, rmsnorm_http *http, const char *commit, uint64_t limit,
                                  rmsnorm_arena *arena, rmsnorm_blob *blob);

#endif
