#include "runtime.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Minor versions with which each was seen to hold, and with the release before it not, or not known. A version that does not say
 * its number counts as older. */
enum { NAMES_APART = 25, CHECKS_OUTPUTS = 30 };

OrtStatus *plugin_fail(const OrtApi *api, OrtErrorCode code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return api->CreateStatus(code, text);
}

bool plugin_passed(const OrtApi *api, OrtStatus *status)
{
    if (status != NULL) {
        api->ReleaseStatus(status);
    }
    return status == NULL;
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

/* The N of "1.N.x"; -1: not known. Asking for a table that is not there makes the runtime print a line. */
static long minor_version(const OrtApiBase *base)
{
    const char *const version = base->GetVersionString != NULL ? base->GetVersionString() : NULL;
    char *end = NULL;
    const long minor = version != NULL && strncmp(version, "1.", 2) == 0 ? strtol(version + 2, &end, 10) : -1;
    return end != NULL && end != version + 2 && *end == '.' && minor >= 0 ? minor : -1;
}

/* Any table: its first members, CreateStatus among them, have been the same since the first version. */
static const OrtApi *any_table(const OrtApiBase *base, long minor)
{
    const OrtApi *api = NULL;
    uint32_t version = minor > 0 && minor < PLUGIN_OLDEST_API ? (uint32_t)minor : PLUGIN_OLDEST_API - 1;
    for (; api == NULL && version > 0; version--) {
        api = base->GetApi(version);
    }
    return api;
}

static OrtStatus *refuse_version(const OrtApiBase *base, long minor, bool *known)
{
    const OrtApi *const api = any_table(base, minor);
    const char *const version = base->GetVersionString != NULL ? base->GetVersionString() : NULL;
    *known = api != NULL;
    return api == NULL
               ? NULL
               : plugin_fail(api, ORT_NOT_IMPLEMENTED, "rmsnorm %s: this ONNX Runtime is %s; 1.%d or later is needed",
                             rmsnorm_version(), version != NULL ? version : "of an unknown version", PLUGIN_OLDEST_API);
}

OrtStatus *plugin_runtime_find(const OrtApiBase *base, plugin_runtime *runtime, bool *known)
{
    memset(runtime, 0, sizeof *runtime);
    *known = false;
    if (base == NULL || base->GetApi == NULL) {
        return NULL;
    }
    const long minor = minor_version(base);
    runtime->api = minor < 0 || minor >= PLUGIN_OLDEST_API ? base->GetApi(PLUGIN_OLDEST_API) : NULL;
    if (runtime->api == NULL) {
        return refuse_version(base, minor, known);
    }
    *known = true;
    runtime->ep_api = runtime->api->GetEpApi();
    if (runtime->ep_api == NULL) {
        return plugin_fail(runtime->api, ORT_NOT_IMPLEMENTED,
                           "rmsnorm %s: this ONNX Runtime was built without plug-in execution providers",
                           rmsnorm_version());
    }
    const bool newer = minor < 0 || minor >= PLUGIN_REGISTRY_API;
    runtime->newer_api = newer ? (const plugin_api *)base->GetApi(PLUGIN_REGISTRY_API) : NULL;
    if (runtime->newer_api != NULL) {
        runtime->newer = (const plugin_ep_api *)runtime->ep_api;
        runtime->names_apart = minor >= NAMES_APART;
        runtime->checks_outputs = minor >= CHECKS_OUTPUTS;
    }
    return NULL;
}
