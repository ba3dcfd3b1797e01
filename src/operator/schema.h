/* schema.h: the schema table inside the house. */
#ifndef RMSNORM_OPERATOR_SCHEMA_H
#define RMSNORM_OPERATOR_SCHEMA_H

#include <assert.h>

#include "rmsnorm/rmsnorm.h"

enum { RMSNORM_MAX_INPUTS = 4, RMSNORM_MAX_OUTPUTS = 4, RMSNORM_MAX_TYPE_CONSTRAINTS = 3 };

/* The names of the attributes are these objects, so that a lookup before every run compares addresses, not characters. */
extern const char rmsnorm_axis[];
extern const char rmsnorm_epsilon[];
extern const char rmsnorm_stash_type[];
extern const char rmsnorm_keep_dims[];

/* Which of the operator's type constraints a slot has: slots and constraints of the table share their name's object. */
static inline size_t rmsnorm_slot_constraint(const rmsnorm_operator *op, const rmsnorm_slot *slot)
{
    size_t i = 0;
    while (op->type_constraints[i].name != slot->type) {
        ++i;
        assert(i < op->type_constraint_count);
    }
    return i;
}

#endif
