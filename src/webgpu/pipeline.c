#include "webgpu/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/error.h"

/* More than this many are kept only while programs hold them. */
enum { BUCKETS = 256, MOST = 512 };

struct rmsnorm_pipelines {
    rmsnorm_pipeline *buckets[BUCKETS];
    size_t count;
    uint64_t clock;
};

uint64_t rmsnorm_webgpu_hash(const void *data, size_t size)
{
    const unsigned char *const bytes = data;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 1099511628211u;
    }
    return hash;
}

static void destroy(rmsnorm_webgpu *webgpu, rmsnorm_pipeline *pipeline)
{
    if (pipeline->layout != NULL) {
        webgpu->functions.BindGroupLayoutRelease(pipeline->layout);
    }
    if (pipeline->pipeline != NULL) {
        webgpu->functions.ComputePipelineRelease(pipeline->pipeline);
    }
    free(pipeline->wgsl);
    free(pipeline);
}

/* Drops the one that nobody holds and that was asked for longest ago. */
static void evict(rmsnorm_webgpu *webgpu)
{
    rmsnorm_pipelines *const all = webgpu->pipelines;
    rmsnorm_pipeline **oldest = NULL;
    for (size_t i = 0; i < BUCKETS; i++) {
        for (rmsnorm_pipeline **at = &all->buckets[i]; *at != NULL; at = &(*at)->next) {
            if ((*at)->users == 0 && (oldest == NULL || (*at)->used < (*oldest)->used)) {
                oldest = at;
            }
        }
    }
    if (oldest != NULL) {
        rmsnorm_pipeline *const gone = *oldest;
        *oldest = gone->next;
        all->count--;
        destroy(webgpu, gone);
    }
}

static rmsnorm_status compile(rmsnorm_webgpu *webgpu, const rmsnorm_shader *shader, rmsnorm_pipeline *pipeline)
{
    const rmsnorm_webgpu_functions *const functions = &webgpu->functions;
    const WGPUStringView label = {shader->label, shader->label == NULL ? 0 : strlen(shader->label)};
    WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL},
                                   .code = {shader->wgsl, shader->length}};
    const WGPUShaderModuleDescriptor module_descriptor = {.nextInChain = &source.chain, .label = label};
    char what[160];
    snprintf(what, sizeof what, "the shader %.120s", shader->label == NULL ? "" : shader->label);
    rmsnorm_webgpu_scope_begin(webgpu);
    WGPUShaderModule module = functions->DeviceCreateShaderModule(webgpu->device, &module_descriptor);
    const WGPUComputePipelineDescriptor descriptor = {.label = label,
                                                      .compute = {.module = module, .entryPoint = {"main", 4}}};
    pipeline->pipeline = functions->DeviceCreateComputePipeline(webgpu->device, &descriptor);
    pipeline->layout = functions->ComputePipelineGetBindGroupLayout(pipeline->pipeline, 0);
    functions->ShaderModuleRelease(module);
    return rmsnorm_webgpu_scope_end(webgpu, what);
}

static rmsnorm_status make(rmsnorm_webgpu *webgpu, const rmsnorm_shader *shader, uint64_t hash, rmsnorm_pipeline **made)
{
    rmsnorm_pipeline *const pipeline = calloc(1, sizeof *pipeline);
    char *const wgsl = malloc(shader->length + 1);
    if (pipeline == NULL || wgsl == NULL) {
        free(pipeline);
        free(wgsl);
        return rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory");
    }
    memcpy(wgsl, shader->wgsl, shader->length);
    wgsl[shader->length] = '\0';
    pipeline->wgsl = wgsl;
    pipeline->length = shader->length;
    pipeline->hash = hash;
    const rmsnorm_status status = compile(webgpu, shader, pipeline);
    if (status != RMSNORM_OK) {
        destroy(webgpu, pipeline);
        return status;
    }
    *made = pipeline;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_pipeline_enter(rmsnorm_webgpu *webgpu, const rmsnorm_shader *shader, rmsnorm_pipeline **pipeline)
{
    rmsnorm_pipelines *const all = webgpu->pipelines;
    const uint64_t hash = rmsnorm_webgpu_hash(shader->wgsl, shader->length);
    rmsnorm_pipeline **const bucket = &all->buckets[hash % BUCKETS];
    rmsnorm_pipeline *found = *bucket;
    while (found != NULL && (found->hash != hash || found->length != shader->length ||
                             memcmp(found->wgsl, shader->wgsl, shader->length) != 0)) {
        found = found->next;
    }
    if (found == NULL) {
        RMSNORM_TRY(make(webgpu, shader, hash, &found));
        if (all->count >= MOST) {
            evict(webgpu);
        }
        found->next = *bucket;
        *bucket = found;
        all->count++;
    }
    found->used = ++all->clock;
    found->users++;
    *pipeline = found;
    return RMSNORM_OK;
}

void rmsnorm_pipeline_leave(rmsnorm_pipeline *pipeline)
{
    pipeline->users--;
}

rmsnorm_status rmsnorm_pipelines_open(rmsnorm_webgpu *webgpu)
{
    webgpu->pipelines = calloc(1, sizeof *webgpu->pipelines);
    return webgpu->pipelines == NULL ? rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory") : RMSNORM_OK;
}

void rmsnorm_pipelines_close(rmsnorm_webgpu *webgpu)
{
    for (size_t i = 0; webgpu->pipelines != NULL && i < BUCKETS; i++) {
        while (webgpu->pipelines->buckets[i] != NULL) {
            rmsnorm_pipeline *const gone = webgpu->pipelines->buckets[i];
            webgpu->pipelines->buckets[i] = gone->next;
            destroy(webgpu, gone);
        }
    }
    free(webgpu->pipelines);
    webgpu->pipelines = NULL;
}
