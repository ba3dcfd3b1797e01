/* rewrite.h: what rmsnorm fuse and rmsnorm convert share: a model in, its rewriting, a report, a model out. */
#ifndef RMSNORM_CLI_REWRITE_H
#define RMSNORM_CLI_REWRITE_H

#include <stdbool.h>

#include "context.h"
#include "rmsnorm/graph.h"

typedef struct rmsnorm_cli_rewrite {
    const char *input, *output; /* files; output NULL: not given */
    bool dry_run, verify, json, quiet;
    rmsnorm_data_files data_files;
    /* The rewriting itself, and what it is told. */
    rmsnorm_status (*apply)(rmsnorm_ir *ir, const void *options);
    const void *options;
    const char *verb, *done; /* "fuse", "fused" */
    const char *nothing;     /* what is said when there was nothing to do */
    const char *target;      /* for the report; NULL: none */
} rmsnorm_cli_rewrite;

/* The ids and lines of the options that both have; a subcommand's own follow from RMSNORM_CLI_REWRITE_OWN on. */
enum {
    RMSNORM_CLI_REWRITE_OUTPUT = 1,
    RMSNORM_CLI_REWRITE_DATA_FILES,
    RMSNORM_CLI_REWRITE_DRY_RUN,
    RMSNORM_CLI_REWRITE_VERIFY,
    RMSNORM_CLI_REWRITE_QUIET,
    RMSNORM_CLI_REWRITE_OWN
};
#define RMSNORM_CLI_REWRITE_OUTPUT_LINE                                                            \
    {                                                                                              \
        RMSNORM_CLI_REWRITE_OUTPUT, 'o', "output", "FILE",                                         \
            "where the result goes; - is standard output (the report then goes to standard error)" \
    }
#define RMSNORM_CLI_REWRITE_LINES                                                                        \
    {RMSNORM_CLI_REWRITE_DATA_FILES, 0, "data-files", "copy|link|leave",                                 \
     "data in other files: copy (default), link, or leave it where it is"},                              \
        {RMSNORM_CLI_REWRITE_DRY_RUN, 0, "dry-run", NULL, "only say what would be done, write nothing"}, \
        {RMSNORM_CLI_REWRITE_VERIFY, 0, "verify", NULL,                                                  \
         "run what is replaced before and after, on random inputs; exit 1, unwritten, if it differs"},   \
    {                                                                                                    \
        RMSNORM_CLI_REWRITE_QUIET, 'q', "quiet", NULL, "only the last line of the report"                \
    }

/* Takes the model's name, and the options above. */
int rmsnorm_cli_rewrite_option(int id, const char *value, rmsnorm_cli_rewrite *rewrite);

/* The whole of the subcommand, once its options are read. args: for --isa and --threads. */
int rmsnorm_cli_rewrite_run(const rmsnorm_cli_rewrite *rewrite, const rmsnorm_cli_args *args);

#endif
