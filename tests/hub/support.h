/* support.h: a Hub on this machine that misbehaves when asked to (server.mjs), a package on it, and a cache. */
#ifndef RMSNORM_TESTS_HUB_SUPPORT_H
#define RMSNORM_TESTS_HUB_SUPPORT_H

#include "package/support.h"
#include "rmsnorm/hub.h"

#define TOKEN "hub-test-token" /* what the organization `private` wants */

/* A group's setup and teardown: the server, with the package kernels/copy, and none of the variables that a fetch reads. Without
 * Node the program ends with a line that ctest takes for skipped. */
int hub_start(void **state);
/* The same, and the server is there by https as well, with a certificate that no system trusts (authority.h); skipped without the
 * command openssl, too. */
int hub_start_secure(void **state);
int hub_stop(void **state);
/* A test's setup: an empty cache, and the server has forgotten what it was asked. */
int hub_reset(void **state);

const char *hub_endpoint(void);
const char *hub_secure_endpoint(void);
/* A path below the cache, until the next call. */
const char *cache_path(const char *name);

/* Version 1 of ORG/copy from this server, no second try. */
rmsnorm_fetch_options hub_options(void);

/* Asserted; the folder is gone with the test. */
const char *fetched(const char *name, const rmsnorm_fetch_options *options);
void fetch_refused(const char *name, const rmsnorm_fetch_options *options, rmsnorm_status status, const char *part);
/* The folder opens as a package. */
void opens(const char *folder);

/* Requests so far whose method, URL, status and Host begin so, end so, are that, begin so; "" and 0: any. */
typedef struct asked {
    const char *method, *ending, *host;
    int status;
} asked;
size_t count_requests(asked what);
/* Of those, how many had the token. */
size_t count_tokens(asked what);

/* Runs in a process of its own; its exit code, or 128 and a signal. */
typedef int child_work(void *context);
int child_start(child_work *work, void *context);
int child_wait(int process);

bool file_exists(const char *path);
/* The files below a folder of the cache whose names end so. */
size_t count_files(const char *folder, const char *ending);

#endif
