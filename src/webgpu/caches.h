/* caches.h: all that is kept for a device between calls. */
#ifndef RMSNORM_WEBGPU_CACHES_H
#define RMSNORM_WEBGPU_CACHES_H

#include "webgpu/device.h"

/* tuning as in rmsnorm_webgpu_options. */
rmsnorm_status rmsnorm_caches_open(rmsnorm_webgpu *webgpu, const char *tuning);
void rmsnorm_caches_close(rmsnorm_webgpu *webgpu);

#endif
