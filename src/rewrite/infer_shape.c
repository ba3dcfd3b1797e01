/* Rules for shapes as tensors: where their elements come from, and what is computed of them. */
#include "rewrite/infer.h"

#include <string.h>

#include "operator/size.h"

/* An integer scalar or vector whose elements are the content. */
static rmsnorm_status give_integers(const rmsnorm_asked *asked, bool vector, const rmsnorm_content *content)
{
    const rmsnorm_ir_dim count = rmsnorm_dim((int64_t)content->count);
    const rmsnorm_known known = rmsnorm_known_dims((rmsnorm_dtype)RMSNORM_INT64, &count, vector ? 1 : 0);
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    return rmsnorm_asked_give_content(asked, content);
}

static int64_t clamp(int64_t place, int64_t rank)
{
    const int64_t from_left = place < 0 ? place + rank : place;
    return from_left < 0 ? 0 : from_left > rank ? rank : from_left;
}

rmsnorm_status rmsnorm_rule_shape(const rmsnorm_asked *asked)
{
    const rmsnorm_known data = rmsnorm_asked_input(asked, 0);
    if (data.open) {
        const rmsnorm_ir_dim unknown = rmsnorm_dim_unknown();
        const rmsnorm_known known = rmsnorm_known_dims((rmsnorm_dtype)RMSNORM_INT64, &unknown, 1);
        return rmsnorm_asked_give(asked, 0, &known);
    }
    const int64_t start = clamp(rmsnorm_asked_int(asked, "start", 0), data.rank);
    const int64_t end = clamp(rmsnorm_asked_int(asked, "end", data.rank), data.rank);
    rmsnorm_content content = {.count = 0};
    for (int64_t d = start; d < end; d++) {
        content.items[content.count++] = data.dims[d];
    }
    return give_integers(asked, true, &content);
}

rmsnorm_status rmsnorm_rule_size(const rmsnorm_asked *asked)
{
    const rmsnorm_known data = rmsnorm_asked_input(asked, 0);
    rmsnorm_content content = {.count = 1};
    content.items[0] = data.open ? rmsnorm_dim_unknown() : rmsnorm_dim_product(data.dims, data.rank);
    return give_integers(asked, false, &content);
}

rmsnorm_status rmsnorm_rule_constant(const rmsnorm_asked *asked)
{
    static const struct {
        const char *name;
        rmsnorm_node_attribute_kind kind;
        int dtype;
    } numbers[] = {
        {"value_float", RMSNORM_NODE_ATTRIBUTE_FLOAT, RMSNORM_FLOAT},
        {"value_floats", RMSNORM_NODE_ATTRIBUTE_FLOATS, RMSNORM_FLOAT},
        {"value_int", RMSNORM_NODE_ATTRIBUTE_INT, RMSNORM_INT64},
        {"value_ints", RMSNORM_NODE_ATTRIBUTE_INTS, RMSNORM_INT64},
        {"value_string", RMSNORM_NODE_ATTRIBUTE_OTHER, RMSNORM_STRING},
    };
    const rmsnorm_node_attribute *const value = rmsnorm_ir_attribute(asked->ir, asked->node, "value");
    if (value != NULL && value->kind == RMSNORM_NODE_ATTRIBUTE_TENSOR) {
        rmsnorm_ir_dim dims[RMSNORM_MAX_RANK];
        const int32_t rank = value->tensor.rank;
        if (rank < 0 || rank > RMSNORM_MAX_RANK) {
            return RMSNORM_OK;
        }
        for (int32_t d = 0; d < rank; d++) {
            dims[d] = rmsnorm_dim(value->tensor.dims[d]);
        }
        const rmsnorm_known known = rmsnorm_known_dims(value->tensor.dtype, dims, (size_t)rank);
        return rmsnorm_asked_give(asked, 0, &known);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const rmsnorm_node_attribute *const given = rmsnorm_ir_attribute(asked->ir, asked->node, numbers[i].name);
        if (given != NULL && given->kind == numbers[i].kind) {
            const bool list =
                given->kind == RMSNORM_NODE_ATTRIBUTE_FLOATS || given->kind == RMSNORM_NODE_ATTRIBUTE_INTS;
            const rmsnorm_ir_dim count = rmsnorm_dim(list && given->count < INT64_MAX ? (int64_t)given->count : 0);
            const rmsnorm_known known = rmsnorm_known_dims((rmsnorm_dtype)numbers[i].dtype, &count, list ? 1 : 0);
            return rmsnorm_asked_give(asked, 0, &known);
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_rule_constant_of_shape(const rmsnorm_asked *asked)
{
    const rmsnorm_node_attribute *const value = rmsnorm_ir_attribute(asked->ir, asked->node, "value");
    const bool has_value = value != NULL && value->kind == RMSNORM_NODE_ATTRIBUTE_TENSOR;
    const rmsnorm_dtype dtype = has_value ? value->tensor.dtype : RMSNORM_FLOAT;
    rmsnorm_content content;
    if (!rmsnorm_asked_content(asked, 0, &content) || content.count > RMSNORM_MAX_RANK) {
        const rmsnorm_known nothing = rmsnorm_known_nothing(dtype);
        return rmsnorm_asked_give(asked, 0, &nothing);
    }
    const rmsnorm_known known = rmsnorm_known_dims(dtype, content.items, content.count);
    RMSNORM_TRY(rmsnorm_asked_give(asked, 0, &known));
    if (!has_value || value->tensor.data == NULL || (int)dtype != RMSNORM_INT64 || known.rank > 1 ||
        rmsnorm_tensor_count(&value->tensor) != 1) {
        return RMSNORM_OK;
    }
    const int64_t count = known.rank == 0 ? 1 : known.dims[0].number;
    if (count < 0 || count > RMSNORM_MAX_CONTENT) {
        return RMSNORM_OK;
    }
    int64_t element;
    memcpy(&element, value->tensor.data, sizeof element);
    content.count = (size_t)count;
    for (size_t i = 0; i < content.count; i++) {
        content.items[i] = (rmsnorm_ir_dim){element, NULL};
    }
    return rmsnorm_asked_give_content(asked, &content);
}

/* From 0 in steps of 1, the limit is how many there are, a name as well. */
/* Whether the numbers of a range are known and few: then they are content, like those of Shape. */
static bool list_range(const rmsnorm_content *start, const rmsnorm_content *limit, const rmsnorm_content *step,
                       rmsnorm_content *list)
{
    const int64_t most = INT32_MAX; /* beyond which there would be too many, and sums could overflow */
    const int64_t numbers[] = {start->items[0].number, limit->items[0].number, step->items[0].number};
    for (size_t i = 0; i < 3; i++) {
        if (numbers[i] < -most || numbers[i] > most) {
            return false;
        }
    }
    list->count = 0;
    for (int64_t at = numbers[0]; numbers[2] > 0 ? at < numbers[1] : numbers[2] < 0 && at > numbers[1];
         at += numbers[2]) {
        if (list->count == RMSNORM_MAX_CONTENT) {
            return false;
        }
        list->items[list->count++] = rmsnorm_dim(at);
    }
    return numbers[2] != 0;
}

rmsnorm_status rmsnorm_rule_range(const rmsnorm_asked *asked)
{
    rmsnorm_content start, limit, step;
    rmsnorm_ir_dim count = rmsnorm_dim_unknown();
    const bool told = rmsnorm_asked_content(asked, 0, &start) && rmsnorm_asked_content(asked, 1, &limit) &&
                      rmsnorm_asked_content(asked, 2, &step) && start.count == 1 && limit.count == 1 && step.count == 1;
    rmsnorm_content list;
    if (told && list_range(&start, &limit, &step, &list)) {
        return give_integers(asked, true, &list);
    }
    if (told && start.items[0].number == 0 && step.items[0].number == 1) {
        count = limit.items[0];
        if (count.number != RMSNORM_NO_NUMBER && count.number < 0) {
            count.number = 0;
        }
    }
    const rmsnorm_known known = rmsnorm_known_dims(rmsnorm_asked_input(asked, 0).dtype, &count, 1);
    return rmsnorm_asked_give(asked, 0, &known);
}

rmsnorm_status rmsnorm_rule_nonzero(const rmsnorm_asked *asked)
{
    const rmsnorm_known data = rmsnorm_asked_input(asked, 0);
    const rmsnorm_ir_dim dims[] = {data.open ? rmsnorm_dim_unknown() : rmsnorm_dim(data.rank), rmsnorm_dim_unknown()};
    const rmsnorm_known known = rmsnorm_known_dims((rmsnorm_dtype)RMSNORM_INT64, dims, 2);
    return rmsnorm_asked_give(asked, 0, &known);
}

/* ---- What is computed of elements ------------------------------------------------------------ */

static bool add(int64_t a, int64_t b, int64_t *sum)
{
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
        return false;
    }
    *sum = a + b;
    return true;
}

static rmsnorm_ir_dim compute(rmsnorm_ir_dim a, rmsnorm_ir_dim b, int operation)
{
    const bool numbers = a.number != RMSNORM_NO_NUMBER && b.number != RMSNORM_NO_NUMBER;
    int64_t result = RMSNORM_NO_NUMBER;
    switch (operation) {
    case '=':
        if (numbers || rmsnorm_dim_same(a, b)) {
            result = rmsnorm_dim_same(a, b);
        } else if ((a.name != NULL && b.number != RMSNORM_NO_NUMBER && b.number < 0) ||
                   (b.name != NULL && a.number != RMSNORM_NO_NUMBER && a.number < 0)) {
            result = 0; /* a dim is not negative */
        }
        return (rmsnorm_ir_dim){result, NULL};
    case '*':
        if (a.number == 1 || b.number == 1) {
            return a.number == 1 ? b : a;
        }
        return numbers && rmsnorm_multiply(a.number, b.number, &result) ? (rmsnorm_ir_dim){result, NULL}
                                                                        : rmsnorm_dim_unknown();
    case '+':
        if (a.number == 0 || b.number == 0) {
            return a.number == 0 ? b : a;
        }
        return numbers && add(a.number, b.number, &result) ? (rmsnorm_ir_dim){result, NULL} : rmsnorm_dim_unknown();
    case '-':
        if (b.number == 0) {
            return a;
        }
        return numbers && add(a.number, -b.number, &result) ? (rmsnorm_ir_dim){result, NULL} : rmsnorm_dim_unknown();
    case '/':
        if (b.number == 1) {
            return a;
        }
        return numbers && b.number != 0 && b.number != -1 ? (rmsnorm_ir_dim){a.number / b.number, NULL}
                                                          : rmsnorm_dim_unknown();
    default:
        return rmsnorm_dim_unknown();
    }
}

/* An element of a list, or the only one. */
static rmsnorm_ir_dim item(const rmsnorm_content *content, size_t i)
{
    return content->items[content->count == 1 ? 0 : i];
}

static bool fits(const rmsnorm_content *content, size_t count)
{
    return content->count == count || content->count == 1;
}

rmsnorm_status rmsnorm_content_combine(const rmsnorm_asked *asked, int operation)
{
    rmsnorm_content a, b, result;
    if (!rmsnorm_asked_content(asked, 0, &a) || !rmsnorm_asked_content(asked, 1, &b)) {
        return RMSNORM_OK;
    }
    result.count = a.count == 1 ? b.count : a.count;
    if (!fits(&a, result.count) || !fits(&b, result.count)) {
        return RMSNORM_OK;
    }
    for (size_t i = 0; i < result.count; i++) {
        result.items[i] = compute(item(&a, i), item(&b, i), operation);
    }
    return rmsnorm_asked_give_content(asked, &result);
}

rmsnorm_status rmsnorm_content_choose(const rmsnorm_asked *asked)
{
    rmsnorm_content condition, yes, no, result;
    if (!rmsnorm_asked_content(asked, 0, &condition) || !rmsnorm_asked_content(asked, 1, &yes) ||
        !rmsnorm_asked_content(asked, 2, &no)) {
        return RMSNORM_OK;
    }
    result.count = condition.count != 1 ? condition.count : yes.count != 1 ? yes.count : no.count;
    if (!fits(&condition, result.count) || !fits(&yes, result.count) || !fits(&no, result.count)) {
        return RMSNORM_OK;
    }
    for (size_t i = 0; i < result.count; i++) {
        const rmsnorm_ir_dim a = item(&yes, i), b = item(&no, i);
        const int64_t chosen = item(&condition, i).number;
        result.items[i] = chosen == 1 || rmsnorm_dim_same(a, b) ? a : chosen == 0 ? b : rmsnorm_dim_unknown();
    }
    return rmsnorm_asked_give_content(asked, &result);
}
