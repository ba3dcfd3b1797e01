/* primitive.h: the operators of ai.onnx that decomposed RMS normalizations consist of, computed plainly: what rmsnorm run
 * takes beside the library's own, so that a part of a model can be run before and after it was rewritten.
 *
 * Every element is computed in double and rounded once to its type, to nearest even. For +, -, *, / and square roots of
 * floats and narrower types that is bit by bit what arithmetic in float, rounded to the type, gives. A square (Pow by 2) is
 * a product. ReduceMean adds up in double, in row-major order, and rounds the mean once. int32 and int64 wrap around. */
#ifndef RMSNORM_CLI_PRIMITIVE_H
#define RMSNORM_CLI_PRIMITIVE_H

#include <stdbool.h>

#include <jansson.h>

#include "attributes.h"
#include "rmsnorm/graph.h"

/* An operator as some opsets have it. */
typedef struct rmsnorm_cli_primitive rmsnorm_cli_primitive;

/* Whether any opset has it. */
bool rmsnorm_cli_primitive_known(const char *name);
/* "Add, Cast, Constant, ...": all of them. */
#define RMSNORM_CLI_PRIMITIVES 256
const char *rmsnorm_cli_primitive_names(char text[RMSNORM_CLI_PRIMITIVES]);

/* The operator of a node whose op_type is known, after checking the node's slots and attributes. opset is the model's of
 * ai.onnx; 0: it imports none. */
int rmsnorm_cli_primitive_resolve(const rmsnorm_node *node, int64_t opset, const rmsnorm_cli_primitive **primitive);

/* Type and shape of the one output; inputs by the node's slots, NULL for an omitted one. Data that is known by then is given
 * too, since shapes may hang on it: a Constant's, which the model owns (*made is false), and integers that follow from what
 * is known, computed here (*made is true: free it). */
int rmsnorm_cli_primitive_infer(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node,
                                const rmsnorm_tensor *const *inputs, rmsnorm_tensor *output, bool *made);

/* Computes the inferred output into new memory of output->data, to be freed with free(). */
int rmsnorm_cli_primitive_compute(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node,
                                  const rmsnorm_tensor *const *inputs, rmsnorm_tensor *output);

/* A Constant is a value, not a step of the work. */
bool rmsnorm_cli_primitive_is_constant(const rmsnorm_cli_primitive *primitive);

/* The attributes in effect: "axes=[-1] keepdims=1", and as a JSON object. */
const char *rmsnorm_cli_primitive_attributes(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node,
                                             char text[RMSNORM_CLI_ATTRIBUTES]);
json_t *rmsnorm_cli_primitive_json_attributes(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node);

#endif
