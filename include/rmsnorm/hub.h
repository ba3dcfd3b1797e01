/* hub.h: kernel packages from a Hub, into a cache that every client of the Hub shares. No GPU, no threads.
 *
 *   rmsnorm_fetch_options options = RMSNORM_FETCH_OPTIONS_INIT;
 *   options.version = 1;
 *   char *folder;
 *   rmsnorm_package_fetch("org/name", &options, &folder, NULL);
 *   rmsnorm_package_open(folder, &package);                      package.h
 *   free(folder);
 *
 * Limits: 256 files beside README.md, 4 MiB each, 32 MiB together; 5 redirects of one request.
 * What is fetched, and how it is kept: docs/packages.md. Needs librmsnorm_webgpu; a build of it without libcurl answers from
 * the cache alone, and with RMSNORM_NOT_BUILT where that does not suffice. */
#ifndef RMSNORM_HUB_H
#define RMSNORM_HUB_H

#include "rmsnorm/rmsnorm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Called now and then while files are fetched, locks waited for and tries spaced: done of size bytes of the file are there
 * (size 0: not known; file "": waiting). false ends the call with RMSNORM_CANCELLED; what was fetched is kept and goes on from
 * there the next time. */
typedef bool rmsnorm_fetch_progress(void *context, const char *file, uint64_t done, uint64_t size);

typedef struct rmsnorm_fetch_options {
    size_t struct_size;
    int64_t version;      /* of the contract: the branch vN; 0: revision says which */
    const char *revision; /* a commit: 40 hex digits; NULL: version says which */
    const char
        *endpoint; /* an address with https, or http to a loopback host; NULL: HF_ENDPOINT, else the public Hub */
    const char *
        cache; /* the folder; NULL: HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub or the same in ~/.cache */
    const char *token;   /* sent to the endpoint alone; NULL: HF_TOKEN; "": none */
    bool offline;        /* only what is cached; HF_HUB_OFFLINE=1 does the same */
    uint32_t timeout_ms; /* to connect, and without 32 KiB of answer, before a connection is given up */
    uint32_t retries;    /* after a fault of the connection, and after the answers 408, 429 and 5xx */
    uint64_t max_file_size,
        max_size; /* bytes, of one file and of all; more than the limits above is as much as they are */
    rmsnorm_fetch_progress *progress; /* NULL: none */
    void *context;                    /* its first argument */
} rmsnorm_fetch_options;

/* clang-format off */
#define RMSNORM_FETCH_OPTIONS_INIT \
    {.struct_size = sizeof(rmsnorm_fetch_options), .timeout_ms = 30000, .retries = 4, \
     .max_file_size = (uint64_t)4 << 20, .max_size = (uint64_t)32 << 20}
/* clang-format on */

#define RMSNORM_COMMIT_TEXT 41 /* 40 hex digits and the terminator */

/* The package ORG/NAME of a Hub, whole and with every digest checked. *folder is what rmsnorm_package_open takes, to be released
 * with free(); commit may be NULL. A commit that is cached needs no network; a version does, to learn its commit, unless offline.
 * Any number of threads and processes may fetch into the same cache. What is cached and not as it was fetched is made anew, or
 * refused when offline. RMSNORM_NOT_FOUND: no such package, version or commit; RMSNORM_MALFORMED: what the server sent, or offline
 * the cache has, is not what it should be, or is of another version than was asked for; RMSNORM_IO, RMSNORM_TIMED_OUT: the network,
 * or the disk. */
RMSNORM_API rmsnorm_status rmsnorm_package_fetch(const char *name, const rmsnorm_fetch_options *options, char **folder,
                                                 char commit[RMSNORM_COMMIT_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
