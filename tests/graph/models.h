/* models.h: ONNX models written by hand, message by message, with the field numbers of onnx.proto. */
#ifndef RMSNORM_TESTS_GRAPH_MODELS_H
#define RMSNORM_TESTS_GRAPH_MODELS_H

#include "graph/support.h"

enum { MODEL_IR = 1, MODEL_GRAPH = 7, MODEL_OPSET = 8 };
enum { GRAPH_NODE = 1, GRAPH_NAME = 2, GRAPH_INITIALIZER = 5, GRAPH_INPUT = 11, GRAPH_OUTPUT = 12, GRAPH_SPARSE = 15 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REFERENCE = 21
};
enum { TYPE_FLOAT = 1, TYPE_INT = 2, TYPE_TENSOR = 4, TYPE_GRAPH = 5, TYPE_FLOATS = 6, TYPE_INTS = 7 };

/* Adds an opset import; domain NULL: the field is left out. */
void put_opset(bytes *model, const char *domain, int64_t version);

/* Adds a graph input or output. dims: "2,S,?" with numbers, names, "" for an empty name and ? for neither; NULL: no
 * shape. */
void put_value(bytes *graph, unsigned field, const char *name, int32_t type, const char *dims);

/* A node: names separated by blanks, "-" for an omitted one. */
bytes begin_node(const char *type, const char *domain, const char *inputs, const char *outputs);
void put_attribute_int(bytes *node, const char *name, int64_t value);
void put_attribute_float(bytes *node, const char *name, float value);

/* IR version 8, opset 23 of ai.onnx and 1 of com.microsoft, and the graph, which is released. */
bytes finish_model(bytes *graph);

/* One of everything: three kinds of dims, an initializer that is an input too, one of another type, a Constant
 * node, both operators' nodes with attributes and omitted slots, a node with a subgraph. */
bytes rich_model(void);

#endif
