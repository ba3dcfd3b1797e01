/* lists.c: lists of words, and the word that was probably meant. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "options.h"

void rmsnorm_cli_list_add(rmsnorm_cli_list *list, const char *item)
{
    if ((list->count & (list->count + 1)) == 0) { /* full: the room is the powers of two minus one */
        const char **items = rmsnorm_cli_allocate(2 * list->count + 1, sizeof *items);
        if (list->count > 0) {
            memcpy(items, list->items, list->count * sizeof *items);
        }
        free(list->items);
        list->items = items;
    }
    list->items[list->count++] = item;
}

void rmsnorm_cli_list_free(rmsnorm_cli_list *list)
{
    free(list->items);
    *list = (rmsnorm_cli_list){NULL, 0};
}

enum { LONGEST = 48 };

/* Insertions, deletions, replacements and swaps of neighbours from a to b, each 1 (the restricted Damerau-Levenshtein
 * distance): the slips that fingers make. */
static size_t distance(const char *a, const char *b)
{
    const size_t rows = strlen(a);
    const size_t columns = strlen(b);
    if (rows > LONGEST || columns > LONGEST) {
        return LONGEST;
    }
    size_t table[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= rows; ++i) {
        for (size_t j = 0; j <= columns; ++j) {
            if (i == 0 || j == 0) {
                table[i][j] = i + j;
                continue;
            }
            size_t least = table[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            least = table[i - 1][j] + 1 < least ? table[i - 1][j] + 1 : least;
            least = table[i][j - 1] + 1 < least ? table[i][j - 1] + 1 : least;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && table[i - 2][j - 2] + 1 < least) {
                least = table[i - 2][j - 2] + 1;
            }
            table[i][j] = least;
        }
    }
    return table[rows][columns];
}

int rmsnorm_cli_nearest(const char *word, rmsnorm_cli_candidate candidate, const void *table)
{
    int nearest = -1;
    size_t least = 0;
    const char *name;
    for (size_t i = 0; (name = candidate(table, i)) != NULL; ++i) {
        const size_t slips = distance(word, name);
        const size_t shorter = strlen(word) < strlen(name) ? strlen(word) : strlen(name);
        const size_t allowed = shorter < 6 ? shorter > 1 : shorter / 3;
        if (slips <= allowed && (nearest < 0 || slips < least)) {
            nearest = (int)i;
            least = slips;
        }
    }
    return nearest;
}
