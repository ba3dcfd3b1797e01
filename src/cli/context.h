/* context.h: what computes for a subcommand: the CPU with its instruction set and threads, or a WebGPU device. */
#ifndef RMSNORM_CLI_CONTEXT_H
#define RMSNORM_CLI_CONTEXT_H

#include "options.h"
#include "rmsnorm/rmsnorm.h"
#include "rmsnorm/webgpu.h"

typedef struct rmsnorm_cli_context {
    rmsnorm_options options;
    rmsnorm_pool *pool; /* NULL: in the calling thread */
    rmsnorm_isa isa;    /* in use */
    size_t threads;
    rmsnorm_webgpu *webgpu;         /* NULL: the CPU computes */
    rmsnorm_adapter adapter;        /* of webgpu */
    bool batch_invariant;           /* on webgpu */
    const rmsnorm_package *package; /* on webgpu; NULL: the operator's own */
} rmsnorm_cli_context;

/* From the common options. Refuses an unknown RMSNORM_ISA. Close it also after a failure. */
int rmsnorm_cli_context_open(const rmsnorm_cli_args *args, rmsnorm_cli_context *context);
/* On an open device, which the context closes. */
void rmsnorm_cli_context_open_gpu(rmsnorm_webgpu *webgpu, rmsnorm_cli_context *context);
void rmsnorm_cli_context_close(rmsnorm_cli_context *context);

/* rmsnorm_run_alloc, on the context's device; no output has data before. Release each with rmsnorm_tensor_release and
 * context->options. RMSNORM_CLI_SKIPPED: a WebGPU device does not take such a call (a type, a size beyond its limits). */
int rmsnorm_cli_context_run(const rmsnorm_cli_context *context, const rmsnorm_operator *op,
                            const rmsnorm_attributes *attributes, const rmsnorm_tensor *const *inputs,
                            size_t input_count, rmsnorm_tensor *const *outputs, size_t output_count);

/* "the CPU: avx512, 2 threads", "WebGPU: llvmpipe (LLVM 15.0.6, 256 bits), Vulkan". */
#define RMSNORM_CLI_PLACE 256
const char *rmsnorm_cli_context_place(const rmsnorm_cli_context *context, char text[RMSNORM_CLI_PLACE]);

#endif
