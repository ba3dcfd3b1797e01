#define _POSIX_C_SOURCE 199309L /* clock_gettime */

#include "webgpu/submit.h"

#include <string.h>
#include <time.h>

#include "operator/error.h"
#include "webgpu/buffer.h"

rmsnorm_status rmsnorm_webgpu_read_run_options(const rmsnorm_webgpu_run_options *options,
                                               rmsnorm_webgpu_run_options *ours)
{
    const rmsnorm_webgpu_run_options defaults = RMSNORM_WEBGPU_RUN_OPTIONS_INIT;
    *ours = defaults;
    if (options != NULL) {
        RMSNORM_CHECK(
            options->struct_size >= sizeof options->struct_size, RMSNORM_INVALID_ARGUMENT,
            "WebGPU: the run's options.struct_size is %zu; allowed: sizeof(rmsnorm_webgpu_run_options): start "
            "from RMSNORM_WEBGPU_RUN_OPTIONS_INIT",
            options->struct_size);
        memcpy(ours, options, options->struct_size < sizeof *ours ? options->struct_size : sizeof *ours);
    }
    RMSNORM_CHECK(ours->tunable_count <= RMSNORM_MAX_TUNABLES, RMSNORM_INVALID_ARGUMENT,
                  "WebGPU: %zu tunables; allowed: at most %d", ours->tunable_count, RMSNORM_MAX_TUNABLES);
    RMSNORM_CHECK(ours->encoder == NULL || ours->seconds == NULL, RMSNORM_INVALID_ARGUMENT,
                  "WebGPU: a run that is recorded cannot be timed; allowed: encoder or seconds");
    return RMSNORM_OK;
}

static void encode(rmsnorm_webgpu *webgpu, const rmsnorm_program *program, const rmsnorm_copy *copies,
                   size_t copy_count, WGPUCommandEncoder encoder, WGPUQuerySet timestamps)
{
    for (size_t i = 0; i < copy_count; i++) {
        webgpu->functions.CommandEncoderCopyBufferToBuffer(encoder, copies[i].from, copies[i].offset, copies[i].to, 0,
                                                           copies[i].bytes);
    }
    rmsnorm_program_encode(webgpu, program, encoder, timestamps);
}

/* The encoder is used up. */
static void submit(rmsnorm_webgpu *webgpu, WGPUCommandEncoder encoder)
{
    WGPUCommandBuffer commands = webgpu->functions.CommandEncoderFinish(encoder, NULL);
    webgpu->functions.QueueSubmit(webgpu->queue, 1, &commands);
    webgpu->functions.CommandBufferRelease(commands);
    webgpu->functions.CommandEncoderRelease(encoder);
}

/* ---- Timing ---------------------------------------------------------------------------------- */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* By the device's clock. */
static rmsnorm_status time_kernels(rmsnorm_webgpu *webgpu, const rmsnorm_program *program, const rmsnorm_copy *copies,
                                   size_t copy_count, double *seconds)
{
    const WGPUQuerySetDescriptor descriptor = {.type = WGPUQueryType_Timestamp, .count = 2};
    WGPUBuffer stamps;
    uint64_t ticks[2]; /* nanoseconds */
    RMSNORM_TRY(rmsnorm_buffer_take(webgpu, sizeof ticks, WGPUBufferUsage_QueryResolve | WGPUBufferUsage_CopySrc,
                                    "the timestamps", &stamps));
    WGPUQuerySet set = webgpu->functions.DeviceCreateQuerySet(webgpu->device, &descriptor);
    WGPUCommandEncoder encoder = webgpu->functions.DeviceCreateCommandEncoder(webgpu->device, NULL);
    encode(webgpu, program, copies, copy_count, encoder, set);
    webgpu->functions.CommandEncoderResolveQuerySet(encoder, set, 0, 2, stamps, 0);
    submit(webgpu, encoder);
    const rmsnorm_status status = rmsnorm_buffer_read(webgpu, stamps, 0, ticks, sizeof ticks);
    webgpu->functions.QuerySetRelease(set);
    rmsnorm_buffer_give(webgpu, stamps);
    *seconds = status == RMSNORM_OK && ticks[1] > ticks[0] ? 1e-9 * (double)(ticks[1] - ticks[0]) : 0;
    return status;
}

/* By the host's, from an idle queue to an idle one. */
static rmsnorm_status time_call(rmsnorm_webgpu *webgpu, const rmsnorm_program *program, const rmsnorm_copy *copies,
                                size_t copy_count, double *seconds)
{
    /* Encoded before the wait, during which others may use the program with tensors of theirs, or take its place. */
    WGPUCommandEncoder encoder = webgpu->functions.DeviceCreateCommandEncoder(webgpu->device, NULL);
    encode(webgpu, program, copies, copy_count, encoder, NULL);
    const rmsnorm_status idle = rmsnorm_webgpu_drain(webgpu);
    if (idle != RMSNORM_OK) {
        webgpu->functions.CommandEncoderRelease(encoder);
        return idle;
    }
    const double start = now();
    submit(webgpu, encoder);
    RMSNORM_TRY(rmsnorm_webgpu_drain(webgpu));
    *seconds = now() - start;
    return RMSNORM_OK;
}

/* ---- Running --------------------------------------------------------------------------------- */

static rmsnorm_status run(rmsnorm_webgpu *webgpu, const rmsnorm_program *program, const rmsnorm_copy *copies,
                          size_t copy_count, const rmsnorm_webgpu_run_options *options)
{
    if (options->encoder != NULL) {
        encode(webgpu, program, copies, copy_count, options->encoder, NULL);
    } else if (options->seconds == NULL) {
        WGPUCommandEncoder encoder = webgpu->functions.DeviceCreateCommandEncoder(webgpu->device, NULL);
        encode(webgpu, program, copies, copy_count, encoder, NULL);
        submit(webgpu, encoder);
    } else if (webgpu->adapter.timestamps) {
        return time_kernels(webgpu, program, copies, copy_count, options->seconds);
    } else {
        return time_call(webgpu, program, copies, copy_count, options->seconds);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_submit(rmsnorm_webgpu *webgpu, rmsnorm_program *program, const rmsnorm_copy *copies,
                              size_t copy_count, const rmsnorm_webgpu_run_options *options)
{
    if (program->plan->pass_count == 0) {
        if (options->seconds != NULL) {
            *options->seconds = 0;
        }
        return RMSNORM_OK;
    }
    return run(webgpu, program, copies, copy_count, options);
}

/* ---- Plans of the caller --------------------------------------------------------------------- */

static rmsnorm_status run_plan(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan, const rmsnorm_places *places,
                               const rmsnorm_webgpu_run_options *options)
{
    rmsnorm_program program;
    RMSNORM_TRY(rmsnorm_program_open(webgpu, plan, &program));
    rmsnorm_webgpu_scope_begin(webgpu);
    rmsnorm_status status = rmsnorm_program_bind(webgpu, &program, places);
    const rmsnorm_status watched = rmsnorm_webgpu_scope_end(webgpu, "the plan");
    status = status == RMSNORM_OK ? watched : status;
    if (status == RMSNORM_OK) {
        status = rmsnorm_submit(webgpu, &program, NULL, 0, options);
    }
    rmsnorm_program_close(webgpu, &program);
    return status;
}

rmsnorm_status rmsnorm_webgpu_run_plan(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan,
                                       const rmsnorm_webgpu_tensor *const *inputs, size_t input_count,
                                       const rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                       const rmsnorm_webgpu_run_options *options)
{
    rmsnorm_webgpu_run_options ours;
    rmsnorm_places places;
    RMSNORM_CHECK(webgpu != NULL && plan != NULL && (inputs != NULL || input_count == 0) &&
                      (outputs != NULL || output_count == 0),
                  RMSNORM_INVALID_ARGUMENT, "rmsnorm_webgpu_run_plan: webgpu, plan, inputs or outputs is NULL");
    RMSNORM_CHECK(input_count <= RMSNORM_MAX_SLOTS && output_count <= RMSNORM_MAX_SLOTS, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_run_plan: there are more than %d inputs or outputs", RMSNORM_MAX_SLOTS);
    RMSNORM_TRY(rmsnorm_webgpu_read_run_options(options, &ours));
    memset(&places, 0, sizeof places);
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i] != NULL) {
            places.inputs[i].buffer = inputs[i]->buffer;
            places.inputs[i].offset = inputs[i]->offset;
        }
    }
    for (size_t i = 0; i < output_count; i++) {
        if (outputs[i] != NULL) {
            places.outputs[i].buffer = outputs[i]->buffer;
            places.outputs[i].offset = outputs[i]->offset;
        }
    }
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    return rmsnorm_webgpu_leave(webgpu, run_plan(webgpu, plan, &places, &ours));
}
