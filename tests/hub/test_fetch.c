/* What a fetch gives, asks and refuses when everybody behaves. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hub/support.h"

#define FOLDER "kernels--kernels--copy"

static void test_layout(void **state)
{
    (void)state;
    char text[256];
    char link[600];
    const rmsnorm_fetch_options options = hub_options();
    const char *const folder = fetched("kernels/copy", &options);
    const char *const commit = strrchr(folder, '/') + 1;
    assert_int_equal(count_files(FOLDER "/blobs", ""), 5); /* four of build/webgpu, and README.md */
    assert_int_equal(count_files(FOLDER "/blobs", ".incomplete"), 0);
    FILE *const ref = fopen(cache_path(FOLDER "/refs/v1"), "r");
    assert_non_null(ref);
    assert_int_equal(fread(text, 1, sizeof text, ref), 40); /* no newline behind it */
    (void)fclose(ref);
    assert_memory_equal(text, commit, 40);
    (void)snprintf(link, sizeof link, "%s/build/webgpu/manifest.json", folder);
    const ssize_t length = readlink(link, text, sizeof text);
    assert_int_equal(length, 18 + 40); /* Git's name of the file, as the server's ETag has it */
    assert_memory_equal(text, "../../../../blobs/", 18);
    (void)snprintf(link, sizeof link, "%s/README.md", folder);
    assert_int_equal(readlink(link, text, sizeof text), 12 + 40);
    assert_memory_equal(text, "../../blobs/", 12);
    (void)snprintf(link, sizeof link, "%s/build/webgpu", folder);
    opens(link);
}

static void test_cached(void **state)
{
    (void)state;
    char commit[64];
    rmsnorm_fetch_options options = hub_options();
    (void)snprintf(commit, sizeof commit, "%s", strrchr(fetched("kernels/copy", &options), '/') + 1);
    const size_t first = count_requests((asked){.method = NULL});
    assert_int_equal(first, 1 + 2 * 5); /* the commit, then what each file is, and the file */
    (void)fetched("kernels/copy", &options);
    assert_int_equal(count_requests((asked){.method = NULL}), first + 1); /* the commit alone */
    options.version = 0;
    options.revision = commit;
    (void)fetched("kernels/copy", &options);
    options.revision = NULL;
    options.version = 1;
    options.offline = true;
    (void)fetched("kernels/copy", &options);
    options.offline = false;
    assert_int_equal(setenv("HF_HUB_OFFLINE", "1", 1), 0);
    (void)fetched("kernels/copy", &options);
    options.version = 2;
    fetch_refused("kernels/copy", &options, RMSNORM_NOT_FOUND, "kernels/copy: version 2 is not in the cache ");
    options.version = 0;
    options.revision = "0123456789012345678901234567890123456789";
    fetch_refused("kernels/copy", &options, RMSNORM_NOT_FOUND, "is not in the cache ");
    fetch_refused("kernels/other", &options, RMSNORM_NOT_FOUND, "is not in the cache ");
    assert_int_equal(unsetenv("HF_HUB_OFFLINE"), 0);
    assert_int_equal(count_requests((asked){.method = NULL}), first + 1);
}

static void test_versions_share_what_is_the_same(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    const char *const first = fetched("kernels/copy", &options);
    options.version = 2;
    const char *const second = fetched("kernels/copy", &options);
    assert_string_not_equal(first, second);
    opens(first);
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "manifest.json"}), 2);
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "copy.wgsl.jinja"}), 1);
    assert_int_equal(count_files(FOLDER "/refs", ""), 2);
    fetch_refused("kernels/copy",
                  &(rmsnorm_fetch_options){.struct_size = sizeof options,
                                           .version = 7,
                                           .endpoint = hub_endpoint(),
                                           .cache = options.cache,
                                           .max_file_size = 1 << 20,
                                           .max_size = 1 << 20},
                  RMSNORM_NOT_FOUND, "the server has no v7 of it");
    fetch_refused("kernels/other", &options, RMSNORM_NOT_FOUND, "the server has no such kernel");
}

/* A branch that is at another commit whenever it is asked for. */
static void test_moving(void **state)
{
    (void)state;
    const rmsnorm_fetch_options options = hub_options();
    const char *const first = fetched("moving/copy", &options);
    const char *const second = fetched("moving/copy", &options);
    rmsnorm_fetch_options offline = options;
    offline.offline = true; /* the ref has followed, also to what was cached */
    assert_string_not_equal(first, second);
    assert_string_equal(fetched("moving/copy", &offline), second);
    assert_string_equal(fetched("moving/copy", &options), first);
    assert_string_equal(fetched("moving/copy", &offline), first);
}

/* The branch says which package is fetched; that it is of the version that was asked for is the package's word. */
static void test_version_is_the_package_s(void **state)
{
    (void)state;
    char commit[RMSNORM_COMMIT_TEXT] = "";
    char *folder;
    rmsnorm_fetch_options options = hub_options();
    fetch_refused("wrong-version/copy", &options, RMSNORM_MALFORMED,
                  "wrong-version/copy: version 1 was asked for, but by its metadata.json what v1 has is version 7");
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "/manifest.json"}), 0);
    assert_false(file_exists(cache_path("kernels--wrong-version--copy/snapshots")));
    assert_false(file_exists(cache_path("kernels--wrong-version--copy/refs")));
    /* A commit is what it is. */
    (void)snprintf(commit, sizeof commit, "%s", strrchr(fetched("kernels/copy", &options), '/') + 1);
    options.version = 0;
    options.revision = commit;
    (void)fetched("wrong-version/copy", &options);
    /* Cached by its commit, it is still not the version. */
    options.version = 1;
    options.revision = NULL;
    fetch_refused("wrong-version/copy", &options, RMSNORM_MALFORMED, "what v1 has is version 7");
    /* Nor with the network gone. */
    FILE *ref;
    assert_int_equal(mkdir(cache_path("kernels--wrong-version--copy/refs"), 0755), 0);
    assert_non_null(ref = fopen(cache_path("kernels--wrong-version--copy/refs/v1"), "w"));
    (void)fputs(commit, ref);
    assert_int_equal(fclose(ref), 0);
    options.offline = true;
    fetch_refused("wrong-version/copy", &options, RMSNORM_MALFORMED, "version 1 was asked for, but ");
    assert_int_equal(rmsnorm_package_fetch("kernels/copy", &options, &folder, NULL), RMSNORM_OK);
    free(folder);
}

static void test_environment(void **state)
{
    (void)state;
    char text[600];
    rmsnorm_fetch_options options = hub_options();
    options.endpoint = options.cache = NULL;
    assert_int_equal(setenv("HF_ENDPOINT", hub_endpoint(), 1), 0);
    assert_int_equal(setenv("HOME", cache_path("home"), 1), 0);
    (void)snprintf(text, sizeof text, "%s/.cache/huggingface/hub/" FOLDER "/snapshots/", cache_path("home"));
    assert_memory_equal(fetched("kernels/copy", &options), text, strlen(text));
    assert_int_equal(setenv("XDG_CACHE_HOME", cache_path("xdg"), 1), 0);
    (void)snprintf(text, sizeof text, "%s/huggingface/hub/" FOLDER "/snapshots/", cache_path("xdg"));
    assert_memory_equal(fetched("kernels/copy", &options), text, strlen(text));
    assert_int_equal(setenv("HF_HOME", cache_path("hf"), 1), 0);
    (void)snprintf(text, sizeof text, "%s/hub/" FOLDER "/snapshots/", cache_path("hf"));
    assert_memory_equal(fetched("kernels/copy", &options), text, strlen(text));
    assert_int_equal(setenv("HF_HUB_CACHE", cache_path("direct"), 1), 0);
    (void)snprintf(text, sizeof text, "%s/" FOLDER "/snapshots/", cache_path("direct"));
    assert_memory_equal(fetched("kernels/copy", &options), text, strlen(text));
    static const char *const names[] = {"HF_ENDPOINT", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE"};
    for (size_t i = 0; i < 4; ++i) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
}

/* A proxy that is not there: without https nothing goes through it. */
static void test_proxy(void **state)
{
    (void)state;
    const rmsnorm_fetch_options options = hub_options();
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    (void)fetched("kernels/copy", &options);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(setenv("https_proxy", "http://127.0.0.1:1", 1), 0);
    rmsnorm_fetch_options other = options;
    other.endpoint = "https://hub.invalid";
    fetch_refused("kernels/copy", &other, RMSNORM_IO, "hub.invalid: Failed to connect to 127.0.0.1 port 1");
    assert_int_equal(unsetenv("https_proxy"), 0);
}

static void test_token(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    fetch_refused("private/copy", &options, RMSNORM_NOT_FOUND, "it is private; no token was sent (HF_TOKEN)");
    options.token = "wrong-secret";
    fetch_refused("private/copy", &options, RMSNORM_NOT_FOUND, "it is private to this token");
    assert_null(strstr(rmsnorm_last_error(), "secret"));
    fetch_refused("gated/copy", &options, RMSNORM_IO, "403: access to it is restricted to this token");
    options.token = NULL;
    assert_int_equal(setenv("HF_TOKEN", TOKEN, 1), 0);
    (void)fetched("private/copy", &options);
    /* It stays with the endpoint: a redirect to another host goes without. */
    (void)fetched("other-host/copy", &options);
    assert_int_equal(count_requests((asked){.method = "GET", .host = "localhost:"}), 5);
    assert_int_equal(count_tokens((asked){.host = "localhost:"}), 0);
    assert_true(count_tokens((asked){.host = "127.0.0.1:"}) > 10);
    options.token = "";
    const size_t before = count_tokens((asked){.method = NULL});
    (void)fetched("kernels/copy", &options);
    assert_int_equal(count_tokens((asked){.method = NULL}), before);
    options.token = "a\r\nX-Injected: b";
    fetch_refused("kernels/copy", &options, RMSNORM_INVALID_ARGUMENT, "has a space, a control character");
    assert_int_equal(unsetenv("HF_TOKEN"), 0);
}

static void test_arguments(void **state)
{
    (void)state;
    static const char *const names[] = {"",      "copy",   "/copy",     "kernels/", "a/b/c",  "../x", "x/..", "a/.b",
                                        "a b/c", "a/b\nc", "a--b/c",    "a/b--c",   "a/b..c", "-a/b", "a/b-", "a/b?c",
                                        "a/%2e", "a\\b/c", "kern/\xff", "a/b#c",    "a/b:c",  "a@b/c"};
    rmsnorm_fetch_options options = hub_options();
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        fetch_refused(names[i], &options, RMSNORM_INVALID_ARGUMENT, "is no package of a Hub; allowed is ORG/NAME");
    }
    fetch_refused(NULL, &options, RMSNORM_INVALID_ARGUMENT, "is no package of a Hub");
    expect_sentence(rmsnorm_package_fetch("kernels/copy", &options, NULL, NULL), RMSNORM_INVALID_ARGUMENT,
                    "folder is NULL");
    options.version = 0;
    fetch_refused("kernels/copy", &options, RMSNORM_INVALID_ARGUMENT, "no version and no revision is given");
    options.version = -1;
    fetch_refused("kernels/copy", &options, RMSNORM_INVALID_ARGUMENT, "version is -1, allowed is 1 or more");
    options.version = 1;
    options.revision = "0123456789012345678901234567890123456789";
    fetch_refused("kernels/copy", &options, RMSNORM_INVALID_ARGUMENT, "both a version and a revision are given");
    options.version = 0;
    static const char *const revisions[] = {"", "main", "012345678901234567890123456789012345678", "../../../x",
                                            "012345678901234567890123456789012345678G"};
    for (size_t i = 0; i < sizeof revisions / sizeof revisions[0]; ++i) {
        options.revision = revisions[i];
        fetch_refused("kernels/copy", &options, RMSNORM_INVALID_ARGUMENT, "allowed is a commit: 40 hex digits");
    }
    options.struct_size = 3;
    fetch_refused("kernels/copy", &options, RMSNORM_INVALID_ARGUMENT, "start from RMSNORM_FETCH_OPTIONS_INIT");
    fetch_refused("kernels/copy", NULL, RMSNORM_INVALID_ARGUMENT, "no version and no revision");
    assert_int_equal(count_requests((asked){.method = NULL}), 0);
    assert_false(file_exists(cache_path("")));
}

/* Callers of an earlier header have a shorter structure. */
static void test_shorter_options(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    options.struct_size = offsetof(rmsnorm_fetch_options, token);
    options.token = (const char *)1;
    options.progress = NULL;
    (void)fetched("kernels/copy", &options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_layout, hub_reset),
        cmocka_unit_test_setup(test_cached, hub_reset),
        cmocka_unit_test_setup(test_versions_share_what_is_the_same, hub_reset),
        cmocka_unit_test_setup(test_moving, hub_reset),
        cmocka_unit_test_setup(test_version_is_the_package_s, hub_reset),
        cmocka_unit_test_setup(test_environment, hub_reset),
        cmocka_unit_test_setup(test_proxy, hub_reset),
        cmocka_unit_test_setup(test_token, hub_reset),
        cmocka_unit_test_setup(test_arguments, hub_reset),
        cmocka_unit_test_setup(test_shorter_options, hub_reset),
    };
    return cmocka_run_group_tests(tests, hub_start, hub_stop);
}
