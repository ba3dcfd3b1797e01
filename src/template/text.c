#include "template/text.h"

#include <string.h>

/* The bytes that a character with this first byte has; 0 for a byte that begins none. */
static size_t bytes_of(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xC2 || first > 0xF4) {
        return 0;
    }
    return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* 0 where no character begins. Overlong forms, surrogates and what is beyond U+10FFFF are none. */
static size_t character_or_none(const char *text, size_t length)
{
    const unsigned char *const byte = (const unsigned char *)text;
    const size_t bytes = bytes_of(byte[0]);
    if (bytes < 2) {
        return bytes;
    }
    if (bytes > length) {
        return 0;
    }
    for (size_t i = 1; i < bytes; i++) {
        if ((byte[i] & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool bad = (byte[0] == 0xE0 && byte[1] < 0xA0) || (byte[0] == 0xED && byte[1] >= 0xA0) ||
                     (byte[0] == 0xF0 && byte[1] < 0x90) || (byte[0] == 0xF4 && byte[1] >= 0x90);
    return bad ? 0 : bytes;
}

size_t rmsnorm_utf8_character(const char *text, size_t length)
{
    const size_t bytes = character_or_none(text, length);
    return bytes == 0 ? 1 : bytes;
}

bool rmsnorm_utf8_is_valid(const char *text, size_t length)
{
    size_t i = 0;
    while (i < length) {
        const size_t bytes = character_or_none(text + i, length - i);
        if (bytes == 0) {
            return false;
        }
        i += bytes;
    }
    return true;
}

bool rmsnorm_utf8_is_ascii(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)text[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

size_t rmsnorm_utf8_write(uint32_t character, char to[4])
{
    if (character < 0x80) {
        to[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        to[0] = (char)(0xC0 | character >> 6);
        to[1] = (char)(0x80 | (character & 0x3F));
        return 2;
    }
    to[0] = (char)(0xE0 | character >> 12);
    to[1] = (char)(0x80 | (character >> 6 & 0x3F));
    to[2] = (char)(0x80 | (character & 0x3F));
    return 3;
}

/* White space beyond ASCII, as JavaScript's \s and trim() have it. */
static const char *const wide_spaces[] = {
    "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81", "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84",
    "\xE2\x80\x85", "\xE2\x80\x86", "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
    "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80", "\xEF\xBB\xBF",
};

static bool is_narrow_space(char byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

size_t rmsnorm_space_first(const char *text, size_t length)
{
    if (length == 0 || (unsigned char)text[0] < 0x80) {
        return length > 0 && is_narrow_space(text[0]);
    }
    for (size_t i = 0; i < sizeof wide_spaces / sizeof wide_spaces[0]; i++) {
        const size_t bytes = strlen(wide_spaces[i]);
        if (bytes <= length && memcmp(text, wide_spaces[i], bytes) == 0) {
            return bytes;
        }
    }
    return 0;
}

size_t rmsnorm_space_last(const char *text, size_t length)
{
    if (length == 0 || (unsigned char)text[length - 1] < 0x80) {
        return length > 0 && is_narrow_space(text[length - 1]);
    }
    for (size_t i = 0; i < sizeof wide_spaces / sizeof wide_spaces[0]; i++) {
        const size_t bytes = strlen(wide_spaces[i]);
        if (bytes <= length && memcmp(text + length - bytes, wide_spaces[i], bytes) == 0) {
            return bytes;
        }
    }
    return 0;
}

void rmsnorm_space_strip(const char **text, size_t *length, bool first, bool last)
{
    size_t bytes;
    while (first && (bytes = rmsnorm_space_first(*text, *length)) > 0) {
        *text += bytes;
        *length -= bytes;
    }
    while (last && (bytes = rmsnorm_space_last(*text, *length)) > 0) {
        *length -= bytes;
    }
}

bool rmsnorm_buffer_add(rmsnorm_buffer *buffer, const char *text, size_t length)
{
    if (length > buffer->limit - buffer->length) {
        buffer->full = true;
        return false;
    }
    if (length >= buffer->capacity - buffer->length) { /* a place for the terminator stays */
        size_t capacity = buffer->capacity == 0 ? 64 : 2 * buffer->capacity;
        while (capacity <= SIZE_MAX / 4 && capacity - buffer->length <= length) {
            capacity *= 2;
        }
        char *const place = rmsnorm_arena_allocate(buffer->arena, capacity);
        if (place == NULL) {
            return false;
        }
        if (buffer->length > 0) {
            memcpy(place, buffer->text, buffer->length);
        }
        buffer->text = place;
        buffer->capacity = capacity;
    }
    if (length > 0) {
        memcpy(buffer->text + buffer->length, text, length);
        buffer->length += length;
    }
    return true;
}
