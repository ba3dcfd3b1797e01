/* context.c: how the subcommands that compute use the library. */
#include "context.h"

#include "cli.h"

int rmsnorm_cli_context_open(const rmsnorm_cli_args *args, rmsnorm_cli_context *context)
{
    *context = (rmsnorm_cli_context){.options = RMSNORM_OPTIONS_INIT, .threads = 1};
    context->options.max_isa = args->max_isa;
    if (rmsnorm_isa_in_use(args->max_isa, &context->isa) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    if (args->threads == 1) {
        return RMSNORM_CLI_DONE;
    }
    if (rmsnorm_pool_create(args->threads, &context->pool) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    context->options.runner = rmsnorm_pool_runner(context->pool);
    context->threads = context->options.runner.concurrency;
    return RMSNORM_CLI_DONE;
}

void rmsnorm_cli_context_close(rmsnorm_cli_context *context)
{
    if (context->pool != NULL) {
        rmsnorm_pool_destroy(context->pool);
    }
    *context = (rmsnorm_cli_context){.pool = NULL};
}
