/* exchange.c: one request through libcurl. */
#define _XOPEN_SOURCE 700

#include "hub/exchange.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LEAST_BYTES 32768 /* in a time-out: a server that drips is as good as dead */

/* ---- What libcurl calls ----------------------------------------------------------------------- */

static size_t on_header(char *line, size_t one, size_t length, void *context)
{
    rmsnorm_exchange *const exchange = context;
    (void)one; /* is 1 */
    exchange->stopped = rmsnorm_exchange_header(exchange, line, length);
    return exchange->stopped == RMSNORM_OK ? length : 0;
}

static size_t on_body(char *data, size_t one, size_t size, void *context)
{
    rmsnorm_exchange *const exchange = context;
    (void)one;
    if (exchange->status != 200 && exchange->status != 206) { /* an error's page */
        exchange->enough = true;
        return 0;
    }
    exchange->stopped = rmsnorm_exchange_body(exchange, data, size);
    return exchange->stopped == RMSNORM_OK ? size : 0;
}

/* Called about once in a second, too, when nothing comes. */
static int on_progress(void *context, curl_off_t total, curl_off_t now, curl_off_t up_total, curl_off_t up_now)
{
    rmsnorm_exchange *const exchange = context;
    const rmsnorm_http_request *const request = exchange->request;
    const uint64_t time = rmsnorm_hub_now();
    const uint64_t bytes = (uint64_t)now;
    (void)up_total;
    (void)up_now;
    if (exchange->stopped != RMSNORM_OK) {
        return 1; /* libcurl asks once more on its way out */
    }
    if (request->kind == RMSNORM_HTTP_FILE) {
        const uint64_t size = total > 0 ? exchange->offset + (uint64_t)total : 0;
        exchange->stopped = rmsnorm_hub_report(exchange->settings, request->label, exchange->offset + bytes, size);
    } else {
        exchange->stopped = rmsnorm_hub_report(exchange->settings, "", 0, 0);
    }
    if (exchange->stopped != RMSNORM_OK) {
        return 1;
    }
    if (bytes >= exchange->mark_bytes + LEAST_BYTES) {
        exchange->mark_bytes = bytes;
        exchange->mark_time = time;
    } else if (time - exchange->mark_time > exchange->settings->timeout_ms) {
        exchange->stopped = RMSNORM_TIMED_OUT;
        return 1;
    }
    return 0;
}

/* ---- What libcurl is told --------------------------------------------------------------------- */

/* The command curl and OpenSSL read these; libcurl by itself does not. */
static void set_authorities(CURL *curl)
{
    const char *file = getenv("CURL_CA_BUNDLE");
    file = file != NULL && file[0] != '\0' ? file : getenv("SSL_CERT_FILE");
    if (file != NULL && file[0] != '\0') {
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, file);
    }
    const char *const folder = getenv("SSL_CERT_DIR");
    if (folder != NULL && folder[0] != '\0') {
        (void)curl_easy_setopt(curl, CURLOPT_CAPATH, folder);
    }
}

static bool add(struct curl_slist **headers, const char *text)
{
    struct curl_slist *const longer = curl_slist_append(*headers, text);
    *headers = longer != NULL ? longer : *headers;
    return longer != NULL;
}

static rmsnorm_status make_headers(const rmsnorm_exchange *exchange, struct curl_slist **headers)
{
    const rmsnorm_http_request *const request = exchange->request;
    const char *const token = exchange->own ? exchange->settings->token : NULL;
    const size_t size = 64 + RMSNORM_ETAG_TEXT + (token != NULL ? strlen(token) : 0);
    char *line = malloc(size);
    bool done = line != NULL && add(headers, "Accept-Encoding: identity");
    if (done && token != NULL) {
        (void)snprintf(line, size, "Authorization: Bearer %s", token);
        done = add(headers, line);
    }
    if (done && exchange->offset > 0) {
        (void)snprintf(line, size, "Range: bytes=%" PRIu64 "-", exchange->offset);
        done = add(headers, line);
        if (done && exchange->own) { /* elsewhere the file has another ETag; its size and its digest tell */
            (void)snprintf(line, size, "If-Range: \"%s\"", request->etag);
            done = add(headers, line);
        }
    }
    free(line);
    RMSNORM_CHECK(done, RMSNORM_OUT_OF_MEMORY, "%s: no memory for a request", exchange->settings->name);
    return RMSNORM_OK;
}

static void set_options(CURL *curl, const rmsnorm_url *url, const struct curl_slist *headers,
                        rmsnorm_exchange *exchange, char *message)
{
    char agent[64];
    (void)snprintf(agent, sizeof agent, "rmsnorm/%s", rmsnorm_version());
    curl_easy_reset(curl); /* connections stay */
    (void)curl_easy_setopt(curl, CURLOPT_URL, url->text);
    (void)curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(curl, CURLOPT_HEADEROPT, (long)CURLHEADER_SEPARATE); /* no token for a proxy */
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, agent);
    (void)curl_easy_setopt(curl, CURLOPT_NOBODY, exchange->request->kind == RMSNORM_HTTP_HEAD ? 1L : 0L);
    (void)curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 0L);
#if LIBCURL_VERSION_NUM >= 0x075500
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, url->plain ? "http" : "https");
#else
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS, url->plain ? CURLPROTO_HTTP : CURLPROTO_HTTPS);
#endif
    if (url->plain) {
        (void)curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* without https nothing leaves this machine */
    }
    (void)curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    set_authorities(curl);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)exchange->settings->timeout_ms);
    (void)curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
    (void)curl_easy_setopt(curl, CURLOPT_XFERINFODATA, exchange);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    (void)curl_easy_setopt(curl, CURLOPT_HEADERDATA, exchange);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, exchange);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
}

/* ---- The exchange ----------------------------------------------------------------------------- */

/* A server that closes early must not end the program: with CURLOPT_NOSIGNAL that is the caller's care. */
static CURLcode perform(CURL *curl)
{
    const struct timespec no_time = {.tv_nsec = 0};
    sigset_t pipe_signal;
    sigset_t before;
    sigset_t pending;
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
    const CURLcode code = curl_easy_perform(curl);
    if (sigismember(&pending, SIGPIPE) == 0) {
        (void)sigtimedwait(&pipe_signal, NULL, &no_time);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static bool is_passing(CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    default:
        return false;
    }
}

static rmsnorm_status judge(CURLcode code, const rmsnorm_url *url, rmsnorm_exchange *exchange, const char *message,
                            bool *again)
{
    const char *const name = exchange->settings->name;
    const char *const label = exchange->request->label;
    if (exchange->stopped == RMSNORM_TIMED_OUT || code == CURLE_OPERATION_TIMEDOUT) {
        *again = true;
        return rmsnorm_fail(RMSNORM_TIMED_OUT, "%s: %s: %.200s did not answer, or too slowly, for %" PRIu32 " ms", name,
                            label, url->host, exchange->settings->timeout_ms);
    }
    if (exchange->stopped != RMSNORM_OK || code == CURLE_OK || (code == CURLE_WRITE_ERROR && exchange->enough)) {
        return exchange->stopped;
    }
    RMSNORM_CHECK(code != CURLE_OUT_OF_MEMORY, RMSNORM_OUT_OF_MEMORY, "%s: no memory for a request", name);
    const char *const said = message[0] != '\0' ? message : curl_easy_strerror(code);
    RMSNORM_CHECK(
        code != CURLE_PEER_FAILED_VERIFICATION, RMSNORM_IO,
        "%s: %s: %.200s is not trusted: %s; CURL_CA_BUNDLE or SSL_CERT_FILE can name the authorities that are", name,
        label, url->host, said);
    *again = is_passing(code);
    return rmsnorm_fail(RMSNORM_IO, "%s: %s: %.200s: %s", name, label, url->host, said);
}

rmsnorm_status rmsnorm_exchange_run(rmsnorm_http *http, const rmsnorm_url *url, rmsnorm_exchange *exchange, bool *again)
{
    char message[CURL_ERROR_SIZE] = "";
    struct curl_slist *headers = NULL;
    *again = false;
    rmsnorm_exchange_forget(exchange);
    exchange->begun = exchange->enough = false;
    exchange->done = 0;
    exchange->stopped = RMSNORM_OK;
    exchange->mark_time = rmsnorm_hub_now();
    exchange->mark_bytes = 0;
    rmsnorm_status status = make_headers(exchange, &headers);
    if (status == RMSNORM_OK) {
        set_options(http->curl, url, headers, exchange, message);
        status = judge(perform(http->curl), url, exchange, message, again);
        curl_easy_reset(http->curl); /* it knows nothing of this call's memory any more */
    }
    curl_slist_free_all(headers);
    return status;
}

void rmsnorm_exchange_release(rmsnorm_exchange *exchange)
{
    free(exchange->location);
    free(exchange->text);
}
