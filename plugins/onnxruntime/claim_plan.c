/* claim_plan.c: the plans of nodes that are to be compiled: kernels whose slots still have names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"

/* A value of the graph by its name; a constant that the rewriter made by what it holds. */
static bool plan_input(const plugin_claiming *c, size_t index, plugin_plan *plan, size_t slot)
{
    rmsnorm_tensor *const constant = &plan->kernel.constants[slot];
    if (index == RMSNORM_NO_INDEX) {
        return true;
    }
    const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(c->graph.ir, index);
    plan->kernel.types[slot] = value->type.dtype;
    if (!value->made || value->maker != RMSNORM_NO_INDEX) {
        plan->inputs[slot] = strdup(value->name);
        return plan->inputs[slot] != NULL;
    }
    const size_t size = (size_t)rmsnorm_tensor_count(&value->type) * rmsnorm_dtype_size(value->type.dtype);
    *constant = value->type;
    constant->data = malloc(size != 0 ? size : 1);
    if (constant->data == NULL) {
        return false;
    }
    memcpy(constant->data, value->type.data, size);
    plan->kernel.inputs[slot] = PLUGIN_CONSTANT;
    return true;
}

plugin_plan *plugin_claim_new_plan(plugin_claiming *c)
{
    plugin_plan *const plan = calloc(1, sizeof *plan);
    if (plan != NULL) {
        plan->next = c->provider->plans;
        c->provider->plans = plan;
    }
    return plan;
}

OrtStatus *plugin_claim_add_plan(plugin_claiming *c, const rmsnorm_ir_node *node, const char *name,
                                 const rmsnorm_operator *op, const rmsnorm_attributes *attributes)
{
    plugin_plan *const plan = plugin_claim_new_plan(c);
    if (plan == NULL) {
        return plugin_claim_no_memory(c);
    }
    plugin_kernel *const kernel = &plan->kernel;
    plugin_kernel_init(kernel, c->provider->runtime, &c->provider->options, op);
    kernel->attributes = *attributes;
    snprintf(kernel->name, sizeof kernel->name, "%s", name);
    kernel->fused = node->origin == RMSNORM_NO_INDEX;
    bool good = true;
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        kernel->inputs[i] = kernel->outputs[i] = PLUGIN_OMITTED;
        if (i < node->input_count) {
            good = good && plan_input(c, node->inputs[i], plan, i);
        }
        if (i < node->output_count && node->outputs[i] != RMSNORM_NO_INDEX) {
            plan->outputs[i] = strdup(rmsnorm_ir_value_at(c->graph.ir, node->outputs[i])->name);
            good = good && plan->outputs[i] != NULL;
        }
    }
    return good ? NULL : plugin_claim_no_memory(c);
}
