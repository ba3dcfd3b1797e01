/* scope.h: a request in the words that a manifest's expressions use. */
#ifndef RMSNORM_PACKAGE_SCOPE_H
#define RMSNORM_PACKAGE_SCOPE_H

#include "package/package.h"

/* One planning: the request, the names it gives to expressions, and where everything lives. */
typedef struct rmsnorm_planning {
    const rmsnorm_package *package;
    const rmsnorm_request *request;
    rmsnorm_device_profile device;
    rmsnorm_dtype dtypes[2][RMSNORM_MAX_SLOTS]; /* of inputs and outputs */
    const rmsnorm_tensor *outputs;              /* once their shapes are known */
    rmsnorm_arena *arena;
    rmsnorm_map *
        names; /* inputs and wanted outputs by key, attributes, tunables, present, inPlace, device, options; what is derived */
    rmsnorm_scope request_scope; /* what the request and the manifest say */
    rmsnorm_scope scope;         /* that, or what a variant derives in front of it */
    rmsnorm_evaluation evaluation;
} rmsnorm_planning;

/* Checks the request against the contract part of the manifest, and fills names. */
rmsnorm_status rmsnorm_planning_start(rmsnorm_planning *plan, const rmsnorm_package *package,
                                      const rmsnorm_request *request, rmsnorm_arena *arena);

/* Evaluate formulas. The sentence of a failure names the formula's field. */
rmsnorm_status rmsnorm_planning_value(rmsnorm_planning *plan, const rmsnorm_formula *formula, rmsnorm_any *value);
rmsnorm_status rmsnorm_planning_integer(rmsnorm_planning *plan, const rmsnorm_formula *formula, int64_t least,
                                        int64_t *value);
rmsnorm_status rmsnorm_planning_flag(rmsnorm_planning *plan, const rmsnorm_formula *formula, bool *flag);

/* Evaluates each and adds it to names, so that the next ones may use it. */
rmsnorm_status rmsnorm_planning_derive(rmsnorm_planning *plan, const rmsnorm_formulas *formulas);

/* Starts a variant: what is derived from here on is forgotten with the next one. */
rmsnorm_status rmsnorm_planning_variant(rmsnorm_planning *plan);

/* Sets a member; the key is not copied. */
rmsnorm_status rmsnorm_planning_set(rmsnorm_planning *plan, rmsnorm_map *map, const char *key, rmsnorm_any value);
rmsnorm_status rmsnorm_planning_map(rmsnorm_planning *plan, rmsnorm_map **map);

/* Dims of an output that the manifest's shape expression gave. */
rmsnorm_status rmsnorm_planning_shape(rmsnorm_planning *plan, const rmsnorm_formula *formula, rmsnorm_tensor *tensor);

#endif
