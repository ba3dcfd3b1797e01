/* raise.h: whether a model's opset may be raised. */
#ifndef RMSNORM_REWRITE_RAISE_H
#define RMSNORM_REWRITE_RAISE_H

#include "rewrite/ir.h"

enum { RMSNORM_STANDARD_SINCE = 23 }; /* the opset of ai.onnx that brings RMSNormalization */

/* Why the opset of ai.onnx cannot be raised, as the end of a sentence; NULL: every node means the same there. going may be
 * NULL; nodes it marks are about to be replaced. */
const char *rmsnorm_raise_obstacle(rmsnorm_ir *ir, const bool *going, int64_t to);

#endif
