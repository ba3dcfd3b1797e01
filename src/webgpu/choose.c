#include "webgpu/choose.h"

#include "operator/error.h"

rmsnorm_status rmsnorm_webgpu_package(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                      const rmsnorm_package **package)
{
    RMSNORM_CHECK((unsigned)op->kind < RMSNORM_WEBGPU_OPERATORS, RMSNORM_NOT_BUILT, "%s has no package here", op->name);
    rmsnorm_package **const own = &webgpu->packages[op->kind];
    if (*own == NULL) {
        RMSNORM_TRY(rmsnorm_package_open_operator(op->domain, op->name, own));
    }
    *package = *own;
    return RMSNORM_OK;
}

static bool find_choice(const rmsnorm_webgpu *webgpu, const rmsnorm_package *package, const rmsnorm_request *request,
                        rmsnorm_tuning_choice *choice)
{
    char request_class[192];
    return webgpu->tuning != NULL && !request->batch_invariant && request->variant == NULL &&
           request->tunable_count == 0 &&
           rmsnorm_tuning_class(package, request, request_class, sizeof request_class) == RMSNORM_OK &&
           rmsnorm_tuning_find(webgpu->tuning, &webgpu->adapter, request_class, choice);
}

rmsnorm_status rmsnorm_webgpu_choose(rmsnorm_webgpu *webgpu, const rmsnorm_package *package,
                                     const rmsnorm_request *request, rmsnorm_plan **plan)
{
    rmsnorm_tuning_choice choice;
    if (find_choice(webgpu, package, request, &choice)) {
        rmsnorm_request tuned = *request;
        tuned.variant = choice.variant[0] == '\0' ? NULL : choice.variant;
        tuned.tunable_count = choice.tunable_count;
        for (size_t i = 0; i < choice.tunable_count; i++) {
            tuned.tunables[i] = (rmsnorm_tunable){choice.tunables[i].name, choice.tunables[i].value};
        }
        const rmsnorm_status status = rmsnorm_plan_make(package, &tuned, plan);
        if (status == RMSNORM_OK || status == RMSNORM_OUT_OF_MEMORY) {
            return status;
        }
    }
    return rmsnorm_plan_make(package, request, plan);
}

rmsnorm_status rmsnorm_webgpu_plan(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op, const rmsnorm_package *package,
                                   const rmsnorm_request *request, rmsnorm_plan **plan)
{
    RMSNORM_CHECK(webgpu != NULL && request != NULL && plan != NULL && (op != NULL || package != NULL),
                  RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_plan: webgpu, request or plan is NULL, or both op and package are");
    *plan = NULL;
    rmsnorm_request own = *request;
    own.device = &webgpu->adapter.profile;
    RMSNORM_TRY(rmsnorm_webgpu_enter(webgpu));
    rmsnorm_status status = package != NULL ? RMSNORM_OK : rmsnorm_webgpu_package(webgpu, op, &package);
    if (status == RMSNORM_OK) {
        status = rmsnorm_webgpu_choose(webgpu, package, &own, plan);
    }
    return rmsnorm_webgpu_leave(webgpu, status);
}
