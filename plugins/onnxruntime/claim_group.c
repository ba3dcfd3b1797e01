/* claim_group.c: which nodes of the graph a fused one takes the place of, by the rules of rmsnorm/rewrite.h. */
#include <string.h>

#include "claim.h"

/* Each value's users stand together: counted, then placed from the end. */
static void index_users(plugin_claiming *c, size_t values)
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

OrtStatus *plugin_claim_index(plugin_claiming *c)
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
        return plugin_claim_no_memory(c);
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

static bool is_inside(const plugin_claiming *c, size_t origin, size_t made)
{
    return c->group_of[origin] == made;
}

/* The nodes of the graph that a made node stands for: `from` is that node, or a made one that it was made of. No finding names
 * itself. */
static void collect(plugin_claiming *c, size_t made, size_t from)
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
static bool is_used_outside(const plugin_claiming *c, size_t value, size_t made)
{
    for (size_t i = c->first_user[value]; i < c->first_user[value + 1]; i++) {
        if (!is_inside(c, c->users[i], made)) {
            return true;
        }
    }
    return rmsnorm_ir_value_at(c->graph.ir, value)->output;
}

/* Leaves out what others need as well, a cast of a shared scale say: the runtime wants a group without ways out and in again. */
static void prune(plugin_claiming *c, size_t made)
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
static bool gets_inputs(const plugin_claiming *c, const rmsnorm_ir_node *made)
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

static bool has_disabled(const plugin_claiming *c, const rmsnorm_operator *op)
{
    bool disabled = plugin_claim_is_disabled(c, op);
    for (size_t i = 0; i < c->group_count; i++) {
        const rmsnorm_operator *part;
        rmsnorm_attributes attributes;
        disabled = disabled || (rmsnorm_ir_resolve(c->graph.ir, c->group[i], &part, &attributes) == RMSNORM_OK &&
                                plugin_claim_is_disabled(c, part));
    }
    return disabled;
}

/* Why a made node does not take the place of its group; NULL: it does. */
static const char *refusal_of(const plugin_claiming *c, const rmsnorm_ir_node *node, const rmsnorm_operator *op,
                              const rmsnorm_attributes *attributes)
{
    return !plugin_claim_is_wanted(c, node)        ? "nothing uses the result"
           : has_disabled(c, op)                   ? "the operator is disabled"
           : !gets_inputs(c, node)                 ? "a cast that would go is used elsewhere too"
           : plugin_claim_is_float_around(c, node) ? PLUGIN_FLOAT_AROUND
                                                   : plugin_claim_refuse_call(c, node, op, attributes);
}

OrtStatus *plugin_claim_group(plugin_claiming *c, size_t made)
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
        return plugin_claim_no_memory(c);
    }
    size_t last = c->group[0];
    for (size_t i = 0; i < c->group_count; i++) {
        nodes[i] = c->graph.nodes[rmsnorm_ir_node_at(c->graph.ir, c->group[i])->origin];
        last = c->group[i] > last ? c->group[i] : last;
    }
    const char *const name = rmsnorm_ir_node_at(c->graph.ir, last)->name; /* the new one's is not the model's */
    const char *const refusal = refusal_of(c, node, op, &attributes);
    if (refusal != NULL) {
        plugin_claim_tell(c, "rmsnorm: does not fuse %zu nodes before \"%s\": %s", c->group_count, name, refusal);
        return NULL;
    }
    PLUGIN_TRY(plugin_claim_add_plan(c, node, name, op, &attributes));
    plugin_claim_tell(c, "rmsnorm: claims %s \"%s\", fused from %zu nodes", op->name, name, c->group_count);
    return c->provider->runtime->ep_api->EpGraphSupportInfo_AddNodesToFuse(c->support, nodes, c->group_count, NULL);
}
