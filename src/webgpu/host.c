/* host.c: tensors in memory: to the device, through a run, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "operator/problem.h"
#include "operator/text.h"
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

/* Of a tensor whose stride was found right. */
static rows rows_of(const rmsnorm_tensor *tensor, int64_t axis)
{
    const size_t element = rmsnorm_dtype_size(tensor->dtype);
    rows view = {1, (size_t)rmsnorm_tensor_count(tensor) * element, 0};
    if (tensor->row_stride != 0 && view.bytes > 0) {
        for (int64_t d = 0; d < (axis < 0 ? axis + tensor->rank : axis); d++) {
            view.count *= (size_t)tensor->dims[d];
        }
        view.bytes /= view.count;
        view.stride = (size_t)tensor->row_stride * element;
    }
    return view;
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

static rmsnorm_status send(transfer *all, const rmsnorm_tensor *tensor, int64_t axis, const char *name,
                           rmsnorm_webgpu_tensor *to)
{
    rmsnorm_extent extent;
    to->tensor = *tensor;
    to->tensor.row_stride = 0;
    RMSNORM_TRY(rmsnorm_tensor_extent(to, name, &extent));
    if (extent.bytes == 0) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(rmsnorm_buffer_take(all->webgpu, extent.bytes, RMSNORM_TENSOR_USAGE, name, &to->buffer));
    const rows from = rows_of(tensor, axis);
    return from.count > 1 ? pack(all->webgpu, &from, tensor, to->buffer)
                          : rmsnorm_buffer_write(all->webgpu, to->buffer, 0, tensor->data, from.bytes);
}

/* The device's output takes the shape that the caller's has, for the run to check. */
static rmsnorm_status prepare(transfer *all, const rmsnorm_tensor *tensor, const char *name, rmsnorm_webgpu_tensor *to)
{
    to->tensor = *tensor;
    to->tensor.row_stride = 0;
    return rmsnorm_tensor_place(all->webgpu, to, name);
}

static rmsnorm_status receive(const transfer *all, const rmsnorm_tensor *tensor, int64_t axis,
                              const rmsnorm_webgpu_tensor *from)
{
    const rows to = rows_of(tensor, axis);
    return to.count > 1 ? unpack(all->webgpu, &to, tensor, from->buffer)
                        : rmsnorm_buffer_read(all->webgpu, from->buffer, 0, tensor->data, to.bytes);
}

static bool is_skipped(const rmsnorm_operator *op, rmsnorm_tensor *const *outputs, size_t slot)
{
    return outputs[slot] == NULL ||
           (outputs[slot]->data == NULL && slot < op->output_count && !op->outputs[slot].required);
}

/* "SimplifiedLayerNormalization: X" */
static rmsnorm_words name_of(const rmsnorm_operator *op, const rmsnorm_slot *slot)
{
    rmsnorm_words words;
    snprintf(words.text, sizeof words.text, "%s: %s", op->name, slot->name);
    return words;
}

static rmsnorm_status run(transfer *all, const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                          const rmsnorm_tensor *const *inputs, size_t input_count, rmsnorm_tensor *const *outputs,
                          size_t output_count, const rmsnorm_webgpu_run_options *options)
{
    const bool has_axis = attributes != NULL && op->kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const int64_t axis = has_axis ? attributes->axis : -1;
    for (size_t i = 0; i < input_count; i++) {
        if (inputs[i] != NULL) {
            all->in[i] = &all->inputs[i];
            RMSNORM_TRY(send(all, inputs[i], axis, name_of(op, &op->inputs[i]).text, &all->inputs[i]));
        }
    }
    for (size_t i = 0; i < output_count; i++) {
        if (!is_skipped(op, outputs, i)) {
            all->out[i] = &all->outputs[i];
            RMSNORM_TRY(prepare(all, outputs[i], name_of(op, &op->outputs[i]).text, &all->outputs[i]));
        }
    }
    RMSNORM_TRY(
        rmsnorm_webgpu_run_locked(all->webgpu, op, attributes, all->in, input_count, all->out, output_count, options));
    for (size_t i = 0; i < output_count; i++) {
        if (!is_skipped(op, outputs, i)) {
            RMSNORM_TRY(receive(all, outputs[i], axis, &all->outputs[i]));
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
    rmsnorm_problem problem; /* not used: it is the checks that are wanted, those of the CPU */
    RMSNORM_TRY(rmsnorm_resolve(op, attributes, inputs, input_count, outputs, output_count, &problem));
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
