#include "names.h"

#include <stdint.h>
#include <string.h>

enum { LONGEST = 48 };

size_t rmsnorm_js_slot_find(const rmsnorm_package_slot *slots, size_t count, const char *key)
{
    size_t i = 0;
    while (i < count && strcmp(slots[i].key, key) != 0) {
        i++;
    }
    return i;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Letters to change, add or leave out, whatever the case: Levenshtein's, row by row. */
static size_t distance(const char *a, const char *b)
{
    size_t row[LONGEST + 1];
    const size_t width = strlen(b);
    if (strlen(a) > LONGEST || width > LONGEST) {
        return SIZE_MAX; /* nothing near */
    }
    for (size_t j = 0; j <= width; j++) {
        row[j] = j;
    }
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < width; j++) {
            const size_t changed = diagonal + (lower(a[i]) != lower(b[j]));
            const size_t added = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = changed < added ? changed : added;
        }
    }
    return row[width];
}

size_t rmsnorm_js_guess(const rmsnorm_js_candidate *candidates, size_t count, const char *name)
{
    const size_t limit = strlen(name) < 4 ? 0 : strlen(name) / 3;
    size_t best = count;
    size_t least = limit + 1;
    for (size_t i = 0; i < count; i++) {
        const rmsnorm_js_candidate *const candidate = &candidates[i];
        const size_t by_name = distance(name, candidate->name);
        const size_t by_other = candidate->other != NULL ? distance(name, candidate->other) : by_name;
        const size_t away = by_name < by_other ? by_name : by_other;
        if (away < least) {
            least = away;
            best = i;
        }
    }
    return best;
}
