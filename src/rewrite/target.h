/* target.h: what the runtimes run that a model may be rewritten for. */
#ifndef RMSNORM_REWRITE_TARGET_H
#define RMSNORM_REWRITE_TARGET_H

#include "rewrite/ir.h"

/* Whether the target has an operator at all. */
bool rmsnorm_target_has(rmsnorm_target target, rmsnorm_operator_kind kind);

/* Whether SkipSimplifiedLayerNormalization is faster there than an addition and a norm. */
bool rmsnorm_target_gains_by_skip(rmsnorm_target target);

/* Whether it takes these element types. */
bool rmsnorm_target_takes(rmsnorm_target target, rmsnorm_operator_kind kind, rmsnorm_dtype input, rmsnorm_dtype scale);

/* Whether it takes a scale of this shape for rows of the last -axis dims of input. */
bool rmsnorm_target_broadcasts(rmsnorm_target target, const rmsnorm_tensor *input, int64_t axis,
                               const rmsnorm_tensor *scale);

#endif
