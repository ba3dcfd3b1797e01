/* pipeline.h: compiled shaders, kept by their text. */
#ifndef RMSNORM_WEBGPU_PIPELINE_H
#define RMSNORM_WEBGPU_PIPELINE_H

#include "webgpu/device.h"

typedef struct rmsnorm_pipeline {
    struct rmsnorm_pipeline *next; /* in its bucket */
    uint64_t hash;
    char *wgsl;
    size_t length;
    size_t users;  /* programs that hold it */
    uint64_t used; /* when it was last asked for */
    WGPUComputePipeline pipeline;
    WGPUBindGroupLayout layout; /* of group 0, as the shader declares it */
} rmsnorm_pipeline;

/* The pipeline of a shader, compiled when it is a new one. The program holds it until rmsnorm_pipeline_leave. */
rmsnorm_status rmsnorm_pipeline_enter(rmsnorm_webgpu *webgpu, const rmsnorm_shader *shader,
                                      rmsnorm_pipeline **pipeline);
void rmsnorm_pipeline_leave(rmsnorm_pipeline *pipeline);

rmsnorm_status rmsnorm_pipelines_open(rmsnorm_webgpu *webgpu);
void rmsnorm_pipelines_close(rmsnorm_webgpu *webgpu);

/* FNV-1a, 64 bits. */
uint64_t rmsnorm_webgpu_hash(const void *data, size_t size);

#endif
