/* primitive_mean.c: ReduceMean, whose axes were an attribute and became an input. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli.h"
#include "element.h"
#include "primitive_parts.h"

/* The axes that are given; of the input they are known. */
static size_t axis_count(const rmsnorm_cli_call *call)
{
    const rmsnorm_node_attribute *attribute = rmsnorm_cli_call_attribute(call->node, "axes");
    return attribute != NULL         ? attribute->count
           : call->inputs[1] != NULL ? (size_t)rmsnorm_tensor_count(call->inputs[1])
                                     : 0;
}

static int64_t axis_at(const rmsnorm_cli_call *call, size_t index)
{
    const rmsnorm_node_attribute *attribute = rmsnorm_cli_call_attribute(call->node, "axes");
    return attribute != NULL ? attribute->ints[index] : rmsnorm_cli_element_integer(call->inputs[1], (int64_t)index);
}

/* The input's shape with the reduced dims 1. No axes are all of them, unless the node says that they are none. */
static int reduce(const rmsnorm_cli_call *call, rmsnorm_tensor *result, bool reduced[RMSNORM_MAX_RANK])
{
    const int32_t rank = call->inputs[0]->rank;
    const size_t count = axis_count(call);
    const bool none = call->primitive->most == 2 && rmsnorm_cli_call_int(call, "noop_with_empty_axes") != 0;
    *result = *call->inputs[0];
    result->data = NULL;
    for (int32_t i = 0; i < rank; ++i) {
        reduced[i] = count == 0 && !none;
    }
    for (size_t i = 0; i < count; ++i) {
        const int64_t given = axis_at(call, i);
        const int64_t axis = given < 0 ? given + rank : given;
        if (axis < 0 || axis >= rank) {
            return rmsnorm_cli_fail("axis %" PRId64 " is not among those of an input of rank %d, allowed are %d to %d",
                                    given, (int)rank, (int)-rank, (int)rank - 1);
        }
        if (reduced[axis]) {
            return rmsnorm_cli_fail("axis %" PRId64 " is given twice, once is allowed", axis);
        }
        reduced[axis] = true;
    }
    for (int32_t i = 0; i < rank; ++i) {
        result->dims[i] = reduced[i] ? 1 : result->dims[i];
    }
    return RMSNORM_CLI_DONE;
}

static int check_axes(const rmsnorm_cli_call *call)
{
    if (call->inputs[1] == NULL) {
        return RMSNORM_CLI_DONE;
    }
    return call->inputs[1]->rank == 1 ? rmsnorm_cli_call_known(call, 1)
                                      : rmsnorm_cli_fail("input 1 (axes) is of rank %d, it must be a list: rank 1",
                                                         (int)call->inputs[1]->rank);
}

int rmsnorm_cli_infer_mean(const rmsnorm_cli_call *call)
{
    bool reduced[RMSNORM_MAX_RANK];
    rmsnorm_tensor kept;
    if (check_axes(call) != RMSNORM_CLI_DONE || reduce(call, &kept, reduced) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const bool keep = rmsnorm_cli_call_int(call, "keepdims") != 0;
    call->output->dtype = kept.dtype;
    for (int32_t i = 0; i < kept.rank; ++i) {
        if (keep || !reduced[i]) {
            call->output->dims[call->output->rank++] = kept.dims[i];
        }
    }
    return RMSNORM_CLI_DONE;
}

/* The mean of nothing is NaN. */
int rmsnorm_cli_compute_mean(const rmsnorm_cli_call *call)
{
    bool reduced[RMSNORM_MAX_RANK];
    rmsnorm_tensor kept;
    const rmsnorm_tensor *input = call->inputs[0];
    const int64_t count = rmsnorm_tensor_count(input);
    const int64_t means = rmsnorm_tensor_count(call->output);
    double *sums = calloc(means > 0 ? (size_t)means : 1, sizeof *sums);
    if (sums == NULL) {
        return rmsnorm_cli_fail("out of memory: %" PRId64 " sums of 8 bytes were needed", means);
    }
    double terms = 1;
    const int code = reduce(call, &kept, reduced);
    for (int32_t i = 0; i < input->rank; ++i) {
        terms *= reduced[i] ? (double)input->dims[i] : 1;
    }
    rmsnorm_cli_walk walk = rmsnorm_cli_walk_begin(input, &kept, NULL);
    for (int64_t i = 0; i < count; ++i, rmsnorm_cli_walk_next(&walk)) {
        sums[walk.at[0]] += rmsnorm_cli_element(input, i);
    }
    for (int64_t i = 0; i < means; ++i) {
        rmsnorm_cli_element_store(call->output, i, sums[i] / terms);
    }
    free(sums);
    return code;
}
