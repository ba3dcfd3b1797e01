/* plan.c: rmsnorm plan: the shaders and dispatches that a request to a kernel package comes to. */
#include "plan.h"

#include <stdio.h>
#include <string.h>

#include "cli.h"

enum {
    OP = 1,
    PACKAGE,
    PROFILE,
    LIMIT,
    FEATURE,
    ATTRIBUTE,
    OUTPUT,
    IN_PLACE,
    TUNABLE,
    VARIANT,
    BATCH,
    WGSL,
    KERNEL_VERSION,
    REVISION
};

static const rmsnorm_cli_option options[] = {
    {OP, 0, "op", "NAME", "the operator: [DOMAIN::]NAME, with the package that is built in"},
    {PACKAGE, 0, "package", "PACKAGE", "this package: a folder, or a Hub's ORG/NAME"},
    RMSNORM_CLI_KERNEL_VERSION(KERNEL_VERSION),
    RMSNORM_CLI_KERNEL_REVISION(REVISION),
    {PROFILE, 0, "device-profile", "FILE", "the device, as JSON; - is standard input (WebGPU's default limits)"},
    {LIMIT, 0, "limit", "NAME=NUMBER", "a limit of the device (again for more)"},
    {FEATURE, 0, "feature", "shader-f16|subgroups", "a feature of the device (again for both)"},
    {ATTRIBUTE, 0, "attr", "NAME=VALUE", "an attribute (again for more)"},
    {OUTPUT, 'o', "output", "NAME", "this optional output too (again for more)"},
    {IN_PLACE, 0, "in-place", "OUTPUT=INPUT", "the output takes the input's buffer (again for more)"},
    {TUNABLE, 0, "tunable", "NAME=NUMBER", "another value for a tunable (again for more)"},
    {VARIANT, 0, "variant", "NAME", "only this variant"},
    {BATCH, 0, "batch-invariant", NULL, "the same variant for every number of rows"},
    {WGSL, 0, "wgsl", NULL, "the shaders, with the plan as comments above"},
};

static const rmsnorm_cli_usage usage = {
    .command = "plan",
    .synopsis = "--op [DOMAIN::]NAME [OPTION]... INPUT=DTYPE:DIM,DIM,...\n--package DIR [OPTION]... "
                "INPUT=DTYPE:DIM,DIM,...\n--package ORG/NAME --version N [OPTION]... INPUT=DTYPE:DIM,DIM,...",
    .text =
        "Prints what a kernel package does with tensors of these types and shapes on a WebGPU device: the variant, the\n"
        "outputs, each pass with its bindings, uniforms and workgroups, and the memory. No device is needed.\n\n"
        "INPUT, OUTPUT and the NAME of an output are ONNX's names or the package's bind keys. FILE is\n"
        "{\"limits\": {\"maxStorageBufferBindingSize\": 134217728, ...}, \"features\": [\"shader-f16\", \"subgroups\"]}\n"
        "with WebGPU's names; what it leaves out is as WebGPU guarantees it, --limit and --feature come on top.\n"
        "The same words give the same bytes. Exit code 1 if no variant fits the device.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .again = 1UL << LIMIT | 1UL << FEATURE | 1UL << ATTRIBUTE | 1UL << OUTPUT | 1UL << IN_PLACE | 1UL << TUNABLE,
};

/* A request that no variant takes is an answer; every other refusal says that the request is wrong. */
static bool is_answer(rmsnorm_status status)
{
    return status == RMSNORM_UNSUPPORTED && strstr(rmsnorm_last_error(), ": no variant fits") != NULL;
}

static int refuse(const rmsnorm_cli_plan_call *call, bool json, rmsnorm_status status)
{
    const bool answer = is_answer(status);
    const int code = rmsnorm_cli_fail_library();
    if (!answer) {
        return code;
    }
    if (json) {
        rmsnorm_cli_plan_json_refusal(call, rmsnorm_cli_sentence());
    } else {
        rmsnorm_cli_report();
    }
    return RMSNORM_CLI_NO;
}

static int plan(const rmsnorm_cli_plan_words *words)
{
    rmsnorm_cli_plan_call call;
    int code = rmsnorm_cli_plan_prepare(words, &call);
    if (code == RMSNORM_CLI_DONE) {
        rmsnorm_plan *made = NULL;
        const rmsnorm_status status = rmsnorm_plan_make(call.package, &call.request, &made);
        if (status != RMSNORM_OK) {
            code = refuse(&call, words->json, status);
        } else if (words->json) {
            rmsnorm_cli_plan_json(&call, made);
        } else {
            rmsnorm_cli_plan_text(&call, made, words->wgsl ? "// " : "");
            if (words->wgsl) {
                rmsnorm_cli_plan_wgsl(made);
            }
        }
        rmsnorm_plan_release(made);
    }
    rmsnorm_cli_plan_release(&call);
    return code;
}

static void take(int id, const char *value, rmsnorm_cli_plan_words *words)
{
    const char **const single[] = {
        [OP] = &words->op,           [PACKAGE] = &words->package.name,           [PROFILE] = &words->profile,
        [VARIANT] = &words->variant, [KERNEL_VERSION] = &words->package.version, [REVISION] = &words->package.revision};
    rmsnorm_cli_list *const lists[] = {[RMSNORM_CLI_POSITIONAL] = &words->inputs,
                                       [LIMIT] = &words->limits,
                                       [FEATURE] = &words->features,
                                       [ATTRIBUTE] = &words->attributes,
                                       [OUTPUT] = &words->outputs,
                                       [IN_PLACE] = &words->in_place,
                                       [TUNABLE] = &words->tunables};
    switch (id) {
    case BATCH:
        words->batch_invariant = true;
        break;
    case WGSL:
        words->wgsl = true;
        break;
    case OP:
    case PACKAGE:
    case PROFILE:
    case VARIANT:
    case KERNEL_VERSION:
    case REVISION:
        *single[id] = value;
        break;
    default:
        rmsnorm_cli_list_add(lists[id], value);
        break;
    }
}

int rmsnorm_cli_plan(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    rmsnorm_cli_plan_words words = {.op = NULL};
    const char *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        take(id, value, &words);
    }
    words.json = args.json;
    const int code = id == RMSNORM_CLI_END ? plan(&words) : rmsnorm_cli_stopped(id);
    rmsnorm_cli_list_free(&words.inputs);
    rmsnorm_cli_list_free(&words.outputs);
    rmsnorm_cli_list_free(&words.in_place);
    rmsnorm_cli_list_free(&words.attributes);
    rmsnorm_cli_list_free(&words.limits);
    rmsnorm_cli_list_free(&words.features);
    rmsnorm_cli_list_free(&words.tunables);
    return code;
}
