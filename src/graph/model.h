/* model.h: what stands behind rmsnorm_model: the unpacked file and the view of it. */
#ifndef RMSNORM_GRAPH_MODEL_H
#define RMSNORM_GRAPH_MODEL_H

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
    const Onnx__FunctionProto **functions; /* sorted by domain and name */
};

rmsnorm_status rmsnorm_model_load(rmsnorm_source *source, rmsnorm_model **model);

/* Fills graph, nodes, attributes, inputs, outputs and initializers. What is left after an error is freed with the
 * model. */
rmsnorm_status rmsnorm_model_view(const char *file, rmsnorm_model *model);

/* Whether the model defines a function of that name, which then stands for the operator of the same name. */
bool rmsnorm_model_has_function(const rmsnorm_model *model, const char *domain, const char *name);

/* "" and "ai.onnx" are one domain. */
const char *rmsnorm_domain_normalize(const char *domain);

#endif
