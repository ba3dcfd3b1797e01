/* Rules for operators that move, add and drop dims. */
#include "rewrite/infer.h"

#include <string.h>

rmsnorm_status rmsnorm_rule_transpose(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    const rmsnorm_known data = known;
    int64_t order[RMSNORM_MAX_RANK];
    size_t count;
    if (!rmsnorm_asked_ints(asked, "perm", order, RMSNORM_MAX_RANK, &count)) {
        if (known.open) {
            known = rmsnorm_known_nothing(known.dtype);
            return rmsnorm_asked_give(asked, 0, &known);
        }
        count = (size_t)known.rank;
        for (size_t i = 0; i < count; i++) {
            order[i] = known.rank - 1 - (int32_t)i;
        }
    }
    bool taken[RMSNORM_MAX_RANK] = {false};
    bool fits = rmsnorm_known_close(&known, (int32_t)count);
    rmsnorm_known result = known;
    for (size_t i = 0; fits && i < count; i++) {
        fits = order[i] >= 0 && order[i] < (int64_t)count && !taken[order[i]];
        if (fits) {
            taken[order[i]] = true;
            result.dims[i] = known.dims[order[i]];
        }
    }
    if (!fits) {
        return rmsnorm_asked_fault(asked, "the attribute perm is no order of the dims of %s",
                                   rmsnorm_known_words(&data).text);
    }
    return rmsnorm_asked_give(asked, 0, &result);
}

rmsnorm_status rmsnorm_rule_flatten(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    rmsnorm_ir_dim dims[] = {rmsnorm_dim_unknown(), rmsnorm_dim_unknown()};
    const int64_t given = rmsnorm_asked_int(asked, "axis", 1);
    const int64_t axis = given < 0 ? given + known.rank : given;
    if (!known.open) {
        if (axis < 0 || axis > known.rank) {
            return rmsnorm_asked_axis_fault(asked, &known);
        }
        dims[0] = rmsnorm_dim_product(known.dims, (int32_t)axis);
        dims[1] = rmsnorm_dim_product(known.dims + axis, known.rank - (int32_t)axis);
    }
    known = rmsnorm_known_dims(known.dtype, dims, 2);
    return rmsnorm_asked_give(asked, 0, &known);
}

/* ---- Dims of 1 ------------------------------------------------------------------------------- */

/* The axes of Squeeze and Unsqueeze, an attribute before opset 13. told: whether they are known; false as the result: there
 * are none. */
static bool read_axes(const rmsnorm_asked *asked, int64_t *axes, size_t *count, bool *told)
{
    *told = rmsnorm_asked_ints(asked, "axes", axes, RMSNORM_MAX_RANK, count);
    if (*told) {
        return true;
    }
    *told = rmsnorm_asked_numbers(asked, 1, axes, RMSNORM_MAX_RANK, count);
    return *told || rmsnorm_asked_has(asked, 1) || rmsnorm_ir_attribute(asked->ir, asked->node, "axes") != NULL;
}

static rmsnorm_status pass_content(const rmsnorm_asked *asked)
{
    rmsnorm_content content;
    const rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    return !known.open && known.rank <= 1 && rmsnorm_asked_content(asked, 0, &content)
               ? rmsnorm_asked_give_content(asked, &content)
               : RMSNORM_OK;
}

/* Marks the dims that go. sure: that those are all. False: one of them is not 1. */
static bool mark_axes(rmsnorm_known *known, const int64_t *axes, size_t count, bool *gone, bool *sure)
{
    int32_t at;
    for (size_t i = 0; i < count; i++) { /* first the dims they show, then their places */
        *sure = *sure && rmsnorm_known_axis(known, axes[i], &at);
    }
    for (size_t i = 0; *sure && i < count; i++) {
        (void)rmsnorm_known_axis(known, axes[i], &at);
        gone[at] = true;
        rmsnorm_ir_dim one = rmsnorm_dim(1);
        if (!rmsnorm_dim_unite(&one, known->dims[at])) {
            return false;
        }
    }
    return true;
}

rmsnorm_status rmsnorm_rule_squeeze(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    const rmsnorm_known data = known;
    int64_t axes[RMSNORM_MAX_RANK];
    size_t count;
    bool told = false, gone[RMSNORM_MAX_RANK] = {false};
    bool sure = true;
    if (read_axes(asked, axes, &count, &told)) {
        sure = told;
        if (told && !mark_axes(&known, axes, count, gone, &sure)) {
            return rmsnorm_asked_fault(asked, "a dim of %s that is not 1 cannot be squeezed",
                                       rmsnorm_known_words(&data).text);
        }
    } else {
        sure = !known.open;
        for (int32_t d = 0; d < known.rank; d++) {
            sure = sure && known.dims[d].number != RMSNORM_NO_NUMBER;
            gone[d] = known.dims[d].number == 1;
        }
    }
    int32_t kept = 0;
    for (int32_t d = 0; d < known.rank; d++) {
        if (!gone[d]) {
            known.dims[kept++] = known.dims[d];
        }
    }
    known.rank = kept;
    if (!sure) {
        if (told && !known.open) {
            return rmsnorm_asked_axis_fault(asked, &data);
        }
        known = rmsnorm_known_nothing(known.dtype);
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    return pass_content(asked);
}

/* Dims of 1 put in; from the right, as far as the dims of an open shape go. False: an axis is out of range, or twice there. */
static bool put_in(const rmsnorm_known *known, const int64_t *axes, size_t count, rmsnorm_known *result)
{
    const int64_t rank = known->rank + (int64_t)count;
    enum { PLACES = 2 * RMSNORM_MAX_RANK };
    bool one[PLACES] = {false};
    *result = rmsnorm_known_nothing(known->dtype);
    for (size_t i = 0; i < count; i++) {
        if (known->open && axes[i] >= 0) {
            return true;
        }
        const int64_t place = axes[i] < 0 ? -1 - axes[i] : rank - 1 - axes[i]; /* from the right */
        if (place < 0 || place >= PLACES || (!known->open && place >= rank) || one[place]) {
            return false;
        }
        one[place] = true;
    }
    rmsnorm_ir_dim dims[RMSNORM_MAX_RANK];
    int32_t taken = 0, length = 0;
    while (length < RMSNORM_MAX_RANK && (one[length] || taken < known->rank)) {
        const bool new_dim = one[length];
        dims[RMSNORM_MAX_RANK - 1 - length] = new_dim ? rmsnorm_dim(1) : known->dims[known->rank - 1 - taken];
        taken += !new_dim;
        length++;
    }
    *result = rmsnorm_known_dims(known->dtype, dims + RMSNORM_MAX_RANK - length, (size_t)length);
    result->open = known->open || rank > RMSNORM_MAX_RANK;
    return true;
}

rmsnorm_status rmsnorm_rule_unsqueeze(const rmsnorm_asked *asked)
{
    const rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    int64_t axes[RMSNORM_MAX_RANK];
    size_t count;
    bool told;
    rmsnorm_known result = rmsnorm_known_nothing(known.dtype);
    if (read_axes(asked, axes, &count, &told) && told && !put_in(&known, axes, count, &result)) {
        return rmsnorm_asked_fault(asked, "the axes do not fit the shape %s", rmsnorm_known_words(&known).text);
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &result));
    return pass_content(asked);
}

/* ---- Concat and Split ------------------------------------------------------------------------ */

static rmsnorm_ir_dim add_dims(rmsnorm_ir_dim a, rmsnorm_ir_dim b)
{
    const bool numbers = a.number != RMSNORM_NO_NUMBER && b.number != RMSNORM_NO_NUMBER;
    return numbers && a.number <= INT64_MAX - b.number ? rmsnorm_dim(a.number + b.number) : rmsnorm_dim_unknown();
}

/* All inputs have one element type and one rank; where one tells it, it is told of all. The place of the first that has others in
 * `odd`, else `count`. */
static rmsnorm_known common_shape(const rmsnorm_asked *asked, size_t count, size_t *odd)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    for (*odd = 1; *odd < count; (*odd)++) {
        const rmsnorm_known input = rmsnorm_asked_input(asked, *odd);
        known.dtype = known.dtype != RMSNORM_UNDEFINED ? known.dtype : input.dtype;
        const bool fits =
            input.open ? rmsnorm_known_reach(&known, input.rank) : rmsnorm_known_close(&known, input.rank);
        if (!fits || (input.dtype != RMSNORM_UNDEFINED && input.dtype != known.dtype)) {
            return known;
        }
    }
    *odd = count;
    return known;
}

/* Joins another input to what there is of the result. False: they contradict each other. */
static bool join(rmsnorm_known *known, const rmsnorm_known *input, int32_t at)
{
    rmsnorm_known other = *input;
    if (!known->open && !rmsnorm_known_close(&other, known->rank)) {
        return false;
    }
    if (!rmsnorm_known_reach(&other, known->rank)) {
        return false;
    }
    for (int32_t d = 0; d < known->rank; d++) {
        const rmsnorm_ir_dim dim = other.dims[other.rank - known->rank + d];
        if (d == at) {
            known->dims[d] = add_dims(known->dims[d], dim);
        } else if (!rmsnorm_dim_unite(&known->dims[d], dim)) {
            return false;
        }
    }
    return true;
}

static rmsnorm_status join_content(const rmsnorm_asked *asked, size_t count)
{
    rmsnorm_content content = {.count = 0};
    for (size_t i = 0; i < count; i++) {
        rmsnorm_content part;
        if (!rmsnorm_asked_content(asked, i, &part) || part.count > RMSNORM_MAX_CONTENT - content.count) {
            return RMSNORM_OK;
        }
        memcpy(content.items + content.count, part.items, part.count * sizeof part.items[0]);
        content.count += part.count;
    }
    return rmsnorm_asked_give_content(asked, &content);
}

static rmsnorm_status odd_fault(const rmsnorm_asked *asked, size_t odd, const rmsnorm_known *known)
{
    const rmsnorm_known input = rmsnorm_asked_input(asked, odd);
    return rmsnorm_asked_fault(asked, "input %zu, %s %s, does not go with the others, %s %s", odd,
                               rmsnorm_words_dtype(input.dtype).text, rmsnorm_known_words(&input).text,
                               rmsnorm_words_dtype(known->dtype).text, rmsnorm_known_words(known).text);
}

rmsnorm_status rmsnorm_rule_concat(const rmsnorm_asked *asked)
{
    const size_t count = asked->ir->nodes[asked->node].shown.input_count;
    size_t odd;
    rmsnorm_known known = common_shape(asked, count, &odd);
    if (odd < count) {
        return odd_fault(asked, odd, &known);
    }
    int32_t at;
    if (!rmsnorm_known_axis(&known, rmsnorm_asked_int(asked, "axis", 1), &at)) {
        if (!known.open) {
            return rmsnorm_asked_axis_fault(asked, &known);
        }
        known = rmsnorm_known_nothing(known.dtype);
        return rmsnorm_asked_give(asked, 0, &known);
    }
    rmsnorm_known result = known;
    for (int32_t d = 0; d < result.rank && count > 1; d++) {
        result.dims[d] = d == at ? rmsnorm_dim(0) : rmsnorm_dim_unknown();
    }
    for (size_t i = 0; i < count && count > 1; i++) {
        const rmsnorm_known input = rmsnorm_asked_input(asked, i);
        if (!join(&result, &input, at)) {
            return odd_fault(asked, i, &known);
        }
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &result));
    return !result.open && result.rank == 1 ? join_content(asked, count) : RMSNORM_OK;
}

rmsnorm_status rmsnorm_rule_split(const rmsnorm_asked *asked)
{
    const size_t outputs = asked->ir->nodes[asked->node].shown.output_count;
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    int64_t sizes[RMSNORM_MAX_CONTENT];
    size_t count = 0;
    const bool told = rmsnorm_asked_ints(asked, "split", sizes, RMSNORM_MAX_CONTENT, &count) ||
                      rmsnorm_asked_numbers(asked, 1, sizes, RMSNORM_MAX_CONTENT, &count);
    const bool equal =
        !told && !rmsnorm_asked_has(asked, 1) && rmsnorm_ir_attribute(asked->ir, asked->node, "split") == NULL;
    int32_t at;
    if (!rmsnorm_known_axis(&known, rmsnorm_asked_int(asked, "axis", 0), &at)) {
        if (!known.open) {
            return rmsnorm_asked_axis_fault(asked, &known);
        }
        known = rmsnorm_known_nothing(known.dtype);
        at = -1;
    }
    const int64_t whole = at >= 0 ? known.dims[at].number : RMSNORM_NO_NUMBER;
    const int64_t parts = rmsnorm_asked_int(asked, "num_outputs", (int64_t)outputs);
    const bool even = equal && whole >= 0 && parts > 0;
    const int64_t part = even ? whole / parts + (whole % parts != 0) : 0; /* the last one may be smaller */
    for (size_t i = 0; i < outputs; i++) {
        if (at >= 0) {
            known.dims[at] = told && i < count ? rmsnorm_dim(sizes[i]) : rmsnorm_dim_unknown();
        }
        if (even) {
            const int64_t rest = part > 0 && (int64_t)i <= whole / part ? whole - (int64_t)i * part : 0;
            known.dims[at] = rmsnorm_dim(rest < part ? rest : part);
        }
        RMSNORM_TRY(rmsnorm_asked_give(asked, i, &known));
    }
    return RMSNORM_OK;
}
