/* context.h: how the subcommands that compute use the library: instruction set and threads. */
#ifndef RMSNORM_CLI_CONTEXT_H
#define RMSNORM_CLI_CONTEXT_H

#include "options.h"
#include "rmsnorm/rmsnorm.h"

typedef struct rmsnorm_cli_context {
    rmsnorm_options options;
    rmsnorm_pool *pool; /* NULL: in the calling thread */
    rmsnorm_isa isa;    /* in use */
    size_t threads;
} rmsnorm_cli_context;

/* From the common options. Refuses an unknown RMSNORM_ISA. Close it also after a failure. */
int rmsnorm_cli_context_open(const rmsnorm_cli_args *args, rmsnorm_cli_context *context);
void rmsnorm_cli_context_close(rmsnorm_cli_context *context);

#endif
