/* functions.h: the functions a model defines, and the opsets it imports. */
#ifndef RMSNORM_GRAPH_FUNCTIONS_H
#define RMSNORM_GRAPH_FUNCTIONS_H

#include "graph/wire.h"

#include "onnx.pb-c.h"

/* "" and "ai.onnx" are one domain. */
const char *rmsnorm_domain_normalize(const char *domain);

/* Every version is 1 or more, and no domain stands twice. */
rmsnorm_status rmsnorm_opsets_check(const char *file, const Onnx__ModelProto *proto, rmsnorm_budget *budget);

/* Sorted by domain and name. */
typedef struct rmsnorm_functions {
    const Onnx__FunctionProto **items; /* freed with free() */
    size_t count;
} rmsnorm_functions;

rmsnorm_status rmsnorm_functions_sort(const char *file, const Onnx__ModelProto *proto, rmsnorm_budget *budget,
                                      rmsnorm_functions *functions);

/* Whether one has that name, which then stands for the operator of the same name. */
bool rmsnorm_functions_have(const rmsnorm_functions *functions, const char *domain, const char *name);

#endif
