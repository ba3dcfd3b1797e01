/* rmsnorm get-kernel, and the subcommands that take what it gives. */
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hub/support.h"

/* One command line behind `rmsnorm `; both streams together. */
static char output[65536];

static int command(const char *words)
{
    char line[2048];
    (void)snprintf(line, sizeof line, "HF_ENDPOINT=%s HF_HUB_CACHE='%s' '%s' %s 2>&1", hub_endpoint(), cache_path(""),
                   HUB_COMMAND, words);
    FILE *const stream = popen(line, "r"); /* NOLINT(cert-env33-c): the command under test */
    assert_non_null(stream);
    const size_t length = fread(output, 1, sizeof output - 1, stream);
    output[length] = '\0';
    const int status = pclose(stream);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void refused(const char *words, const char *sentence)
{
    assert_int_equal(command(words), 2);
    if (strncmp(output, "rmsnorm: ", 9) != 0 || strstr(output, sentence) == NULL) {
        fail_msg("wanted '%s', got: %s", sentence, output);
    }
    assert_ptr_equal(strchr(output, '\n'), output + strlen(output) - 1); /* one line */
}

static void said(const char *words, const char *part)
{
    const int code = command(words);
    if (code != 0 || strstr(output, part) == NULL) {
        fail_msg("%d, wanted '%s', got: %s", code, part, output);
    }
}

static void test_get(void **state)
{
    (void)state;
    said("get-kernel kernels/copy --version 1", "/kernels--kernels--copy/snapshots/");
    output[strcspn(output, "\n")] = '\0';
    opens(output);
    said("get-kernel kernels/copy --version=1 --offline", "/kernels--kernels--copy/snapshots/");
    said("get-kernel kernels/copy --version 1 --json", "\"commit\": \"");
    json_t *const answer = json_loads(output, 0, NULL);
    char words[256];
    (void)snprintf(words, sizeof words, "get-kernel kernels/copy --revision %s",
                   json_string_value(json_object_get(answer, "commit")));
    json_decref(answer);
    said(words, "/kernels--kernels--copy/snapshots/");
    said("get-kernel --help", "--version N");
}

static void test_refusals(void **state)
{
    (void)state;
    refused("get-kernel", "no package is given");
    refused("get-kernel kernels/copy", "Give --version N, or --revision with a commit");
    refused("get-kernel kernels/copy --version 1 --revision x", "give one");
    refused("get-kernel kernels/copy --version x", "--version is 'x'");
    refused("get-kernel kernels/copy --revision main", "allowed is a commit");
    refused("get-kernel kernels/copy kernels/other --version 1", "one package at a time");
    refused("get-kernel copy --version 1", "allowed is ORG/NAME");
    refused("get-kernel kernels/copy --version 7", "the server has no v7 of it");
    refused("get-kernel wrong-version/copy --version 1",
            "version 1 was asked for, but by its metadata.json what v1 has is version 7");
    refused("get-kernel kernels/copy --version 1 --offline", "is not in the cache");
    refused("get-kernel kernels/copy --version 1 --endpoint http://hub.invalid", "without https");
    refused("get-kernel kernels/copy --version 1 --cache /dev/null/x", "cannot be made");
    refused("run --version 1 --op RMSNormalization x.npy", "--version and --revision go with --kernel");
    refused("run --kernel kernels/copy --op RMSNormalization x.npy", "both say what to run");
    refused("run --kernel kernels/copy --device cpu x.npy", "computes on WebGPU, not with --device cpu");
    refused("run --kernel kernels/copy --version 7 x.npy", "the server has no v7 of it");
    refused("run --kernel kernels/copy x.npy", "cannot be opened");
    refused("plan --op RMSNormalization --version 1 X=float:2", "go with --package");
    refused("test a b --version 1", "go with one ORG/NAME");
}

static void test_plan(void **state)
{
    (void)state;
    said("plan --package kernels/copy --version 1 X=float:4", "variant: plain");
    refused("test kernels/copy --version 1", "test.ns"); /* not an operator of this library, but it was fetched */
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "manifest.json"}), 1);
}

static void test_interrupted(void **state)
{
    (void)state;
    char words[256];
    char line[2048];
    (void)snprintf(
        line, sizeof line,
        "HF_ENDPOINT=%s HF_HUB_CACHE='%s' '%s' get-kernel slow/copy --version 1 2>&1 & sleep 0.4; kill -TERM $!; wait $!",
        hub_endpoint(), cache_path(""), HUB_COMMAND);
    FILE *const stream = popen(line, "r"); /* NOLINT(cert-env33-c): the command under test */
    assert_non_null(stream);
    assert_non_null(fgets(words, sizeof words, stream));
    assert_string_equal(words, "rmsnorm: slow/copy: fetching was cancelled\n");
    assert_int_equal(WEXITSTATUS(pclose(stream)), 128 + SIGTERM);
    assert_false(file_exists(cache_path("kernels--slow--copy/snapshots")));
    said("get-kernel slow/copy --version 1", "/snapshots/");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_get, hub_reset),
        cmocka_unit_test_setup(test_refusals, hub_reset),
        cmocka_unit_test_setup(test_plan, hub_reset),
        cmocka_unit_test_setup(test_interrupted, hub_reset),
    };
    return cmocka_run_group_tests(tests, hub_start, hub_stop);
}
