/* context.c: what computes for a subcommand. */
#include "context.h"

#include <stdlib.h>

#include "cli.h"
#include "gpu.h"
#include "text.h"

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

#define ALIGNMENT 64

/* The outputs of a device come into memory of the command's own, which rmsnorm_tensor_release gives back through the options. */
static void *allocate(void *user, size_t size, size_t alignment)
{
    (void)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

void rmsnorm_cli_context_open_gpu(rmsnorm_webgpu *webgpu, rmsnorm_cli_context *context)
{
    *context = (rmsnorm_cli_context){.options = RMSNORM_OPTIONS_INIT, .threads = 1, .webgpu = webgpu};
    context->options.allocator = (rmsnorm_allocator){allocate, release, NULL};
    rmsnorm_webgpu_describe(webgpu, &context->adapter);
}

void rmsnorm_cli_context_close(rmsnorm_cli_context *context)
{
    if (context->pool != NULL) {
        rmsnorm_pool_destroy(context->pool);
    }
    rmsnorm_webgpu_close(context->webgpu);
    *context = (rmsnorm_cli_context){.pool = NULL};
}

/* ---- Running --------------------------------------------------------------------------------- */

static void release_all(const rmsnorm_cli_context *context, rmsnorm_tensor *const *outputs, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (outputs[i] != NULL) {
            rmsnorm_tensor_release(outputs[i], &context->options);
        }
    }
}

/* rmsnorm_run_alloc of a device: types and shapes by inference, memory, the run. */
static int run_on_gpu(const rmsnorm_cli_context *context, const rmsnorm_operator *op,
                      const rmsnorm_attributes *attributes, const rmsnorm_tensor *const *inputs, size_t input_count,
                      rmsnorm_tensor *const *outputs, size_t output_count)
{
    rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
    options.batch_invariant = context->batch_invariant;
    options.package = context->package;
    if (rmsnorm_infer(op, attributes, inputs, input_count, outputs, output_count, NULL) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    for (size_t i = 0; i < output_count; ++i) {
        if (outputs[i] == NULL) {
            continue;
        }
        const size_t size = (size_t)rmsnorm_tensor_count(outputs[i]) * rmsnorm_dtype_size(outputs[i]->dtype);
        outputs[i]->data = allocate(NULL, size > 0 ? size : 1, ALIGNMENT);
        if (outputs[i]->data == NULL) {
            release_all(context, outputs, i);
            return rmsnorm_cli_fail("%s: out of memory: %zu bytes for %s", op->name, size, op->outputs[i].name);
        }
    }
    const rmsnorm_status status =
        rmsnorm_webgpu_run_host(context->webgpu, op, attributes, inputs, input_count, outputs, output_count, &options);
    if (status != RMSNORM_OK) {
        release_all(context, outputs, output_count);
        (void)rmsnorm_cli_fail_library();
        return status == RMSNORM_UNSUPPORTED ? RMSNORM_CLI_SKIPPED : RMSNORM_CLI_BAD;
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_context_run(const rmsnorm_cli_context *context, const rmsnorm_operator *op,
                            const rmsnorm_attributes *attributes, const rmsnorm_tensor *const *inputs,
                            size_t input_count, rmsnorm_tensor *const *outputs, size_t output_count)
{
    if (context->webgpu != NULL) {
        return run_on_gpu(context, op, attributes, inputs, input_count, outputs, output_count);
    }
    return rmsnorm_run_alloc(op, attributes, inputs, input_count, outputs, output_count, &context->options) ==
                   RMSNORM_OK
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail_library();
}

const char *rmsnorm_cli_context_place(const rmsnorm_cli_context *context, char text[RMSNORM_CLI_PLACE])
{
    char name[RMSNORM_CLI_GPU_NAME];
    text[0] = '\0';
    if (context->webgpu != NULL) {
        rmsnorm_cli_append(text, RMSNORM_CLI_PLACE, "WebGPU: %s", rmsnorm_cli_gpu_name(&context->adapter, name));
    } else {
        rmsnorm_cli_append(text, RMSNORM_CLI_PLACE, "the CPU: %s, %zu thread%s", rmsnorm_isa_name(context->isa),
                           context->threads, context->threads == 1 ? "" : "s");
    }
    return text;
}
