/* library.h: a WebGPU library, found and loaded at run time, as a table of functions. */
#ifndef RMSNORM_WEBGPU_LIBRARY_H
#define RMSNORM_WEBGPU_LIBRARY_H

#include <webgpu.h>

#include "rmsnorm/webgpu.h"

typedef struct rmsnorm_webgpu_functions {
#define RMSNORM_WEBGPU_FUNCTION(name) WGPUProc##name name;
#include "webgpu/functions.inc"
#undef RMSNORM_WEBGPU_FUNCTION
} rmsnorm_webgpu_functions;

/* In this order: the caller's get_function; the library named in the options or in RMSNORM_WEBGPU_LIBRARY; what the process has
 * already; the usual names. A library stays loaded: drivers do not survive being unloaded. */
rmsnorm_status rmsnorm_webgpu_load(const rmsnorm_webgpu_options *options, rmsnorm_webgpu_functions *functions);

#endif
