#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "template/syntax.h"

enum { SHOWN = 40, LARGEST_TEXT = 1 << 24 };

rmsnorm_status rmsnorm_unit_read(rmsnorm_arena *arena, const rmsnorm_text_source *source, rmsnorm_unit **unit)
{
    RMSNORM_CHECK(source->length <= LARGEST_TEXT, RMSNORM_UNSUPPORTED, "%s: a text of %zu bytes; at most %d are read",
                  source->name, source->length, (int)LARGEST_TEXT);
    rmsnorm_unit *const made = rmsnorm_arena_allocate(arena, sizeof *made);
    const char *const name = made == NULL ? NULL : rmsnorm_arena_copy(arena, source->name, strlen(source->name));
    const char *const text = name == NULL ? NULL : rmsnorm_arena_copy(arena, source->text, source->length);
    if (text == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    *made = (rmsnorm_unit){
        .name = name, .given = text, .given_length = source->length, .text = text, .length = source->length};
    RMSNORM_CHECK(rmsnorm_utf8_is_valid(text, source->length), RMSNORM_MALFORMED, "%s: the text is no UTF-8", name);
    *unit = made;
    return RMSNORM_OK;
}

/* Where a place of the text that is read lies in the text that was given. */
static size_t given_place(const rmsnorm_unit *unit, size_t at)
{
    size_t low = 0, high = unit->cut_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (unit->cuts[middle].at <= at) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low == 0 ? at : at + unit->cuts[low - 1].removed;
}

/* The first SHOWN bytes; control characters as \n, \t, \xNN. */
static void shorten(const char *text, size_t length, char *shown)
{
    size_t used = 0, i = 0;
    while (i < length && used < SHOWN) {
        const size_t bytes = rmsnorm_utf8_character(text + i, length - i);
        const unsigned char first = (unsigned char)text[i];
        if (first == '\n' || first == '\t') {
            used += (size_t)sprintf(shown + used, "\\%c", first == '\n' ? 'n' : 't');
        } else if (first < 0x20 || first == 0x7F) {
            used += (size_t)sprintf(shown + used, "\\x%02x", (unsigned)first);
        } else {
            memcpy(shown + used, text + i, bytes);
            used += bytes;
        }
        i += bytes;
    }
    memcpy(shown + used, i < length ? "..." : "\0\0\0", 4);
}

rmsnorm_status(rmsnorm_unit_fail)(const rmsnorm_unit *unit, size_t at, rmsnorm_status status, const char *format, ...)
{
    char sentence[768], shown[SHOWN + 16];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    const size_t place = given_place(unit, at < unit->length ? at : unit->length);
    size_t line = 1, column = 1;
    for (size_t i = 0; i < place; i++) {
        if (unit->given[i] == '\n') {
            line++;
            column = 1;
        } else {
            column += ((unsigned char)unit->given[i] & 0xC0) != 0x80;
        }
    }
    if (place == unit->given_length) {
        return rmsnorm_fail(status, "%s:%zu:%zu: %s, at the end", unit->name, line, column, sentence);
    }
    shorten(unit->given + place, unit->given_length - place, shown);
    return rmsnorm_fail(status, "%s:%zu:%zu: %s, at \"%s\"", unit->name, line, column, sentence, shown);
}
