/* blob.c: asks what a file is, goes on where an earlier call ended, and names it when its digest is right. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "hub/blob.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/store.h"

/* All that stays the same while one file is fetched. */
typedef struct fetching {
    const rmsnorm_cache *cache;
    rmsnorm_http *http;
    const char *address; /* below the endpoint */
    uint64_t limit, size;
    rmsnorm_arena *arena;
    rmsnorm_blob *blob;
} fetching;

static rmsnorm_status read_file(const fetching *the, int file)
{
    struct stat status;
    rmsnorm_blob *const blob = the->blob;
    if (fstat(file, &status) != 0) {
        return rmsnorm_cache_fail(the->cache, blob->path, "read");
    }
    RMSNORM_CHECK((uint64_t)status.st_size <= the->limit, RMSNORM_MALFORMED,
                  "%s: %s has more than %" PRIu64 " bytes, which is the most", the->cache->settings->name, blob->path,
                  the->limit);
    const size_t size = (size_t)status.st_size;
    char *const data = rmsnorm_arena_allocate(the->arena, size + 1);
    if (data == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    size_t done = 0;
    while (done < size) {
        const ssize_t count = pread(file, data + done, size - done, (off_t)done);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return rmsnorm_cache_fail(the->cache, blob->path, "read");
        }
        done += (size_t)count;
    }
    blob->data = data;
    blob->size = size;
    return RMSNORM_OK;
}

/* *right: it has the digest, or none is known. */
static rmsnorm_status compare(const rmsnorm_blob *blob, bool *right)
{
    rmsnorm_digest digest;
    *right = true;
    if (blob->digest != NULL) {
        RMSNORM_TRY(rmsnorm_digest_make(blob->data, blob->size, &digest));
        *right = memcmp(digest.bytes, blob->digest->bytes, sizeof digest.bytes) == 0;
    }
    return RMSNORM_OK;
}

/* A blob that is there counts when its digest is known and right; another is fetched anew. */
static rmsnorm_status look(const fetching *the, bool *there)
{
    *there = false;
    const int file = the->blob->digest != NULL ? rmsnorm_cache_open_blob(the->cache, the->blob->etag, false) : -1;
    if (file < 0) {
        return RMSNORM_OK;
    }
    rmsnorm_status status = read_file(the, file);
    if (status == RMSNORM_OK) {
        status = compare(the->blob, there);
    }
    (void)close(file);
    return status == RMSNORM_OUT_OF_MEMORY ? status : RMSNORM_OK;
}

static rmsnorm_status receive(const fetching *the, int file, bool *resumed)
{
    const rmsnorm_http_request request = {.kind = RMSNORM_HTTP_FILE,
                                          .path = the->address,
                                          .label = the->blob->path,
                                          .limit = the->limit,
                                          .file = file,
                                          .etag = the->blob->etag,
                                          .size = the->size};
    rmsnorm_http_reply reply;
    bool right;
    struct stat before;
    *resumed = fstat(file, &before) == 0 && before.st_size > 0;
    if (*resumed &&
        (uint64_t)before.st_size >= the->size) { /* nothing is left to be asked for: it was not named in time */
        *resumed = false;
        if (ftruncate(file, 0) != 0) {
            return rmsnorm_cache_fail(the->cache, the->blob->path, "emptied");
        }
    }
    RMSNORM_TRY(rmsnorm_http_ask(the->http, &request, &reply));
    *resumed = reply.resumed;
    RMSNORM_TRY(read_file(the, file));
    RMSNORM_TRY(compare(the->blob, &right));
    RMSNORM_CHECK(right, RMSNORM_MALFORMED, "%s: %s is not the file whose digest metadata.json has",
                  the->cache->settings->name, the->blob->path);
    return RMSNORM_OK;
}

/* What is wrong is not kept to be resumed. What an earlier call had left may be what was wrong: then once more, from nothing. */
static rmsnorm_status complete(const fetching *the, int file)
{
    bool resumed;
    rmsnorm_status status = receive(the, file, &resumed);
    if (status == RMSNORM_MALFORMED && resumed) {
        if (ftruncate(file, 0) != 0) {
            return rmsnorm_cache_fail(the->cache, the->blob->path, "emptied");
        }
        status = receive(the, file, &resumed);
    }
    if (status == RMSNORM_MALFORMED) {
        rmsnorm_cache_drop(the->cache, the->blob->etag);
    }
    return status == RMSNORM_OK ? rmsnorm_cache_keep(the->cache, the->blob->etag, file) : status;
}

static rmsnorm_status fetch_locked(const fetching *the)
{
    bool there;
    RMSNORM_TRY(look(the, &there));
    if (there) {
        return RMSNORM_OK;
    }
    const int file = rmsnorm_cache_open_blob(the->cache, the->blob->etag, true);
    if (file < 0) {
        return rmsnorm_cache_fail(the->cache, the->blob->path, "written");
    }
    const rmsnorm_status status = complete(the, file);
    (void)close(file);
    return status;
}

static rmsnorm_status ask_identity(fetching *the)
{
    const char *const name = the->cache->settings->name;
    const rmsnorm_http_request head = {
        .kind = RMSNORM_HTTP_HEAD, .path = the->address, .label = the->blob->path, .file = -1};
    rmsnorm_http_reply reply;
    RMSNORM_TRY(rmsnorm_http_ask(the->http, &head, &reply));
    RMSNORM_CHECK(reply.etag[0] != '\0', RMSNORM_MALFORMED, "%s: %s has no ETag that could be a file's name", name,
                  the->blob->path);
    RMSNORM_CHECK(reply.size == UINT64_MAX || reply.size <= the->limit, RMSNORM_MALFORMED,
                  "%s: %s has %" PRIu64 " bytes, at most %" PRIu64 " are allowed", name, the->blob->path, reply.size,
                  the->limit);
    memcpy(the->blob->etag, reply.etag, sizeof reply.etag);
    the->size = reply.size;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_blob_fetch(const rmsnorm_cache *cache, rmsnorm_http *http, const char *commit, uint64_t limit,
                                  rmsnorm_arena *arena, rmsnorm_blob *blob)
{
    char address[768]; /* 193 bytes of a name, 40 of a commit, at most 255 of a file's name */
    int lock;
    (void)snprintf(address, sizeof address, "kernels/%s/resolve/%s/%s", cache->settings->name, commit, blob->path);
    fetching the = {.cache = cache, .http = http, .address = address, .limit = limit, .arena = arena, .blob = blob};
    RMSNORM_TRY(ask_identity(&the));
    RMSNORM_TRY(rmsnorm_cache_lock(cache, blob->etag, &lock));
    const rmsnorm_status status = fetch_locked(&the);
    (void)close(lock);
    return status;
}
