/* gpu_bandwidth.c: how fast the copy shader is with much memory: what no kernel can beat. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <string.h>
#include <time.h>

#include "gpu.h"

#define LEAST ((int64_t)64 << 20)
#define MOST ((int64_t)1 << 30)
enum { SAMPLES = 9, ROWS = 10 };

typedef struct row {
    rmsnorm_dtype element;
    int64_t bytes; /* of one of two buffers */
    double us;
    char shape[64];
} row;

static bool measure(rmsnorm_webgpu *webgpu, row *to)
{
    double samples[SAMPLES];
    bench_gpu_copy *const copy = bench_gpu_copy_open(webgpu, to->element, 1, 1, to->bytes);
    bool good = copy != NULL;
    for (size_t i = 0; good && i < SAMPLES; i++) {
        samples[i] = bench_gpu_sample(webgpu, bench_gpu_copy_work(copy));
        good = samples[i] >= 0.0;
    }
    if (good) {
        to->us = bench_median(samples, SAMPLES);
        snprintf(to->shape, sizeof to->shape, "%s", bench_gpu_copy_shape(copy));
    }
    bench_gpu_copy_close(webgpu, copy);
    return good;
}

static void print(FILE *file, bool json, const row *rows, size_t count)
{
    fputs(json ? "[" : "type      bytes of a buffer          us      GB/s  shape\n", file);
    for (size_t i = 0; i < count; i++) {
        const double speed = rows[i].us > 0.0 ? 2e-3 * (double)rows[i].bytes / rows[i].us : 0.0;
        fprintf(file,
                json
                    ? "%s\n  {\"dtype\": \"%s\", \"bytes\": %lld, \"median_us\": %.3f, \"gigabytes_per_second\": %.2f, "
                      "\"shape\": \"%s\"}"
                    : "%s%-8s  %17lld  %10.1f  %8.1f  %s\n",
                json && i > 0 ? "," : "", rmsnorm_dtype_name(rows[i].element), (long long)rows[i].bytes, rows[i].us,
                speed, rows[i].shape);
    }
    fputs(json ? "\n]\n" : "", file);
}

static double now(void)
{
    struct timespec clock;
    clock_gettime(CLOCK_MONOTONIC, &clock);
    return (double)clock.tv_sec + 1e-9 * (double)clock.tv_nsec;
}

bool bench_gpu_bandwidth(rmsnorm_webgpu *webgpu, double seconds, FILE *file, bool json)
{
    const double end = seconds > 0.0 ? now() + seconds : (double)INFINITY;
    rmsnorm_adapter adapter;
    row rows[ROWS];
    size_t count = 0;
    rmsnorm_webgpu_describe(webgpu, &adapter);
    bool good = true;
    for (int64_t bytes = LEAST; good && bytes <= MOST && (uint64_t)bytes <= adapter.profile.max_buffer_size;
         bytes *= 2) {
        for (int half = 0; good && half < (adapter.profile.shader_f16 ? 2 : 1) && (count == 0 || now() < end); half++) {
            rows[count] = (row){.element = half != 0 ? RMSNORM_FLOAT16 : RMSNORM_FLOAT, .bytes = bytes};
            good = measure(webgpu, &rows[count]);
            count += good;
        }
    }
    if (count == 0) {
        return false;
    }
    print(file, json, rows, count); /* what came before memory ended, too */
    return true;
}
