/* rewrite.h: RMS normalization in graphs: found among small nodes, fused, converted, taken apart.
 *
 * An rmsnorm_ir is a model without its file: graphs of nodes over values that have an index, and what is known of their
 * types and shapes. graph.h fills one from an .onnx file and writes the file that results; an engine fills one from its
 * own graph. Rewriting happens in place: nodes that go are marked and stay readable, nodes that come are appended. A
 * rewrite is made only when the new nodes give what the old ones gave, bit for bit in the arithmetic of the contract
 * (statistics are exact until the inverse root, elements are rounded where the graph rounds them); what is left alone is
 * listed with the reason.
 *
 * Graphs are untrusted: nothing in them makes a call read or write out of bounds, recurse or take more memory than it was
 * given. An rmsnorm_ir belongs to one thread at a time. */
#ifndef RMSNORM_REWRITE_H
#define RMSNORM_REWRITE_H

#include "rmsnorm/rmsnorm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RMSNORM_NO_INDEX SIZE_MAX /* no value in a slot, no node that makes a value, no graph around a graph */

/* ---- Nodes ----------------------------------------------------------------------------------- */

typedef enum rmsnorm_node_attribute_kind {
    RMSNORM_NODE_ATTRIBUTE_OTHER, /* graphs, strings, types, references: not looked into */
    RMSNORM_NODE_ATTRIBUTE_INT,
    RMSNORM_NODE_ATTRIBUTE_FLOAT,
    RMSNORM_NODE_ATTRIBUTE_TENSOR,
    RMSNORM_NODE_ATTRIBUTE_INTS,
    RMSNORM_NODE_ATTRIBUTE_FLOATS
} rmsnorm_node_attribute_kind;

typedef struct rmsnorm_node_attribute {
    const char *name;
    rmsnorm_node_attribute_kind kind;
    int64_t i;
    float f;
    const int64_t *ints;
    const float *floats;
    size_t count;          /* of ints or floats */
    rmsnorm_tensor tensor; /* data may be NULL: not known, or of an element type that is not kept */
} rmsnorm_node_attribute;

/* The attribute values of a node of an operator: its defaults, and what the list says. One that the operator does not have, or
 * of another kind, is RMSNORM_INVALID_ARGUMENT, and attributes stay as they were. */
RMSNORM_API rmsnorm_status rmsnorm_attributes_read(const rmsnorm_operator *op, const rmsnorm_node_attribute *list,
                                                   size_t count, rmsnorm_attributes *attributes);

/* ---- The intermediate representation --------------------------------------------------------- */

typedef struct rmsnorm_ir rmsnorm_ir;

/* A value: what a graph is given, a constant, or what a node makes. */
typedef struct rmsnorm_ir_value {
    const char *name;    /* distinct from all other values', in all graphs that see each other */
    size_t graph;        /* that defines it; graphs inside that one see it too */
    rmsnorm_tensor type; /* dtype RMSNORM_UNDEFINED: not known. data: the elements of a small constant, else NULL */
    bool open;           /* type's dims are the last ones, others may stand before them: rank 0 says nothing at all */
    bool constant;       /* the same in every run: no caller can replace it */
    bool output;         /* of its graph */
    bool made;           /* by a rewrite: a node's result, or a constant that has data */
    size_t maker;        /* node; RMSNORM_NO_INDEX: an input or a constant */
    const size_t *users; /* nodes, in any graph, one entry for each slot; none that are gone */
    size_t user_count;
} rmsnorm_ir_value;

typedef struct rmsnorm_ir_node {
    const char *name, *op_type, *domain; /* "" where there is none; domain "" is ai.onnx */
    size_t graph;
    const size_t *inputs; /* values by slot, RMSNORM_NO_INDEX for an omitted one */
    size_t input_count;
    const size_t *outputs;
    size_t output_count;
    const rmsnorm_node_attribute *attributes;
    size_t attribute_count;
    bool function;         /* calls a function of the model's own: op_type means nothing here */
    size_t origin;         /* a number of the caller's choice; RMSNORM_NO_INDEX: made by a rewrite */
    bool gone;             /* replaced: no longer in the order of its graph */
    size_t previous, next; /* the nodes before and after it in its graph */
} rmsnorm_ir_node;

typedef struct rmsnorm_ir_graph {
    size_t owner;       /* the node it is an attribute of; RMSNORM_NO_INDEX: the main graph, which is graph 0 */
    size_t first, last; /* nodes; RMSNORM_NO_INDEX: none */
} rmsnorm_ir_graph;

/* memory: the most bytes it may take, results of rewriting included; 0: no limit of its own. Has the main graph. Free
 * with rmsnorm_ir_free. */
RMSNORM_API rmsnorm_status rmsnorm_ir_create(size_t memory, rmsnorm_ir **ir);
RMSNORM_API void rmsnorm_ir_free(rmsnorm_ir *ir);

/* The opset version a model imports of a domain; the getter gives 0 for none. */
RMSNORM_API rmsnorm_status rmsnorm_ir_set_opset(rmsnorm_ir *ir, const char *domain, int64_t version);
RMSNORM_API int64_t rmsnorm_ir_opset(const rmsnorm_ir *ir, const char *domain);

/* The opset of ai.onnx is not to be raised; why ends a sentence: "the model defines functions". Stays the caller's. */
RMSNORM_API void rmsnorm_ir_fix_opset(rmsnorm_ir *ir, const char *why);

/* The model has a function of its own under an operator's name: nodes of that name are not made. Nodes that call it say so
 * themselves. Strings stay the caller's. */
RMSNORM_API rmsnorm_status rmsnorm_ir_add_function(rmsnorm_ir *ir, const char *domain, const char *name);

/* Adding, in this order: a graph's values, then its nodes in their order, then the graphs inside. Of a value, name,
 * graph, type, open, constant and output are read; of a node, everything but gone, previous and next. Arrays are copied,
 * except strings, attributes and data, which stay the caller's and must outlive the rmsnorm_ir. A value may be the
 * output of one node. */
RMSNORM_API rmsnorm_status rmsnorm_ir_add_graph(rmsnorm_ir *ir, size_t owner, size_t *graph);
RMSNORM_API rmsnorm_status rmsnorm_ir_add_value(rmsnorm_ir *ir, const rmsnorm_ir_value *value, size_t *index);
RMSNORM_API rmsnorm_status rmsnorm_ir_add_node(rmsnorm_ir *ir, const rmsnorm_ir_node *node, size_t *index);

RMSNORM_API size_t rmsnorm_ir_graph_count(const rmsnorm_ir *ir);
RMSNORM_API size_t rmsnorm_ir_value_count(const rmsnorm_ir *ir);
RMSNORM_API size_t rmsnorm_ir_node_count(const rmsnorm_ir *ir);
/* Valid until something is added or rewritten. */
RMSNORM_API const rmsnorm_ir_graph *rmsnorm_ir_graph_at(const rmsnorm_ir *ir, size_t index);
RMSNORM_API const rmsnorm_ir_value *rmsnorm_ir_value_at(const rmsnorm_ir *ir, size_t index);
RMSNORM_API const rmsnorm_ir_node *rmsnorm_ir_node_at(const rmsnorm_ir *ir, size_t index);

/* ---- Types and shapes ------------------------------------------------------------------------ */

/* What a graph has against the rules: a node of a norm operator that the contract refuses, or types and shapes that
 * contradict each other. */
typedef struct rmsnorm_ir_fault {
    size_t node;
    const char *sentence;
} rmsnorm_ir_fault;

/* Works out element types and shapes, from the first node to the last, as far as they follow from what is known. What is
 * declared stays; a contradiction becomes a fault. */
RMSNORM_API rmsnorm_status rmsnorm_ir_infer(rmsnorm_ir *ir);
RMSNORM_API const rmsnorm_ir_fault *rmsnorm_ir_faults(const rmsnorm_ir *ir, size_t *count);

/* The operator and attribute values of a node. RMSNORM_NOT_FOUND: none of the three operators; RMSNORM_INVALID_ARGUMENT:
 * an attribute is not its, or of another kind. */
RMSNORM_API rmsnorm_status rmsnorm_ir_resolve(const rmsnorm_ir *ir, size_t node, const rmsnorm_operator **op,
                                              rmsnorm_attributes *attributes);

/* ---- Rewriting ------------------------------------------------------------------------------- */

/* What runs the result. Operators, types, shapes and opsets it does not run are not emitted. */
typedef enum rmsnorm_target {
    RMSNORM_TARGET_RMSNORM,   /* this library: the three operators, all of the contract */
    RMSNORM_TARGET_ONNX,      /* the standard: RMSNormalization alone */
    RMSNORM_TARGET_ORT_CPU,   /* ONNX Runtime 1.30's own kernels on the CPU */
    RMSNORM_TARGET_ORT_WEBGPU /* and its WebGPU execution provider */
} rmsnorm_target;

/* "rmsnorm", "onnx", "ort-cpu", "ort-webgpu"; NULL past the last. */
RMSNORM_API const char *rmsnorm_target_name(rmsnorm_target target);

/* What becomes of an addition before a norm. */
typedef enum rmsnorm_residuals {
    RMSNORM_RESIDUALS_BY_TARGET, /* fused where that makes the target faster */
    RMSNORM_RESIDUALS_FUSE,      /* wherever the target runs SkipSimplifiedLayerNormalization */
    RMSNORM_RESIDUALS_KEEP
} rmsnorm_residuals;

typedef struct rmsnorm_fuse_options {
    size_t struct_size;
    rmsnorm_target target;
    rmsnorm_residuals residuals;
    bool relaxed; /* also what only removes an intermediate rounding, or reorders one addition */
} rmsnorm_fuse_options;
#define RMSNORM_FUSE_OPTIONS_INIT                                                                \
    {                                                                                            \
        sizeof(rmsnorm_fuse_options), RMSNORM_TARGET_RMSNORM, RMSNORM_RESIDUALS_BY_TARGET, false \
    }

typedef enum rmsnorm_finding_kind {
    RMSNORM_FOUND_CHAIN,    /* small nodes that compute an RMS normalization, or nearly */
    RMSNORM_FOUND_RESIDUAL, /* an addition before a norm */
    RMSNORM_FOUND_NORM      /* a node of one of the three operators, for rmsnorm_ir_convert */
} rmsnorm_finding_kind;

/* What a rewrite came upon. */
typedef struct rmsnorm_finding {
    rmsnorm_finding_kind kind;
    bool done;           /* rewritten; else left alone */
    const size_t *nodes; /* that were replaced, or looked at, from the first to the last */
    size_t node_count;
    const size_t *made; /* nodes in their place */
    size_t made_count;
    const char *reason; /* left alone: why. Done with relaxed: what is rounded or added otherwise now. Else "" */
} rmsnorm_finding;

/* Fuses chains of small nodes into a norm, then additions before norms into SkipSimplifiedLayerNormalization. Needs
 * rmsnorm_ir_infer before. options NULL: the defaults. A graph whose nodes do not stand in topological order is
 * RMSNORM_INVALID_ARGUMENT. */
RMSNORM_API rmsnorm_status rmsnorm_ir_fuse(rmsnorm_ir *ir, const rmsnorm_fuse_options *options);

typedef enum rmsnorm_conversion {
    RMSNORM_TO_RMS_NORMALIZATION,
    RMSNORM_TO_SIMPLIFIED_LAYER_NORMALIZATION,
    RMSNORM_TO_DECOMPOSED /* primitive nodes */
} rmsnorm_conversion;

/* Turns every norm node into the other form. Optional outputs, epsilon and axis are kept. */
RMSNORM_API rmsnorm_status rmsnorm_ir_convert(rmsnorm_ir *ir, rmsnorm_conversion to);

/* What all rewrites so far came upon, in the order of the graphs and nodes. */
RMSNORM_API const rmsnorm_finding *rmsnorm_ir_findings(const rmsnorm_ir *ir, size_t *count);

/* Whether an operator of ai.onnx means the same at two opset versions for a node like this one: RMSNORM_OK, or
 * RMSNORM_UNSUPPORTED with a sentence that names the version it changed in, or that it is not known. */
RMSNORM_API rmsnorm_status rmsnorm_opset_check_raise(const rmsnorm_ir_node *node, int64_t from, int64_t to);

#ifdef __cplusplus
}
#endif

#endif
