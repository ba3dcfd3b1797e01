/* plan.h: what rmsnorm plan is asked, the request made of it, and how the plan is printed. */
#ifndef RMSNORM_CLI_PLAN_H
#define RMSNORM_CLI_PLAN_H

#include "kernel.h"
#include "options.h"
#include "rmsnorm/package.h"

/* The words of the command line. */
typedef struct rmsnorm_cli_plan_words {
    const char *op, *profile, *variant;
    rmsnorm_cli_kernel_words package; /* name NULL: that of op */
    rmsnorm_cli_list inputs, outputs, in_place, attributes, limits, features, tunables;
    bool batch_invariant, wgsl, json;
} rmsnorm_cli_plan_words;

/* A package, a request to it, and what it points to. Stays where it is. */
typedef struct rmsnorm_cli_plan_call {
    rmsnorm_package *package;
    rmsnorm_package_info info;
    const rmsnorm_operator *op; /* NULL: one that this library does not have */
    rmsnorm_attributes attributes;
    rmsnorm_device_profile device;
    rmsnorm_tensor inputs[RMSNORM_MAX_SLOTS];
    char *tunables[RMSNORM_MAX_TUNABLES]; /* names */
    rmsnorm_request request;
} rmsnorm_cli_plan_call;

/* Opens the package and makes the request. Release the call in any case. */
int rmsnorm_cli_plan_prepare(const rmsnorm_cli_plan_words *words, rmsnorm_cli_plan_call *call);
void rmsnorm_cli_plan_release(rmsnorm_cli_plan_call *call);

/* Each line of the text begins with `lead`. */
void rmsnorm_cli_plan_text(const rmsnorm_cli_plan_call *call, const rmsnorm_plan *plan, const char *lead);
/* The shaders, each under a comment with its label. */
void rmsnorm_cli_plan_wgsl(const rmsnorm_plan *plan);
void rmsnorm_cli_plan_json(const rmsnorm_cli_plan_call *call, const rmsnorm_plan *plan);
/* The answer that there is no plan. */
void rmsnorm_cli_plan_json_refusal(const rmsnorm_cli_plan_call *call, const char *reason);

#endif
