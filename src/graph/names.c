#include "graph/names.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void rmsnorm_names_sort(rmsnorm_names *names)
{
    if (names->count > 1) {
        qsort(names->items, names->count, sizeof *names->items, compare);
    }
}

bool rmsnorm_names_contain(const rmsnorm_names *names, const char *name)
{
    return names->count > 0 && bsearch(&name, names->items, names->count, sizeof *names->items, compare) != NULL;
}

const char *rmsnorm_names_duplicate(const rmsnorm_names *names)
{
    for (size_t i = 1; i < names->count; i++) {
        if (strcmp(names->items[i - 1], names->items[i]) == 0) {
            return names->items[i];
        }
    }
    return NULL;
}
