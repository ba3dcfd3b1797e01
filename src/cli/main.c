/* main.c: rmsnorm: the list of subcommands, and the one place that reports. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli.h"
#include "options.h"
#include "signals.h"
#include "rmsnorm/rmsnorm.h"

static const rmsnorm_cli_command commands[] = {
    {"run", "run a model, or one operator, on tensor files", rmsnorm_cli_run},
    {"test", "run ONNX-style test folders, and the cases of kernel packages", rmsnorm_cli_test},
    {"selftest", "the worked examples on every device: which is to be trusted", rmsnorm_cli_selftest},
    {"infer", "types, shapes and memory of an operator's outputs, also for symbolic shapes", rmsnorm_cli_infer},
    {"check", "a model's norm nodes, and what the contract has against them", rmsnorm_cli_check},
    {"fuse", "find RMS normalization in a model, and rewrite it to one node", rmsnorm_cli_fuse},
    {"convert", "a model's norm nodes in another form, or taken apart", rmsnorm_cli_convert},
    {"plan", "the shaders and dispatches of a request to a WebGPU device", rmsnorm_cli_plan},
    {"describe", "the operators: types, inputs, outputs, attributes", rmsnorm_cli_describe},
    {"bench", "time an operator, beside ONNX Runtime and plain copies", rmsnorm_cli_bench},
    {"ort-bench", "time a model in ONNX Runtime, with and without the plug-in", rmsnorm_cli_ort_bench},
    {"tune", "find the fastest variants of kernels on a WebGPU device", rmsnorm_cli_tune},
    {"get-kernel", "fetch a kernel package from a Hub, and print where it lies", rmsnorm_cli_get_kernel},
    {"package", "kernel packages: verify, build, start, render", rmsnorm_cli_package},
    {"info", "what this build and this machine offer", rmsnorm_cli_info},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const char *command_name(const void *table, size_t index)
{
    (void)table;
    return index < COMMAND_COUNT ? commands[index].name : NULL;
}

static void print_help(void)
{
    printf("Usage: rmsnorm SUBCOMMAND [OPTION]... [ARGUMENT]...\n\n"
           "RMS normalization for ONNX models.\n\nSubcommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; ++i) {
        printf("  %-10s %s\n", commands[i].name, commands[i].help);
    }
    printf("\n'rmsnorm SUBCOMMAND --help' explains one, 'rmsnorm --version' prints the version.\n"
           "Exit codes: 0 done, 1 the answer is no (a test failed), 2 usage or bad input.\n");
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        return rmsnorm_cli_fail("no subcommand is given, 'rmsnorm --help' lists them");
    }
    static char help_option[] = "--help";
    if (argc >= 3 && strcmp(argv[1], "help") == 0) { /* help SUBCOMMAND */
        argv[1] = argv[2];
        argv[2] = help_option;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (argc == 2 && strcmp(word, "help") == 0)) {
        print_help();
        return RMSNORM_CLI_DONE;
    }
    if (strcmp(word, "--version") == 0) {
        printf("rmsnorm %s\n", rmsnorm_version());
        return RMSNORM_CLI_DONE;
    }
    if (word[0] == '-') {
        return rmsnorm_cli_fail("'%s' comes before the subcommand, options come after it: rmsnorm SUBCOMMAND %s", word,
                                word);
    }
    for (size_t i = 0; i < COMMAND_COUNT; ++i) {
        if (strcmp(word, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    const int nearest = rmsnorm_cli_nearest(word, command_name, NULL);
    if (nearest >= 0) {
        return rmsnorm_cli_fail("unknown subcommand '%s', did you mean '%s'? 'rmsnorm --help' lists them", word,
                                commands[nearest].name);
    }
    return rmsnorm_cli_fail("unknown subcommand '%s', 'rmsnorm --help' lists them", word);
}

/* A stream that is closed stays unusable, and no file that is opened later gets its number. */
static void hold_streams(void)
{
    for (int stream = 0; stream <= 2; ++stream) {
        if (fcntl(stream, F_GETFD) < 0) {
            (void)open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY);
        }
    }
}

static void *allocate_json(size_t size)
{
    return rmsnorm_cli_allocate(size, 1);
}

int main(int argc, char **argv)
{
    rmsnorm_cli_signals_start();
    hold_streams();
    json_set_alloc_funcs(allocate_json, free);
    int code = run(argc, argv);
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code != RMSNORM_CLI_BAD) {
        code = rmsnorm_cli_fail("standard output cannot be written: %s",
                                errno != 0 ? strerror(errno) : "an earlier write failed");
    }
    if (code == RMSNORM_CLI_BAD && !rmsnorm_cli_signals_broken_pipe()) {
        rmsnorm_cli_report();
    }
    rmsnorm_cli_signals_end(code);
    return code;
}
