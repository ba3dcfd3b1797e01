/* body.c: where the bytes of an answer go, and when there are too many. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hub/exchange.h"

static rmsnorm_status fail_write(const rmsnorm_exchange *exchange)
{
    return rmsnorm_fail(RMSNORM_IO, "%s: %s cannot be written into the cache: %s", exchange->settings->name,
                        exchange->request->label, strerror(errno));
}

/* The server sends all of it: what was there is not needed. */
static rmsnorm_status empty_file(rmsnorm_exchange *exchange)
{
    exchange->offset = 0;
    return ftruncate(exchange->request->file, 0) == 0 ? RMSNORM_OK : fail_write(exchange);
}

rmsnorm_status rmsnorm_exchange_begin(rmsnorm_exchange *exchange)
{
    const rmsnorm_http_request *const request = exchange->request;
    exchange->begun = true;
    RMSNORM_CHECK(!exchange->encoded, RMSNORM_MALFORMED, "%s: %s is encoded, which was not asked for",
                  exchange->settings->name, request->label);
    const uint64_t offset = exchange->status == 200 ? 0 : exchange->offset;
    RMSNORM_CHECK(exchange->length == UINT64_MAX ||
                      (offset <= request->limit && exchange->length <= request->limit - offset),
                  RMSNORM_MALFORMED, "%s: %s has %" PRIu64 " bytes, at most %" PRIu64 " are allowed",
                  exchange->settings->name, request->label, exchange->length, request->limit);
    if (request->kind != RMSNORM_HTTP_FILE) {
        return RMSNORM_OK;
    }
    if (exchange->status == 200) {
        RMSNORM_TRY(empty_file(exchange));
    } else if (exchange->range_start != exchange->offset ||
               (request->size != UINT64_MAX && exchange->range_total != request->size)) {
        const rmsnorm_status status = empty_file(exchange);
        return status != RMSNORM_OK
                   ? status
                   : rmsnorm_fail(RMSNORM_MALFORMED, "%s: %s: the server sends another range than asked for",
                                  exchange->settings->name, request->label);
    }
    return lseek(request->file, (off_t)exchange->offset, SEEK_SET) >= 0 ? RMSNORM_OK : fail_write(exchange);
}

static rmsnorm_status write_file(rmsnorm_exchange *exchange, const char *data, size_t size)
{
    while (size > 0) {
        const ssize_t count = write(exchange->request->file, data, size);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return fail_write(exchange);
        }
        data += count;
        size -= (size_t)count;
    }
    return RMSNORM_OK;
}

static rmsnorm_status add_text(rmsnorm_exchange *exchange, const char *data, size_t size)
{
    const size_t length = (size_t)exchange->done;
    if (exchange->text_size - length < size) {
        const size_t wanted = 2 * (length + size);
        char *const grown = realloc(exchange->text, wanted);
        RMSNORM_CHECK(grown != NULL, RMSNORM_OUT_OF_MEMORY, "%s: no memory for an answer", exchange->settings->name);
        exchange->text = grown;
        exchange->text_size = wanted;
    }
    memcpy(exchange->text + length, data, size);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_exchange_body(rmsnorm_exchange *exchange, const char *data, size_t size)
{
    const rmsnorm_http_request *const request = exchange->request;
    if (!exchange->begun) {
        RMSNORM_TRY(rmsnorm_exchange_begin(exchange));
    }
    const uint64_t before = exchange->offset + exchange->done;
    RMSNORM_CHECK(before <= request->limit && size <= request->limit - before, RMSNORM_MALFORMED,
                  "%s: %s is longer than %" PRIu64 " bytes, which is the most", exchange->settings->name,
                  request->label, request->limit);
    RMSNORM_TRY(request->kind == RMSNORM_HTTP_FILE ? write_file(exchange, data, size) : add_text(exchange, data, size));
    exchange->done += size;
    return RMSNORM_OK;
}
