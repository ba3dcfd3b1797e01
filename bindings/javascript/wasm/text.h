/* text.h: a text that grows, and JSON written into it. */
#ifndef RMSNORM_JS_TEXT_H
#define RMSNORM_JS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rmsnorm_js_text {
    char *data; /* with a terminator behind its size bytes; NULL: nothing was written yet */
    size_t size, room;
    bool failed; /* no memory: what follows is dropped */
} rmsnorm_js_text;

void rmsnorm_js_raw(rmsnorm_js_text *text, const char *raw);

/* With quotes and escapes. */
void rmsnorm_js_string(rmsnorm_js_text *text, const char *string, size_t length);

/* At most 2^53, as all sizes that JavaScript can have. */
void rmsnorm_js_number(rmsnorm_js_text *text, int64_t number);

/* `"name":`, and a comma before it unless an object or a list has just begun. */
void rmsnorm_js_name(rmsnorm_js_text *text, const char *name);

/* That comma, before the items of a list. */
void rmsnorm_js_next(rmsnorm_js_text *text);

#endif
