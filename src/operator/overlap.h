/* overlap.h: who may share memory with whom in a run (contract 4.5). */
#ifndef RMSNORM_OPERATOR_OVERLAP_H
#define RMSNORM_OPERATOR_OVERLAP_H

#include "operator/call.h"

/* The memory of a tensor: rows of row_bytes, stride_bytes from one to the next. Of an omitted or empty one only begin and
 * bytes are set, both 0, so that it lies before every other. */
typedef struct rmsnorm_view {
    const rmsnorm_tensor *tensor;
    uintptr_t begin;
    size_t bytes; /* from the first byte of the first row to past the last of the last */
    size_t rows, row_bytes, stride_bytes;
} rmsnorm_view;

/* An output is exactly an input's memory with the same type and shape, or touches none, and no other output. */
rmsnorm_status rmsnorm_check_overlaps(const rmsnorm_call *call, const rmsnorm_view inputs[RMSNORM_MAX_INPUTS],
                                      const rmsnorm_view outputs[RMSNORM_MAX_OUTPUTS]);

#endif
