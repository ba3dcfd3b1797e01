#define _XOPEN_SOURCE 700

#include "hardening/faults.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/support.h"

enum { MOST = 500 }; /* calls of one command that are looked at: more is an error of the test */

static outcome quiet(const char *script)
{
    outcome result = shell("%s", script);
    if (result.code != 0) {
        fail_msg("%s: %s", script, result.err);
    }
    return result;
}

/* ---- What is there ---------------------------------------------------------------------------- */

static char *lines[1000]; /* one for each file and folder */
static size_t line_count;
static bool only_names;

/* FNV-1a. */
static uint64_t digest_of(const char *path)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (int byte; (byte = fgetc(file)) != EOF;) {
        digest = (digest ^ (uint64_t)byte) * UINT64_C(0x100000001b3);
    }
    (void)fclose(file);
    return digest;
}

static int add_line(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)place;
    char link[512] = "";
    char *line = malloc(1024);
    assert_non_null(line);
    assert_true(line_count < sizeof lines / sizeof lines[0]);
    const ssize_t length = type == FTW_SL ? readlink(path, link, sizeof link - 1) : 0;
    link[length > 0 ? length : 0] = '\0';
    int used = snprintf(line, 1024, "%s %c", path, type == FTW_F ? 'f' : type == FTW_SL ? 'l' : 'd');
    if (!only_names) {
        used += snprintf(line + used, 1024 - (size_t)used, " %o %s", (unsigned)status->st_mode & 07777U, link);
    }
    if (!only_names && type == FTW_F) {
        (void)snprintf(line + used, 1024 - (size_t)used, " %016" PRIx64, digest_of(path));
    }
    lines[line_count++] = line;
    return 0;
}

static int compare_lines(const void *a, const void *b)
{
    char *const *left = a;
    char *const *right = b;
    return strcmp(*left, *right);
}

char *fault_tree(bool names_only)
{
    size_t size = 1;
    only_names = names_only;
    line_count = 0;
    assert_int_equal(nftw("to", add_line, 20, FTW_PHYS), 0);
    qsort(lines, line_count, sizeof lines[0], compare_lines);
    for (size_t i = 0; i < line_count; ++i) {
        size += strlen(lines[i]) + 1;
    }
    char *tree = calloc(size, 1);
    assert_non_null(tree);
    for (size_t i = 0; i < line_count; ++i) {
        (void)strcat(strcat(tree, lines[i]), "\n");
        free(lines[i]);
    }
    return tree;
}

/* ---- Running ---------------------------------------------------------------------------------- */

static void restore(void)
{
    outcome result = quiet("rm -rf to mark && cp -a was to");
    outcome_free(&result);
}

static void prepare(const fault_command *command)
{
    char script[2048];
    (void)snprintf(script, sizeof script, "rm -rf was && mkdir was && cd was && { %s\n}",
                   command->before[0] != '\0' ? command->before : ":");
    outcome result = quiet(script);
    outcome_free(&result);
    restore();
}

/* `exec`, so that the shell's end is the command's. */
static outcome run(const fault_command *command, const char *faults)
{
    return shell("exec env LD_PRELOAD=" FAULT_LIBRARY
                 " FAULT_UNDER=\"$PWD/to\" FAULT_MARK=\"$PWD/mark\" %s \"$RMSNORM\" %s",
                 faults, command->words);
}

static void expect_clean(const fault_command *command, const char *faults, char **tree)
{
    outcome result = run(command, faults);
    if (result.code != 0) {
        fail_msg("%s %s: %d: %s", faults, command->words, result.code, result.err);
    }
    outcome_free(&result);
    *tree = fault_tree(command->varies);
}

typedef struct trees {
    char *before, *after;
} trees;

static trees trees_of(const fault_command *command)
{
    trees all;
    prepare(command);
    all.before = fault_tree(command->varies);
    expect_clean(command, "FAULT_AT=0", &all.after);
    return all;
}

static void trees_free(trees *all)
{
    free(all->before);
    free(all->after);
}

static void expect_tree(const char *what, const fault_command *command, const char *wanted)
{
    char *there = fault_tree(command->varies);
    if (strcmp(there, wanted) != 0) {
        fail_msg("%s %s: wanted\n%sgot\n%s", what, command->words, wanted, there);
    }
    free(there);
}

/* Whatever was left, the same command once more makes it good. */
static void expect_healed(const char *what, const fault_command *command, const char *wanted)
{
    outcome result = run(command, "FAULT_AT=0");
    if (result.code != 0) {
        fail_msg("%s, then again %s: %d: %s", what, command->words, result.code, result.err);
    }
    outcome_free(&result);
    expect_tree(what, command, wanted);
}

static void judge_failure(const char *what, int error, const fault_command *command, const outcome *result,
                          const trees *all)
{
    if (result->code == 0) {
        expect_tree(what, command, all->after);
        assert_string_equal(result->err, "");
        return;
    }
    const char *const end = strchr(result->err, '\n');
    if (result->code != 2 || strncmp(result->err, "rmsnorm: ", 9) != 0 || end == NULL || end[1] != '\0' ||
        strstr(result->err, strerror(error)) == NULL) {
        fail_msg("%s %s: code %d, and: %s", what, command->words, result->code, result->err);
    }
    if (!command->grows) {
        expect_tree(what, command, all->before);
    }
    expect_healed(what, command, all->after);
}

void fault_sweep_errors(const fault_command *command, int least)
{
    static const int errors[] = {ENOSPC, EIO, EROFS};
    trees all = trees_of(command);
    for (int unnamed = 0; unnamed < (command->named ? 1 : 2); ++unnamed) {
        int at = 0;
        do {
            char what[128];
            assert_true(++at < MOST);
            const int error = errors[(at + unnamed) % 3];
            restore();
            (void)snprintf(what, sizeof what, "FAULT_AT=%d FAULT_ERROR=%d FAULT_NO_UNNAMED=%d", at, error, unnamed);
            outcome result = run(command, what);
            judge_failure(what, error, command, &result, &all);
            outcome_free(&result);
        } while (exists("mark"));
        assert_true(at > least);
        print_message("  %s: %d calls\n", command->words, at - 1);
    }
    trees_free(&all);
}

static void judge_signal(const char *what, int number, const fault_command *command, const outcome *result,
                         const trees *all)
{
    const char *const end = strchr(result->err, '\n');
    if (result->code != 128 + number || (end != NULL && end[1] != '\0')) {
        fail_msg("%s %s: code %d, and: %s", what, command->words, result->code, result->err);
    }
    if (!command->grows) {
        char *there = fault_tree(command->varies);
        if (strcmp(there, all->before) != 0) {
            expect_tree(what, command, all->after);
            free(there);
            return;
        }
        free(there);
    }
    expect_healed(what, command, all->after);
}

void fault_sweep_signals(const fault_command *command)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
    trees all = trees_of(command);
    for (int unnamed = 0; unnamed < (command->named ? 1 : 2); ++unnamed) {
        bool came = true;
        for (int at = 1; came; ++at) {
            char what[128];
            const int number = signals[at % 3];
            assert_true(at < MOST);
            restore();
            (void)snprintf(what, sizeof what, "FAULT_AT=%d FAULT_SIGNAL=%d FAULT_NO_UNNAMED=%d", at, number, unnamed);
            outcome result = run(command, what);
            came = exists("mark");
            if (came) {
                judge_signal(what, number, command, &result, &all);
            }
            assert_true(came || (at > 1 && result.code == 0));
            outcome_free(&result);
        }
    }
    trees_free(&all);
}

void fault_slow_reads(const fault_command *command)
{
    trees all = trees_of(command);
    char *tree;
    restore();
    expect_clean(command, "FAULT_READS=1", &tree);
    assert_true(exists("mark"));
    assert_string_equal(tree, all.after);
    free(tree);
    trees_free(&all);
}
