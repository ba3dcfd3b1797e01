/* pieces.h: from a pass of a manifest to dispatches: rows are cut where a binding would be too large. */
#ifndef RMSNORM_PACKAGE_PIECES_H
#define RMSNORM_PACKAGE_PIECES_H

#include "package/scope.h"

/* A variant on its way to becoming the plan. */
typedef struct rmsnorm_draft {
    const rmsnorm_manifest_variant *variant;
    const uint64_t *scratch;
    const rmsnorm_formulas *scratch_names;
    rmsnorm_shader *shaders;
    size_t shader_count, shader_room;
    rmsnorm_pass *passes;
    size_t pass_count, pass_room;
    bool refused; /* the device is too small for it */
    char reason[256];
} rmsnorm_draft;

/* The variant does not fit the device; the next one may. Returns RMSNORM_OK. */
rmsnorm_status rmsnorm_draft_refuse(rmsnorm_draft *draft, const char *format, ...) RMSNORM_PRINTF(2, 3);

/* Renders a pass and adds its dispatches; none when it has no rows. */
rmsnorm_status rmsnorm_draft_pass(rmsnorm_planning *planning, const rmsnorm_manifest_pass *pass, rmsnorm_draft *draft);

#endif
