/* fetch.c: a kernel package from a Hub: which commit, what is cached, what is missing. */
#define _XOPEN_SOURCE 700

#include "rmsnorm/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/blob.h"
#include "package/folder.h"
#include "package/json.h"
#include "package/metadata.h"

#define ANSWER_LIMIT ((uint64_t)1 << 20)
#define MEMORY_LIMIT ((size_t)256 << 20)
#define INSIDE "build/webgpu/"

/* One call. */
typedef struct call {
    rmsnorm_hub_settings settings;
    rmsnorm_cache cache;
    rmsnorm_http *http;
    rmsnorm_arena arena;
    uint64_t size; /* of all files so far */
} call;

/* ---- The commit ------------------------------------------------------------------------------- */

static rmsnorm_status read_commit(call *the, const rmsnorm_http_reply *reply)
{
    const char *const name = the->settings.name;
    rmsnorm_any json;
    RMSNORM_CHECK(rmsnorm_json_parse(&the->arena, "the answer", reply->text, reply->length, &json) == RMSNORM_OK,
                  RMSNORM_MALFORMED, "%s: the server's answer for %s is no JSON: %s", name, the->settings.branch,
                  rmsnorm_last_error());
    const rmsnorm_any *const sha = json.kind == RMSNORM_ANY_MAP ? rmsnorm_map_get(json.as.map, "sha", 3) : NULL;
    RMSNORM_CHECK(sha != NULL && sha->kind == RMSNORM_ANY_STRING && sha->as.string.length == RMSNORM_COMMIT_TEXT - 1 &&
                      rmsnorm_hub_is_hex(sha->as.string.text, RMSNORM_COMMIT_TEXT - 1),
                  RMSNORM_MALFORMED, "%s: the server's answer for %s has no commit of 40 hex digits in \"sha\"", name,
                  the->settings.branch);
    memcpy(the->settings.commit, sha->as.string.text, RMSNORM_COMMIT_TEXT);
    return RMSNORM_OK;
}

static rmsnorm_status ask_commit(call *the)
{
    char path[256];
    rmsnorm_http_reply reply;
    (void)snprintf(path, sizeof path, "api/kernels/%s/revision/%s", the->settings.name, the->settings.branch);
    const rmsnorm_http_request request = {
        .kind = RMSNORM_HTTP_TEXT, .path = path, .label = the->settings.branch, .limit = ANSWER_LIMIT, .file = -1};
    RMSNORM_TRY(rmsnorm_http_ask(the->http, &request, &reply));
    const rmsnorm_status status = read_commit(the, &reply);
    free(reply.text);
    return status;
}

static rmsnorm_status remember_commit(call *the)
{
    rmsnorm_cache cache;
    rmsnorm_status status = rmsnorm_cache_read(&the->settings, &cache);
    if (status == RMSNORM_OK) {
        status = rmsnorm_cache_get_ref(&cache, the->settings.branch, the->settings.commit);
    }
    rmsnorm_cache_close(&cache);
    return status == RMSNORM_NOT_FOUND
               ? rmsnorm_fail(RMSNORM_NOT_FOUND,
                              "%s: version %s is not in the cache %.200s, and the network is not used: "
                              "offline",
                              the->settings.name, the->settings.branch + 1, the->settings.cache)
               : status;
}

/* ---- What is cached --------------------------------------------------------------------------- */

/* A version that was asked for is the package's own, whatever branch it lies in. */
static rmsnorm_status check_version(const call *the, int64_t version)
{
    RMSNORM_CHECK(the->settings.version == 0 || the->settings.version == version, RMSNORM_MALFORMED,
                  "%s: version %" PRId64 " was asked for, but by its " RMSNORM_METADATA
                  " what %s has is version %" PRId64,
                  the->settings.name, the->settings.version, the->settings.branch, version);
    return RMSNORM_OK;
}

/* The one judge of a package is the one who opens it. */
static rmsnorm_status check_snapshot(const call *the, char **folder)
{
    rmsnorm_package *package;
    *folder = rmsnorm_cache_snapshot(&the->settings, the->settings.commit);
    RMSNORM_CHECK(*folder != NULL, RMSNORM_OUT_OF_MEMORY, "%s: no memory for a path", the->settings.name);
    rmsnorm_status status = rmsnorm_package_open(*folder, &package);
    if (status == RMSNORM_OK) {
        status = check_version(the, package->version);
        rmsnorm_package_close(package);
    }
    if (status != RMSNORM_OK) {
        free(*folder);
        *folder = NULL;
    }
    return status;
}

/* ---- What is missing -------------------------------------------------------------------------- */

static rmsnorm_status fetch_file(call *the, const char *path, const rmsnorm_digest *digest, rmsnorm_blob *blob)
{
    const uint64_t left = the->settings.max_size - the->size;
    const uint64_t limit = left < the->settings.max_file_size ? left : the->settings.max_file_size;
    *blob = (rmsnorm_blob){.path = path, .digest = digest};
    RMSNORM_TRY(rmsnorm_blob_fetch(&the->cache, the->http, the->settings.commit, limit, &the->arena, blob));
    the->size += blob->size;
    return RMSNORM_OK;
}

/* The files of a package on their way into a snapshot; metadata.json is the first of them. */
typedef struct parcel {
    rmsnorm_blob *blobs;
    rmsnorm_package_file *files; /* of build/webgpu, for whoever opens them */
    size_t count;
} parcel;

static rmsnorm_status add_file(call *the, const char *name, const rmsnorm_digest *digest, parcel *all)
{
    char path[sizeof INSIDE + 256];
    rmsnorm_blob *const blob = &all->blobs[all->count];
    const int length = snprintf(path, sizeof path, INSIDE "%s", name);
    const char *const kept = rmsnorm_arena_copy(&the->arena, path, (size_t)length);
    if (kept == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(fetch_file(the, kept, digest, blob));
    all->files[all->count++] = (rmsnorm_package_file){kept + sizeof INSIDE - 1, blob->data, blob->size};
    return RMSNORM_OK;
}

static rmsnorm_status fetch_parcel(call *the, parcel *all)
{
    const size_t most = RMSNORM_PACKAGE_FILES + 1;
    rmsnorm_any json;
    rmsnorm_metadata metadata;
    all->blobs = rmsnorm_arena_allocate(&the->arena, most * sizeof *all->blobs);
    all->files = rmsnorm_arena_allocate(&the->arena, most * sizeof *all->files);
    if (all->blobs == NULL || all->files == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(add_file(the, RMSNORM_METADATA, NULL, all));
    rmsnorm_status status =
        rmsnorm_json_parse(&the->arena, RMSNORM_METADATA, all->blobs->data, all->blobs->size, &json);
    if (status == RMSNORM_OK) {
        status = rmsnorm_metadata_parse(&the->arena, &json, &metadata);
    }
    if (status != RMSNORM_OK) {
        return rmsnorm_fail(status, "%s: %s", the->settings.name, rmsnorm_last_error());
    }
    RMSNORM_TRY(check_version(the, metadata.version));
    for (size_t i = 0; i < metadata.file_count; ++i) {
        RMSNORM_TRY(add_file(the, metadata.files[i].name, &metadata.files[i].digest, all));
    }
    return RMSNORM_OK;
}

/* What does not open is not put into a snapshot. */
static rmsnorm_status check_parcel(const call *the, const parcel *all)
{
    rmsnorm_package *package;
    const rmsnorm_status status = rmsnorm_package_open_files(all->files, all->count, &package);
    rmsnorm_package_close(package);
    return status == RMSNORM_OK ? status : rmsnorm_fail(status, "%s: %s", the->settings.name, rmsnorm_last_error());
}

static rmsnorm_status fetch_card(call *the)
{
    rmsnorm_blob blob;
    const rmsnorm_status status = fetch_file(the, "README.md", NULL, &blob);
    if (status != RMSNORM_OK) {
        return status == RMSNORM_NOT_FOUND ? RMSNORM_OK : status; /* a package need not have one */
    }
    return rmsnorm_cache_place_card(&the->cache, the->settings.commit, &(rmsnorm_placed){"README.md", blob.etag});
}

static rmsnorm_status fetch_files(call *the)
{
    parcel all = {.count = 0};
    RMSNORM_TRY(fetch_parcel(the, &all));
    RMSNORM_TRY(check_parcel(the, &all));
    RMSNORM_TRY(fetch_card(the));
    rmsnorm_placed *const placed = rmsnorm_arena_allocate(&the->arena, all.count * sizeof *placed);
    if (placed == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < all.count; ++i) {
        placed[i] = (rmsnorm_placed){all.files[i].name, all.blobs[i].etag};
    }
    return rmsnorm_cache_place(&the->cache, the->settings.commit, placed, all.count);
}

static rmsnorm_status fetch_locked(call *the, char **folder)
{
    if (check_snapshot(the, folder) == RMSNORM_OK) {
        return RMSNORM_OK; /* another process was faster */
    }
    if (the->http == NULL) {
        RMSNORM_TRY(rmsnorm_http_open(&the->settings, &the->http));
    }
    RMSNORM_TRY(fetch_files(the));
    return check_snapshot(the, folder);
}

static rmsnorm_status fetch_missing(call *the, char **folder)
{
    rmsnorm_status status = rmsnorm_cache_write(&the->settings, &the->cache);
    if (status == RMSNORM_OK) {
        status = fetch_locked(the, folder);
    }
    if (status == RMSNORM_OK && the->settings.branch[0] != '\0') {
        status = rmsnorm_cache_set_ref(&the->cache, the->settings.branch, the->settings.commit);
    }
    rmsnorm_cache_close(&the->cache);
    return status;
}

/* ---- The call --------------------------------------------------------------------------------- */

/* A version that moved to a commit which is cached: its ref follows where it can. */
static void follow_ref(call *the)
{
    rmsnorm_cache cache;
    char commit[RMSNORM_COMMIT_TEXT];
    const bool same = rmsnorm_cache_read(&the->settings, &cache) == RMSNORM_OK &&
                      rmsnorm_cache_get_ref(&cache, the->settings.branch, commit) == RMSNORM_OK &&
                      strcmp(commit, the->settings.commit) == 0;
    rmsnorm_cache_close(&cache);
    if (!same && rmsnorm_cache_write(&the->settings, &cache) == RMSNORM_OK) {
        (void)rmsnorm_cache_set_ref(&cache, the->settings.branch, the->settings.commit);
    }
    rmsnorm_cache_close(&cache);
}

static rmsnorm_status fetch(call *the, char **folder)
{
    const bool by_version = the->settings.branch[0] != '\0';
    if (by_version && the->settings.offline) {
        RMSNORM_TRY(remember_commit(the));
    } else if (by_version) {
        RMSNORM_TRY(rmsnorm_http_open(&the->settings, &the->http));
        RMSNORM_TRY(ask_commit(the));
    }
    const rmsnorm_status status = check_snapshot(the, folder);
    if (status == RMSNORM_OK && by_version && !the->settings.offline) {
        follow_ref(the);
    }
    if (status == RMSNORM_OK || status == RMSNORM_OUT_OF_MEMORY) {
        return status;
    }
    RMSNORM_CHECK(!the->settings.offline || status != RMSNORM_NOT_FOUND, RMSNORM_NOT_FOUND,
                  "%s: commit %s is not in the cache %.200s, and the network is not used: offline", the->settings.name,
                  the->settings.commit, the->settings.cache);
    RMSNORM_CHECK(!the->settings.offline, status,
                  "%s: what is in the cache is not right (%s), and the network is not used: offline",
                  the->settings.name, rmsnorm_last_error());
    return fetch_missing(the, folder);
}

rmsnorm_status rmsnorm_package_fetch(const char *name, const rmsnorm_fetch_options *options, char **folder,
                                     char commit[RMSNORM_COMMIT_TEXT])
{
    call the = {.http = NULL};
    RMSNORM_CHECK(folder != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_package_fetch: folder is NULL");
    *folder = NULL;
    rmsnorm_arena_init(&the.arena, MEMORY_LIMIT);
    rmsnorm_status status = rmsnorm_hub_settings_make(name, options, &the.settings);
    if (status == RMSNORM_OK) {
        status = fetch(&the, folder);
    }
    if (status != RMSNORM_OK) {
        free(*folder);
        *folder = NULL;
    } else if (commit != NULL) {
        memcpy(commit, the.settings.commit, RMSNORM_COMMIT_TEXT);
    }
    rmsnorm_http_close(the.http);
    rmsnorm_arena_release(&the.arena);
    rmsnorm_hub_settings_release(&the.settings);
    return status;
}
