/* tests.c: what can stand behind `is`, and the functions that are always there. */
#include <string.h>

#include "template/run.h"

/* ---- Tests ----------------------------------------------------------------------------------- */

/* The tests that only look at a value. */
#define SIMPLE_TEST(name, condition)                                                                      \
    static rmsnorm_status name(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, bool *result) \
    {                                                                                                     \
        (void)run;                                                                                        \
        (void)at;                                                                                         \
        *result = (condition);                                                                            \
        return RMSNORM_OK;                                                                                \
    }

static bool is_kind(const rmsnorm_any *value, rmsnorm_any_kind kind)
{
    return value->kind == kind;
}

SIMPLE_TEST(is_boolean, is_kind(value, RMSNORM_ANY_BOOLEAN))
SIMPLE_TEST(is_callable, is_kind(value, RMSNORM_ANY_CALLABLE))
SIMPLE_TEST(is_defined, !is_kind(value, RMSNORM_ANY_UNDEFINED))
SIMPLE_TEST(is_false, is_kind(value, RMSNORM_ANY_BOOLEAN) && !value->as.boolean)
SIMPLE_TEST(is_integer, is_kind(value, RMSNORM_ANY_INTEGER))
SIMPLE_TEST(is_iterable,
            is_kind(value, RMSNORM_ANY_STRING) || (is_kind(value, RMSNORM_ANY_LIST) && !value->as.list->tuple))
SIMPLE_TEST(is_mapping, is_kind(value, RMSNORM_ANY_MAP))
SIMPLE_TEST(is_none, is_kind(value, RMSNORM_ANY_NULL))
SIMPLE_TEST(is_number, is_kind(value, RMSNORM_ANY_INTEGER) || is_kind(value, RMSNORM_ANY_FLOAT))
SIMPLE_TEST(is_sequence, value->kind >= RMSNORM_ANY_STRING && value->kind <= RMSNORM_ANY_MAP)
SIMPLE_TEST(is_string, is_kind(value, RMSNORM_ANY_STRING))
SIMPLE_TEST(is_true, is_kind(value, RMSNORM_ANY_BOOLEAN) && value->as.boolean)
SIMPLE_TEST(is_undefined, is_kind(value, RMSNORM_ANY_UNDEFINED))

static rmsnorm_status is_odd(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, bool *result)
{
    if (value->kind != RMSNORM_ANY_INTEGER) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "only an integer is odd or even, not %s",
                                rmsnorm_any_kind_name(value->kind));
    }
    *result = value->as.integer % 2 != 0;
    return RMSNORM_OK;
}

static rmsnorm_status is_even(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, bool *result)
{
    RMSNORM_TRY(is_odd(run, at, value, result));
    *result = !*result;
    return RMSNORM_OK;
}

/* No letter between first and last. */
static rmsnorm_status lacks_letters(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, char first, char last,
                                    bool *result)
{
    *result = value->kind == RMSNORM_ANY_STRING;
    if (!*result) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(rmsnorm_run_spend(run, at, value->as.string.length / 16));
    for (size_t i = 0; i < value->as.string.length; i++) {
        const char byte = value->as.string.text[i];
        if ((unsigned char)byte >= 0x80) {
            return RMSNORM_RUN_FAIL(run, at, RMSNORM_UNSUPPORTED, "the case of letters beyond ASCII is not supported");
        }
        *result = *result && !(byte >= first && byte <= last);
    }
    return RMSNORM_OK;
}

static rmsnorm_status is_lower(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, bool *result)
{
    return lacks_letters(run, at, value, 'A', 'Z', result);
}

static rmsnorm_status is_upper(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, bool *result)
{
    return lacks_letters(run, at, value, 'a', 'z', result);
}

const rmsnorm_test *rmsnorm_test_find(const char *name, size_t length)
{
    static const rmsnorm_test tests[] = {
        {"boolean", is_boolean},   {"callable", is_callable}, {"defined", is_defined},   {"even", is_even},
        {"false", is_false},       {"integer", is_integer},   {"iterable", is_iterable}, {"lower", is_lower},
        {"mapping", is_mapping},   {"none", is_none},         {"number", is_number},     {"odd", is_odd},
        {"sequence", is_sequence}, {"string", is_string},     {"true", is_true},         {"undefined", is_undefined},
        {"upper", is_upper},
    };
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (strlen(tests[i].name) == length && memcmp(tests[i].name, name, length) == 0) {
            return &tests[i];
        }
    }
    return NULL;
}

/* ---- Functions ------------------------------------------------------------------------------- */

/* What a range may have at most, whatever the arena holds. */
enum { LONGEST_RANGE = 1 << 20 };

/* range(stop), range(start, stop), range(start, stop, step) */
static rmsnorm_status make_range(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count, rmsnorm_any *result)
{
    int64_t bounds[3] = {0, 0, 1};
    for (size_t i = 0; i < count; i++) {
        const bool fits = arguments[i].kind == RMSNORM_ANY_INTEGER &&
                          arguments[i].as.integer <= RMSNORM_LARGEST_INTEGER &&
                          arguments[i].as.integer >= -RMSNORM_LARGEST_INTEGER;
        RMSNORM_CHECK(fits, RMSNORM_INVALID_ARGUMENT, "range takes integers below 2^53, not %s",
                      rmsnorm_any_kind_name(arguments[i].kind));
        bounds[count == 1 ? 1 : i] = arguments[i].as.integer;
    }
    const int64_t start = bounds[0], stop = bounds[1], step = bounds[2];
    RMSNORM_CHECK(step != 0, RMSNORM_INVALID_ARGUMENT, "the step of range is 0");
    const int64_t length = step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
    RMSNORM_CHECK(length <= LONGEST_RANGE, RMSNORM_INVALID_ARGUMENT, "range of more than %d items", (int)LONGEST_RANGE);
    *result = rmsnorm_any_list(arena);
    bool added = result->kind == RMSNORM_ANY_LIST;
    for (int64_t i = 0; added && i < length; i++) {
        rmsnorm_any item = rmsnorm_any_integer(start + i * step);
        item.minus_zero = i == 0 && count > 1 && arguments[0].minus_zero;
        added = rmsnorm_list_push(arena, result->as.list, item);
    }
    return added ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status raise_exception(rmsnorm_arena *arena, const rmsnorm_any *arguments, size_t count,
                                      rmsnorm_any *result)
{
    (void)arena;
    (void)count;
    *result = rmsnorm_any_undefined();
    RMSNORM_CHECK(arguments[0].kind == RMSNORM_ANY_STRING, RMSNORM_INVALID_ARGUMENT,
                  "raise_exception takes a string, not %s", rmsnorm_any_kind_name(arguments[0].kind));
    const size_t length = arguments[0].as.string.length;
    return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "raise_exception: %.*s", length < 500 ? (int)length : 500,
                        arguments[0].as.string.text);
}

const rmsnorm_function *rmsnorm_function_find(const char *name, size_t length)
{
    static const rmsnorm_function functions[] = {{"range", 1, 3, make_range},
                                                 {"raise_exception", 1, 1, raise_exception}};
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        if (strlen(functions[i].name) == length && memcmp(functions[i].name, name, length) == 0) {
            return &functions[i];
        }
    }
    return NULL;
}

bool rmsnorm_function_is_foreign(const char *name, size_t length)
{
    return (length == 9 && memcmp(name, "namespace", 9) == 0) ||
           (length == 12 && memcmp(name, "strftime_now", 12) == 0);
}
