/* What is known of a tensor, and what follows when two are put together. */
#include "rewrite/infer.h"

#include <string.h>

#include "operator/size.h"

rmsnorm_ir_dim rmsnorm_dim(int64_t number)
{
    return (rmsnorm_ir_dim){number >= 0 ? number : RMSNORM_NO_NUMBER, NULL};
}

rmsnorm_ir_dim rmsnorm_dim_unknown(void)
{
    return (rmsnorm_ir_dim){RMSNORM_NO_NUMBER, NULL};
}

static bool is_number(rmsnorm_ir_dim dim)
{
    return dim.number != RMSNORM_NO_NUMBER;
}

bool rmsnorm_dim_same(rmsnorm_ir_dim a, rmsnorm_ir_dim b)
{
    if (is_number(a) || is_number(b)) {
        return a.number == b.number;
    }
    return a.name != NULL && b.name != NULL && strcmp(a.name, b.name) == 0;
}

bool rmsnorm_dim_unite(rmsnorm_ir_dim *dim, rmsnorm_ir_dim other)
{
    if (is_number(*dim)) {
        return !is_number(other) || dim->number == other.number;
    }
    if (is_number(other) || dim->name == NULL) {
        *dim = other;
    }
    return true;
}

rmsnorm_ir_dim rmsnorm_dim_product(const rmsnorm_ir_dim *dims, int32_t count)
{
    int64_t product = 1;
    rmsnorm_ir_dim rest = rmsnorm_dim(1);
    size_t names = 0;
    for (int32_t i = 0; i < count; i++) {
        if (!is_number(dims[i])) {
            rest = dims[i];
            names++;
        } else if (!rmsnorm_multiply(product, dims[i].number, &product)) {
            return rmsnorm_dim_unknown();
        }
    }
    if (names == 0 || product == 0) {
        return rmsnorm_dim(product);
    }
    return names == 1 && product == 1 ? rest : rmsnorm_dim_unknown();
}

rmsnorm_known rmsnorm_known_nothing(rmsnorm_dtype dtype)
{
    return (rmsnorm_known){.dtype = dtype, .open = true};
}

rmsnorm_known rmsnorm_known_dims(rmsnorm_dtype dtype, const rmsnorm_ir_dim *dims, size_t count)
{
    if (count > RMSNORM_MAX_RANK) {
        return rmsnorm_known_nothing(dtype);
    }
    rmsnorm_known known = {.dtype = dtype, .rank = (int32_t)count};
    for (size_t d = 0; d < count; d++) {
        known.dims[d] = is_number(dims[d]) ? rmsnorm_dim(dims[d].number) : dims[d];
    }
    return known;
}

rmsnorm_known rmsnorm_known_value(const rmsnorm_ir *ir, size_t value)
{
    const rmsnorm_ir_value *const shown = &ir->values[value].shown;
    rmsnorm_known known = {.dtype = shown->type.dtype, .open = shown->open, .rank = shown->type.rank};
    for (int32_t d = 0; d < known.rank; d++) {
        known.dims[d] = rmsnorm_dim(shown->type.dims[d]);
        if (!is_number(known.dims[d]) && shown->type.dim_names[d] != NULL && shown->type.dim_names[d][0] != '\0') {
            known.dims[d].name = shown->type.dim_names[d];
        }
    }
    return known;
}

rmsnorm_words rmsnorm_known_words(const rmsnorm_known *known)
{
    rmsnorm_words words;
    if (known->open && known->rank == 0) {
        rmsnorm_text unknown = {words.text, sizeof words.text, 0};
        rmsnorm_text_add(&unknown, "of unknown shape");
        return words;
    }
    int64_t numbers[RMSNORM_MAX_RANK];
    const char *names[RMSNORM_MAX_RANK];
    for (int32_t d = 0; d < known->rank; d++) {
        numbers[d] = is_number(known->dims[d]) ? known->dims[d].number : RMSNORM_UNKNOWN;
        names[d] = known->dims[d].name;
    }
    const rmsnorm_words dims = rmsnorm_words_shape(known->rank, numbers, names);
    rmsnorm_text text = {words.text, sizeof words.text, 0};
    rmsnorm_text_add(&text, "%s%s", known->open ? "(...," : "(", dims.text + 1);
    return words;
}

bool rmsnorm_known_reach(rmsnorm_known *known, int32_t count)
{
    if (known->rank >= count) {
        return true;
    }
    if (!known->open || count > RMSNORM_MAX_RANK) {
        return false;
    }
    const int32_t more = count - known->rank;
    memmove(known->dims + more, known->dims, (size_t)known->rank * sizeof known->dims[0]);
    for (int32_t d = 0; d < more; d++) {
        known->dims[d] = rmsnorm_dim_unknown();
    }
    known->rank = count;
    return true;
}

bool rmsnorm_known_close(rmsnorm_known *known, int32_t rank)
{
    if (!rmsnorm_known_reach(known, rank) || known->rank > rank) {
        return false;
    }
    known->open = false;
    return true;
}

bool rmsnorm_known_axis(rmsnorm_known *known, int64_t axis, int32_t *at)
{
    if (axis < -RMSNORM_MAX_RANK || axis >= RMSNORM_MAX_RANK) {
        return false;
    }
    if (axis >= 0) {
        *at = (int32_t)axis;
        return !known->open && axis < known->rank;
    }
    if (!rmsnorm_known_reach(known, (int32_t)-axis)) {
        return false;
    }
    *at = known->rank + (int32_t)axis;
    return true;
}

/* An operand that has no such dim counts as 1; an open one may have any. */
static rmsnorm_ir_dim from_right(const rmsnorm_known *known, int32_t place)
{
    if (place < known->rank) {
        return known->dims[known->rank - 1 - place];
    }
    return known->open ? rmsnorm_dim_unknown() : rmsnorm_dim(1);
}

static bool broadcast_dims(rmsnorm_ir_dim a, rmsnorm_ir_dim b, rmsnorm_ir_dim *dim)
{
    if (a.number == 1 || b.number == 1) {
        *dim = a.number == 1 ? b : a;
        return true;
    }
    if (is_number(a) && is_number(b)) {
        *dim = a;
        return a.number == b.number;
    }
    if (is_number(a) || is_number(b)) {
        *dim = is_number(a) ? a : b; /* the other is that too, or 1 */
        return true;
    }
    *dim = rmsnorm_dim_same(a, b) ? a : rmsnorm_dim_unknown();
    return true;
}

bool rmsnorm_known_broadcast(rmsnorm_known *known, const rmsnorm_known *other)
{
    const rmsnorm_known left = *known;
    const int32_t rank = left.rank > other->rank ? left.rank : other->rank;
    known->rank = rank;
    known->open = left.open || other->open;
    for (int32_t place = 0; place < rank; place++) {
        if (!broadcast_dims(from_right(&left, place), from_right(other, place), &known->dims[rank - 1 - place])) {
            return false;
        }
    }
    return true;
}
