/* compose.h: primitive nodes one after the other in the place of another node. */
#ifndef RMSNORM_REWRITE_COMPOSE_H
#define RMSNORM_REWRITE_COMPOSE_H

#include "rewrite/made.h"

enum { RMSNORM_COMPOSED_NODES = 24 };

/* Nodes are put before `node`, which goes when all are there. After a failure the calls do nothing and give
 * RMSNORM_NO_INDEX. */
typedef struct rmsnorm_composer {
    rmsnorm_ir *ir;
    size_t node;
    rmsnorm_status status;
    size_t made[RMSNORM_COMPOSED_NODES];
    size_t made_count;
} rmsnorm_composer;

/* What the next node makes: a value of the old node, or RMSNORM_NO_INDEX for a new one, of this type. */
typedef struct rmsnorm_composed {
    size_t value;
    rmsnorm_tensor type;
} rmsnorm_composed;

/* One primitive with one or two inputs (the second may be RMSNORM_NO_INDEX). */
size_t rmsnorm_compose(rmsnorm_composer *c, const char *op_type, size_t a, size_t b, const rmsnorm_composed *result);

/* The value in another element type: itself when it has it. result->value, if given, is made in any case. */
size_t rmsnorm_compose_cast(rmsnorm_composer *c, size_t value, rmsnorm_dtype to, size_t result);

/* a times b, of any types, each cast up as far as needed, the product rounded once to `to`. */
size_t rmsnorm_compose_product(rmsnorm_composer *c, size_t a, size_t b, rmsnorm_dtype to, size_t result);

/* 1 / sqrt(mean(x^2) + epsilon) over the dims from axis (negative) on, in x's own type; the ReduceMean as the model's opset
 * has it. */
size_t rmsnorm_compose_inverse_root(rmsnorm_composer *c, size_t x, int64_t axis, float epsilon, size_t result);

/* A made node of up to four inputs and outputs. */
void rmsnorm_compose_node(rmsnorm_composer *c, const rmsnorm_made_node *node);

#endif
