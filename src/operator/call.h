/* call.h: the one path of checks. Inference, peak memory and a run all pass here; a run is the strict case. */
#ifndef RMSNORM_OPERATOR_CALL_H
#define RMSNORM_OPERATOR_CALL_H

#include "operator/schema.h"

/* What is known of a call after its checks. Fields are set only as far as they mean something: a run clears no kilobytes. */
typedef struct rmsnorm_call {
    const rmsnorm_operator *op;
    const rmsnorm_attributes *attributes; /* the caller's, or defaults */
    rmsnorm_attributes defaults;
    bool strict;                                      /* a run: everything must be known */
    const rmsnorm_tensor *inputs[RMSNORM_MAX_INPUTS]; /* by slot, NULL: omitted */
    rmsnorm_tensor *outputs[RMSNORM_MAX_OUTPUTS];
    int64_t counts[RMSNORM_MAX_INPUTS]; /* elements of each input given; RMSNORM_UNKNOWN while symbolic */
    rmsnorm_dtype output_dtypes[RMSNORM_MAX_OUTPUTS];
    bool is_statistic[RMSNORM_MAX_OUTPUTS]; /* the dims from axis on are 1 */
    rmsnorm_dtype stash_dtype;              /* RMSNORM_FLOAT or RMSNORM_DOUBLE */

    /* The shape of the first output. rank RMSNORM_UNKNOWN: nothing below is known. */
    int32_t rank;
    int32_t axis;                        /* the first normalized dim, 0..rank-1 */
    int64_t dims[RMSNORM_MAX_RANK];      /* also where a name is kept: the number that another input tells for it */
    const char *names[RMSNORM_MAX_RANK]; /* set where the first input's dim is no number */
    int64_t hidden_size;                 /* the product of the dims from axis on; of a strict call */
    int64_t rows;                        /* of those before; of a strict call */

    rmsnorm_constraints *constraints; /* NULL: not wanted */
} rmsnorm_call;

/* All checks of rmsnorm_infer. strict: also that nothing is missing, unknown or symbolic, with the CPU's types alone. */
rmsnorm_status rmsnorm_call_check(rmsnorm_call *call, const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                  const rmsnorm_tensor *const *inputs, size_t input_count,
                                  rmsnorm_tensor *const *outputs, size_t output_count, bool strict,
                                  rmsnorm_constraints *constraints);

/* The shape rules, behind the checks of slots, types and single descriptors. They set the shape part of the call. */
rmsnorm_status rmsnorm_shape_broadcast(rmsnorm_call *call);
rmsnorm_status rmsnorm_shape_skip(rmsnorm_call *call);

/* What an output must look like: dtype, rank, dims and dim_names of *tensor, nothing else. */
void rmsnorm_call_output(const rmsnorm_call *call, size_t slot, rmsnorm_tensor *tensor);

#endif
