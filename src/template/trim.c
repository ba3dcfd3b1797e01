/* trim.c: what the reference does to a template's text before it reads a tag: it looks at neither strings nor comments, and so
 * takes the same from inside them. */
#include <string.h>

#include "template/syntax.h"

static bool opens(const char *text, size_t length, size_t at)
{
    return at + 1 < length && text[at] == '{' && (text[at + 1] == '#' || text[at + 1] == '%' || text[at + 1] == '-');
}

static bool closes_before(const char *text, size_t at)
{
    return at >= 2 && text[at - 1] == '}' && (text[at - 2] == '#' || text[at - 2] == '%' || text[at - 2] == '-');
}

static bool begins_line(const char *text, size_t at)
{
    return at == 0 || text[at - 1] == '\n' || text[at - 1] == '\r' ||
           (at >= 3 &&
            (memcmp(text + at - 3, "\xE2\x80\xA8", 3) == 0 || memcmp(text + at - 3, "\xE2\x80\xA9", 3) == 0));
}

/* How many bytes at this place are left out. */
static size_t taken(const char *text, size_t length, size_t at)
{
    if (text[at] == '\n') {
        return closes_before(text, at);
    }
    if ((text[at] == ' ' || text[at] == '\t') && begins_line(text, at)) {
        size_t end = at;
        while (end < length && (text[end] == ' ' || text[end] == '\t')) {
            end++;
        }
        return opens(text, length, end) ? end - at : 0;
    }
    return 0;
}

static size_t skip_spaces(const char *text, size_t length, size_t at)
{
    size_t bytes;
    while ((bytes = rmsnorm_space_first(text + at, length - at)) > 0) {
        at += bytes;
    }
    return at;
}

static bool skip_word(const char *text, size_t length, size_t *at, const char *word)
{
    const size_t bytes = strlen(word);
    if (length - *at < bytes || memcmp(text + *at, word, bytes) != 0) {
        return false;
    }
    *at += bytes;
    return true;
}

/* The reference takes this tag out of the text wherever it stands, which makes what is around it another text. */
static bool is_generation_tag(const char *text, size_t length, size_t at)
{
    if (!skip_word(text, length, &at, "{%")) {
        return false;
    }
    (void)skip_word(text, length, &at, "-");
    at = skip_spaces(text, length, at);
    (void)skip_word(text, length, &at, "end");
    if (!skip_word(text, length, &at, "generation")) {
        return false;
    }
    at = skip_spaces(text, length, at);
    (void)skip_word(text, length, &at, "-");
    return skip_word(text, length, &at, "%}");
}

rmsnorm_status rmsnorm_unit_trim(rmsnorm_arena *arena, rmsnorm_unit *unit)
{
    const char *const given = unit->given;
    const size_t length = unit->given_length - (unit->given_length > 0 && given[unit->given_length - 1] == '\n');
    char *const text = rmsnorm_arena_allocate(arena, length + 1);
    if (text == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    rmsnorm_buffer cuts = {.arena = arena, .limit = SIZE_MAX};
    rmsnorm_cut cut = {0, 0};
    size_t at = 0;
    while (at < length) {
        const size_t bytes = taken(given, length, at);
        if (bytes == 0) {
            text[cut.at++] = given[at++];
            continue;
        }
        at += bytes;
        cut.removed += bytes;
        if (!rmsnorm_buffer_add(&cuts, (const char *)&cut, sizeof cut)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
    }
    unit->text = text;
    unit->length = cut.at;
    unit->cuts = (const rmsnorm_cut *)(const void *)cuts.text;
    unit->cut_count = cuts.length / sizeof cut;
    for (size_t i = 0; i < unit->length; i++) {
        if (text[i] == '{' && is_generation_tag(text, unit->length, i)) {
            return rmsnorm_unit_fail(unit, i, RMSNORM_UNSUPPORTED, "the tag generation is not supported");
        }
    }
    return RMSNORM_OK;
}
