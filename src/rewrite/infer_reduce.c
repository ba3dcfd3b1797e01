/* Rules for operators that shorten or normalize along axes. */
#include "rewrite/infer.h"

/* Marks the axes. False: they are not among the dims that are known. */
static bool mark(rmsnorm_known *known, const int64_t *axes, size_t count, bool *marked)
{
    int32_t at;
    for (size_t i = 0; i < count; i++) { /* first the dims they show, then their places */
        if (!rmsnorm_known_axis(known, axes[i], &at)) {
            return false;
        }
    }
    for (size_t i = 0; i < count; i++) {
        (void)rmsnorm_known_axis(known, axes[i], &at);
        marked[at] = true;
    }
    return true;
}

static void shorten(rmsnorm_known *known, const bool *marked, bool keep)
{
    int32_t kept = 0;
    for (int32_t d = 0; d < known->rank; d++) {
        if (!marked[d]) {
            known->dims[kept++] = known->dims[d];
        } else if (keep) {
            known->dims[kept++] = rmsnorm_dim(1);
        }
    }
    known->rank = kept;
}

/* Over axes that are not known: the rank at most. */
static rmsnorm_known blurred(const rmsnorm_known *known, bool keep)
{
    rmsnorm_known result = *known;
    if (!keep || known->open) {
        return rmsnorm_known_nothing(known->dtype);
    }
    for (int32_t d = 0; d < result.rank; d++) {
        result.dims[d] = rmsnorm_dim_unknown();
    }
    return result;
}

static rmsnorm_known over_all(const rmsnorm_known *known, bool keep)
{
    rmsnorm_known result = *known;
    if (!keep) {
        return rmsnorm_known_dims(known->dtype, NULL, 0);
    }
    for (int32_t d = 0; d < result.rank; d++) {
        result.dims[d] = rmsnorm_dim(1);
    }
    return result;
}

rmsnorm_status rmsnorm_rule_reduce(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    const rmsnorm_known data = known;
    const bool keep = rmsnorm_asked_int(asked, "keepdims", 1) != 0;
    int64_t axes[RMSNORM_MAX_RANK];
    size_t count = 0;
    bool told = rmsnorm_asked_ints(asked, "axes", axes, RMSNORM_MAX_RANK, &count);
    if (!told && rmsnorm_asked_has(asked, 1)) {
        told = rmsnorm_asked_numbers(asked, 1, axes, RMSNORM_MAX_RANK, &count);
        if (!told) {
            known = blurred(&known, keep);
            return rmsnorm_asked_give(asked, 0, &known);
        }
    }
    if (count == 0) {
        const bool nothing_to_do = rmsnorm_asked_int(asked, "noop_with_empty_axes", 0) != 0;
        known = nothing_to_do ? known : over_all(&known, keep);
        return rmsnorm_asked_give(asked, 0, &known);
    }
    bool marked[RMSNORM_MAX_RANK] = {false};
    if (mark(&known, axes, count, marked)) {
        shorten(&known, marked, keep);
        return rmsnorm_asked_give(asked, 0, &known);
    }
    if (!known.open) {
        return rmsnorm_asked_axis_fault(asked, &data);
    }
    known = blurred(&known, keep);
    return rmsnorm_asked_give(asked, 0, &known);
}

/* ArgMax, ArgMin: along one axis, places instead of elements. */
rmsnorm_status rmsnorm_rule_arg(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    known.dtype = (rmsnorm_dtype)RMSNORM_INT64;
    const bool keep = rmsnorm_asked_int(asked, "keepdims", 1) != 0;
    const int64_t axis = rmsnorm_asked_int(asked, "axis", 0);
    bool marked[RMSNORM_MAX_RANK] = {false};
    if (mark(&known, &axis, 1, marked)) {
        shorten(&known, marked, keep);
    } else if (!known.open) {
        return rmsnorm_asked_axis_fault(asked, &known);
    } else {
        known = blurred(&known, keep);
    }
    return rmsnorm_asked_give(asked, 0, &known);
}

rmsnorm_status rmsnorm_rule_top(const rmsnorm_asked *asked)
{
    rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    int64_t wanted = rmsnorm_asked_int(asked, "k", RMSNORM_UNKNOWN);
    size_t count;
    if (!rmsnorm_asked_numbers(asked, 1, &wanted, 1, &count)) {
        wanted = asked->opset < 10 ? wanted : RMSNORM_UNKNOWN;
    }
    int32_t at;
    if (rmsnorm_known_axis(&known, rmsnorm_asked_int(asked, "axis", -1), &at)) {
        known.dims[at] = rmsnorm_dim(wanted);
    } else if (!known.open) {
        return rmsnorm_asked_axis_fault(asked, &known);
    } else {
        known = blurred(&known, true);
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    known.dtype = (rmsnorm_dtype)RMSNORM_INT64;
    return rmsnorm_asked_give(asked, 1, &known);
}

/* LayerNormalization and the like: output 0 is as the input, 1 and 2 are statistics. first: the output that is as the input, too,
 * or 0. */
rmsnorm_status rmsnorm_rule_layer_norm(const rmsnorm_asked *asked)
{
    const rmsnorm_known known = rmsnorm_asked_input(asked, 0);
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    if (asked->rule->first != 0) {
        return rmsnorm_asked_give(asked, (size_t)asked->rule->first, &known);
    }
    rmsnorm_known statistics = known;
    statistics.dtype = rmsnorm_asked_int(asked, "stash_type", 1) == 1 ? RMSNORM_FLOAT : RMSNORM_UNDEFINED;
    int32_t at;
    if (!rmsnorm_known_axis(&statistics, rmsnorm_asked_int(asked, "axis", -1), &at)) {
        return known.open ? RMSNORM_OK : rmsnorm_asked_axis_fault(asked, &known);
    }
    for (int32_t d = at; d < statistics.rank; d++) {
        statistics.dims[d] = rmsnorm_dim(1);
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 1, &statistics));
    return rmsnorm_asked_give(asked, 2, &statistics);
}
