/* gpu_sample.c: the kernel time of a plan. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

/* A sample is this long at least, and a warm-up: processors of graphics raise their clock rate within some milliseconds. */
#define SAMPLE_US 100.0
#define WARM_UP_US 20000.0
enum { REPEATS_MAXIMUM = 256, WARM_UPS_MAXIMUM = 50 };

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *samples, size_t count)
{
    qsort(samples, count, sizeof samples[0], compare);
    return samples[count / 2];
}

static rmsnorm_status run(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan, const bench_gpu_work *work, double *seconds)
{
    rmsnorm_webgpu_run_options options = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
    options.seconds = seconds;
    return rmsnorm_webgpu_run_plan(webgpu, plan, work->inputs, RMSNORM_MAX_SLOTS, work->outputs, RMSNORM_MAX_SLOTS,
                                   &options);
}

double bench_gpu_sample(rmsnorm_webgpu *webgpu, const bench_gpu_work *work)
{
    const rmsnorm_plan *const plan = work->plan;
    const size_t repeats = work->repeats == 0 ? 1 : work->repeats;
    rmsnorm_pass *const passes = malloc((plan->pass_count * repeats + 1) * sizeof *passes);
    rmsnorm_plan repeated = *plan;
    double seconds = 0.0;
    if (passes == NULL) {
        return -1.0;
    }
    for (size_t i = 0; i < repeats; i++) {
        memcpy(&passes[i * plan->pass_count], plan->passes, plan->pass_count * sizeof *passes);
    }
    repeated.passes = passes;
    repeated.pass_count = plan->pass_count * repeats;
    const bool good =
        run(webgpu, plan, work, NULL) == RMSNORM_OK && run(webgpu, &repeated, work, &seconds) == RMSNORM_OK;
    free(passes);
    return good ? seconds * 1e6 / (double)repeats : -1.0;
}

bool bench_gpu_start(rmsnorm_webgpu *webgpu, bench_gpu_work *work)
{
    double spent = 0.0;
    work->repeats = 1;
    for (int i = 0; i < WARM_UPS_MAXIMUM && (i == 0 || spent < WARM_UP_US); i++) {
        const double us = bench_gpu_sample(webgpu, work);
        if (us < 0.0) {
            return false;
        }
        spent += us * (double)work->repeats;
        const size_t wanted = us * REPEATS_MAXIMUM > SAMPLE_US ? (size_t)(SAMPLE_US / us) + 1 : REPEATS_MAXIMUM;
        work->repeats = wanted;
    }
    return true;
}
