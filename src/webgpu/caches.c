#include "webgpu/caches.h"

#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "webgpu/buffer.h"
#include "webgpu/programs.h"

/* A file that was named must be right; one in the user's cache folder is only a cache. */
static rmsnorm_status open_tuning(const char *path, rmsnorm_tuning **tuning)
{
    const char *const named = path != NULL ? path : getenv("RMSNORM_TUNING");
    if (named != NULL && named[0] == '\0') {
        return RMSNORM_OK;
    }
    const rmsnorm_status status = rmsnorm_tuning_open(named, tuning);
    return named == NULL && status != RMSNORM_OUT_OF_MEMORY ? RMSNORM_OK : status;
}

rmsnorm_status rmsnorm_caches_open(rmsnorm_webgpu *webgpu, const char *tuning)
{
    RMSNORM_TRY(rmsnorm_pipelines_open(webgpu));
    RMSNORM_TRY(rmsnorm_programs_open(webgpu));
    return open_tuning(tuning, &webgpu->tuning);
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
