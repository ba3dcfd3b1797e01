/* bench_gpu.c: rmsnorm bench --device webgpu: our kernels beside a copy shader and ONNX Runtime's WebGPU provider. */
#define _XOPEN_SOURCE 700

#include "bench_gpu.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bench/gpu.h"
#include "cli.h"
#include "gpu.h"

enum { CASES_MAXIMUM = 64 };

/* What is measured now, on a terminal alone; with NULL nothing any more. */
static void show_progress(size_t done, size_t count, const bench_case *what)
{
    if (!isatty(STDERR_FILENO)) {
        return;
    }
    fputs("\r\033[K", stderr);
    if (what != NULL) {
        char name[48];
        char types[48];
        bench_name(what, name, sizeof name);
        bench_types(what, types, sizeof types);
        fprintf(stderr, "%zu/%zu  %s %s %" PRId64 "x%" PRId64, done + 1, count, name, types, what->rows,
                what->hidden_size);
    }
}

static double now(void)
{
    struct timespec clock;
    (void)clock_gettime(CLOCK_MONOTONIC, &clock);
    return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

/* Leaves in *count how many were measured. */
static int measure(rmsnorm_webgpu *webgpu, const bench_case *cases, size_t *count, double seconds, double time,
                   bench_gpu_result *results)
{
    const double end = time > 0 ? now() + time : (double)INFINITY;
    for (size_t i = 0; i < *count; i++) {
        if (now() > end) {
            *count = i;
            break;
        }
        char why[256];
        show_progress(i, *count, &cases[i]);
        const bool good = bench_gpu_measure(webgpu, &cases[i], seconds, &results[i], why);
        show_progress(i, *count, NULL);
        if (!good) {
            return rmsnorm_cli_fail("%s %" PRId64 "x%" PRId64 ": %s", cases[i].op->name, cases[i].rows,
                                    cases[i].hidden_size, why);
        }
    }
    return RMSNORM_CLI_DONE;
}

static int bench(rmsnorm_webgpu *webgpu, const bench_case *cases, size_t count, double seconds, double time,
                 rmsnorm_cli_bench_form form)
{
    static bench_gpu_printer *const printers[] = {[RMSNORM_CLI_BENCH_TEXT] = bench_gpu_print_text,
                                                  [RMSNORM_CLI_BENCH_MARKDOWN] = bench_gpu_print_markdown,
                                                  [RMSNORM_CLI_BENCH_JSON] = bench_gpu_print_json};
    rmsnorm_adapter adapter;
    bench_gpu_result *const results = rmsnorm_cli_allocate(count, sizeof *results);
    rmsnorm_webgpu_describe(webgpu, &adapter);
    const int code = measure(webgpu, cases, &count, seconds, time, results);
    if (code == RMSNORM_CLI_DONE) {
        printers[form](stdout, &adapter, results, count);
    }
    free(results);
    return code;
}

int rmsnorm_cli_bench_gpu(const char *adapter, const bench_case *one, bool bandwidth, double seconds, double time,
                          rmsnorm_cli_bench_form form)
{
    rmsnorm_webgpu *webgpu;
    int code = rmsnorm_cli_gpu_open(adapter, NULL, &webgpu);
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    if (bandwidth) {
        code = bench_gpu_bandwidth(webgpu, time, stdout, form == RMSNORM_CLI_BENCH_JSON) ? RMSNORM_CLI_DONE
                                                                                         : rmsnorm_cli_fail_library();
    } else if (one != NULL) {
        code = bench(webgpu, one, 1, seconds, time, form);
    } else {
        bench_case cases[CASES_MAXIMUM];
        code = bench(webgpu, cases, bench_gpu_table(cases, CASES_MAXIMUM), seconds, time, form);
    }
    rmsnorm_webgpu_close(webgpu);
    return code;
}
