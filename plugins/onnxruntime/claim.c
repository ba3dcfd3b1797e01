/* claim.c: which nodes of a graph are taken: norms as they stand, and what fuses into one by the rules of rmsnorm/rewrite.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph.h"
#include "provider.h"

typedef struct claim {
    plugin_provider *provider;
    plugin_graph graph;
    OrtEpGraphSupportInfo *support;
    const rmsnorm_finding **findings; /* of each node, the one that made it, or NULL */
    size_t *users, *first_user;       /* of each value, the nodes of the graph that use it, as it was: by origin */
    size_t *group;                    /* nodes that a made node stands for */
    size_t group_count;
    size_t *group_of; /* of each node of the graph, the made node whose group it is in, or RMSNORM_NO_INDEX */
} claim;

static void tell(const claim *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(const claim *c, const char *format, ...)
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
        status = api->Logger_LogMessage(c->provider->logger, level, text, "rmsnorm", __LINE__, __func__);
    }
    if (status != NULL) {
        api->ReleaseStatus(status);
    }
}

static OrtStatus *no_memory(const claim *c)
{
    return plugin_fail(c->provider->runtime->api, ORT_EP_FAIL, "rmsnorm: no memory is left");
}

static bool is_disabled(const claim *c, const rmsnorm_operator *op)
{
    return (c->provider->options.disabled >> op->kind & 1) != 0;
}

/* ---- Whether it runs ------------------------------------------------------------------------- */

/* Why the contract does not take the node, as far as its types and shapes are known; NULL: it does. */
static const char *refuse_call(const claim *c, const rmsnorm_ir_node *node, const rmsnorm_operator *op,
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

/* A result that nothing asks for is none of a compiled node's. */
static bool is_wanted(const claim *c, const rmsnorm_ir_node *node)
{
    if (!has_result(node)) {
        return false;
    }
    const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(c->graph.ir, node->outputs[0]);
    return value->output || value->user_count != 0;
}

/* Before 1.25 the runtime gives what is compiled in two graphs of a model the same names, and then refuses them: so only one graph
 * of a session is compiled, and it is none inside another. */
static bool may_compile(const claim *c)
{
    return c->provider->options.compile &&
           (c->provider->runtime->names_apart || (!c->graph.inside && !c->provider->has_compiled));
}

/* ---- Plans ----------------------------------------------------------------------------------- */

/* A value of the graph by its name; a constant that the rewriter made by what it holds. */
static bool plan_input(const claim *c, size_t index, plugin_plan *plan, size_t slot)
{
    rmsnorm_tensor *const constant = &plan->kernel.constants[slot];
    if (index == RMSNORM_NO_INDEX) {
        return true;
    }
    const rmsnorm_ir_value *const value = rmsnorm_ir_value_at(c->graph.ir, index);
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

static plugin_plan *new_plan(claim *c)
{
    plugin_plan *const plan = calloc(1, sizeof *plan);
    if (plan != NULL) {
        plan->next = c->provider->plans;
        c->provider->plans = plan;
    }
    return plan;
}

static OrtStatus *add_plan(claim *c, const rmsnorm_ir_node *node, const char *name, const rmsnorm_operator *op,
                           const rmsnorm_attributes *attributes)
{
    plugin_plan *const plan = new_plan(c);
    if (plan == NULL) {
        return no_memory(c);
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
    return good ? NULL : no_memory(c);
}

/* ---- Float16 that the runtime has in float --------------------------------------------------- */

/* Arithmetic beside norms that the runtime's CPU provider has no float16 kernel for: it runs in float there, and between two
 * such nodes no cast is left. */
static bool runs_in_float(const claim *c, size_t index)
{
    static const char *const types[] = {"Add", "Mul", "MatMul"};
    const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, index);
    bool found = false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        found = found || strcmp(node->op_type, types[i]) == 0;
    }
    return found && node->domain[0] == '\0' && !node->function;
}

/* Whether a float16 norm that the runtime has no kernel for has nothing but such nodes around it: the runtime runs it in float
 * without a cast, here it would take two. */
static bool is_float_around(const claim *c, const rmsnorm_ir_node *node)
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

#define FLOAT_AROUND "the runtime has float16 around it in float"

/* ---- Fused nodes ----------------------------------------------------------------------------- */

static bool is_inside(const claim *c, size_t origin, size_t made)
{
    return c->group_of[origin] == made;
}

/* The nodes of the graph that a made node stands for: `from` is that node, or a made one that it was made of. No finding names
 * itself. */
static void collect(claim *c, size_t made, size_t from)
{
    const rmsnorm_finding *const finding = c->findings[from];
    for (size_t i = 0; finding != NULL && i < finding->node_count; i++) {
        const size_t node = finding->nodes[i], origin = rmsnorm_ir_node_at(c->graph.ir, node)->origin;
        if (origin != RMSNORM_NO_INDEX && !is_inside(c, origin, made)) {
            c->group_of[origin] = made;
            c->group[c->group_count++] = node;
        } else if (origin == RMSNORM_NO_INDEX && node < from) {
            collect(c, made, node);
        }
    }
}

static bool is_result(const rmsnorm_ir_node *made, size_t value)
{
    for (size_t i = 0; i < made->output_count; i++) {
        if (made->outputs[i] == value) {
            return true;
        }
    }
    return false;
}

/* Whether a node of the graph, as it was, uses the value and is not of the group. */
static bool is_used_outside(const claim *c, size_t value, size_t made)
{
    for (size_t i = c->first_user[value]; i < c->first_user[value + 1]; i++) {
        if (!is_inside(c, c->users[i], made)) {
            return true;
        }
    }
    return rmsnorm_ir_value_at(c->graph.ir, value)->output;
}

/* Leaves out what others need as well, a cast of a shared scale say: the runtime wants a group without ways out and in again. */
static void prune(claim *c, size_t made)
{
    const rmsnorm_ir_node *const whole = rmsnorm_ir_node_at(c->graph.ir, made);
    bool again = true;
    while (again) {
        again = false;
        for (size_t i = 0; i < c->group_count; i++) {
            const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, c->group[i]);
            bool needed = false;
            for (size_t j = 0; j < node->output_count; j++) {
                needed = needed || (node->outputs[j] != RMSNORM_NO_INDEX && !is_result(whole, node->outputs[j]) &&
                                    is_used_outside(c, node->outputs[j], made));
            }
            if (needed) {
                c->group_of[node->origin] = RMSNORM_NO_INDEX;
                c->group[i--] = c->group[--c->group_count];
                again = true;
            }
        }
    }
}

/* Whether what the new node is given is given to the group: not so where a cast stays outside that the new node does without. */
static bool gets_inputs(const claim *c, const rmsnorm_ir_node *made)
{
    for (size_t i = 0; i < made->input_count; i++) {
        const size_t value = made->inputs[i];
        bool found = value == RMSNORM_NO_INDEX || (rmsnorm_ir_value_at(c->graph.ir, value)->made &&
                                                   rmsnorm_ir_value_at(c->graph.ir, value)->maker == RMSNORM_NO_INDEX);
        for (size_t g = 0; !found && g < c->group_count; g++) {
            const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, c->group[g]);
            for (size_t j = 0; j < node->input_count; j++) {
                found = found || node->inputs[j] == value;
            }
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static bool has_disabled(const claim *c, const rmsnorm_operator *op)
{
    bool disabled = is_disabled(c, op);
    for (size_t i = 0; i < c->group_count; i++) {
        const rmsnorm_operator *part;
        rmsnorm_attributes attributes;
        disabled = disabled || (rmsnorm_ir_resolve(c->graph.ir, c->group[i], &part, &attributes) == RMSNORM_OK &&
                                is_disabled(c, part));
    }
    return disabled;
}

/* Why a made node does not take the place of its group; NULL: it does. */
static const char *refusal_of(const claim *c, const rmsnorm_ir_node *node, const rmsnorm_operator *op,
                              const rmsnorm_attributes *attributes)
{
    return !is_wanted(c, node)        ? "nothing uses the result"
           : has_disabled(c, op)      ? "the operator is disabled"
           : !gets_inputs(c, node)    ? "a cast that would go is used elsewhere too"
           : is_float_around(c, node) ? FLOAT_AROUND
                                      : refuse_call(c, node, op, attributes);
}

static OrtStatus *claim_group(claim *c, size_t made)
{
    const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, made);
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    c->group_count = 0;
    if (rmsnorm_ir_resolve(c->graph.ir, made, &op, &attributes) != RMSNORM_OK) {
        return NULL;
    }
    collect(c, made, made);
    prune(c, made);
    if (c->group_count == 0) {
        return NULL;
    }
    const OrtNode **const nodes = plugin_arena_take(&c->graph.arena, c->group_count, sizeof *nodes);
    if (nodes == NULL) {
        return no_memory(c);
    }
    size_t last = c->group[0];
    for (size_t i = 0; i < c->group_count; i++) {
        nodes[i] = c->graph.nodes[rmsnorm_ir_node_at(c->graph.ir, c->group[i])->origin];
        last = c->group[i] > last ? c->group[i] : last;
    }
    const char *const name = rmsnorm_ir_node_at(c->graph.ir, last)->name; /* the new one's is not the model's */
    const char *const refusal = refusal_of(c, node, op, &attributes);
    if (refusal != NULL) {
        tell(c, "rmsnorm: does not fuse %zu nodes before \"%s\": %s", c->group_count, name, refusal);
        return NULL;
    }
    PLUGIN_TRY(add_plan(c, node, name, op, &attributes));
    tell(c, "rmsnorm: claims %s \"%s\", fused from %zu nodes", op->name, name, c->group_count);
    return c->provider->runtime->ep_api->EpGraphSupportInfo_AddNodesToFuse(c->support, nodes, c->group_count, NULL);
}

/* ---- Nodes as they stand --------------------------------------------------------------------- */

static bool is_ours(const rmsnorm_ir_node *node)
{
    return rmsnorm_operator_find(node->domain, node->op_type, 0) != NULL;
}

/* NULL: there is none. Under the schema of a custom operator names of types are others than the registry's: that may be a status. */
static const plugin_definition *find_kernel(const claim *c, const OrtNode *node)
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
static OrtStatus *refuse_node(claim *c, const rmsnorm_ir_node *node, const plugin_definition *kernel, const char *why)
{
    const char *const rest = strncmp(why, "node \"", 6) == 0 ? strstr(why, "\": ") : NULL;
    const char *const reason = rest != NULL ? rest + 3 : why; /* without the node's name, which it may begin with */
    tell(c, "rmsnorm: leaves %s \"%s\": %s", node->op_type, node->name, reason);
    if (kernel == NULL || !is_ours_alone(node) || !is_wanted(c, node) || !may_compile(c)) {
        return NULL;
    }
    plugin_plan *const plan = new_plan(c);
    if (plan == NULL) {
        return no_memory(c);
    }
    snprintf(plan->kernel.name, sizeof plan->kernel.name, "%s", node->name);
    plan->outputs[0] = strdup(rmsnorm_ir_value_at(c->graph.ir, node->outputs[0])->name);
    plan->refusal = strdup(reason);
    return plan->outputs[0] != NULL && plan->refusal != NULL
               ? c->provider->runtime->ep_api->EpGraphSupportInfo_AddNodesToFuse(c->support,
                                                                                 &c->graph.nodes[node->origin], 1, NULL)
               : no_memory(c);
}

static OrtStatus *claim_node(claim *c, size_t index)
{
    const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, index);
    const OrtEpApi *const api = c->provider->runtime->ep_api;
    const OrtNode *const original = c->graph.nodes[node->origin];
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    if (c->graph.taken[node->origin]) {
        const char *other;
        PLUGIN_TRY(c->provider->runtime->api->Node_GetEpName(original, &other));
        tell(c, "rmsnorm: leaves %s \"%s\": %s has it", node->op_type, node->name, other);
        return NULL;
    }
    if (node->function) {
        tell(c, "rmsnorm: leaves %s \"%s\": a function of the model's, or a custom operator", node->op_type,
             node->name);
        return NULL;
    }
    const plugin_definition *const kernel = find_kernel(c, original);
    const bool resolved = rmsnorm_ir_resolve(c->graph.ir, index, &op, &attributes) == RMSNORM_OK;
    const char *const why = resolved ? refuse_call(c, node, op, &attributes) : rmsnorm_last_error();
    if (why != NULL) {
        return refuse_node(c, node, kernel, why);
    }
    if (!has_result(node)) {
        tell(c, "rmsnorm: leaves %s \"%s\": its first result is omitted", op->name, node->name);
        return NULL;
    }
    if (is_disabled(c, op)) {
        tell(c, "rmsnorm: leaves %s \"%s\": the operator is disabled", op->name, node->name);
        return NULL;
    }
    if (op->kind == RMSNORM_RMS_NORMALIZATION && is_float_around(c, node)) {
        tell(c, "rmsnorm: leaves %s \"%s\": " FLOAT_AROUND, op->name, node->name);
        return NULL;
    }
    if (kernel != NULL) {
        tell(c, "rmsnorm: claims %s \"%s\"", op->name, node->name);
        return api->EpGraphSupportInfo_AddSingleNode(c->support, original);
    }
    if (!is_wanted(c, node) || !may_compile(c)) {
        tell(c, "rmsnorm: leaves %s \"%s\": %s", op->name, node->name,
             may_compile(c) ? "nothing uses its result"
             : !c->provider->options.compile
                 ? "it would be compiled, and ep.context_enable wants contexts of such nodes"
                 : "this ONNX Runtime compiles no nodes in graphs inside graphs");
        return NULL;
    }
    PLUGIN_TRY(add_plan(c, node, node->name, op, &attributes));
    tell(c, "rmsnorm: claims %s \"%s\", compiled", op->name, node->name);
    return api->EpGraphSupportInfo_AddNodesToFuse(c->support, &original, 1, NULL);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void tell_refusals(const claim *c)
{
    size_t count;
    const rmsnorm_finding *const findings = rmsnorm_ir_findings(c->graph.ir, &count);
    for (size_t i = 0; i < count; i++) {
        if (!findings[i].done && findings[i].node_count != 0) {
            const size_t last = findings[i].nodes[findings[i].node_count - 1];
            tell(c, "rmsnorm: does not fuse %zu nodes before \"%s\": %s", findings[i].node_count,
                 rmsnorm_ir_node_at(c->graph.ir, last)->name, findings[i].reason);
        }
    }
}

/* Each value's users stand together: counted, then placed from the end. */
static void index_users(claim *c, size_t values)
{
    const size_t nodes = rmsnorm_ir_node_count(c->graph.ir);
    for (int place = 0; place < 2; place++) {
        for (size_t n = 0; n < nodes; n++) {
            const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, n);
            for (size_t i = 0; node->origin != RMSNORM_NO_INDEX && i < node->input_count; i++) {
                size_t *const at = node->inputs[i] != RMSNORM_NO_INDEX ? &c->first_user[node->inputs[i]] : NULL;
                if (at != NULL && place != 0) {
                    c->users[--*at] = node->origin;
                } else if (at != NULL) {
                    ++*at;
                }
            }
        }
        for (size_t v = 0; place == 0 && v < values; v++) {
            c->first_user[v + 1] += c->first_user[v];
        }
    }
}

/* What claim_group looks up, so that the time of all of them grows with the graph and no faster. */
static OrtStatus *index_graph(claim *c)
{
    plugin_arena *const arena = &c->graph.arena;
    const size_t nodes = rmsnorm_ir_node_count(c->graph.ir), values = rmsnorm_ir_value_count(c->graph.ir);
    size_t uses = 0, count;
    for (size_t n = 0; n < nodes; n++) {
        uses += rmsnorm_ir_node_at(c->graph.ir, n)->input_count;
    }
    c->findings = plugin_arena_take(arena, nodes, sizeof *c->findings);
    c->users = plugin_arena_take(arena, uses, sizeof *c->users);
    c->first_user = plugin_arena_take(arena, values + 1, sizeof *c->first_user);
    c->group = plugin_arena_take(arena, nodes, sizeof *c->group);
    c->group_of = plugin_arena_take(arena, c->graph.node_count, sizeof *c->group_of);
    if (c->findings == NULL || c->users == NULL || c->first_user == NULL || c->group == NULL || c->group_of == NULL) {
        return no_memory(c);
    }
    const rmsnorm_finding *const findings = rmsnorm_ir_findings(c->graph.ir, &count);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < findings[i].made_count; j++) {
            c->findings[findings[i].made[j]] = &findings[i];
        }
    }
    for (size_t i = 0; i < c->graph.node_count; i++) {
        c->group_of[i] = RMSNORM_NO_INDEX;
    }
    index_users(c, values);
    return NULL;
}

static OrtStatus *claim_all(claim *c)
{
    rmsnorm_fuse_options fuse = RMSNORM_FUSE_OPTIONS_INIT;
    fuse.residuals = (c->provider->options.disabled >> RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION & 1) != 0
                         ? RMSNORM_RESIDUALS_KEEP
                         : RMSNORM_RESIDUALS_FUSE;
    if (c->provider->options.fuse && may_compile(c) && rmsnorm_ir_fuse(c->graph.ir, &fuse) != RMSNORM_OK) {
        return plugin_fail(c->provider->runtime->api, ORT_EP_FAIL, "rmsnorm: the graph is not fused: %s",
                           rmsnorm_last_error());
    }
    PLUGIN_TRY(index_graph(c));
    const size_t count = rmsnorm_ir_node_count(c->graph.ir);
    for (size_t n = 0; n < count; n++) {
        const rmsnorm_ir_node *const node = rmsnorm_ir_node_at(c->graph.ir, n);
        if (!node->gone && node->origin == RMSNORM_NO_INDEX) {
            PLUGIN_TRY(claim_group(c, n));
        } else if (!node->gone && is_ours(node)) {
            PLUGIN_TRY(claim_node(c, n));
        }
    }
    tell_refusals(c);
    return NULL;
}

OrtStatus *ORT_API_CALL plugin_claim(OrtEp *self, const OrtGraph *graph, OrtEpGraphSupportInfo *support)
{
    claim c = {.provider = (plugin_provider *)self, .support = support};
    plugin_plans_release(c.provider);
    OrtStatus *status = plugin_graph_read(&c.graph, c.provider->runtime, graph);
    if (status == NULL) {
        status = claim_all(&c);
    }
    plugin_graph_release(&c.graph);
    return status;
}
