/* claim.c: which nodes of a graph are taken: norms as they stand, and what fuses into one by the rules of rmsnorm/rewrite.h. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "claim.h"

void plugin_claim_tell(const plugin_claiming *c, const char *format, ...)
{
    const OrtApi *const api = c->provider->runtime->api;
    const OrtLoggingLevel level = c->provider->options.level;
    OrtLoggingLevel least = ORT_LOGGING_LEVEL_FATAL;
    OrtStatus *status = api->Logger_GetLoggingSeverityLevel(c->provider->logger, &least);
    if (status == NULL && level >= least) {
        char text[768];
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        status = api->Logger_LogMessage(c->provider->logger, level, text, "rmsnorm", 0, "claim");
    }
    if (status != NULL) {
        api->ReleaseStatus(status);
    }
}

OrtStatus *plugin_claim_no_memory(const plugin_claiming *c)
{
    return plugin_fail(c->provider->runtime->api, ORT_EP_FAIL, "rmsnorm: no memory is left");
}

bool plugin_claim_is_disabled(const plugin_claiming *c, const rmsnorm_operator *op)
{
    return (c->provider->options.disabled >> op->kind & 1) != 0;
}

/* ---- Whether it runs ------------------------------------------------------------------------- */

const char *plugin_claim_refuse_call(const plugin_claiming *c, const rmsnorm_ir_node *node, const rmsnorm_operator *op,
                                     const rmsnorm_attributes *attributes)
{
    rmsnorm_tensor tensors[2][PLUGIN_SLOTS];
    const rmsnorm_tensor *inputs[PLUGIN_SLOTS] = {NULL};
    rmsnorm_tensor *outputs[PLUGIN_SLOTS] = {NULL};
    for (size_t i = 0; i < node->input_count && i < PLUGIN_SLOTS; i++) {
        if (node->inputs[i] != RMSNORM_NO_INDEX) {
            const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(c->graph.ir, node->inputs[i]);
            if (value->open && value->type.rank == RMSNORM_MAX_RANK) {
                return "an input may have more than 16 dims, at most 16 are taken";
            }
            tensors[0][i] = value->type;
            tensors[0][i].rank = value->open ? RMSNORM_UNKNOWN : value->type.rank;
            tensors[0][i].data = NULL;
            inputs[i] = &tensors[0][i];
        }
    }
    for (size_t i = 0; i < node->output_count && i < PLUGIN_SLOTS; i++) {
        tensors[1][i] = (rmsnorm_tensor){0};
        outputs[i] = node->outputs[i] != RMSNORM_NO_INDEX ? &tensors[1][i] : NULL;
    }
    return rmsnorm_infer(op, attributes, inputs, node->input_count, outputs, node->output_count, NULL) == RMSNORM_OK
               ? NULL
               : rmsnorm_last_error();
}

/* No operator runs without its first result; the runtime's schema of one spelling lets that pass. */
static bool has_result(const rmsnorm_ir_node *node)
{
    return node->output_count > 0 && node->outputs[0] != RMSNORM_NO_INDEX;
}

bool plugin_claim_is_wanted(const plugin_claiming *c, const rmsnorm_ir_node *node)
{
    if (!has_result(node)) {
        return false;
    }
    const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(c->graph.ir, node->outputs[0]);
    return value->output || value->user_count != 0;
}

/* Before 1.25 the runtime gives what is compiled in two graphs of a model the same names, and then refuses them: so only one graph
 * of a session is compiled, and it is none inside another. */
static bool may_compile(const plugin_claiming *c)
{
    return c->provider->options.compile &&
           (c->provider->runtime->names_apart || (!c->graph.inside && !c->provider->has_compiled));
}

/* ---- Float16 that the runtime has in float --------------------------------------------------- */

/* Arithmetic beside norms that the runtime's CPU provider has no float16 kernel for: it runs in float there, and between two
 * such nodes no cast is left. */
static bool runs_in_float(const plugin_claiming *c, size_t index)
{
    static const char *const types[] = {"Add", "Mul", "MatMul"};
    const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, index);
    bool found = false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        found = found || strcmp(node->op_type, types[i]) == 0;
    }
    return found && node->domain[0] == '\0' && !node->function;
}

bool plugin_claim_is_float_around(const plugin_claiming *c, const rmsnorm_ir_node *node)
{
    const rmsnorm_ir_value *const x = rmsnorm_ir_value_at(c->graph.ir, node->inputs[0]);
    const rmsnorm_ir_value *const y = rmsnorm_ir_value_at(c->graph.ir, node->outputs[0]);
    bool all = x->type.dtype == RMSNORM_FLOAT16 && y->type.dtype == RMSNORM_FLOAT16 && !y->output &&
               x->maker != RMSNORM_NO_INDEX && runs_in_float(c, x->maker);
    for (size_t i = 0; all && i < y->user_count; i++) {
        all = runs_in_float(c, y->users[i]);
    }
    return all;
}

/* ---- Nodes as they stand --------------------------------------------------------------------- */

static bool is_ours(const rmsnorm_ir_node *node)
{
    return rmsnorm_operator_find(node->domain, node->op_type, 0) != NULL;
}

/* NULL: there is none. Under the schema of a custom operator names of types are others than the registry's: that may be a status. */
static const plugin_definition *find_kernel(const plugin_claiming *c, const OrtNode *node)
{
    const plugin_runtime *const runtime = c->provider->runtime;
    const plugin_definition *kernel = NULL;
    return c->provider->registry != NULL &&
                   plugin_passed(runtime->api, runtime->newer->look_up_kernel(c->support, node, &kernel))
               ? kernel
               : NULL;
}

/* The spelling that this library has brought along: nobody else has a kernel for it. */
static bool is_ours_alone(const rmsnorm_ir_node *node)
{
    return strcmp(node->domain, "com.microsoft") == 0 && strcmp(node->op_type, "SimplifiedLayerNormalization") == 0;
}

/* Leaves a node that the contract refuses. Where nobody else can have it it is claimed all the same, so that the session fails with
 * the sentence when it is compiled: of a failure here the runtime writes a line, and goes on. */
static OrtStatus *refuse_node(plugin_claiming *c, const rmsnorm_ir_node *node, const plugin_definition *kernel,
                              const char *why)
{
    const char *const rest = strncmp(why, "node \"", 6) == 0 ? strstr(why, "\": ") : NULL;
    const char *const reason = rest != NULL ? rest + 3 : why; /* without the node's name, which it may begin with */
    plugin_claim_tell(c, "rmsnorm: leaves %s \"%s\": %s", node->op_type, node->name, reason);
    if (kernel == NULL || !is_ours_alone(node) || !plugin_claim_is_wanted(c, node) || !may_compile(c)) {
        return NULL;
    }
    plugin_plan *const plan = plugin_claim_new_plan(c);
    if (plan == NULL) {
        return plugin_claim_no_memory(c);
    }
    snprintf(plan->kernel.name, sizeof plan->kernel.name, "%s", node->name);
    plan->outputs[0] = strdup(rmsnorm_ir_value_at(c->graph.ir, node->outputs[0])->name);
    plan->refusal = strdup(reason);
    return plan->outputs[0] != NULL && plan->refusal != NULL
               ? c->provider->runtime->ep_api->EpGraphSupportInfo_AddNodesToFuse(c->support,
                                                                                 &c->graph.nodes[node->origin], 1, NULL)
               : plugin_claim_no_memory(c);
}

/* A scale of one row's length: in 1.23 the runtime's own kernel takes no other. */
static bool has_plain_scale(const plugin_claiming *c, const rmsnorm_ir_node *node, const rmsnorm_attributes *attributes)
{
    const rmsnorm_ir_value *const x = rmsnorm_ir_value_at(c->graph.ir, node->inputs[0]);
    const rmsnorm_ir_value *const scale = rmsnorm_ir_value_at(c->graph.ir, node->inputs[1]);
    const int32_t last = x->type.rank - 1;
    return !x->open && !scale->open && scale->type.rank == 1 && last >= 0 &&
           (attributes->axis == -1 || attributes->axis == last) && scale->type.dims[0] > 0 &&
           scale->type.dims[0] == x->type.dims[last];
}

/* Of a node that the contract takes; NULL: there is none. */
static const char *reason_to_leave(const plugin_claiming *c, const rmsnorm_ir_node *node, const rmsnorm_operator *op,
                                   const rmsnorm_attributes *attributes, bool has_kernel)
{
    if (!has_result(node)) {
        return "its first result is omitted";
    }
    if (plugin_claim_is_disabled(c, op)) {
        return "the operator is disabled";
    }
    if (op->kind == RMSNORM_RMS_NORMALIZATION && has_plain_scale(c, node, attributes) &&
        plugin_claim_is_float_around(c, node)) {
        return PLUGIN_FLOAT_AROUND;
    }
    if (has_kernel) {
        return NULL;
    }
    if (!may_compile(c)) {
        return c->provider->options.compile
                   ? "this ONNX Runtime compiles no nodes in graphs inside graphs"
                   : "it would be compiled, and ep.context_enable wants contexts of such nodes";
    }
    return plugin_claim_is_wanted(c, node) ? NULL : "nothing uses its result";
}

static OrtStatus *claim_node(plugin_claiming *c, size_t index)
{
    const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, index);
    const OrtEpApi *const api = c->provider->runtime->ep_api;
    const OrtNode *const original = c->graph.nodes[node->origin];
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    if (c->graph.taken[node->origin]) {
        const char *other;
        PLUGIN_TRY(c->provider->runtime->api->Node_GetEpName(original, &other));
        plugin_claim_tell(c, "rmsnorm: leaves %s \"%s\": %s has it", node->op_type, node->name, other);
        return NULL;
    }
    if (node->function) {
        plugin_claim_tell(c, "rmsnorm: leaves %s \"%s\": a function of the model's, or a custom operator",
                          node->op_type, node->name);
        return NULL;
    }
    const plugin_definition *const kernel = find_kernel(c, original);
    const bool resolved = rmsnorm_ir_resolve(c->graph.ir, index, &op, &attributes) == RMSNORM_OK;
    const char *const why = resolved ? plugin_claim_refuse_call(c, node, op, &attributes) : rmsnorm_last_error();
    if (why != NULL) {
        return refuse_node(c, node, kernel, why);
    }
    const char *const left = reason_to_leave(c, node, op, &attributes, kernel != NULL);
    if (left != NULL) {
        plugin_claim_tell(c, "rmsnorm: leaves %s \"%s\": %s", op->name, node->name, left);
        return NULL;
    }
    if (kernel != NULL) {
        plugin_claim_tell(c, "rmsnorm: claims %s \"%s\"", op->name, node->name);
        return api->EpGraphSupportInfo_AddSingleNode(c->support, original);
    }
    PLUGIN_TRY(plugin_claim_add_plan(c, node, node->name, op, &attributes));
    plugin_claim_tell(c, "rmsnorm: claims %s \"%s\", compiled", op->name, node->name);
    return api->EpGraphSupportInfo_AddNodesToFuse(c->support, &original, 1, NULL);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void tell_refusals(const plugin_claiming *c)
{
    size_t count;
    const rmsnorm_finding *const findings = rmsnorm_ir_findings(c->graph.ir, &count);
    for (size_t i = 0; i < count; i++) {
        if (!findings[i].done && findings[i].node_count != 0) {
            const size_t last = findings[i].nodes[findings[i].node_count - 1];
            plugin_claim_tell(c, "rmsnorm: does not fuse %zu nodes before \"%s\": %s", findings[i].node_count,
                              rmsnorm_ir_node_at(c->graph.ir, last)->name, findings[i].reason);
        }
    }
}

static OrtStatus *claim_all(plugin_claiming *c)
{
    rmsnorm_fuse_options fuse = RMSNORM_FUSE_OPTIONS_INIT;
    fuse.residuals = (c->provider->options.disabled >> RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION & 1) != 0
                         ? RMSNORM_RESIDUALS_KEEP
                         : RMSNORM_RESIDUALS_FUSE;
    if (c->provider->options.fuse && may_compile(c) && rmsnorm_ir_fuse(c->graph.ir, &fuse) != RMSNORM_OK) {
        return plugin_fail(c->provider->runtime->api, ORT_EP_FAIL, "rmsnorm: the graph is not fused: %s",
                           rmsnorm_last_error());
    }
    PLUGIN_TRY(plugin_claim_index(c));
    const size_t count = rmsnorm_ir_node_count(c->graph.ir);
    for (size_t n = 0; n < count; n++) {
        const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, n);
        if (!node->gone && node->origin == RMSNORM_NO_INDEX) {
            PLUGIN_TRY(plugin_claim_group(c, n));
        } else if (!node->gone && is_ours(node)) {
            PLUGIN_TRY(claim_node(c, n));
        }
    }
    tell_refusals(c);
    return NULL;
}

OrtStatus *ORT_API_CALL plugin_claim(OrtEp *self, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
    plugin_claiming c = {.provider = (plugin_provider *)self, .support = support};
    plugin_plans_release(c.provider);
    OrtStatus *status = plugin_graph_read(&c.graph, c.provider->runtime, graph);
    if (status == NULL) {
        status = claim_all(&c);
    }
    plugin_graph_release(&c.graph);
    return status;
}
