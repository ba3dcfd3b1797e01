/* shape.c: what the shapes of the inputs must have to do with each other, in numbers and in names. */
#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "operator/call.h"
#include "operator/error.h"
#include "operator/size.h"
#include "operator/text.h"

enum { X = 0, SCALE = 1, INPUT = 0, SKIP = 1, GAMMA = 2, BIAS = 3 };

/* The name of a symbolic dim, NULL for a number or an unknown one. */
static const char *name_of(const rmsnorm_tensor *tensor, int32_t dim)
{
    const char *const name = tensor->dims[dim] == RMSNORM_UNKNOWN ? tensor->dim_names[dim] : NULL;
    return name != NULL && name[0] != '\0' ? name : NULL;
}

static bool same_name(const char *a, const char *b)
{
    return a != NULL && b != NULL && strcmp(a, b) == 0;
}

/* Each dim of each input stands in at most one relation and one range, so there is always room. */
static void add_constraint(rmsnorm_call *call, rmsnorm_constraint constraint)
{
    if (call->constraints != NULL) {
        assert(call->constraints->count < RMSNORM_MAX_CONSTRAINTS);
        call->constraints->items[call->constraints->count++] = constraint;
    }
}

static void require_range(rmsnorm_call *call, rmsnorm_dim_ref dim, int64_t minimum, int64_t maximum)
{
    add_constraint(call, (rmsnorm_constraint){RMSNORM_DIM_RANGE, dim, dim, minimum, maximum});
}

/* Requires left = right, or left = 1 where that is allowed. known is the number of right as far as any input told it, and
 * name its name; both take what left adds. False when the numbers contradict each other. */
static bool relate(rmsnorm_call *call, rmsnorm_dim_ref left, rmsnorm_dim_ref right, bool or_one, int64_t *known,
                   const char **name)
{
    const rmsnorm_tensor *const left_tensor = call->inputs[left.input];
    const rmsnorm_tensor *const right_tensor = call->inputs[right.input];
    const int64_t number = left_tensor->dims[left.dim];
    if (or_one && number == 1) {
        return true;
    }
    if (number != RMSNORM_UNKNOWN) {
        if (*known == RMSNORM_UNKNOWN) {
            *known = number;
        }
        if (*known != number) {
            return false;
        }
        if (right_tensor->dims[right.dim] != RMSNORM_UNKNOWN) {
            return true;
        }
        or_one = false;
    }
    const char *const left_name = name_of(left_tensor, left.dim);
    const char *const right_name = name_of(right_tensor, right.dim);
    if (same_name(left_name, right_name)) {
        return true;
    }
    or_one = or_one && right_tensor->dims[right.dim] != 1;
    if (!or_one && *name == NULL) {
        *name = left_name;
    }
    add_constraint(call,
                   (rmsnorm_constraint){or_one ? RMSNORM_DIM_ONE_OR_EQUAL : RMSNORM_DIM_EQUAL, left, right, 0, 0});
    return true;
}

/* Takes the first input's shape as the call's. */
static void adopt(rmsnorm_call *call, const rmsnorm_tensor *tensor, int32_t axis)
{
    call->rank = tensor->rank;
    call->axis = axis;
    for (int32_t i = 0; i < tensor->rank; ++i) {
        call->dims[i] = tensor->dims[i];
        call->names[i] = tensor->dims[i] == RMSNORM_UNKNOWN ? name_of(tensor, i) : NULL;
    }
}

/* After all relations: one name cannot be two numbers; a nameless dim whose number another input tells is that number. */
static rmsnorm_status settle(rmsnorm_call *call)
{
    const rmsnorm_tensor *const tensor = call->inputs[0];
    for (int32_t i = 0; i < call->rank; ++i) {
        const char *const name = name_of(tensor, i);
        if (name == NULL && call->dims[i] != RMSNORM_UNKNOWN) {
            call->names[i] = NULL;
        }
        for (int32_t j = 0; name != NULL && j < i; ++j) {
            const bool contradiction = call->dims[i] != RMSNORM_UNKNOWN && call->dims[j] != RMSNORM_UNKNOWN &&
                                       call->dims[i] != call->dims[j] && same_name(name, name_of(tensor, j));
            RMSNORM_CHECK(!contradiction, RMSNORM_INVALID_ARGUMENT,
                          "%s: dim '%.60s' of %s would be both %" PRId64 " and %" PRId64
                          " by the other inputs; allowed: one number for a name",
                          call->op->name, name, call->op->inputs[0].name, call->dims[j], call->dims[i]);
        }
    }
    return RMSNORM_OK;
}

/* The sizes of a row and of the whole, as far as they are numbers. */
static rmsnorm_status measure(rmsnorm_call *call)
{
    const char *const op = call->op->name;
    const rmsnorm_tensor *const tensor = call->inputs[0];
    bool symbolic = false;
    int64_t size = 1;
    int64_t rows = 1;
    for (int32_t i = 0; i < call->rank; ++i) {
        symbolic = symbolic || tensor->dims[i] == RMSNORM_UNKNOWN;
        if (i < call->axis) {
            /* Of a tensor with elements it fits, because their count does; a 0 among the dims makes it 0. */
            (void)rmsnorm_multiply(rows, call->dims[i] >= 0 ? call->dims[i] : 1, &rows);
        } else {
            RMSNORM_CHECK(call->dims[i] < 0 || rmsnorm_multiply(size, call->dims[i], &size), RMSNORM_INVALID_ARGUMENT,
                          "%s: %s has the shape %s; allowed: at most 2^63 - 1 elements per row", op,
                          call->op->inputs[0].name, rmsnorm_words_tensor(tensor).text);
        }
    }
    call->hidden_size = size;
    call->rows = rows;
    /* A run checks the bytes of the outputs with their strides. */
    for (size_t i = 0; !symbolic && !call->strict && i < call->op->output_count; ++i) {
        int64_t bytes = 0;
        const int64_t count = call->is_statistic[i] || call->rows == 0 ? call->rows : call->rows * size;
        const size_t element = rmsnorm_dtype_size(call->output_dtypes[i]);
        RMSNORM_CHECK(rmsnorm_multiply(count, element > 0 ? (int64_t)element : 1, &bytes), RMSNORM_INVALID_ARGUMENT,
                      "%s: %s would have the shape %s; allowed: at most 2^63 - 1 bytes", op, call->op->outputs[i].name,
                      rmsnorm_words_tensor(tensor).text);
    }
    return RMSNORM_OK;
}

/* ---- SimplifiedLayerNormalization and RMSNormalization --------------------------------------- */

static rmsnorm_status relate_scale(rmsnorm_call *call)
{
    const rmsnorm_tensor *const x = call->inputs[X];
    const rmsnorm_tensor *const scale = call->inputs[SCALE];
    const int32_t offset = x->rank - scale->rank;
    bool fits = offset >= 0;
    for (int32_t i = 0; fits && i < scale->rank; ++i) {
        const int32_t d = i + offset;
        fits =
            relate(call, (rmsnorm_dim_ref){SCALE, i}, (rmsnorm_dim_ref){X, d}, true, &call->dims[d], &call->names[d]);
    }
    RMSNORM_CHECK(
        fits, RMSNORM_INVALID_ARGUMENT,
        "%s: scale has the shape %s, X %s; allowed: at most as many dims as X, right-aligned, each 1 or equal to X's",
        call->op->name, rmsnorm_words_tensor(scale).text, rmsnorm_words_tensor(x).text);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_shape_broadcast(rmsnorm_call *call)
{
    const char *const op = call->op->name;
    const rmsnorm_tensor *const x = call->inputs[X];
    const rmsnorm_tensor *const scale = call->inputs[SCALE];
    call->rank = RMSNORM_UNKNOWN;
    if (x == NULL || x->rank == RMSNORM_UNKNOWN) {
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(x->rank > 0, RMSNORM_INVALID_ARGUMENT, "%s: X has rank 0; allowed: 1 to %d", op, RMSNORM_MAX_RANK);
    const int64_t axis = call->attributes->axis;
    RMSNORM_CHECK(axis >= -x->rank && axis < x->rank, RMSNORM_INVALID_ARGUMENT,
                  "%s: axis is %" PRId64 " for X of shape %s; allowed: %" PRId32 " to %" PRId32, op, axis,
                  rmsnorm_words_tensor(x).text, -x->rank, x->rank - 1);
    adopt(call, x, (int32_t)(axis < 0 ? axis + x->rank : axis));
    if (scale != NULL && scale->rank != RMSNORM_UNKNOWN) {
        RMSNORM_TRY(relate_scale(call));
    }
    if (!call->strict) {
        RMSNORM_TRY(settle(call));
    }
    for (int32_t i = call->axis; i < x->rank; ++i) {
        RMSNORM_CHECK(call->dims[i] != 0, RMSNORM_INVALID_ARGUMENT,
                      "%s: X has the shape %s and scale %s, so a row from axis %" PRId32
                      " on has no elements; allowed: dims of 1 and up from there",
                      op, rmsnorm_words_tensor(x).text, scale != NULL ? rmsnorm_words_tensor(scale).text : "is missing",
                      call->axis);
        if (call->dims[i] == RMSNORM_UNKNOWN) {
            require_range(call, (rmsnorm_dim_ref){X, i}, 1, INT64_MAX);
        }
    }
    RMSNORM_TRY(measure(call));
    if (scale == NULL) {
        call->rank = RMSNORM_UNKNOWN;
    }
    return RMSNORM_OK;
}

/* ---- SkipSimplifiedLayerNormalization -------------------------------------------------------- */

static rmsnorm_status check_ranks(const rmsnorm_call *call)
{
    const char *const op = call->op->name;
    const rmsnorm_tensor *const input = call->inputs[INPUT];
    const rmsnorm_tensor *const skip = call->inputs[SKIP];
    RMSNORM_CHECK(input->rank == RMSNORM_UNKNOWN || input->rank == 2 || input->rank == 3, RMSNORM_INVALID_ARGUMENT,
                  "%s: input has the shape %s; allowed: %s", op, rmsnorm_words_tensor(input).text,
                  call->op->inputs[INPUT].shape);
    const bool fits = skip->rank == RMSNORM_UNKNOWN || skip->rank == 2 ||
                      (skip->rank == 3 && (input->rank == RMSNORM_UNKNOWN || input->rank == 3));
    RMSNORM_CHECK(fits, RMSNORM_INVALID_ARGUMENT, "%s: skip has the shape %s, input %s; allowed: %s", op,
                  rmsnorm_words_tensor(skip).text, rmsnorm_words_tensor(input).text, call->op->inputs[SKIP].shape);
    for (size_t i = GAMMA; i <= BIAS; ++i) {
        const rmsnorm_tensor *const tensor = call->inputs[i];
        RMSNORM_CHECK(tensor == NULL || tensor->rank == RMSNORM_UNKNOWN || tensor->rank == 1, RMSNORM_INVALID_ARGUMENT,
                      "%s: %s has the shape %s; allowed: (H), H being the last dim of input", op,
                      call->op->inputs[i].name, rmsnorm_words_tensor(tensor).text);
    }
    return RMSNORM_OK;
}

/* All last dims are H. The first input whose rank is known speaks for it: *h is its number as far as known. */
static rmsnorm_status relate_hidden(rmsnorm_call *call)
{
    const char *const op = call->op->name;
    int64_t number = RMSNORM_UNKNOWN;
    const char *name = NULL;
    rmsnorm_dim_ref h = {-1, 0};
    for (int i = INPUT; i <= BIAS; ++i) {
        const rmsnorm_tensor *const tensor = call->inputs[i];
        if (tensor == NULL || tensor->rank == RMSNORM_UNKNOWN) {
            continue;
        }
        const rmsnorm_dim_ref last = {i, tensor->rank - 1};
        if (h.input < 0) {
            h = last;
            number = tensor->dims[last.dim];
            name = name_of(tensor, last.dim);
            continue;
        }
        const rmsnorm_tensor *const first = call->inputs[h.input];
        RMSNORM_CHECK(relate(call, last, h, false, &number, &name), RMSNORM_INVALID_ARGUMENT,
                      "%s: %s has the shape %s, %s %s, so H would be both %" PRId64 " and %" PRId64
                      "; allowed: the same last dim for all inputs",
                      op, call->op->inputs[i].name, rmsnorm_words_tensor(tensor).text, call->op->inputs[h.input].name,
                      rmsnorm_words_tensor(first).text, number, tensor->dims[last.dim]);
    }
    if (h.input < 0) {
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(number == RMSNORM_UNKNOWN || (number >= 1 && number <= INT_MAX), RMSNORM_INVALID_ARGUMENT,
                  "%s: H, the last dim of all inputs, is %" PRId64 "; allowed: 1 to %d", op, number, INT_MAX);
    if (number == RMSNORM_UNKNOWN) {
        require_range(call, h, 1, INT_MAX);
    }
    if (call->rank != RMSNORM_UNKNOWN) {
        call->dims[call->rank - 1] = number;
        call->names[call->rank - 1] = name;
    }
    return RMSNORM_OK;
}

/* The dims of skip before H; its batch may be 1. */
static rmsnorm_status relate_skip(rmsnorm_call *call)
{
    const rmsnorm_tensor *const input = call->inputs[INPUT];
    const rmsnorm_tensor *const skip = call->inputs[SKIP];
    for (int32_t i = 0; i + 1 < skip->rank; ++i) {
        const int32_t d = i + input->rank - skip->rank;
        RMSNORM_CHECK(relate(call, (rmsnorm_dim_ref){SKIP, i}, (rmsnorm_dim_ref){INPUT, d}, skip->rank == 3 && i == 0,
                             &call->dims[d], &call->names[d]),
                      RMSNORM_INVALID_ARGUMENT, "%s: skip has the shape %s, input %s; allowed: %s", call->op->name,
                      rmsnorm_words_tensor(skip).text, rmsnorm_words_tensor(input).text, call->op->inputs[SKIP].shape);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_shape_skip(rmsnorm_call *call)
{
    const rmsnorm_tensor *const input = call->inputs[INPUT];
    RMSNORM_TRY(check_ranks(call));
    adopt(call, input, input->rank - 1);
    if (input->rank != RMSNORM_UNKNOWN && call->inputs[SKIP]->rank != RMSNORM_UNKNOWN) {
        RMSNORM_TRY(relate_skip(call));
    }
    RMSNORM_TRY(relate_hidden(call));
    if (call->rank == RMSNORM_UNKNOWN) {
        return RMSNORM_OK;
    }
    if (!call->strict) {
        RMSNORM_TRY(settle(call));
    }
    return measure(call);
}
