#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

OrtStatus *plugin_fail(const OrtApi *api, OrtErrorCode code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return api->CreateStatus(code, text);
}

OrtErrorCode plugin_code(rmsnorm_status status)
{
    switch (status) {
    case RMSNORM_OK:
        return ORT_OK;
    case RMSNORM_UNSUPPORTED:
        return ORT_NOT_IMPLEMENTED;
    case RMSNORM_INVALID_ARGUMENT:
        return ORT_INVALID_ARGUMENT;
    default:
        return ORT_EP_FAIL;
    }
}

/* Any table: its first members, CreateStatus among them, have been the same since the first version. */
static const OrtApi *any_table(const OrtApiBase *base)
{
    const OrtApi *api = NULL;
    for (uint32_t version = PLUGIN_OLDEST_API; api == NULL && version > 0; version--) {
        api = base->GetApi(version);
    }
    return api;
}

OrtStatus *plugin_runtime_find(const OrtApiBase *base, plugin_runtime *runtime, bool *known)
{
    memset(runtime, 0, sizeof *runtime);
    *known = false;
    if (base == NULL || base->GetApi == NULL) {
        return NULL;
    }
    runtime->api = base->GetApi(PLUGIN_OLDEST_API);
    if (runtime->api == NULL) {
        const OrtApi *const api = any_table(base);
        const char *const version = base->GetVersionString != NULL ? base->GetVersionString() : NULL;
        *known = api != NULL;
        return api == NULL
                   ? NULL
                   : plugin_fail(api, ORT_NOT_IMPLEMENTED,
                                 "rmsnorm %s: this ONNX Runtime is %s; 1.%d or later is needed", rmsnorm_version(),
                                 version != NULL ? version : "of an unknown version", PLUGIN_OLDEST_API);
    }
    *known = true;
    runtime->ep_api = runtime->api->GetEpApi();
    if (runtime->ep_api == NULL) {
        return plugin_fail(runtime->api, ORT_NOT_IMPLEMENTED,
                           "rmsnorm %s: this ONNX Runtime was built without plug-in execution providers",
                           rmsnorm_version());
    }
    if (base->GetApi(PLUGIN_REGISTRY_API) != NULL) {
        runtime->newer_api = (const plugin_api *)base->GetApi(PLUGIN_REGISTRY_API);
        runtime->newer = (const plugin_ep_api *)runtime->ep_api;
    }
    return NULL;
}
