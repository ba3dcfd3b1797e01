#include "webgpu/adapter.h"

#include <stdio.h>
#include <string.h>

#include "operator/error.h"

static const char *const kind_names[] = {"any", "discrete", "integrated", "software", "unknown"};
enum { KINDS = sizeof kind_names / sizeof kind_names[0] };

const char *rmsnorm_adapter_kind_name(rmsnorm_adapter_kind kind)
{
    return (unsigned)kind < KINDS ? kind_names[kind] : "unknown";
}

rmsnorm_status rmsnorm_adapter_kind_from_name(const char *name, rmsnorm_adapter_kind *kind)
{
    RMSNORM_CHECK(kind != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_adapter_kind_from_name: kind is NULL");
    for (size_t i = 0; name != NULL && i < KINDS; i++) {
        if (strcmp(name, kind_names[i]) == 0) {
            *kind = (rmsnorm_adapter_kind)i;
            return RMSNORM_OK;
        }
    }
    return rmsnorm_fail(RMSNORM_NOT_FOUND,
                        "there is no kind of adapter '%.40s'; allowed: any, discrete, integrated, software, unknown",
                        name == NULL ? "" : name);
}

/* ---- Options --------------------------------------------------------------------------------- */

#define TIMEOUT_MS 60000

rmsnorm_status rmsnorm_webgpu_read_options(const rmsnorm_webgpu_options *options, rmsnorm_webgpu_options *ours)
{
    const rmsnorm_webgpu_options defaults = RMSNORM_WEBGPU_OPTIONS_INIT;
    *ours = defaults;
    if (options != NULL) {
        RMSNORM_CHECK(options->struct_size >= sizeof options->struct_size, RMSNORM_INVALID_ARGUMENT,
                      "WebGPU: options.struct_size is %zu; allowed: sizeof(rmsnorm_webgpu_options): start from "
                      "RMSNORM_WEBGPU_OPTIONS_INIT",
                      options->struct_size);
        memcpy(ours, options, options->struct_size < sizeof *ours ? options->struct_size : sizeof *ours);
    }
    RMSNORM_CHECK((unsigned)ours->kind < KINDS, RMSNORM_INVALID_ARGUMENT,
                  "WebGPU: options.kind is %d; allowed: 0 to %d", (int)ours->kind, KINDS - 1);
    RMSNORM_CHECK(ours->device == NULL || ours->instance != NULL, RMSNORM_INVALID_ARGUMENT,
                  "WebGPU: options have a device without its instance; allowed: both, or neither");
    ours->timeout = ours->timeout == 0 ? TIMEOUT_MS : ours->timeout;
    return RMSNORM_OK;
}

/* Whether text has part in it, letters in any case. */
static bool contains(const char *text, const char *part)
{
    const size_t length = strlen(part);
    for (; *text != '\0' || length == 0; text++) {
        size_t i = 0;
        for (; i < length; i++) {
            const char a = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
            const char b = part[i] >= 'A' && part[i] <= 'Z' ? (char)(part[i] - 'A' + 'a') : part[i];
            if (a != b) {
                break;
            }
        }
        if (i == length) {
            return true;
        }
    }
    return false;
}

bool rmsnorm_adapter_matches(const rmsnorm_adapter *adapter, const rmsnorm_webgpu_options *options)
{
    const char *const wanted = options->adapter;
    if (options->kind != RMSNORM_ADAPTER_ANY && options->kind != adapter->kind) {
        return false;
    }
    if (strcmp(adapter->backend, "Null") == 0) { /* computes nothing, and comes unasked where there is no other */
        return wanted != NULL && contains("Null", wanted);
    }
    return wanted == NULL || contains(adapter->name, wanted) || contains(adapter->driver, wanted) ||
           contains(adapter->vendor, wanted) || contains(adapter->architecture, wanted) ||
           contains(adapter->backend, wanted);
}

const char *rmsnorm_adapter_wish(const rmsnorm_webgpu_options *options, char *text, size_t size)
{
    const bool any = options->kind == RMSNORM_ADAPTER_ANY;
    snprintf(text, size, "%s%s%s%.80s%s", any ? "" : " of the kind ",
             any ? "" : rmsnorm_adapter_kind_name(options->kind), options->adapter == NULL ? "" : " with '",
             options->adapter == NULL ? "" : options->adapter, options->adapter == NULL ? "" : "' in its name");
    return text;
}

/* ---- Asking ---------------------------------------------------------------------------------- */

static const struct {
    WGPUBackendType type;
    const char *name;
} backends[] = {
    {WGPUBackendType_Undefined, "unknown"}, {WGPUBackendType_Vulkan, "Vulkan"}, {WGPUBackendType_Metal, "Metal"},
    {WGPUBackendType_D3D12, "D3D12"},       {WGPUBackendType_D3D11, "D3D11"},   {WGPUBackendType_OpenGL, "OpenGL"},
    {WGPUBackendType_OpenGLES, "OpenGLES"}, {WGPUBackendType_Null, "Null"},
};
enum { BACKENDS = sizeof backends / sizeof backends[0], WAYS_EACH = 3 };

bool rmsnorm_adapter_way_at(size_t index, const rmsnorm_webgpu_options *options, rmsnorm_adapter_way *way)
{
    const bool null_too = options->adapter != NULL && contains("Null", options->adapter);
    if (index >= (size_t)(null_too ? BACKENDS : BACKENDS - 1) * WAYS_EACH) {
        return false;
    }
    way->backend = backends[index / WAYS_EACH].type;
    way->power = index % WAYS_EACH == 1 ? WGPUPowerPreference_HighPerformance : WGPUPowerPreference_Undefined;
    way->fallback = index % WAYS_EACH == 2;
    return true;
}

static void on_adapter(WGPURequestAdapterStatus status, WGPUAdapter adapter, WGPUStringView message, void *first,
                       void *second)
{
    (void)second;
    rmsnorm_answer_give(first, (int)status, 0, adapter, message);
}

rmsnorm_status rmsnorm_adapter_request(const rmsnorm_webgpu_functions *functions, WGPUInstance instance,
                                       const rmsnorm_adapter_way *way, uint32_t timeout, WGPUAdapter *adapter)
{
    rmsnorm_answer *const answer = rmsnorm_answer_new();
    if (answer == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const WGPURequestAdapterOptions wish = {.featureLevel = WGPUFeatureLevel_Core,
                                            .powerPreference = way->power,
                                            .forceFallbackAdapter = way->fallback,
                                            .backendType = way->backend};
    const WGPURequestAdapterCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_adapter, .userdata1 = answer};
    functions->InstanceRequestAdapter(instance, &wish, callback);
    const rmsnorm_status status = rmsnorm_answer_wait(functions, instance, answer, timeout, NULL, NULL, NULL);
    *adapter = status == RMSNORM_OK && answer->status == WGPURequestAdapterStatus_Success ? answer->object : NULL;
    rmsnorm_answer_drop(answer);
    return status;
}

/* ---- Reading --------------------------------------------------------------------------------- */

void rmsnorm_adapter_read_info(const WGPUAdapterInfo *info, rmsnorm_adapter *to)
{
    rmsnorm_answer_text(to->name, sizeof to->name, info->device);
    rmsnorm_answer_text(to->driver, sizeof to->driver, info->description);
    rmsnorm_answer_text(to->vendor, sizeof to->vendor, info->vendor);
    rmsnorm_answer_text(to->architecture, sizeof to->architecture, info->architecture);
    const char *backend = "unknown";
    for (size_t i = 0; i < BACKENDS; i++) {
        backend = backends[i].type == info->backendType ? backends[i].name : backend;
    }
    snprintf(to->backend, sizeof to->backend, "%s", backend);
    to->kind = info->adapterType == WGPUAdapterType_DiscreteGPU     ? RMSNORM_ADAPTER_DISCRETE
               : info->adapterType == WGPUAdapterType_IntegratedGPU ? RMSNORM_ADAPTER_INTEGRATED
               : info->adapterType == WGPUAdapterType_CPU           ? RMSNORM_ADAPTER_SOFTWARE
                                                                    : RMSNORM_ADAPTER_UNKNOWN;
    to->vendor_id = info->vendorID;
    to->device_id = info->deviceID;
    to->profile.subgroup_min_size = info->subgroupMinSize;
    to->profile.subgroup_max_size = info->subgroupMaxSize;
}

void rmsnorm_adapter_read_limits(const WGPULimits *limits, rmsnorm_device_profile *profile)
{
    profile->max_storage_buffer_binding_size = limits->maxStorageBufferBindingSize;
    profile->max_buffer_size = limits->maxBufferSize;
    profile->min_storage_buffer_offset_alignment = limits->minStorageBufferOffsetAlignment;
    profile->max_storage_buffers_per_shader_stage = limits->maxStorageBuffersPerShaderStage;
    profile->max_compute_workgroup_storage_size = limits->maxComputeWorkgroupStorageSize;
    profile->max_compute_invocations_per_workgroup = limits->maxComputeInvocationsPerWorkgroup;
    profile->max_compute_workgroup_size_x = limits->maxComputeWorkgroupSizeX;
    profile->max_compute_workgroups_per_dimension = limits->maxComputeWorkgroupsPerDimension;
}

void rmsnorm_adapter_read(const rmsnorm_webgpu_functions *functions, WGPUAdapter adapter, rmsnorm_adapter *to)
{
    memset(to, 0, sizeof *to);
    to->profile = (rmsnorm_device_profile)RMSNORM_DEVICE_PROFILE_INIT;
    rmsnorm_roomy_info info = {.room = {0}};
    if (functions->AdapterGetInfo(adapter, &info.info) == WGPUStatus_Success) {
        rmsnorm_adapter_read_info(&info.info, to);
        functions->AdapterInfoFreeMembers(info.info);
    }
    rmsnorm_roomy_limits limits = {.room = {0}};
    if (functions->AdapterGetLimits(adapter, &limits.limits) == WGPUStatus_Success) {
        rmsnorm_adapter_read_limits(&limits.limits, &to->profile);
    }
}
