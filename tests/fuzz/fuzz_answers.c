#define _GNU_SOURCE /* memfd_create */

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/stop.h"
#include "hub/exchange.h"
#include "rmsnorm/hub.h"

enum { LIMIT = 64, CHUNK = 7, COMMIT = RMSNORM_COMMIT_TEXT - 1 };

static void check_sentence(rmsnorm_status status)
{
    FUZZ_CHECK(status != RMSNORM_OUT_OF_MEMORY);
    FUZZ_CHECK(status == RMSNORM_OK ||
               (rmsnorm_last_error()[0] != '\0' && strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL));
}

/* ---- What a server says ----------------------------------------------------------------------- */

/* An ETag becomes a file's name. */
static void check_etag(const char *etag)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    FUZZ_CHECK(memchr(etag, '\0', RMSNORM_ETAG_TEXT) != NULL);
    FUZZ_CHECK(etag[0] != '.' && etag[strspn(etag, plain)] == '\0');
}

static void check_head(const rmsnorm_exchange *exchange)
{
    rmsnorm_url from, to;
    check_etag(exchange->etag);
    check_etag(exchange->linked_etag);
    FUZZ_CHECK(exchange->status >= 0 && exchange->status < 1000);
    FUZZ_CHECK(memchr(exchange->fault, '\0', sizeof exchange->fault) != NULL);
    FUZZ_CHECK(exchange->retry_after / 1000 < UINT32_MAX);
    if (exchange->location != NULL) {
        FUZZ_CHECK(rmsnorm_url_endpoint("https://hub.invalid", &from) == RMSNORM_OK);
        const rmsnorm_status status = rmsnorm_url_follow(&from, exchange->location, &to);
        check_sentence(status);
        if (status == RMSNORM_OK) {
            FUZZ_CHECK(strncmp(to.text, "https://", 8) == 0);
            rmsnorm_url_release(&to);
        }
        rmsnorm_url_release(&from);
    }
}

/* Some bytes in memory of their own length: one beyond them is seen. */
static char *alone(const uint8_t *data, size_t size)
{
    char *const copy = malloc(size);
    FUZZ_CHECK(copy != NULL || size == 0);
    if (size > 0) {
        memcpy(copy, data, size);
    }
    return copy;
}

/* Lines up to an empty one. What is behind them: the bytes that were taken. */
static size_t read_head(rmsnorm_exchange *exchange, const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        const uint8_t *const end = memchr(data + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end + 1 - data) - at : size - at;
        char *const line = alone(data + at, length);
        const bool last = end != NULL && (length == 1 || (length == 2 && data[at] == '\r'));
        check_sentence(rmsnorm_exchange_header(exchange, line, length));
        free(line);
        at += length;
        if (last) {
            break;
        }
    }
    return at;
}

/* Never more than the limit, and what is kept is what came. */
static void read_body(rmsnorm_exchange *exchange, const uint8_t *data, size_t size)
{
    rmsnorm_status status = RMSNORM_OK;
    size_t taken = 0;
    while (status == RMSNORM_OK && taken < size) {
        const size_t count = size - taken < CHUNK ? size - taken : CHUNK;
        char *const chunk = alone(data + taken, count);
        status = rmsnorm_exchange_body(exchange, chunk, count);
        check_sentence(status);
        taken += status == RMSNORM_OK ? count : 0;
        free(chunk);
    }
    FUZZ_CHECK(exchange->done == taken && exchange->offset + taken <= LIMIT);
    if (exchange->request->kind == RMSNORM_HTTP_TEXT) {
        FUZZ_CHECK(taken == 0 || memcmp(exchange->text, data, taken) == 0);
    } else if (status == RMSNORM_OK && taken > 0) {
        struct stat file;
        FUZZ_CHECK(fstat(exchange->request->file, &file) == 0);
        FUZZ_CHECK((uint64_t)file.st_size == exchange->offset + taken);
    }
}

static void check_exchange(const uint8_t *data, size_t size)
{
    static int file = -1;
    file = file >= 0 ? file : memfd_create("file", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && ftruncate(file, 0) == 0 && pwrite(file, "0123456789", 10, 0) == 10);
    const rmsnorm_hub_settings settings = {.name = "org/name"};
    const bool to_file = size > 0 && data[size - 1] % 2 != 0;
    const rmsnorm_http_request request = {.kind = to_file ? RMSNORM_HTTP_FILE : RMSNORM_HTTP_TEXT,
                                          .label = "label",
                                          .limit = LIMIT,
                                          .file = file,
                                          .size = UINT64_MAX};
    rmsnorm_exchange exchange = {.settings = &settings, .request = &request, .offset = to_file ? 10 : 0};
    rmsnorm_exchange_forget(&exchange);
    const size_t head = read_head(&exchange, data, size);
    check_head(&exchange);
    read_body(&exchange, data + head, size - head);
    rmsnorm_exchange_release(&exchange);
}

/* ---- What a fetch makes of it ----------------------------------------------------------------- */

static const uint8_t *answer;
static size_t answer_size;
static bool asked;

/* In the place of http.c: a server that says the input. */
rmsnorm_status __wrap_rmsnorm_http_open(const rmsnorm_hub_settings *settings, rmsnorm_http **http);
rmsnorm_status __wrap_rmsnorm_http_ask(rmsnorm_http *http, const rmsnorm_http_request *request,
                                       rmsnorm_http_reply *reply);
void __wrap_rmsnorm_http_close(rmsnorm_http *http);

rmsnorm_status __wrap_rmsnorm_http_open(const rmsnorm_hub_settings *settings, rmsnorm_http **http)
{
    (void)settings;
    *http = NULL;
    return RMSNORM_OK;
}

rmsnorm_status __wrap_rmsnorm_http_ask(rmsnorm_http *http, const rmsnorm_http_request *request,
                                       rmsnorm_http_reply *reply)
{
    (void)http;
    FUZZ_CHECK(!asked && request->kind == RMSNORM_HTTP_TEXT);
    asked = true;
    *reply = (rmsnorm_http_reply){.text = alone(answer, answer_size), .length = answer_size};
    return RMSNORM_OK;
}

void __wrap_rmsnorm_http_close(rmsnorm_http *http)
{
    (void)http;
}

static char root[] = "/tmp/rmsnorm-fuzz-XXXXXX";
static int refs = -1;

static void remove_root(void)
{
    (void)unlinkat(refs, "v1", 0);
    (void)chdir(root);
    (void)rmdir("kernels--org--name/refs");
    (void)rmdir("kernels--org--name");
    (void)rmdir(root);
}

static void make_root(void)
{
    FUZZ_CHECK(mkdtemp(root) != NULL);
    const int folder = open(root, O_DIRECTORY | O_CLOEXEC);
    FUZZ_CHECK(mkdirat(folder, "kernels--org--name", 0700) == 0);
    FUZZ_CHECK(mkdirat(folder, "kernels--org--name/refs", 0700) == 0);
    refs = openat(folder, "kernels--org--name/refs", O_DIRECTORY | O_CLOEXEC);
    FUZZ_CHECK(refs >= 0);
    (void)close(folder);
    (void)atexit(remove_root);
}

static rmsnorm_status fetch(const char *cache, bool offline)
{
    rmsnorm_fetch_options options = RMSNORM_FETCH_OPTIONS_INIT;
    options.cache = cache;
    options.offline = offline;
    options.endpoint = "https://hub.invalid";
    options.token = "";
    options.version = 1;
    char *folder = NULL;
    const rmsnorm_status status = rmsnorm_package_fetch("org/name", &options, &folder, NULL);
    FUZZ_CHECK(status != RMSNORM_OK && folder == NULL);
    check_sentence(status);
    return status;
}

/* JSON with a commit gets as far as the cache, which cannot be made here; all else is refused before. */
static void check_answer(const uint8_t *data, size_t size)
{
    answer = data;
    answer_size = size;
    asked = false;
    const rmsnorm_status status = fetch("/dev/null/cache", false);
    FUZZ_CHECK(asked && (status == RMSNORM_MALFORMED || status == RMSNORM_IO));
}

static bool is_commit(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i < COMMIT; i++) {
        if (i >= size || data[i] == '\0' || strchr("0123456789abcdef", data[i]) == NULL) {
            return false;
        }
    }
    return size == COMMIT || data[COMMIT] == '\r' || data[COMMIT] == '\n' || data[COMMIT] == '\0';
}

/* refs/v1 is a commit, which is not in the cache, or it is none. */
static void check_ref(const uint8_t *data, size_t size)
{
    if (refs < 0) {
        make_root();
    }
    const int file = openat(refs, "v1", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    FUZZ_CHECK(file >= 0 && write(file, data, size) == (ssize_t)size && close(file) == 0);
    FUZZ_CHECK(fetch(root, true) == (is_commit(data, size) ? RMSNORM_NOT_FOUND : RMSNORM_MALFORMED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* What begins as JSON or as a commit does is taken for one. */
    const char first = size > 0 ? (char)data[0] : '\0';
    (first == '\0'                               ? check_exchange
     : strchr("{[\"", first) != NULL             ? check_answer
     : strchr("0123456789abcdef", first) != NULL ? check_ref
                                                 : check_exchange)(data, size);
    return 0;
}
