/* compile.c: nodes that the runtime has fused on our word, bound to the plans made when they were claimed. */
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "provider.h"

typedef struct compiled {
    OrtNodeComputeInfo table; /* first: it is what the runtime knows */
    plugin_kernel kernel;
} compiled;

static OrtStatus *ORT_API_CALL create_state(OrtNodeComputeInfo *self, OrtNodeComputeContext *context, void **state)
{
    (void)context;
    *state = &((compiled *)self)->kernel;
    return NULL;
}

static OrtStatus *ORT_API_CALL compute(OrtNodeComputeInfo *self, void *state, OrtKernelContext *context)
{
    (void)self;
    return plugin_kernel_run(state, context);
}

static void ORT_API_CALL release_state(OrtNodeComputeInfo *self, void *state)
{
    (void)self;
    (void)state;
}

/* Names of a fused node's inputs or outputs, by index. */
typedef struct names {
    const char **names;
    size_t count;
} names;

static size_t find(const names *in, const char *name)
{
    for (size_t i = 0; name != NULL && i < in->count; i++) {
        if (in->names[i] != NULL && strcmp(in->names[i], name) == 0) {
            return i;
        }
    }
    return PLUGIN_OMITTED;
}

static OrtStatus *read_names(const OrtApi *api, plugin_arena *arena, const OrtNode *node, bool outputs, names *to)
{
    PLUGIN_TRY(outputs ? api->Node_GetNumOutputs(node, &to->count) : api->Node_GetNumInputs(node, &to->count));
    const OrtValueInfo **const infos = plugin_arena_take(arena, to->count, sizeof *infos);
    to->names = plugin_arena_take(arena, to->count, sizeof *to->names);
    if (infos == NULL || to->names == NULL) {
        return plugin_fail(api, ORT_EP_FAIL, "rmsnorm: no memory is left");
    }
    PLUGIN_TRY(outputs ? api->Node_GetOutputs(node, infos, to->count) : api->Node_GetInputs(node, infos, to->count));
    for (size_t i = 0; i < to->count; i++) {
        if (infos[i] != NULL) {
            PLUGIN_TRY(api->GetValueInfoName(infos[i], &to->names[i]));
        }
    }
    return NULL;
}

static plugin_plan *find_plan(const plugin_provider *provider, const names *outputs)
{
    for (plugin_plan *plan = provider->plans; plan != NULL; plan = plan->next) {
        if (find(outputs, plan->outputs[0]) != PLUGIN_OMITTED) {
            return plan;
        }
    }
    return NULL;
}

/* The kernel of a plan with indices for names; takes the plan's constants. */
static bool bind(plugin_plan *plan, const names *inputs, const names *outputs, plugin_kernel *kernel)
{
    bool whole = true;
    *kernel = plan->kernel;
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        plan->kernel.inputs[i] = PLUGIN_OMITTED;
        kernel->inputs[i] = kernel->inputs[i] == PLUGIN_CONSTANT ? PLUGIN_CONSTANT : find(inputs, plan->inputs[i]);
        kernel->outputs[i] = find(outputs, plan->outputs[i]);
        whole = whole && (plan->inputs[i] == NULL || kernel->inputs[i] != PLUGIN_OMITTED);
    }
    return whole;
}

static OrtStatus *compile_one(plugin_provider *provider, plugin_arena *arena, const OrtNode *node,
                              OrtNodeComputeInfo **info)
{
    const OrtApi *const api = provider->runtime->api;
    names inputs, outputs;
    PLUGIN_TRY(read_names(api, arena, node, false, &inputs));
    PLUGIN_TRY(read_names(api, arena, node, true, &outputs));
    plugin_plan *const plan = find_plan(provider, &outputs);
    if (plan == NULL) {
        return plugin_fail(api, ORT_EP_FAIL, "rmsnorm: a node is to be compiled that was not claimed");
    }
    if (plan->refusal != NULL) {
        return plugin_fail(api, ORT_INVALID_ARGUMENT, "node \"%s\": %s", plan->kernel.name, plan->refusal);
    }
    compiled *const made = calloc(1, sizeof *made);
    if (made == NULL) {
        return plugin_fail(api, ORT_EP_FAIL, "rmsnorm: no memory is left");
    }
    made->table = (OrtNodeComputeInfo){.ort_version_supported = provider->table.known.ort_version_supported,
                                       .CreateState = create_state,
                                       .Compute = compute,
                                       .ReleaseState = release_state};
    *info = &made->table; /* the runtime releases it also after a failure */
    if (!bind(plan, &inputs, &outputs, &made->kernel)) {
        return plugin_fail(api, ORT_EP_FAIL, "rmsnorm: node \"%s\" does not get all inputs that were claimed",
                           plan->kernel.name);
    }
    return NULL;
}

OrtStatus *ORT_API_CALL plugin_compile(OrtEp *self, const OrtGraph **graphs, const OrtNode **nodes, size_t count,
                                       OrtNodeComputeInfo **infos, OrtNode **context_nodes)
{
    (void)graphs;
    (void)context_nodes;
    plugin_arena arena = {0};
    OrtStatus *status = NULL;
    ((plugin_provider *)self)->has_compiled = true;
    for (size_t i = 0; status == NULL && i < count; i++) {
        status = compile_one((plugin_provider *)self, &arena, nodes[i], &infos[i]);
    }
    plugin_arena_release(&arena);
    return status;
}

void ORT_API_CALL plugin_release_compiled(OrtEp *self, OrtNodeComputeInfo **infos, size_t count)
{
    (void)self;
    for (size_t i = 0; i < count; i++) {
        if (infos[i] != NULL) {
            plugin_kernel_finish(&((compiled *)infos[i])->kernel);
            free(infos[i]);
        }
    }
}
