/* primitive_values.c: primitives that make values of their own: constants, and what follows from shapes. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli.h"
#include "element.h"
#include "primitive_parts.h"
#include "text.h"

/* ---- Constant -------------------------------------------------------------------------------- */

int rmsnorm_cli_infer_constant(const rmsnorm_cli_call *call)
{
    if (call->node->attribute_count != 1) {
        return rmsnorm_cli_fail("the node has %zu attributes, a Constant has one", call->node->attribute_count);
    }
    const rmsnorm_node_attribute *given = &call->node->attributes[0];
    rmsnorm_tensor *output = call->output;
    switch (given->kind) {
    case RMSNORM_NODE_ATTRIBUTE_INT:
        *output = (rmsnorm_tensor){.dtype = RMSNORM_INT64, .data = (void *)&given->i};
        break;
    case RMSNORM_NODE_ATTRIBUTE_FLOAT:
        *output = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .data = (void *)&given->f};
        break;
    case RMSNORM_NODE_ATTRIBUTE_INTS:
        *output = (rmsnorm_tensor){.dtype = RMSNORM_INT64, .rank = 1, .dims = {(int64_t)given->count}};
        output->data = given->count > 0 ? (void *)given->ints : (void *)&given->i;
        break;
    case RMSNORM_NODE_ATTRIBUTE_FLOATS:
        *output = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {(int64_t)given->count}};
        output->data = given->count > 0 ? (void *)given->floats : (void *)&given->f;
        break;
    default:
        *output = given->tensor;
        break;
    }
    return RMSNORM_CLI_DONE;
}

/* ---- Shape, Size ----------------------------------------------------------------------------- */

/* The dims from `start` on, `end` left out; both count from the end where they are negative, and are cut to the rank. */
static int64_t cut(int64_t index, int32_t rank)
{
    const int64_t counted = index < 0 ? index + rank : index;
    return counted < 0 ? 0 : counted > rank ? rank : counted;
}

static int64_t first_dim(const rmsnorm_cli_call *call)
{
    const rmsnorm_node_attribute *given = rmsnorm_cli_call_attribute(call->node, "start");
    return given == NULL ? 0 : cut(given->i, call->inputs[0]->rank);
}

int rmsnorm_cli_infer_shape(const rmsnorm_cli_call *call)
{
    const int32_t rank = call->inputs[0]->rank;
    const rmsnorm_node_attribute *given = rmsnorm_cli_call_attribute(call->node, "end");
    const int64_t count = (given == NULL ? rank : cut(given->i, rank)) - first_dim(call);
    *call->output = (rmsnorm_tensor){.dtype = RMSNORM_INT64, .rank = 1, .dims = {count > 0 ? count : 0}};
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_compute_shape(const rmsnorm_cli_call *call)
{
    const int64_t *dims = call->inputs[0]->dims + first_dim(call);
    memcpy(call->output->data, dims, (size_t)call->output->dims[0] * sizeof *dims);
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_infer_size(const rmsnorm_cli_call *call)
{
    call->output->dtype = RMSNORM_INT64;
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_compute_size(const rmsnorm_cli_call *call)
{
    rmsnorm_cli_element_store_integer(call->output, 0, rmsnorm_tensor_count(call->inputs[0]));
    return RMSNORM_CLI_DONE;
}

/* ---- ConstantOfShape ------------------------------------------------------------------------- */

int rmsnorm_cli_infer_filled(const rmsnorm_cli_call *call)
{
    const rmsnorm_tensor *shape = call->inputs[0];
    const rmsnorm_node_attribute *value = rmsnorm_cli_call_attribute(call->node, "value");
    if (value != NULL && (rmsnorm_tensor_count(&value->tensor) != 1 || value->tensor.data == NULL)) {
        char text[RMSNORM_CLI_SHAPE];
        return rmsnorm_cli_fail("'value' is %s %.160s, allowed is one float, double, float16, bfloat16, int32 or int64",
                                rmsnorm_dtype_name(value->tensor.dtype), rmsnorm_cli_shape(&value->tensor, text));
    }
    if (shape->rank != 1 || shape->dims[0] > RMSNORM_MAX_RANK) {
        char text[RMSNORM_CLI_SHAPE];
        return rmsnorm_cli_fail("input 0 is of the shape %.160s, it must be a list of at most %d dims",
                                rmsnorm_cli_shape(shape, text), RMSNORM_MAX_RANK);
    }
    if (rmsnorm_cli_call_known(call, 0) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    call->output->dtype = value != NULL ? value->tensor.dtype : RMSNORM_FLOAT;
    call->output->rank = (int32_t)shape->dims[0];
    for (int32_t i = 0; i < call->output->rank; ++i) {
        const int64_t dim = rmsnorm_cli_element_integer(shape, i);
        if (dim < 0) {
            return rmsnorm_cli_fail("input 0 says that dim %d is %" PRId64 ", allowed are 0 and more", (int)i, dim);
        }
        call->output->dims[i] = dim;
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_compute_filled(const rmsnorm_cli_call *call)
{
    const rmsnorm_node_attribute *value = rmsnorm_cli_call_attribute(call->node, "value");
    const size_t size = rmsnorm_cli_element_size(call->output->dtype);
    const size_t count = (size_t)rmsnorm_tensor_count(call->output);
    static const float zero = 0;
    const void *element = value != NULL ? value->tensor.data : &zero;
    for (size_t i = 0; i < count; ++i) {
        memcpy((char *)call->output->data + i * size, element, size);
    }
    return RMSNORM_CLI_DONE;
}

/* ---- Range ----------------------------------------------------------------------------------- */

/* Negative: more than can be counted. */
static int64_t count_integers(int64_t start, int64_t limit, int64_t delta)
{
    if (delta > 0 ? start >= limit : start <= limit) {
        return 0;
    }
    const uint64_t way = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    const uint64_t count = (way - 1) / step + 1;
    return count <= INT64_MAX ? (int64_t)count : -1;
}

static int64_t count_reals(double start, double limit, double delta)
{
    const double count = ceil((limit - start) / delta);
    return count <= 0 ? 0 : count < 0x1p62 ? (int64_t)count : -1;
}

int rmsnorm_cli_infer_range(const rmsnorm_cli_call *call)
{
    const rmsnorm_tensor *const *inputs = call->inputs;
    for (int i = 0; i < RMSNORM_CLI_PRIMITIVE_INPUTS; ++i) {
        if (inputs[i]->rank != 0) {
            return rmsnorm_cli_fail("input %d is of rank %d, Range takes scalars: rank 0", i, (int)inputs[i]->rank);
        }
        if (rmsnorm_cli_call_known(call, i) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    const bool integer = inputs[0]->dtype == RMSNORM_INT64 || inputs[0]->dtype == RMSNORM_INT32;
    const bool still =
        integer ? rmsnorm_cli_element_integer(inputs[2], 0) == 0 : rmsnorm_cli_element(inputs[2], 0) == 0;
    if (still) {
        return rmsnorm_cli_fail("input 2 (delta) is 0, a range must move");
    }
    const int64_t count =
        integer ? count_integers(rmsnorm_cli_element_integer(inputs[0], 0), rmsnorm_cli_element_integer(inputs[1], 0),
                                 rmsnorm_cli_element_integer(inputs[2], 0))
                : count_reals(rmsnorm_cli_element(inputs[0], 0), rmsnorm_cli_element(inputs[1], 0),
                              rmsnorm_cli_element(inputs[2], 0));
    if (count < 0) {
        return rmsnorm_cli_fail("the range has no end or more elements than can be counted");
    }
    *call->output = (rmsnorm_tensor){.dtype = inputs[0]->dtype, .rank = 1, .dims = {count}};
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_compute_range(const rmsnorm_cli_call *call)
{
    const rmsnorm_dtype dtype = call->output->dtype;
    const bool integer = dtype == RMSNORM_INT64 || dtype == RMSNORM_INT32;
    for (int64_t i = 0; i < call->output->dims[0]; ++i) {
        if (integer) {
            const uint64_t start = (uint64_t)rmsnorm_cli_element_integer(call->inputs[0], 0);
            const uint64_t delta = (uint64_t)rmsnorm_cli_element_integer(call->inputs[2], 0);
            rmsnorm_cli_element_store_integer(call->output, i, (int64_t)(start + (uint64_t)i * delta));
        } else {
            const double start = rmsnorm_cli_element(call->inputs[0], 0);
            const double delta = rmsnorm_cli_element(call->inputs[2], 0);
            rmsnorm_cli_element_store(call->output, i, start + (double)i * delta);
        }
    }
    return RMSNORM_CLI_DONE;
}
