#include "graph/functions.h"

#include "graph/bytes.h"
#include "graph/names.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *rmsnorm_domain_normalize(const char *domain)
{
    return domain == NULL || strcmp(domain, "ai.onnx") == 0 ? "" : domain;
}

/* Version 0 would be read as "the newest" further on, and two versions of one domain leave open which one is meant. */
rmsnorm_status rmsnorm_opsets_check(const char *file, const Onnx__ModelProto *proto, rmsnorm_budget *budget)
{
    rmsnorm_names domains = {rmsnorm_budget_allocate(budget, proto->n_opset_import + 1, sizeof(char *)), 0};
    if (domains.items == NULL) {
        return rmsnorm_budget_fail(budget, file);
    }
    rmsnorm_status status = RMSNORM_OK;
    for (size_t i = 0; i < proto->n_opset_import && status == RMSNORM_OK; i++) {
        const Onnx__OperatorSetIdProto *const opset = proto->opset_import[i];
        domains.items[domains.count++] = rmsnorm_domain_normalize(opset->domain);
        if (opset->version < 1) {
            status =
                rmsnorm_fail(RMSNORM_MALFORMED,
                             "%s: imports version %" PRId64 " of domain \"" RMSNORM_NAME "\"; 1 and more are allowed",
                             file, opset->version, domains.items[i]);
        }
    }
    rmsnorm_names_sort(&domains);
    const char *const twice = rmsnorm_names_duplicate(&domains);
    if (status == RMSNORM_OK && twice != NULL) {
        status = rmsnorm_fail(RMSNORM_MALFORMED, "%s: imports domain \"" RMSNORM_NAME "\" twice", file, twice);
    }
    free(domains.items);
    return status;
}

static int compare_function(const char *domain, const char *name, const Onnx__FunctionProto *function)
{
    const int by_domain = strcmp(rmsnorm_domain_normalize(domain), rmsnorm_domain_normalize(function->domain));
    return by_domain != 0 ? by_domain : strcmp(name, function->name != NULL ? function->name : "");
}

static int compare_functions(const void *left, const void *right)
{
    const Onnx__FunctionProto *const function = *(const Onnx__FunctionProto *const *)left;
    return compare_function(function->domain, function->name != NULL ? function->name : "",
                            *(const Onnx__FunctionProto *const *)right);
}

rmsnorm_status rmsnorm_functions_sort(const char *file, const Onnx__ModelProto *proto, rmsnorm_budget *budget,
                                      rmsnorm_functions *functions)
{
    const size_t count = proto->n_functions;
    functions->items = rmsnorm_budget_allocate(budget, count + 1, sizeof *functions->items);
    if (functions->items == NULL) {
        return rmsnorm_budget_fail(budget, file);
    }
    for (size_t i = 0; i < count; i++) {
        functions->items[i] = proto->functions[i];
    }
    functions->count = count;
    qsort(functions->items, count, sizeof *functions->items, compare_functions);
    return RMSNORM_OK;
}

bool rmsnorm_functions_have(const rmsnorm_functions *functions, const char *domain, const char *name)
{
    size_t low = 0;
    size_t high = functions->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = compare_function(domain, name, functions->items[middle]);
        if (order == 0) {
            return true;
        }
        low = order > 0 ? middle + 1 : low;
        high = order < 0 ? middle : high;
    }
    return false;
}
