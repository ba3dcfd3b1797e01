#include <inttypes.h>
#include <string.h>

#include "package/scope.h"

rmsnorm_status rmsnorm_planning_set(rmsnorm_planning *plan, rmsnorm_map *map, const char *key, rmsnorm_any value)
{
    return rmsnorm_map_set(plan->arena, map, key, strlen(key), value) ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

rmsnorm_status rmsnorm_planning_map(rmsnorm_planning *plan, rmsnorm_map **map)
{
    const rmsnorm_any value = rmsnorm_any_map(plan->arena);
    if (value.kind != RMSNORM_ANY_MAP) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    *map = value.as.map;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_planning_value(rmsnorm_planning *plan, const rmsnorm_formula *formula, rmsnorm_any *value)
{
    RMSNORM_TRY(rmsnorm_expression_evaluate(formula->expression, &plan->scope, &plan->evaluation, value));
    RMSNORM_CHECK(value->kind != RMSNORM_ANY_UNDEFINED, RMSNORM_MALFORMED, "manifest.json: `%s` has no value",
                  formula->text);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_planning_integer(rmsnorm_planning *plan, const rmsnorm_formula *formula, int64_t least,
                                        int64_t *value)
{
    rmsnorm_any got;
    *value = 0;
    RMSNORM_TRY(rmsnorm_planning_value(plan, formula, &got));
    RMSNORM_CHECK(got.kind == RMSNORM_ANY_INTEGER && got.as.integer >= least, RMSNORM_MALFORMED,
                  "manifest.json: `%s` gives %s; allowed: an integer from %" PRId64 " on", formula->text,
                  got.kind == RMSNORM_ANY_INTEGER ? "a smaller integer" : rmsnorm_any_kind_name(got.kind), least);
    *value = got.as.integer;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_planning_flag(rmsnorm_planning *plan, const rmsnorm_formula *formula, bool *flag)
{
    rmsnorm_any got;
    *flag = false;
    RMSNORM_TRY(rmsnorm_planning_value(plan, formula, &got));
    RMSNORM_CHECK(got.kind == RMSNORM_ANY_BOOLEAN, RMSNORM_MALFORMED,
                  "manifest.json: `%s` gives %s; allowed: true or false", formula->text,
                  rmsnorm_any_kind_name(got.kind));
    *flag = got.as.boolean;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_planning_derive(rmsnorm_planning *plan, const rmsnorm_formulas *formulas)
{
    for (size_t i = 0; i < formulas->count; i++) {
        rmsnorm_any value;
        RMSNORM_TRY(rmsnorm_planning_value(plan, &formulas->items[i].formula, &value));
        RMSNORM_TRY(rmsnorm_planning_set(plan, plan->names, formulas->items[i].name, value));
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_planning_variant(rmsnorm_planning *plan)
{
    RMSNORM_TRY(rmsnorm_planning_map(plan, &plan->names));
    plan->scope.variables = plan->names;
    plan->scope.outer = &plan->request_scope;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_planning_shape(rmsnorm_planning *plan, const rmsnorm_formula *formula, rmsnorm_tensor *tensor)
{
    rmsnorm_any value;
    RMSNORM_TRY(rmsnorm_planning_value(plan, formula, &value));
    RMSNORM_CHECK(value.kind == RMSNORM_ANY_LIST && value.as.list->count <= RMSNORM_MAX_RANK, RMSNORM_MALFORMED,
                  "manifest.json: `%s` gives no shape", formula->text);
    tensor->rank = (int32_t)value.as.list->count;
    for (size_t i = 0; i < value.as.list->count; i++) {
        const rmsnorm_any *const dim = &value.as.list->items[i];
        RMSNORM_CHECK(dim->kind == RMSNORM_ANY_INTEGER && dim->as.integer >= 0, RMSNORM_MALFORMED,
                      "manifest.json: `%s` gives no shape", formula->text);
        tensor->dims[i] = dim->as.integer;
    }
    return RMSNORM_OK;
}
