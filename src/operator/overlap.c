#include "operator/overlap.h"

#include <string.h>

#include "operator/error.h"

/* Whether views with one stride, the first at the lower address, have a byte in common. With a distance of q strides and t
 * bytes, t < stride, row j of the second begins t bytes after row j + q of the first; so it can only touch that row, by
 * its beginning, and row j + q + 1, by its end. */
static bool rows_meet(const rmsnorm_view *first, const rmsnorm_view *second, size_t stride)
{
    const size_t between = (size_t)(second->begin - first->begin);
    const size_t q = between / stride;
    const size_t t = between % stride;
    return (t < first->row_bytes && q < first->rows) || (second->row_bytes > stride - t && q + 1 < first->rows);
}

static bool meet(const rmsnorm_view *a, const rmsnorm_view *b)
{
    if (a->begin + a->bytes <= b->begin || b->begin + b->bytes <= a->begin) {
        return false;
    }
    /* One row fits any stride that is not shorter. */
    const size_t stride = a->rows > 1 ? a->stride_bytes : b->stride_bytes;
    const bool one_stride = (a->rows == 1 || a->stride_bytes == stride) &&
                            (b->rows == 1 || b->stride_bytes == stride) && a->row_bytes <= stride &&
                            b->row_bytes <= stride;
    if (!one_stride) {
        return true;
    }
    return a->begin <= b->begin ? rows_meet(a, b, stride) : rows_meet(b, a, stride);
}

/* Equal begin, extent and shape make equal strides too. */
static bool is_same(const rmsnorm_view *a, const rmsnorm_view *b)
{
    return a->begin == b->begin && a->bytes == b->bytes && a->tensor->dtype == b->tensor->dtype &&
           a->tensor->rank == b->tensor->rank &&
           memcmp(a->tensor->dims, b->tensor->dims, (size_t)a->tensor->rank * sizeof a->tensor->dims[0]) == 0;
}

rmsnorm_status rmsnorm_check_overlaps(const rmsnorm_call *call, const rmsnorm_view inputs[RMSNORM_MAX_INPUTS],
                                      const rmsnorm_view outputs[RMSNORM_MAX_OUTPUTS])
{
    const rmsnorm_operator *const op = call->op;
    for (size_t o = 0; o < op->output_count; ++o) {
        if (outputs[o].bytes == 0) {
            continue;
        }
        for (size_t i = 0; i < op->input_count; ++i) {
            const bool apart = !meet(&outputs[o], &inputs[i]);
            RMSNORM_CHECK(
                apart || is_same(&outputs[o], &inputs[i]), RMSNORM_INVALID_ARGUMENT,
                "%s: %s overlaps %s without being the same buffer; allowed: memory of its own, or exactly that of an "
                "input with the same type, shape and stride",
                op->name, op->outputs[o].name, op->inputs[i].name);
        }
        for (size_t other = 0; other < o; ++other) {
            RMSNORM_CHECK(!meet(&outputs[o], &outputs[other]), RMSNORM_INVALID_ARGUMENT,
                          "%s: %s overlaps %s; allowed: memory of its own for each output", op->name,
                          op->outputs[o].name, op->outputs[other].name);
        }
    }
    return RMSNORM_OK;
}
