/* call.h: one run of a kernel: its tensors, and how they are computed. */
#ifndef RMSNORM_PLUGIN_CALL_H
#define RMSNORM_PLUGIN_CALL_H

#include "kernel.h"

typedef struct plugin_call {
    const plugin_kernel *kernel;
    OrtKernelContext *context;
    const rmsnorm_tensor *inputs[PLUGIN_SLOTS]; /* of `tensors` or of the kernel's constants; NULL: omitted */
    rmsnorm_tensor *outputs[PLUGIN_SLOTS];
    rmsnorm_tensor
        tensors[2][PLUGIN_SLOTS]; /* inputs, outputs; not initialized: two kilobytes would show in a call's time */
} plugin_call;

/* Memory for a result, by the shape that its tensor has; one that is not wanted after all is omitted from then on. */
OrtStatus *plugin_call_output(plugin_call *c, size_t slot);

/* Whether no result touches an input or another result. in_place: but for one that lies exactly where an input of rows does.
 * A caller may have bound any memory to either. */
bool plugin_call_is_apart(const plugin_call *c, bool in_place);

rmsnorm_options plugin_call_options(plugin_call *c);

/* A fused node whose inputs have other shapes than its claim was told, as where dims of one name differ and so broadcast: computed
 * step by step, each with the shape that it has. Makes the results that are wanted. */
OrtStatus *plugin_call_spread(plugin_call *c);

#endif
