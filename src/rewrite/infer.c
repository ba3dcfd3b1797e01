/* The walk over all nodes, in their order and with the graphs inside them. */
#include "rewrite/infer.h"

#include <stdlib.h>

#define NAME "%.160s"

/* What the walk remembers: by node and by graph, and the graphs that it is in. */
typedef struct walk {
    rmsnorm_ir *ir;
    bool *passed;   /* by node */
    size_t *inside; /* by node: the first graph in it */
    size_t *beside; /* by graph: the next one in the same node */
    bool *visible;  /* by graph: the walk is in it */
    size_t *nodes;  /* by depth: the node whose graphs are walked */
    size_t depth;
} walk;

static void finish(walk *w)
{
    free(w->passed);
    free(w->inside);
    free(w->beside);
    free(w->visible);
    free(w->nodes);
}

static rmsnorm_status begin(walk *w, rmsnorm_ir *ir)
{
    const size_t nodes = ir->node_count + 1, graphs = ir->graph_count;
    *w = (walk){.ir = ir};
    w->passed = calloc(nodes, sizeof *w->passed);
    w->inside = calloc(nodes, sizeof *w->inside);
    w->beside = calloc(graphs, sizeof *w->beside);
    w->visible = calloc(graphs, sizeof *w->visible);
    w->nodes = calloc(graphs, sizeof *w->nodes);
    RMSNORM_CHECK(w->passed != NULL && w->inside != NULL && w->beside != NULL && w->visible != NULL && w->nodes != NULL,
                  RMSNORM_OUT_OF_MEMORY, "no memory for the inference of %zu nodes", ir->node_count);
    for (size_t n = 0; n < nodes; n++) {
        w->inside[n] = RMSNORM_NO_INDEX;
    }
    for (size_t g = graphs; g-- > 1;) { /* so that they come out in their order */
        const size_t owner = ir->graphs[g].owner;
        w->beside[g] = w->inside[owner];
        w->inside[owner] = g;
    }
    w->beside[0] = RMSNORM_NO_INDEX;
    return RMSNORM_OK;
}

/* An input is made before, in a graph that the node sees. */
static rmsnorm_status check_order(const walk *w, const rmsnorm_asked *asked)
{
    const rmsnorm_ir *const ir = w->ir;
    const rmsnorm_ir_node *const node = &ir->nodes[asked->node].shown;
    for (size_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i] == RMSNORM_NO_INDEX) {
            continue;
        }
        const rmsnorm_ir_value *const value = &ir->values[node->inputs[i]].shown;
        if (!w->visible[value->graph]) {
            return rmsnorm_asked_fault(asked, "its input \"" NAME "\" is of a graph that it does not see", value->name);
        }
        if (value->maker == asked->node) {
            return rmsnorm_asked_fault(asked, "its input \"" NAME "\" is its own output", value->name);
        }
        if (value->maker != RMSNORM_NO_INDEX && !w->passed[value->maker]) {
            const rmsnorm_ir_words maker = rmsnorm_ir_label(ir, value->maker);
            return rmsnorm_asked_fault(asked, "stands before %s that makes its input \"" NAME "\"", maker.text,
                                       value->name);
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status infer_node(walk *w, size_t node)
{
    rmsnorm_ir *const ir = w->ir;
    const rmsnorm_ir_node *const shown = &ir->nodes[node].shown;
    rmsnorm_asked asked = {.ir = ir, .node = node, .opset = rmsnorm_ir_opset(ir, shown->domain)};
    asked.inside = w->inside[node];
    asked.beside = w->beside;
    const size_t faults = ir->fault_count;
    w->passed[node] = true;
    RMSNORM_TRY(check_order(w, &asked));
    if (ir->fault_count > faults || shown->function) {
        return RMSNORM_OK;
    }
    if (rmsnorm_norm_is(ir, node)) {
        return rmsnorm_norm_infer(&asked);
    }
    asked.rule = rmsnorm_rule_find(shown->domain, shown->op_type);
    return asked.rule != NULL ? asked.rule->infer(&asked) : RMSNORM_OK;
}

/* Down into the first graph of the first node that has one, up from the last graph of a node to the node. */
static rmsnorm_status visit(walk *w)
{
    const rmsnorm_ir *const ir = w->ir;
    size_t graph = 0, node = ir->graphs[0].first;
    w->visible[0] = true;
    for (;;) {
        if (node != RMSNORM_NO_INDEX && w->inside[node] != RMSNORM_NO_INDEX) {
            w->nodes[w->depth++] = node;
            graph = w->inside[node];
        } else if (node != RMSNORM_NO_INDEX) {
            RMSNORM_TRY(infer_node(w, node));
            node = ir->nodes[node].shown.next;
            continue;
        } else if (w->depth == 0) {
            return RMSNORM_OK;
        } else {
            w->visible[graph] = false;
            graph = w->beside[graph];
        }
        if (graph != RMSNORM_NO_INDEX) {
            w->visible[graph] = true;
            node = ir->graphs[graph].first;
            continue;
        }
        const size_t owner = w->nodes[--w->depth];
        RMSNORM_TRY(infer_node(w, owner));
        graph = ir->nodes[owner].shown.graph;
        node = ir->nodes[owner].shown.next;
    }
}

rmsnorm_status rmsnorm_ir_infer(rmsnorm_ir *ir)
{
    walk w;
    RMSNORM_CHECK(ir != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_ir_infer: ir is NULL");
    ir->fault_count = 0; /* all of them are found again */
    rmsnorm_status status = begin(&w, ir);
    if (status == RMSNORM_OK) {
        status = visit(&w);
    }
    finish(&w);
    return status;
}
