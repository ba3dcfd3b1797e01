#include <inttypes.h>

#include "operator/call.h"
#include "operator/error.h"
#include "operator/overlap.h"
#include "operator/problem.h"
#include "operator/size.h"
#include "operator/text.h"

enum { INPUT = 0, SKIP = 1, GAMMA = 2, BIAS = 3 };
enum { OUTPUT = 0, MEAN = 1, SKIP_INV_STD_VAR = 2, SUM = 3, INV_STD_VAR = 1 };

/* ---- Memory ---------------------------------------------------------------------------------- */

/* Where the bytes of a tensor are whose dtype, shape and stride are right: rows of length elements; no rows, no elements. */
static rmsnorm_status locate(const rmsnorm_call *call, const char *name, const rmsnorm_tensor *tensor, int64_t rows,
                             int64_t length, int64_t stride, rmsnorm_view *view)
{
    const char *const op = call->op->name;
    view->begin = 0;
    view->bytes = 0;
    if (rows == 0) {
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(tensor->data != NULL, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has no data; allowed: %" PRId64 " elements of %s", op, name, rows * length,
                  rmsnorm_dtype_name(tensor->dtype));
    const int64_t size = (int64_t)rmsnorm_dtype_size(tensor->dtype);
    int64_t extent = 0;
    const bool fits = rmsnorm_multiply(rows - 1, stride, &extent) && extent <= INT64_MAX - length &&
                      rmsnorm_multiply(extent + length, size, &extent) && extent <= PTRDIFF_MAX &&
                      (uint64_t)extent <= UINTPTR_MAX - (uintptr_t)tensor->data;
    RMSNORM_CHECK(fits, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has the shape %s and row_stride %" PRId64
                  "; allowed: what fits the address space behind its data",
                  op, name, rmsnorm_words_tensor(tensor).text, tensor->row_stride);
    view->tensor = tensor;
    view->begin = (uintptr_t)tensor->data;
    view->bytes = (size_t)extent;
    view->rows = (size_t)rows;
    view->row_bytes = (size_t)(length * size);
    view->stride_bytes = rows > 1 ? (size_t)(stride * size) : view->row_bytes;
    return RMSNORM_OK;
}

static int64_t stride_of(const rmsnorm_call *call, const rmsnorm_tensor *tensor)
{
    return tensor->row_stride != 0 ? tensor->row_stride : call->hidden_size;
}

/* A tensor that is walked row by row, so its rows may be apart. */
static rmsnorm_status locate_rows(const rmsnorm_call *call, const char *name, const rmsnorm_tensor *tensor,
                                  int64_t rows, rmsnorm_view *view)
{
    const int64_t stride = stride_of(call, tensor);
    RMSNORM_CHECK(stride >= call->hidden_size, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has row_stride %" PRId64 "; allowed: 0 (contiguous), or at least %" PRId64
                  ", the length of a row",
                  call->op->name, name, tensor->row_stride, call->hidden_size);
    return locate(call, name, tensor, rows, call->hidden_size, stride, view);
}

/* A tensor that must be contiguous. The stride may be spelled out: the product of the dims that line up with a row. */
static rmsnorm_status locate_flat(const rmsnorm_call *call, const char *name, const rmsnorm_tensor *tensor,
                                  int64_t count, rmsnorm_view *view)
{
    if (tensor->row_stride != 0) {
        const int32_t leading = tensor->rank - (call->rank - call->axis);
        int64_t length = 1;
        for (int32_t i = leading > 0 ? leading : 0; i < tensor->rank; ++i) {
            length *= tensor->dims[i];
        }
        RMSNORM_CHECK(tensor->row_stride == length, RMSNORM_INVALID_ARGUMENT,
                      "%s: %s has row_stride %" PRId64 "; allowed: 0 (contiguous) or %" PRId64, call->op->name, name,
                      tensor->row_stride, length);
    }
    return locate(call, name, tensor, count > 0 ? 1 : 0, count, count, view);
}

static int64_t skip_rows(const rmsnorm_tensor *skip)
{
    return skip->rank == 2 ? skip->dims[0] : skip->dims[0] * skip->dims[1];
}

static rmsnorm_status locate_inputs(const rmsnorm_call *call, rmsnorm_view views[RMSNORM_MAX_INPUTS])
{
    const rmsnorm_operator *const op = call->op;
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    RMSNORM_TRY(locate_rows(call, op->inputs[INPUT].name, call->inputs[INPUT], call->rows, &views[INPUT]));
    for (size_t i = 1; i < op->input_count; ++i) {
        const rmsnorm_tensor *const tensor = call->inputs[i];
        views[i].begin = 0;
        views[i].bytes = 0;
        if (skip && i == SKIP) {
            const int64_t rows = call->counts[i] > 0 ? skip_rows(tensor) : 0;
            RMSNORM_TRY(locate_rows(call, op->inputs[i].name, tensor, rows, &views[i]));
        } else if (tensor != NULL) {
            RMSNORM_TRY(locate_flat(call, op->inputs[i].name, tensor, call->counts[i], &views[i]));
        }
    }
    return RMSNORM_OK;
}

/* An output that is there must already be what inference says. */
static rmsnorm_status check_output(const rmsnorm_call *call, size_t slot, const rmsnorm_tensor *given)
{
    const char *const op = call->op->name;
    const char *const name = call->op->outputs[slot].name;
    const rmsnorm_dtype dtype = call->output_dtypes[slot];
    RMSNORM_CHECK(given->dtype == dtype, RMSNORM_UNSUPPORTED, "%s: %s has element type %s; allowed: %s", op, name,
                  rmsnorm_words_dtype(given->dtype).text, rmsnorm_dtype_name(dtype));
    const int32_t own = call->is_statistic[slot] ? call->axis : call->rank; /* dims as in the first input, then ones */
    int64_t differences = given->rank ^ call->rank;
    for (int32_t i = 0; differences == 0 && i < call->rank; ++i) {
        differences = given->dims[i] ^ (i < own ? call->dims[i] : 1);
    }
    if (differences == 0) {
        return RMSNORM_OK;
    }
    rmsnorm_tensor expected;
    rmsnorm_call_output(call, slot, &expected);
    return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: %s has the shape %s; allowed: %s", op, name,
                        rmsnorm_words_tensor(given).text, rmsnorm_words_tensor(&expected).text);
}

static rmsnorm_status locate_outputs(const rmsnorm_call *call, rmsnorm_view views[RMSNORM_MAX_OUTPUTS])
{
    const rmsnorm_operator *const op = call->op;
    for (size_t i = 0; i < op->output_count; ++i) {
        const rmsnorm_tensor *const given = call->outputs[i];
        views[i].begin = 0;
        views[i].bytes = 0;
        if (given == NULL || (given->data == NULL && !op->outputs[i].required)) {
            continue;
        }
        RMSNORM_TRY(check_output(call, i, given));
        if (call->is_statistic[i]) {
            RMSNORM_TRY(locate_flat(call, op->outputs[i].name, given, call->rows, &views[i]));
        } else {
            RMSNORM_TRY(locate_rows(call, op->outputs[i].name, given, call->rows, &views[i]));
        }
    }
    return RMSNORM_OK;
}

/* ---- The problem ----------------------------------------------------------------------------- */

/* Puts a dim in front of a nest that is built from the fastest dim on, in reverse. The two merge when one step of the new
 * dim is as far as a whole walk of the one behind it. */
static void add_loop(rmsnorm_loop *loops, int *count, int64_t steps, int64_t stride)
{
    if (steps == 1) {
        return;
    }
    if (*count > 0 && stride == loops[*count - 1].count * loops[*count - 1].stride) {
        loops[*count - 1].count *= steps;
        return;
    }
    loops[(*count)++] = (rmsnorm_loop){steps, stride};
}

static void reverse(rmsnorm_loop *loops, int count)
{
    for (int i = 0; i < count / 2; ++i) {
        const rmsnorm_loop loop = loops[i];
        loops[i] = loops[count - 1 - i];
        loops[count - 1 - i] = loop;
    }
}

static void set_loops(const rmsnorm_call *call, const rmsnorm_tensor *gamma, rmsnorm_problem *problem)
{
    const int32_t offset = call->rank - gamma->rank;
    int64_t walked = 1; /* elements of gamma behind the present dim */
    problem->outer_count = 0;
    problem->inner_count = 0;
    if (call->rows == 0) {
        /* The dims around a 0 may have any product. */
        add_loop(problem->inner, &problem->inner_count, call->hidden_size, 0);
        add_loop(problem->outer, &problem->outer_count, 0, 0);
        return;
    }
    if (gamma->rank == 1 && gamma->dims[0] == call->hidden_size) {
        /* What the rest gives for the gamma that nearly every model has, a tenth of a small call sooner. */
        add_loop(problem->inner, &problem->inner_count, call->hidden_size, 1);
        add_loop(problem->outer, &problem->outer_count, call->rows, 0);
        return;
    }
    for (int32_t i = call->rank; i-- > 0;) {
        const int64_t steps = call->dims[i];
        const int64_t own = i >= offset ? gamma->dims[i - offset] : 1;
        const int64_t stride = own == 1 ? 0 : walked;
        walked *= own;
        if (i >= call->axis) {
            add_loop(problem->inner, &problem->inner_count, steps, stride);
        } else {
            add_loop(problem->outer, &problem->outer_count, steps, stride);
        }
    }
    reverse(problem->inner, problem->inner_count);
    reverse(problem->outer, problem->outer_count);
}

/* The data of an output that is wanted. */
static void *data_of(const rmsnorm_call *call, size_t slot)
{
    return call->outputs[slot] != NULL ? call->outputs[slot]->data : NULL;
}

static void set_rows(const rmsnorm_call *call, const rmsnorm_tensor *gamma, rmsnorm_problem *problem)
{
    rmsnorm_rows *const rows = &problem->rows;
    rows->rows = call->rows;
    rows->hidden_size = call->hidden_size;
    rows->dtype = call->inputs[INPUT]->dtype;
    rows->gamma_dtype = gamma->dtype;
    rows->stash_dtype = call->stash_dtype;
    rows->rounding = call->op->kind == RMSNORM_RMS_NORMALIZATION ? RMSNORM_ROUND_TWICE : RMSNORM_ROUND_ONCE;
    rows->epsilon = call->attributes->epsilon;
    rows->input = call->inputs[INPUT]->data;
    rows->input_stride = stride_of(call, call->inputs[INPUT]);
    rows->gamma = gamma->data;
    rows->gamma_stride = 0;
    rows->output = call->outputs[OUTPUT]->data;
    rows->output_stride = stride_of(call, call->outputs[OUTPUT]);
}

/* The slots that the skip operator has and the others do not. */
static void set_skip(const rmsnorm_call *call, rmsnorm_problem *problem)
{
    rmsnorm_rows *const rows = &problem->rows;
    const rmsnorm_tensor *const skip = call->inputs[SKIP];
    rows->skip = skip->data;
    rows->skip_stride = stride_of(call, skip);
    rows->skip_rows = call->rows > 0 ? skip_rows(skip) : 0;
    rows->bias = call->inputs[BIAS] != NULL ? call->inputs[BIAS]->data : NULL;
    rows->inv_std_var = data_of(call, SKIP_INV_STD_VAR);
    rows->sum = data_of(call, SUM);
    rows->sum_stride = rows->sum != NULL ? stride_of(call, call->outputs[SUM]) : 0;
    problem->mean = data_of(call, MEAN);
}

static void set_no_skip(const rmsnorm_call *call, rmsnorm_problem *problem)
{
    rmsnorm_rows *const rows = &problem->rows;
    rows->skip = NULL;
    rows->skip_stride = 0;
    rows->skip_rows = 0;
    rows->bias = NULL;
    rows->inv_std_var = call->op->output_count > INV_STD_VAR ? data_of(call, INV_STD_VAR) : NULL;
    rows->sum = NULL;
    rows->sum_stride = 0;
    problem->mean = NULL;
}

rmsnorm_status rmsnorm_resolve(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                               const rmsnorm_tensor *const *inputs, size_t input_count, rmsnorm_tensor *const *outputs,
                               size_t output_count, rmsnorm_problem *problem)
{
    rmsnorm_call call;
    RMSNORM_TRY(rmsnorm_call_check(&call, op, attributes, inputs, input_count, outputs, output_count, true, NULL));
    rmsnorm_view input_views[RMSNORM_MAX_INPUTS];
    rmsnorm_view output_views[RMSNORM_MAX_OUTPUTS];
    RMSNORM_TRY(locate_inputs(&call, input_views));
    RMSNORM_TRY(locate_outputs(&call, output_views));
    RMSNORM_TRY(rmsnorm_check_overlaps(&call, input_views, output_views));
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const rmsnorm_tensor *const gamma = call.inputs[skip ? GAMMA : 1];
    set_rows(&call, gamma, problem);
    set_loops(&call, gamma, problem);
    if (skip) {
        set_skip(&call, problem);
    } else {
        set_no_skip(&call, problem);
    }
    return RMSNORM_OK;
}
