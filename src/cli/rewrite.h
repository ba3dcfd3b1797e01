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

/* The whole of the subcommand, once its options are read. args: for --isa and --threads. */
int rmsnorm_cli_rewrite_run(const rmsnorm_cli_rewrite *rewrite, const rmsnorm_cli_args *args);

/* --data-files: copy, link, leave. */
int rmsnorm_cli_data_files_parse(const char *word, rmsnorm_data_files *mode);

#endif
