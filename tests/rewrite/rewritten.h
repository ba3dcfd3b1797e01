/* rewritten.h: what every rewritten graph must be, whatever was rewritten: sound, and the same in its bits. */
#ifndef RMSNORM_TESTS_REWRITE_REWRITTEN_H
#define RMSNORM_TESTS_REWRITE_REWRITTEN_H

#include "evaluate.h"

/* A graph and rows for its inputs. */
typedef struct rewritten {
    build *b;
    evaluation *before;
    size_t given[32], given_count; /* the inputs, before something is rewritten */
    unsigned seed;
    bool specials;    /* NaN and infinities among the rows of what is called x, too */
    bool coarse;      /* numbers of 7 bits instead, so that float holds the square of a sum of three */
    const char *what; /* for messages; may be NULL */
} rewritten;

/* Infers; a fault ends the test. */
void rewritten_infer(build *b);

/* Fills every input of the main graph that has numeric dims, after named ones are taken from `dims` ("B=2,S=3"; may be NULL), and
 * evaluates. */
void rewritten_before(rewritten *r, const char *dims);
/* Evaluates again, and compares all values of the main graph that are outputs there: bit for bit, or with `ulps` those among the
 * names in `loose`. */
void rewritten_after(rewritten *r);
void rewritten_after_loose(rewritten *r, const char *loose, double ulps);
void rewritten_end(rewritten *r);

/* Inference finds no fault now, names are distinct, and norms are of the target with all attributes written. */
void rewritten_check_graph(build *b, rmsnorm_target target, const char *what);

/* How many nodes of a type are in all graphs. */
size_t rewritten_count(const build *b, const char *op_type);

/* Row data: ordinary, huge, tiny, zero, one large element among small ones; with specials also NaN and infinities. */
void rewritten_fill(const rmsnorm_tensor *tensor, unsigned seed, bool specials);

#endif
