/* chain_parts.h: inside a chain: its values by name and its nodes by value. Of chain.c and chain_run.c alone. */
#ifndef RMSNORM_CLI_CHAIN_PARTS_H
#define RMSNORM_CLI_CHAIN_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "chain.h"
#include "primitive.h"

#define RMSNORM_CLI_NONE SIZE_MAX /* no value in a slot, no node that makes a value, no last use: kept */

/* Whose a value's data is. */
typedef enum rmsnorm_cli_owner {
    RMSNORM_CLI_OTHERS,      /* the model's or the caller's */
    RMSNORM_CLI_OF_RUN,      /* from rmsnorm_run_alloc */
    RMSNORM_CLI_OF_PRIMITIVE /* from malloc */
} rmsnorm_cli_owner;

typedef struct rmsnorm_cli_value {
    const char *name;
    rmsnorm_tensor tensor;
    size_t maker;    /* the node that makes it; RMSNORM_CLI_NONE: an input or an initializer */
    size_t last_use; /* the node after which it can go; RMSNORM_CLI_NONE: a graph output */
    rmsnorm_cli_owner owner;
} rmsnorm_cli_value;

typedef struct rmsnorm_cli_node {
    const rmsnorm_operator *op; /* NULL: a primitive */
    rmsnorm_attributes attributes;
    const rmsnorm_cli_primitive *primitive;
    size_t *inputs, *outputs; /* values by slot */
} rmsnorm_cli_node;

struct rmsnorm_cli_chain {
    rmsnorm_model *model;
    const rmsnorm_graph *graph;
    const char *path;
    rmsnorm_cli_value *values; /* the inputs in their order, then the initializers, then what the nodes make */
    size_t value_count;
    rmsnorm_cli_value **by_name;          /* sorted */
    rmsnorm_cli_node *nodes;              /* as graph->nodes */
    size_t *slots;                        /* of all nodes */
    size_t *outputs;                      /* values, as graph->outputs */
    size_t *defaults;                     /* values, as the defaults behind graph->inputs */
    const rmsnorm_tensor **input_tensors; /* of one node, for the widest */
    rmsnorm_tensor **output_tensors;
    rmsnorm_cli_step *steps; /* the nodes without the Constants */
    size_t step_count;
    rmsnorm_options options; /* of the last run */
};

/* "node 3 'norm' (com.microsoft::SkipSimplifiedLayerNormalization)" */
#define RMSNORM_CLI_LABEL 256
const char *rmsnorm_cli_node_label(const rmsnorm_cli_chain *chain, size_t node, char text[RMSNORM_CLI_LABEL]);

/* Puts the file and the node in front of the sentence. */
void rmsnorm_cli_name_node(const rmsnorm_cli_chain *chain, size_t node);

/* Releases what the last run computed. */
void rmsnorm_cli_chain_clear(rmsnorm_cli_chain *chain);

#endif
