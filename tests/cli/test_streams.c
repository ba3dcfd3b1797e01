/* Standard streams that are closed, full or gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

#define SIMPLE_WORDS "run --op SimplifiedLayerNormalization "
#define SIMPLE "rmsnorm " SIMPLE_WORDS

/* Exit code 2 and one line, whatever the subcommand prints. */
static void unwritable_output_is_reported(void **state)
{
    (void)state;
    static const char *const commands[] = {
        "--help",
        "--version",
        "info",
        "info --json",
        "describe",
        "describe RMSNormalization --format markdown",
        "describe --json",
        "run --help",
        "infer --op RMSNormalization X=float:2 scale=float",
        "run --op RMSNormalization random:float:2 random:float:2",
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; ++i) {
        expect_refused(shell("rmsnorm %s >/dev/full", commands[i]),
                       (const char *const[]){"standard output cannot be written: No space left on device", NULL});
        expect_refused(shell("rmsnorm %s >&-", commands[i]),
                       (const char *const[]){"standard output cannot be written: Bad file descriptor", NULL});
    }
}

/* As every filter: `rmsnorm describe | head -1` says nothing about the rest. Who ignores the signal wants to be told. */
static void a_closed_pipe_ends_the_command_in_silence(void **state)
{
    (void)state;
    static const char *const commands[] = {"describe", SIMPLE_WORDS "random:float:1,2 random:float:2 -o Y=-",
                                           "package new com.example.Silent"};
    static const char *const tries[][2] = {{"", "141\n"}, {"trap '' PIPE;", "2\n"}};
    for (size_t i = 0; i < 6; ++i) {
        /* The reader is gone before the writer begins. */
        outcome result =
            shell("rm -rf pipe closed com.example.Silent; mkfifo pipe; (exec 3<pipe; exec 3<&-; : >closed) & "
                  "{ while [ ! -e closed ]; do sleep 0.01; done; %s rmsnorm %s; echo $? >code; } >pipe; cat code",
                  tries[i % 2][0], commands[i / 2]);
        assert_string_equal(result.out, tries[i % 2][1]);
        if (i % 2 == 0) {
            assert_string_equal(result.err, "");
        } else {
            assert_non_null(strstr(result.err, "Broken pipe\n"));
        }
        outcome_free(&result);
    }
}

static void a_closed_stream_fails_when_it_is_used(void **state)
{
    (void)state;
    WRITE("x.npy", RMSNORM_FLOAT, "1,2", 2, -2);
    WRITE("scale.npy", RMSNORM_FLOAT, "2", 1, 2);
    REFUSED(SIMPLE "--attr epsilon=12 x.npy scale.npy -o Y=y.npy >&-", "standard output cannot be written");
    EXPECT("y.npy", RMSNORM_FLOAT, "1,2", 0.5, -1);
    outcome result = shell("rmsnorm run --op Nothing 2>&-");
    assert_int_equal(result.code, 2);
    outcome_free(&result);
    REFUSED(SIMPLE "- scale.npy <&-", "X: ");
}

static void an_output_stream_that_fails_leaves_no_files(void **state)
{
    (void)state;
    DONE("mkdir only");
    REFUSED(SIMPLE "random:float:1,2 random:float:2 -o Y=only/y.npy -o inv_std_var=- >/dev/full",
            "No space left on device");
    REFUSED(SIMPLE "random:float:1,2 random:float:2 -o Y=only/y.npy -o inv_std_var=- >&-", "output 'inv_std_var': ");
    assert_int_equal(entry_count("only"), 0);
}

static void a_file_size_limit_is_an_error(void **state)
{
    (void)state;
    DONE("mkdir limited");
    REFUSED("ulimit -f 1; " SIMPLE "random:float:4,1024 random:float:1024 -o Y=limited/y.npy",
            "output 'Y': ", "cannot be written: File too large");
    assert_int_equal(entry_count("limited"), 0);
}

/* Refused by their first bytes: the sentence is not the one about 2 GiB. */
static void an_endless_stream_is_refused_early(void **state)
{
    (void)state;
    REFUSED("rmsnorm run /dev/zero",
            "/dev/zero: is no valid ONNX protobuf: byte 0, in ModelProto: a field number is due");
    REFUSED("rmsnorm run - </dev/zero", "byte 0, in ModelProto: a field number is due");
    REFUSED(SIMPLE "- random:float:2 </dev/zero", "byte 0, in TensorProto: a field number is due");
}

/* A pipe without a reader waits for ever, at its opening or when it is full. timeout says 124 of what its SIGTERM has ended, 137
 * of what has needed a SIGKILL. */
static void a_signal_ends_a_wait_for_a_reader(void **state)
{
    (void)state;
    DONE("mkfifo pipe.npy full");
    DONE("timeout -k 20 1 \"$RMSNORM\" " SIMPLE_WORDS "random:float:2,8 random:float:8 -o Y=pipe.npy; test $? = 124");
    DONE("timeout -k 20 1 \"$RMSNORM\" bench --shape 1x4 --seconds 0.01 --threads 1 --svg pipe.npy; test $? = 124");
    DONE("(exec 3<full; sleep 4) & timeout -k 20 1 \"$RMSNORM\" " SIMPLE_WORDS
         "random:float:4000,100 random:float:100 -o Y=- >full; test $? = 124; code=$?; wait; exit $code");
    DONE("rm pipe.npy full");
}

static void a_link_that_leads_nowhere_is_refused(void **state)
{
    (void)state;
    DONE("ln -s nowhere.npy l.npy && ln -s round.npy round.npy");
    static const char *const links[] = {"l.npy", "round.npy"};
    for (size_t i = 0; i < 2; ++i) {
        expect_refused(shell(SIMPLE "random:float:2,8 random:float:8 -o Y=%s", links[i]),
                       (const char *const[]){"is a symbolic link that leads to no file", NULL});
    }
    DONE("test -L l.npy && test -L round.npy && test ! -e nowhere.npy && rm l.npy round.npy");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unwritable_output_is_reported),
        cmocka_unit_test(a_signal_ends_a_wait_for_a_reader),
        cmocka_unit_test(a_link_that_leads_nowhere_is_refused),
        cmocka_unit_test(a_closed_pipe_ends_the_command_in_silence),
        cmocka_unit_test(a_closed_stream_fails_when_it_is_used),
        cmocka_unit_test(a_file_size_limit_is_an_error),
        cmocka_unit_test(an_endless_stream_is_refused_early),
        cmocka_unit_test(an_output_stream_that_fails_leaves_no_files),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
