/* evaluate.h: what a graph gives, by the contract's arithmetic: each node rounds its elements once to their type, and row
 * statistics in float or double are exact until the normalized rows are rounded. */
#ifndef RMSNORM_TESTS_REWRITE_EVALUATE_H
#define RMSNORM_TESTS_REWRITE_EVALUATE_H

#include "build.h"

typedef struct evaluation evaluation;

/* Before evaluate_run: gives a value its elements. They are copied. */
evaluation *evaluate_begin(const rmsnorm_ir *ir);
/* The same without any rounding but that of double: what the graph would give in theory. Has no norms. */
evaluation *evaluate_begin_exact(const rmsnorm_ir *ir);
void evaluate_give(evaluation *e, size_t value, const rmsnorm_tensor *tensor);
/* All nodes that are not gone, in their order; of a node with graphs inside the first one is what it does. A node that has
 * no rule here ends the test. */
void evaluate_run(evaluation *e);
const rmsnorm_tensor *evaluate_value(const evaluation *e, size_t value);
void evaluate_end(evaluation *e);

/* An element as a number, and a number rounded once to an element. */
double evaluate_element(const rmsnorm_tensor *tensor, size_t index);
void evaluate_store(const rmsnorm_tensor *tensor, size_t index, double number);

/* The first element that differs in its bits, or RMSNORM_NO_INDEX; NaNs are all the same. Types and shapes must be equal. */
size_t evaluate_difference(const rmsnorm_tensor *a, const rmsnorm_tensor *b);

/* How many numbers of the type lie between two elements, and one: 0 for the same. */
double evaluate_distance(rmsnorm_dtype dtype, double a, double b);

#endif
