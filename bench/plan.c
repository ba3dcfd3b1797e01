/* plan.c: how long the planner takes for a request, with its package open. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "bench.h"

#include <rmsnorm/package.h>

#define SAMPLES 200
#define CALLS 10

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Microseconds per plan, the median; below 0 when there is none, and the last error says why. */
static double time_plan(const rmsnorm_package *package, const rmsnorm_request *request)
{
    double samples[SAMPLES];
    for (int s = 0; s < SAMPLES; s++) {
        const double start = now_us();
        for (int i = 0; i < CALLS; i++) {
            rmsnorm_plan *plan;
            if (rmsnorm_plan_make(package, request, &plan) != RMSNORM_OK) {
                return -1.0;
            }
            rmsnorm_plan_release(plan);
        }
        samples[s] = (now_us() - start) / CALLS;
    }
    qsort(samples, SAMPLES, sizeof samples[0], compare);
    return samples[SAMPLES / 2];
}

static rmsnorm_request request_of(const rmsnorm_operator *op, const rmsnorm_tensor *input, const rmsnorm_tensor *gamma)
{
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    request.inputs[0] = input;
    request.inputs[1] = skip ? input : gamma;
    request.inputs[2] = skip ? gamma : NULL;
    for (size_t i = 1; i < op->output_count; i++) {
        request.wanted[i] = true;
    }
    return request;
}

bool bench_plans(FILE *file, bool json)
{
    static const int64_t shapes[][2] = {{1, 4096}, {128, 4096}, {100, 101}, {1, 65536}};
    const size_t count = sizeof shapes / sizeof shapes[0];
    fputs(json ? "[" : "operator                          shape       us per plan\n", file);
    for (size_t o = 0; rmsnorm_operator_at(o) != NULL; o++) {
        const rmsnorm_operator *const op = rmsnorm_operator_at(o);
        rmsnorm_package *package;
        if (rmsnorm_package_open_operator(op->domain, op->name, &package) != RMSNORM_OK) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            const rmsnorm_tensor input = {.dtype = RMSNORM_FLOAT16, .rank = 2, .dims = {shapes[i][0], shapes[i][1]}};
            const rmsnorm_tensor gamma = {.dtype = RMSNORM_FLOAT16, .rank = 1, .dims = {shapes[i][1]}};
            const rmsnorm_request request = request_of(op, &input, &gamma);
            const double us = time_plan(package, &request);
            if (us < 0.0) {
                rmsnorm_package_close(package);
                return false;
            }
            fprintf(file,
                    json ? "%s\n  {\"operator\": \"%s\", \"rows\": %" PRId64 ", \"hidden_size\": %" PRId64
                           ", \"median_us\": %.2f}"
                         : "%s%-32s  %" PRId64 "x%-8" PRId64 "  %.1f\n",
                    json && (o > 0 || i > 0) ? "," : "", op->name, shapes[i][0], shapes[i][1], us);
        }
        rmsnorm_package_close(package);
    }
    fputs(json ? "\n]\n" : "", file);
    return true;
}
