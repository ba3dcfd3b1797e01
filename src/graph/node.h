/* node.h: one node of a model: how sentences call it, and what its attributes hold. */
#ifndef RMSNORM_GRAPH_NODE_H
#define RMSNORM_GRAPH_NODE_H

#include "rmsnorm/graph.h"

#include "onnx.pb-c.h"

#define RMSNORM_NODE_LABEL 480

/* 'node "NAME"', or 'node OP_TYPE of "OUTPUT"' for one without a name. */
void rmsnorm_node_label(const rmsnorm_node *node, char label[RMSNORM_NODE_LABEL]);

/* False when the fields that are set contradict the type that is stated. */
bool rmsnorm_attribute_kind_of(const Onnx__AttributeProto *proto, rmsnorm_node_attribute_kind *kind);

#endif
