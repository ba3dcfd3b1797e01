/* Servers and networks that misbehave: faults.mjs says how. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hub/settings.h"
#include "hub/support.h"

/* Nothing of a refused package is in a snapshot, and nothing worthless is kept. */
static void refused(const char *org, rmsnorm_status status, const char *part, size_t incomplete)
{
    char name[128];
    char folder[256];
    const rmsnorm_fetch_options options = hub_options();
    (void)snprintf(name, sizeof name, "%s/copy", org);
    fetch_refused(name, &options, status, part);
    (void)snprintf(folder, sizeof folder, "kernels--%s--copy/blobs", org);
    assert_int_equal(count_files(folder, ".incomplete"), incomplete);
    (void)snprintf(folder, sizeof folder, "kernels--%s--copy/snapshots", org);
    assert_false(file_exists(cache_path(folder)));
    (void)snprintf(folder, sizeof folder, "kernels--%s--copy/refs/v1", org);
    assert_false(file_exists(cache_path(folder)));
}

static void test_wrong_content(void **state)
{
    (void)state;
    refused("wrong-digest", RMSNORM_MALFORMED, "manifest.json is not the file whose digest metadata.json has", 0);
    refused("short-length", RMSNORM_MALFORMED, "metadata.json came with ", 0);
    refused("endless", RMSNORM_MALFORMED, "metadata.json is longer than 4194304 bytes, which is the most", 0);
    refused("huge-length", RMSNORM_MALFORMED, "metadata.json has 17179869184 bytes, at most 4194304 are allowed", 0);
    refused("gzip", RMSNORM_MALFORMED, "metadata.json is encoded, which was not asked for", 0);
    refused("gzip-bomb", RMSNORM_MALFORMED, "metadata.json is encoded, which was not asked for", 0);
    refused("not-json", RMSNORM_MALFORMED, "the server's answer for v1 is no JSON", 0);
    refused("bad-sha", RMSNORM_MALFORMED, "no commit of 40 hex digits", 0);
    refused("no-sha", RMSNORM_MALFORMED, "no commit of 40 hex digits", 0);
    refused("no-files", RMSNORM_NOT_FOUND, "build/webgpu/metadata.json is not there", 0);
}

static void test_hostile_names(void **state)
{
    (void)state;
    static const char *const parts[] = {"is no name for a file of it",
                                        "which is no name",
                                        "which is no name",
                                        "which is no name",
                                        "which is no name",
                                        "\\u0000",
                                        "which is no name",
                                        "which is no name",
                                        "which is no name",
                                        "id is",
                                        "id is",
                                        "id is",
                                        "which is no name",
                                        "id is",
                                        "which is no name",
                                        "id is",
                                        "which is no name",
                                        "id is",
                                        "id is",
                                        "id is"};
    char org[32];
    for (int i = 0; i < 20; ++i) {
        (void)snprintf(org, sizeof org, "hostile-%d", i);
        refused(org, RMSNORM_MALFORMED, parts[i], 0);
    }
    refused("hostile-twice", RMSNORM_MALFORMED, "duplicate object key", 0);
    assert_false(file_exists(cache_path("x")));
    assert_false(file_exists(cache_path("../x")));
}

static void test_redirects(void **state)
{
    (void)state;
    static const char *const good[] = {"lfs/copy", "resolve-cache/copy", "renamed/copy", "other-host/copy"};
    const rmsnorm_fetch_options options = hub_options();
    for (size_t i = 0; i < 4; ++i) {
        (void)fetched(good[i], &options);
    }
    (void)fetched("redirects-5/copy", &options);
    refused("redirects-6", RMSNORM_MALFORMED, "more than 5 redirects", 0);
    refused("redirect-loop", RMSNORM_MALFORMED, "more than 5 redirects", 0);
    refused("insecure", RMSNORM_MALFORMED, "a redirect leads to hub.invalid without https", 0);
    refused("file-url", RMSNORM_MALFORMED, "a redirect has the scheme file, allowed is https", 0);
    refused("no-location", RMSNORM_MALFORMED, "a redirect that leads nowhere", 0);
    /* A blob of LFS has its SHA-256 for a name. */
    assert_int_equal(count_files("kernels--lfs--copy/blobs", ""), 5);
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "?Signature=x", .status = 200}), 5);
}

static void test_broken_connections(void **state)
{
    (void)state;
    refused("truncated", RMSNORM_IO, "bytes remaining to read", 1); /* what came is kept */
    refused("reset", RMSNORM_IO, "reset by peer", 1);
    const rmsnorm_fetch_options options = hub_options();
    (void)fetched("slow/copy", &options);
    rmsnorm_fetch_options nobody = options;
    nobody.endpoint = "http://127.0.0.1:1";
    fetch_refused("kernels/copy", &nobody, RMSNORM_IO, "v1: 127.0.0.1: Failed to connect");
    nobody.endpoint = "https://hub.invalid";
    fetch_refused("kernels/copy", &nobody, RMSNORM_IO, "hub.invalid: Could not resolve host");
}

static void test_dead_connections(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    options.timeout_ms = 300;
    const uint64_t start = rmsnorm_hub_now();
    fetch_refused("dead/copy", &options, RMSNORM_TIMED_OUT, "127.0.0.1 did not answer, or too slowly, for 300 ms");
    fetch_refused("stall/copy", &options, RMSNORM_TIMED_OUT, "metadata.json: 127.0.0.1 did not answer");
    assert_true(rmsnorm_hub_now() - start < 8000);
}

static void test_second_tries(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    fetch_refused("500/copy", &options, RMSNORM_IO, "v1: the server answers 500");
    fetch_refused("429/copy", &options, RMSNORM_IO, "the server answers 429, too many requests");
    options.retries = 1;
    (void)fetched("503-1/copy", &options);
    uint64_t start = rmsnorm_hub_now();
    fetch_refused("429-9-2/copy", &options, RMSNORM_IO, "the server answers 429, too many requests");
    assert_true(rmsnorm_hub_now() - start >= 2000); /* as it asks */
    assert_int_equal(count_requests((asked){.status = 429}), 1 + 2);
    start = rmsnorm_hub_now();
    fetch_refused("429-9-90/copy", &options, RMSNORM_IO, "asks to wait 90 s: try again later");
    assert_true(rmsnorm_hub_now() - start < 2000);
    options.retries = 4;
    fetch_refused("gated/copy", &options, RMSNORM_IO, "403"); /* no reason to ask again */
    assert_int_equal(count_requests((asked){.status = 403}), 1);
}

/* Half of each file at the first request: what is there is not asked for again, in one call or the next. */
static void test_resumed(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    char *folder;
    size_t calls = 1;
    for (; rmsnorm_package_fetch("truncated-1/copy", &options, &folder, NULL) != RMSNORM_OK; ++calls) {
        assert_true(calls < 10);
    }
    free(folder);
    assert_int_equal(calls, 5 + 1);
    assert_int_equal(count_requests((asked){.method = "GET", .status = 206}), 5);
    options.retries = 1;
    assert_int_equal(hub_reset(NULL), 0);
    (void)fetched("reset-1/copy", &options);
    assert_int_equal(count_requests((asked){.method = "GET", .status = 206}), 5);
    assert_int_equal(hub_reset(NULL), 0);
    (void)fetched("ignore-range/copy", &options);
}

static char found[256];

static bool keep_first(void *context, const char *file, uint64_t done, uint64_t size)
{
    (void)size;
    if (strcmp(file, context) == 0 && done > 0 && found[0] == '\0') {
        (void)snprintf(found, sizeof found, "%s", file);
        return false;
    }
    return true;
}

static void test_cancelled(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    options.progress = keep_first;
    options.context = "build/webgpu/manifest.json";
    fetch_refused("slow/copy", &options, RMSNORM_CANCELLED, "slow/copy: fetching was cancelled");
    assert_string_equal(found, "build/webgpu/manifest.json");
    assert_int_equal(count_files("kernels--slow--copy/blobs", ".incomplete"), 1);
    (void)fetched("slow/copy", &options);
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "metadata.json"}), 2);
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "copy.wgsl.jinja"}), 1);
}

static void test_limits(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    options.max_file_size = 100;
    fetch_refused("kernels/copy", &options, RMSNORM_MALFORMED, "metadata.json has ");
    options = hub_options();
    options.max_size = 900;
    fetch_refused("kernels/copy", &options, RMSNORM_MALFORMED, "bytes, at most ");
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "/manifest.json"}),
                     0); /* refused by what it says */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_wrong_content, hub_reset),
        cmocka_unit_test_setup(test_hostile_names, hub_reset),
        cmocka_unit_test_setup(test_redirects, hub_reset),
        cmocka_unit_test_setup(test_broken_connections, hub_reset),
        cmocka_unit_test_setup(test_dead_connections, hub_reset),
        cmocka_unit_test_setup(test_second_tries, hub_reset),
        cmocka_unit_test_setup(test_resumed, hub_reset),
        cmocka_unit_test_setup(test_cancelled, hub_reset),
        cmocka_unit_test_setup(test_limits, hub_reset),
    };
    return cmocka_run_group_tests(tests, hub_start, hub_stop);
}
