/* ir.h: what stands behind rmsnorm_ir, and how the rules of this room change it. */
#ifndef RMSNORM_REWRITE_IR_H
#define RMSNORM_REWRITE_IR_H

#include "operator/arena.h"
#include "operator/error.h"
#include "rewrite/names.h"
#include "rmsnorm/rewrite.h"

#define RMSNORM_NO_NUMBER INT64_MIN /* -1 is an element like others: Reshape's */

/* One element of an integer tensor that describes a shape: a number, the name of a dim, or unknown. */
typedef struct rmsnorm_ir_dim {
    int64_t number;   /* RMSNORM_NO_NUMBER: name tells */
    const char *name; /* NULL: unknown */
} rmsnorm_ir_dim;

typedef struct rmsnorm_ir_cell {
    rmsnorm_ir_value shown;
    size_t *users; /* shown.users, those that are gone included until rmsnorm_ir_settle */
    size_t used, capacity;
    const rmsnorm_ir_dim *content; /* of an integer scalar or vector, as far as known; NULL: nothing is */
    size_t content_count;
} rmsnorm_ir_cell;

typedef struct rmsnorm_ir_entry {
    rmsnorm_ir_node shown;
    size_t position; /* grows along a graph; nodes made in one place share its position until rmsnorm_ir_settle */
} rmsnorm_ir_entry;

typedef struct rmsnorm_ir_import {
    const char *domain; /* "" for ai.onnx */
    int64_t version;
} rmsnorm_ir_import;

/* A function of the model's own. */
typedef struct rmsnorm_ir_function {
    const char *domain, *name;
} rmsnorm_ir_function;

/* A constant that a rewrite made, to be used again. */
typedef struct rmsnorm_ir_constant {
    size_t value;
    bool ones;
} rmsnorm_ir_constant;

struct rmsnorm_ir {
    rmsnorm_arena arena;
    rmsnorm_name_set value_names, node_names;
    rmsnorm_ir_graph *graphs;
    rmsnorm_ir_cell *values;
    rmsnorm_ir_entry *nodes;
    rmsnorm_ir_import *opsets;
    rmsnorm_ir_fault *faults;
    rmsnorm_finding *findings;
    rmsnorm_ir_constant *constants;
    rmsnorm_ir_function *functions;
    size_t graph_count, value_count, node_count, opset_count, fault_count, finding_count, constant_count,
        function_count;
    size_t graph_capacity, value_capacity, node_capacity, opset_capacity, fault_capacity, finding_capacity,
        constant_capacity, function_capacity;
    const char *opset_fixed; /* NULL: may be raised */
};

/* Memory that lives as long as the ir. NULL, with the last error set, when there is none. */
void *rmsnorm_ir_allocate(rmsnorm_ir *ir, size_t count, size_t size);
const char *rmsnorm_ir_format(rmsnorm_ir *ir, const char *format, ...) RMSNORM_PRINTF(2, 3);

/* Room for one item more in an array of the arena. */
rmsnorm_status rmsnorm_ir_grow(rmsnorm_ir *ir, void **items, size_t item, size_t count, size_t *capacity);

rmsnorm_status rmsnorm_ir_add_fault(rmsnorm_ir *ir, size_t node, const char *sentence);
rmsnorm_status rmsnorm_ir_add_finding(rmsnorm_ir *ir, const rmsnorm_finding *finding);

/* 'node "NAME"', or 'node OP_TYPE of "OUTPUT"' for one without a name. */
typedef struct rmsnorm_ir_words {
    char text[480];
} rmsnorm_ir_words;
rmsnorm_ir_words rmsnorm_ir_label(const rmsnorm_ir *ir, size_t node);

/* ---- Asking ---------------------------------------------------------------------------------- */

/* A node of ai.onnx by its type. */
bool rmsnorm_ir_is(const rmsnorm_ir *ir, size_t node, const char *op_type);
const rmsnorm_node_attribute *rmsnorm_ir_attribute(const rmsnorm_ir *ir, size_t node, const char *name);
/* RMSNORM_NO_INDEX for a slot that is omitted or not there. */
size_t rmsnorm_ir_input(const rmsnorm_ir *ir, size_t node, size_t slot);
size_t rmsnorm_ir_output(const rmsnorm_ir *ir, size_t node, size_t slot);
/* The node that makes a value, RMSNORM_NO_INDEX for none or none in there. */
size_t rmsnorm_ir_maker(const rmsnorm_ir *ir, size_t value);
/* The one node that uses a value, once, when it is of the same graph and the value is no output; else
 * RMSNORM_NO_INDEX. */
size_t rmsnorm_ir_sole_user(const rmsnorm_ir *ir, size_t value);
/* Whether an operator's name means a function of the model's own. */
bool rmsnorm_ir_is_taken(const rmsnorm_ir *ir, const char *domain, const char *name);
/* RMSNORM_INVALID_ARGUMENT when a node stands before one that makes what it uses. */
rmsnorm_status rmsnorm_ir_check_order(const rmsnorm_ir *ir);
/* The node of `graph` that is, or has in its subgraphs, this node; RMSNORM_NO_INDEX when it is not inside. */
size_t rmsnorm_ir_ancestor(const rmsnorm_ir *ir, size_t node, size_t graph);
/* The type for rmsnorm_infer: rank unknown when other dims may stand before. */
rmsnorm_tensor rmsnorm_ir_type(const rmsnorm_ir *ir, size_t value);

/* A constant of one element, whatever the number type: an initializer or what Constant makes, through Identity and one Cast.
 * rank may be NULL. */
bool rmsnorm_ir_scalar(const rmsnorm_ir *ir, size_t value, double *number, int32_t *rank);
/* Integers, a scalar or a vector, at most `most`: a constant, or what nodes compute of constants and shapes. */
bool rmsnorm_ir_integers(const rmsnorm_ir *ir, size_t value, int64_t *numbers, size_t most, size_t *count);

/* ---- Changing -------------------------------------------------------------------------------- */

/* Takes a node out of its graph. Its outputs have no maker until a new node is given them. */
void rmsnorm_ir_remove(rmsnorm_ir *ir, size_t node);
/* What only made a value that nothing uses any more goes: nodes of ai.onnx without subgraphs. Adds them to a list, as far as
 * it has room. */
void rmsnorm_ir_sweep(rmsnorm_ir *ir, size_t value, size_t *nodes, size_t most, size_t *count);
/* A value whose maker is about to go, so that a new node can make it. */
void rmsnorm_ir_free_value(rmsnorm_ir *ir, size_t value);
/* Puts a new node before another of the same graph, in its position; strings and attributes as rmsnorm_ir_add_node, but
 * name is only what the new name is made of. */
rmsnorm_status rmsnorm_ir_insert(rmsnorm_ir *ir, const rmsnorm_ir_node *node, size_t before, size_t *index);
/* A new value for a node's result, named after another. */
rmsnorm_status rmsnorm_ir_make_value(rmsnorm_ir *ir, size_t graph, const char *like, const char *ending,
                                     const rmsnorm_tensor *type, size_t *index);
/* Drops users that are gone from all lists, and gives each node a position of its own. */
void rmsnorm_ir_settle(rmsnorm_ir *ir);

#endif
