/* members.c: what . and [] find. Strings are counted in UTF-16 units where the reference does so. */
#include <string.h>

#include "template/run.h"

static size_t units_of(const char *text, size_t length)
{
    size_t units = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        units += (size_t)((byte & 0xC0) != 0x80) + (byte >= 0xF0);
    }
    return units;
}

rmsnorm_status rmsnorm_apply_length(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    switch (call->operand.kind) {
    case RMSNORM_ANY_STRING:
        *result = rmsnorm_any_integer((int64_t)units_of(call->operand.as.string.text, call->operand.as.string.length));
        return RMSNORM_OK;
    case RMSNORM_ANY_LIST:
        *result = rmsnorm_any_integer((int64_t)call->operand.as.list->count);
        return RMSNORM_OK;
    case RMSNORM_ANY_MAP:
        *result = rmsnorm_any_integer((int64_t)call->operand.as.map->count);
        return RMSNORM_OK;
    default:
        return rmsnorm_call_refuse(call);
    }
}

static rmsnorm_status find_member(rmsnorm_rendering *run, size_t at, const char *name, size_t length,
                                  rmsnorm_any *value)
{
    if (value->kind == RMSNORM_ANY_MAP) {
        const rmsnorm_any *const member = rmsnorm_map_get(value->as.map, name, length);
        if (member != NULL) {
            *value = *member;
            return RMSNORM_OK;
        }
    } else if (length == 6 && memcmp(name, "length", 6) == 0 &&
               (value->kind == RMSNORM_ANY_STRING || value->kind == RMSNORM_ANY_LIST)) {
        return rmsnorm_apply_length(&(rmsnorm_builtin_call){.run = run, .at = at, .operand = *value}, value);
    }
    if (rmsnorm_method_fits(value->kind, name, length)) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_UNSUPPORTED, "the method '%.*s' is not called", (int)length, name);
    }
    *value = rmsnorm_any_undefined();
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_run_attribute(rmsnorm_rendering *run, const rmsnorm_link *link, rmsnorm_any *value)
{
    return find_member(run, link->at, link->name, link->length, value);
}

/* The character that is the unit at an index; half of one that has two cannot be given. */
static rmsnorm_status find_unit(rmsnorm_rendering *run, size_t at, int64_t index, rmsnorm_any *value)
{
    const char *const text = value->as.string.text;
    const size_t length = value->as.string.length;
    const size_t units = units_of(text, length);
    RMSNORM_TRY(rmsnorm_run_spend(run, at, length / 16));
    *value = rmsnorm_any_undefined();
    if (index < -(int64_t)units || index >= (int64_t)units) {
        return RMSNORM_OK;
    }
    size_t left = (size_t)(index < 0 ? index + (int64_t)units : index), i = 0;
    while (i < length) {
        const size_t bytes = rmsnorm_utf8_character(text + i, length - i);
        if (bytes == 4 && left < 2) {
            return RMSNORM_RUN_FAIL(run, at, RMSNORM_UNSUPPORTED, "half of a character is not supported");
        }
        if (left == 0) {
            *value = rmsnorm_any_string(text + i, bytes);
            return RMSNORM_OK;
        }
        left -= bytes == 4 ? 2 : 1;
        i += bytes;
    }
    return RMSNORM_OK; /* bytes that are no UTF-8 */
}

rmsnorm_status rmsnorm_run_index(rmsnorm_rendering *run, size_t at, const rmsnorm_any *index, rmsnorm_any *value)
{
    if (index->kind == RMSNORM_ANY_STRING) {
        return find_member(run, at, index->as.string.text, index->as.string.length, value);
    }
    if (index->kind == RMSNORM_ANY_INTEGER && value->kind == RMSNORM_ANY_STRING) {
        return find_unit(run, at, index->as.integer, value);
    }
    if (index->kind == RMSNORM_ANY_INTEGER && value->kind == RMSNORM_ANY_LIST) {
        const rmsnorm_list *const list = value->as.list;
        const int64_t count = (int64_t)list->count, place = index->as.integer;
        *value =
            place < -count || place >= count ? rmsnorm_any_undefined() : list->items[place < 0 ? place + count : place];
        return RMSNORM_OK;
    }
    return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "%s is not indexed by %s",
                            rmsnorm_any_kind_name(value->kind), rmsnorm_any_kind_name(index->kind));
}

/* ---- Slices ---------------------------------------------------------------------------------- */

/* Counted from the end where it is negative, and kept between 0 and count. */
static int64_t clamp(int64_t place, int64_t count)
{
    const int64_t counted = place < 0 ? place + count : place;
    return counted < 0 ? 0 : counted < count ? counted : count;
}

typedef struct slice {
    int64_t start, stop, step;
} slice;

/* As the reference counts it: with a step down, a stop of -1 is before the first item, and a step of 0 gives nothing. */
static rmsnorm_status read_slice(rmsnorm_rendering *run, size_t at, const rmsnorm_any bounds[RMSNORM_ARGUMENTS],
                                 int64_t count, slice *found)
{
    int64_t values[RMSNORM_ARGUMENTS];
    bool given[RMSNORM_ARGUMENTS];
    for (size_t i = 0; i < RMSNORM_ARGUMENTS; i++) {
        given[i] = bounds[i].kind == RMSNORM_ANY_INTEGER;
        values[i] = given[i] ? bounds[i].as.integer : 0;
        if ((!given[i] && bounds[i].kind != RMSNORM_ANY_UNDEFINED) || values[i] > RMSNORM_LARGEST_INTEGER ||
            values[i] < -RMSNORM_LARGEST_INTEGER) {
            return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "the bounds of a slice are integers below 2^53");
        }
    }
    found->step = given[2] ? values[2] : 1;
    if (found->step >= 0) {
        found->start = given[0] ? clamp(values[0], count) : 0;
        found->stop = given[1] ? clamp(values[1], count) : count;
        return RMSNORM_OK;
    }
    const int64_t start = given[0] ? values[0] : count - 1, stop = given[1] ? values[1] : -1;
    found->start = start < 0 ? (count + start > -1 ? count + start : -1) : start < count - 1 ? start : count - 1;
    found->stop = stop < -1 ? (count + stop > -1 ? count + stop : -1) : stop < count - 1 ? stop : count - 1;
    return RMSNORM_OK;
}

static bool goes_on(const slice *of, int64_t place)
{
    return of->step > 0 ? place < of->stop : of->step < 0 && place > of->stop;
}

static rmsnorm_status slice_list(rmsnorm_rendering *run, size_t at, const slice *of, rmsnorm_any *value)
{
    const rmsnorm_list *const list = value->as.list;
    *value = rmsnorm_any_list(run->arena);
    if (value->kind == RMSNORM_ANY_UNDEFINED) {
        return rmsnorm_run_exhausted(run, at);
    }
    for (int64_t i = of->start; goes_on(of, i); i += of->step) {
        RMSNORM_TRY(rmsnorm_run_spend(run, at, 1));
        if (!rmsnorm_list_push(run->arena, value->as.list, list->items[i])) {
            return rmsnorm_run_exhausted(run, at);
        }
    }
    return RMSNORM_OK;
}

/* By characters, not by units. places holds where each begins, and the end. */
static rmsnorm_status slice_text(rmsnorm_rendering *run, size_t at, const slice *of, const size_t *places,
                                 rmsnorm_any *value)
{
    rmsnorm_buffer buffer = {.arena = run->arena, .limit = SIZE_MAX};
    for (int64_t i = of->start; goes_on(of, i); i += of->step) {
        RMSNORM_TRY(rmsnorm_run_spend(run, at, 1));
        if (!rmsnorm_buffer_add(&buffer, value->as.string.text + places[i], places[i + 1] - places[i])) {
            return rmsnorm_run_exhausted(run, at);
        }
    }
    *value = rmsnorm_any_string(buffer.text, buffer.length);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_run_slice(rmsnorm_rendering *run, size_t at, const rmsnorm_any bounds[RMSNORM_ARGUMENTS],
                                 rmsnorm_any *value)
{
    slice of;
    if (value->kind == RMSNORM_ANY_LIST) {
        RMSNORM_TRY(read_slice(run, at, bounds, (int64_t)value->as.list->count, &of));
        return slice_list(run, at, &of, value);
    }
    if (value->kind != RMSNORM_ANY_STRING) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "only a list or a string has slices, not %s",
                                rmsnorm_any_kind_name(value->kind));
    }
    const size_t length = value->as.string.length;
    RMSNORM_TRY(rmsnorm_run_spend(run, at, length / 16));
    size_t *const places = rmsnorm_arena_allocate(run->arena, (length + 1) * sizeof *places);
    if (places == NULL) {
        return rmsnorm_run_exhausted(run, at);
    }
    int64_t count = 0;
    for (size_t i = 0; i < length; i += rmsnorm_utf8_character(value->as.string.text + i, length - i)) {
        places[count++] = i;
    }
    places[count] = length;
    RMSNORM_TRY(read_slice(run, at, bounds, count, &of));
    return slice_text(run, at, &of, places, value);
}
