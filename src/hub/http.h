/* http.h: questions to a Hub: with redirects, tries, limits and the token where it belongs. A build without libcurl has
 * absent.c in the place of all this. */
#ifndef RMSNORM_HUB_HTTP_H
#define RMSNORM_HUB_HTTP_H

#include "hub/settings.h"

#define RMSNORM_ETAG_TEXT 129

/* One server and the connections to it, for one thread. */
typedef struct rmsnorm_http rmsnorm_http;

rmsnorm_status rmsnorm_http_open(const rmsnorm_hub_settings *settings, rmsnorm_http **http);
void rmsnorm_http_close(rmsnorm_http *http);

typedef enum rmsnorm_http_kind {
    RMSNORM_HTTP_HEAD, /* what the headers say */
    RMSNORM_HTTP_TEXT, /* a body into memory */
    RMSNORM_HTTP_FILE  /* a body into a file, from where that ends */
} rmsnorm_http_kind;

typedef struct rmsnorm_http_request {
    rmsnorm_http_kind kind;
    const char *path;  /* below the endpoint */
    const char *label; /* for sentences: "build/webgpu/manifest.json" */
    uint64_t limit;    /* bytes of the body */
    int file;          /* FILE: open for reading and writing */
    const char *etag;  /* FILE: of what is in the file already */
    uint64_t size;     /* FILE: how long it will be; UINT64_MAX: not known */
} rmsnorm_http_request;

typedef struct rmsnorm_http_reply {
    char etag[RMSNORM_ETAG_TEXT]; /* HEAD: bare, and safe as a file's name; "" where there is none */
    uint64_t size;                /* HEAD: of the file; UINT64_MAX: not said */
    char *text;                   /* TEXT: to be freed */
    size_t length;
    bool resumed; /* FILE: what was there is part of it */
} rmsnorm_http_reply;

/* RMSNORM_NOT_FOUND: the server has no such thing. A file that could not be completed keeps what came. */
rmsnorm_status rmsnorm_http_ask(rmsnorm_http *http, const rmsnorm_http_request *request, rmsnorm_http_reply *reply);

#endif
