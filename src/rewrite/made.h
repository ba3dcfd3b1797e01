/* made.h: nodes and constants that rewrites put into a graph. */
#ifndef RMSNORM_REWRITE_MADE_H
#define RMSNORM_REWRITE_MADE_H

#include "rewrite/ir.h"

/* A node to be made. */
typedef struct rmsnorm_made_node {
    const char *op_type, *domain;
    size_t inputs[4], outputs[4]; /* values by slot; trailing omitted ones are left out */
    size_t input_count, output_count;
    rmsnorm_node_attribute attributes[4];
    size_t attribute_count;
} rmsnorm_made_node;

void rmsnorm_made_set_int(rmsnorm_made_node *node, const char *name, int64_t value);
void rmsnorm_made_set_float(rmsnorm_made_node *node, const char *name, float value);

/* A norm with its attributes written out. kind tells op_type, domain and which attributes. */
rmsnorm_made_node rmsnorm_made_norm(rmsnorm_operator_kind kind, int64_t axis, float epsilon, int64_t stash_type);

/* Whether a norm can be made: its name is no function of the model's own. */
bool rmsnorm_made_allowed(const rmsnorm_ir *ir, rmsnorm_operator_kind kind);

/* Puts it before another node, with a name in the style of that node's. */
rmsnorm_status rmsnorm_made_insert(rmsnorm_ir *ir, const rmsnorm_made_node *node, size_t before, size_t *index);

/* The shape that ones take beside an input: the rows' own, or (1) when that is not known or too large to write down. */
rmsnorm_tensor rmsnorm_made_ones_type(const rmsnorm_tensor *input, int64_t axis, rmsnorm_dtype dtype);

/* A constant of ones in the main graph; the same one when asked again. */
rmsnorm_status rmsnorm_made_ones(rmsnorm_ir *ir, const rmsnorm_tensor *type, size_t *value);

/* A constant scalar, or with `integers` a vector of int64. */
rmsnorm_status rmsnorm_made_scalar(rmsnorm_ir *ir, rmsnorm_dtype dtype, double number, size_t *value);
rmsnorm_status rmsnorm_made_integers(rmsnorm_ir *ir, const int64_t *integers, size_t count, size_t *value);

#endif
