/* names.h: names of calls, and what somebody meant who wrote another one. */
#ifndef RMSNORM_JS_NAMES_H
#define RMSNORM_JS_NAMES_H

#include "rmsnorm/package.h"

/* The slot with this key, or count. */
size_t rmsnorm_js_slot_find(const rmsnorm_package_slot *slots, size_t count, const char *key);

/* What a caller may have meant: the name as calls have it, and another that means the same. */
typedef struct rmsnorm_js_candidate {
    const char *name;
    const char *other; /* NULL: there is none */
} rmsnorm_js_candidate;

/* The candidate that was most likely meant: the other name, another case, or few letters away. Or count. */
size_t rmsnorm_js_guess(const rmsnorm_js_candidate *candidates, size_t count, const char *name);

#endif
