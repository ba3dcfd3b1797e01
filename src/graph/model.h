/* model.h: what stands behind rmsnorm_model: the unpacked file and the view of it. */
#ifndef RMSNORM_GRAPH_MODEL_H
#define RMSNORM_GRAPH_MODEL_H

#include "graph/external.h"
#include "graph/functions.h"
#include "graph/source.h"
#include "graph/wire.h"
#include "rmsnorm/graph.h"

#include "onnx.pb-c.h"

struct rmsnorm_model {
    rmsnorm_budget budget;   /* also of the view: a small file cannot ask for a large one */
    Onnx__ModelProto *proto; /* keeps every string the view points to */
    rmsnorm_graph graph;
    rmsnorm_node *nodes;
    rmsnorm_node_attribute *attributes; /* of all nodes, one after the other */
    size_t attribute_count;
    rmsnorm_value *inputs, *outputs, *initializers;
    rmsnorm_functions functions;
    rmsnorm_external external;
};

/* path: where the source is, for data in other files; NULL: nowhere. */
rmsnorm_status rmsnorm_model_load(rmsnorm_source *source, const char *path, rmsnorm_model **model);

/* Fills graph, nodes, attributes, inputs, outputs and initializers. What is left after an error is freed with the
 * model. */
rmsnorm_status rmsnorm_model_view(const char *file, rmsnorm_model *model);

#endif
