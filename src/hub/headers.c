/* headers.c: the lines of an answer's head that mean something here. */
#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "hub/exchange.h"

void rmsnorm_exchange_forget(rmsnorm_exchange *exchange)
{
    free(exchange->location);
    exchange->location = NULL;
    exchange->status = 0;
    exchange->etag[0] = exchange->linked_etag[0] = exchange->fault[0] = '\0';
    exchange->length = exchange->linked_size = UINT64_MAX;
    exchange->range_start = exchange->range_total = UINT64_MAX;
    exchange->retry_after = 0;
    exchange->encoded = false;
}

/* Digits alone; UINT64_MAX for anything else. */
static uint64_t read_number(const char *text, size_t length)
{
    uint64_t number = 0;
    for (size_t i = 0; i < length; ++i) {
        const unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit > 9 || number > (UINT64_MAX >> 1) / 10) {
            return UINT64_MAX;
        }
        number = number * 10 + digit;
    }
    return length > 0 ? number : UINT64_MAX;
}

/* W/"abc" and "abc" as abc. What is no plain name stays out: it is going to be a file's. */
static void read_etag(const char *text, size_t length, char etag[RMSNORM_ETAG_TEXT])
{
    etag[0] = '\0';
    if (length > 2 && strncmp(text, "W/", 2) == 0) {
        text += 2;
        length -= 2;
    }
    if (length >= 2 && text[0] == '"' && text[length - 1] == '"') {
        ++text;
        length -= 2;
    }
    if (length == 0 || length >= RMSNORM_ETAG_TEXT || text[0] == '.') {
        return;
    }
    for (size_t i = 0; i < length; ++i) {
        const char c = text[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("-_.", c) != NULL)) {
            return;
        }
    }
    memcpy(etag, text, length);
    etag[length] = '\0';
}

/* "bytes 10-19/20" */
static void read_range(const char *text, size_t length, rmsnorm_exchange *exchange)
{
    static const char unit[] = "bytes ";
    const size_t start = sizeof unit - 1;
    if (length <= start || strncasecmp(text, unit, start) != 0) {
        return;
    }
    const char *const dash = memchr(text + start, '-', length - start);
    const char *const slash = memchr(text + start, '/', length - start);
    if (dash != NULL && slash != NULL && dash < slash) {
        exchange->range_start = read_number(text + start, (size_t)(dash - text) - start);
        exchange->range_total = read_number(slash + 1, length - (size_t)(slash + 1 - text));
    }
}

static bool is_called(const char *line, size_t length, const char *name)
{
    return length == strlen(name) && strncasecmp(line, name, length) == 0;
}

static rmsnorm_status take(rmsnorm_exchange *exchange, const char *line, size_t name, const char *value, size_t length)
{
    if (is_called(line, name, "ETag")) {
        read_etag(value, length, exchange->etag);
    } else if (is_called(line, name, "X-Linked-ETag")) {
        read_etag(value, length, exchange->linked_etag);
    } else if (is_called(line, name, "X-Linked-Size")) {
        exchange->linked_size = read_number(value, length);
    } else if (is_called(line, name, "Content-Length")) {
        exchange->length = read_number(value, length);
    } else if (is_called(line, name, "Content-Range")) {
        read_range(value, length, exchange);
    } else if (is_called(line, name, "Content-Encoding")) {
        exchange->encoded = !is_called(value, length, "identity");
    } else if (is_called(line, name, "Retry-After")) {
        const uint64_t seconds = read_number(value, length);
        exchange->retry_after = seconds < UINT32_MAX ? seconds * 1000 : 0; /* a date is not worth reading */
    } else if (is_called(line, name, "X-Error-Code") && length < sizeof exchange->fault) {
        memcpy(exchange->fault, value, length);
        exchange->fault[length] = '\0';
    } else if (is_called(line, name, "Location")) {
        free(exchange->location);
        exchange->location = malloc(length + 1);
        RMSNORM_CHECK(exchange->location != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for an address");
        memcpy(exchange->location, value, length);
        exchange->location[length] = '\0';
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_exchange_header(rmsnorm_exchange *exchange, const char *line, size_t length)
{
    if (length >= 5 && memcmp(line, "HTTP/", 5) == 0) { /* after one of a proxy, or a 100 */
        rmsnorm_exchange_forget(exchange);
        const char *const space = memchr(line, ' ', length);
        const size_t at = space != NULL ? (size_t)(space + 1 - line) : length;
        const uint64_t status = length - at >= 3 ? read_number(line + at, 3) : 0;
        exchange->status = status < 1000 ? (long)status : 0;
        return RMSNORM_OK;
    }
    const char *const colon = memchr(line, ':', length);
    if (colon == NULL || memchr(line, '\0', length) != NULL) {
        return RMSNORM_OK;
    }
    const char *value = colon + 1;
    const char *end = line + length;
    while (value < end && strchr(" \t", *value) != NULL) {
        ++value;
    }
    while (end > value && strchr(" \t\r\n", end[-1]) != NULL) {
        --end;
    }
    return take(exchange, line, (size_t)(colon - line), value, (size_t)(end - value));
}
