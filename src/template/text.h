/* text.h: text as the reference sees it: what is white space, how numbers are written and read, text that grows. */
#ifndef RMSNORM_TEMPLATE_TEXT_H
#define RMSNORM_TEMPLATE_TEXT_H

#include <stdint.h>

#include "operator/arena.h"

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

/* The bytes of the character that text begins with; 1 where it is no UTF-8. length > 0. */
size_t rmsnorm_utf8_character(const char *text, size_t length);
bool rmsnorm_utf8_is_valid(const char *text, size_t length);
bool rmsnorm_utf8_is_ascii(const char *text, size_t length);

/* The bytes of the white space character that text begins or ends with; 0 when it is none. */
size_t rmsnorm_space_first(const char *text, size_t length);
size_t rmsnorm_space_last(const char *text, size_t length);

/* Both ends of a text without white space. */
void rmsnorm_space_strip(const char **text, size_t *length, bool first, bool last);

/* Writes the UTF-8 of a character below 0x10000 and returns its bytes. */
size_t rmsnorm_utf8_write(uint32_t character, char to[4]);

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Integers further from 0 than this would be rounded by the reference. */
#define RMSNORM_LARGEST_INTEGER ((int64_t)1 << 53)

enum { RMSNORM_NUMBER_SIZE = 40 };

/* The shortest digits that read back the same, in JavaScript's notation: 0.1, 1e-7, 1e+21, 3. Of finite numbers. */
size_t rmsnorm_number_write(double number, char to[RMSNORM_NUMBER_SIZE]);

/* Reads digits, a point, an exponent from the start of text; the bytes read in *used, 0 when it does not begin with a number.
 * false when the number is too long or too large to be read. */
bool rmsnorm_number_read(const char *text, size_t length, double *number, size_t *used);

/* Digits only, after a sign; the rest as above. false when it is beyond RMSNORM_LARGEST_INTEGER. */
bool rmsnorm_integer_read(const char *text, size_t length, int64_t *integer, size_t *used);

/* ---- Text that grows ------------------------------------------------------------------------- */

typedef struct rmsnorm_buffer {
    rmsnorm_arena *arena;
    char *text;
    size_t length, capacity, limit;
    bool full; /* limit was passed */
} rmsnorm_buffer;

/* false when the arena is exhausted or the limit passed. */
bool rmsnorm_buffer_add(rmsnorm_buffer *buffer, const char *text, size_t length);

#endif
