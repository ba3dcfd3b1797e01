#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "package/pieces.h"

/* What the caller holds, and where all of it lives. */
typedef struct owned_plan {
    rmsnorm_plan plan; /* the first member: a pointer to it is one to the whole */
    rmsnorm_arena arena;
} owned_plan;

#define ARENA_LIMIT ((size_t)16 << 20)

/* ---- Conditions ------------------------------------------------------------------------------ */

/* Why no variant fits, one clause for each. */
typedef struct reasons {
    char text[768];
    size_t length;
} reasons;

static void add_reason(reasons *all, const char *variant, const char *reason)
{
    const size_t room = sizeof all->text - all->length;
    const int written =
        snprintf(all->text + all->length, room, "%s%s: %s", all->length > 0 ? "; " : "", variant, reason);
    all->length += written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
}

/* Whether all conditions hold; else which does not. */
static rmsnorm_status check_conditions(rmsnorm_planning *planning, const rmsnorm_manifest_variant *variant,
                                       reasons *why, bool *hold)
{
    *hold = true;
    for (size_t i = 0; *hold && i < variant->when_count; i++) {
        RMSNORM_TRY(rmsnorm_planning_flag(planning, &variant->when[i], hold));
        if (!*hold) {
            char reason[192];
            snprintf(reason, sizeof reason, "not %s", variant->when[i].text);
            add_reason(why, variant->name, reason);
        }
    }
    return RMSNORM_OK;
}

/* ---- Variants -------------------------------------------------------------------------------- */

static rmsnorm_status plan_scratch(rmsnorm_planning *planning, const rmsnorm_manifest_variant *variant,
                                   rmsnorm_draft *draft)
{
    uint64_t *const bytes = rmsnorm_arena_allocate(planning->arena, (variant->scratch.count + 1) * sizeof *bytes);
    if (bytes == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    draft->scratch = bytes;
    draft->scratch_names = &variant->scratch;
    for (size_t i = 0; i < variant->scratch.count; i++) {
        int64_t size;
        RMSNORM_TRY(rmsnorm_planning_integer(planning, &variant->scratch.items[i].formula, 0, &size));
        bytes[i] = ((uint64_t)size + 15) / 16 * 16;
        if (bytes[i] > planning->device.max_buffer_size) {
            return rmsnorm_draft_refuse(draft,
                                        "its scratch buffer %s takes %" PRIu64 " bytes, the device's at most %" PRIu64,
                                        variant->scratch.items[i].name, bytes[i], planning->device.max_buffer_size);
        }
    }
    return RMSNORM_OK;
}

/* One variant, as far as it goes: draft->refused says whether the device is too small for it. */
static rmsnorm_status plan_variant(rmsnorm_planning *planning, const rmsnorm_manifest_variant *variant,
                                   rmsnorm_draft *draft)
{
    memset(draft, 0, sizeof *draft);
    draft->variant = variant;
    RMSNORM_TRY(plan_scratch(planning, variant, draft));
    for (size_t i = 0; !draft->refused && i < variant->pass_count; i++) {
        RMSNORM_TRY(rmsnorm_draft_pass(planning, &variant->passes[i], draft));
    }
    return RMSNORM_OK;
}

static rmsnorm_status choose_variant(rmsnorm_planning *planning, rmsnorm_draft *draft)
{
    const rmsnorm_manifest *const manifest = &planning->package->manifest;
    const char *const wanted = planning->request->variant;
    reasons why = {.length = 0};
    bool found = false;
    for (size_t i = 0; i < manifest->variant_count; i++) {
        const rmsnorm_manifest_variant *const variant = &manifest->variants[i];
        if (wanted != NULL && strcmp(wanted, variant->name) != 0) {
            continue;
        }
        found = true;
        bool hold;
        RMSNORM_TRY(rmsnorm_planning_variant(planning));
        RMSNORM_TRY(rmsnorm_planning_derive(planning, &variant->derive));
        RMSNORM_TRY(check_conditions(planning, variant, &why, &hold));
        if (hold) {
            RMSNORM_TRY(plan_variant(planning, variant, draft));
            if (!draft->refused) {
                return RMSNORM_OK;
            }
            add_reason(&why, variant->name, draft->reason);
        }
    }
    if (!found) {
        reasons all = {.length = 0};
        for (size_t i = 0; i < manifest->variant_count; i++) {
            const size_t room = sizeof all.text - all.length;
            const int written =
                snprintf(all.text + all.length, room, "%s%s", i > 0 ? ", " : "", manifest->variants[i].name);
            all.length += written < 0 ? 0 : (size_t)written < room ? (size_t)written : room - 1;
        }
        return rmsnorm_fail(RMSNORM_NOT_FOUND, "%s: variant %s is not in the package; it has %s", manifest->name,
                            wanted, all.text);
    }
    return rmsnorm_fail(RMSNORM_UNSUPPORTED, "%s: no variant fits this request on this device: %s", manifest->name,
                        why.text);
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static rmsnorm_status check_in_place(const rmsnorm_planning *planning, size_t slot, const rmsnorm_tensor *output)
{
    const rmsnorm_manifest *const manifest = &planning->package->manifest;
    const int shared = planning->request->in_place[slot];
    if (shared == 0) {
        return RMSNORM_OK;
    }
    const rmsnorm_tensor *const input = planning->request->inputs[shared - 1];
    bool same = input->dtype == output->dtype && input->rank == output->rank;
    for (int32_t d = 0; same && d < output->rank; d++) {
        same = input->dims[d] == output->dims[d];
    }
    RMSNORM_CHECK(same, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s is to share the buffer of %s; allowed for tensors of one type and shape", manifest->name,
                  manifest->outputs[slot].onnx, manifest->inputs[shared - 1].onnx);
    for (size_t earlier = 0; earlier < slot; earlier++) {
        RMSNORM_CHECK(planning->request->in_place[earlier] != shared ||
                          (manifest->outputs[earlier].optional && !planning->request->wanted[earlier]),
                      RMSNORM_INVALID_ARGUMENT, "%s: %s and %s are to share the buffer of %s; allowed: one of them",
                      manifest->name, manifest->outputs[earlier].onnx, manifest->outputs[slot].onnx,
                      manifest->inputs[shared - 1].onnx);
    }
    return RMSNORM_OK;
}

static rmsnorm_status plan_outputs(rmsnorm_planning *planning, rmsnorm_plan *plan)
{
    const rmsnorm_manifest *const manifest = &planning->package->manifest;
    plan->output_count = manifest->output_count;
    for (size_t i = 0; i < manifest->output_count; i++) {
        rmsnorm_tensor *const output = &plan->outputs[i];
        output->rank = RMSNORM_UNKNOWN;
        if (manifest->outputs[i].optional && !planning->request->wanted[i]) {
            continue;
        }
        output->dtype = planning->dtypes[1][i];
        RMSNORM_TRY(rmsnorm_planning_shape(planning, &manifest->outputs[i].shape, output));
        if (manifest->outputs[i].rank.text != NULL) {
            int64_t rank;
            RMSNORM_TRY(rmsnorm_planning_integer(planning, &manifest->outputs[i].rank, 0, &rank));
            RMSNORM_CHECK(rank == output->rank, RMSNORM_MALFORMED,
                          "manifest.json: outputs.%s has the rank %" PRId64 " and a shape of %" PRId32 " dims",
                          manifest->outputs[i].key, rank, output->rank);
        }
        RMSNORM_TRY(check_in_place(planning, i, output));
    }
    return RMSNORM_OK;
}

/* ---- The plan -------------------------------------------------------------------------------- */

static rmsnorm_status make(const rmsnorm_package *package, const rmsnorm_request *request, owned_plan *owned)
{
    rmsnorm_planning planning;
    rmsnorm_draft draft;
    RMSNORM_TRY(rmsnorm_planning_start(&planning, package, request, &owned->arena));
    RMSNORM_TRY(plan_outputs(&planning, &owned->plan));
    planning.outputs = owned->plan.outputs;
    RMSNORM_TRY(choose_variant(&planning, &draft));
    rmsnorm_plan *const plan = &owned->plan;
    plan->variant = draft.variant->name;
    plan->shaders = draft.shaders;
    plan->shader_count = draft.shader_count;
    plan->passes = draft.passes;
    plan->pass_count = draft.pass_count;
    plan->scratch = draft.scratch;
    plan->scratch_count = draft.pass_count > 0 ? draft.variant->scratch.count : 0;
    for (size_t i = 0; i < plan->scratch_count; i++) {
        plan->peak_memory += plan->scratch[i];
    }
    for (size_t i = 0; i < plan->pass_count; i++) {
        plan->peak_memory += plan->passes[i].uniform_count * sizeof(uint32_t);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_plan_make(const rmsnorm_package *package, const rmsnorm_request *request, rmsnorm_plan **plan)
{
    RMSNORM_CHECK(package != NULL && request != NULL && plan != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_plan_make: package, request or plan is NULL; allowed: all three");
    RMSNORM_CHECK(request->struct_size == sizeof *request, RMSNORM_INVALID_ARGUMENT,
                  "request.struct_size is %zu; allowed: sizeof(rmsnorm_request): start from RMSNORM_REQUEST_INIT",
                  request->struct_size);
    RMSNORM_CHECK(package->plans, RMSNORM_UNSUPPORTED,
                  "%s: the manifest's spec is \"%s\", of which only the contract is understood; plans are made from "
                  "\"%s\", as the embedded package for this operator is",
                  package->name, package->spec, RMSNORM_MANIFEST_SPEC);
    owned_plan *const owned = calloc(1, sizeof *owned);
    RMSNORM_CHECK(owned != NULL, RMSNORM_OUT_OF_MEMORY, "rmsnorm_plan_make: out of memory");
    rmsnorm_arena_init(&owned->arena, ARENA_LIMIT);
    const rmsnorm_status status = make(package, request, owned);
    if (status != RMSNORM_OK) {
        rmsnorm_plan_release(&owned->plan);
        return status;
    }
    *plan = &owned->plan;
    return RMSNORM_OK;
}

void rmsnorm_plan_release(rmsnorm_plan *plan)
{
    if (plan != NULL) {
        owned_plan *const owned = (owned_plan *)(void *)plan;
        rmsnorm_arena_release(&owned->arena);
        free(owned);
    }
}

/* ---- Device profiles ------------------------------------------------------------------------- */

rmsnorm_status rmsnorm_device_profile_set(rmsnorm_device_profile *profile, const char *name, uint64_t value)
{
    RMSNORM_CHECK(profile != NULL && name != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_device_profile_set: profile or name is NULL");
    const struct {
        const char *name;
        uint64_t *wide;
        uint32_t *narrow;
        bool *flag;
    } fields[] = {
        {"maxStorageBufferBindingSize", &profile->max_storage_buffer_binding_size, NULL, NULL},
        {"maxBufferSize", &profile->max_buffer_size, NULL, NULL},
        {"minStorageBufferOffsetAlignment", NULL, &profile->min_storage_buffer_offset_alignment, NULL},
        {"maxStorageBuffersPerShaderStage", NULL, &profile->max_storage_buffers_per_shader_stage, NULL},
        {"maxComputeWorkgroupStorageSize", NULL, &profile->max_compute_workgroup_storage_size, NULL},
        {"maxComputeInvocationsPerWorkgroup", NULL, &profile->max_compute_invocations_per_workgroup, NULL},
        {"maxComputeWorkgroupSizeX", NULL, &profile->max_compute_workgroup_size_x, NULL},
        {"maxComputeWorkgroupsPerDimension", NULL, &profile->max_compute_workgroups_per_dimension, NULL},
        {"subgroupMinSize", NULL, &profile->subgroup_min_size, NULL},
        {"subgroupMaxSize", NULL, &profile->subgroup_max_size, NULL},
        {"shader-f16", NULL, NULL, &profile->shader_f16},
        {"subgroups", NULL, NULL, &profile->subgroups},
    };
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(fields[i].name, name) != 0) {
            continue;
        }
        RMSNORM_CHECK(fields[i].wide != NULL || value <= (fields[i].flag != NULL ? 1 : UINT32_MAX),
                      RMSNORM_INVALID_ARGUMENT, "device profile: %s is %" PRIu64 "; allowed: %s", name, value,
                      fields[i].flag != NULL ? "0 or 1" : "0 to 4294967295");
        if (fields[i].wide != NULL) {
            *fields[i].wide = value;
        } else if (fields[i].narrow != NULL) {
            *fields[i].narrow = (uint32_t)value;
        } else {
            *fields[i].flag = value != 0;
        }
        return RMSNORM_OK;
    }
    return rmsnorm_fail(RMSNORM_NOT_FOUND, "device profile: there is no limit or feature %s", name);
}
