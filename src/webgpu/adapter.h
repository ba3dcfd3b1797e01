/* adapter.h: which adapters an instance offers, and opening a device of one. */
#ifndef RMSNORM_WEBGPU_ADAPTER_H
#define RMSNORM_WEBGPU_ADAPTER_H

#include "webgpu/answer.h"

/* How an adapter is asked for: webgpu.h has no list of them. */
typedef struct rmsnorm_adapter_way {
    WGPUBackendType backend;
    WGPUPowerPreference power;
    bool fallback;
} rmsnorm_adapter_way;

/* The index-th way there is, the library's own first choice first; false past the last. The backend that computes nothing is only
 * among them when asked for by name. */
bool rmsnorm_adapter_way_at(size_t index, const rmsnorm_webgpu_options *options, rmsnorm_adapter_way *way);

/* NULL, with RMSNORM_OK: there is none. */
rmsnorm_status rmsnorm_adapter_request(const rmsnorm_webgpu_functions *functions, WGPUInstance instance,
                                       const rmsnorm_adapter_way *way, uint32_t timeout, WGPUAdapter *adapter);

/* Everything but the features and timestamps. */
void rmsnorm_adapter_read(const rmsnorm_webgpu_functions *functions, WGPUAdapter adapter, rmsnorm_adapter *to);
void rmsnorm_adapter_read_info(const WGPUAdapterInfo *info, rmsnorm_adapter *to);
void rmsnorm_adapter_read_limits(const WGPULimits *limits, rmsnorm_device_profile *profile);

bool rmsnorm_adapter_matches(const rmsnorm_adapter *adapter, const rmsnorm_webgpu_options *options);

/* What options ask for, in words. */
const char *rmsnorm_adapter_wish(const rmsnorm_webgpu_options *options, char *text, size_t size);

/* The caller's options, however short its header knew them. */
rmsnorm_status rmsnorm_webgpu_read_options(const rmsnorm_webgpu_options *options, rmsnorm_webgpu_options *ours);

/* A struct of webgpu.h that the library fills in: it may know more members than our header. */
typedef union rmsnorm_roomy_limits {
    WGPULimits limits;
    unsigned char room[sizeof(WGPULimits) + 256];
} rmsnorm_roomy_limits;
typedef union rmsnorm_roomy_info {
    WGPUAdapterInfo info;
    unsigned char room[sizeof(WGPUAdapterInfo) + 128];
} rmsnorm_roomy_info;

#endif
