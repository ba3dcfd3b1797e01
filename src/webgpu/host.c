/* host.c: tensors in memory: to the device, through a run, and back. */
#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "webgpu/buffer.h"
#include "webgpu/run.h"
#include "webgpu/submit.h"
#include "webgpu/tensor.h"

typedef struct transfer {
    rmsnorm_webgpu *webgpu;
    rmsnorm_webgpu_tensor inputs[RMSNORM_MAX_SLOTS], outputs[RMSNORM_MAX_SLOTS];
    const rmsnorm_webgpu_tensor *in[RMSNORM_MAX_SLOTS];
    rmsnorm_webgpu_tensor *out[RMSNORM_MAX_SLOTS];
} transfer;

/* ---- Row strides ----------------------------------------------------------------------------- */

/* A view of rows, or of contiguous memory as one row. */
typedef struct rows {
    size_t count, bytes, stride; /* bytes of a row, and to the next */
} rows;

static rmsnorm_status read_rows(const rmsnorm_tensor *tensor, int64_t axis, const char *name, rows *to)
{
    const size_t element = rmsnorm_dtype_size(tensor->dtype);
    to->count = 1;
    to->bytes = (size_t)rmsnorm_tensor_count(tensor) * element;
    to->stride = to->bytes;
    if (tensor->row_stride == 0 || to->bytes == 0) {
        return RMSNORM_OK;
    }
    const int64_t first = axis < 0 ? axis + tensor->rank : axis;
    RMSNORM_CHECK(first >= 0 && first < tensor->rank, RMSNORM_INVALID_ARGUMENT,
                  "%s has a row stride, and no dimension %lld that begins a row", name, (long long)axis);
    for (int64_t d = 0; d < first; d++) {
        to->count *= (size_t)tensor->dims[d];
    }
    to->bytes /= to->count;
    RMSNORM_CHECK(tensor->row_stride > 0 && (uint64_t)tensor->row_stride <= SIZE_MAX / element / to->count &&
                      (size_t)tensor->row_stride * element >= to->bytes,
                  RMSNORM_INVALID_ARGUMENT, "%s has the row stride %lld; allowed: at least the %zu elements of a row",
                  name, (long long)tensor->row_stride, to->bytes / element);
    to->stride = (size_t)tensor->row_stride * element;
    return RMSNORM_OK;
}

static rmsnorm_status pack(rmsnorm_webgpu *webgpu, const rows *from, const rmsnorm_tensor *tensor, WGPUBuffer buffer)
{
    char *const packed = malloc(from->count * from->bytes);
    RMSNORM_CHECK(packed != NULL, RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory");
    for (size_t i = 0; i < from->count; i++) {
        memcpy(packed + i * from->bytes, (const char *)tensor->data + i * from->stride, from->bytes);
    }
    const rmsnorm_status status = rmsnorm_buffer_write(webgpu, buffer, 0, packed, from->count * from->bytes);
    free(packed);
    return status;
}

static rmsnorm_status unpack(rmsnorm_webgpu *webgpu, const rows *to, const rmsnorm_tensor *tensor, WGPUBuffer buffer)
{
    char *const packed = malloc(to->count * to->bytes);
    RMSNORM_CHECK(packed != NULL, RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory");
    const rmsnorm_status status = rmsnorm_buffer_read(webgpu, buffer, 0, packed, to->count * to->bytes);
    for (size_t i = 0; status == RMSNORM_OK && i < to->count; i++) {
        memcpy((char *)tensor->data + i * to->stride, packed + i * to->bytes, to->bytes);
    }
    free(packed);
    return status;
}

/* ---- There and back -------------------------------------------------------------------------- */

static rmsnorm_status send(transfer *all, const rmsnorm_tensor *tensor, int64_t axis, size_t slot)
{
    rmsnorm_webgpu_tensor *const to = &all->inputs[slot];
    rmsnorm_extent extent;
    rows from;
    to->tensor = *tensor;
    to->tensor.row_stride = 0;
    all->in[slot] = to;
    RMSNORM_TRY(rmsnorm_tensor_extent(to, "an input", &extent));
    RMSNORM_CHECK(extent.bytes == 0 || tensor->data != NULL, RMSNORM_INVALID_ARGUMENT, "WebGPU: input %zu has no data",
                  slot);
    RMSNORM_TRY(read_rows(tensor, axis, "an input", &from));
    if (extent.bytes == 0) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(rmsnorm_buffer_take(all->webgpu, extent.bytes, RMSNORM_TENSOR_USAGE, "an input", &to->buffer));
    return from.count > 1 ? pack(all->webgpu, &from, tensor, to->buffer)
                          : rmsnorm_buffer_write(all->webgpu, to->buffer, 0, tensor->data, from.bytes);
}

/* The device's output takes the shape that the caller's has, for the run to check. */
static rmsnorm_status prepare(transfer *all, const rmsnorm_tensor *tensor, int64_t axis, size_t slot)
{
    rmsnorm_webgpu_tensor *const to = &all->outputs[slot];
    rows unused;
    to->tensor = *tensor;
    to->tensor.row_stride = 0;
    all->out[slot] = to;
    RMSNORM_TRY(rmsnorm_tensor_place(all->webgpu, to, "an output"));
    return read_rows(tensor, axis, "an output", &unused);
}

static rmsnorm_status receive(const transfer *all, const rmsnorm_tensor *tensor, int64_t axis, size_t slot)
{
    rows to;
    RMSNORM_TRY(read_rows(tensor, axis, "an output", &to));
    return to.count > 1 ? unpack(all->webgpu, &to, tensor, all->outputs[slot].buffer)
                        : rmsnorm_buffer_read(all->webgpu, all->outputs[slot].buffer, 0, tensor->data, to.bytes);
}

static bool is_skipped(const rmsnorm_operator *op, rmsnorm_tensor *const *outputs, size_t slot)
{
    return outputs[slot] == NULL ||
           (outputs[slot]->data == NULL && slot < op->output_count && !op->outputs[slot].required);
}

static rmsnorm_status run(transfer *all, const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                          const rmsnorm_tensor *const *inputs, size_t input_count, rmsnorm_tensor *const *outputs,
                          size_t output_count, const rmsnorm_webgpu_run_options *options)
{
    const int64_t axis =
        attributes == NULL || op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION ? -1 : attributes->axis;
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i] != NULL) {
            RMSNORM_TRY(send(all, inputs[i], axis, i));
        }
    }
    for (size_t i = 0; i < output_count; i++) {
        if (!is_skipped(op, outputs, i)) {
            RMSNORM_TRY(prepare(all, outputs[i], axis, i));
            RMSNORM_CHECK(outputs[i]->data != NULL || rmsnorm_tensor_count(outputs[i]) == 0, RMSNORM_INVALID_ARGUMENT,
                          "%s: output %zu has no data", op->name, i);
        }
    }
    RMSNORM_TRY(
        rmsnorm_webgpu_run_locked(all->webgpu, op, attributes, all->in, input_count, all->out, output_count, options));
    for (size_t i = 0; i < output_count; i++) {
        if (!is_skipped(op, outputs, i)) {
            RMSNORM_TRY(receive(all, outputs[i], axis, i));
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_webgpu_run_host(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                       const rmsnorm_attributes *attributes, const rmsnorm_tensor *const *inputs,
                                       size_t input_count, rmsnorm_tensor *const *outputs, size_t output_count,
                                       const rmsnorm_webgpu_run_options *options)
{
    rmsnorm_webgpu_run_options ours;
    RMSNORM_CHECK(webgpu != NULL && op != NULL && (inputs != NULL || input_count == 0) &&
                      (outputs != NULL || output_count == 0),
                  RMSNORM_INVALID_ARGUMENT, "rmsnorm_webgpu_run_host: webgpu, op, inputs or outputs is NULL");
    RMSNORM_TRY(rmsnorm_webgpu_read_run_options(options, &ours));
    RMSNORM_CHECK(ours.encoder == NULL, RMSNORM_INVALID_ARGUMENT,
                  "%s: a run with tensors in memory cannot be recorded; allowed: tensors of the device", op->name);
    RMSNORM_CHECK(input_count <= RMSNORM_MAX_SLOTS && output_count <= RMSNORM_MAX_SLOTS, RMSNORM_INVALID_ARGUMENT,
                  "%s: %zu inputs and %zu outputs; allowed: at most %d", op->name, input_count, output_count,
                  RMSNORM_MAX_SLOTS);
    transfer all;
    memset(&all, 0, sizeof all);
    all.webgpu = webgpu;
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    const rmsnorm_status status = run(&all, op, attributes, inputs, input_count, outputs, output_count, &ours);
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        rmsnorm_buffer_give(webgpu, all.inputs[i].buffer);
        rmsnorm_buffer_give(webgpu, all.outputs[i].buffer);
    }
    return rmsnorm_webgpu_leave(webgpu, status);
}
