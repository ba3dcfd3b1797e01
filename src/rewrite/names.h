/* names.h: a set of names, so that new ones are new. */
#ifndef RMSNORM_REWRITE_NAMES_H
#define RMSNORM_REWRITE_NAMES_H

#include "operator/arena.h"
#include "rmsnorm/rmsnorm.h"

typedef struct rmsnorm_name_set {
    const char **slots; /* open addressing; NULL: free */
    size_t count, capacity;
} rmsnorm_name_set;

bool rmsnorm_name_set_has(const rmsnorm_name_set *set, const char *name);
/* The name is not copied. Adding one that is there changes nothing. */
rmsnorm_status rmsnorm_name_set_add(rmsnorm_name_set *set, rmsnorm_arena *arena, const char *name);

/* "BASE", or with a number behind it what is not in the set; added. NULL without memory. */
const char *rmsnorm_name_set_new(rmsnorm_name_set *set, rmsnorm_arena *arena, const char *base);

#endif
