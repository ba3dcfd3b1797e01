/* Rules for operators that pick elements, or repeat them. */
#include "rewrite/infer.h"

#include <string.h>

#include "operator/size.h"

/* ---- Slice ----------------------------------------------------------------------------------- */

typedef struct cut {
    int64_t start, end, step;
} cut;

/* How many elements are left of so many. False: a step of 0. */
static bool cut_count(int64_t whole, cut c, int64_t *first, int64_t *count)
{
    if (c.step == 0 || c.step == INT64_MIN) {
        return false;
    }
    const int64_t low = c.step > 0 ? 0 : -1, high = c.step > 0 ? whole : whole - 1;
    int64_t start = c.start < 0 ? c.start + whole : c.start;
    int64_t end = c.end < 0 ? c.end + whole : c.end;
    start = start < 0 ? 0 : start;
    start = start > high ? high : start;
    end = end < low ? low : end > high ? high : end;
    const int64_t distance = c.step > 0 ? end - start : start - end;
    const int64_t step = c.step > 0 ? c.step : -c.step;
    *first = start;
    *count = distance > 0 ? (distance - 1) / step + 1 : 0;
    return true;
}

static rmsnorm_ir_dim cut_dim(rmsnorm_ir_dim dim, cut c)
{
    int64_t first;
    int64_t count;
    if (dim.number != RMSNORM_NO_NUMBER) {
        return cut_count(dim.number, c, &first, &count) ? rmsnorm_dim(count) : rmsnorm_dim_unknown();
    }
    const bool all = c.start == 0 && c.end >= INT32_MAX && c.step == 1;
    return all ? dim : rmsnorm_dim_unknown();
}

typedef struct cuts {
    size_t count;
    cut items[RMSNORM_MAX_RANK];
    int64_t axes[RMSNORM_MAX_RANK];
    bool bounds; /* starts, ends and steps are known; axes and count always are */
} cuts;

/* starts, ends, axes, steps: inputs 1 to 4, attributes before opset 10. False: it is not known which axes are cut. */
static bool read_cuts(const rmsnorm_asked *asked, cuts *c)
{
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    int64_t numbers[4][RMSNORM_MAX_RANK];
    size_t counts[4];
    bool told[4], there[4];
    for (size_t i = 0; i < 4; i++) {
        there[i] = rmsnorm_asked_has(asked, i + 1) || rmsnorm_ir_attribute(asked->ir, asked->node, names[i]) != NULL;
        told[i] = rmsnorm_asked_ints(asked, names[i], numbers[i], RMSNORM_MAX_RANK, &counts[i]) ||
                  rmsnorm_asked_numbers(asked, i + 1, numbers[i], RMSNORM_MAX_RANK, &counts[i]);
    }
    rmsnorm_content length; /* of starts, when its elements are not known */
    if (there[2]) {
        c->count = told[2] ? counts[2] : 0;
    } else if (told[0]) {
        c->count = counts[0];
    } else {
        c->count = rmsnorm_asked_content(asked, 1, &length) ? length.count : RMSNORM_MAX_RANK + 1;
    }
    if ((there[2] && !told[2]) || c->count > RMSNORM_MAX_RANK) {
        return false;
    }
    c->bounds = told[0] && told[1] && (told[3] || !there[3]) && counts[0] == c->count && counts[1] == c->count &&
                (!there[3] || counts[3] == c->count);
    for (size_t i = 0; i < c->count; i++) {
        c->axes[i] = there[2] ? numbers[2][i] : (int64_t)i;
        if (c->bounds) {
            c->items[i] = (cut){numbers[0][i], numbers[1][i], there[3] ? numbers[3][i] : 1};
        }
    }
    return true;
}

static rmsnorm_status cut_content(const rmsnorm_asked *asked, const cuts *c)
{
    rmsnorm_content content;
    rmsnorm_content picked = {.count = 0};
    int64_t first;
    int64_t count;
    if (!c->bounds || c->count != 1 || !rmsnorm_asked_content(asked, 0, &content) ||
        !cut_count((int64_t)content.count, c->items[0], &first, &count) || count > (int64_t)content.count) {
        return RMSNORM_OK;
    }
    for (int64_t i = 0; i < count; i++) {
        picked.items[picked.count++] = content.items[first + i * c->items[0].step];
    }
    return rmsnorm_asked_give_content(asked, &picked);
}

rmsnorm_status rmsnorm_rule_slice(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    const bool is_list = !known.open && known.rank == 1;
    cuts c;
    if (!read_cuts(asked, &c)) {
        for (int32_t d = 0; d < known.rank; d++) {
            known.dims[d] = rmsnorm_dim_unknown();
        }
        return rmsnorm_asked_give(asked, 0, &known);
    }
    for (size_t i = 0; i < c.count; i++) {
        int32_t at;
        if (rmsnorm_known_axis(&known, c.axes[i], &at)) {
            known.dims[at] = c.bounds ? cut_dim(known.dims[at], c.items[i]) : rmsnorm_dim_unknown();
        } else if (known.open) { /* an axis from the left: it may be any of those that are known */
            known = rmsnorm_known_nothing(known.dtype);
        } else {
            return rmsnorm_asked_axis_fault(asked, &known);
        }
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    return is_list ? cut_content(asked, &c) : RMSNORM_OK;
}

/* ---- Gather ---------------------------------------------------------------------------------- */

static rmsnorm_status pick_content(const rmsnorm_asked *asked)
{
    rmsnorm_content content;
    rmsnorm_content picked;
    int64_t places[RMSNORM_MAX_CONTENT];
    if (!rmsnorm_asked_content(asked, 0, &content) ||
        !rmsnorm_asked_numbers(asked, 1, places, RMSNORM_MAX_CONTENT, &picked.count)) {
        return RMSNORM_OK;
    }
    const int64_t count = (int64_t)content.count;
    for (size_t i = 0; i < picked.count; i++) {
        if (places[i] < -count || places[i] >= count) {
            return rmsnorm_asked_fault(asked, "there is no element %lld among %zu", (long long)places[i],
                                       content.count);
        }
        picked.items[i] = content.items[places[i] < 0 ? places[i] + count : places[i]];
    }
    return rmsnorm_asked_give_content(asked, &picked);
}

/* The dims before the axis, those of the indices, the dims behind the axis. */
rmsnorm_status rmsnorm_rule_gather(const rmsnorm_asked *asked)
{
    rmsnorm_known data = rmsnorm_asked_input(asked, 0);
    const rmsnorm_known indices = rmsnorm_asked_input(asked, 1);
    rmsnorm_known result = rmsnorm_known_nothing(data.dtype);
    int32_t at;
    if (!rmsnorm_known_axis(&data, rmsnorm_asked_int(asked, "axis", 0), &at)) {
        return data.open ? rmsnorm_asked_give(asked, 0, &result) : rmsnorm_asked_axis_fault(asked, &data);
    }
    const int32_t before = indices.open ? 0 : at; /* dims that are not known stand between them and the others */
    const int32_t behind = data.rank - at - 1;
    if (before + indices.rank + behind <= RMSNORM_MAX_RANK) {
        result.open = data.open || indices.open;
        result.rank = before + indices.rank + behind;
        memcpy(result.dims, data.dims, (size_t)before * sizeof data.dims[0]);
        memcpy(result.dims + before, indices.dims, (size_t)indices.rank * sizeof data.dims[0]);
        memcpy(result.dims + before + indices.rank, data.dims + at + 1, (size_t)behind * sizeof data.dims[0]);
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &result));
    return !data.open && data.rank == 1 ? pick_content(asked) : RMSNORM_OK;
}

rmsnorm_status rmsnorm_rule_gather_elements(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 1);
    known.dtype = rmsnorm_asked_input(asked, 0).dtype;
    return rmsnorm_asked_give(asked, 0, &known);
}

/* Before opset 6, how often and along which axis were two inputs of their own. */
rmsnorm_status rmsnorm_rule_tile(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    rmsnorm_content content;
    if (asked->opset < 6 || !rmsnorm_asked_content(asked, 1, &content) || content.count > RMSNORM_MAX_RANK) {
        known = rmsnorm_known_nothing(known.dtype);
        return rmsnorm_asked_give(asked, 0, &known);
    }
    const rmsnorm_known times = rmsnorm_known_dims(known.dtype, content.items, content.count);
    if (!rmsnorm_known_close(&known, times.rank)) {
        return rmsnorm_asked_fault(asked, "a tensor of the shape %s cannot be repeated along %d dims",
                                   rmsnorm_known_words(&known).text, (int)times.rank);
    }
    for (int32_t d = 0; d < known.rank; d++) {
        const rmsnorm_ir_dim dims[] = {known.dims[d], times.dims[d]};
        known.dims[d] = rmsnorm_dim_product(dims, 2);
    }
    return rmsnorm_asked_give(asked, 0, &known);
}
