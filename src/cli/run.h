/* run.h: what the command line of rmsnorm run asked for. */
#ifndef RMSNORM_CLI_RUN_H
#define RMSNORM_CLI_RUN_H

#include "context.h"
#include "gpu.h"
#include "kernel.h"
#include "options.h"

typedef struct rmsnorm_cli_request {
    const char *op;         /* --op, or that of --kernel; NULL for a model */
    const char *directory;  /* --output-dir, or NULL */
    rmsnorm_cli_list words; /* the model and its files, or the operator's inputs */
    rmsnorm_cli_list attributes, inputs, outputs;
    bool json, batch_invariant;
    rmsnorm_cli_gpu_words gpu;
    rmsnorm_cli_kernel_words kernel; /* name NULL: the operator's own package, on WebGPU */
    rmsnorm_cli_context context;
} rmsnorm_cli_request;

int rmsnorm_cli_run_operator(const rmsnorm_cli_request *request);
int rmsnorm_cli_run_model(const rmsnorm_cli_request *request);

#endif
