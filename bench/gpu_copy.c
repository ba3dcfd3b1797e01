/* gpu_copy.c: what the device needs to move the same bytes: buffers read and written once, four elements at a time, by a plan written
 * by hand. */
#include <stdlib.h>
#include <string.h>

#include "gpu.h"

/* Shapes to try: invocations of a workgroup, and elements for each, a workgroup apart. */
static const struct {
    uint32_t size, each;
} shapes[] = {{64, 1}, {64, 4}, {128, 2}, {256, 1}, {256, 4}, {256, 8}};
enum { SHAPES = sizeof shapes / sizeof shapes[0], TRIES = 3, BUFFERS = 4 };

struct bench_gpu_copy {
    char wgsl[2000], shape[64];
    rmsnorm_shader shader;
    rmsnorm_plan plan;
    rmsnorm_pass *passes;
    rmsnorm_binding *bindings;
    rmsnorm_webgpu_tensor tensors[BUFFERS]; /* those that are read, then those that are written */
    bench_gpu_work work;
    size_t reads, writes;
    uint64_t element, bytes; /* of four elements; of a buffer */
};

static void write_shader(bench_gpu_copy *copy, uint32_t size, uint32_t each)
{
    const char *const type = copy->element == 8 ? "vec4<f16>" : "vec4<f32>";
    size_t length = 0;
    length += (size_t)snprintf(copy->wgsl, sizeof copy->wgsl, "%s", copy->element == 8 ? "enable f16;\n" : "");
    for (size_t i = 0; i < copy->reads + copy->writes; i++) {
        length += (size_t)snprintf(copy->wgsl + length, sizeof copy->wgsl - length,
                                   "@group(0) @binding(%zu) var<storage, %s> b%zu: array<%s>;\n", i,
                                   i < copy->reads ? "read" : "read_write", i, type);
    }
    length +=
        (size_t)snprintf(copy->wgsl + length, sizeof copy->wgsl - length,
                         "@compute @workgroup_size(%u)\n"
                         "fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) all: vec3<u32>,\n"
                         "        @builtin(local_invocation_index) lane: u32) {\n"
                         "    let first = (group.y * all.x + group.x) * %uu + lane;\n"
                         "    for (var k = 0u; k < %uu; k++) {\n"
                         "        let i = first + k * %uu;\n"
                         "        if (i < arrayLength(&b%zu)) {\n"
                         "            let v = %s;\n",
                         size, size * each, each, size, copy->reads, copy->reads == 2 ? "b0[i] + b1[i]" : "b0[i]");
    for (size_t i = copy->reads; i < copy->reads + copy->writes; i++) {
        length += (size_t)snprintf(copy->wgsl + length, sizeof copy->wgsl - length, "            b%zu[i] = v;\n", i);
    }
    length += (size_t)snprintf(copy->wgsl + length, sizeof copy->wgsl - length, "        }\n    }\n}\n");
    copy->shader = (rmsnorm_shader){"copy", copy->wgsl, length};
    snprintf(copy->shape, sizeof copy->shape, "%u invocations, %u elements each", size, 4 * each);
}

/* One dispatch for as much as the device binds at once. */
static void write_passes(bench_gpu_copy *copy, const rmsnorm_device_profile *device, uint32_t size, uint32_t each)
{
    const uint64_t step = 65536;
    const uint64_t piece = device->max_storage_buffer_binding_size / step * step;
    const size_t bindings = copy->reads + copy->writes;
    copy->plan.pass_count = 0;
    for (uint64_t begin = 0; begin < copy->bytes; begin += piece) {
        const uint64_t bytes = copy->bytes - begin < piece ? copy->bytes - begin : piece;
        const uint64_t part = copy->element * size * each;
        const uint64_t groups = (bytes + part - 1) / part;
        const uint64_t most = device->max_compute_workgroups_per_dimension;
        rmsnorm_binding *const bound = &copy->bindings[copy->plan.pass_count * bindings];
        for (size_t i = 0; i < bindings; i++) {
            const bool writes = i >= copy->reads;
            bound[i] = (rmsnorm_binding){.name = "b",
                                         .kind = writes ? RMSNORM_BUFFER_OUTPUT : RMSNORM_BUFFER_INPUT,
                                         .slot = writes ? i - copy->reads : i,
                                         .writes = writes,
                                         .binding = (uint32_t)i,
                                         .offset = begin,
                                         .size = bytes};
        }
        copy->passes[copy->plan.pass_count++] = (rmsnorm_pass){
            .bindings = bound,
            .binding_count = bindings,
            .workgroups = {(uint32_t)(groups < most ? groups : most), (uint32_t)((groups + most - 1) / most), 1}};
    }
}

static double try_shape(rmsnorm_webgpu *webgpu, const rmsnorm_device_profile *device, bench_gpu_copy *copy,
                        size_t index)
{
    double samples[TRIES];
    write_shader(copy, shapes[index].size, shapes[index].each);
    write_passes(copy, device, shapes[index].size, shapes[index].each);
    if (!bench_gpu_start(webgpu, &copy->work)) {
        return -1.0;
    }
    for (size_t i = 0; i < TRIES; i++) {
        samples[i] = bench_gpu_sample(webgpu, &copy->work);
        if (samples[i] < 0.0) {
            return -1.0;
        }
    }
    return bench_median(samples, TRIES);
}

static bool choose_shape(rmsnorm_webgpu *webgpu, const rmsnorm_device_profile *device, bench_gpu_copy *copy)
{
    size_t best = 0;
    double least = -1.0;
    for (size_t i = 0; i < SHAPES; i++) {
        const double us = try_shape(webgpu, device, copy, i);
        if (us < 0.0) {
            return false;
        }
        if (least < 0.0 || us < least) {
            least = us;
            best = i;
        }
    }
    return try_shape(webgpu, device, copy, best) >= 0.0;
}

static bool make_tensors(rmsnorm_webgpu *webgpu, bench_gpu_copy *copy)
{
    for (size_t i = 0; i < copy->reads + copy->writes; i++) {
        rmsnorm_webgpu_tensor *const tensor = &copy->tensors[i];
        tensor->tensor = (rmsnorm_tensor){.dtype = RMSNORM_FLOAT, .rank = 1, .dims = {(int64_t)copy->bytes / 4}};
        if (rmsnorm_webgpu_tensor_create(webgpu, tensor) != RMSNORM_OK) {
            return false;
        }
        if (i < copy->reads) {
            copy->work.inputs[i] = tensor;
        } else {
            copy->work.outputs[i - copy->reads] = tensor;
        }
    }
    return true;
}

bench_gpu_copy *bench_gpu_copy_open(rmsnorm_webgpu *webgpu, rmsnorm_dtype element, size_t reads, size_t writes,
                                    int64_t bytes)
{
    rmsnorm_adapter adapter;
    bench_gpu_copy *const copy = calloc(1, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    rmsnorm_webgpu_describe(webgpu, &adapter);
    copy->reads = reads;
    copy->writes = writes;
    copy->element = element == RMSNORM_FLOAT16 ? 8 : 16;
    copy->bytes = ((uint64_t)bytes + 15) / 16 * 16;
    const size_t pieces = (size_t)(copy->bytes / (adapter.profile.max_storage_buffer_binding_size / 65536 * 65536)) + 1;
    copy->passes = calloc(pieces, sizeof *copy->passes);
    copy->bindings = calloc(pieces * BUFFERS, sizeof *copy->bindings);
    copy->plan = (rmsnorm_plan){.variant = "copy", .shaders = &copy->shader, .shader_count = 1, .passes = copy->passes};
    copy->work.plan = &copy->plan;
    if (copy->passes == NULL || copy->bindings == NULL || !make_tensors(webgpu, copy) ||
        !choose_shape(webgpu, &adapter.profile, copy)) {
        bench_gpu_copy_close(webgpu, copy);
        return NULL;
    }
    return copy;
}

void bench_gpu_copy_close(rmsnorm_webgpu *webgpu, bench_gpu_copy *copy)
{
    if (copy != NULL) {
        for (size_t i = 0; i < BUFFERS; i++) {
            rmsnorm_webgpu_tensor_release(webgpu, &copy->tensors[i]);
        }
        free(copy->passes);
        free(copy->bindings);
        free(copy);
    }
}

const bench_gpu_work *bench_gpu_copy_work(const bench_gpu_copy *copy)
{
    return &copy->work;
}

const char *bench_gpu_copy_shape(const bench_gpu_copy *copy)
{
    return copy->shape;
}
