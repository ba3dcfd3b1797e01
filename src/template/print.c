#include <math.h>
#include <stdio.h>
#include <string.h>

#include "template/run.h"

static rmsnorm_status add(rmsnorm_rendering *run, size_t at, rmsnorm_buffer *buffer, const char *text, size_t length)
{
    if (rmsnorm_buffer_add(buffer, text, length)) {
        return RMSNORM_OK;
    }
    return buffer->full
               ? RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "the text is longer than %zu bytes", buffer->limit)
               : rmsnorm_run_exhausted(run, at);
}

static rmsnorm_status add_text(rmsnorm_rendering *run, size_t at, rmsnorm_buffer *buffer, const char *text)
{
    return add(run, at, buffer, text, strlen(text));
}

static rmsnorm_status refuse(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value)
{
    const bool tuple = value->kind == RMSNORM_ANY_LIST && value->as.list->tuple;
    return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "a %s has no text",
                            tuple ? "tuple" : rmsnorm_any_kind_name(value->kind));
}

/* ---- Numbers and strings --------------------------------------------------------------------- */

/* As String() writes it: a whole float has no point. */
static rmsnorm_status add_number(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, rmsnorm_buffer *buffer)
{
    char text[RMSNORM_NUMBER_SIZE];
    if (value->kind == RMSNORM_ANY_FLOAT) {
        if (!isfinite(value->as.number)) {
            return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "a float that is not finite has no text");
        }
        return add(run, at, buffer, text, rmsnorm_number_write(value->as.number, text));
    }
    const int64_t integer = value->as.integer;
    if (integer > RMSNORM_LARGEST_INTEGER || integer < -RMSNORM_LARGEST_INTEGER) {
        return RMSNORM_RUN_FAIL(run, at, RMSNORM_INVALID_ARGUMENT, "integer overflow: %lld is beyond 2^53",
                                (long long)integer);
    }
    char *digit = text + sizeof text;
    uint64_t rest = integer < 0 ? (uint64_t)-integer : (uint64_t)integer;
    do {
        *--digit = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (integer < 0) {
        *--digit = '-';
    }
    return add(run, at, buffer, digit, (size_t)(text + sizeof text - digit));
}

/* A float by itself: whole ones show .0, and -0 its sign. */
static rmsnorm_status add_float(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, rmsnorm_buffer *buffer)
{
    const double number = value->as.number;
    if (number == 0 && signbit(number)) {
        return add_text(run, at, buffer, "-0.0");
    }
    if (isfinite(number) && floor(number) == number && fabs(number) < 1e21) {
        char text[RMSNORM_NUMBER_SIZE];
        const int length = snprintf(text, sizeof text, "%.0f", number);
        RMSNORM_TRY(add(run, at, buffer, text, (size_t)length));
        return add(run, at, buffer, ".0", 2);
    }
    return add_number(run, at, value, buffer);
}

static rmsnorm_status add_quoted(rmsnorm_rendering *run, size_t at, const char *text, size_t length,
                                 rmsnorm_buffer *buffer)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    RMSNORM_TRY(add(run, at, buffer, "\"", 1));
    size_t plain = 0; /* what is not yet in the buffer */
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        const char *const known = byte == 0 ? NULL : strchr(from, byte);
        if (known == NULL && byte >= 0x20) {
            continue;
        }
        char escape[8];
        RMSNORM_TRY(add(run, at, buffer, text + plain, i - plain));
        if (known != NULL) {
            (void)snprintf(escape, sizeof escape, "\\%c", to[known - from]);
        } else {
            (void)snprintf(escape, sizeof escape, "\\u%04x", (unsigned)byte);
        }
        RMSNORM_TRY(add_text(run, at, buffer, escape));
        plain = i + 1;
    }
    RMSNORM_TRY(add(run, at, buffer, text + plain, length - plain));
    return add(run, at, buffer, "\"", 1);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

typedef struct json {
    rmsnorm_rendering *run;
    size_t at, indent;
    const char *undefined;
    rmsnorm_buffer *buffer;
} json;

static rmsnorm_status add_break(const json *to, size_t depth)
{
    if (to->indent == 0) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(add(to->run, to->at, to->buffer, "\n", 1));
    for (size_t i = 0; i < to->indent * depth; i++) {
        RMSNORM_TRY(add(to->run, to->at, to->buffer, " ", 1));
    }
    return RMSNORM_OK;
}

static rmsnorm_status add_json(const json *to, const rmsnorm_any *value, size_t depth);

static rmsnorm_status add_items(const json *to, const rmsnorm_any *value, size_t depth)
{
    const bool map = value->kind == RMSNORM_ANY_MAP;
    const size_t count = map ? value->as.map->count : value->as.list->count;
    if (depth >= RMSNORM_TEMPLATE_DEPTH) {
        return RMSNORM_RUN_FAIL(to->run, to->at, RMSNORM_INVALID_ARGUMENT, "a value nested in more than %d levels",
                                RMSNORM_TEMPLATE_DEPTH);
    }
    RMSNORM_TRY(add(to->run, to->at, to->buffer, map ? "{" : "[", 1));
    for (size_t i = 0; i < count; i++) {
        if (i > 0) {
            RMSNORM_TRY(add_text(to->run, to->at, to->buffer, to->indent == 0 ? ", " : ","));
        }
        RMSNORM_TRY(add_break(to, depth + 1));
        if (map) {
            const rmsnorm_entry *const entry = &value->as.map->entries[i];
            RMSNORM_TRY(add_quoted(to->run, to->at, entry->key, entry->length, to->buffer));
            RMSNORM_TRY(add(to->run, to->at, to->buffer, ": ", 2));
        }
        RMSNORM_TRY(add_json(to, map ? &value->as.map->entries[i].value : &value->as.list->items[i], depth + 1));
    }
    if (count > 0) {
        RMSNORM_TRY(add_break(to, depth));
    }
    return add(to->run, to->at, to->buffer, map ? "}" : "]", 1);
}

static rmsnorm_status add_json(const json *to, const rmsnorm_any *value, size_t depth)
{
    RMSNORM_TRY(rmsnorm_run_spend(to->run, to->at, 1));
    switch (value->kind) {
    case RMSNORM_ANY_UNDEFINED:
        return add_text(to->run, to->at, to->buffer, to->undefined);
    case RMSNORM_ANY_NULL:
        return add_text(to->run, to->at, to->buffer, "null");
    case RMSNORM_ANY_BOOLEAN:
        return add_text(to->run, to->at, to->buffer, value->as.boolean ? "true" : "false");
    case RMSNORM_ANY_INTEGER:
    case RMSNORM_ANY_FLOAT:
        return add_number(to->run, to->at, value, to->buffer);
    case RMSNORM_ANY_STRING:
        return add_quoted(to->run, to->at, value->as.string.text, value->as.string.length, to->buffer);
    case RMSNORM_ANY_LIST:
        return value->as.list->tuple ? refuse(to->run, to->at, value) : add_items(to, value, depth);
    case RMSNORM_ANY_MAP:
        return add_items(to, value, depth);
    default:
        return refuse(to->run, to->at, value);
    }
}

rmsnorm_status rmsnorm_run_json(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, size_t indent,
                                rmsnorm_buffer *buffer)
{
    return add_json(&(json){run, at, indent, "null", buffer}, value, 0);
}

/* ---- Values as text -------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_run_string(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, rmsnorm_buffer *buffer)
{
    switch (value->kind) {
    case RMSNORM_ANY_STRING:
        return add(run, at, buffer, value->as.string.text, value->as.string.length);
    case RMSNORM_ANY_FLOAT:
        return add_float(run, at, value, buffer);
    default:
        return add_json(&(json){run, at, 0, "undefined", buffer}, value, 0);
    }
}

rmsnorm_status rmsnorm_run_print(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value, rmsnorm_buffer *buffer)
{
    return value->kind == RMSNORM_ANY_UNDEFINED || value->kind == RMSNORM_ANY_NULL
               ? RMSNORM_OK
               : rmsnorm_run_string(run, at, value, buffer);
}

rmsnorm_status rmsnorm_run_concatenate(rmsnorm_rendering *run, size_t at, const rmsnorm_any *value,
                                       rmsnorm_buffer *buffer)
{
    switch (value->kind) {
    case RMSNORM_ANY_STRING:
        RMSNORM_TRY(rmsnorm_run_spend(run, at, value->as.string.length / 64));
        return add(run, at, buffer, value->as.string.text, value->as.string.length);
    case RMSNORM_ANY_INTEGER:
    case RMSNORM_ANY_FLOAT:
        return add_number(run, at, value, buffer);
    case RMSNORM_ANY_BOOLEAN:
        return add_text(run, at, buffer, value->as.boolean ? "true" : "false");
    case RMSNORM_ANY_LIST:
        for (size_t i = 0; i < value->as.list->count; i++) {
            const rmsnorm_any *const item = &value->as.list->items[i];
            const rmsnorm_any undefined = rmsnorm_any_undefined(); /* what the reference holds in none, too */
            if (i > 0) {
                RMSNORM_TRY(add(run, at, buffer, ",", 1));
            }
            RMSNORM_TRY(rmsnorm_run_string(run, at, item->kind == RMSNORM_ANY_NULL ? &undefined : item, buffer));
        }
        return RMSNORM_OK;
    default:
        return refuse(run, at, value);
    }
}
