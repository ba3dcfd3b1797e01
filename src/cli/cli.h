/* cli.h: what every subcommand shares: exit codes, the one error sentence, the list of subcommands. */
#ifndef RMSNORM_CLI_CLI_H
#define RMSNORM_CLI_CLI_H

#include <stddef.h>

#if defined(__GNUC__)
#define RMSNORM_CLI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define RMSNORM_CLI_PRINTF(text, first)
#endif

enum {
    RMSNORM_CLI_DONE = 0,
    RMSNORM_CLI_NO = 1,     /* the answer is no: a test failed */
    RMSNORM_CLI_BAD = 2,    /* usage, bad input, or the system refused */
    RMSNORM_CLI_SKIPPED = 3 /* no exit code: the device does not take it, and the sentence says why */
};

/* Keeps the sentence (one line of at most 1023 bytes, made safe for a terminal) and returns RMSNORM_CLI_BAD. Nothing is
 * printed here: main prints the last sentence of a command that ends with RMSNORM_CLI_BAD, so there is always exactly one. */
int rmsnorm_cli_fail(const char *format, ...) RMSNORM_CLI_PRINTF(1, 2);
/* The same with the library's own sentence. */
int rmsnorm_cli_fail_library(void);
const char *rmsnorm_cli_sentence(void);
/* Prints "rmsnorm: SENTENCE" on standard error. */
void rmsnorm_cli_report(void);

/* Zeroed memory; never NULL: the small things a command needs are not worth a path each, so without memory it reports and
 * exits with RMSNORM_CLI_BAD. Tensors are not allocated here. */
void *rmsnorm_cli_allocate(size_t count, size_t size);

/* A subcommand. argv[0] is its name. */
typedef struct rmsnorm_cli_command {
    const char *name;
    const char *help; /* one line */
    int (*run)(int argc, char **argv);
} rmsnorm_cli_command;

int rmsnorm_cli_run(int argc, char **argv);
int rmsnorm_cli_test(int argc, char **argv);
int rmsnorm_cli_selftest(int argc, char **argv);
int rmsnorm_cli_infer(int argc, char **argv);
int rmsnorm_cli_fuse(int argc, char **argv);
int rmsnorm_cli_convert(int argc, char **argv);
int rmsnorm_cli_check(int argc, char **argv);
int rmsnorm_cli_describe(int argc, char **argv);
int rmsnorm_cli_info(int argc, char **argv);
int rmsnorm_cli_bench(int argc, char **argv);
int rmsnorm_cli_ort_bench(int argc, char **argv);
int rmsnorm_cli_tune(int argc, char **argv);
int rmsnorm_cli_package(int argc, char **argv);
int rmsnorm_cli_plan(int argc, char **argv);
int rmsnorm_cli_get_kernel(int argc, char **argv);

#endif
