/* primitive_elements.c: primitives that go by elements: arithmetic with NumPy's broadcast, and conversions. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli.h"
#include "element.h"
#include "primitive_parts.h"
#include "text.h"

static bool is_integer(const rmsnorm_tensor *tensor)
{
    return tensor->dtype == RMSNORM_INT64 || tensor->dtype == RMSNORM_INT32;
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

/* Widens the output's dims by those of an input; dims are aligned at the right, and 1 is widened. */
static int broadcast(const rmsnorm_cli_call *call, const rmsnorm_tensor *input)
{
    rmsnorm_tensor *output = call->output;
    const int32_t rank = output->rank > input->rank ? output->rank : input->rank;
    int64_t dims[RMSNORM_MAX_RANK] = {0};
    for (int32_t i = 1; i <= rank; ++i) {
        const int64_t a = i <= output->rank ? output->dims[output->rank - i] : 1;
        const int64_t b = i <= input->rank ? input->dims[input->rank - i] : 1;
        if (a != b && a != 1 && b != 1) {
            char shape[2][RMSNORM_CLI_SHAPE];
            return rmsnorm_cli_fail("the shapes %.200s and %.200s do not broadcast: dim %d from the right is %" PRId64
                                    " and %" PRId64 ", allowed are equal ones and 1",
                                    rmsnorm_cli_shape(call->inputs[0], shape[0]), rmsnorm_cli_shape(input, shape[1]),
                                    (int)i, a, b);
        }
        dims[rank - i] = a == 1 ? b : a;
    }
    output->rank = rank;
    memcpy(output->dims, dims, sizeof dims);
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_infer_elements(const rmsnorm_cli_call *call)
{
    call->output->dtype = call->inputs[0]->dtype;
    int code = broadcast(call, call->inputs[0]);
    if (code == RMSNORM_CLI_DONE && call->inputs[1] != NULL) {
        code = broadcast(call, call->inputs[1]);
    }
    return code;
}

/* An exponent may be an integer. */
static double load(const rmsnorm_tensor *tensor, int64_t index)
{
    return is_integer(tensor) ? (double)rmsnorm_cli_element_integer(tensor, index) : rmsnorm_cli_element(tensor, index);
}

static void compute_integers(const rmsnorm_cli_call *call)
{
    rmsnorm_cli_walk walk = rmsnorm_cli_walk_begin(call->output, call->inputs[0], call->inputs[1]);
    const int64_t count = rmsnorm_tensor_count(call->output);
    for (int64_t i = 0; i < count; ++i, rmsnorm_cli_walk_next(&walk)) {
        const int64_t a = rmsnorm_cli_element_integer(call->inputs[0], walk.at[0]);
        const int64_t b = rmsnorm_cli_element_integer(call->inputs[1], walk.at[1]);
        rmsnorm_cli_element_store_integer(call->output, i, call->primitive->integer(a, b));
    }
}

int rmsnorm_cli_compute_elements(const rmsnorm_cli_call *call)
{
    if (is_integer(call->output)) {
        compute_integers(call);
        return RMSNORM_CLI_DONE;
    }
    rmsnorm_cli_walk walk = rmsnorm_cli_walk_begin(call->output, call->inputs[0], call->inputs[1]);
    const int64_t count = rmsnorm_tensor_count(call->output);
    for (int64_t i = 0; i < count; ++i, rmsnorm_cli_walk_next(&walk)) {
        const double a = load(call->inputs[0], walk.at[0]);
        const double b = call->inputs[1] != NULL ? load(call->inputs[1], walk.at[1]) : 0;
        rmsnorm_cli_element_store(call->output, i, call->primitive->real(a, b));
    }
    return RMSNORM_CLI_DONE;
}

/* ---- Conversions ----------------------------------------------------------------------------- */

int rmsnorm_cli_compute_copy(const rmsnorm_cli_call *call)
{
    const size_t count = (size_t)rmsnorm_tensor_count(call->output);
    memcpy(call->output->data, call->inputs[0]->data, count * rmsnorm_cli_element_size(call->output->dtype));
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_infer_cast(const rmsnorm_cli_call *call)
{
    const int64_t to = rmsnorm_cli_call_int(call, "to");
    const rmsnorm_dtypes allowed = call->primitive->types[0];
    if (to < 0 || to > 31 || (allowed & RMSNORM_DTYPES(to)) == 0) {
        char types[RMSNORM_CLI_TYPES];
        return rmsnorm_cli_fail("'to' is %" PRId64 " (%s), allowed are %s", to,
                                to < 0 || to > 31 ? "unknown" : rmsnorm_dtype_name((rmsnorm_dtype)to),
                                rmsnorm_cli_types(allowed, types));
    }
    *call->output = *call->inputs[0];
    call->output->data = NULL;
    call->output->dtype = (rmsnorm_dtype)to;
    return RMSNORM_CLI_DONE;
}

/* What rounds to the type as the integer does. double has 53 bits: where an integer has more, those below the first 53 become
 * one, which no type narrower than double can tell from them. */
static double real_of(int64_t value, rmsnorm_dtype to)
{
    const uint64_t below = 0x7ff;
    const uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (to == RMSNORM_DOUBLE || size >> 53 == 0) {
        return (double)value;
    }
    const double kept = (double)((size & ~below) | ((size & below) != 0 ? below + 1 : 0));
    return value < 0 ? -kept : kept;
}

static int store_whole(const rmsnorm_cli_call *call, int64_t index, double value)
{
    const double whole = trunc(value);
    const double limit = call->output->dtype == RMSNORM_INT64 ? 0x1p63 : 0x1p31;
    if (!(whole >= -limit && whole < limit)) {
        char number[RMSNORM_CLI_NUMBER];
        return rmsnorm_cli_fail("element %" PRId64 " is %s, which %s does not hold", index,
                                rmsnorm_cli_number(value, false, number), rmsnorm_dtype_name(call->output->dtype));
    }
    rmsnorm_cli_element_store_integer(call->output, index, (int64_t)whole);
    return RMSNORM_CLI_DONE;
}

static int cast_integer(const rmsnorm_cli_call *call, int64_t index)
{
    const int64_t value = rmsnorm_cli_element_integer(call->inputs[0], index);
    if (!is_integer(call->output)) {
        rmsnorm_cli_element_store(call->output, index, real_of(value, call->output->dtype));
        return RMSNORM_CLI_DONE;
    }
    if (call->output->dtype == RMSNORM_INT32 && (value < INT32_MIN || value > INT32_MAX)) {
        return rmsnorm_cli_fail("element %" PRId64 " is %" PRId64 ", which int32 does not hold", index, value);
    }
    rmsnorm_cli_element_store_integer(call->output, index, value);
    return RMSNORM_CLI_DONE;
}

static int cast_real(const rmsnorm_cli_call *call, int64_t index)
{
    const double value = rmsnorm_cli_element(call->inputs[0], index);
    if (is_integer(call->output)) {
        return store_whole(call, index, value);
    }
    rmsnorm_cli_element_store(call->output, index, value);
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_compute_cast(const rmsnorm_cli_call *call)
{
    if (call->inputs[0]->dtype == call->output->dtype) {
        return rmsnorm_cli_compute_copy(call);
    }
    const bool integer = is_integer(call->inputs[0]);
    const int64_t count = rmsnorm_tensor_count(call->output);
    int code = RMSNORM_CLI_DONE;
    for (int64_t i = 0; i < count && code == RMSNORM_CLI_DONE; ++i) {
        code = integer ? cast_integer(call, i) : cast_real(call, i);
    }
    return code;
}
