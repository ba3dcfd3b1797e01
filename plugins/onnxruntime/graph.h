/* graph.h: a graph of the runtime's as an rmsnorm_ir, in which norms are found and fused. */
#ifndef RMSNORM_PLUGIN_GRAPH_H
#define RMSNORM_PLUGIN_GRAPH_H

#include "arena.h"
#include "rmsnorm/rewrite.h"
#include "runtime.h"

typedef struct plugin_graph {
    const plugin_runtime *runtime;
    plugin_arena arena;
    rmsnorm_ir *ir;        /* nodes have their index in `nodes` as origin */
    const OrtNode **nodes; /* of the graph, in its order */
    size_t node_count;
    bool *taken; /* nodes that another provider has: they are opaque in ir */
    bool inside; /* another graph, as far as 1.23 lets it be seen */
    const struct plugin_named *names;
    size_t name_capacity;
} plugin_graph;

/* The graph as it stands: what is inside its nodes' own graphs counts as use by the node, what is around it as an input. Release
 * it also after a failure. */
OrtStatus *plugin_graph_read(plugin_graph *graph, const plugin_runtime *runtime, const OrtGraph *from);
void plugin_graph_release(plugin_graph *graph);

#endif
