/* meant.h: which name somebody meant who wrote another one. */
#ifndef RMSNORM_OPERATOR_MEANT_H
#define RMSNORM_OPERATOR_MEANT_H

#include <stddef.h>
#include <stdint.h>

#define RMSNORM_NOT_MEANT SIZE_MAX

/* How far the first `length` characters of what was given are from a name: letters and digits to insert, delete or replace,
 * whatever the case and whatever stands between them. 0 for the name's own beginning, of `beginning` letters or more.
 * RMSNORM_NOT_MEANT when that is more than 3, or more than a third of the shorter of the two. */
size_t rmsnorm_meant_distance(const char *given, size_t length, const char *name, size_t beginning);

#endif
