/* support.c: starts the server, and asks it what it was asked. */
#define _XOPEN_SOURCE 700

#include "hub/support.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/authority.h"

static int server, server_input = -1, port;
static char endpoint[64], secure_endpoint[64], path[1024];
static char *kept[16]; /* folders handed out */
static size_t kept_count;

static void need(bool condition, const char *what)
{
    if (!condition) {
        fail_msg("%s failed", what);
    }
}

static void clean_environment(void)
{
    static const char *const names[] = {"HF_HUB_CACHE",   "HF_HOME",      "HF_ENDPOINT", "HF_TOKEN",   "HF_HUB_OFFLINE",
                                        "XDG_CACHE_HOME", "http_proxy",   "all_proxy",   "ALL_PROXY",  "CURL_CA_BUNDLE",
                                        "SSL_CERT_FILE",  "SSL_CERT_DIR", "https_proxy", "HTTPS_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        (void)unsetenv(names[i]);
    }
}

static int read_port(int input)
{
    char line[32] = "";
    for (size_t length = 0; length + 1 < sizeof line && read(input, line + length, 1) == 1 && line[length] != '\n';) {
        ++length;
    }
    const int number = (int)strtol(line, NULL, 10);
    need(number > 0, "the server");
    return number;
}

static void start_server(const char *folder, bool secure)
{
    char repository[600];
    char certificate[600];
    char key[600];
    int input[2];
    int output[2];
    (void)snprintf(repository, sizeof repository, "kernels/copy=%s", folder);
    (void)snprintf(certificate, sizeof certificate, "%s", folder_path("server.pem"));
    (void)snprintf(key, sizeof key, "%s", folder_path("server.key"));
    need(pipe(input) == 0 && pipe(output) == 0, "pipe");
    server = fork();
    need(server >= 0, "fork");
    if (server == 0) {
        (void)dup2(input[0], 0);
        (void)dup2(output[1], 1);
        (void)close(input[1]);
        (void)close(output[0]);
        (void)execlp(HUB_NODE, HUB_NODE, HUB_SERVER, "--token", TOKEN, repository,
                     secure ? "--certificate" : (char *)NULL, certificate, "--key", key, (char *)NULL);
        _exit(127);
    }
    (void)close(input[0]);
    (void)close(output[1]);
    server_input = input[1];
    port = read_port(output[0]);
    if (secure) {
        (void)snprintf(secure_endpoint, sizeof secure_endpoint, "https://127.0.0.1:%d", read_port(output[0]));
    }
    (void)close(output[0]);
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%d", port);
}

static int start(bool secure)
{
    if (HUB_NODE[0] == '\0') {
        printf("not run: there is no node\n");
        exit(77);
    }
    clean_environment();
    (void)folder_make();
    parcel all = parcel_make();
    need(chmod(folder_path(""), 0755) == 0, "chmod");
    need(mkdir(folder_path("copy"), 0755) == 0 && mkdir(folder_path("copy/build"), 0755) == 0, "mkdir");
    folder_unpack(&all, "copy/build/webgpu");
    folder_write("copy/README.md", "# Copy\n", 7);
    parcel_free(&all);
    if (secure && !authority_make()) {
        folder_remove();
        printf("not run: there is no openssl\n");
        exit(77);
    }
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%s", folder_path("copy"));
    start_server(copy, secure);
    return 0;
}

int hub_start(void **state)
{
    (void)state;
    return start(false);
}

int hub_start_secure(void **state)
{
    (void)state;
    return start(true);
}

static void forget_folders(void)
{
    while (kept_count > 0) {
        free(kept[--kept_count]);
    }
}

int hub_stop(void **state)
{
    int status;
    (void)state;
    (void)close(server_input); /* the server ends with it */
    (void)waitpid(server, &status, 0);
    forget_folders();
    folder_remove();
    return 0;
}

/* ---- What the server knows --------------------------------------------------------------------- */

/* The answer's body; to be freed. */
static char *control(const char *request)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    const size_t room = (size_t)4 << 20;
    char *const text = calloc(room, 1);
    size_t length = 0;
    ssize_t count;
    need(text != NULL && socket_ >= 0 && connect(socket_, (const struct sockaddr *)&address, sizeof address) == 0,
         "connect");
    need(write(socket_, request, strlen(request)) == (ssize_t)strlen(request), "write");
    while (length + 1 < room && (count = read(socket_, text + length, room - 1 - length)) > 0) {
        length += (size_t)count;
    }
    (void)close(socket_);
    const char *const body = strstr(text, "\r\n\r\n");
    need(body != NULL, "the server's log");
    memmove(text, body + 4, strlen(body + 4) + 1);
    return text;
}

static bool fits(const json_t *entry, asked what)
{
    const char *const method = json_string_value(json_object_get(entry, "method"));
    const char *const url = json_string_value(json_object_get(entry, "url"));
    const char *const host = json_string_value(json_object_get(entry, "host"));
    const size_t length = strlen(url);
    const size_t end = what.ending != NULL ? strlen(what.ending) : 0;
    return (what.method == NULL || strcmp(method, what.method) == 0) && length >= end &&
           (end == 0 || strcmp(url + length - end, what.ending) == 0) &&
           (what.host == NULL || strncmp(host, what.host, strlen(what.host)) == 0) &&
           (what.status == 0 || json_integer_value(json_object_get(entry, "status")) == what.status);
}

static size_t count(asked what, bool with_token)
{
    char *const text = control("GET /control/log HTTP/1.0\r\n\r\n");
    json_t *const log = json_loads(text, 0, NULL);
    size_t found = 0;
    need(json_is_array(log), "the server's log");
    for (size_t i = 0; i < json_array_size(log); ++i) {
        const json_t *const entry = json_array_get(log, i);
        found += fits(entry, what) && (!with_token || json_is_string(json_object_get(entry, "authorization")));
    }
    json_decref(log);
    free(text);
    return found;
}

size_t count_requests(asked what)
{
    return count(what, false);
}

size_t count_tokens(asked what)
{
    return count(what, true);
}

/* ---- Caches and fetches ------------------------------------------------------------------------ */

static void remove_tree(const char *name)
{
    char command[1100];
    (void)snprintf(command, sizeof command, "chmod -R u+w '%s' 2>/dev/null; rm -rf '%s'", name, name);
    need(system(command) == 0, "rm"); /* NOLINT(cert-env33-c): a folder of ours */
}

int hub_reset(void **state)
{
    (void)state;
    forget_folders();
    remove_tree(folder_path("cache"));
    free(control("POST /control/reset HTTP/1.0\r\nContent-Length: 0\r\n\r\n"));
    return 0;
}

const char *hub_endpoint(void)
{
    return endpoint;
}

const char *hub_secure_endpoint(void)
{
    return secure_endpoint;
}

const char *cache_path(const char *name)
{
    (void)snprintf(path, sizeof path, "%s%s%s", folder_path("cache"), name[0] != '\0' ? "/" : "", name);
    return path;
}

rmsnorm_fetch_options hub_options(void)
{
    static char cache[512];
    rmsnorm_fetch_options options = RMSNORM_FETCH_OPTIONS_INIT;
    (void)snprintf(cache, sizeof cache, "%s", folder_path("cache"));
    options.endpoint = endpoint;
    options.cache = cache;
    options.version = 1;
    options.retries = 0;
    return options;
}

const char *fetched(const char *name, const rmsnorm_fetch_options *options)
{
    char *folder;
    char commit[RMSNORM_COMMIT_TEXT] = "";
    if (rmsnorm_package_fetch(name, options, &folder, commit) != RMSNORM_OK) {
        fail_msg("refused: %s", rmsnorm_last_error());
    }
    need(kept_count < sizeof kept / sizeof kept[0], "too many folders");
    kept[kept_count++] = folder;
    assert_string_equal(strrchr(folder, '/') + 1, commit);
    opens(folder);
    return folder;
}

void fetch_refused(const char *name, const rmsnorm_fetch_options *options, rmsnorm_status status, const char *part)
{
    char *folder = (char *)options;
    expect_sentence(rmsnorm_package_fetch(name, options, &folder, NULL), status, part);
    assert_null(folder);
}

void opens(const char *folder)
{
    rmsnorm_package *package;
    if (rmsnorm_package_open(folder, &package) != RMSNORM_OK) {
        fail_msg("does not open: %s", rmsnorm_last_error());
    }
    rmsnorm_package_close(package);
}

int child_start(child_work *work, void *context)
{
    (void)fflush(NULL);
    const pid_t process = fork();
    need(process >= 0, "fork");
    if (process == 0) {
        _exit(work(context));
    }
    return process;
}

int child_wait(int process)
{
    int status = 0;
    need(waitpid(process, &status, 0) == process, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool file_exists(const char *name)
{
    struct stat status;
    return lstat(name, &status) == 0;
}

size_t count_files(const char *folder, const char *ending)
{
    char name[1024];
    size_t found = 0;
    (void)snprintf(name, sizeof name, "%s", cache_path(folder));
    DIR *const stream = opendir(name);
    const struct dirent *entry;
    while (stream != NULL && (entry = readdir(stream)) != NULL) {
        const size_t length = strlen(entry->d_name);
        const size_t end = strlen(ending);
        found += entry->d_name[0] != '.' && length >= end && strcmp(entry->d_name + length - end, ending) == 0;
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return found;
}
