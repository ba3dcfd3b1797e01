/* operators.c: what the operators do to two values. The reference counts in JavaScript's doubles: what they would round, or make
 * infinite or no number, is refused. */
#include <math.h>
#include <string.h>

#include "template/run.h"

static bool is_number(const rmsnorm_any *value)
{
    return value->kind == RMSNORM_ANY_INTEGER || value->kind == RMSNORM_ANY_FLOAT;
}

double rmsnorm_any_number(const rmsnorm_any *value)
{
    if (value->kind == RMSNORM_ANY_FLOAT) {
        return value->as.number;
    }
    return value->as.integer == 0 && value->minus_zero ? -0.0 : (double)value->as.integer;
}

static rmsnorm_status refuse(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                             const rmsnorm_any *right)
{
    return RMSNORM_RUN_FAIL(run, link->at, RMSNORM_INVALID_ARGUMENT, "the operator does not take %s and %s",
                            rmsnorm_any_kind_name(left->kind), rmsnorm_any_kind_name(right->kind));
}

/* ---- Arithmetic ------------------------------------------------------------------------------ */

rmsnorm_status rmsnorm_run_float(rmsnorm_rendering *run, size_t at, double number, rmsnorm_any *result)
{
    if (!isfinite(number)) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "the result is no finite number");
    }
    *result = rmsnorm_any_float(number);
    return RMSNORM_OK;
}

/* exact is the result where its size is below 2^63; number what doubles give, which tells a larger one and the sign of a 0. */
static rmsnorm_status make_integer(rmsnorm_rendering *run, size_t at, int64_t exact, double number, rmsnorm_any *result)
{
    const double largest = (double)RMSNORM_LARGEST_INTEGER;
    if (!(fabs(number) <= largest) || exact > RMSNORM_LARGEST_INTEGER || exact < -RMSNORM_LARGEST_INTEGER) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "integer overflow: the result is beyond 2^53");
    }
    *result = rmsnorm_any_integer(exact);
    result->minus_zero = exact == 0 && signbit(number);
    return RMSNORM_OK;
}

/* Powers of integers that doubles hold exactly; JavaScript's other powers are rounded as each machine likes. */
static rmsnorm_status raise(rmsnorm_rendering *run, size_t at, int64_t base, int64_t exponent, rmsnorm_any *result)
{
    if (exponent < 0) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_UNSUPPORTED, "a negative exponent is not supported");
    }
    double number = 1;
    int64_t power = 1;
    if (base == 0 || base == 1 || base == -1) {
        power = exponent == 0 ? 1 : exponent % 2 == 0 ? base * base : base;
        number = (double)power;
    } else {
        while (exponent-- > 0 && fabs(number) <= (double)RMSNORM_LARGEST_INTEGER) {
            number *= (double)base;
        }
        power = fabs(number) <= (double)RMSNORM_LARGEST_INTEGER ? (int64_t)number : 0;
    }
    return make_integer(run, at, power, number, result);
}

static rmsnorm_status power(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                            const rmsnorm_any *right, rmsnorm_any *result)
{
    int64_t operands[2];
    const rmsnorm_any *const values[] = {left, right};
    for (size_t i = 0; i < 2; i++) {
        if (values[i]->kind == RMSNORM_ANY_BOOLEAN) {
            operands[i] = values[i]->as.boolean;
        } else if (values[i]->kind == RMSNORM_ANY_INTEGER) {
            operands[i] = values[i]->as.integer;
        } else {
            return refuse(run, link, left, right);
        }
    }
    const bool minus_zero = left->kind == RMSNORM_ANY_INTEGER && left->minus_zero && operands[1] % 2 != 0;
    RMSNORM_TRY(raise(run, link->at, operands[0], operands[1], result));
    result->minus_zero = result->as.integer == 0 && minus_zero;
    return RMSNORM_OK;
}

static bool is_safe(const rmsnorm_any *value)
{
    return value->kind != RMSNORM_ANY_INTEGER ||
           (value->as.integer <= RMSNORM_LARGEST_INTEGER && value->as.integer >= -RMSNORM_LARGEST_INTEGER);
}

static rmsnorm_status integers(rmsnorm_rendering *run, const rmsnorm_link *link, int64_t left, int64_t right,
                               double number, rmsnorm_any *result)
{
    switch (link->kind) {
    case LINK_ADD:
        return make_integer(run, link->at, left + right, number, result);
    case LINK_SUBTRACT:
        return make_integer(run, link->at, left - right, number, result);
    case LINK_MULTIPLY: /* beyond 2^53 the product need not fit */
        return make_integer(run, link->at, fabs(number) <= (double)RMSNORM_LARGEST_INTEGER ? left * right : 0, number,
                            result);
    case LINK_FLOOR_DIVIDE:
        return make_integer(run, link->at, (int64_t)number, number, result);
    default:
        return make_integer(run, link->at, left % right, number, result);
    }
}

static rmsnorm_status arithmetic(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                                 const rmsnorm_any *right, rmsnorm_any *result)
{
    const double a = rmsnorm_any_number(left), b = rmsnorm_any_number(right);
    if (!is_safe(left) || !is_safe(right)) {
        return RMSNORM_RUN_FAIL(run, link->at, RMSNORM_INVALID_ARGUMENT, "integer overflow: an operand is beyond 2^53");
    }
    if (b == 0 && (link->kind == LINK_DIVIDE || link->kind == LINK_FLOOR_DIVIDE || link->kind == LINK_MODULO)) {
        return RMSNORM_RUN_FAIL(run, link->at, RMSNORM_INVALID_ARGUMENT, "division by zero");
    }
    double number;
    switch (link->kind) {
    case LINK_ADD:
        number = a + b;
        break;
    case LINK_SUBTRACT:
        number = a - b;
        break;
    case LINK_MULTIPLY:
        number = a * b;
        break;
    case LINK_DIVIDE:
        return rmsnorm_run_float(run, link->at, a / b, result);
    case LINK_FLOOR_DIVIDE:
        number = floor(a / b);
        break;
    default:
        number = fmod(a, b);
        break;
    }
    if (left->kind == RMSNORM_ANY_INTEGER && right->kind == RMSNORM_ANY_INTEGER) {
        return integers(run, link, left->as.integer, right->as.integer, number, result);
    }
    return rmsnorm_run_float(run, link->at, number, result);
}

rmsnorm_status rmsnorm_run_sign(rmsnorm_rendering *run, const rmsnorm_term *term, rmsnorm_any *value)
{
    const bool minus = term->kind == TERM_MINUS;
    if (value->kind == RMSNORM_ANY_BOOLEAN) {
        *value = rmsnorm_any_integer(value->as.boolean);
    }
    if (!is_number(value)) {
        return RMSNORM_RUN_FAIL(run, term->at, RMSNORM_INVALID_ARGUMENT, "a sign does not take %s",
                                rmsnorm_any_kind_name(value->kind));
    }
    if (!minus) {
        return RMSNORM_OK;
    }
    if (value->kind == RMSNORM_ANY_FLOAT) {
        value->as.number = -value->as.number;
        return RMSNORM_OK;
    }
    const double number = -rmsnorm_any_number(value);
    return make_integer(run, term->at, is_safe(value) ? -value->as.integer : 0, number, value);
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

/* -1, 0, 1; UNORDERED when one of them is no number. */
#define UNORDERED 2

static int order_of(const rmsnorm_any *left, const rmsnorm_any *right)
{
    if (left->kind == RMSNORM_ANY_INTEGER && right->kind == RMSNORM_ANY_INTEGER) {
        return (left->as.integer > right->as.integer) - (left->as.integer < right->as.integer);
    }
    const double a = rmsnorm_any_number(left), b = rmsnorm_any_number(right);
    return isnan(a) || isnan(b) ? UNORDERED : (a > b) - (a < b);
}

static bool is_nothing(const rmsnorm_any *value)
{
    return value->kind == RMSNORM_ANY_UNDEFINED || value->kind == RMSNORM_ANY_NULL;
}

static bool is_same_text(const rmsnorm_any *left, const rmsnorm_any *right)
{
    const size_t length = left->as.string.length;
    return length == right->as.string.length &&
           (length == 0 || memcmp(left->as.string.text, right->as.string.text, length) == 0);
}

bool rmsnorm_any_is_same(const rmsnorm_any *left, const rmsnorm_any *right)
{
    if (is_number(left) && is_number(right)) {
        return order_of(left, right) == 0;
    }
    if (left->kind != right->kind) {
        return is_nothing(left) && is_nothing(right);
    }
    switch (left->kind) {
    case RMSNORM_ANY_BOOLEAN:
        return left->as.boolean == right->as.boolean;
    case RMSNORM_ANY_STRING:
        return is_same_text(left, right);
    case RMSNORM_ANY_LIST:
        return left->as.list == right->as.list;
    case RMSNORM_ANY_MAP:
        return left->as.map == right->as.map;
    case RMSNORM_ANY_CALLABLE:
        return left->as.callable == right->as.callable;
    default:
        return true;
    }
}

/* A string against a number is read as one, as JavaScript does it: "" is 0, what is no number equals none. */
static rmsnorm_status equals_read(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *string,
                                  const rmsnorm_any *number, bool *equal)
{
    const char *text = string->as.string.text;
    size_t length = string->as.string.length, used;
    double read = 0;
    rmsnorm_space_strip(&text, &length, true, true);
    const size_t sign = length > 0 && (text[0] == '+' || text[0] == '-');
    const char first = length > sign ? text[sign] : ' ', second = length > sign + 1 ? text[sign + 1] : ' ';
    const bool other = first == 'I' || (first == '0' && strchr("xXoObB", second) != NULL);
    if (other || !rmsnorm_number_read(text, length, &read, &used)) {
        return RMSNORM_RUN_FAIL(run, link->at, RMSNORM_UNSUPPORTED,
                                "a string of this form is not compared with a number");
    }
    const rmsnorm_any value = rmsnorm_any_float(read);
    *equal = used == length && order_of(&value, number) == 0;
    return RMSNORM_OK;
}

/* JavaScript's ==, where it does not depend on what an object looks like as text. */
static rmsnorm_status equals(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                             const rmsnorm_any *right, bool *equal)
{
    if (is_nothing(left) || is_nothing(right)) {
        *equal = is_nothing(left) && is_nothing(right);
        return RMSNORM_OK;
    }
    if (left->kind >= RMSNORM_ANY_LIST || right->kind >= RMSNORM_ANY_LIST) {
        return refuse(run, link, left, right);
    }
    rmsnorm_any a = *left, b = *right;
    if (a.kind != b.kind) {
        a = a.kind == RMSNORM_ANY_BOOLEAN ? rmsnorm_any_integer(a.as.boolean) : a;
        b = b.kind == RMSNORM_ANY_BOOLEAN ? rmsnorm_any_integer(b.as.boolean) : b;
    }
    if (a.kind == RMSNORM_ANY_STRING && is_number(&b)) {
        return equals_read(run, link, &a, &b, equal);
    }
    if (b.kind == RMSNORM_ANY_STRING && is_number(&a)) {
        return equals_read(run, link, &b, &a, equal);
    }
    if (a.kind == RMSNORM_ANY_STRING && b.kind == RMSNORM_ANY_STRING) {
        RMSNORM_TRY(rmsnorm_run_spend(run, link->at, a.as.string.length / 16));
    }
    *equal = rmsnorm_any_is_same(&a, &b);
    return RMSNORM_OK;
}

static bool contains_text(const rmsnorm_any *whole, const rmsnorm_any *part)
{
    const size_t length = part->as.string.length;
    for (size_t i = 0; i + length <= whole->as.string.length; i++) {
        if (length == 0 || memcmp(whole->as.string.text + i, part->as.string.text, length) == 0) {
            return true;
        }
    }
    return false;
}

static rmsnorm_status is_in(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                            const rmsnorm_any *right, bool *found)
{
    *found = false;
    if (right->kind == RMSNORM_ANY_UNDEFINED) {
        return RMSNORM_OK;
    }
    if (right->kind == RMSNORM_ANY_LIST && left->kind != RMSNORM_ANY_LIST && !is_nothing(left)) {
        RMSNORM_TRY(rmsnorm_run_spend(run, link->at, right->as.list->count));
        for (size_t i = 0; i < right->as.list->count && !*found; i++) {
            *found = rmsnorm_any_is_same(left, &right->as.list->items[i]);
        }
        return RMSNORM_OK;
    }
    if (left->kind != RMSNORM_ANY_STRING) {
        return refuse(run, link, left, right);
    }
    if (right->kind == RMSNORM_ANY_STRING) {
        RMSNORM_TRY(rmsnorm_run_spend(run, link->at, right->as.string.length / 8));
        *found = contains_text(right, left);
        return RMSNORM_OK;
    }
    if (right->kind == RMSNORM_ANY_MAP) {
        *found = rmsnorm_map_get(right->as.map, left->as.string.text, left->as.string.length) != NULL;
        return RMSNORM_OK;
    }
    return refuse(run, link, left, right);
}

static bool order_holds(rmsnorm_link_kind kind, int order)
{
    if (order == UNORDERED) {
        return false;
    }
    switch (kind) {
    case LINK_LESS:
        return order < 0;
    case LINK_LESS_EQUAL:
        return order <= 0;
    case LINK_GREATER:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* ---- Texts and lists ------------------------------------------------------------------------- */

static rmsnorm_status join_texts(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                                 const rmsnorm_any *right, rmsnorm_any *result)
{
    rmsnorm_buffer buffer = {.arena = run->arena, .limit = SIZE_MAX};
    RMSNORM_TRY(rmsnorm_run_concatenate(run, link->at, left, &buffer));
    RMSNORM_TRY(rmsnorm_run_concatenate(run, link->at, right, &buffer));
    *result = rmsnorm_any_string(buffer.text, buffer.length);
    return RMSNORM_OK;
}

static rmsnorm_status join_lists(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_list *left,
                                 const rmsnorm_list *right, rmsnorm_any *result)
{
    const rmsnorm_list *const lists[] = {left, right};
    RMSNORM_TRY(rmsnorm_run_spend(run, link->at, left->count + right->count));
    *result = rmsnorm_any_list(run->arena);
    bool added = result->kind == RMSNORM_ANY_LIST;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; added && i < lists[k]->count; i++) {
            added = rmsnorm_list_push(run->arena, result->as.list, lists[k]->items[i]);
        }
    }
    return added ? RMSNORM_OK : rmsnorm_run_exhausted(run, link->at);
}

/* ---- The operators --------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_run_operator(rmsnorm_rendering *run, const rmsnorm_link *link, const rmsnorm_any *left,
                                    const rmsnorm_any *right, rmsnorm_any *result)
{
    const rmsnorm_link_kind kind = link->kind;
    bool holds;
    if (kind == LINK_EQUAL || kind == LINK_NOT_EQUAL) {
        RMSNORM_TRY(equals(run, link, left, right, &holds));
        *result = rmsnorm_any_boolean(holds == (kind == LINK_EQUAL));
        return RMSNORM_OK;
    }
    if (kind == LINK_IN || kind == LINK_NOT_IN) {
        RMSNORM_TRY(is_in(run, link, left, right, &holds));
        *result = rmsnorm_any_boolean(holds == (kind == LINK_IN));
        return RMSNORM_OK;
    }
    if (is_nothing(left) || is_nothing(right)) {
        return refuse(run, link, left, right);
    }
    if (kind == LINK_JOIN) {
        return join_texts(run, link, left, right, result);
    }
    if (kind == LINK_POWER) {
        return power(run, link, left, right, result);
    }
    if (is_number(left) && is_number(right)) {
        if (kind >= LINK_LESS && kind <= LINK_GREATER_EQUAL) {
            *result = rmsnorm_any_boolean(order_holds(kind, order_of(left, right)));
            return RMSNORM_OK;
        }
        return arithmetic(run, link, left, right, result);
    }
    if (kind == LINK_ADD && left->kind == RMSNORM_ANY_LIST && right->kind == RMSNORM_ANY_LIST) {
        return join_lists(run, link, left->as.list, right->as.list, result);
    }
    if (kind == LINK_ADD && (left->kind == RMSNORM_ANY_STRING || right->kind == RMSNORM_ANY_STRING)) {
        return join_texts(run, link, left, right, result);
    }
    return refuse(run, link, left, right);
}
