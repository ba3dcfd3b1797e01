/* program.h: a plan made ready for a device: pipelines, uniforms, and the bind groups of the tensors it ran on last. */
#ifndef RMSNORM_WEBGPU_PROGRAM_H
#define RMSNORM_WEBGPU_PROGRAM_H

#include "webgpu/pipeline.h"

/* Where a run's tensors lie; NULL where there is none. */
typedef struct rmsnorm_places {
    struct {
        WGPUBuffer buffer;
        uint64_t offset;
    } inputs[RMSNORM_MAX_SLOTS], outputs[RMSNORM_MAX_SLOTS];
} rmsnorm_places;

typedef struct rmsnorm_program {
    const rmsnorm_plan *plan;
    rmsnorm_pipeline **pipelines; /* one for each shader */
    WGPUBuffer uniforms;
    WGPUBindGroup *groups; /* one for each pass, or NULL */
    rmsnorm_places places; /* that the groups are for; their buffers are held, so that no other gets their address */
    WGPUBuffer scratch[RMSNORM_WEBGPU_SCRATCH];
    bool tried; /* it has run once without a complaint */
} rmsnorm_program;

/* The plan must stay. */
rmsnorm_status rmsnorm_program_open(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan, rmsnorm_program *program);
void rmsnorm_program_close(rmsnorm_webgpu *webgpu, rmsnorm_program *program);

/* Makes the bind groups for these tensors, unless they are there. */
rmsnorm_status rmsnorm_program_bind(rmsnorm_webgpu *webgpu, rmsnorm_program *program, const rmsnorm_places *places);

/* Forgets them. */
void rmsnorm_program_unbind(rmsnorm_webgpu *webgpu, rmsnorm_program *program);

/* All dispatches, as one compute pass. timestamps: a query set for its begin and end, or NULL. */
void rmsnorm_program_encode(rmsnorm_webgpu *webgpu, const rmsnorm_program *program, WGPUCommandEncoder encoder,
                            WGPUQuerySet timestamps);

#endif
