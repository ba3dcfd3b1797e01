/* http.c: a question until it is answered: redirects, tries, and what an answer's status means. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "hub/http.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/exchange.h"

enum { MOST_REDIRECTS = 5, FIRST_PAUSE = 500, LONGEST_PAUSE = 60000 }; /* milliseconds */

static pthread_once_t started = PTHREAD_ONCE_INIT;
static CURLcode start_code;

static void start(void)
{
    start_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

rmsnorm_status rmsnorm_http_open(const rmsnorm_hub_settings *settings, rmsnorm_http **http)
{
    *http = NULL;
    (void)pthread_once(&started, start);
    rmsnorm_http *const made = calloc(1, sizeof *made);
    RMSNORM_CHECK(made != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for a connection");
    made->settings = settings;
    rmsnorm_status status = rmsnorm_url_endpoint(settings->endpoint, &made->endpoint);
    if (status == RMSNORM_OK) {
        made->curl = start_code == CURLE_OK ? curl_easy_init() : NULL;
        status = made->curl != NULL ? RMSNORM_OK : rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "libcurl does not start");
    }
    if (status != RMSNORM_OK) {
        rmsnorm_http_close(made);
        return status;
    }
    *http = made;
    return RMSNORM_OK;
}

void rmsnorm_http_close(rmsnorm_http *http)
{
    if (http != NULL) {
        curl_easy_cleanup(http->curl);
        rmsnorm_url_release(&http->endpoint);
        free(http);
    }
}

/* ---- What an answer means --------------------------------------------------------------------- */

static bool is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

static rmsnorm_status fail_missing(const rmsnorm_exchange *exchange)
{
    const rmsnorm_hub_settings *const settings = exchange->settings;
    if (strcmp(exchange->fault, "RevisionNotFound") == 0) {
        return rmsnorm_fail(RMSNORM_NOT_FOUND, "%s: the server has no %s of it", settings->name,
                            settings->branch[0] != '\0' ? settings->branch : settings->commit);
    }
    if (strcmp(exchange->fault, "RepoNotFound") == 0) {
        return rmsnorm_fail(RMSNORM_NOT_FOUND, "%s: the server has no such kernel", settings->name);
    }
    return rmsnorm_fail(RMSNORM_NOT_FOUND, "%s: %s is not there", settings->name, exchange->request->label);
}

/* Anything but success and redirects. */
static rmsnorm_status fail_status(const rmsnorm_exchange *exchange, bool *again, uint64_t *pause)
{
    const rmsnorm_hub_settings *const settings = exchange->settings;
    const char *const label = exchange->request->label;
    const long status = exchange->status;
    if (status == 404 || status == 410) {
        return fail_missing(exchange);
    }
    if (status == 401 || status == 403) {
        return rmsnorm_fail(status == 401 ? RMSNORM_NOT_FOUND : RMSNORM_IO, "%s: the server answers %ld: %s%s",
                            settings->name, status,
                            status == 401 ? "there is no such kernel, or it is private" : "access to it is restricted",
                            settings->token == NULL ? "; no token was sent (HF_TOKEN)" : " to this token");
    }
    if (status != 408 && status != 429 && status < 500) {
        return rmsnorm_fail(RMSNORM_IO, "%s: %s: the server answers %ld", settings->name, label, status);
    }
    if (exchange->retry_after > LONGEST_PAUSE) {
        return rmsnorm_fail(RMSNORM_IO,
                            "%s: %s: the server answers %ld and asks to wait %" PRIu64 " s: try again later",
                            settings->name, label, status, exchange->retry_after / 1000);
    }
    *again = true;
    *pause = exchange->retry_after;
    return rmsnorm_fail(RMSNORM_IO, "%s: %s: the server answers %ld%s", settings->name, label, status,
                        status == 429 ? ", too many requests" : "");
}

static rmsnorm_status finish_file(rmsnorm_exchange *exchange, rmsnorm_http_reply *reply)
{
    const rmsnorm_http_request *const request = exchange->request;
    const uint64_t size = exchange->offset + exchange->done;
    reply->resumed = exchange->status == 206;
    RMSNORM_CHECK(request->size == UINT64_MAX || request->size == size, RMSNORM_MALFORMED,
                  "%s: %s came with %" PRIu64 " bytes, %" PRIu64 " were announced", exchange->settings->name,
                  request->label, size, request->size);
    return RMSNORM_OK;
}

static rmsnorm_status finish(rmsnorm_exchange *exchange, rmsnorm_http_reply *reply)
{
    if (!exchange->begun && exchange->request->kind != RMSNORM_HTTP_HEAD) {
        RMSNORM_TRY(rmsnorm_exchange_begin(exchange)); /* an empty body */
    }
    if (exchange->request->kind == RMSNORM_HTTP_FILE) {
        return finish_file(exchange, reply);
    }
    if (exchange->request->kind == RMSNORM_HTTP_TEXT) {
        RMSNORM_TRY(rmsnorm_exchange_body(exchange, "", 1)); /* a terminator */
        reply->length = (size_t)exchange->done - 1;
        reply->text = exchange->text;
        exchange->text = NULL;
    }
    return RMSNORM_OK;
}

/* ---- One try ---------------------------------------------------------------------------------- */

/* What a redirect says of the file behind it comes before what that says of itself. */
static void take_identity(const rmsnorm_exchange *exchange, rmsnorm_http_reply *reply)
{
    if (reply->etag[0] != '\0' || exchange->request->kind != RMSNORM_HTTP_HEAD) {
        return;
    }
    if (exchange->linked_etag[0] != '\0') {
        memcpy(reply->etag, exchange->linked_etag, sizeof reply->etag);
        reply->size = exchange->linked_size;
    } else if (!is_redirect(exchange->status)) {
        memcpy(reply->etag, exchange->etag, sizeof reply->etag);
        reply->size = exchange->encoded ? UINT64_MAX : exchange->length;
    }
}

/* Takes url over, and gives the next one. */
static rmsnorm_status follow(const rmsnorm_exchange *exchange, int hops, rmsnorm_url *url)
{
    const rmsnorm_hub_settings *const settings = exchange->settings;
    rmsnorm_url next = {.text = NULL};
    rmsnorm_status status;
    if (hops == MOST_REDIRECTS) {
        status = rmsnorm_fail(RMSNORM_MALFORMED, "%s: %s: more than %d redirects", settings->name,
                              exchange->request->label, MOST_REDIRECTS);
    } else if (exchange->location == NULL || exchange->location[0] == '\0') {
        status = rmsnorm_fail(RMSNORM_MALFORMED, "%s: %s: a redirect that leads nowhere", settings->name,
                              exchange->request->label);
    } else {
        status = rmsnorm_url_follow(url, exchange->location, &next);
        if (status != RMSNORM_OK) {
            status = rmsnorm_fail(status, "%s: %s: %s", settings->name, exchange->request->label, rmsnorm_last_error());
        }
    }
    rmsnorm_url_release(url);
    *url = next;
    return status;
}

static rmsnorm_status answered(rmsnorm_exchange *exchange, rmsnorm_http_reply *reply, bool *again, uint64_t *pause)
{
    if (exchange->status == 200 || (exchange->status == 206 && exchange->offset > 0)) {
        return finish(exchange, reply);
    }
    if (exchange->status == 416 && exchange->offset > 0) { /* the part that is there is longer than the file */
        *again = ftruncate(exchange->request->file, 0) == 0;
    }
    return fail_status(exchange, again, pause);
}

static rmsnorm_status measure(const rmsnorm_http_request *request, uint64_t *offset)
{
    struct stat status;
    *offset = 0;
    if (request->kind == RMSNORM_HTTP_FILE) {
        RMSNORM_CHECK(fstat(request->file, &status) == 0, RMSNORM_IO, "%s: the cache cannot be read: %s",
                      request->label, strerror(errno));
        *offset = (uint64_t)status.st_size;
    }
    return RMSNORM_OK;
}

static rmsnorm_status try_once(rmsnorm_http *http, const rmsnorm_http_request *request, rmsnorm_http_reply *reply,
                               bool *again, uint64_t *pause)
{
    rmsnorm_exchange exchange = {.settings = http->settings, .request = request};
    rmsnorm_url url;
    *again = false;
    *pause = 0;
    *reply = (rmsnorm_http_reply){.size = UINT64_MAX};
    RMSNORM_TRY(measure(request, &exchange.offset));
    rmsnorm_status status = rmsnorm_url_join(&http->endpoint, request->path, &url);
    for (int hops = 0; status == RMSNORM_OK; ++hops) {
        exchange.own = strcmp(url.origin, http->endpoint.origin) == 0;
        status = rmsnorm_exchange_run(http, &url, &exchange, again);
        if (status != RMSNORM_OK) {
            break;
        }
        take_identity(&exchange, reply);
        if (!is_redirect(exchange.status) || reply->etag[0] != '\0') {
            status = is_redirect(exchange.status) ? RMSNORM_OK : answered(&exchange, reply, again, pause);
            break;
        }
        status = follow(&exchange, hops, &url);
    }
    rmsnorm_url_release(&url);
    rmsnorm_exchange_release(&exchange);
    return status;
}

rmsnorm_status rmsnorm_http_ask(rmsnorm_http *http, const rmsnorm_http_request *request, rmsnorm_http_reply *reply)
{
    uint64_t backoff = FIRST_PAUSE;
    for (uint32_t tries = 0;; ++tries) {
        bool again;
        uint64_t pause;
        const rmsnorm_status status = try_once(http, request, reply, &again, &pause);
        if (status == RMSNORM_OK || !again || tries >= http->settings->retries) {
            return status;
        }
        pause = pause > backoff ? pause : backoff;
        RMSNORM_TRY(rmsnorm_hub_pause(http->settings, pause < LONGEST_PAUSE ? pause : LONGEST_PAUSE));
        backoff *= 2;
    }
}
