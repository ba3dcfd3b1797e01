#include "operator/meant.h"

#include <string.h>

enum { MAX_NAME = 64, MOST_ERRORS = 3 };

/* Letters and digits of a name in lower case: "rms_normalization" and "RMSNormalization" fold to the same. Length, or 0 when
 * the name is empty or too long to be meant as one of ours. */
static size_t fold(const char *name, size_t length, char folded[MAX_NAME])
{
    size_t count = 0;
    for (size_t i = 0; i < length; ++i) {
        const char c = name[i] >= 'A' && name[i] <= 'Z' ? (char)(name[i] - 'A' + 'a') : name[i];
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            if (count == MAX_NAME) {
                return 0;
            }
            folded[count++] = c;
        }
    }
    return count;
}

/* Levenshtein's distance: insertions, deletions and substitutions that turn a into b. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[MAX_NAME + 1];
    for (size_t j = 0; j <= b_length; ++j) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_length; ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; ++j) {
            const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            const size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = substituted < shorter ? substituted : shorter;
        }
    }
    return row[b_length];
}

size_t rmsnorm_meant_distance(const char *given, size_t length, const char *name, size_t beginning)
{
    char a[MAX_NAME];
    char b[MAX_NAME];
    const size_t a_length = fold(given, length, a);
    const size_t b_length = fold(name, strlen(name), b);
    const size_t shorter = a_length < b_length ? a_length : b_length;
    if (a_length >= beginning && a_length <= b_length && memcmp(a, b, a_length) == 0) {
        return 0;
    }
    const size_t errors = distance(a, a_length, b, b_length);
    return errors <= MOST_ERRORS && errors <= shorter / 3 ? errors : RMSNORM_NOT_MEANT;
}
