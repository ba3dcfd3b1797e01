/* residual.h: an addition before a norm, which SkipSimplifiedLayerNormalization does too. */
#ifndef RMSNORM_REWRITE_RESIDUAL_H
#define RMSNORM_REWRITE_RESIDUAL_H

#include "rewrite/ir.h"

/* Fuses the addition before a norm node, when there is one, and adds the finding. */
rmsnorm_status rmsnorm_residual_fuse(rmsnorm_ir *ir, size_t norm, const rmsnorm_fuse_options *options);

#endif
