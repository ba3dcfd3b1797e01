/* infer.h: what the rules of inference are made of: one line of a table for each operator, what a rule knows of a tensor, and
 * how it asks and answers. A tensor may be known in part: its last dims alone, names for numbers, nothing. */
#ifndef RMSNORM_REWRITE_INFER_H
#define RMSNORM_REWRITE_INFER_H

#include "operator/text.h"
#include "rewrite/ir.h"

/* ONNX's numbers of types that no norm takes. */
enum { RMSNORM_UINT8 = 2, RMSNORM_STRING = 8, RMSNORM_BOOL = 9 };

typedef struct rmsnorm_known {
    rmsnorm_dtype dtype;
    bool open; /* other dims may stand before */
    int32_t rank;
    rmsnorm_ir_dim dims[RMSNORM_MAX_RANK];
} rmsnorm_known;

#define RMSNORM_MAX_CONTENT 64

/* The elements of an integer scalar or vector. */
typedef struct rmsnorm_content {
    size_t count;
    rmsnorm_ir_dim items[RMSNORM_MAX_CONTENT];
} rmsnorm_content;

typedef struct rmsnorm_rule rmsnorm_rule;

/* A node that a rule is asked about. */
typedef struct rmsnorm_asked {
    rmsnorm_ir *ir;
    size_t node;
    const rmsnorm_rule *rule;
    int64_t opset;        /* of the node's domain */
    size_t inside;        /* the first graph in the node, RMSNORM_NO_INDEX: none */
    const size_t *beside; /* by graph: the next one in the same node */
} rmsnorm_asked;

struct rmsnorm_rule {
    const char *domain, *name;
    rmsnorm_status (*infer)(const rmsnorm_asked *asked);
    int first, second; /* parameters: what they mean stands at the function */
};

/* NULL: no rule for that operator. */
const rmsnorm_rule *rmsnorm_rule_find(const char *domain, const char *name);

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Nothing known at all for a slot that is omitted. */
rmsnorm_known rmsnorm_asked_input(const rmsnorm_asked *asked, size_t slot);
rmsnorm_known rmsnorm_known_value(const rmsnorm_ir *ir, size_t value);
bool rmsnorm_asked_has(const rmsnorm_asked *asked, size_t slot);
/* What an input holds, as far as it describes a shape; false: not even how many. */
bool rmsnorm_asked_content(const rmsnorm_asked *asked, size_t slot, rmsnorm_content *content);
/* An input that holds numbers alone. */
bool rmsnorm_asked_numbers(const rmsnorm_asked *asked, size_t slot, int64_t *numbers, size_t most, size_t *count);
int64_t rmsnorm_asked_int(const rmsnorm_asked *asked, const char *name, int64_t otherwise);
/* An attribute that is a list of ints, at most `most`. */
bool rmsnorm_asked_ints(const rmsnorm_asked *asked, const char *name, int64_t *numbers, size_t most, size_t *count);

/* ---- Answering ------------------------------------------------------------------------------- */

/* Adds what follows for an output to what is known of it. */
rmsnorm_status rmsnorm_asked_give(const rmsnorm_asked *asked, size_t slot, const rmsnorm_known *known);
rmsnorm_status rmsnorm_asked_refine(const rmsnorm_asked *asked, size_t value, const rmsnorm_known *known);
rmsnorm_status rmsnorm_asked_give_content(const rmsnorm_asked *asked, const rmsnorm_content *content);
/* 'node "NAME": ' and the sentence. */
rmsnorm_status rmsnorm_asked_fault(const rmsnorm_asked *asked, const char *format, ...) RMSNORM_PRINTF(2, 3);
/* An axis out of range. */
rmsnorm_status rmsnorm_asked_axis_fault(const rmsnorm_asked *asked, const rmsnorm_known *known);

/* ---- What is known --------------------------------------------------------------------------- */

rmsnorm_known rmsnorm_known_nothing(rmsnorm_dtype dtype);
rmsnorm_known rmsnorm_known_dims(rmsnorm_dtype dtype, const rmsnorm_ir_dim *dims, size_t count);
rmsnorm_ir_dim rmsnorm_dim(int64_t number);
rmsnorm_ir_dim rmsnorm_dim_unknown(void);
bool rmsnorm_dim_same(rmsnorm_ir_dim a, rmsnorm_ir_dim b); /* provably: the same number or name */
/* "(...,S,64)", "of unknown shape" */
rmsnorm_words rmsnorm_known_words(const rmsnorm_known *known);

/* There are at least `count` dims: unknown ones come before those of an open shape. False: there are not. */
bool rmsnorm_known_reach(rmsnorm_known *known, int32_t count);
/* The rank is that. False: it is not. */
bool rmsnorm_known_close(rmsnorm_known *known, int32_t rank);
/* Where an axis is among the dims that are known, made longer where a negative axis shows more. False: it is not known, or
 * out of range. */
bool rmsnorm_known_axis(rmsnorm_known *known, int64_t axis, int32_t *at);
/* NumPy's broadcast of two shapes; the dtype stays. False: two numbers contradict each other. */
bool rmsnorm_known_broadcast(rmsnorm_known *known, const rmsnorm_known *other);
/* Dims that must be equal. False: two numbers that are not. */
bool rmsnorm_dim_unite(rmsnorm_ir_dim *dim, rmsnorm_ir_dim other);
/* The product, as a number, or a name where only that is left; else unknown. */
rmsnorm_ir_dim rmsnorm_dim_product(const rmsnorm_ir_dim *dims, int32_t count);

/* ---- Rules ----------------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_rule_same(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_dtype(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_ranked(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_cast(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_like(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_quantize(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_dynamic_quantize(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_masked(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_broadcast(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_where(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_matmul(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_gemm(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_matmul_bits(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_reduce(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_arg(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_top(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_layer_norm(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_transpose(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_reshape(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_flatten(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_squeeze(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_unsqueeze(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_concat(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_split(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_expand(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_tile(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_slice(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_gather(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_gather_elements(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_shape(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_size(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_constant(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_constant_of_shape(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_range(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_nonzero(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_attention(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_multi_head(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_group_query(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_if(const rmsnorm_asked *asked);
rmsnorm_status rmsnorm_rule_loop(const rmsnorm_asked *asked);

/* Elements of an arithmetic operator ('+', '-', '*', '/', '=') whose operands describe shapes; and of Where. */
rmsnorm_status rmsnorm_content_combine(const rmsnorm_asked *asked, int operation);
rmsnorm_status rmsnorm_content_choose(const rmsnorm_asked *asked);

/* A node by the name of a norm operator, in a domain of ONNX's or ONNX Runtime's. */
bool rmsnorm_norm_is(const rmsnorm_ir *ir, size_t node);
/* Checks it against the contract. */
rmsnorm_status rmsnorm_norm_infer(const rmsnorm_asked *asked);

#endif
