/* claim.h: what is known while a graph is looked at: claim.c takes nodes as they stand, claim_group.c what fuses, claim_plan.c keeps
 * what is to be compiled. */
#ifndef RMSNORM_PLUGIN_CLAIM_H
#define RMSNORM_PLUGIN_CLAIM_H

#include "graph.h"
#include "provider.h"

typedef struct plugin_claiming {
    plugin_provider *provider;
    plugin_graph graph;
    OrtEpGraphSupportInfo *support;
    const rmsnorm_finding **findings; /* of each node, the one that made it, or NULL */
    size_t *users, *first_user;       /* of each value, the nodes of the graph that use it, as it was: by origin */
    size_t *group;                    /* nodes that a made node stands for */
    size_t group_count;
    size_t *group_of; /* of each node of the graph, the made node whose group it is in, or RMSNORM_NO_INDEX */
} plugin_claiming;

void plugin_claim_tell(const plugin_claiming *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
OrtStatus *plugin_claim_no_memory(const plugin_claiming *c);

bool plugin_claim_is_disabled(const plugin_claiming *c, const rmsnorm_operator *op);
/* Why the contract does not take the node, as far as its types and shapes are known; NULL: it does. */
const char *plugin_claim_refuse_call(const plugin_claiming *c, const rmsnorm_ir_node *node, const rmsnorm_operator *op,
                                     const rmsnorm_attributes *attributes);
/* A result that nothing asks for is none of a compiled node's. */
bool plugin_claim_is_wanted(const plugin_claiming *c, const rmsnorm_ir_node *node);
/* Whether a float16 norm that the runtime has no kernel for has nothing around it but nodes that the runtime has in float: it runs the
 * norm in float too, without a cast; here it would take two. */
bool plugin_claim_is_float_around(const plugin_claiming *c, const rmsnorm_ir_node *node);
#define PLUGIN_FLOAT_AROUND "the runtime has float16 around it in float"

/* Plans of the provider; they end with it. */
plugin_plan *plugin_claim_new_plan(plugin_claiming *c);
OrtStatus *plugin_claim_add_plan(plugin_claiming *c, const rmsnorm_ir_node *node, const char *name,
                                 const rmsnorm_operator *op, const rmsnorm_attributes *attributes);

/* What plugin_claim_group looks up, so that the time of all of them grows with the graph and no faster. */
OrtStatus *plugin_claim_index(plugin_claiming *c);
/* The nodes that a made node stands for, or a line that says why not. */
OrtStatus *plugin_claim_group(plugin_claiming *c, size_t made);

#endif
