/* submit.h: a program on tensors: recorded, submitted, timed. */
#ifndef RMSNORM_WEBGPU_SUBMIT_H
#define RMSNORM_WEBGPU_SUBMIT_H

#include "webgpu/program.h"

/* An input that has to be read from elsewhere than where it lies, as the kernels write there. */
typedef struct rmsnorm_copy {
    WGPUBuffer from, to;
    uint64_t offset, bytes; /* of `from` */
} rmsnorm_copy;

/* Of the options, encoder and seconds count. The caller bound the program. */
rmsnorm_status rmsnorm_submit(rmsnorm_webgpu *webgpu, rmsnorm_program *program, const rmsnorm_copy *copies,
                              size_t copy_count, const rmsnorm_webgpu_run_options *options);

/* The caller's options, however short its header knew them. */
rmsnorm_status rmsnorm_webgpu_read_run_options(const rmsnorm_webgpu_run_options *options,
                                               rmsnorm_webgpu_run_options *ours);

#endif
