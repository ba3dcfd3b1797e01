/* chain.h: a chain of small nodes that computes an RMS normalization, as the graph has it: contract, "Decomposed forms". */
#ifndef RMSNORM_REWRITE_CHAIN_H
#define RMSNORM_REWRITE_CHAIN_H

#include "rewrite/ir.h"

/* The longest path, from the square to the last cast: five small nodes and the casts between them. */
#define RMSNORM_CHAIN_NODES 24
#define RMSNORM_CHAIN_TAIL 2

typedef struct rmsnorm_chain {
    size_t nodes[RMSNORM_CHAIN_NODES]; /* from the square to the product, without what casts up and without the tail */
    size_t node_count;
    size_t source;  /* what is squared, in the type the statistics are computed in */
    size_t raw;     /* what is cast up to it; source itself where nothing is */
    size_t product; /* the value input times inverse root: the normalized rows */
    int64_t axis;   /* the first normalized dim, from the end: -1 is the last dim */
    float epsilon;
    /* What follows the product, each the only user of the one before: a Cast and the Mul by scale, in either order, or one of
     * the two, or none. */
    size_t tail[RMSNORM_CHAIN_TAIL];
    size_t tail_count;
    size_t scale;         /* of the Mul in the tail; RMSNORM_NO_INDEX: the tail has none */
    size_t raw_scale;     /* what is cast up to it; scale itself where nothing is */
    const char *rounding; /* what a fused node would not round; NULL: nothing, it is exact */
} rmsnorm_chain;

typedef enum rmsnorm_chain_answer {
    RMSNORM_CHAIN_NONE,    /* nothing that resembles one */
    RMSNORM_CHAIN_REFUSED, /* nearly; the reason says what is in the way */
    RMSNORM_CHAIN_MATCHED
} rmsnorm_chain_answer;

typedef struct rmsnorm_reason {
    char text[512];
} rmsnorm_reason;

/* Writes the sentence. Always false, for `return`. */
bool rmsnorm_reason_give(rmsnorm_reason *reason, const char *format, ...) RMSNORM_PRINTF(2, 3);

/* The chain around a ReduceMean node. nodes and node_count are filled as far as it was followed, also when refused. */
rmsnorm_chain_answer rmsnorm_chain_match(rmsnorm_ir *ir, size_t mean, rmsnorm_chain *chain, rmsnorm_reason *reason);

#endif
