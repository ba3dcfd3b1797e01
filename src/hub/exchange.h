/* exchange.h: one request and its answer, as libcurl delivers it; no redirect followed, nothing tried twice. */
#ifndef RMSNORM_HUB_EXCHANGE_H
#define RMSNORM_HUB_EXCHANGE_H

#include <curl/curl.h>

#include "hub/http.h"
#include "hub/url.h"

struct rmsnorm_http {
    const rmsnorm_hub_settings *settings;
    CURL *curl;
    rmsnorm_url endpoint;
};

typedef struct rmsnorm_exchange {
    const rmsnorm_hub_settings *settings;
    const rmsnorm_http_request *request;
    bool own;        /* to the endpoint itself: with the token, and its ETag counts */
    uint64_t offset; /* bytes of the file that were there and are not asked for again */
    /* The headers of the last answer. Sizes: UINT64_MAX where nothing is said. */
    long status;
    char etag[RMSNORM_ETAG_TEXT], linked_etag[RMSNORM_ETAG_TEXT], fault[32];
    uint64_t length, linked_size, range_start, range_total, retry_after;
    bool encoded;
    char *location; /* owned */
    /* The body. */
    bool begun;
    uint64_t done; /* bytes of it */
    char *text;    /* owned */
    size_t text_size;
    /* Watched while it runs. */
    uint64_t mark_time, mark_bytes;
    rmsnorm_status stopped; /* why we ended it; RMSNORM_OK: we did not */
    bool enough;            /* nothing of the body is wanted */
} rmsnorm_exchange;

/* Fills in the answer. `again`: the connection failed in a way that may be over soon. RMSNORM_OK: status says the rest. */
rmsnorm_status rmsnorm_exchange_run(rmsnorm_http *http, const rmsnorm_url *url, rmsnorm_exchange *exchange,
                                    bool *again);
void rmsnorm_exchange_release(rmsnorm_exchange *exchange);

/* headers.c: forgets the last answer's headers; takes in one line of the next. */
void rmsnorm_exchange_forget(rmsnorm_exchange *exchange);
rmsnorm_status rmsnorm_exchange_header(rmsnorm_exchange *exchange, const char *line, size_t length);

/* body.c: the next bytes of the body; before the first, and when there are none, what was in the file is judged. */
rmsnorm_status rmsnorm_exchange_begin(rmsnorm_exchange *exchange);
rmsnorm_status rmsnorm_exchange_body(rmsnorm_exchange *exchange, const char *data, size_t size);

#endif
