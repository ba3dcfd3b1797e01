/* runtime.h: the ONNX Runtime this library was loaded by. */
#ifndef RMSNORM_PLUGIN_RUNTIME_H
#define RMSNORM_PLUGIN_RUNTIME_H

#include "newer.h"
#include "rmsnorm/rmsnorm.h"

#define PLUGIN_PROVIDER "RmsNormExecutionProvider"

typedef struct plugin_runtime {
    const OrtApi *api;
    const OrtEpApi *ep_api;
    const plugin_api *newer_api; /* api and ep_api, where they are long enough; else NULL */
    const plugin_ep_api *newer;
    bool
        checks_outputs; /* a custom operator that infers a result which is not there gets a status, and harms nothing */
    bool has_spelling;  /* com.microsoft::SimplifiedLayerNormalization has a schema: this library's, when asked for */
    bool names_apart;   /* what is compiled in graphs inside graphs gets names that do not collide */
} plugin_runtime;

/* NULL, or a status that says which versions would do. A runtime that gives no table at all gives no status either, since
 * only a table can make one: then *known is false. */
OrtStatus *plugin_runtime_find(const OrtApiBase *base, plugin_runtime *runtime, bool *known);

/* A status with a sentence: "FORMAT". */
OrtStatus *plugin_fail(const OrtApi *api, OrtErrorCode code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Takes a status that only says that something is not there. */
bool plugin_passed(const OrtApi *api, OrtStatus *status);

OrtErrorCode plugin_code(rmsnorm_status status);

/* Leaves a function that returns OrtStatus*. */
#define PLUGIN_TRY(expression)                   \
    do {                                         \
        OrtStatus *const status_ = (expression); \
        if (status_ != NULL) {                   \
            return status_;                      \
        }                                        \
    } while (0)

#endif
