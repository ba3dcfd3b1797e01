/* support.h: trials of tests/cpu on a WebGPU device. Expects what CMake sets in RMSNORM_GPU_ENVIRONMENT. */
#ifndef TESTS_WEBGPU_SUPPORT_H
#define TESTS_WEBGPU_SUPPORT_H

#include "cpu/support.h"
#include "rmsnorm/webgpu.h"

/* The first adapter; profile narrows it, or NULL. Fails the test when there is none. */
rmsnorm_webgpu *gpu_open(const rmsnorm_device_profile *profile);

/* A profile that narrows nothing. */
rmsnorm_device_profile gpu_widest(void);

/* Fails the test with the library's sentence. */
void gpu_must(rmsnorm_status status);

/* Fails the test unless the status is this one and the sentence has all the words (NULL ends them). */
void gpu_must_fail(rmsnorm_status got, rmsnorm_status status, ...);

/* The trial's tensors in memory, through the device. */
rmsnorm_status gpu_run_host(rmsnorm_webgpu *gpu, trial *t, const rmsnorm_webgpu_run_options *options);

/* The trial's tensors on the device. */
typedef struct resident {
    rmsnorm_webgpu *gpu;
    trial *t;
    rmsnorm_webgpu_tensor in[5], out[5];
    bool borrowed[10]; /* the buffer is somebody else's: inputs, then outputs */
} resident;

/* Uploads every tensor of the trial, outputs with their poison. */
resident resident_start(rmsnorm_webgpu *gpu, trial *t);

/* Puts the output where the input is, at an offset of its own. */
void resident_share(resident *all, int output, int input);

rmsnorm_status resident_run(resident *all, const rmsnorm_webgpu_run_options *options);

/* Downloads the outputs into the trial. */
void resident_finish(resident *all);
void resident_end(resident *all);

/* A second trial with the same inputs and attributes, and outputs of its own. */
trial trial_copy(const trial *t);

/* Fails the test unless all outputs agree: float within ulps, float16 within one, sums exactly. Returns the largest distance. */
double expect_agreement(const trial *device, const trial *cpu, double ulps);

/* Runs the trial through the device, its inputs on the CPU too, and expects agreement within 4 ulp. */
void expect_host_run(rmsnorm_webgpu *gpu, trial *t, const rmsnorm_webgpu_run_options *options);

/* X of rows x width with ordinary values, scale of width, output 0; with the statistics in slot 1. */
trial rms_trial(rmsnorm_operator_kind kind, rmsnorm_dtype x, rmsnorm_dtype scale, int64_t rows, int64_t width);

#endif
