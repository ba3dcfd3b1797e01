#include "package/scope.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "package/functions.h"

/* ---- Types ----------------------------------------------------------------------------------- */

/* WebGPU's spelling. */
static const char *type_name(rmsnorm_dtype dtype)
{
    switch (dtype) {
    case RMSNORM_FLOAT:
        return "float32";
    case RMSNORM_DOUBLE:
        return "float64";
    default:
        return rmsnorm_dtype_name(dtype);
    }
}

static const rmsnorm_manifest_constraint *constraint_of(const rmsnorm_manifest *manifest, const char *name)
{
    for (size_t i = 0; i < manifest->constraint_count; i++) {
        if (strcmp(manifest->constraints[i].name, name) == 0) {
            return &manifest->constraints[i];
        }
    }
    return NULL;
}

/* The only type of a set, or RMSNORM_UNDEFINED. */
static rmsnorm_dtype only_type(rmsnorm_dtypes types)
{
    for (uint32_t dtype = 1; dtype < 32; dtype++) {
        if (types == RMSNORM_DTYPES(dtype)) {
            return (rmsnorm_dtype)dtype;
        }
    }
    return RMSNORM_UNDEFINED;
}

static const char *list_types(rmsnorm_dtypes types, char text[96])
{
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t dtype = 1; dtype < 32; dtype++) {
        if ((types & RMSNORM_DTYPES(dtype)) != 0) {
            const int written =
                snprintf(text + length, 96 - length, "%s%s", length > 0 ? ", " : "", type_name((rmsnorm_dtype)dtype));
            length += written > 0 && (size_t)written < 96 - length ? (size_t)written : 0;
        }
    }
    return text;
}

/* The type that a constraint has in this request, from the first input it binds. */
static rmsnorm_dtype bound_type(const rmsnorm_planning *plan, const char *constraint)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    for (size_t i = 0; i < manifest->input_count; i++) {
        if (plan->request->inputs[i] != NULL && strcmp(manifest->inputs[i].type, constraint) == 0) {
            return plan->request->inputs[i]->dtype;
        }
    }
    const rmsnorm_manifest_constraint *const found = constraint_of(manifest, constraint);
    return found != NULL ? only_type(found->types) : rmsnorm_dtype_from_name(constraint);
}

static rmsnorm_status check_types(rmsnorm_planning *plan)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    char text[96];
    for (size_t i = 0; i < manifest->input_count; i++) {
        const rmsnorm_tensor *const tensor = plan->request->inputs[i];
        if (tensor == NULL) {
            continue;
        }
        const char *const type = manifest->inputs[i].type;
        const rmsnorm_manifest_constraint *const constraint = constraint_of(manifest, type);
        const rmsnorm_dtypes allowed =
            constraint != NULL ? constraint->types : RMSNORM_DTYPES(rmsnorm_dtype_from_name(type));
        RMSNORM_CHECK(tensor->dtype > 0 && tensor->dtype < 32 && (allowed & RMSNORM_DTYPES(tensor->dtype)) != 0,
                      RMSNORM_UNSUPPORTED, "%s: %s has element type %s; allowed on WebGPU: %s", manifest->name,
                      manifest->inputs[i].onnx, rmsnorm_dtype_name(tensor->dtype), list_types(allowed, text));
        const rmsnorm_dtype bound = bound_type(plan, type);
        RMSNORM_CHECK(tensor->dtype == bound, RMSNORM_UNSUPPORTED, "%s: %s has element type %s; allowed: %s, as %s",
                      manifest->name, manifest->inputs[i].onnx, type_name(tensor->dtype), type_name(bound), type);
        plan->dtypes[0][i] = tensor->dtype;
    }
    for (size_t i = 0; i < manifest->output_count; i++) {
        plan->dtypes[1][i] = bound_type(plan, manifest->outputs[i].type);
        RMSNORM_CHECK(plan->dtypes[1][i] != RMSNORM_UNDEFINED, RMSNORM_MALFORMED,
                      "manifest.json: the type of outputs.%s follows from no input", manifest->outputs[i].key);
    }
    return RMSNORM_OK;
}

/* ---- Slots ----------------------------------------------------------------------------------- */

static rmsnorm_status check_input(const rmsnorm_manifest *manifest, size_t i, const rmsnorm_tensor *tensor)
{
    const char *const name = manifest->inputs[i].onnx;
    RMSNORM_CHECK(tensor->rank >= 0 && tensor->rank <= RMSNORM_MAX_RANK, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has rank %" PRId32 "; allowed: 0 to %d", manifest->name, name, tensor->rank,
                  RMSNORM_MAX_RANK);
    for (int32_t d = 0; d < tensor->rank; d++) {
        RMSNORM_CHECK(tensor->dims[d] >= 0, RMSNORM_INVALID_ARGUMENT,
                      "%s: dimension %" PRId32 " of %s is no number; allowed: numbers, a plan is for one shape",
                      manifest->name, d, name);
    }
    RMSNORM_CHECK(rmsnorm_tensor_count(tensor) >= 0, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has too many elements to be counted", manifest->name, name);
    RMSNORM_CHECK(tensor->row_stride == 0, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s has row_stride %" PRId64 "; allowed on WebGPU: 0 (contiguous)", manifest->name, name,
                  tensor->row_stride);
    return RMSNORM_OK;
}

static rmsnorm_status check_slots(const rmsnorm_planning *plan)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    for (size_t i = 0; i < RMSNORM_MAX_SLOTS; i++) {
        const rmsnorm_tensor *const tensor = plan->request->inputs[i];
        if (i >= manifest->input_count) {
            RMSNORM_CHECK(tensor == NULL, RMSNORM_INVALID_ARGUMENT, "%s: there is an input %zu; allowed: %zu inputs",
                          manifest->name, i, manifest->input_count);
        } else if (tensor != NULL) {
            RMSNORM_TRY(check_input(manifest, i, tensor));
        } else {
            RMSNORM_CHECK(manifest->inputs[i].optional, RMSNORM_INVALID_ARGUMENT, "%s: %s is missing", manifest->name,
                          manifest->inputs[i].onnx);
        }
        RMSNORM_CHECK(i < manifest->output_count || (!plan->request->wanted[i] && plan->request->in_place[i] == 0),
                      RMSNORM_INVALID_ARGUMENT, "%s: output %zu is wanted or in place; allowed: %zu outputs",
                      manifest->name, i, manifest->output_count);
    }
    return RMSNORM_OK;
}

static rmsnorm_status add_input(rmsnorm_planning *plan, size_t i)
{
    const rmsnorm_tensor *const tensor = plan->request->inputs[i];
    rmsnorm_map *map;
    rmsnorm_any shape = rmsnorm_any_list(plan->arena);
    RMSNORM_TRY(rmsnorm_planning_map(plan, &map));
    for (int32_t d = 0; tensor != NULL && shape.kind == RMSNORM_ANY_LIST && d < tensor->rank; d++) {
        if (!rmsnorm_list_push(plan->arena, shape.as.list, rmsnorm_any_integer(tensor->dims[d]))) {
            shape = rmsnorm_any_undefined();
        }
    }
    if (shape.kind != RMSNORM_ANY_LIST) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const bool there = tensor != NULL;
    RMSNORM_TRY(rmsnorm_planning_set(plan, map, "shape", shape));
    RMSNORM_TRY(rmsnorm_planning_set(plan, map, "rank", rmsnorm_any_integer(there ? tensor->rank : 0)));
    RMSNORM_TRY(rmsnorm_planning_set(plan, map, "dtype", rmsnorm_any_text(there ? type_name(tensor->dtype) : "")));
    RMSNORM_TRY(rmsnorm_planning_set(plan, map, "size",
                                     rmsnorm_any_integer(there ? (int64_t)rmsnorm_dtype_size(tensor->dtype) : 0)));
    RMSNORM_TRY(
        rmsnorm_planning_set(plan, map, "numel", rmsnorm_any_integer(there ? rmsnorm_tensor_count(tensor) : 0)));
    rmsnorm_any value = rmsnorm_any_null();
    value.kind = RMSNORM_ANY_MAP;
    value.as.map = map;
    return rmsnorm_planning_set(plan, plan->names, plan->package->manifest.inputs[i].key, value);
}

static rmsnorm_status add_slots(rmsnorm_planning *plan)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    rmsnorm_map *present;
    rmsnorm_map *types;
    rmsnorm_map *in_place;
    RMSNORM_TRY(rmsnorm_planning_map(plan, &present));
    RMSNORM_TRY(rmsnorm_planning_map(plan, &types));
    RMSNORM_TRY(rmsnorm_planning_map(plan, &in_place));
    for (size_t i = 0; i < manifest->input_count; i++) {
        RMSNORM_TRY(add_input(plan, i));
        RMSNORM_TRY(rmsnorm_planning_set(plan, present, manifest->inputs[i].key,
                                         rmsnorm_any_boolean(plan->request->inputs[i] != NULL)));
    }
    for (size_t i = 0; i < manifest->output_count; i++) {
        const rmsnorm_manifest_slot *const slot = &manifest->outputs[i];
        const bool there = !slot->optional || plan->request->wanted[i];
        const int shared = there ? plan->request->in_place[i] : 0;
        RMSNORM_CHECK(shared >= 0 && (size_t)shared <= manifest->input_count &&
                          (shared == 0 || plan->request->inputs[shared - 1] != NULL),
                      RMSNORM_INVALID_ARGUMENT,
                      "%s: in_place[%zu] is %d for %s; allowed: 0, or the number of an input that is there, from 1 on",
                      manifest->name, i, shared, slot->onnx);
        RMSNORM_TRY(rmsnorm_planning_set(plan, present, slot->key, rmsnorm_any_boolean(there)));
        RMSNORM_TRY(rmsnorm_planning_set(plan, types, slot->key, rmsnorm_any_text(type_name(plan->dtypes[1][i]))));
        RMSNORM_TRY(rmsnorm_planning_set(plan, in_place, slot->key,
                                         rmsnorm_any_text(shared == 0 ? "" : manifest->inputs[shared - 1].key)));
    }
    rmsnorm_any value = rmsnorm_any_null();
    value.kind = RMSNORM_ANY_MAP;
    value.as.map = present;
    RMSNORM_TRY(rmsnorm_planning_set(plan, plan->names, "present", value));
    value.as.map = types;
    RMSNORM_TRY(rmsnorm_planning_set(plan, plan->names, "outputType", value));
    value.as.map = in_place;
    return rmsnorm_planning_set(plan, plan->names, "inPlace", value);
}

/* ---- Attributes, tunables, device ------------------------------------------------------------ */

/* The request's value of one of the attributes that the operators here have; without any the manifest's default. */
static rmsnorm_any attribute_value(const rmsnorm_planning *plan, const rmsnorm_manifest_attribute *attribute)
{
    const rmsnorm_attributes *const given = plan->request->attributes;
    if (given == NULL) {
        return attribute->value;
    }
    if (strcmp(attribute->name, "axis") == 0) {
        return rmsnorm_any_integer(given->axis);
    }
    if (strcmp(attribute->name, "epsilon") == 0) {
        return rmsnorm_any_float((double)given->epsilon);
    }
    if (strcmp(attribute->name, "stash_type") == 0) {
        return rmsnorm_any_integer(given->stash_type);
    }
    if (strcmp(attribute->name, "keep_dims") == 0) {
        return rmsnorm_any_integer(given->keep_dims);
    }
    return attribute->value;
}

static rmsnorm_status add_map(rmsnorm_planning *plan, const char *name, rmsnorm_map **map)
{
    RMSNORM_TRY(rmsnorm_planning_map(plan, map));
    rmsnorm_any value = rmsnorm_any_null();
    value.kind = RMSNORM_ANY_MAP;
    value.as.map = *map;
    return rmsnorm_planning_set(plan, plan->names, name, value);
}

static rmsnorm_status check_tunable(const rmsnorm_manifest *manifest, const rmsnorm_tunable *given)
{
    char text[128] = "";
    size_t length = 0;
    for (size_t i = 0; i < manifest->tunable_count; i++) {
        const rmsnorm_manifest_tunable *const tunable = &manifest->tunables[i];
        for (size_t v = 0; strcmp(tunable->name, given->name) == 0 && v < tunable->value_count; v++) {
            if (tunable->values[v] == given->value) {
                return RMSNORM_OK;
            }
            const int written =
                snprintf(text + length, sizeof text - length, "%s%" PRId64, v > 0 ? ", " : "", tunable->values[v]);
            length += written > 0 && (size_t)written < sizeof text - length ? (size_t)written : 0;
        }
    }
    return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: tunable %s is %" PRId64 "; allowed: %s", manifest->name,
                        given->name, given->value, text);
}

static rmsnorm_status add_tunables(rmsnorm_planning *plan)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    rmsnorm_map *tunables;
    RMSNORM_TRY(add_map(plan, "tunables", &tunables));
    for (size_t i = 0; i < manifest->tunable_count; i++) {
        RMSNORM_TRY(rmsnorm_planning_set(plan, tunables, manifest->tunables[i].name,
                                         rmsnorm_any_integer(manifest->tunables[i].value)));
    }
    RMSNORM_CHECK(plan->request->tunable_count <= RMSNORM_MAX_TUNABLES, RMSNORM_INVALID_ARGUMENT,
                  "%s: %zu tunables; allowed: at most %d", manifest->name, plan->request->tunable_count,
                  RMSNORM_MAX_TUNABLES);
    for (size_t i = 0; i < plan->request->tunable_count; i++) {
        const rmsnorm_tunable *const given = &plan->request->tunables[i];
        RMSNORM_CHECK(given->name != NULL, RMSNORM_INVALID_ARGUMENT, "%s: tunable %zu has no name", manifest->name, i);
        RMSNORM_CHECK(rmsnorm_map_get(tunables, given->name, strlen(given->name)) != NULL, RMSNORM_NOT_FOUND,
                      "%s: there is no tunable %s", manifest->name, given->name);
        RMSNORM_TRY(check_tunable(manifest, given));
        RMSNORM_TRY(rmsnorm_planning_set(plan, tunables, given->name, rmsnorm_any_integer(given->value)));
    }
    return RMSNORM_OK;
}

static rmsnorm_status add_device(rmsnorm_planning *plan)
{
    const rmsnorm_device_profile *const device = &plan->device;
    const struct {
        const char *name;
        uint64_t value;
    } limits[] = {{"maxStorageBufferBindingSize", device->max_storage_buffer_binding_size},
                  {"maxBufferSize", device->max_buffer_size},
                  {"minStorageBufferOffsetAlignment", device->min_storage_buffer_offset_alignment},
                  {"maxStorageBuffersPerShaderStage", device->max_storage_buffers_per_shader_stage},
                  {"maxComputeWorkgroupStorageSize", device->max_compute_workgroup_storage_size},
                  {"maxComputeInvocationsPerWorkgroup", device->max_compute_invocations_per_workgroup},
                  {"maxComputeWorkgroupSizeX", device->max_compute_workgroup_size_x},
                  {"maxComputeWorkgroupsPerDimension", device->max_compute_workgroups_per_dimension},
                  {"subgroupMinSize", device->subgroup_min_size},
                  {"subgroupMaxSize", device->subgroup_max_size}};
    rmsnorm_map *map;
    RMSNORM_TRY(add_map(plan, "limits", &map));
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const int64_t most = INT64_MAX;
        const int64_t value = limits[i].value > (uint64_t)most ? most : (int64_t)limits[i].value;
        RMSNORM_TRY(rmsnorm_planning_set(plan, map, limits[i].name, rmsnorm_any_integer(value)));
    }
    RMSNORM_TRY(add_map(plan, "features", &map));
    RMSNORM_TRY(rmsnorm_planning_set(plan, map, "shaderF16", rmsnorm_any_boolean(device->shader_f16)));
    RMSNORM_TRY(rmsnorm_planning_set(plan, map, "subgroups", rmsnorm_any_boolean(device->subgroups)));
    RMSNORM_TRY(add_map(plan, "options", &map));
    return rmsnorm_planning_set(plan, map, "batchInvariant", rmsnorm_any_boolean(plan->request->batch_invariant));
}

static rmsnorm_status add_attributes(rmsnorm_planning *plan)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    rmsnorm_map *attributes;
    RMSNORM_TRY(add_map(plan, "attributes", &attributes));
    for (size_t i = 0; i < manifest->attribute_count; i++) {
        RMSNORM_TRY(rmsnorm_planning_set(plan, attributes, manifest->attributes[i].name,
                                         attribute_value(plan, &manifest->attributes[i])));
    }
    return RMSNORM_OK;
}

/* ---- The start ------------------------------------------------------------------------------- */

#define STEPS 10000000

/* The manifest's sentence; the condition itself where that has no text, as of a number that is not finite. */
RMSNORM_COLD static rmsnorm_status refuse(rmsnorm_planning *plan, const rmsnorm_requirement *requirement)
{
    const char *const name = plan->package->manifest.name;
    rmsnorm_any message;
    if (rmsnorm_expression_evaluate(requirement->message, &plan->scope, &plan->evaluation, &message) != RMSNORM_OK ||
        message.kind != RMSNORM_ANY_STRING) {
        return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: allowed is only what fulfils %s", name,
                            requirement->holds.text);
    }
    return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: %.*s", name,
                        (int)(message.as.string.length < 512 ? message.as.string.length : 512), message.as.string.text);
}

/* The ranks that the manifest gives its inputs. */
static rmsnorm_status check_ranks(rmsnorm_planning *plan)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    for (size_t i = 0; i < manifest->input_count; i++) {
        const rmsnorm_tensor *const tensor = plan->request->inputs[i];
        int64_t rank;
        if (tensor == NULL || manifest->inputs[i].rank.text == NULL) {
            continue;
        }
        RMSNORM_TRY(rmsnorm_planning_integer(plan, &manifest->inputs[i].rank, 0, &rank));
        RMSNORM_CHECK(tensor->rank == rank, RMSNORM_INVALID_ARGUMENT, "%s: %s has rank %" PRId32 "; allowed: %" PRId64,
                      manifest->name, manifest->inputs[i].onnx, tensor->rank, rank);
    }
    return RMSNORM_OK;
}

static rmsnorm_status check_requirements(rmsnorm_planning *plan)
{
    const rmsnorm_manifest *const manifest = &plan->package->manifest;
    for (size_t i = 0; i < manifest->requirement_count; i++) {
        const rmsnorm_requirement *const requirement = &manifest->requirements[i];
        bool holds;
        RMSNORM_TRY(rmsnorm_planning_flag(plan, &requirement->holds, &holds));
        if (!holds) {
            return refuse(plan, requirement);
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status read_device(rmsnorm_planning *plan)
{
    static const rmsnorm_device_profile defaults = RMSNORM_DEVICE_PROFILE_INIT;
    const rmsnorm_device_profile *const given = plan->request->device;
    plan->device = defaults;
    if (given != NULL) {
        RMSNORM_CHECK(given->struct_size >= sizeof given->struct_size, RMSNORM_INVALID_ARGUMENT,
                      "device.struct_size is %zu; allowed: sizeof(rmsnorm_device_profile)", given->struct_size);
        memcpy(&plan->device, given, given->struct_size < sizeof *given ? given->struct_size : sizeof *given);
    }
    const uint32_t alignment = plan->device.min_storage_buffer_offset_alignment;
    RMSNORM_CHECK(alignment >= 4 && (alignment & (alignment - 1)) == 0, RMSNORM_INVALID_ARGUMENT,
                  "minStorageBufferOffsetAlignment is %" PRIu32 "; allowed: a power of two from 4 on", alignment);
    RMSNORM_CHECK(
        plan->device.max_compute_workgroups_per_dimension >= 1 &&
            plan->device.max_compute_invocations_per_workgroup >= 1 && plan->device.max_compute_workgroup_size_x >= 1,
        RMSNORM_INVALID_ARGUMENT, "a limit of the device is 0; allowed: at least 1 workgroup of 1 invocation");
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_planning_start(rmsnorm_planning *plan, const rmsnorm_package *package,
                                      const rmsnorm_request *request, rmsnorm_arena *arena)
{
    memset(plan, 0, sizeof *plan);
    plan->package = package;
    plan->request = request;
    plan->arena = arena;
    plan->evaluation.arena = arena;
    plan->evaluation.functions = rmsnorm_manifest_functions;
    plan->evaluation.function_count = rmsnorm_manifest_function_count;
    plan->evaluation.steps = STEPS;
    RMSNORM_TRY(rmsnorm_planning_map(plan, &plan->names));
    plan->scope.variables = plan->names;
    plan->request_scope = plan->scope;
    RMSNORM_TRY(read_device(plan));
    RMSNORM_TRY(check_slots(plan));
    RMSNORM_TRY(check_types(plan));
    RMSNORM_TRY(add_slots(plan));
    RMSNORM_TRY(add_attributes(plan));
    RMSNORM_TRY(add_tunables(plan));
    RMSNORM_TRY(add_device(plan));
    RMSNORM_TRY(check_requirements(plan));
    RMSNORM_TRY(check_ranks(plan));
    return rmsnorm_planning_derive(plan, &package->manifest.derive);
}
