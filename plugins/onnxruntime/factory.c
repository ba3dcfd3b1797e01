/* factory.c: what the runtime finds in the library when it is registered as an execution provider. */
#include <stdlib.h>

#include "custom.h"
#include "entries.h"
#include "registry.h"

typedef struct factory {
    plugin_factory_table table; /* first: it is what the runtime knows */
    plugin_runtime runtime;
    plugin_maker makers[PLUGIN_MOST_OPERATORS];
    plugin_registry *registry;
    /* com.microsoft::SimplifiedLayerNormalization, which the runtime has no schema for; without a domain: not asked for. */
    plugin_custom_domain spelled;
} factory;

static const char *ORT_API_CALL get_name(const OrtEpFactory *self)
{
    (void)self;
    return PLUGIN_PROVIDER;
}

static const char *ORT_API_CALL get_vendor(const OrtEpFactory *self)
{
    (void)self;
    return "rmsnorm";
}

static const char *ORT_API_CALL get_version(const OrtEpFactory *self)
{
    (void)self;
    return rmsnorm_version();
}

static uint32_t ORT_API_CALL get_vendor_id(const OrtEpFactory *self)
{
    (void)self;
    return 0; /* no maker of devices */
}

/* One device: the CPU. */
static OrtStatus *ORT_API_CALL get_devices(OrtEpFactory *self, const OrtHardwareDevice *const *devices, size_t count,
                                           OrtEpDevice **made, size_t most, size_t *made_count)
{
    const factory *const f = (const factory *)self;
    *made_count = 0;
    for (size_t i = 0; i < count && *made_count == 0 && most > 0; i++) {
        if (f->runtime.api->HardwareDevice_Type(devices[i]) == OrtHardwareDeviceType_CPU) {
            PLUGIN_TRY(f->runtime.ep_api->CreateEpDevice(self, devices[i], NULL, NULL, &made[0]));
            *made_count = 1;
        }
    }
    return NULL;
}

static OrtStatus *ORT_API_CALL create_ep(OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                                         const OrtKeyValuePairs *const *metadata, size_t count,
                                         const OrtSessionOptions *session, const OrtLogger *logger, OrtEp **ep)
{
    (void)devices;
    (void)metadata;
    (void)count;
    factory *const f = (factory *)self;
    plugin_options options = plugin_options_default();
    *ep = NULL;
    PLUGIN_TRY(plugin_options_read(&f->runtime, session, &options));
    return plugin_provider_create(&f->runtime, &options, logger, f->registry, ep);
}

static void ORT_API_CALL release_ep(OrtEpFactory *self, OrtEp *ep)
{
    (void)self;
    plugin_provider_release(ep);
}

static OrtStatus *ORT_API_CALL validate_compiled(OrtEpFactory *self, const OrtHardwareDevice *const *devices,
                                                 size_t count, const char *info,
                                                 OrtCompiledModelCompatibility *compatibility)
{
    (void)self;
    (void)devices;
    (void)count;
    (void)info;
    *compatibility = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
    return NULL;
}

/* No memory, copies or streams of our own: tensors are the CPU's. */
static OrtStatus *ORT_API_CALL create_allocator(OrtEpFactory *self, const OrtMemoryInfo *memory,
                                                const OrtKeyValuePairs *options, OrtAllocator **allocator)
{
    (void)self;
    (void)memory;
    (void)options;
    *allocator = NULL;
    return NULL;
}

static void ORT_API_CALL release_allocator(OrtEpFactory *self, OrtAllocator *allocator)
{
    (void)self;
    (void)allocator;
}

static OrtStatus *ORT_API_CALL create_data_transfer(OrtEpFactory *self, OrtDataTransferImpl **transfer)
{
    (void)self;
    *transfer = NULL;
    return NULL;
}

static bool ORT_API_CALL is_stream_aware(const OrtEpFactory *self)
{
    (void)self;
    return false;
}

static OrtStatus *ORT_API_CALL create_stream(OrtEpFactory *self, const OrtMemoryDevice *device,
                                             const OrtKeyValuePairs *options, OrtSyncStreamImpl **stream)
{
    (void)self;
    (void)device;
    (void)options;
    *stream = NULL;
    return NULL;
}

static OrtStatus *ORT_API_CALL get_domain_count(OrtEpFactory *self, size_t *count)
{
    *count = ((const factory *)self)->spelled.domain != NULL ? 1 : 0;
    return NULL;
}

static OrtStatus *ORT_API_CALL get_domains(OrtEpFactory *self, OrtCustomOpDomain **domains, size_t count)
{
    factory *const f = (factory *)self;
    const size_t there = f->spelled.domain != NULL ? 1 : 0;
    if (count != there) {
        return plugin_fail(f->runtime.api, ORT_INVALID_ARGUMENT, "rmsnorm: there are %zu domains, not %zu", there,
                           count);
    }
    if (there > 0) {
        domains[0] = f->spelled.domain;
    }
    return NULL;
}

/* A custom operator in com.microsoft makes the runtime give that domain a version of its own in every model that does not
 * import it, and its own optimizers' operators are then not found: so it is brought only when asked for. */
static bool wants_spelling(void)
{
    const char *const asked = getenv("RMSNORM_ORT_MICROSOFT_SPELLING");
    return asked != NULL && asked[0] == '1' && asked[1] == '\0';
}

static void fill(factory *f)
{
    OrtEpFactory *const known = &f->table.known;
    known->ort_version_supported = f->runtime.newer != NULL ? PLUGIN_REGISTRY_API : PLUGIN_OLDEST_API;
    known->GetName = get_name;
    known->GetVendor = get_vendor;
    known->GetVendorId = get_vendor_id;
    known->GetVersion = get_version;
    known->GetSupportedDevices = get_devices;
    known->CreateEp = create_ep;
    known->ReleaseEp = release_ep;
    known->ValidateCompiledModelCompatibilityInfo = validate_compiled;
    known->CreateAllocator = create_allocator;
    known->ReleaseAllocator = release_allocator;
    known->CreateDataTransfer = create_data_transfer;
    known->IsStreamAware = is_stream_aware;
    known->CreateSyncStreamForDevice = create_stream;
    f->table.get_domain_count = get_domain_count;
    f->table.get_domains = get_domains;
}

static void release(factory *f)
{
    if (f->registry != NULL) {
        f->runtime.newer->release_registry(f->registry);
    }
    plugin_custom_release(&f->runtime, &f->spelled);
    free(f);
}

OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                             OrtEpFactory **factories, size_t most, size_t *count)
{
    (void)name;
    (void)logger;
    plugin_runtime runtime;
    bool known;
    *count = 0;
    PLUGIN_TRY(plugin_runtime_find(base, &runtime, &known));
    if (!known) {
        return NULL; /* no table to make a status with: the runtime sees that there is no factory */
    }
    if (most < 1) {
        return plugin_fail(runtime.api, ORT_INVALID_ARGUMENT, "rmsnorm: there is no room for a factory");
    }
    factory *const made = calloc(1, sizeof *made);
    if (made == NULL) {
        return plugin_fail(runtime.api, ORT_EP_FAIL, "rmsnorm: no memory is left");
    }
    made->runtime = runtime;
    fill(made);
    OrtStatus *status = NULL;
    if (runtime.newer != NULL) {
        status = plugin_registry_create(&made->runtime, made->makers, &made->registry);
        if (status == NULL && wants_spelling()) {
            status = plugin_custom_spelling(&made->runtime, &made->spelled);
            made->runtime.has_spelling = status == NULL;
        }
    }
    if (status != NULL) {
        release(made);
        return status;
    }
    factories[0] = &made->table.known;
    *count = 1;
    return NULL;
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *released)
{
    if (released != NULL) {
        release((factory *)released);
    }
    return NULL;
}
