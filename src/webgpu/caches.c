#include "webgpu/caches.h"

#include <string.h>

#include "operator/error.h"
#include "webgpu/buffer.h"
#include "webgpu/programs.h"

rmsnorm_status rmsnorm_caches_open(rmsnorm_webgpu *webgpu, const char *tuning)
{
    RMSNORM_TRY(rmsnorm_pipelines_open(webgpu));
    RMSNORM_TRY(rmsnorm_programs_open(webgpu));
    return tuning != NULL && tuning[0] == '\0' ? RMSNORM_OK : rmsnorm_tuning_open(tuning, &webgpu->tuning);
}

void rmsnorm_caches_close(rmsnorm_webgpu *webgpu)
{
    rmsnorm_programs_close(webgpu);
    rmsnorm_pipelines_close(webgpu);
    for (size_t i = 0; i < RMSNORM_WEBGPU_SCRATCH; i++) {
        rmsnorm_buffer_give(webgpu, webgpu->scratch[i]);
    }
    rmsnorm_buffers_close(webgpu);
    for (size_t i = 0; i < RMSNORM_WEBGPU_OPERATORS; i++) {
        rmsnorm_package_close(webgpu->packages[i]);
    }
    rmsnorm_tuning_close(webgpu->tuning);
}
