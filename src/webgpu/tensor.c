#include "webgpu/tensor.h"

#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "operator/text.h"
#include "webgpu/buffer.h"

rmsnorm_status rmsnorm_tensor_extent(const rmsnorm_webgpu_tensor *tensor, const char *name, rmsnorm_extent *extent)
{
    const rmsnorm_tensor *const shape = &tensor->tensor;
    const size_t size = rmsnorm_dtype_size(shape->dtype);
    RMSNORM_CHECK(size != 0 && size <= 4 && shape->dtype != RMSNORM_BFLOAT16, RMSNORM_UNSUPPORTED,
                  "%s is of type %s; allowed on WebGPU: float, float16", name, rmsnorm_dtype_name(shape->dtype));
    const int64_t count =
        shape->rank < 0 || shape->rank > RMSNORM_MAX_RANK ? RMSNORM_UNKNOWN : rmsnorm_tensor_count(shape);
    RMSNORM_CHECK(
        count >= 0, RMSNORM_INVALID_ARGUMENT,
        "WebGPU: %s has a shape that is not known or too large; allowed: at most %d dims, all of them numbers", name,
        RMSNORM_MAX_RANK);
    extent->buffer = tensor->buffer;
    extent->begin = tensor->offset;
    extent->bytes = ((uint64_t)count * size + 3) / 4 * 4;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_extent_check(rmsnorm_webgpu *webgpu, const rmsnorm_extent *extent, WGPUBufferUsage usage,
                                    const char *name)
{
    RMSNORM_CHECK(extent->buffer != NULL, RMSNORM_INVALID_ARGUMENT,
                  "%s has no buffer; allowed: one of rmsnorm_webgpu_tensor_create, or the caller's own", name);
    const uint32_t alignment = webgpu->adapter.profile.min_storage_buffer_offset_alignment;
    RMSNORM_CHECK(extent->begin % alignment == 0, RMSNORM_INVALID_ARGUMENT,
                  "%s begins at offset %llu; allowed on this device: multiples of %u", name,
                  (unsigned long long)extent->begin, alignment);
    const uint64_t size = webgpu->functions.BufferGetSize(extent->buffer);
    RMSNORM_CHECK(extent->begin <= size && extent->bytes <= size - extent->begin, RMSNORM_INVALID_ARGUMENT,
                  "%s takes %llu bytes from offset %llu on; its buffer has %llu", name,
                  (unsigned long long)extent->bytes, (unsigned long long)extent->begin, (unsigned long long)size);
    const WGPUBufferUsage has = webgpu->functions.BufferGetUsage(extent->buffer);
    RMSNORM_CHECK((has & usage) == usage, RMSNORM_INVALID_ARGUMENT, "the buffer of %s lacks the usage%s%s%s", name,
                  (usage & ~has & WGPUBufferUsage_Storage) != 0 ? " Storage" : "",
                  (usage & ~has & WGPUBufferUsage_CopySrc) != 0 ? " CopySrc" : "",
                  (usage & ~has & WGPUBufferUsage_CopyDst) != 0 ? " CopyDst" : "");
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_tensor_place(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor, const char *name)
{
    rmsnorm_extent extent = {NULL, 0, 0};
    RMSNORM_TRY(rmsnorm_tensor_extent(tensor, name, &extent));
    RMSNORM_TRY(rmsnorm_buffer_take(webgpu, extent.bytes, RMSNORM_TENSOR_USAGE, name, &tensor->buffer));
    tensor->offset = 0;
    return RMSNORM_OK;
}

/* ---- For the caller -------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_webgpu_tensor_create(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor)
{
    RMSNORM_CHECK(webgpu != NULL && tensor != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_tensor_create: webgpu or tensor is NULL");
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    rmsnorm_status status = rmsnorm_tensor_place(webgpu, tensor, "the tensor");
    if (status == RMSNORM_OK) {
        status = rmsnorm_webgpu_report(webgpu);
        if (status != RMSNORM_OK) {
            rmsnorm_buffer_give(webgpu, tensor->buffer);
            tensor->buffer = NULL;
        }
    }
    return rmsnorm_webgpu_leave(webgpu, status);
}

void rmsnorm_webgpu_tensor_release(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor)
{
    if (webgpu != NULL && tensor != NULL && tensor->buffer != NULL) {
        pthread_mutex_lock(&webgpu->mutex);
        rmsnorm_buffer_give(webgpu, tensor->buffer);
        pthread_mutex_unlock(&webgpu->mutex);
        tensor->buffer = NULL;
    }
}

static rmsnorm_status check_transfer(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_tensor *tensor, const void *data,
                                     WGPUBufferUsage usage, rmsnorm_extent *extent, size_t *size)
{
    RMSNORM_TRY(rmsnorm_tensor_extent(tensor, "the tensor", extent));
    RMSNORM_CHECK(data != NULL || extent->bytes == 0, RMSNORM_INVALID_ARGUMENT,
                  "the tensor: the data is NULL; allowed: as many bytes as its shape has");
    RMSNORM_TRY(rmsnorm_extent_check(webgpu, extent, usage, "the tensor"));
    *size = (size_t)rmsnorm_tensor_count(&tensor->tensor) * rmsnorm_dtype_size(tensor->tensor.dtype);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_webgpu_upload(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_tensor *tensor, const void *data)
{
    rmsnorm_extent extent;
    size_t size = 0;
    RMSNORM_CHECK(webgpu != NULL && tensor != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_upload: webgpu or tensor is NULL");
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    rmsnorm_status status = check_transfer(webgpu, tensor, data, WGPUBufferUsage_CopyDst, &extent, &size);
    if (status == RMSNORM_OK) {
        status = rmsnorm_buffer_write(webgpu, extent.buffer, extent.begin, data, size);
    }
    return rmsnorm_webgpu_leave(webgpu, status);
}

rmsnorm_status rmsnorm_webgpu_download(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_tensor *tensor, void *data)
{
    rmsnorm_extent extent;
    size_t size = 0;
    RMSNORM_CHECK(webgpu != NULL && tensor != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_download: webgpu or tensor is NULL");
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    rmsnorm_status status = check_transfer(webgpu, tensor, data, WGPUBufferUsage_CopySrc, &extent, &size);
    if (status == RMSNORM_OK) {
        status = rmsnorm_buffer_read(webgpu, extent.buffer, extent.begin, data, size);
    }
    return rmsnorm_webgpu_leave(webgpu, status);
}
