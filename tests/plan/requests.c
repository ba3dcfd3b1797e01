#include "requests.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- Drawing --------------------------------------------------------------------------------- */

/* SplitMix64. */
static uint64_t next(rng *random)
{
    random->state += 0x9e3779b97f4a7c15u;
    uint64_t z = random->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int64_t rng_between(rng *random, int64_t least, int64_t most)
{
    return least + (int64_t)(next(random) % (uint64_t)(most - least + 1));
}

static bool chance(rng *random, int64_t one_in)
{
    return rng_between(random, 1, one_in) == 1;
}

void drawn_bind(drawn *d)
{
    for (size_t i = 0; i < 4; i++) {
        d->request.inputs[i] = d->inputs[i].dtype != RMSNORM_UNDEFINED ? &d->inputs[i] : NULL;
    }
    d->request.attributes = &d->attributes;
    d->request.device = &d->device;
}

static void start(const rmsnorm_operator *op, const rmsnorm_package *package, drawn *d)
{
    static const rmsnorm_request none = RMSNORM_REQUEST_INIT;
    static const rmsnorm_device_profile defaults = RMSNORM_DEVICE_PROFILE_INIT;
    memset(d, 0, sizeof *d);
    d->op = op;
    d->package = package;
    d->request = none;
    d->device = defaults;
    rmsnorm_attributes_init(op, &d->attributes);
}

static rmsnorm_dtype draw_type(rng *random)
{
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16};
    return types[rng_between(random, 0, 1)];
}

static int64_t draw_dim(rng *random)
{
    return chance(random, 25) ? 0 : rng_between(random, 1, 6);
}

static void draw_shape(rng *random, int32_t least, int32_t most, rmsnorm_tensor *tensor)
{
    tensor->rank = (int32_t)rng_between(random, least, most);
    for (int32_t i = 0; i < tensor->rank; i++) {
        tensor->dims[i] = draw_dim(random);
    }
}

/* Mostly a shape that broadcasts to x. */
static void draw_scale(rng *random, const rmsnorm_tensor *x, rmsnorm_tensor *scale)
{
    scale->rank = (int32_t)rng_between(random, 0, chance(random, 10) ? x->rank + 1 : x->rank);
    for (int32_t i = 0; i < scale->rank; i++) {
        const int32_t at = x->rank - scale->rank + i;
        const int64_t dim = at < 0 ? 1 : x->dims[at];
        scale->dims[i] = chance(random, 20) ? draw_dim(random) : chance(random, 3) ? 1 : dim;
    }
}

static void draw_norm(rng *random, drawn *d)
{
    draw_shape(random, chance(random, 20) ? 0 : 1, 5, &d->inputs[0]);
    d->inputs[0].dtype = draw_type(random);
    d->inputs[1].dtype = draw_type(random);
    draw_scale(random, &d->inputs[0], &d->inputs[1]);
    d->attributes.axis = chance(random, 2) ? -1 : rng_between(random, -6, 5);
    d->request.wanted[1] = d->op->output_count > 1 && chance(random, 2);
}

static void draw_skip(rng *random, drawn *d)
{
    rmsnorm_tensor *const input = &d->inputs[0];
    draw_shape(random, chance(random, 10) ? 1 : 2, chance(random, 10) ? 4 : 3, input);
    input->dtype = draw_type(random);
    d->inputs[1] = *input;
    rmsnorm_tensor *const skip = &d->inputs[1];
    if (input->rank == 3 && chance(random, 3)) {
        skip->rank = 2;
        skip->dims[0] = input->dims[1];
        skip->dims[1] = input->dims[2];
    } else if (input->rank == 3 && chance(random, 3)) {
        skip->dims[0] = 1;
    }
    if (chance(random, 15)) {
        skip->dims[rng_between(random, 0, skip->rank - 1)] = draw_dim(random);
    }
    for (size_t i = 2; i < 4; i++) {
        d->inputs[i].dtype = i == 2 || chance(random, 2) ? input->dtype : RMSNORM_UNDEFINED;
        d->inputs[i].rank = chance(random, 25) ? 2 : 1;
        d->inputs[i].dims[0] = chance(random, 25) ? draw_dim(random) : input->dims[input->rank - 1];
        d->inputs[i].dims[1] = 1;
    }
    if (chance(random, 25)) {
        d->inputs[rng_between(random, 1, 2)].dtype = draw_type(random);
    }
    for (size_t i = 1; i < 4; i++) {
        d->request.wanted[i] = chance(random, 2);
    }
}

void draw_request(rng *random, const rmsnorm_operator *op, const rmsnorm_package *package, drawn *d)
{
    start(op, package, d);
    if (op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
        draw_skip(random, d);
    } else {
        draw_norm(random, d);
    }
    drawn_bind(d);
}

static rmsnorm_tensor matrix(rmsnorm_dtype dtype, int64_t rows, int64_t width)
{
    const rmsnorm_tensor tensor = {.dtype = dtype, .rank = 2, .dims = {rows, width}};
    return tensor;
}

void make_request(const rmsnorm_operator *op, const rmsnorm_package *package, int64_t rows, int64_t width,
                  rmsnorm_dtype x, rmsnorm_dtype v, bool outputs, drawn *d)
{
    const rmsnorm_tensor vector = {.dtype = v, .rank = 1, .dims = {width}};
    start(op, package, d);
    d->inputs[0] = matrix(x, rows, width);
    if (op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION) {
        d->inputs[1] = d->inputs[0];
        d->inputs[2] = vector;
        d->inputs[3] = vector;
        d->inputs[2].dtype = d->inputs[3].dtype = x;
    } else {
        d->inputs[1] = vector;
    }
    for (size_t i = 1; i < op->output_count; i++) {
        d->request.wanted[i] = outputs;
    }
    drawn_bind(d);
}

/* ---- What every plan must fulfil ------------------------------------------------------------- */

static char fault[512];

#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
static const char *
say(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(fault, sizeof fault, format, arguments);
    va_end(arguments);
    return fault;
}

static uint64_t bytes_of(const drawn *d, const rmsnorm_plan *plan, const rmsnorm_binding *binding)
{
    if (binding->kind == RMSNORM_BUFFER_SCRATCH) {
        return plan->scratch[binding->slot];
    }
    const rmsnorm_tensor *const tensor =
        binding->kind == RMSNORM_BUFFER_INPUT ? d->request.inputs[binding->slot] : &plan->outputs[binding->slot];
    return ((uint64_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype) + 3) / 4 * 4;
}

/* Which memory a binding is, so that an output in place of an input is that input. */
static int memory_of(const drawn *d, const rmsnorm_binding *binding)
{
    if (binding->kind == RMSNORM_BUFFER_OUTPUT && d->request.in_place[binding->slot] > 0) {
        return d->request.in_place[binding->slot] - 1;
    }
    return (int)binding->slot + 100 * (int)binding->kind;
}

static const char *binding_fault(const drawn *d, const rmsnorm_plan *plan, const rmsnorm_pass *pass, size_t index)
{
    const rmsnorm_binding *const b = &pass->bindings[index];
    if (b->binding != index) {
        return say("%s is binding %" PRIu32 ", in place %zu", b->name, b->binding, index);
    }
    if (b->offset % d->device.min_storage_buffer_offset_alignment != 0) {
        return say("%s begins at %" PRIu64 ", which is not aligned", b->name, b->offset);
    }
    if (b->size == 0 || b->size % 4 != 0 || b->size > d->device.max_storage_buffer_binding_size) {
        return say("%s has %" PRIu64 " bytes", b->name, b->size);
    }
    if (b->offset + b->size > bytes_of(d, plan, b)) {
        return say("%s ends at %" PRIu64 " of %" PRIu64, b->name, b->offset + b->size, bytes_of(d, plan, b));
    }
    for (size_t other = 0; other < index; other++) {
        const rmsnorm_binding *const o = &pass->bindings[other];
        if (memory_of(d, o) == memory_of(d, b) && (o->writes || b->writes)) {
            return say("%s and %s are one buffer, and one of them is written", o->name, b->name);
        }
    }
    return NULL;
}

/* The number behind a text in the shader, or 0. */
static uint64_t number_behind(const char *wgsl, const char *text)
{
    const char *const at = strstr(wgsl, text);
    return at == NULL ? 0 : strtoull(at + strlen(text), NULL, 10);
}

static const char *shader_fault(const drawn *d, const rmsnorm_shader *shader)
{
    if (strlen(shader->wgsl) != shader->length || shader->length == 0) {
        return say("%s: its length is wrong", shader->label);
    }
    const uint64_t invocations = number_behind(shader->wgsl, "@workgroup_size(");
    if (invocations == 0 || invocations > d->device.max_compute_invocations_per_workgroup ||
        invocations > d->device.max_compute_workgroup_size_x) {
        return say("%s: %" PRIu64 " invocations in a workgroup", shader->label, invocations);
    }
    uint64_t shared = 0;
    for (const char *at = strstr(shader->wgsl, "var<workgroup>"); at != NULL; at = strstr(at + 1, "var<workgroup>")) {
        shared += 4 * number_behind(at, "array<f32, ");
    }
    if (shared > d->device.max_compute_workgroup_storage_size) {
        return say("%s: %" PRIu64 " bytes of workgroup memory", shader->label, shared);
    }
    if (!d->device.shader_f16 &&
        (strstr(shader->wgsl, "f16;") != NULL || strstr(shader->wgsl, ": array<f16>") != NULL)) {
        return say("%s: it needs shader-f16", shader->label);
    }
    const bool adds = strstr(shader->wgsl, "subgroupAdd") != NULL;
    if ((adds && !d->device.subgroups) || adds != (strstr(shader->wgsl, "enable subgroups;") != NULL)) {
        return say("%s: it needs subgroups", shader->label);
    }
    if (adds && shared == 0 && invocations > (d->device.subgroup_min_size < 4 ? 4 : d->device.subgroup_min_size)) {
        return say("%s: %" PRIu64 " invocations may be several subgroups, and share nothing", shader->label,
                   invocations);
    }
    if (strstr(shader->wgsl, "{{") != NULL || strstr(shader->wgsl, "{%") != NULL) {
        return say("%s: parts of the template are left", shader->label);
    }
    return NULL;
}

/* The pieces follow one another: each begins where the one before ended, up to the alignment of begins and the rounding of
 * ends to 4 bytes. */
static const char *cover_fault(const drawn *d, const rmsnorm_plan *plan, size_t slot)
{
    uint64_t end = 0;
    const uint64_t bytes =
        ((uint64_t)rmsnorm_tensor_count(&plan->outputs[slot]) * rmsnorm_dtype_size(plan->outputs[slot].dtype) + 3) / 4 *
        4;
    for (size_t p = 0; p < plan->pass_count; p++) {
        for (size_t i = 0; i < plan->passes[p].binding_count; i++) {
            const rmsnorm_binding *const b = &plan->passes[p].bindings[i];
            if (b->kind != RMSNORM_BUFFER_OUTPUT || b->slot != slot || !b->writes) {
                continue;
            }
            if (b->size != bytes &&
                (b->offset > end || b->offset + d->device.min_storage_buffer_offset_alignment + 3 <= end)) {
                return say("output %zu: a piece begins at %" PRIu64 ", the one before ends at %" PRIu64, slot,
                           b->offset, end);
            }
            end = b->offset + b->size;
        }
    }
    return end == bytes ? NULL : say("output %zu: %" PRIu64 " of %" PRIu64 " bytes are written", slot, end, bytes);
}

static const char *pass_fault(const drawn *d, const rmsnorm_plan *plan, const rmsnorm_pass *pass)
{
    if (pass->shader >= plan->shader_count) {
        return say("a pass has no shader");
    }
    if (pass->binding_count > d->device.max_storage_buffers_per_shader_stage) {
        return say("%zu storage buffers", pass->binding_count);
    }
    if (pass->uniform_count % 4 != 0 || pass->uniform_binding != pass->binding_count) {
        return say("%zu uniform words at binding %" PRIu32, pass->uniform_count, pass->uniform_binding);
    }
    for (size_t i = 0; i < 3; i++) {
        if (pass->workgroups[i] == 0 || pass->workgroups[i] > d->device.max_compute_workgroups_per_dimension) {
            return say("%" PRIu32 " workgroups in dimension %zu", pass->workgroups[i], i);
        }
    }
    for (size_t i = 0; i < pass->binding_count; i++) {
        const char *const wrong = binding_fault(d, plan, pass, i);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

const char *plan_fault(const drawn *d, const rmsnorm_plan *plan)
{
    const char *wrong = NULL;
    for (size_t i = 0; wrong == NULL && i < plan->shader_count; i++) {
        wrong = shader_fault(d, &plan->shaders[i]);
    }
    for (size_t i = 0; wrong == NULL && i < plan->pass_count; i++) {
        wrong = pass_fault(d, plan, &plan->passes[i]);
    }
    for (size_t i = 0; wrong == NULL && i < plan->output_count; i++) {
        if (plan->outputs[i].rank != RMSNORM_UNKNOWN) {
            wrong = cover_fault(d, plan, i);
        }
    }
    for (size_t i = 0; wrong == NULL && i < plan->scratch_count; i++) {
        if (plan->scratch[i] > d->device.max_buffer_size) {
            wrong = say("scratch buffer %zu has %" PRIu64 " bytes", i, plan->scratch[i]);
        }
    }
    return wrong;
}

/* ---- Packages -------------------------------------------------------------------------------- */

const rmsnorm_package *package_of(const rmsnorm_operator *op)
{
    static rmsnorm_package *opened[8];
    if (opened[op->kind] == NULL &&
        rmsnorm_package_open_operator(op->domain, op->name, &opened[op->kind]) != RMSNORM_OK) {
        fprintf(stderr, "%s\n", rmsnorm_last_error());
        exit(2);
    }
    return opened[op->kind];
}
