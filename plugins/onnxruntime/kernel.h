/* kernel.h: one call of an operator, whoever asks for it: a node of the runtime's, a fused group, a custom operator. */
#ifndef RMSNORM_PLUGIN_KERNEL_H
#define RMSNORM_PLUGIN_KERNEL_H

#include "runtime.h"

enum { PLUGIN_SLOTS = 4 };

#define PLUGIN_OMITTED SIZE_MAX        /* no index */
#define PLUGIN_CONSTANT (SIZE_MAX - 1) /* an input that no run changes */

typedef struct plugin_options {
    size_t threads; /* that a call is cut for: cores, or what the option says. The session's own pool runs the tasks */
    rmsnorm_isa isa;
    uint32_t disabled; /* bit rmsnorm_operator_kind */
    bool fuse;
    bool compile;          /* nodes may be compiled: not so where the session is to write down what is */
    OrtLoggingLevel level; /* of what is told about claims */
} plugin_options;

typedef struct plugin_kernel {
    const OrtApi *api;
    const plugin_api *newer; /* or NULL */
    plugin_options options;
    const rmsnorm_operator *op;
    rmsnorm_attributes attributes;
    size_t inputs[PLUGIN_SLOTS];       /* of each slot, its index in the runtime's context, or one of the two above */
    rmsnorm_dtype types[PLUGIN_SLOTS]; /* of the inputs, as the model has it; RMSNORM_UNDEFINED: not said */
    size_t input_count;
    size_t outputs[PLUGIN_SLOTS];
    size_t output_count;
    bool fused; /* stands for several of the model's nodes, which take more shapes than it does */
    rmsnorm_tensor constants[PLUGIN_SLOTS]; /* where inputs say so */
    char name[128];                         /* the node's, for sentences */
} plugin_kernel;

/* Slots are indices, as in a node that was not fused. */
void plugin_kernel_init(plugin_kernel *kernel, const plugin_runtime *runtime, const plugin_options *options,
                        const rmsnorm_operator *op);
/* Frees its constants, where they are its own: those of a plan. */
void plugin_kernel_finish(plugin_kernel *kernel);

/* Reads attributes and the name, from a node that the runtime has made. An attribute that is refused keeps its default; of a refusal
 * the sentence is the last error. */
rmsnorm_status plugin_kernel_read(plugin_kernel *kernel, const OrtKernelInfo *info);

/* Which inputs and outputs that node has, the inputs' types, and which inputs are initializers that no run can replace: the session
 * keeps these where they are for as long as it has the kernel. */
OrtStatus *plugin_kernel_read_slots(plugin_kernel *kernel, const OrtKernelInfo *info);

/* Of an input or output of that node; false where it is omitted. */
bool plugin_kernel_type(const OrtApi *api, const OrtKernelInfo *info, bool output, size_t index, rmsnorm_dtype *dtype);

/* What a value of the runtime's holds, as this input; its memory stays the value's. A tensor without elements has memory as well.
 * One of another type than the model says is refused: a caller's own initializer may be. */
OrtStatus *plugin_tensor_read(const plugin_kernel *kernel, size_t slot, const OrtValue *value, rmsnorm_tensor *tensor);

OrtStatus *plugin_kernel_run(const plugin_kernel *kernel, OrtKernelContext *context);

/* The same by an operator of the runtime's own. */
OrtStatus *plugin_kernel_invoke(const plugin_kernel *kernel, OrtKernelContext *context, const OrtOp *other);

/* The last error of this thread, with the node's name before it. */
OrtStatus *plugin_kernel_refuse(const plugin_kernel *kernel, rmsnorm_status status);

/* All cores, the best instruction set, nothing disabled, told as information. */
plugin_options plugin_options_default(void);
/* Refuses an unknown RMSNORM_ISA of the environment. */
OrtStatus *plugin_options_check(const OrtApi *api, const plugin_options *options);

#endif
