/* url.c: addresses, through libcurl's parser: the one that connects. */
#include "hub/url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

/* "127.1.2.3" to the byte, "localhost" and "[::1]": no name that only begins like one. */
static bool is_loopback(const char *host)
{
    unsigned part[4];
    char again[16];
    if (strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0) {
        return true;
    }
    /* NOLINTNEXTLINE(cert-err34-c): what does not come back the same is no address */
    if (sscanf(host, "%3u.%3u.%3u.%3u", &part[0], &part[1], &part[2], &part[3]) != 4) {
        return false;
    }
    (void)snprintf(again, sizeof again, "%u.%u.%u.%u", part[0] % 1000, part[1] % 1000, part[2] % 1000, part[3] % 1000);
    return strcmp(again, host) == 0 && part[0] == 127;
}

void rmsnorm_url_release(rmsnorm_url *url)
{
    free(url->text);
    free(url->origin);
    free(url->host);
    *url = (rmsnorm_url){.text = NULL};
}

/* A part as our own copy; NULL when it is not there, or without memory. */
static char *part_of(CURLU *parsed, CURLUPart part, unsigned flags)
{
    char *text = NULL;
    char *copy = NULL;
    if (curl_url_get(parsed, part, &text, flags) == CURLUE_OK) {
        const size_t size = strlen(text) + 1;
        copy = malloc(size);
        if (copy != NULL) {
            memcpy(copy, text, size);
        }
        curl_free(text);
    }
    return copy;
}

static char *origin_of(const char *scheme, const char *host, const char *port)
{
    const size_t size = strlen(scheme) + strlen(host) + strlen(port) + 5;
    char *text = malloc(size);
    if (text != NULL) {
        (void)snprintf(text, size, "%s://%s:%s", scheme, host, port);
    }
    return text;
}

static rmsnorm_status read_parts(CURLU *parsed, const char *what, rmsnorm_url *url)
{
    char *scheme = part_of(parsed, CURLUPART_SCHEME, 0);
    char *port = part_of(parsed, CURLUPART_PORT, CURLU_DEFAULT_PORT);
    url->host = part_of(parsed, CURLUPART_HOST, 0);
    url->text = part_of(parsed, CURLUPART_URL, 0);
    rmsnorm_status status = RMSNORM_OK;
    const bool known = scheme != NULL && (strcmp(scheme, "https") == 0 || strcmp(scheme, "http") == 0);
    if (scheme == NULL || url->text == NULL || (known && (port == NULL || url->host == NULL))) {
        status = rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "no memory for an address");
    } else if (!known) {
        status = rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s has the scheme %.20s, allowed is https", what, scheme);
    } else {
        url->plain = strcmp(scheme, "http") == 0;
        url->origin = origin_of(scheme, url->host, port);
        if (url->origin == NULL) {
            status = rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "no memory for an address");
        } else if (url->plain && !is_loopback(url->host)) {
            status =
                rmsnorm_fail(RMSNORM_INVALID_ARGUMENT,
                             "%s leads to %.200s without https, which is allowed for this machine's own address alone",
                             what, url->host);
        }
    }
    free(scheme);
    free(port);
    if (status != RMSNORM_OK) {
        rmsnorm_url_release(url);
    }
    return status;
}

static bool has_part(CURLU *parsed, CURLUPart part)
{
    char *text = NULL;
    const bool there = curl_url_get(parsed, part, &text, 0) == CURLUE_OK;
    curl_free(text);
    return there;
}

static rmsnorm_status check_endpoint(CURLU *parsed, const char *text)
{
    RMSNORM_CHECK(curl_url_set(parsed, CURLUPART_URL, text, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK,
                  RMSNORM_INVALID_ARGUMENT, "the endpoint is \"%.200s\", allowed are https, a host, and a path", text);
    /* Its text may hold a password: it is not repeated. */
    RMSNORM_CHECK(!has_part(parsed, CURLUPART_USER) && !has_part(parsed, CURLUPART_PASSWORD) &&
                      !has_part(parsed, CURLUPART_QUERY) && !has_part(parsed, CURLUPART_FRAGMENT),
                  RMSNORM_INVALID_ARGUMENT,
                  "the endpoint has a user, a password, a query or a fragment, allowed are https, a host, and a path");
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_url_endpoint(const char *text, rmsnorm_url *url)
{
    *url = (rmsnorm_url){.text = NULL};
    CURLU *parsed = curl_url();
    RMSNORM_CHECK(parsed != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for an address");
    rmsnorm_status status = check_endpoint(parsed, text);
    if (status == RMSNORM_OK) {
        status = read_parts(parsed, "the endpoint", url);
    }
    curl_url_cleanup(parsed);
    if (status == RMSNORM_OK) {
        for (size_t length = strlen(url->text); length > 0 && url->text[length - 1] == '/'; --length) {
            url->text[length - 1] = '\0';
        }
    }
    return status;
}

static bool is_plain_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c != '\0' && strchr("-._~/", c));
}

rmsnorm_status rmsnorm_url_join(const rmsnorm_url *endpoint, const char *path, rmsnorm_url *url)
{
    const size_t length = strlen(endpoint->text);
    char *text = malloc(length + 2 + 3 * strlen(path));
    *url = (rmsnorm_url){.text = NULL};
    RMSNORM_CHECK(text != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for an address");
    memcpy(text, endpoint->text, length);
    char *end = text + length;
    *end++ = '/';
    for (const char *at = path; *at != '\0'; ++at) {
        if (is_plain_byte(*at)) {
            *end++ = *at;
        } else {
            end += snprintf(end, 4, "%%%02X", (unsigned)(unsigned char)*at);
        }
    }
    *end = '\0';
    CURLU *parsed = curl_url();
    rmsnorm_status status = RMSNORM_OUT_OF_MEMORY;
    if (parsed == NULL || curl_url_set(parsed, CURLUPART_URL, text, 0) != CURLUE_OK) {
        status = rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "no memory for an address");
    } else {
        status = read_parts(parsed, "the address", url);
    }
    curl_url_cleanup(parsed);
    free(text);
    return status;
}

rmsnorm_status rmsnorm_url_follow(const rmsnorm_url *from, const char *location, rmsnorm_url *url)
{
    *url = (rmsnorm_url){.text = NULL};
    CURLU *parsed = curl_url();
    RMSNORM_CHECK(parsed != NULL && curl_url_set(parsed, CURLUPART_URL, from->text, 0) == CURLUE_OK,
                  RMSNORM_OUT_OF_MEMORY, "no memory for an address");
    rmsnorm_status status;
    if (curl_url_set(parsed, CURLUPART_URL, location, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
        status = rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "a redirect leads to what is no address");
    } else {
        status = read_parts(parsed, "a redirect", url);
    }
    curl_url_cleanup(parsed);
    if (status == RMSNORM_OK && url->plain && !from->plain) {
        status = rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "a redirect leads from https to %.200s without it", url->host);
        rmsnorm_url_release(url);
    }
    /* What a server says is no argument of the caller's. */
    return status == RMSNORM_INVALID_ARGUMENT ? rmsnorm_fail(RMSNORM_MALFORMED, "%s", rmsnorm_last_error()) : status;
}
