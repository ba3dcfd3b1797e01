/* buffer.h: buffers of the device, used again. */
#ifndef RMSNORM_WEBGPU_BUFFER_H
#define RMSNORM_WEBGPU_BUFFER_H

#include "webgpu/device.h"

#define RMSNORM_TENSOR_USAGE (WGPUBufferUsage_Storage | WGPUBufferUsage_CopySrc | WGPUBufferUsage_CopyDst)
#define RMSNORM_STAGING_USAGE (WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst)

/* A buffer of at least `bytes`, a spare one or a new one; its contents are not defined. `what` is for the message. */
rmsnorm_status rmsnorm_buffer_take(rmsnorm_webgpu *webgpu, uint64_t bytes, WGPUBufferUsage usage, const char *what,
                                   WGPUBuffer *buffer);

/* Back for later use, or to the system when there are enough. May be NULL. */
void rmsnorm_buffer_give(rmsnorm_webgpu *webgpu, WGPUBuffer buffer);

/* Copies what lies in a buffer, from a multiple of 4 on, into memory. Waits. */
rmsnorm_status rmsnorm_buffer_read(rmsnorm_webgpu *webgpu, WGPUBuffer buffer, uint64_t offset, void *data, size_t size);

/* The other way; the last word is filled up with zeros. Does not wait. */
rmsnorm_status rmsnorm_buffer_write(rmsnorm_webgpu *webgpu, WGPUBuffer buffer, uint64_t offset, const void *data,
                                    size_t size);

void rmsnorm_buffers_close(rmsnorm_webgpu *webgpu);

#endif
