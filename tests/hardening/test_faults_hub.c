/* The same while a package is fetched from a Hub: the cache is never taken for whole when it is not, and what was begun is completed
 * by the next call. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/support.h"
#include "hardening/faults.h"

#define GET "get-kernel kernels/copy --version 1 --cache \"$PWD/to\""

static const fault_command get = {.words = GET, .before = "", .named = true, .grows = true};

/* One of a package's files is gone: the snapshot is built anew from what is left. */
static const fault_command mend = {GET,
                                   "\"$RMSNORM\" get-kernel kernels/copy --version 1 --cache . >/dev/null && "
                                   "rm kernels--kernels--copy/snapshots/*/build/webgpu/manifest.json",
                                   .named = true, .grows = true};

static void every_call_fails_once(void **state)
{
    (void)state;
    fault_sweep_errors(&get, 20);
}

static void every_call_meets_a_signal(void **state)
{
    (void)state;
    fault_sweep_signals(&get);
}

static void reads_may_be_short_and_interrupted(void **state)
{
    (void)state;
    fault_slow_reads(&get);
    fault_slow_reads(&mend);
}

static int server, server_input = -1;

/* The Hub of tests/hub, with the package that `package new` makes. It ends when its standard input is closed. */
static int begin(void **state)
{
    int input[2], output[2];
    char port[32] = "";
    char endpoint[64];
    if (HUB_NODE[0] == '\0') {
        printf("not run: there is no node\n");
        exit(77);
    }
    if (folder_make(state) != 0 || pipe(input) != 0 || pipe(output) != 0) {
        return -1;
    }
    DONE("rmsnorm package new com.example.Copy");
    server = fork();
    if (server == 0) {
        (void)dup2(input[0], 0);
        (void)dup2(output[1], 1);
        (void)close(input[1]);
        (void)execlp(HUB_NODE, HUB_NODE, HUB_SERVER, "kernels/copy=com.example.Copy", (char *)NULL);
        _exit(127);
    }
    (void)close(input[0]);
    (void)close(output[1]);
    server_input = input[1];
    for (size_t length = 0;
         length + 1 < sizeof port && read(output[0], port + length, 1) == 1 && port[length] != '\n';) {
        ++length;
    }
    (void)snprintf(endpoint, sizeof endpoint, "http://127.0.0.1:%.5s", port);
    endpoint[strcspn(endpoint, "\n")] = '\0';
    return server > 0 && port[0] != '\0' ? setenv("HF_ENDPOINT", endpoint, 1) : -1;
}

static int end(void **state)
{
    (void)close(server_input);
    (void)waitpid(server, NULL, 0);
    return folder_remove(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_fails_once),
        cmocka_unit_test(every_call_meets_a_signal),
        cmocka_unit_test(reads_may_be_short_and_interrupted),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
