/* Several processes fetch into one cache, and are killed at it. */
#define _XOPEN_SOURCE 700

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "hub/support.h"

enum { PROCESSES = 8, KILLS = 12 };

static int fetch_in_child(void *context)
{
    char *folder;
    rmsnorm_package *package;
    const rmsnorm_fetch_options *const options = context;
    rmsnorm_status status = rmsnorm_package_fetch("slow/copy", options, &folder, NULL);
    if (status == RMSNORM_OK) {
        status = rmsnorm_package_open(folder, &package);
        rmsnorm_package_close(package);
        free(folder);
    }
    if (status != RMSNORM_OK) {
        (void)fprintf(stderr, "%s\n", rmsnorm_last_error());
    }
    return (int)status;
}

static void test_at_once(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    int processes[PROCESSES];
    for (int i = 0; i < PROCESSES; ++i) {
        processes[i] = child_start(fetch_in_child, &options);
    }
    for (int i = 0; i < PROCESSES; ++i) {
        assert_int_equal(child_wait(processes[i]), 0);
    }
    assert_int_equal(count_requests((asked){.method = "GET", .ending = "v1"}), PROCESSES);
    assert_int_equal(count_requests((asked){.method = "GET"}), PROCESSES + 5); /* every file once */
    assert_int_equal(count_files("kernels--slow--copy/blobs", ""), 5);
}

/* Killed at any moment: what the next one finds is whole, or not there. */
static void test_killed(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    rmsnorm_fetch_options offline = options;
    offline.offline = true;
    int killed = 0;
    for (int i = 0; i < KILLS; ++i) {
        const struct timespec pause = {.tv_nsec = 30000000L + 31000000L * i};
        const int process = child_start(fetch_in_child, &options);
        (void)nanosleep(&pause, NULL);
        (void)kill(process, SIGKILL);
        killed += child_wait(process) == 128 + SIGKILL;
        char *folder = NULL;
        const rmsnorm_status status = rmsnorm_package_fetch("slow/copy", &offline, &folder, NULL);
        assert_true(status == RMSNORM_OK || status == RMSNORM_NOT_FOUND);
        free(folder);
    }
    assert_true(killed > 1);
    (void)fetched("slow/copy", &options);
    assert_int_equal(count_files("kernels--slow--copy/blobs", ".incomplete"), 0);
    assert_true(count_requests((asked){.method = "GET", .ending = "copy.wgsl.jinja"}) >= 1);
}

static bool never(void *context, const char *file, uint64_t done, uint64_t size)
{
    (void)file, (void)done, (void)size;
    return --*(int *)context > 0;
}

/* Who waits for another process can be called off. */
static void test_waiting_is_cancelled(void **state)
{
    (void)state;
    rmsnorm_fetch_options options = hub_options();
    const struct timespec pause = {.tv_nsec = 150000000L};
    const int process = child_start(fetch_in_child, &options);
    (void)nanosleep(&pause, NULL);
    int left = 20;
    rmsnorm_fetch_options waiting = options;
    waiting.progress = never;
    waiting.context = &left;
    fetch_refused("slow/copy", &waiting, RMSNORM_CANCELLED, "fetching was cancelled");
    assert_int_equal(child_wait(process), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_at_once, hub_reset),
        cmocka_unit_test_setup(test_killed, hub_reset),
        cmocka_unit_test_setup(test_waiting_is_cancelled, hub_reset),
    };
    return cmocka_run_group_tests(tests, hub_start, hub_stop);
}
