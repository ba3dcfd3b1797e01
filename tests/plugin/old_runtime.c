/* old_runtime.c: a library that ONNX Runtime takes for the plug-in: it hands the plug-in a runtime that answers as 1.23 does. */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef OrtStatus *create_function(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                   OrtEpFactory **factories, size_t most, size_t *count);
typedef OrtStatus *release_function(OrtEpFactory *factory);

EXPORT create_function CreateEpFactories;
EXPORT release_function ReleaseEpFactory;

static const OrtApiBase *real;
static void *plugin;

static const OrtApi *ORT_API_CALL get_api(uint32_t version)
{
    return version <= 23 ? real->GetApi(version) : NULL;
}

static const char *ORT_API_CALL get_version(void)
{
    return "1.23.0";
}

OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                             OrtEpFactory **factories, size_t most, size_t *count)
{
    static const OrtApiBase old = {get_api, get_version};
    create_function *create;
    real = base;
    plugin = dlopen(PLUGIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *const symbol = plugin != NULL ? dlsym(plugin, "CreateEpFactories") : NULL;
    if (symbol == NULL) {
        return base->GetApi(ORT_API_VERSION)->CreateStatus(ORT_FAIL, "the plug-in is not there");
    }
    memcpy(&create, &symbol, sizeof create);
    return create(name, &old, logger, factories, most, count);
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
    release_function *release;
    void *const symbol = dlsym(plugin, "ReleaseEpFactory");
    memcpy(&release, &symbol, sizeof release);
    OrtStatus *const status = release(factory);
    dlclose(plugin);
    return status;
}
