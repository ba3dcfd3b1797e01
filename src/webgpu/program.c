#include "webgpu/program.h"

#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "webgpu/buffer.h"

/* Every pass has its uniforms at a multiple of this: more than any device asks for. */
#define UNIFORM_STEP 256

/* Bindings of a pass with its uniforms: more than a device has storage buffers for a shader. */
enum { MOST_BINDINGS = 2 * RMSNORM_MAX_SLOTS + RMSNORM_WEBGPU_SCRATCH + 1 };

static rmsnorm_status no_memory(void)
{
    return rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "WebGPU: out of memory");
}

/* ---- Making it ready ------------------------------------------------------------------------- */

static rmsnorm_status write_uniforms(rmsnorm_webgpu *webgpu, rmsnorm_program *program)
{
    const rmsnorm_plan *const plan = program->plan;
    const size_t size = plan->pass_count * UNIFORM_STEP;
    const WGPUBufferDescriptor descriptor = {
        .label = {"uniforms", 8}, .usage = WGPUBufferUsage_Uniform | WGPUBufferUsage_CopyDst, .size = size};
    unsigned char *const bytes = calloc(plan->pass_count, UNIFORM_STEP);
    if (bytes == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < plan->pass_count; i++) {
        if (plan->passes[i].uniform_count > 0) {
            memcpy(bytes + i * UNIFORM_STEP, plan->passes[i].uniforms,
                   plan->passes[i].uniform_count * sizeof *plan->passes[i].uniforms);
        }
    }
    rmsnorm_webgpu_scope_begin(webgpu);
    program->uniforms = webgpu->functions.DeviceCreateBuffer(webgpu->device, &descriptor);
    if (program->uniforms != NULL) {
        webgpu->functions.QueueWriteBuffer(webgpu->queue, program->uniforms, 0, bytes, size);
    }
    free(bytes);
    return rmsnorm_webgpu_scope_end(webgpu, "the uniforms");
}

static rmsnorm_status check_plan(const rmsnorm_plan *plan)
{
    RMSNORM_CHECK(plan->scratch_count <= RMSNORM_WEBGPU_SCRATCH, RMSNORM_UNSUPPORTED,
                  "WebGPU: the plan has %zu scratch buffers; allowed: at most %d", plan->scratch_count,
                  RMSNORM_WEBGPU_SCRATCH);
    for (size_t i = 0; i < plan->pass_count; i++) {
        const rmsnorm_pass *const pass = &plan->passes[i];
        RMSNORM_CHECK(
            pass->binding_count < MOST_BINDINGS && pass->shader < plan->shader_count &&
                pass->uniform_count * sizeof *pass->uniforms <= UNIFORM_STEP,
            RMSNORM_UNSUPPORTED,
            "WebGPU: pass %zu of the plan has %zu bindings, %zu uniforms and shader %zu; allowed: fewer than %d, "
            "at most %zu, fewer than %zu",
            i, pass->binding_count, pass->uniform_count, pass->shader, MOST_BINDINGS,
            UNIFORM_STEP / sizeof *pass->uniforms, plan->shader_count);
        for (size_t b = 0; b < pass->binding_count; b++) {
            const rmsnorm_binding *const binding = &pass->bindings[b];
            const size_t slots = binding->kind == RMSNORM_BUFFER_SCRATCH ? plan->scratch_count : RMSNORM_MAX_SLOTS;
            RMSNORM_CHECK(binding->slot < slots, RMSNORM_INVALID_ARGUMENT,
                          "WebGPU: pass %zu of the plan binds slot %zu; allowed: fewer than %zu", i, binding->slot,
                          slots);
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status open_parts(rmsnorm_webgpu *webgpu, rmsnorm_program *program)
{
    const rmsnorm_plan *const plan = program->plan;
    program->pipelines = calloc(plan->shader_count + 1, sizeof(rmsnorm_pipeline *));
    program->groups = calloc(plan->pass_count + 1, sizeof(WGPUBindGroup));
    if (program->pipelines == NULL || program->groups == NULL) {
        return no_memory();
    }
    for (size_t i = 0; i < plan->shader_count; i++) {
        RMSNORM_TRY(rmsnorm_pipeline_enter(webgpu, &plan->shaders[i], &program->pipelines[i]));
    }
    return plan->pass_count == 0 ? RMSNORM_OK : write_uniforms(webgpu, program);
}

rmsnorm_status rmsnorm_program_open(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan, rmsnorm_program *program)
{
    memset(program, 0, sizeof *program);
    RMSNORM_TRY(check_plan(plan));
    program->plan = plan;
    const rmsnorm_status status = open_parts(webgpu, program);
    if (status != RMSNORM_OK) {
        rmsnorm_program_close(webgpu, program);
    }
    return status;
}

static void hold(rmsnorm_webgpu *webgpu, rmsnorm_program *program, const rmsnorm_places *places)
{
    program->places = *places;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        if (places->inputs[i].buffer != NULL) {
            webgpu->functions.BufferAddRef(places->inputs[i].buffer);
        }
        if (places->outputs[i].buffer != NULL) {
            webgpu->functions.BufferAddRef(places->outputs[i].buffer);
        }
    }
}

void rmsnorm_program_unbind(rmsnorm_webgpu *webgpu, rmsnorm_program *program)
{
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        if (program->places.inputs[i].buffer != NULL) {
            webgpu->functions.BufferRelease(program->places.inputs[i].buffer);
        }
        if (program->places.outputs[i].buffer != NULL) {
            webgpu->functions.BufferRelease(program->places.outputs[i].buffer);
        }
    }
    memset(&program->places, 0, sizeof program->places);
    for (size_t i = 0; i < program->plan->pass_count; i++) {
        if (program->groups[i] != NULL) {
            webgpu->functions.BindGroupRelease(program->groups[i]);
            program->groups[i] = NULL;
        }
    }
}

void rmsnorm_program_close(rmsnorm_webgpu *webgpu, rmsnorm_program *program)
{
    if (program->groups != NULL) {
        rmsnorm_program_unbind(webgpu, program);
    }
    for (size_t i = 0; program->pipelines != NULL && i < program->plan->shader_count; i++) {
        if (program->pipelines[i] != NULL) {
            rmsnorm_pipeline_leave(program->pipelines[i]);
        }
    }
    if (program->uniforms != NULL) {
        webgpu->functions.BufferRelease(program->uniforms);
    }
    free(program->groups);
    free(program->pipelines);
    memset(program, 0, sizeof *program);
}

/* ---- Binding --------------------------------------------------------------------------------- */

/* The device's scratch buffers are as large as the largest plan wanted them. An old one is left to the commands that know it. */
static rmsnorm_status ensure_scratch(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan)
{
    for (size_t i = 0; i < plan->scratch_count; i++) {
        WGPUBuffer *const own = &webgpu->scratch[i];
        if (*own != NULL && webgpu->functions.BufferGetSize(*own) >= plan->scratch[i]) {
            continue;
        }
        WGPUBuffer larger;
        RMSNORM_TRY(rmsnorm_buffer_take(webgpu, plan->scratch[i], RMSNORM_TENSOR_USAGE, "a scratch buffer", &larger));
        if (*own != NULL) {
            webgpu->functions.BufferRelease(*own);
        }
        *own = larger;
    }
    return RMSNORM_OK;
}

static bool is_bound(const rmsnorm_webgpu *webgpu, const rmsnorm_program *program, const rmsnorm_places *places)
{
    const rmsnorm_plan *const plan = program->plan;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        if (program->places.inputs[i].buffer != places->inputs[i].buffer ||
            program->places.inputs[i].offset != places->inputs[i].offset ||
            program->places.outputs[i].buffer != places->outputs[i].buffer ||
            program->places.outputs[i].offset != places->outputs[i].offset) {
            return false;
        }
    }
    for (size_t i = 0; i < plan->scratch_count; i++) {
        if (program->scratch[i] != webgpu->scratch[i]) {
            return false;
        }
    }
    return plan->pass_count == 0 || program->groups[plan->pass_count - 1] != NULL;
}

static rmsnorm_status make_group(rmsnorm_webgpu *webgpu, rmsnorm_program *program, size_t index,
                                 const rmsnorm_places *places)
{
    const rmsnorm_pass *const pass = &program->plan->passes[index];
    WGPUBindGroupEntry entries[MOST_BINDINGS] = {{.binding = 0}};
    for (size_t i = 0; i < pass->binding_count; i++) {
        const rmsnorm_binding *const binding = &pass->bindings[i];
        WGPUBindGroupEntry *const entry = &entries[i];
        uint64_t base = 0;
        if (binding->kind == RMSNORM_BUFFER_SCRATCH) {
            entry->buffer = webgpu->scratch[binding->slot];
        } else if (binding->kind == RMSNORM_BUFFER_INPUT) {
            entry->buffer = places->inputs[binding->slot].buffer;
            base = places->inputs[binding->slot].offset;
        } else {
            entry->buffer = places->outputs[binding->slot].buffer;
            base = places->outputs[binding->slot].offset;
        }
        RMSNORM_CHECK(entry->buffer != NULL, RMSNORM_INVALID_ARGUMENT,
                      "WebGPU: the plan binds %s %zu, which has no buffer",
                      binding->kind == RMSNORM_BUFFER_INPUT ? "input" : "output", binding->slot);
        entry->binding = binding->binding;
        entry->offset = base + binding->offset;
        entry->size = binding->size;
    }
    size_t count = pass->binding_count;
    if (pass->uniform_count > 0) {
        entries[count++] = (WGPUBindGroupEntry){.binding = pass->uniform_binding,
                                                .buffer = program->uniforms,
                                                .offset = index * UNIFORM_STEP,
                                                .size = UNIFORM_STEP};
    }
    const WGPUBindGroupDescriptor descriptor = {
        .layout = program->pipelines[pass->shader]->layout, .entryCount = count, .entries = entries};
    program->groups[index] = webgpu->functions.DeviceCreateBindGroup(webgpu->device, &descriptor);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_program_bind(rmsnorm_webgpu *webgpu, rmsnorm_program *program, const rmsnorm_places *places)
{
    RMSNORM_TRY(ensure_scratch(webgpu, program->plan));
    if (is_bound(webgpu, program, places)) {
        return RMSNORM_OK;
    }
    rmsnorm_program_unbind(webgpu, program);
    for (size_t i = 0; i < program->plan->pass_count; i++) {
        RMSNORM_TRY(make_group(webgpu, program, i, places));
    }
    hold(webgpu, program, places);
    memcpy(program->scratch, webgpu->scratch, sizeof program->scratch);
    return RMSNORM_OK;
}

/* ---- Encoding -------------------------------------------------------------------------------- */

void rmsnorm_program_encode(rmsnorm_webgpu *webgpu, const rmsnorm_program *program, WGPUCommandEncoder encoder,
                            WGPUQuerySet timestamps)
{
    const rmsnorm_webgpu_functions *const functions = &webgpu->functions;
    const WGPUPassTimestampWrites writes = {
        .querySet = timestamps, .beginningOfPassWriteIndex = 0, .endOfPassWriteIndex = 1};
    const WGPUComputePassDescriptor descriptor = {.timestampWrites = timestamps == NULL ? NULL : &writes};
    WGPUComputePassEncoder pass = functions->CommandEncoderBeginComputePass(encoder, &descriptor);
    size_t shader = SIZE_MAX;
    for (size_t i = 0; i < program->plan->pass_count; i++) {
        const rmsnorm_pass *const step = &program->plan->passes[i];
        if (step->shader != shader) {
            functions->ComputePassEncoderSetPipeline(pass, program->pipelines[step->shader]->pipeline);
            shader = step->shader;
        }
        functions->ComputePassEncoderSetBindGroup(pass, 0, program->groups[i], 0, NULL);
        functions->ComputePassEncoderDispatchWorkgroups(pass, step->workgroups[0], step->workgroups[1],
                                                        step->workgroups[2]);
    }
    functions->ComputePassEncoderEnd(pass);
    functions->ComputePassEncoderRelease(pass);
}
