/* verify.h: each rewritten part of a model, run before and after on random inputs. */
#ifndef RMSNORM_CLI_VERIFY_H
#define RMSNORM_CLI_VERIFY_H

#include "context.h"
#include "rmsnorm/rewrite.h"

typedef struct rmsnorm_cli_verdict {
    size_t compared, skipped; /* parts; skipped: what could not be run */
    size_t different;         /* of those: outside the tolerance of rmsnorm test */
    uint64_t steps;           /* the largest difference, in steps of the element type (ulp); UINT64_MAX: a NaN in one */
    size_t finding;           /* where it is */
    char why[512];            /* why the first of the skipped was */
    char how[512];            /* how the first of the different differs */
} rmsnorm_cli_verdict;

/* Runs what was done. What gives up a rounding, in relaxed mode, is measured and not judged. opset: of ai.onnx, before. Named and unknown dims get small numbers. */
int rmsnorm_cli_verify(const rmsnorm_ir *ir, int64_t opset, const rmsnorm_cli_context *context,
                       rmsnorm_cli_verdict *verdict);

#endif
