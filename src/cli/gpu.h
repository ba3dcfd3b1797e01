/* gpu.h: the WebGPU device of a subcommand, from its options; one place for all of them. */
#ifndef RMSNORM_CLI_GPU_H
#define RMSNORM_CLI_GPU_H

#include <stdbool.h>

#include "options.h"
#include "rmsnorm/webgpu.h"

/* What the command line said. Free the lists. */
typedef struct rmsnorm_cli_gpu_words {
    const char *device;  /* --device: "cpu", "webgpu", or NULL: not given */
    const char *adapter; /* --adapter, or NULL: any */
    rmsnorm_cli_list without, limits;
} rmsnorm_cli_gpu_words;

/* Lines of a table of options, with the ids that the subcommand chose. */
#define RMSNORM_CLI_GPU_DEVICE(id)                           \
    {                                                        \
        id, 0, "device", "cpu|webgpu", "what computes (cpu)" \
    }
#define RMSNORM_CLI_GPU_ADAPTER(id)                                                                     \
    {                                                                                                   \
        id, 0, "adapter", "TEXT", "the adapter with TEXT in its name, vendor or backend (rmsnorm info)" \
    }

#define RMSNORM_CLI_GPU_WITHOUT(id)                                                                        \
    {                                                                                                      \
        id, 0, "without", "shader-f16|subgroups", "as if the adapter lacked this feature (again for both)" \
    }
#define RMSNORM_CLI_GPU_LIMIT(id)                                                                       \
    {                                                                                                   \
        id, 0, "limit", "NAME=N", "as if the adapter's limit were N, by WebGPU's name (again for more)" \
    }

/* Refuses a device that is neither cpu nor webgpu, options of WebGPU without --device webgpu, and --isa and --threads with it. */
int rmsnorm_cli_gpu_check(const rmsnorm_cli_gpu_words *words, const rmsnorm_cli_args *args);
bool rmsnorm_cli_gpu_wanted(const rmsnorm_cli_gpu_words *words);

/* The first adapter with the text in its name, driver, vendor, architecture or backend (NULL: the first of all). tuning as in
 * rmsnorm_webgpu_options. Close it with rmsnorm_webgpu_close. */
int rmsnorm_cli_gpu_open(const char *adapter, const char *tuning, rmsnorm_webgpu **webgpu);

/* A profile that narrows nothing but what --without and --limit say. */
int rmsnorm_cli_gpu_profile(const rmsnorm_cli_gpu_words *words, rmsnorm_device_profile *profile);

/* The adapters with the text in them. To be freed; none is refused. */
int rmsnorm_cli_gpu_list(const char *adapter, rmsnorm_adapter **adapters, size_t *count);

/* The very adapter that was listed, also when others answer to its name. profile as in rmsnorm_webgpu_options; without tuning. */
int rmsnorm_cli_gpu_open_listed(const rmsnorm_adapter *listed, const rmsnorm_device_profile *profile,
                                rmsnorm_webgpu **webgpu);

/* rmsnorm_cli_sentence() without the "WebGPU: " in front, for a line that says so already. */
const char *rmsnorm_cli_gpu_sentence(void);

/* "llvmpipe (LLVM 15.0.6, 256 bits), Vulkan": by what a user knows it. */
#define RMSNORM_CLI_GPU_NAME 192
const char *rmsnorm_cli_gpu_name(const rmsnorm_adapter *adapter, char text[RMSNORM_CLI_GPU_NAME]);

#endif
