/* build.h: an rmsnorm_ir from a few readable lines, and its values and nodes as text again. What cannot be read ends the test. */
#ifndef RMSNORM_TESTS_REWRITE_BUILD_H
#define RMSNORM_TESTS_REWRITE_BUILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "operator/arena.h"
#include "rewrite/ir.h"

/* Types that no operator of the contract takes, by ONNX's numbers. */
#define BUILD_BOOL ((rmsnorm_dtype)9)

typedef struct build {
    rmsnorm_ir *ir;
    size_t graph; /* where values and nodes are added: 0, the main graph, at first */
    rmsnorm_arena strings;
} build;

/* opset: of ai.onnx; com.microsoft is imported as 1. */
build *build_begin(int64_t opset);
void build_end(build *b);

/* A value that a graph is given, or that a later build_node makes. Dims: "B,S,64"; "?" is unknown; "" is a scalar; "*" says that
 * nothing is known, "...,64" that others may stand before. */
size_t build_value(build *b, const char *name, rmsnorm_dtype dtype, const char *dims);
/* A constant: numbers "1,2.5", one for all elements or as many as there are; "" for elements that are not known. */
size_t build_constant(build *b, const char *name, rmsnorm_dtype dtype, const char *dims, const char *numbers);

/* op: "Mul", "com.microsoft::FastGelu", "ReduceMean axes=[-1] keepdims=1 @norm/mean". An attribute is an int, a float if its number
 * has a point, an exponent or is inf or nan, a list of them in brackets, a tensor (value=float:0.5, value=int64:[1,2]), or
 * anything else in quotation marks without spaces. @ gives the name ("@" alone: none); without it the node is named as its
 * first output. inputs, outputs: names with commas between, nothing for an omitted one. Outputs that are not there yet are
 * made, with nothing known of them. Returns the node. */
size_t build_node(build *b, const char *op, const char *inputs, const char *outputs);

/* Marks outputs of their graphs. */
void build_output(build *b, const char *names);

/* Adds a graph inside a node and makes it the one that things are added to; "b->graph = 0" goes back. */
size_t build_graph(build *b, size_t owner);

size_t build_find(const build *b, const char *name); /* a value, by its name */

/* "float:B,S,64", "?:*", "int64:...,2"; numbers of types that have no name here as ONNX counts them. Valid until build_end. */
const char *build_type(build *b, const char *name);
/* The nodes of a graph in their order: "Mul(x, x) = sq; Sqrt(sq) = r". */
const char *build_nodes(build *b, size_t graph);

#endif
