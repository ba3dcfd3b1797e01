/* tensor.h: tensors on the device: where they lie, and whether they may lie there. */
#ifndef RMSNORM_WEBGPU_TENSOR_H
#define RMSNORM_WEBGPU_TENSOR_H

#include "webgpu/device.h"

/* What a tensor takes of its buffer. */
typedef struct rmsnorm_extent {
    WGPUBuffer buffer; /* NULL: nothing */
    uint64_t begin, bytes;
} rmsnorm_extent;

/* Of a shape that is whole and numeric; also rounds up to words. `name` is for the message. */
rmsnorm_status rmsnorm_tensor_extent(const rmsnorm_webgpu_tensor *tensor, const char *name, rmsnorm_extent *extent);

/* That the buffer is large enough, usable as `usage`, and the offset legal. */
rmsnorm_status rmsnorm_extent_check(rmsnorm_webgpu *webgpu, const rmsnorm_extent *extent, WGPUBufferUsage usage,
                                    const char *name);

/* Gives a tensor without a buffer one. */
rmsnorm_status rmsnorm_tensor_place(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor, const char *name);

#endif
