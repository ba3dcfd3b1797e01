/* scope.h: the graphs of a model, the one in the other, and what each name in them means. */
#ifndef RMSNORM_GRAPH_SCOPE_H
#define RMSNORM_GRAPH_SCOPE_H

#include "graph/wire.h"

#include "onnx.pb-c.h"

#define RMSNORM_NOWHERE SIZE_MAX

/* A name that a graph defines. */
typedef struct rmsnorm_definition {
    const char *name;
    const Onnx__TensorProto *initializer;  /* NULL: none */
    const Onnx__SparseTensorProto *sparse; /* NULL: none */
    const Onnx__TypeProto *types[3];       /* as input, output and in value_info; NULL: not there */
    size_t maker;                          /* the node, by its number in the graph; RMSNORM_NOWHERE: none */
    bool input;
    bool output;  /* of its graph, or of one inside */
    size_t value; /* whatever the user numbers it with */
    bool used;    /* and notes */
} rmsnorm_definition;

typedef struct rmsnorm_scope {
    const Onnx__GraphProto *proto;
    size_t parent, owner;            /* the graph around it, and the node there; RMSNORM_NOWHERE: the main graph */
    rmsnorm_definition *definitions; /* sorted by name */
    size_t count;
    size_t first_node;   /* whatever the user numbers the first with */
    size_t first_inside; /* graphs inside are numbered on from here, in the order of nodes, attributes and g, graphs */
} rmsnorm_scope;

typedef struct rmsnorm_scopes {
    rmsnorm_scope *items; /* a graph stands before those inside; 0 is the main graph */
    size_t count, capacity;
} rmsnorm_scopes;

/* Finds all graphs except those of functions and of training. Refused: a name defined twice in one graph. */
rmsnorm_status rmsnorm_scopes_open(const char *file, const Onnx__GraphProto *proto, rmsnorm_budget *budget,
                                   rmsnorm_scopes *scopes);
void rmsnorm_scopes_release(rmsnorm_scopes *scopes);

/* What a name means in a graph: the innermost definition that is seen there, NULL for none. */
rmsnorm_definition *rmsnorm_scopes_find(const rmsnorm_scopes *scopes, size_t scope, const char *name);
/* The same, in the graph alone. */
rmsnorm_definition *rmsnorm_scope_find(const rmsnorm_scope *scope, const char *name);

/* What a name means to a node. Refused: a name that is defined nowhere; and one that the graph defines only at that node or
 * later, while a graph around it defines it too: runtimes disagree about which of the two is meant. */
rmsnorm_status rmsnorm_scopes_resolve(const char *file, const rmsnorm_scopes *scopes, size_t scope, size_t node,
                                      const char *name, rmsnorm_definition **definition);

/* How sentences call a graph. */
typedef struct rmsnorm_scope_words {
    char text[200];
} rmsnorm_scope_words;
rmsnorm_scope_words rmsnorm_scope_label(const rmsnorm_scopes *scopes, size_t scope);

#endif
