/* The rule for Reshape: the number of elements stays, so one dim that is not known follows from the others. */
#include "rewrite/infer.h"

#include "operator/size.h"

/* What stands on one side of the equation of the counts: a number, names, and how many dims that are neither. */
typedef struct side {
    int64_t number;
    const char *names[RMSNORM_MAX_RANK];
    size_t name_count, unknown;
    bool overflow;
} side;

static void put(side *to, rmsnorm_ir_dim dim)
{
    if (dim.number != RMSNORM_NO_NUMBER) {
        to->overflow = to->overflow || !rmsnorm_multiply(to->number, dim.number, &to->number);
    } else if (dim.name != NULL) {
        to->names[to->name_count++] = dim.name;
    } else {
        to->unknown++;
    }
}

/* Takes away the names that stand on both sides. */
static void cancel(side *a, side *b)
{
    for (size_t i = 0; i < a->name_count;) {
        size_t j = 0;
        const rmsnorm_ir_dim dim = {RMSNORM_NO_NUMBER, a->names[i]};
        while (j < b->name_count && !rmsnorm_dim_same(dim, (rmsnorm_ir_dim){RMSNORM_NO_NUMBER, b->names[j]})) {
            j++;
        }
        if (j == b->name_count) {
            i++;
            continue;
        }
        a->names[i] = a->names[--a->name_count];
        b->names[j] = b->names[--b->name_count];
    }
}

/* The dim that makes both counts the same, when only numbers or one name are left for it. */
static rmsnorm_ir_dim solve(const side *data, const side *shape)
{
    if (data->overflow || shape->overflow || data->unknown > 0 || shape->name_count > 0 || shape->number == 0 ||
        data->number % shape->number != 0) {
        return rmsnorm_dim_unknown();
    }
    if (data->name_count == 0) {
        return rmsnorm_dim(data->number / shape->number);
    }
    const bool alone = data->name_count == 1 && data->number == shape->number;
    return alone ? (rmsnorm_ir_dim){RMSNORM_NO_NUMBER, data->names[0]} : rmsnorm_dim_unknown();
}

/* The shape that is asked for; kept[d]: the dim of the data in that place. -1 is a dim that is not known here. */
static rmsnorm_known target(const rmsnorm_known *data, const rmsnorm_content *content, bool zero_is_kept, bool *kept)
{
    rmsnorm_known result = rmsnorm_known_dims(data->dtype, content->items, content->count);
    for (int32_t d = 0; d < result.rank; d++) {
        rmsnorm_ir_dim *const dim = &result.dims[d];
        kept[d] = dim->number == 0 && zero_is_kept;
        if (kept[d]) {
            *dim = !data->open && d < data->rank ? data->dims[d] : rmsnorm_dim_unknown();
        } else if (dim->number < 0) {
            dim->number = RMSNORM_NO_NUMBER;
        }
    }
    return result;
}

static rmsnorm_status fill(const rmsnorm_asked *asked, const rmsnorm_known *data, const bool *kept,
                           rmsnorm_known *result, bool *faulted)
{
    side given = {.number = 1}, wanted = {.number = 1};
    int32_t open_dim = -1;
    size_t kept_unknown = 0;
    for (int32_t d = 0; d < result->rank; d++) {
        if (kept[d] && d < data->rank) {
            kept_unknown += result->dims[d].number == RMSNORM_NO_NUMBER && result->dims[d].name == NULL;
            continue; /* stands on both sides */
        }
        put(&wanted, result->dims[d]);
        if (result->dims[d].number == RMSNORM_NO_NUMBER && result->dims[d].name == NULL) {
            open_dim = d;
        }
    }
    for (int32_t d = 0; d < data->rank; d++) {
        if (d >= result->rank || !kept[d]) {
            put(&given, data->dims[d]);
        }
    }
    cancel(&given, &wanted);
    if (wanted.unknown == 1) {
        result->dims[open_dim] = solve(&given, &wanted);
    }
    const bool numbers = given.name_count + given.unknown + wanted.name_count == 0 && kept_unknown == 0 &&
                         !given.overflow && !wanted.overflow;
    *faulted = numbers &&
               (wanted.unknown == 0 ? given.number != wanted.number
                                    : wanted.unknown == 1 && wanted.number != 0 && given.number % wanted.number != 0);
    return *faulted ? rmsnorm_asked_fault(asked, "a tensor of the shape %s cannot be reshaped to %s",
                                          rmsnorm_known_words(data).text, rmsnorm_known_words(result).text)
                    : RMSNORM_OK;
}

rmsnorm_status rmsnorm_rule_reshape(const rmsnorm_asked *asked)
{
    const rmsnorm_known data = rmsnorm_asked_input(asked, 0);
    rmsnorm_content content;
    size_t count;
    int64_t numbers[RMSNORM_MAX_RANK];
    bool told = rmsnorm_asked_content(asked, 1, &content);
    if (!told && rmsnorm_asked_ints(asked, "shape", numbers, RMSNORM_MAX_RANK, &count)) { /* before opset 5 */
        told = true;
        content.count = count;
        for (size_t i = 0; i < count; i++) {
            content.items[i] = (rmsnorm_ir_dim){numbers[i], NULL};
        }
    }
    if (!told || content.count > RMSNORM_MAX_RANK) {
        const rmsnorm_known nothing = rmsnorm_known_nothing(data.dtype);
        return rmsnorm_asked_give(asked, 0, &nothing);
    }
    bool kept[RMSNORM_MAX_RANK];
    bool faulted = false;
    rmsnorm_known result = target(&data, &content, rmsnorm_asked_int(asked, "allowzero", 0) == 0, kept);
    if (!data.open) {
        RMSNORM_TRY(fill(asked, &data, kept, &result, &faulted));
    }
    if (faulted) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &result));
    /* The elements themselves stay, and in their order. */
    rmsnorm_content elements;
    return data.rank <= 1 && !data.open && rmsnorm_asked_content(asked, 0, &elements)
               ? rmsnorm_asked_give_content(asked, &elements)
               : RMSNORM_OK;
}
