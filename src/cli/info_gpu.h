/* info_gpu.h: what rmsnorm info says of WebGPU: the library, and each adapter as it is once opened. */
#ifndef RMSNORM_CLI_INFO_GPU_H
#define RMSNORM_CLI_INFO_GPU_H

#include <jansson.h>

#include "rmsnorm/webgpu.h"

/* An adapter, or why it cannot be opened. */
typedef struct rmsnorm_cli_gpu {
    rmsnorm_adapter adapter; /* its features are known when error is empty: those that were tried and work */
    char error[1024];
} rmsnorm_cli_gpu;

typedef struct rmsnorm_cli_gpus {
    char library[1024]; /* the file; empty: none, and error says why */
    char error[1024];   /* or why it lists no adapters */
    rmsnorm_cli_gpu *items;
    size_t count;
} rmsnorm_cli_gpus;

/* Opens every adapter once. Free the items. */
void rmsnorm_cli_gpus_find(rmsnorm_cli_gpus *gpus);

void rmsnorm_cli_gpus_text(const rmsnorm_cli_gpus *gpus);
/* The member profile of an adapter is what rmsnorm plan --device-profile reads. */
json_t *rmsnorm_cli_gpus_json(const rmsnorm_cli_gpus *gpus);

#endif
