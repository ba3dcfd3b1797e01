/* fresh.h: what rewriting has made, as messages. */
#ifndef RMSNORM_GRAPH_FRESH_H
#define RMSNORM_GRAPH_FRESH_H

#include "graph/document.h"
#include "graph/pieces.h"

/* Fields of GraphProto. */
enum {
    RMSNORM_GRAPH_NODE = 1,
    RMSNORM_GRAPH_INITIALIZER = 5,
    RMSNORM_GRAPH_VALUE_INFO = 13,
    RMSNORM_GRAPH_ANNOTATION = 14
};

/* A node. Refused: one that would not mean in the file what it means in the ir, since an attribute's value is not known or a
 * name is hidden by another of its graph. */
rmsnorm_status rmsnorm_fresh_node(rmsnorm_pieces *pieces, const rmsnorm_document *document, size_t node);

/* A constant, as an initializer or as a Constant node. */
rmsnorm_status rmsnorm_fresh_constant(rmsnorm_pieces *pieces, const rmsnorm_document *document, size_t value,
                                      bool as_node);

#endif
