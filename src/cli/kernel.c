/* kernel.c: kernel packages from a Hub, for every subcommand that takes one. */
#define _XOPEN_SOURCE 700

#include "kernel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "signals.h"
#include "text.h"

/* ---- While it is fetched ---------------------------------------------------------------------- */

typedef struct display {
    bool terminal, drawn;
} display;

static bool show_progress(void *context, const char *file, uint64_t done, uint64_t size)
{
    display *const shown = context;
    if (shown->terminal && file[0] != '\0') {
        fputs("\rfetching ", stderr);
        rmsnorm_cli_show(stderr, file);
        if (size > 0) {
            (void)fprintf(stderr, " %" PRIu64 "%%", size > done ? 100 * done / size : 100);
        }
        fputs("\033[K", stderr);
        shown->drawn = true;
    }
    return !rmsnorm_cli_signals_came();
}

static int fetch(const char *name, rmsnorm_fetch_options *options, char **folder, char commit[RMSNORM_COMMIT_TEXT])
{
    display shown = {.terminal = isatty(STDERR_FILENO) == 1};
    options->progress = show_progress;
    options->context = &shown;
    const rmsnorm_cli_patience before = rmsnorm_cli_signals_enter(RMSNORM_CLI_ASKED);
    const rmsnorm_status status = rmsnorm_package_fetch(name, options, folder, commit);
    if (shown.drawn) {
        fputs("\r\033[K", stderr);
    }
    const int code = status == RMSNORM_OK ? RMSNORM_CLI_DONE : rmsnorm_cli_fail_library();
    return rmsnorm_cli_signals_leave(before, code);
}

/* ---- Which ------------------------------------------------------------------------------------ */

bool rmsnorm_cli_kernel_is_remote(const rmsnorm_cli_kernel_words *words)
{
    return words->version != NULL || words->revision != NULL;
}

int rmsnorm_cli_kernel_fetch(const rmsnorm_cli_kernel_words *words, char **folder, char commit[RMSNORM_COMMIT_TEXT])
{
    rmsnorm_fetch_options options = RMSNORM_FETCH_OPTIONS_INIT;
    long long version = 0;
    *folder = NULL;
    if (words->version != NULL && words->revision != NULL) {
        return rmsnorm_cli_fail("--version and --revision both say which package is meant: give one");
    }
    if (words->version == NULL && words->revision == NULL) {
        return rmsnorm_cli_fail("which %.200s is meant? Give --version N, or --revision with a commit", words->name);
    }
    if (words->version != NULL && !rmsnorm_cli_integer(words->version, 1, INT32_MAX, &version)) {
        return rmsnorm_cli_fail("--version is '%s', allowed are whole numbers from 1", words->version);
    }
    options.version = version;
    options.revision = words->revision;
    options.endpoint = words->endpoint;
    options.cache = words->cache;
    options.offline = words->offline;
    return fetch(words->name, &options, folder, commit);
}

int rmsnorm_cli_kernel_folder(const rmsnorm_cli_kernel_words *words, char **folder)
{
    if (rmsnorm_cli_kernel_is_remote(words)) {
        return rmsnorm_cli_kernel_fetch(words, folder, NULL);
    }
    const size_t size = strlen(words->name) + 1;
    *folder = rmsnorm_cli_allocate(size, 1);
    memcpy(*folder, words->name, size);
    return RMSNORM_CLI_DONE;
}
