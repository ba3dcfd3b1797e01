/* names.h: lists of names from a file: sorted, so that looking one up and finding a duplicate stay cheap whatever a
 * file holds. */
#ifndef RMSNORM_GRAPH_NAMES_H
#define RMSNORM_GRAPH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct rmsnorm_names {
    const char **items; /* room for all that will be added */
    size_t count;
} rmsnorm_names;

void rmsnorm_names_sort(rmsnorm_names *names);

/* In sorted names: whether this is one of them; and one that is there twice, or NULL. */
bool rmsnorm_names_contain(const rmsnorm_names *names, const char *name);
const char *rmsnorm_names_duplicate(const rmsnorm_names *names);

#endif
