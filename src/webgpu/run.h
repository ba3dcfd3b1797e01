/* run.h: a run with the device's lock held. */
#ifndef RMSNORM_WEBGPU_RUN_H
#define RMSNORM_WEBGPU_RUN_H

#include "webgpu/device.h"

/* rmsnorm_webgpu_run behind its checks of pointers and options. */
rmsnorm_status rmsnorm_webgpu_run_locked(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                         const rmsnorm_attributes *attributes,
                                         const rmsnorm_webgpu_tensor *const *inputs, size_t input_count,
                                         rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                         const rmsnorm_webgpu_run_options *options);

#endif
