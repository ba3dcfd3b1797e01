/* models.h: ONNX models written by hand, message by message, with the field numbers of onnx.proto. */
#ifndef RMSNORM_TESTS_GRAPH_MODELS_H
#define RMSNORM_TESTS_GRAPH_MODELS_H

#include "graph/support.h"

enum {
    MODEL_IR = 1,
    MODEL_DOC = 6,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    MODEL_METADATA = 14,
    MODEL_TRAINING = 20,
    MODEL_FUNCTION = 25
};
enum {
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_DOC = 10,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_INFO = 13,
    GRAPH_ANNOTATION = 14,
    GRAPH_SPARSE = 15
};
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_TYPE = 4, NODE_ATTRIBUTE = 5, NODE_DOMAIN = 7 };
enum {
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_F = 2,
    ATTRIBUTE_I = 3,
    ATTRIBUTE_T = 5,
    ATTRIBUTE_G = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_GRAPHS = 11,
    ATTRIBUTE_TYPE = 20,
    ATTRIBUTE_REFERENCE = 21
};
enum {
    TENSOR_DIMS = 1,
    TENSOR_TYPE = 2,
    TENSOR_FLOATS = 4,
    TENSOR_LONGS = 7,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    TENSOR_EXTERNAL = 13,
    TENSOR_LOCATION = 14
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

/* A node with a graph inside, which is released. */
void put_graph_attribute(bytes *node, const char *name, bytes *graph);

/* A float initializer with its data in another file; offset and length are left out when NULL. */
bytes external_tensor(const char *name, int64_t count, const char *location, const char *offset, const char *length);

/* A StringStringEntryProto. */
void put_entry(bytes *to, unsigned field, const char *key, const char *value);

/* IR version 8, opset 23 of ai.onnx and 1 of com.microsoft, and the graph, which is released. */
bytes finish_model(bytes *graph);

/* One of everything: three kinds of dims, an initializer that is an input too, one of another type, a Constant
 * node, both operators' nodes with attributes and omitted slots, a node with a subgraph. */
bytes rich_model(void);

/* Everything a rewriting must keep: unknown fields at every level, functions, graphs inside graphs, training, metadata, sparse
 * initializers, annotations, long doc strings, packed and unpacked numbers, paddings, types of all kinds. The main graph:
 *   x -> Mul(x, x) "sq" -> ReduceMean "ms" -> Sqrt "root" -> Div(x, root) "y" -> If(flag) "z", in whose branches
 *   Neg(y) "then_out" and Loop -> "else_out", inside which Mul(carried, y) "next". */
bytes strange_model(void);

/* An RMS normalization in small nodes, opset 17: once in the main graph, with a node "tail" of "n" behind it, and once in
 * both branches of an If; an initializer "spare" that nothing uses. */
bytes chain_model(void);

#endif
