/* gpu_measure.c: a case on a device: ours, a copy of the same bytes, ONNX Runtime's, one sample of each in turn. */
#define _POSIX_C_SOURCE 200809L

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gpu.h"

enum { INPUT, SKIP, GAMMA, BIAS, OUTPUT, SUM, TENSORS };
enum { SAMPLES_MAXIMUM = 500, SAMPLES_MINIMUM = 5, SUBMITS = 100, SUBMITS_IN_FLIGHT = 10 };

typedef struct gpu_case {
    rmsnorm_webgpu *webgpu;
    const bench_case *what;
    bench_data data;
    rmsnorm_attributes attributes;
    rmsnorm_webgpu_tensor tensors[TENSORS];
    const rmsnorm_webgpu_tensor *inputs[RMSNORM_MAX_SLOTS];
    rmsnorm_webgpu_tensor *outputs[RMSNORM_MAX_SLOTS];
    rmsnorm_plan *plan, *invariant_plan;
    bench_gpu_work work, invariant;
    bench_gpu_copy *copy;
    void *ort; /* NULL: does not take part */
    size_t ort_calls;
    double *samples[BENCH_GPU_TIMINGS];
} gpu_case;

static double now_us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec * 1e-3;
}

static bool fail_library(char why[256])
{
    snprintf(why, 256, "%s", rmsnorm_last_error());
    return false;
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static bool place(gpu_case *state, int index, rmsnorm_dtype dtype, bool row, const void *data)
{
    rmsnorm_webgpu_tensor *const tensor = &state->tensors[index];
    tensor->tensor = (rmsnorm_tensor){.dtype = dtype, .rank = row ? 1 : 2};
    tensor->tensor.dims[0] = row ? state->what->hidden_size : state->what->rows;
    tensor->tensor.dims[1] = row ? 0 : state->what->hidden_size;
    return data == NULL || (rmsnorm_webgpu_tensor_create(state->webgpu, tensor) == RMSNORM_OK &&
                            rmsnorm_webgpu_upload(state->webgpu, tensor, data) == RMSNORM_OK);
}

static bool place_all(gpu_case *state, char why[256])
{
    const bench_case *const what = state->what;
    const bench_data *const data = &state->data;
    if (!bench_data_make(what, &state->data)) {
        snprintf(why, 256, "out of memory for the buffers of the case");
        return false;
    }
    if (!place(state, INPUT, what->dtype, false, data->input) || !place(state, SKIP, what->dtype, false, data->skip) ||
        !place(state, GAMMA, what->gamma_dtype, true, data->gamma) ||
        !place(state, BIAS, what->dtype, true, data->bias) ||
        !place(state, OUTPUT, what->gamma_dtype, false, data->output) ||
        !place(state, SUM, what->dtype, false, data->sum)) {
        return fail_library(why);
    }
    return true;
}

/* ---- Ours ------------------------------------------------------------------------------------ */

static void bind(gpu_case *state)
{
    rmsnorm_webgpu_tensor *const tensors = state->tensors;
    const bool skip = state->data.skip != NULL;
    state->inputs[0] = &tensors[INPUT];
    state->inputs[1] = skip ? &tensors[SKIP] : &tensors[GAMMA];
    state->inputs[2] = skip ? &tensors[GAMMA] : NULL;
    state->inputs[3] = state->data.bias != NULL ? &tensors[BIAS] : NULL;
    state->outputs[0] = &tensors[OUTPUT];
    state->outputs[3] = state->data.sum != NULL ? &tensors[SUM] : NULL;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        state->work.inputs[i] = state->inputs[i];
        state->work.outputs[i] = state->outputs[i];
    }
}

static bool make_plans(gpu_case *state)
{
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        request.inputs[i] = state->inputs[i] == NULL ? NULL : &state->inputs[i]->tensor;
        request.wanted[i] = state->outputs[i] != NULL;
    }
    rmsnorm_attributes_init(state->what->op, &state->attributes);
    state->attributes.epsilon = 1e-5F;
    request.attributes = &state->attributes;
    if (rmsnorm_webgpu_plan(state->webgpu, state->what->op, NULL, &request, &state->plan) != RMSNORM_OK) {
        return false;
    }
    request.batch_invariant = true;
    if (rmsnorm_webgpu_plan(state->webgpu, state->what->op, NULL, &request, &state->invariant_plan) != RMSNORM_OK) {
        return false;
    }
    state->work.plan = state->plan;
    state->invariant = state->work;
    state->invariant.plan = state->invariant_plan;
    return true;
}

/* The whole call, as a user makes it. */
static rmsnorm_status run(const gpu_case *state)
{
    const bool skip = state->data.skip != NULL;
    return rmsnorm_webgpu_run(state->webgpu, state->what->op, &state->attributes, state->inputs, skip ? 4 : 2,
                              state->outputs, skip ? 4 : 1, NULL);
}

/* Four steps of float, one of float16, from what the CPU computes; zero for what is too small to be normal, as devices may flush it. */
static bool check(const bench_case *what, const void *actual, const void *expected, char why[256])
{
    const bool half = what->gamma_dtype == RMSNORM_FLOAT16;
    const double relative = half ? 0x1p-10 : 4 * 0x1p-23;
    const double absolute = half ? 0x1p-24 : 0x1p-149;
    const double normal = half ? 0x1p-14 : 0x1p-126;
    for (int64_t i = 0; i < what->rows * what->hidden_size; i++) {
        const double ours = bench_data_get(what->gamma_dtype, actual, i);
        const double cpu = bench_data_get(what->gamma_dtype, expected, i);
        const bool flushed = ours == 0.0 && fabs(cpu) < normal;
        if (!(fabs(ours - cpu) <= relative * fabs(cpu) + absolute) && !flushed) {
            snprintf(why, 256, "the device's result is wrong at element %lld: %g, the CPU's is %g", (long long)i, ours,
                     cpu);
            return false;
        }
    }
    return true;
}

static bool prepare_ours(gpu_case *state, char why[256])
{
    const size_t bytes =
        (size_t)(state->what->rows * state->what->hidden_size) * rmsnorm_dtype_size(state->what->gamma_dtype);
    void *cpu = NULL;
    bind(state);
    if (!make_plans(state) || run(state) != RMSNORM_OK) {
        return fail_library(why);
    }
    bench_case single = *state->what;
    single.threads = 1;
    void *const actual = malloc(bytes);
    bool good = actual != NULL && bench_ours.prepare(&single, &state->data, &cpu, why);
    if (good && (!bench_ours.call(cpu) ||
                 rmsnorm_webgpu_download(state->webgpu, &state->tensors[OUTPUT], actual) != RMSNORM_OK)) {
        good = fail_library(why);
    }
    good = good && check(state->what, actual, state->data.output, why);
    if (cpu != NULL) {
        bench_ours.release(cpu);
    }
    free(actual);
    return good &&
           ((bench_gpu_start(state->webgpu, &state->work) && bench_gpu_start(state->webgpu, &state->invariant)) ||
            fail_library(why));
}

/* ---- The others ------------------------------------------------------------------------------ */

static bool prepare_others(gpu_case *state, bench_gpu_result *result, char why[256])
{
    const int64_t count = state->what->rows * state->what->hidden_size;
    const size_t reads = state->data.skip != NULL ? 2 : 1;
    const size_t writes = state->data.sum != NULL ? 2 : 1;
    const rmsnorm_dtype dtype = state->what->dtype;
    const int64_t bytes = count * (int64_t)rmsnorm_dtype_size(dtype);
    state->copy = bench_gpu_copy_open(state->webgpu, RMSNORM_FLOAT, reads, writes, bytes);
    if (state->copy == NULL) {
        return fail_library(why);
    }
    bench_timing *const ort = &result->timings[BENCH_GPU_ORT];
    ort->ran = bench_ort_webgpu.prepare(state->what, &state->data, &state->ort, ort->why);
    return true;
}

/* ---- Samples --------------------------------------------------------------------------------- */

static double sample(gpu_case *state, int contender)
{
    bench_gpu_work single = state->work;
    single.repeats = 1;
    switch (contender) {
    case BENCH_GPU_OURS:
        return bench_gpu_sample(state->webgpu, &state->work);
    case BENCH_GPU_COPY:
        return bench_gpu_sample(state->webgpu, bench_gpu_copy_work(state->copy));
    case BENCH_GPU_INVARIANT:
        return bench_gpu_sample(state->webgpu, &state->invariant);
    case BENCH_GPU_SINGLE:
        return bench_gpu_sample(state->webgpu, &single);
    default: /* its times are in its profile */
        state->ort_calls++;
        return bench_ort_webgpu.call(state->ort) ? 0.0 : -1.0;
    }
}

static bool sample_all(gpu_case *state, double seconds, bench_gpu_result *result, size_t *count, char why[256])
{
    const double end = now_us() + seconds * 1e6;
    for (*count = 0; *count < SAMPLES_MAXIMUM && (*count < SAMPLES_MINIMUM || now_us() < end); ++*count) {
        for (int i = 0; i <= BENCH_GPU_ORT; i++) {
            /* Each round begins with another one, so that nobody always follows the same. */
            const int c = (int)((*count + (size_t)i) % (BENCH_GPU_ORT + 1));
            if (c == BENCH_GPU_ORT && !result->timings[c].ran) {
                continue;
            }
            const double us = sample(state, c);
            if (us < 0.0 && c != BENCH_GPU_ORT) {
                return fail_library(why);
            }
            if (us < 0.0) {
                result->timings[c].ran = false;
                snprintf(result->timings[c].why, sizeof result->timings[c].why, "one of its calls failed");
            }
            state->samples[c][*count] = us;
        }
    }
    return true;
}

/* How long the host is kept, the device always having something to do. */
static bool sample_submits(gpu_case *state, char why[256])
{
    for (int i = 0; i < SUBMITS; i++) {
        const double start = now_us();
        if (run(state) != RMSNORM_OK) {
            return fail_library(why);
        }
        state->samples[BENCH_GPU_SUBMIT][i] = now_us() - start;
        if (i % SUBMITS_IN_FLIGHT == SUBMITS_IN_FLIGHT - 1 && rmsnorm_webgpu_wait(state->webgpu) != RMSNORM_OK) {
            return fail_library(why);
        }
    }
    return true;
}

static void summarize(double *samples, size_t count, bench_timing *timing)
{
    timing->ran = count > 0;
    if (timing->ran) {
        timing->median = bench_median(samples, count);
        timing->samples = count;
        timing->minimum = samples[0];
        timing->quartile_low = samples[count / 4];
        timing->quartile_high = samples[count * 3 / 4];
    }
}

static bool measure(gpu_case *state, double seconds, bench_gpu_result *result, char why[256])
{
    size_t count = 0;
    if (!place_all(state, why) || !prepare_ours(state, why) || !prepare_others(state, result, why) ||
        !sample_all(state, seconds, result, &count, why) || !sample_submits(state, why)) {
        return false;
    }
    for (int c = 0; c < BENCH_GPU_ORT; c++) {
        summarize(state->samples[c], count, &result->timings[c]);
    }
    summarize(state->samples[BENCH_GPU_SUBMIT], SUBMITS, &result->timings[BENCH_GPU_SUBMIT]);
    bench_timing *const ort = &result->timings[BENCH_GPU_ORT];
    if (ort->ran) {
        ort->ran = bench_ort_webgpu_times(state->ort, state->samples[BENCH_GPU_ORT], SAMPLES_MAXIMUM, &count, ort->why);
        if (ort->ran) {
            summarize(state->samples[BENCH_GPU_ORT], count, ort);
        }
    }
    result->bytes = state->data.bytes;
    result->passes = state->plan->pass_count;
    result->repeats = state->work.repeats;
    snprintf(result->variant, sizeof result->variant, "%s", state->plan->variant);
    snprintf(result->copy_shape, sizeof result->copy_shape, "%s", bench_gpu_copy_shape(state->copy));
    return true;
}

bool bench_gpu_measure(rmsnorm_webgpu *webgpu, const bench_case *what, double seconds, bench_gpu_result *result,
                       char why[256])
{
    gpu_case state;
    memset(&state, 0, sizeof state);
    memset(result, 0, sizeof *result);
    result->what = *what;
    state.webgpu = webgpu;
    state.what = what;
    bool good = true;
    snprintf(why, 256, "out of memory");
    for (int c = 0; c < BENCH_GPU_TIMINGS; c++) {
        state.samples[c] = malloc(SAMPLES_MAXIMUM * sizeof(double));
        good = good && state.samples[c] != NULL;
    }
    good = good && measure(&state, seconds, result, why);
    if (state.ort != NULL) {
        bench_ort_webgpu.release(state.ort);
    }
    bench_gpu_copy_close(webgpu, state.copy);
    rmsnorm_plan_release(state.plan);
    rmsnorm_plan_release(state.invariant_plan);
    for (int i = 0; i < TENSORS; i++) {
        rmsnorm_webgpu_tensor_release(webgpu, &state.tensors[i]);
    }
    for (int c = 0; c < BENCH_GPU_TIMINGS; c++) {
        free(state.samples[c]);
    }
    bench_data_release(&state.data);
    return good;
}

double bench_gpu_of_copy(const bench_gpu_result *result)
{
    const bench_timing *const ours = &result->timings[BENCH_GPU_OURS];
    return ours->median > 0.0 ? result->timings[BENCH_GPU_COPY].median / ours->median : 0.0;
}

double bench_gpu_against_ort(const bench_gpu_result *result)
{
    const bench_timing *const ours = &result->timings[BENCH_GPU_SINGLE];
    const bench_timing *const ort = &result->timings[BENCH_GPU_ORT];
    return ort->ran && ours->median > 0.0 ? ort->median / ours->median : 0.0;
}
