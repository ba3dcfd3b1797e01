/* problem.h: a checked call, in the terms the kernels work in. The one way from tensors to rows. */
#ifndef RMSNORM_OPERATOR_PROBLEM_H
#define RMSNORM_OPERATOR_PROBLEM_H

#include "rmsnorm/rmsnorm.h"

/* One loop over gamma: `count` steps, each `stride` elements of gamma further (0: the same again). */
typedef struct rmsnorm_loop {
    int64_t count, stride;
} rmsnorm_loop;

/* The broadcast of gamma to X, as two nests of loops, slowest first: `outer` walks the rows (the product of its counts is
 * rows.rows), `inner` the elements of a row (the product is rows.hidden_size). Size-1 dims are dropped and neighbours that
 * walk alike are merged, so the innermost stride is 0 or 1 and gamma of shape {H} is inner = {{H, 1}}, outer = {{rows, 0}}
 * (no loop at all when its product is 1). rows.gamma_stride is unused here. */
typedef struct rmsnorm_problem {
    rmsnorm_rows rows;
    rmsnorm_loop outer[RMSNORM_MAX_RANK];
    int outer_count;
    rmsnorm_loop inner[RMSNORM_MAX_RANK];
    int inner_count;
    float *mean; /* one zero per row, or NULL */
} rmsnorm_problem;

/* Every check of a run on the CPU, and nothing else: types, shapes, attributes, data, strides, overlaps (contract 4.5, 4.6).
 * Outputs that are NULL or have NULL data are skipped when optional. rows.rows may be 0; then nothing is to be done. */
RMSNORM_API rmsnorm_status rmsnorm_resolve(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                           const rmsnorm_tensor *const *inputs, size_t input_count,
                                           rmsnorm_tensor *const *outputs, size_t output_count,
                                           rmsnorm_problem *problem);

#endif
