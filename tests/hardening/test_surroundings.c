/* Variables, streams, masks and limits that nobody would choose: the command does what it should, or says in one line why it cannot;
 * never a signal, and never a file that is not whole. */
#define _XOPEN_SOURCE 700

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/support.h"

#define RUN "run --op SimplifiedLayerNormalization random:float:2,8 random:float:8 -o Y=to/y.npy"

/* Each writes into to/; right.tar is what is wanted there. */
static const char *const commands[] = {
    RUN, "run in/p/../x.npy --op SimplifiedLayerNormalization random:float:8 -o Y=to/x.npy",
    "package new com.example.Scale --into to", "describe RMSNormalization --json", "info"};
enum { COMMANDS = sizeof commands / sizeof commands[0] };

static void expect_one_line(const char *how, const char *words, const outcome *result)
{
    const char *const end = strchr(result->err, '\n');
    if (result->code != 2 || strncmp(result->err, "rmsnorm: ", 9) != 0 || end == NULL || end[1] != '\0') {
        fail_msg("%s; %s: %d: %s", how, words, result->code, result->err);
    }
}

/* Done as always, or not at all and with a line that says why. Where the loader of programs cannot work, it is the one who says so.
 * Gives whether it was done. */
static bool done_or_refused(const char *how, const char *words, size_t index)
{
    outcome result = shell("rm -rf to; mkdir to; (%s; exec \"$RMSNORM\" %s) >/dev/null", how, words);
    const bool done = result.code == 0;
    if (done) {
        assert_string_equal(result.err, "");
        expect_done(shell("chmod -R u+rwX to; diff -r to right%zu", index), (const char *const[]){NULL});
    } else {
        if (result.code != 127 || strstr(result.err, "shared libraries") == NULL) {
            expect_one_line(how, words, &result);
        }
        assert_int_equal(entry_count("to"), 0);
    }
    outcome_free(&result);
    return done;
}

static void every_value_of_a_variable(void **state)
{
    (void)state;
    static const char *const names[] = {"HOME",         "XDG_CACHE_HOME", "TMPDIR", "RMSNORM_TUNING", "HF_HOME",
                                        "HF_HUB_CACHE", "LANG",           "LC_ALL", "PATH",           "PWD"};
    static const char *const values[] = {"unset %1$s",
                                         "export %1$s=",
                                         "export %1$s=relative",
                                         "export %1$s=/dev/null",
                                         "export %1$s=\"$(printf 'a\\nb\\033[1m')\"",
                                         "export %1$s=\"$(printf '\\377')\"",
                                         "export %1$s=$(printf '/%%05000d' 0)",
                                         "export %1$s=de_DE.UTF-8"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        for (size_t k = 0; k < sizeof values / sizeof values[0]; ++k) {
            char how[256];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(how, sizeof how, values[k], names[i]);
#pragma GCC diagnostic pop
            assert_true(done_or_refused(how, commands[(i + k) % COMMANDS], (i + k) % COMMANDS));
            outcome result = shell("%s; exec \"$RMSNORM\" get-kernel kernels/copy --version 1 --offline", how);
            expect_one_line(how, "get-kernel", &result);
            outcome_free(&result);
        }
    }
}

/* A file that is opened never becomes a stream that others write to. */
static void streams_that_are_closed(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 8; ++closed) {
        for (size_t i = 0; i < 3; ++i) {
            outcome result =
                shell("rm -rf to; mkdir to; exec \"$RMSNORM\" %s %s %s %s", commands[i], (closed & 1) != 0 ? "<&-" : "",
                      (closed & 2) != 0 ? ">&-" : "", (closed & 4) != 0 ? "2>&-" : "");
            assert_int_equal(result.code, (closed & 2) != 0 ? 2 : 0); /* what is printed at the end is not */
            outcome_free(&result);
            expect_done(shell("diff -r to right%zu", i), (const char *const[]){NULL});
        }
    }
}

static void masks(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMANDS; ++i) {
        assert_true(done_or_refused("umask 077", commands[i], i));
        (void)done_or_refused("umask 777", commands[i], i); /* root alone can make files in a folder of such a mode */
    }
}

static void few_descriptors(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMANDS; ++i) {
        bool done = false;
        for (int count = 3; count <= 12; ++count) {
            char how[64];
            (void)snprintf(how, sizeof how, "ulimit -n %d", count);
            done = done_or_refused(how, commands[i], i);
        }
        assert_true(done);
    }
}

static void little_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMANDS; ++i) {
        bool done = false;
        for (int kilobytes = 8000; kilobytes <= 400000; kilobytes += kilobytes / 12) {
            char how[64];
            (void)snprintf(how, sizeof how, "ulimit -v %d", kilobytes);
            done = done_or_refused(how, commands[i], i);
        }
        assert_true(done);
    }
}

static int begin(void **state)
{
    if (folder_make(state) != 0) {
        return -1;
    }
    DONE("mkdir -p in/p");
    WRITE("in/x.npy", RMSNORM_FLOAT, "1,8", 1, 2, 3, 4, 5, 6, 7, 8);
    for (size_t i = 0; i < COMMANDS; ++i) {
        expect_done(shell("rm -rf to; mkdir to; rmsnorm %s >/dev/null && mv to right%zu", commands[i], i),
                    (const char *const[]){NULL});
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_a_variable), cmocka_unit_test(streams_that_are_closed), cmocka_unit_test(masks),
        cmocka_unit_test(few_descriptors),           cmocka_unit_test(little_memory),
    };
    return cmocka_run_group_tests(tests, begin, folder_remove);
}
