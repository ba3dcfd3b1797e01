/* oracle.h: the three operators from contract.md, element by element, in about 106 bits.
 *
 * Rules of the comparison (contract 4.2; V is the output's type, P the type of the middle value of RMSNormalization:
 * the narrower of the stash type and T):
 *
 * - The ideal of operators 1 and 2 is the exact (x / root) * gamma, with x = (input + skip) + bias computed in float.
 *   float16 and bfloat16: at most 1 ulp, correctly rounded in all but 1 of 1000. double: at most 4 ulp. float: at most
 *   3 ulp when the arithmetic is float; when X is double the value is computed in double and rounded once, so there it
 *   is held to the narrow types' rule.
 * - The ideal of operator 3 is z * scale rounded once, where z is the exact x / root rounded to P. When P is coarser
 *   than the stash type, z may be the neighbour only where x / root is within 2 ulp of the stash type of the midpoint
 *   between the two; that z counts as misrounded. When P is the stash type itself, z may be off by the 3 ulp of its
 *   arithmetic (double: 4), and a float result stays within 3 ulp of the exact (x / root) * scale altogether.
 *   The product may be rounded to an intermediate float (or double) first only where it does not fit there exactly.
 * - An x / root below the normal numbers of the arithmetic has lost bits before gamma is applied: the error that one
 *   subnormal step there can cause is allowed on top.
 * - inv_std_var: float at most 2 ulp, double at most 4. sum: exact.
 * - Where epsilon is negative and cancels more than three quarters of the mean, the formula itself has no digits left:
 *   such a row is not judged (its bits still must agree between instruction sets). */
#ifndef KERNCHECK_ORACLE_H
#define KERNCHECK_ORACLE_H

#include <stdbool.h>

#include "real.h"

/* One call. All tensors contiguous, at any address. */
typedef struct oracle_call {
    rmsnorm_operator_kind kind;
    rmsnorm_dtype t, v, stash; /* stash: RMSNORM_FLOAT or RMSNORM_DOUBLE */
    int rank, axis;            /* axis in [0, rank) */
    int64_t dims[RMSNORM_MAX_RANK];
    int scale_rank;
    int64_t scale_dims[RMSNORM_MAX_RANK];
    int64_t skip_rows; /* 0: no skip */
    float epsilon;
    const void *input, *skip, *bias, *scale;
} oracle_call;

int64_t oracle_rows(const oracle_call *call);
int64_t oracle_width(const oracle_call *call);

/* Which element of the scale belongs to an element of X: NumPy's broadcasting. */
int64_t oracle_scale_index(const oracle_call *call, int64_t row, int64_t column);

typedef enum oracle_root {
    ORACLE_FINITE,
    ORACLE_NAN,
    ORACLE_INV_ZERO,
    ORACLE_INV_INFINITE,
    ORACLE_UNJUDGED
} oracle_root;

typedef struct oracle_row {
    int64_t index;
    oracle_root kind;
    real root; /* of mean + epsilon, where kind is ORACLE_FINITE */
} oracle_row;

oracle_row oracle_row_of(const oracle_call *call, int64_t index);

typedef struct oracle_verdict {
    bool fits;    /* within every bound that holds for one element */
    bool judged;  /* ulps and rounded mean something */
    bool rounded; /* the correctly rounded value */
    double ulps;  /* distance from the ideal */
    double want;  /* the correctly rounded value, for messages */
} oracle_verdict;

oracle_verdict oracle_output(const oracle_call *call, const oracle_row *row, int64_t column, double got);
oracle_verdict oracle_inverse(const oracle_call *call, const oracle_row *row, double got);
oracle_verdict oracle_sum(const oracle_call *call, const oracle_row *row, int64_t column, double got);

/* Is the type's rule "correctly rounded in all but 1 of 1000", rather than a distance? */
bool oracle_rounds(const oracle_call *call);

#endif
