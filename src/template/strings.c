/* strings.c: the filters and methods of strings. What needs the tables of Unicode is refused beyond ASCII. */
#include <string.h>

#include "template/run.h"

static rmsnorm_status need_string(const rmsnorm_builtin_call *call)
{
    return call->operand.kind == RMSNORM_ANY_STRING ? RMSNORM_OK : rmsnorm_call_refuse(call);
}

static rmsnorm_status refuse_argument(const rmsnorm_builtin_call *call, size_t i, const char *wanted)
{
    return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'%s' takes %s, not %s", call->name, wanted,
                            rmsnorm_any_kind_name(call->arguments[i].kind));
}

static rmsnorm_status exhausted(const rmsnorm_builtin_call *call)
{
    return rmsnorm_run_exhausted(call->run, call->at);
}

static rmsnorm_buffer new_buffer(const rmsnorm_builtin_call *call)
{
    return (rmsnorm_buffer){.arena = call->run->arena, .limit = SIZE_MAX};
}

static char upper_of(char byte)
{
    return byte >= 'a' && byte <= 'z' ? (char)(byte - 'a' + 'A') : byte;
}

static char lower_of(char byte)
{
    return byte >= 'A' && byte <= 'Z' ? (char)(byte - 'A' + 'a') : byte;
}

/* ---- Letters --------------------------------------------------------------------------------- */

/* A copy to be changed, of which the first `ascii` bytes are ASCII. */
static rmsnorm_status copy_text(rmsnorm_builtin_call *call, size_t ascii, char **copy, rmsnorm_any *result)
{
    RMSNORM_TRY(need_string(call));
    const char *const text = call->operand.as.string.text;
    const size_t length = call->operand.as.string.length;
    RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, length / 16));
    if (!rmsnorm_utf8_is_ascii(text, ascii < length ? ascii : length)) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_UNSUPPORTED,
                                "'%s' of letters beyond ASCII is not supported", call->name);
    }
    *copy = rmsnorm_arena_copy(call->run->arena, text, length);
    if (*copy == NULL) {
        return exhausted(call);
    }
    *result = rmsnorm_any_string(*copy, length);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_apply_upper(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    char *text;
    RMSNORM_TRY(copy_text(call, SIZE_MAX, &text, result));
    for (size_t i = 0; i < result->as.string.length; i++) {
        text[i] = upper_of(text[i]);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_apply_lower(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    char *text;
    RMSNORM_TRY(copy_text(call, SIZE_MAX, &text, result));
    for (size_t i = 0; i < result->as.string.length; i++) {
        text[i] = lower_of(text[i]);
    }
    return RMSNORM_OK;
}

/* The first letter only; the others stay, as in the reference. */
rmsnorm_status rmsnorm_apply_capitalize(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    char *text;
    RMSNORM_TRY(copy_text(call, 1, &text, result));
    text[0] = upper_of(text[0]);
    return RMSNORM_OK;
}

static bool is_word(char byte)
{
    return upper_of(byte) != lower_of(byte) || (byte >= '0' && byte <= '9') || byte == '_';
}

/* Every letter behind what is no letter, digit or underscore. */
rmsnorm_status rmsnorm_apply_title(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    char *text;
    RMSNORM_TRY(copy_text(call, 0, &text, result));
    for (size_t i = 0; i < result->as.string.length; i++) {
        if (i == 0 || !is_word(text[i - 1])) {
            text[i] = upper_of(text[i]);
        }
    }
    return RMSNORM_OK;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static rmsnorm_status strip(rmsnorm_builtin_call *call, bool first, bool last, rmsnorm_any *result)
{
    RMSNORM_TRY(need_string(call));
    const char *text = call->operand.as.string.text;
    size_t length = call->operand.as.string.length;
    RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, length / 16));
    rmsnorm_space_strip(&text, &length, first, last);
    *result = rmsnorm_any_string(text, length);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_apply_strip(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return strip(call, true, true, result);
}

rmsnorm_status rmsnorm_apply_lstrip(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return strip(call, true, false, result);
}

rmsnorm_status rmsnorm_apply_rstrip(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return strip(call, false, true, result);
}

static bool has_end(const rmsnorm_any *whole, const rmsnorm_any *part, bool last)
{
    const size_t length = whole->as.string.length, end = part->as.string.length;
    return end == 0 ||
           (end <= length && memcmp(whole->as.string.text + (last ? length - end : 0), part->as.string.text, end) == 0);
}

/* A string, or a list of strings of which one is enough. */
static rmsnorm_status find_end(rmsnorm_builtin_call *call, bool last, rmsnorm_any *result)
{
    const rmsnorm_any *const part = &call->arguments[0];
    RMSNORM_TRY(need_string(call));
    bool found = false;
    if (part->kind == RMSNORM_ANY_STRING) {
        found = has_end(&call->operand, part, last);
    } else if (part->kind == RMSNORM_ANY_LIST) {
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, part->as.list->count));
        for (size_t i = 0; i < part->as.list->count && !found; i++) {
            if (part->as.list->items[i].kind != RMSNORM_ANY_STRING) {
                return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'%s' takes a list of strings",
                                        call->name);
            }
            found = has_end(&call->operand, &part->as.list->items[i], last);
        }
    } else {
        return refuse_argument(call, 0, "a string or a list of strings");
    }
    *result = rmsnorm_any_boolean(found);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_apply_startswith(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return find_end(call, false, result);
}

rmsnorm_status rmsnorm_apply_endswith(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    return find_end(call, true, result);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

/* An integer argument; fallback where it is missing. */
static rmsnorm_status read_count(const rmsnorm_builtin_call *call, size_t i, int64_t fallback, int64_t *count)
{
    *count = call->given[i] ? call->arguments[i].as.integer : fallback;
    return !call->given[i] || call->arguments[i].kind == RMSNORM_ANY_INTEGER ? RMSNORM_OK
                                                                             : refuse_argument(call, i, "an integer");
}

static rmsnorm_status push_part(rmsnorm_builtin_call *call, rmsnorm_any *list, const char *text, size_t length)
{
    RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, 1));
    return rmsnorm_list_push(call->run->arena, list->as.list, rmsnorm_any_string(text, length)) ? RMSNORM_OK
                                                                                                : exhausted(call);
}

/* The place of part in text from a place on; length when it is not there. */
static size_t find_part(const char *text, size_t length, size_t from, const char *part, size_t size)
{
    for (size_t i = from; i + size <= length; i++) {
        if (memcmp(text + i, part, size) == 0) {
            return i;
        }
    }
    return length;
}

/* Between runs of white space; behind the last allowed split the rest stays whole. */
static rmsnorm_status split_at_space(rmsnorm_builtin_call *call, int64_t most, rmsnorm_any *result)
{
    const char *text = call->operand.as.string.text;
    size_t length = call->operand.as.string.length;
    rmsnorm_space_strip(&text, &length, true, false);
    while (length > 0) {
        size_t word = 0;
        while (word < length && rmsnorm_space_first(text + word, length - word) == 0) {
            word += rmsnorm_utf8_character(text + word, length - word);
        }
        if (most >= 0 && (int64_t)result->as.list->count >= most) {
            word = length;
        }
        RMSNORM_TRY(push_part(call, result, text, word));
        text += word;
        length -= word;
        rmsnorm_space_strip(&text, &length, true, false);
    }
    return RMSNORM_OK;
}

static rmsnorm_status split_at_text(rmsnorm_builtin_call *call, int64_t most, rmsnorm_any *result)
{
    const char *const text = call->operand.as.string.text, *const part = call->arguments[0].as.string.text;
    const size_t length = call->operand.as.string.length, size = call->arguments[0].as.string.length;
    if (size == 0) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'split' at an empty string");
    }
    size_t from = 0;
    for (;;) {
        const bool last = most >= 0 && (int64_t)result->as.list->count >= most;
        const size_t end = last ? length : find_part(text, length, from, part, size);
        RMSNORM_TRY(push_part(call, result, text + from, end - from));
        if (end == length) {
            return RMSNORM_OK;
        }
        from = end + size;
    }
}

rmsnorm_status rmsnorm_apply_split(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    int64_t most;
    RMSNORM_TRY(need_string(call));
    RMSNORM_TRY(read_count(call, 1, -1, &most));
    if (most < -1) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_UNSUPPORTED, "'split' with fewer than -1 splits");
    }
    RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, call->operand.as.string.length / 8));
    *result = rmsnorm_any_list(call->run->arena);
    if (result->kind == RMSNORM_ANY_UNDEFINED) {
        return exhausted(call);
    }
    if (!call->given[0] || call->arguments[0].kind == RMSNORM_ANY_NULL) {
        return split_at_space(call, most, result);
    }
    return call->arguments[0].kind == RMSNORM_ANY_STRING ? split_at_text(call, most, result)
                                                         : refuse_argument(call, 0, "a string");
}

/* Of an empty part: before every character, and at the end. */
rmsnorm_status rmsnorm_apply_replace(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    int64_t most;
    RMSNORM_TRY(need_string(call));
    for (size_t i = 0; i < 2; i++) {
        if (call->arguments[i].kind != RMSNORM_ANY_STRING) {
            return refuse_argument(call, i, "strings");
        }
    }
    call->given[2] = call->given[2] && call->arguments[2].kind != RMSNORM_ANY_NULL;
    RMSNORM_TRY(read_count(call, 2, -1, &most));
    const char *const text = call->operand.as.string.text, *const part = call->arguments[0].as.string.text;
    const size_t length = call->operand.as.string.length, size = call->arguments[0].as.string.length;
    rmsnorm_buffer buffer = new_buffer(call);
    size_t from = 0, done = 0; /* done: what is in the buffer */
    RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, length / 8));
    for (uint64_t left = most < 0 ? UINT64_MAX : (uint64_t)most; left > 0 && from <= length; left--) {
        const size_t at = size == 0 ? from : find_part(text, length, from, part, size);
        if (size > 0 && at == length) {
            break;
        }
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, 1));
        if (!rmsnorm_buffer_add(&buffer, text + done, at - done) ||
            !rmsnorm_buffer_add(&buffer, call->arguments[1].as.string.text, call->arguments[1].as.string.length)) {
            return exhausted(call);
        }
        done = at + size;
        from = size > 0 ? done : at < length ? at + rmsnorm_utf8_character(text + at, length - at) : length + 1;
    }
    if (!rmsnorm_buffer_add(&buffer, text + done, length - done)) {
        return exhausted(call);
    }
    *result = rmsnorm_any_string(buffer.text, buffer.length);
    return RMSNORM_OK;
}

static rmsnorm_status read_flag(const rmsnorm_builtin_call *call, size_t i, bool *flag)
{
    *flag = call->given[i] && call->arguments[i].as.boolean;
    return !call->given[i] || call->arguments[i].kind == RMSNORM_ANY_BOOLEAN ? RMSNORM_OK
                                                                             : refuse_argument(call, i, "a boolean");
}

/* indent(width, first, blank) */
rmsnorm_status rmsnorm_apply_indent(rmsnorm_builtin_call *call, rmsnorm_any *result)
{
    int64_t width;
    bool first, blank;
    RMSNORM_TRY(need_string(call));
    RMSNORM_TRY(read_count(call, 0, 4, &width));
    RMSNORM_TRY(read_flag(call, 1, &first));
    RMSNORM_TRY(read_flag(call, 2, &blank));
    if (width < 0 || width > 1000) {
        return RMSNORM_RUN_FAIL(call->run, call->at, RMSNORM_INVALID_ARGUMENT, "'indent' takes a width of 0 to 1000");
    }
    const char *const text = call->operand.as.string.text;
    const size_t length = call->operand.as.string.length;
    rmsnorm_buffer buffer = new_buffer(call);
    size_t from = 0;
    for (bool more = true; more;) {
        const size_t end = find_part(text, length, from, "\n", 1);
        const bool skip = (!first && from == 0) || (!blank && end == from);
        more = end < length; /* a line break, and another line behind it */
        RMSNORM_TRY(rmsnorm_run_spend(call->run, call->at, 1 + (end - from) / 64));
        for (int64_t i = 0; !skip && i < width; i++) {
            if (!rmsnorm_buffer_add(&buffer, " ", 1)) {
                return exhausted(call);
            }
        }
        if (!rmsnorm_buffer_add(&buffer, text + from, end - from + more)) {
            return exhausted(call);
        }
        from = end + more;
    }
    *result = rmsnorm_any_string(buffer.text, buffer.length);
    return RMSNORM_OK;
}
