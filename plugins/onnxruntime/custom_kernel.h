/* custom_kernel.h: what runs a custom operator: our kernel, or the runtime's own where the contract refuses an attribute. */
#ifndef RMSNORM_PLUGIN_CUSTOM_KERNEL_H
#define RMSNORM_PLUGIN_CUSTOM_KERNEL_H

#include "custom.h"

/* Of the table of a plugin_custom_op. */
OrtStatus *ORT_API_CALL plugin_custom_create(const OrtCustomOp *self, const OrtApi *api, const OrtKernelInfo *info,
                                             void **made);
OrtStatus *ORT_API_CALL plugin_custom_compute(void *self, OrtKernelContext *context);
void ORT_API_CALL plugin_custom_destroy(void *self);

#endif
