/* entries.h: what the library exports, all of it. */
#ifndef RMSNORM_PLUGIN_ENTRIES_H
#define RMSNORM_PLUGIN_ENTRIES_H

#include <onnxruntime_c_api.h>

#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* As an execution provider: RegisterExecutionProviderLibrary. */
PLUGIN_EXPORT OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                           OrtEpFactory **factories, size_t most, size_t *count);
PLUGIN_EXPORT OrtStatus *ReleaseEpFactory(OrtEpFactory *factory);

/* As custom operators: RegisterCustomOpsLibrary_V2. */
PLUGIN_EXPORT OrtStatus *ORT_API_CALL RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base);

#endif
