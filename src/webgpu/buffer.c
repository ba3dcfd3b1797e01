#include "webgpu/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "operator/error.h"

/* Spare buffers hold at most this much; what is more goes back to the system, the oldest first. */
#define SPARE_BYTES ((uint64_t)256 << 20)

/* Copies go through memory that the host can map, in parts of at most this size. */
#define PART_BYTES ((size_t)32 << 20)

/* Sizes are rounded up by at most a quarter, so that a spare buffer fits more than one tensor. */
static uint64_t rounded(uint64_t bytes)
{
    uint64_t step = 256;
    while (step * 8 <= bytes) {
        step *= 2;
    }
    return bytes == 0 ? step : (bytes + step - 1) / step * step;
}

static void destroy(rmsnorm_webgpu *webgpu, WGPUBuffer buffer)
{
    webgpu->functions.BufferRelease(buffer);
}

/* Takes the index-th spare buffer out of the list. */
static WGPUBuffer pick(rmsnorm_webgpu *webgpu, size_t index)
{
    rmsnorm_spare_buffers *const spare = &webgpu->spare;
    WGPUBuffer buffer = spare->items[index];
    spare->bytes -= webgpu->functions.BufferGetSize(buffer);
    spare->count--;
    memmove(&spare->items[index], &spare->items[index + 1], (spare->count - index) * sizeof *spare->items);
    return buffer;
}

static rmsnorm_status make(rmsnorm_webgpu *webgpu, uint64_t bytes, WGPUBufferUsage usage, const char *what,
                           WGPUBuffer *buffer)
{
    const uint64_t most = webgpu->adapter.profile.max_buffer_size;
    RMSNORM_CHECK(bytes <= most, RMSNORM_UNSUPPORTED, "%s takes %llu bytes; the largest buffer of this device has %llu",
                  what, (unsigned long long)bytes, (unsigned long long)most);
    const uint64_t size = rounded(bytes) <= most ? rounded(bytes) : (bytes + 3) / 4 * 4;
    const WGPUBufferDescriptor descriptor = {.label = {what, strlen(what)}, .usage = usage, .size = size};
    rmsnorm_webgpu_scope_begin(webgpu);
    *buffer = webgpu->functions.DeviceCreateBuffer(webgpu->device, &descriptor);
    rmsnorm_status status = rmsnorm_webgpu_scope_end(webgpu, what);
    if (status == RMSNORM_OK && *buffer == NULL) {
        status = rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: no buffer of %llu bytes for %s", (unsigned long long)size,
                              what);
    }
    if (status != RMSNORM_OK && *buffer != NULL) {
        destroy(webgpu, *buffer);
        *buffer = NULL;
    }
    return status;
}

rmsnorm_status rmsnorm_buffer_take(rmsnorm_webgpu *webgpu, uint64_t bytes, WGPUBufferUsage usage, const char *what,
                                   WGPUBuffer *buffer)
{
    const uint64_t size = rounded(bytes);
    for (size_t i = webgpu->spare.count; i-- > 0;) {
        WGPUBuffer candidate = webgpu->spare.items[i];
        if (webgpu->functions.BufferGetSize(candidate) == size &&
            (webgpu->functions.BufferGetUsage(candidate) & usage) == usage) {
            *buffer = pick(webgpu, i);
            return RMSNORM_OK;
        }
    }
    return make(webgpu, bytes, usage, what, buffer);
}

void rmsnorm_buffer_give(rmsnorm_webgpu *webgpu, WGPUBuffer buffer)
{
    if (buffer == NULL) {
        return;
    }
    rmsnorm_spare_buffers *const spare = &webgpu->spare;
    if (spare->count == spare->room) {
        const size_t room = spare->room == 0 ? 16 : 2 * spare->room;
        WGPUBuffer *const items = realloc(spare->items, room * sizeof *items);
        if (items == NULL) {
            destroy(webgpu, buffer);
            return;
        }
        spare->items = items;
        spare->room = room;
    }
    spare->items[spare->count++] = buffer;
    spare->bytes += webgpu->functions.BufferGetSize(buffer);
    while (spare->bytes > SPARE_BYTES) {
        destroy(webgpu, pick(webgpu, 0));
    }
}

void rmsnorm_buffers_close(rmsnorm_webgpu *webgpu)
{
    while (webgpu->spare.count > 0) {
        destroy(webgpu, pick(webgpu, 0));
    }
    free(webgpu->spare.items);
    webgpu->spare.items = NULL;
}

/* ---- Contents -------------------------------------------------------------------------------- */

static void on_map(WGPUMapAsyncStatus status, WGPUStringView message, void *first, void *second)
{
    (void)second;
    rmsnorm_answer_give(first, (int)status, 0, NULL, message);
}

/* Waits until the device has written the staging buffer and the host may read it. */
static rmsnorm_status map(rmsnorm_webgpu *webgpu, WGPUBuffer staging, size_t size)
{
    rmsnorm_answer *const answer = rmsnorm_answer_new();
    if (answer == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const WGPUBufferMapCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_map, .userdata1 = answer};
    webgpu->functions.BufferMapAsync(staging, WGPUMapMode_Read, 0, size, callback);
    rmsnorm_status status = rmsnorm_webgpu_await(webgpu, answer);
    if (status == RMSNORM_OK && answer->status != WGPUMapAsyncStatus_Success) {
        status = rmsnorm_webgpu_failed(webgpu, "the result cannot be read", answer->text);
    }
    rmsnorm_answer_drop(answer);
    return status;
}

static rmsnorm_status read_part(rmsnorm_webgpu *webgpu, WGPUBuffer buffer, uint64_t offset, WGPUBuffer staging,
                                void *data, size_t size)
{
    const size_t words = (size + 3) / 4 * 4;
    rmsnorm_webgpu_scope_begin(webgpu); /* on a device of the caller's, errors would be the caller's alone */
    WGPUCommandEncoder encoder = webgpu->functions.DeviceCreateCommandEncoder(webgpu->device, NULL);
    webgpu->functions.CommandEncoderCopyBufferToBuffer(encoder, buffer, offset, staging, 0, words);
    WGPUCommandBuffer commands = webgpu->functions.CommandEncoderFinish(encoder, NULL);
    webgpu->functions.QueueSubmit(webgpu->queue, 1, &commands);
    webgpu->functions.CommandBufferRelease(commands);
    webgpu->functions.CommandEncoderRelease(encoder);
    RMSNORM_TRY(rmsnorm_webgpu_scope_end(webgpu, "the result cannot be read"));
    RMSNORM_TRY(map(webgpu, staging, words));
    const void *const mapped = webgpu->functions.BufferGetConstMappedRange(staging, 0, words);
    const bool there = mapped != NULL;
    if (there && data != NULL) {
        memcpy(data, mapped, size);
    }
    webgpu->functions.BufferUnmap(staging);
    RMSNORM_CHECK(there, RMSNORM_DEVICE_FAILED, "WebGPU: the result cannot be read: it was not mapped");
    return RMSNORM_OK;
}

/* A staging buffer that something went wrong with may still be in the device's hands: it is not used again. */
static void finish_staging(rmsnorm_webgpu *webgpu, WGPUBuffer staging, rmsnorm_status status)
{
    if (status == RMSNORM_OK) {
        rmsnorm_buffer_give(webgpu, staging);
    } else {
        destroy(webgpu, staging);
    }
}

rmsnorm_status rmsnorm_buffer_read(rmsnorm_webgpu *webgpu, WGPUBuffer buffer, uint64_t offset, void *data, size_t size)
{
    if (size == 0) {
        return RMSNORM_OK;
    }
    WGPUBuffer staging;
    RMSNORM_TRY(rmsnorm_buffer_take(webgpu, size < PART_BYTES ? size : PART_BYTES, RMSNORM_STAGING_USAGE,
                                    "a staging buffer", &staging));
    rmsnorm_status status = RMSNORM_OK;
    for (size_t done = 0; status == RMSNORM_OK && done < size; done += PART_BYTES) {
        const size_t part = size - done < PART_BYTES ? size - done : PART_BYTES;
        status = read_part(webgpu, buffer, offset + done, staging, (char *)data + done, part);
    }
    finish_staging(webgpu, staging, status);
    return status;
}

rmsnorm_status rmsnorm_buffer_write(rmsnorm_webgpu *webgpu, WGPUBuffer buffer, uint64_t offset, const void *data,
                                    size_t size)
{
    const size_t whole = size / 4 * 4;
    for (size_t done = 0; done < whole; done += PART_BYTES) {
        const size_t part = whole - done < PART_BYTES ? whole - done : PART_BYTES;
        webgpu->functions.QueueWriteBuffer(webgpu->queue, buffer, offset + done, (const char *)data + done, part);
    }
    if (whole < size) {
        unsigned char last[4] = {0};
        memcpy(last, (const char *)data + whole, size - whole);
        webgpu->functions.QueueWriteBuffer(webgpu->queue, buffer, offset + whole, last, sizeof last);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_webgpu_drain(rmsnorm_webgpu *webgpu)
{
    /* The queue works in order: when its last copy can be read, all before it is done. The call of webgpu.h that is meant for this
     * has had two signatures under one name. */
    WGPUBuffer staging = NULL;
    WGPUBuffer source = NULL;
    RMSNORM_TRY(rmsnorm_buffer_take(webgpu, 4, RMSNORM_STAGING_USAGE, "a staging buffer", &staging));
    rmsnorm_status status = rmsnorm_buffer_take(webgpu, 4, RMSNORM_TENSOR_USAGE, "a word", &source);
    if (status == RMSNORM_OK) {
        status = read_part(webgpu, source, 0, staging, NULL, 4);
        rmsnorm_buffer_give(webgpu, source);
    }
    finish_staging(webgpu, staging, status);
    return status;
}
