/* url.h: where requests may go: https anywhere, plain http to this machine alone. */
#ifndef RMSNORM_HUB_URL_H
#define RMSNORM_HUB_URL_H

#include "operator/error.h"

/* One address; all of it is owned. */
typedef struct rmsnorm_url {
    char *text;   /* whole */
    char *origin; /* scheme, host and port: what a token is bound to */
    char *host;   /* for sentences: the rest may be signed */
    bool plain;   /* http, to this machine */
} rmsnorm_url;

/* An endpoint: no user, query or fragment; a / at its end is taken off. */
rmsnorm_status rmsnorm_url_endpoint(const char *text, rmsnorm_url *url);

/* ENDPOINT/PATH. The path's bytes other than letters, digits and -._~/ are escaped. */
rmsnorm_status rmsnorm_url_join(const rmsnorm_url *endpoint, const char *path, rmsnorm_url *url);

/* Where a redirect from `from` leads to. Plain http only from this machine to this machine. */
rmsnorm_status rmsnorm_url_follow(const rmsnorm_url *from, const char *location, rmsnorm_url *url);

void rmsnorm_url_release(rmsnorm_url *url);

#endif
