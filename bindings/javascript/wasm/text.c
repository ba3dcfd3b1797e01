#include "text.h"

#include <stdlib.h>
#include <string.h>

static void add(rmsnorm_js_text *text, const char *data, size_t size)
{
    if (text->failed) {
        return;
    }
    if (text->room - text->size <= size) {
        const size_t room = 2 * text->room + size + 1024;
        char *const larger = realloc(text->data, room);
        if (larger == NULL) {
            text->failed = true;
            return;
        }
        text->data = larger;
        text->room = room;
    }
    memcpy(text->data + text->size, data, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void rmsnorm_js_raw(rmsnorm_js_text *text, const char *raw)
{
    add(text, raw, strlen(raw));
}

static void add_escape(rmsnorm_js_text *text, unsigned char c)
{
    static const char digits[] = "0123456789abcdef";
    if (c == '\n') {
        add(text, "\\n", 2);
    } else if (c == '"' || c == '\\') {
        add(text, (const char[]){'\\', (char)c}, 2);
    } else {
        add(text, (const char[]){'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]}, 6);
    }
}

void rmsnorm_js_string(rmsnorm_js_text *text, const char *string, size_t length)
{
    size_t plain = 0; /* where the part begins that needs no escape */
    add(text, "\"", 1);
    for (size_t i = 0; i < length; i++) {
        const unsigned char c = (unsigned char)string[i];
        if (c < ' ' || c == '"' || c == '\\') {
            add(text, string + plain, i - plain);
            add_escape(text, c);
            plain = i + 1;
        }
    }
    add(text, string + plain, length - plain);
    add(text, "\"", 1);
}

void rmsnorm_js_number(rmsnorm_js_text *text, int64_t number)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (number < 0) {
        digits[--at] = '-';
    }
    add(text, digits + at, sizeof digits - at);
}

void rmsnorm_js_next(rmsnorm_js_text *text)
{
    const char last = text->size == 0 ? '{' : text->data[text->size - 1];
    if (last != '{' && last != '[') {
        add(text, ",", 1);
    }
}

void rmsnorm_js_name(rmsnorm_js_text *text, const char *name)
{
    rmsnorm_js_next(text);
    rmsnorm_js_string(text, name, strlen(name));
    add(text, ":", 1);
}
