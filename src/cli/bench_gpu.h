/* bench_gpu.h: rmsnorm bench --device webgpu. */
#ifndef RMSNORM_CLI_BENCH_GPU_H
#define RMSNORM_CLI_BENCH_GPU_H

#include <stdbool.h>

#include "bench/bench.h"

typedef enum rmsnorm_cli_bench_form {
    RMSNORM_CLI_BENCH_TEXT,
    RMSNORM_CLI_BENCH_MARKDOWN,
    RMSNORM_CLI_BENCH_JSON
} rmsnorm_cli_bench_form;

/* Times one case, or with NULL those of the table, each for `seconds` and none begun after `time` (0: all); or how fast copies
 * are. */
int rmsnorm_cli_bench_gpu(const char *adapter, const bench_case *one, bool bandwidth, double seconds, double time,
                          rmsnorm_cli_bench_form form);

#endif
