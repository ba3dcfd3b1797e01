/* open.c: from an adapter to a device whose features have been tried.
 *
 * Libraries number features differently: today's header has shader-f16 as 11, those of a year before as 10, where another one has
 * 11. So a number proves nothing. A device is made with the numbers of one list, and a feature is there when what it is for
 * works. */
#define _XOPEN_SOURCE 700 /* recursive mutexes */

#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "webgpu/adapter.h"
#include "webgpu/caches.h"
#include "webgpu/device.h"

enum { FEATURE_F16, FEATURE_SUBGROUPS, FEATURE_TIMESTAMPS, FEATURES };

static const WGPUFeatureName numberings[][FEATURES] = {
    {WGPUFeatureName_ShaderF16, WGPUFeatureName_Subgroups, WGPUFeatureName_TimestampQuery},
    {(WGPUFeatureName)10, (WGPUFeatureName)17, (WGPUFeatureName)3},
};
enum { NUMBERINGS = sizeof numberings / sizeof numberings[0] };

/* ---- What a device can do -------------------------------------------------------------------- */

static WGPUStringView view(const char *text)
{
    return (WGPUStringView){text, strlen(text)};
}

/* What the end of a scope says of a feature. A host without memory says nothing. */
static rmsnorm_status judge(rmsnorm_status ended, bool *good)
{
    *good = ended == RMSNORM_OK;
    return ended == RMSNORM_OUT_OF_MEMORY ? ended : RMSNORM_OK;
}

static rmsnorm_status compiles(rmsnorm_webgpu *webgpu, const char *wgsl, bool *good)
{
    WGPUShaderSourceWGSL source = {.chain = {.sType = WGPUSType_ShaderSourceWGSL}, .code = view(wgsl)};
    const WGPUShaderModuleDescriptor descriptor = {.nextInChain = &source.chain, .label = view("probe")};
    rmsnorm_webgpu_scope_begin(webgpu);
    WGPUShaderModule module = webgpu->functions.DeviceCreateShaderModule(webgpu->device, &descriptor);
    const rmsnorm_status ended = rmsnorm_webgpu_scope_end(webgpu, "probe");
    if (module != NULL) {
        webgpu->functions.ShaderModuleRelease(module);
    }
    return judge(ended, good);
}

static rmsnorm_status has_timestamps(rmsnorm_webgpu *webgpu, bool *good)
{
    const WGPUQuerySetDescriptor descriptor = {.label = view("probe"), .type = WGPUQueryType_Timestamp, .count = 2};
    rmsnorm_webgpu_scope_begin(webgpu);
    WGPUQuerySet set = webgpu->functions.DeviceCreateQuerySet(webgpu->device, &descriptor);
    const rmsnorm_status ended = rmsnorm_webgpu_scope_end(webgpu, "probe");
    if (set != NULL) {
        webgpu->functions.QuerySetRelease(set);
    }
    return judge(ended, good);
}

/* Sets what the device can do, and how many things that are. */
static rmsnorm_status probe(rmsnorm_webgpu *webgpu, int *score)
{
    rmsnorm_device_profile *const profile = &webgpu->adapter.profile;
    RMSNORM_TRY(
        compiles(webgpu, "enable f16;\n@compute @workgroup_size(1) fn main() { _ = f16(1); }\n", &profile->shader_f16));
    profile->subgroups = false;
    if (profile->subgroup_min_size >= 4 && profile->subgroup_max_size >= profile->subgroup_min_size) {
        RMSNORM_TRY(compiles(webgpu,
                             "enable subgroups;\n@compute @workgroup_size(32)\n"
                             "fn main(@builtin(subgroup_size) size: u32) { _ = subgroupAdd(f32(size)); }\n",
                             &profile->subgroups));
    }
    RMSNORM_TRY(has_timestamps(webgpu, &webgpu->adapter.timestamps));
    *score = profile->shader_f16 + profile->subgroups + webgpu->adapter.timestamps;
    return RMSNORM_OK;
}

static void narrow(rmsnorm_device_profile *have, const rmsnorm_device_profile *wanted)
{
#define NARROW(field) have->field = wanted->field < have->field ? wanted->field : have->field
    NARROW(max_storage_buffer_binding_size);
    NARROW(max_buffer_size);
    NARROW(max_storage_buffers_per_shader_stage);
    NARROW(max_compute_workgroup_storage_size);
    NARROW(max_compute_invocations_per_workgroup);
    NARROW(max_compute_workgroup_size_x);
    NARROW(max_compute_workgroups_per_dimension);
#undef NARROW
    if (wanted->min_storage_buffer_offset_alignment > have->min_storage_buffer_offset_alignment) {
        have->min_storage_buffer_offset_alignment = wanted->min_storage_buffer_offset_alignment;
    }
    have->shader_f16 = have->shader_f16 && wanted->shader_f16;
    have->subgroups = have->subgroups && wanted->subgroups;
}

static void finish_profile(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_options *options)
{
    rmsnorm_device_profile *const profile = &webgpu->adapter.profile;
    if (options->profile != NULL) {
        narrow(profile, options->profile);
    }
    if (!profile->subgroups) {
        profile->subgroup_min_size = 0;
        profile->subgroup_max_size = 0;
    }
}

/* ---- Making a device ------------------------------------------------------------------------- */

static void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message, void *first,
                      void *second)
{
    (void)second;
    rmsnorm_answer_give(first, (int)status, 0, device, message);
}

static void on_error(WGPUDevice const *device, WGPUErrorType type, WGPUStringView message, void *first, void *second)
{
    (void)device;
    (void)second;
    rmsnorm_failure_error(first, type, message);
}

static void on_lost(WGPUDevice const *device, WGPUDeviceLostReason reason, WGPUStringView message, void *first,
                    void *second)
{
    (void)device;
    (void)reason;
    (void)second;
    rmsnorm_failure_lost(first, message);
    rmsnorm_failure_drop(first);
}

/* A device with the features of one numbering and all of the adapter's limits. NULL in webgpu->device: the adapter refused, and
 * `why` has its words. */
static rmsnorm_status request_device(rmsnorm_webgpu *webgpu, WGPUAdapter adapter, size_t numbering, bool exact_clock,
                                     char *why, size_t size)
{
    rmsnorm_roomy_limits limits = {.room = {0}};
    webgpu->functions.AdapterGetLimits(adapter, &limits.limits);
    limits.limits.nextInChain = NULL;
    WGPUFeatureName features[FEATURES];
    size_t count = 0;
    for (size_t i = 0; i < FEATURES; i++) {
        if (webgpu->functions.AdapterHasFeature(adapter, numberings[numbering][i])) {
            features[count++] = numberings[numbering][i];
        }
    }
    /* Dawn's own switch: without it the clock counts in steps of 0.1 ms. Other libraries refuse what they do not know. */
    static const char *const off[] = {"timestamp_quantization"};
    WGPUDawnTogglesDescriptor toggles = {
        .chain = {.sType = WGPUSType_DawnTogglesDescriptor}, .disabledToggleCount = 1, .disabledToggles = off};
    rmsnorm_answer *const answer = rmsnorm_answer_new();
    if (answer == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    rmsnorm_failure_share(webgpu->failure); /* with on_lost, which is called once */
    const WGPUDeviceDescriptor descriptor = {
        .nextInChain = exact_clock ? &toggles.chain : NULL,
        .label = view("rmsnorm"),
        .requiredFeatureCount = count,
        .requiredFeatures = features,
        .requiredLimits = &limits.limits,
        .deviceLostCallbackInfo = {.mode = WGPUCallbackMode_AllowSpontaneous,
                                   .callback = on_lost,
                                   .userdata1 = webgpu->failure},
        .uncapturedErrorCallbackInfo = {.callback = on_error, .userdata1 = webgpu->failure},
    };
    const WGPURequestDeviceCallbackInfo callback = {
        .mode = WGPUCallbackMode_AllowProcessEvents, .callback = on_device, .userdata1 = answer};
    webgpu->functions.AdapterRequestDevice(adapter, &descriptor, callback);
    const rmsnorm_status status =
        rmsnorm_answer_wait(&webgpu->functions, webgpu->instance, answer, webgpu->timeout, NULL, NULL, NULL);
    if (status == RMSNORM_OK && answer->status == WGPURequestDeviceStatus_Success) {
        webgpu->device = answer->object;
    } else {
        memcpy(why, answer->text, size < sizeof answer->text ? size : sizeof answer->text);
        why[size - 1] = '\0';
    }
    rmsnorm_answer_drop(answer);
    return status;
}

static void drop_device(rmsnorm_webgpu *webgpu)
{
    if (webgpu->queue != NULL) {
        webgpu->functions.QueueRelease(webgpu->queue);
        webgpu->queue = NULL;
    }
    if (webgpu->device != NULL) {
        if (webgpu->own) {
            webgpu->functions.DeviceDestroy(webgpu->device);
        }
        webgpu->functions.DeviceRelease(webgpu->device);
        webgpu->device = NULL;
    }
}

/* One attempt: an adapter (used up by making a device), a device, and what it can do into *score. */
static rmsnorm_status attempt(rmsnorm_webgpu *webgpu, const rmsnorm_adapter_way *way, size_t numbering,
                              bool exact_clock, int *score, char *why, size_t size)
{
    WGPUAdapter adapter;
    *score = -1;
    RMSNORM_TRY(rmsnorm_adapter_request(&webgpu->functions, webgpu->instance, way, webgpu->timeout, &adapter));
    if (adapter == NULL) {
        return RMSNORM_OK;
    }
    rmsnorm_adapter_read(&webgpu->functions, adapter, &webgpu->adapter);
    rmsnorm_failure_forget(webgpu->failure); /* a device that was given up for this one is "lost" */
    rmsnorm_status status = request_device(webgpu, adapter, numbering, exact_clock, why, size);
    webgpu->functions.AdapterRelease(adapter);
    if (status == RMSNORM_OK && webgpu->device != NULL) {
        webgpu->queue = webgpu->functions.DeviceGetQueue(webgpu->device);
        status = probe(webgpu, score);
    }
    return status;
}

/* The way to make a device with which the most works. */
static rmsnorm_status make_device(rmsnorm_webgpu *webgpu, const rmsnorm_adapter_way *way)
{
    char why[256] = "";
    int best_score = -1;
    size_t best = 0;
    for (size_t i = 0; i < (size_t)2 * NUMBERINGS && best_score < FEATURES; i++) {
        int score;
        RMSNORM_TRY(attempt(webgpu, way, i % NUMBERINGS, i < NUMBERINGS, &score, why, sizeof why));
        if (score == FEATURES) {
            return RMSNORM_OK;
        }
        if (score > best_score) {
            best_score = score;
            best = i;
        }
        drop_device(webgpu);
    }
    RMSNORM_CHECK(best_score >= 0, RMSNORM_DEVICE_FAILED, "WebGPU: %s gives no device: %s", webgpu->adapter.name,
                  why[0] == '\0' ? "it says nothing" : why);
    int score;
    RMSNORM_TRY(attempt(webgpu, way, best % NUMBERINGS, best < NUMBERINGS, &score, why, sizeof why));
    RMSNORM_CHECK(webgpu->device != NULL, RMSNORM_DEVICE_FAILED, "WebGPU: %s gives no device: %s", webgpu->adapter.name,
                  why);
    return RMSNORM_OK;
}

/* ---- Choosing -------------------------------------------------------------------------------- */

static rmsnorm_status find_way(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_options *options, rmsnorm_adapter_way *way)
{
    for (size_t i = 0; rmsnorm_adapter_way_at(i, options, way); i++) {
        WGPUAdapter adapter;
        RMSNORM_TRY(rmsnorm_adapter_request(&webgpu->functions, webgpu->instance, way, webgpu->timeout, &adapter));
        if (adapter != NULL) {
            rmsnorm_adapter_read(&webgpu->functions, adapter, &webgpu->adapter);
            webgpu->functions.AdapterRelease(adapter);
            if (rmsnorm_adapter_matches(&webgpu->adapter, options)) {
                return RMSNORM_OK;
            }
        }
    }
    char wish[160];
    return rmsnorm_fail(RMSNORM_NOT_FOUND, "WebGPU: there is no adapter%s; `rmsnorm info` lists those there are",
                        rmsnorm_adapter_wish(options, wish, sizeof wish));
}

static bool is_new(const rmsnorm_adapter *adapters, size_t count, const rmsnorm_adapter *candidate)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(adapters[i].name, candidate->name) == 0 && strcmp(adapters[i].backend, candidate->backend) == 0 &&
            adapters[i].vendor_id == candidate->vendor_id && adapters[i].device_id == candidate->device_id) {
            return false;
        }
    }
    return true;
}

enum { MOST_ADAPTERS = 32 };

static rmsnorm_status list(const rmsnorm_webgpu_functions *functions, WGPUInstance instance,
                           const rmsnorm_webgpu_options *options, rmsnorm_adapter *found, size_t *count)
{
    rmsnorm_adapter_way way;
    *count = 0;
    for (size_t i = 0; *count < MOST_ADAPTERS && rmsnorm_adapter_way_at(i, options, &way); i++) {
        WGPUAdapter adapter;
        RMSNORM_TRY(rmsnorm_adapter_request(functions, instance, &way, options->timeout, &adapter));
        if (adapter != NULL) {
            rmsnorm_adapter *const to = &found[*count];
            rmsnorm_adapter_read(functions, adapter, to);
            functions->AdapterRelease(adapter);
            *count += rmsnorm_adapter_matches(to, options) && is_new(found, *count, to);
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_webgpu_adapters(const rmsnorm_webgpu_options *options, rmsnorm_adapter *adapters,
                                       size_t capacity, size_t *count)
{
    rmsnorm_webgpu_options ours;
    rmsnorm_webgpu_functions functions;
    RMSNORM_CHECK(count != NULL && (adapters != NULL || capacity == 0), RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_webgpu_adapters: count or adapters is NULL");
    *count = 0;
    RMSNORM_TRY(rmsnorm_webgpu_read_options(options, &ours));
    RMSNORM_TRY(rmsnorm_webgpu_load(&ours, &functions));
    rmsnorm_adapter *const found = calloc(MOST_ADAPTERS, sizeof *found);
    RMSNORM_CHECK(found != NULL, RMSNORM_OUT_OF_MEMORY, "rmsnorm_webgpu_adapters: out of memory");
    WGPUInstance instance = functions.CreateInstance(NULL);
    size_t all = 0;
    rmsnorm_status status = instance == NULL
                                ? rmsnorm_fail(RMSNORM_DEVICE_FAILED, "WebGPU: the library gives no instance")
                                : list(&functions, instance, &ours, found, &all);
    if (status == RMSNORM_OK) {
        *count = all;
        for (size_t i = 0; i < all && i < capacity; i++) {
            adapters[i] = found[i];
        }
    }
    if (instance != NULL) {
        functions.InstanceRelease(instance);
    }
    free(found);
    return status;
}

/* ---- Opening --------------------------------------------------------------------------------- */

static rmsnorm_status adopt(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_options *options)
{
    webgpu->instance = options->instance;
    webgpu->functions.InstanceAddRef(webgpu->instance);
    webgpu->device = options->device;
    webgpu->functions.DeviceAddRef(webgpu->device);
    webgpu->queue = webgpu->functions.DeviceGetQueue(webgpu->device);
    webgpu->adapter.profile = (rmsnorm_device_profile)RMSNORM_DEVICE_PROFILE_INIT;
    rmsnorm_roomy_info info = {.room = {0}};
    if (webgpu->functions.DeviceGetAdapterInfo(webgpu->device, &info.info) == WGPUStatus_Success) {
        rmsnorm_adapter_read_info(&info.info, &webgpu->adapter);
        webgpu->functions.AdapterInfoFreeMembers(info.info);
    }
    rmsnorm_roomy_limits limits = {.room = {0}};
    if (webgpu->functions.DeviceGetLimits(webgpu->device, &limits.limits) == WGPUStatus_Success) {
        rmsnorm_adapter_read_limits(&limits.limits, &webgpu->adapter.profile);
    }
    int score;
    return probe(webgpu, &score);
}

static rmsnorm_status open_device(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_options *options)
{
    RMSNORM_TRY(rmsnorm_webgpu_load(options, &webgpu->functions));
    webgpu->own = options->device == NULL;
    webgpu->failure = rmsnorm_failure_new();
    if (webgpu->failure == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    if (!webgpu->own) {
        RMSNORM_TRY(adopt(webgpu, options));
    } else {
        rmsnorm_adapter_way way;
        webgpu->instance = webgpu->functions.CreateInstance(NULL);
        RMSNORM_CHECK(webgpu->instance != NULL, RMSNORM_DEVICE_FAILED, "WebGPU: the library gives no instance");
        RMSNORM_TRY(find_way(webgpu, options, &way));
        RMSNORM_TRY(make_device(webgpu, &way));
    }
    finish_profile(webgpu, options);
    RMSNORM_TRY(rmsnorm_caches_open(webgpu, options->tuning));
    return webgpu->own ? RMSNORM_OK : rmsnorm_webgpu_drain(webgpu); /* the caller's may be dead already */
}

/* Recursive: while we poll, callbacks of the caller's may run, and call us. */
static bool make_mutex(pthread_mutex_t *mutex)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) {
        return false;
    }
    const bool made = pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE) == 0 &&
                      pthread_mutex_init(mutex, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return made;
}

rmsnorm_status rmsnorm_webgpu_open(const rmsnorm_webgpu_options *options, rmsnorm_webgpu **webgpu)
{
    RMSNORM_CHECK(webgpu != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_webgpu_open: webgpu is NULL");
    *webgpu = NULL;
    rmsnorm_webgpu_options ours;
    RMSNORM_TRY(rmsnorm_webgpu_read_options(options, &ours));
    rmsnorm_webgpu *const opened = calloc(1, sizeof *opened);
    RMSNORM_CHECK(opened != NULL, RMSNORM_OUT_OF_MEMORY, "rmsnorm_webgpu_open: out of memory");
    if (!make_mutex(&opened->mutex)) {
        free(opened);
        return rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "rmsnorm_webgpu_open: no mutex");
    }
    opened->timeout = ours.timeout;
    pthread_mutex_lock(&opened->mutex);
    const rmsnorm_status status = open_device(opened, &ours);
    pthread_mutex_unlock(&opened->mutex);
    if (status != RMSNORM_OK) {
        rmsnorm_webgpu_close(opened);
        return status;
    }
    *webgpu = opened;
    return RMSNORM_OK;
}

void rmsnorm_webgpu_close(rmsnorm_webgpu *webgpu)
{
    if (webgpu == NULL) {
        return;
    }
    if (webgpu->device != NULL) {
        rmsnorm_caches_close(webgpu);
    }
    drop_device(webgpu);
    if (webgpu->instance != NULL) {
        webgpu->functions.InstanceProcessEvents(webgpu->instance); /* callbacks of what was given up */
        webgpu->functions.InstanceRelease(webgpu->instance);
    }
    if (webgpu->failure != NULL) {
        rmsnorm_failure_drop(webgpu->failure);
    }
    pthread_mutex_destroy(&webgpu->mutex);
    free(webgpu);
}

void rmsnorm_webgpu_describe(const rmsnorm_webgpu *webgpu, rmsnorm_adapter *adapter)
{
    if (adapter != NULL) {
        *adapter = webgpu != NULL ? webgpu->adapter : (rmsnorm_adapter){.name = ""};
    }
}
