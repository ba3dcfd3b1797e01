#include "ort_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first version with the model editor; any later runtime has it too. */
#define API_VERSION 22

bool bench_ort_check(const OrtApi *api, OrtStatus *status, char why[256])
{
    if (status == NULL) {
        return true;
    }
    snprintf(why, 256, "ONNX Runtime: %s", api->GetErrorMessage(status));
    for (char *c = why; *c != '\0'; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    api->ReleaseStatus(status);
    return false;
}

const OrtApi *bench_ort_load(const char **version, char why[256])
{
    const char *const chosen = getenv("RMSNORM_ORT_LIBRARY");
    const char *const path = chosen != NULL && chosen[0] != '\0' ? chosen : "libonnxruntime.so.1";
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(why, 256, "ONNX Runtime is not there (RMSNORM_ORT_LIBRARY names its library): %s", dlerror());
        return NULL;
    }
    const OrtApiBase *(*base)(void);
    void *const symbol = dlsym(library, "OrtGetApiBase");
    memcpy(&base, &symbol, sizeof base);
    const OrtApi *const api = symbol != NULL ? base()->GetApi(API_VERSION) : NULL;
    if (api != NULL && version != NULL) {
        *version = base()->GetVersionString();
    }
    if (api == NULL) {
        snprintf(why, 256, "%s is no ONNX Runtime of version 1.%d or later", path, API_VERSION);
    }
    return api;
}
