#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attributes.h"

plugin_options plugin_options_default(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return (plugin_options){.threads = cores > 0 ? (size_t)cores : 1,
                            .isa = RMSNORM_ISA_AUTO,
                            .fuse = true,
                            .compile = true,
                            .level = ORT_LOGGING_LEVEL_INFO};
}

OrtStatus *plugin_options_check(const OrtApi *api, const plugin_options *options)
{
    rmsnorm_isa isa;
    const rmsnorm_status status = rmsnorm_isa_in_use(options->isa, &isa);
    return status == RMSNORM_OK ? NULL : plugin_fail(api, plugin_code(status), "rmsnorm: %s", rmsnorm_last_error());
}

void plugin_kernel_init(plugin_kernel *kernel, const plugin_runtime *runtime, const plugin_options *options,
                        const rmsnorm_operator *op)
{
    memset(kernel, 0, sizeof *kernel);
    kernel->api = runtime->api;
    kernel->newer = runtime->newer_api;
    kernel->options = *options;
    kernel->op = op;
    rmsnorm_attributes_init(op, &kernel->attributes);
    kernel->input_count = op->input_count;
    kernel->output_count = op->output_count;
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        kernel->inputs[i] = i < op->input_count ? i : PLUGIN_OMITTED;
        kernel->outputs[i] = i < op->output_count ? i : PLUGIN_OMITTED;
    }
}

void plugin_kernel_finish(plugin_kernel *kernel)
{
    for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
        free(kernel->constants[i].data);
    }
}

OrtStatus *plugin_kernel_refuse(const plugin_kernel *kernel, rmsnorm_status status)
{
    return plugin_fail(kernel->api, plugin_code(status), "node \"%s\": %s", kernel->name, rmsnorm_last_error());
}

/* ---- From the runtime's node ----------------------------------------------------------------- */

rmsnorm_status plugin_kernel_read(plugin_kernel *kernel, const OrtKernelInfo *info)
{
    const OrtApi *const api = kernel->api;
    size_t size = sizeof kernel->name;
    if (!plugin_passed(api, api->KernelInfo_GetNodeName(info, kernel->name, &size))) {
        kernel->name[0] = '\0';
    }
    return plugin_attributes_read(api, kernel->op, plugin_attribute_of_kernel, info, &kernel->attributes);
}
