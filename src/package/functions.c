#include "package/functions.h"

#include <inttypes.h>
#include <string.h>

#include "operator/size.h"

/* ---- Arguments ------------------------------------------------------------------------------- */

static rmsnorm_status need_integer(const char *function, const rmsnorm_any *value, int64_t *number)
{
    *number = 0;
    RMSNORM_CHECK(value->kind == RMSNORM_ANY_INTEGER, RMSNORM_INVALID_ARGUMENT,
                  "%s: an argument is %s; allowed: an integer", function, rmsnorm_any_kind_name(value->kind));
    *number = value->as.integer;
    return RMSNORM_OK;
}

static rmsnorm_status need_positive(const char *function, const rmsnorm_any *value, int64_t *number)
{
    RMSNORM_TRY(need_integer(function, value, number));
    RMSNORM_CHECK(*number > 0, RMSNORM_INVALID_ARGUMENT, "%s: an argument is %" PRId64 "; allowed: above 0", function,
                  *number);
    return RMSNORM_OK;
}

static rmsnorm_status need_shape(const char *function, const rmsnorm_any *value, const rmsnorm_list **list)
{
    RMSNORM_CHECK(value->kind == RMSNORM_ANY_LIST, RMSNORM_INVALID_ARGUMENT,
                  "%s: an argument is %s; allowed: a list of integers", function, rmsnorm_any_kind_name(value->kind));
    *list = value->as.list;
    RMSNORM_CHECK((*list)->count <= RMSNORM_MAX_RANK, RMSNORM_INVALID_ARGUMENT,
                  "%s: a list of %zu; allowed: at most %d, as tensors have dims", function, (*list)->count,
                  RMSNORM_MAX_RANK);
    for (size_t i = 0; i < (*list)->count; i++) {
        int64_t number;
        RMSNORM_TRY(need_integer(function, &(*list)->items[i], &number));
    }
    return RMSNORM_OK;
}

static rmsnorm_status give_list(rmsnorm_arena *arena, rmsnorm_any *result)
{
    *result = rmsnorm_any_list(arena);
    return result->kind == RMSNORM_ANY_LIST ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status push(rmsnorm_arena *arena, rmsnorm_any *list, rmsnorm_any item)
{
    return rmsnorm_list_push(arena, list->as.list, item) ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status push_integer(rmsnorm_arena *arena, rmsnorm_any *list, int64_t number)
{
    return push(arena, list, rmsnorm_any_integer(number));
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static rmsnorm_status extreme(const char *function, const rmsnorm_any *arguments, size_t count, bool largest,
                              rmsnorm_any *result)
{
    int64_t best;
    RMSNORM_TRY(need_integer(function, &arguments[0], &best));
    for (size_t i = 1; i < count; i++) {
        int64_t number;
        RMSNORM_TRY(need_integer(function, &arguments[i], &number));
        best = (number > best) == largest ? number : best;
    }
    *result = rmsnorm_any_integer(best);
    return RMSNORM_OK;
}

static rmsnorm_status call_max(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count, rmsnorm_any *result)
{
    (void)arena;
    return extreme("max", arguments, count, true, result);
}

static rmsnorm_status call_min(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count, rmsnorm_any *result)
{
    (void)arena;
    return extreme("min", arguments, count, false, result);
}

/* The largest power of two that is at most n. */
static int64_t power_below(int64_t n)
{
    int64_t power = 1;
    while (power <= n / 2) {
        power *= 2;
    }
    return power;
}

static rmsnorm_status call_pow2floor(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                     rmsnorm_any *result)
{
    int64_t n;
    (void)arena, (void)count;
    RMSNORM_TRY(need_positive("pow2floor", &arguments[0], &n));
    *result = rmsnorm_any_integer(power_below(n));
    return RMSNORM_OK;
}

static rmsnorm_status call_pow2ceil(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                    rmsnorm_any *result)
{
    int64_t n;
    (void)arena, (void)count;
    RMSNORM_TRY(need_positive("pow2ceil", &arguments[0], &n));
    const int64_t below = power_below(n);
    RMSNORM_CHECK(below == n || below <= INT64_MAX / 2, RMSNORM_INVALID_ARGUMENT, "pow2ceil: %" PRId64 " is too large",
                  n);
    *result = rmsnorm_any_integer(below == n ? n : below * 2);
    return RMSNORM_OK;
}

static rmsnorm_status call_ceil_div(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                    rmsnorm_any *result)
{
    int64_t n;
    int64_t by;
    (void)arena, (void)count;
    RMSNORM_TRY(need_integer("ceilDiv", &arguments[0], &n));
    RMSNORM_TRY(need_positive("ceilDiv", &arguments[1], &by));
    RMSNORM_CHECK(n >= 0, RMSNORM_INVALID_ARGUMENT, "ceilDiv: the dividend is %" PRId64 "; allowed: 0 or above", n);
    *result = rmsnorm_any_integer(n / by + (n % by != 0));
    return RMSNORM_OK;
}

/* The bits of a number rounded to float32. */
static rmsnorm_status call_float_bits(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                      rmsnorm_any *result)
{
    (void)arena, (void)count;
    const rmsnorm_any *const value = &arguments[0];
    RMSNORM_CHECK(value->kind == RMSNORM_ANY_FLOAT || value->kind == RMSNORM_ANY_INTEGER, RMSNORM_INVALID_ARGUMENT,
                  "floatBits: the argument is %s; allowed: a number", rmsnorm_any_kind_name(value->kind));
    const float single = value->kind == RMSNORM_ANY_FLOAT ? (float)value->as.number : (float)value->as.integer;
    uint32_t bits;
    memcpy(&bits, &single, sizeof bits);
    *result = rmsnorm_any_integer(bits);
    return RMSNORM_OK;
}

/* n workgroups as [x, y], x at most `most`: more than one row of them when they are many. */
static rmsnorm_status call_fold(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count, rmsnorm_any *result)
{
    int64_t n;
    int64_t most;
    (void)count;
    RMSNORM_TRY(need_positive("fold", &arguments[0], &n));
    RMSNORM_TRY(need_positive("fold", &arguments[1], &most));
    const int64_t y = n / most + (n % most != 0);
    RMSNORM_TRY(give_list(arena, result));
    RMSNORM_TRY(push_integer(arena, result, n / y + (n % y != 0))); /* at most y - 1 workgroups have nothing to do */
    return push_integer(arena, result, y);
}

/* ---- Shapes ---------------------------------------------------------------------------------- */

static rmsnorm_status product_of(const char *function, const rmsnorm_list *list, size_t begin, size_t end,
                                 int64_t *product)
{
    *product = 1;
    for (size_t i = begin; i < end; i++) {
        RMSNORM_CHECK(rmsnorm_multiply(*product, list->items[i].as.integer, product), RMSNORM_INVALID_ARGUMENT,
                      "%s: the product does not fit 64 bits", function);
    }
    return RMSNORM_OK;
}

/* product(list), product(list, begin), product(list, begin, end) */
static rmsnorm_status call_product(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                   rmsnorm_any *result)
{
    const rmsnorm_list *list;
    int64_t begin = 0;
    int64_t product;
    (void)arena;
    RMSNORM_TRY(need_shape("product", &arguments[0], &list));
    int64_t end = (int64_t)list->count;
    if (count > 1) {
        RMSNORM_TRY(need_integer("product", &arguments[1], &begin));
    }
    if (count > 2) {
        RMSNORM_TRY(need_integer("product", &arguments[2], &end));
    }
    RMSNORM_CHECK(begin >= 0 && begin <= end && end <= (int64_t)list->count, RMSNORM_INVALID_ARGUMENT,
                  "product: [%" PRId64 ", %" PRId64 ") is no part of a list of %zu", begin, end, list->count);
    RMSNORM_TRY(product_of("product", list, (size_t)begin, (size_t)end, &product));
    *result = rmsnorm_any_integer(product);
    return RMSNORM_OK;
}

/* A shape whose dims from `axis` on are 1. */
static rmsnorm_status call_ones_from(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                     rmsnorm_any *result)
{
    const rmsnorm_list *list;
    int64_t axis;
    (void)count;
    RMSNORM_TRY(need_shape("onesFrom", &arguments[0], &list));
    RMSNORM_TRY(need_integer("onesFrom", &arguments[1], &axis));
    RMSNORM_TRY(give_list(arena, result));
    for (size_t i = 0; i < list->count; i++) {
        RMSNORM_TRY(push_integer(arena, result, (int64_t)i < axis ? list->items[i].as.integer : 1));
    }
    return RMSNORM_OK;
}

static rmsnorm_status call_same_shape(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                      rmsnorm_any *result)
{
    const rmsnorm_list *a;
    const rmsnorm_list *b;
    (void)arena, (void)count;
    RMSNORM_TRY(need_shape("sameShape", &arguments[0], &a));
    RMSNORM_TRY(need_shape("sameShape", &arguments[1], &b));
    bool same = a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        same = a->items[i].as.integer == b->items[i].as.integer;
    }
    *result = rmsnorm_any_boolean(same);
    return RMSNORM_OK;
}

/* Whether the first shape broadcasts to the second in NumPy's one-sided way. */
static rmsnorm_status call_broadcastable(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                         rmsnorm_any *result)
{
    const rmsnorm_list *from;
    const rmsnorm_list *to;
    (void)arena, (void)count;
    RMSNORM_TRY(need_shape("broadcastable", &arguments[0], &from));
    RMSNORM_TRY(need_shape("broadcastable", &arguments[1], &to));
    bool good = from->count <= to->count;
    for (size_t i = 0; good && i < from->count; i++) {
        const int64_t dim = from->items[from->count - 1 - i].as.integer;
        good = dim == 1 || dim == to->items[to->count - 1 - i].as.integer;
    }
    *result = rmsnorm_any_boolean(good);
    return RMSNORM_OK;
}

/* Appends [divide, modulo, stride]: the element's index goes through (index / divide % modulo) * stride. */
static rmsnorm_status push_loop(rmsnorm_arena *arena, rmsnorm_any *loops, int64_t divide, int64_t modulo,
                                int64_t stride)
{
    rmsnorm_any loop;
    RMSNORM_TRY(give_list(arena, &loop));
    RMSNORM_TRY(push_integer(arena, &loop, divide));
    RMSNORM_TRY(push_integer(arena, &loop, modulo));
    RMSNORM_TRY(push_integer(arena, &loop, stride));
    return push(arena, loops, loop);
}

/* walk(from, to, begin, end): how an index over the dims [begin, end) of `to` walks a tensor of the shape `from` that broadcasts
 * to it: loops [divide, modulo, stride], fastest first. Dims that walk on where the faster one ends are one loop, those that
 * stay are left out; so a `from` that walks along exactly is [[1, size, 1]], one that stays is []. */
static rmsnorm_status call_walk(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count, rmsnorm_any *result)
{
    const rmsnorm_list *from;
    const rmsnorm_list *to;
    int64_t begin;
    int64_t end;
    (void)count;
    RMSNORM_TRY(need_shape("walk", &arguments[0], &from));
    RMSNORM_TRY(need_shape("walk", &arguments[1], &to));
    RMSNORM_TRY(need_integer("walk", &arguments[2], &begin));
    RMSNORM_TRY(need_integer("walk", &arguments[3], &end));
    RMSNORM_CHECK(begin >= 0 && begin <= end && end <= (int64_t)to->count && from->count <= to->count,
                  RMSNORM_INVALID_ARGUMENT, "walk: [%" PRId64 ", %" PRId64 ") is no part of %zu dims", begin, end,
                  to->count);
    RMSNORM_TRY(give_list(arena, result));
    const size_t missing = to->count - from->count;
    int64_t stride = 1; /* of the dim of `from` */
    for (size_t i = to->count; i > (size_t)end && i > missing; i--) {
        RMSNORM_TRY(product_of("walk", from, i - 1 - missing, from->count, &stride));
    }
    int64_t passed = 1; /* indexes per step of the dim */
    int64_t divide = 1, modulo = 1, step = 0;
    for (size_t i = (size_t)end; i > (size_t)begin; i--) {
        const int64_t steps = to->items[i - 1].as.integer;
        const int64_t own = i > missing ? from->items[i - 1 - missing].as.integer : 1;
        if (own > 1 && step != 0 && divide * modulo == passed && stride == step * modulo) {
            modulo *= steps;
        } else if (own > 1) {
            if (step != 0) {
                RMSNORM_TRY(push_loop(arena, result, divide, modulo, step));
            }
            divide = passed, modulo = steps, step = stride;
        }
        RMSNORM_CHECK(rmsnorm_multiply(passed, steps, &passed) && rmsnorm_multiply(stride, own, &stride),
                      RMSNORM_INVALID_ARGUMENT, "walk: the shape does not fit 64 bits");
    }
    return step == 0 ? RMSNORM_OK : push_loop(arena, result, divide, modulo, step);
}

const rmsnorm_function rmsnorm_manifest_functions[] = {
    {"broadcastable", 2, 2, call_broadcastable},
    {"ceilDiv", 2, 2, call_ceil_div},
    {"floatBits", 1, 1, call_float_bits},
    {"fold", 2, 2, call_fold},
    {"max", 1, 16, call_max},
    {"min", 1, 16, call_min},
    {"onesFrom", 2, 2, call_ones_from},
    {"pow2ceil", 1, 1, call_pow2ceil},
    {"pow2floor", 1, 1, call_pow2floor},
    {"product", 1, 3, call_product},
    {"sameShape", 2, 2, call_same_shape},
    {"walk", 4, 4, call_walk},
};
const size_t rmsnorm_manifest_function_count = sizeof rmsnorm_manifest_functions / sizeof rmsnorm_manifest_functions[0];
