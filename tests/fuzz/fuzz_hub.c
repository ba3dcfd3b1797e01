#define _XOPEN_SOURCE 700

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/stop.h"
#include "hub/url.h"
#include "rmsnorm/hub.h"

/* An address that is accepted is https, or plain http to this machine, and in one line. */
static void check_url(rmsnorm_status status, rmsnorm_url *url)
{
    if (status != RMSNORM_OK) {
        FUZZ_CHECK(status != RMSNORM_OUT_OF_MEMORY && strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL);
        return;
    }
    FUZZ_CHECK(strncmp(url->text, "https://", 8) == 0 || (url->plain && strncmp(url->text, "http://", 7) == 0));
    FUZZ_CHECK(strncmp(url->origin, url->plain ? "http://" : "https://", url->plain ? 7 : 8) == 0);
    FUZZ_CHECK(strpbrk(url->text, "\r\n\t\033 ") == NULL && url->host[0] != '\0');
}

/* The text as it came, in memory of its own length: a byte beyond it is seen. */
static char *text_of(const uint8_t *data, size_t size)
{
    char *const text = malloc(size + 1);
    FUZZ_CHECK(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

static void check_addresses(const char *first, const char *second)
{
    static const char *const known[] = {"https://hub.invalid", "http://127.0.0.1:1/x"};
    rmsnorm_url endpoint, next;
    rmsnorm_status status = rmsnorm_url_endpoint(first, &endpoint);
    check_url(status, &endpoint);
    if (status == RMSNORM_OK) {
        status = rmsnorm_url_join(&endpoint, second, &next);
        check_url(status, &next);
        if (status == RMSNORM_OK) {
            FUZZ_CHECK(strcmp(next.origin, endpoint.origin) == 0); /* a path leads nowhere else */
            rmsnorm_url_release(&next);
        }
        rmsnorm_url_release(&endpoint);
    }
    for (size_t i = 0; i < 2; i++) {
        FUZZ_CHECK(rmsnorm_url_endpoint(known[i], &endpoint) == RMSNORM_OK);
        status = rmsnorm_url_follow(&endpoint, second, &next);
        check_url(status, &next);
        if (status == RMSNORM_OK) {
            FUZZ_CHECK(!next.plain || endpoint.plain);
            rmsnorm_url_release(&next);
        }
        rmsnorm_url_release(&endpoint);
    }
}

static char root[] = "/tmp/rmsnorm-fuzz-XXXXXX";

static void remove_root(void)
{
    (void)rmdir(root);
}

/* Offline, an empty cache has nothing, and nothing is made in it. */
static void check_cache(const char *name, const char *revision)
{
    static bool made;
    if (!made) {
        made = true;
        FUZZ_CHECK(mkdtemp(root) != NULL);
        (void)atexit(remove_root);
    }
    rmsnorm_fetch_options options = RMSNORM_FETCH_OPTIONS_INIT;
    options.cache = root;
    options.offline = true;
    options.token = "";
    options.revision = revision[0] != '\0' ? revision : NULL;
    options.version = revision[0] != '\0' ? 0 : 1;
    char *folder = NULL;
    char commit[RMSNORM_COMMIT_TEXT];
    const rmsnorm_status status = rmsnorm_package_fetch(name, &options, &folder, commit);
    FUZZ_CHECK(status == RMSNORM_INVALID_ARGUMENT || status == RMSNORM_NOT_FOUND);
    FUZZ_CHECK(folder == NULL && strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL);
    struct stat entry;
    FUZZ_CHECK(stat(root, &entry) == 0 && entry.st_nlink == 2); /* no folder in it */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *const end = size > 0 ? memchr(data, '\0', size) : NULL;
    const size_t length = end != NULL ? (size_t)(end - data) : size;
    char *const first = text_of(data, length);
    char *const second = text_of(data + length + (end != NULL), size - length - (end != NULL));
    check_addresses(first, second);
    check_cache(first, second);
    free(second);
    free(first);
    return 0;
}
