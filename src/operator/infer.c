#include <string.h>

#include "operator/call.h"
#include "operator/error.h"

rmsnorm_status rmsnorm_infer(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                             const rmsnorm_tensor *const *inputs, size_t input_count, rmsnorm_tensor *const *outputs,
                             size_t output_count, rmsnorm_constraints *constraints)
{
    rmsnorm_constraints found;
    found.count = 0;
    rmsnorm_call call;
    RMSNORM_TRY(rmsnorm_call_check(&call, op, attributes, inputs, input_count, outputs, output_count, false, &found));
    for (size_t i = 0; i < op->output_count; ++i) {
        if (call.outputs[i] != NULL) {
            rmsnorm_call_output(&call, i, call.outputs[i]);
        }
    }
    if (constraints != NULL) {
        constraints->count = found.count;
        memcpy(constraints->items, found.items, found.count * sizeof found.items[0]);
    }
    return RMSNORM_OK;
}
