/* webgpu.h: the operators on a WebGPU device, through any library that offers the standard C API of webgpu.h (Dawn,
 * wgpu-native). It is loaded at run time; this header does not include webgpu.h, but its handles are webgpu.h's own.
 *
 *   rmsnorm_webgpu *gpu;
 *   if (rmsnorm_webgpu_open(NULL, &gpu) != RMSNORM_OK) { ... rmsnorm_run on the CPU does the same work ... }
 *   rmsnorm_webgpu_run_host(gpu, op, &attributes, inputs, 2, outputs, 1, NULL);     tensors in memory, as in rmsnorm_run
 *
 * or with tensors that stay on the device:
 *
 *   rmsnorm_webgpu_tensor x = {.tensor = {RMSNORM_FLOAT16, 2, {128, 4096}}}, scale = ..., y = {0};
 *   rmsnorm_webgpu_tensor_create(gpu, &x);
 *   rmsnorm_webgpu_upload(gpu, &x, data);
 *   rmsnorm_webgpu_run(gpu, op, &attributes, inputs, 2, outputs, 1, NULL);          returns when the work is queued
 *   rmsnorm_webgpu_download(gpu, &y, result);                                       waits for it
 *
 * Every call may be made from any thread; calls on one device take turns. Waits are bounded (rmsnorm_webgpu_options.timeout).
 * What the device reports comes back as RMSNORM_DEVICE_FAILED (validation, shader, memory of the device: RMSNORM_OUT_OF_MEMORY),
 * RMSNORM_DEVICE_LOST or RMSNORM_TIMED_OUT, and rmsnorm_last_error() holds the device's own words. In a build without
 * WebGPU every call returns RMSNORM_NOT_BUILT. Needs librmsnorm_webgpu. */
#ifndef RMSNORM_WEBGPU_H
#define RMSNORM_WEBGPU_H

#include "rmsnorm/package.h"
#include "rmsnorm/rmsnorm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What webgpu.h calls WGPUInstance, WGPUDevice, WGPUBuffer and WGPUCommandEncoder are pointers to these. */
struct WGPUInstanceImpl;
struct WGPUDeviceImpl;
struct WGPUBufferImpl;
struct WGPUCommandEncoderImpl;

/* ---- Devices --------------------------------------------------------------------------------- */

typedef enum rmsnorm_adapter_kind {
    RMSNORM_ADAPTER_ANY = 0, /* to choose by: the first one the library offers */
    RMSNORM_ADAPTER_DISCRETE = 1,
    RMSNORM_ADAPTER_INTEGRATED = 2,
    RMSNORM_ADAPTER_SOFTWARE = 3,
    RMSNORM_ADAPTER_UNKNOWN = 4
} rmsnorm_adapter_kind;

/* "discrete", "integrated", "software", "unknown"; "any". */
RMSNORM_API const char *rmsnorm_adapter_kind_name(rmsnorm_adapter_kind kind);
RMSNORM_API rmsnorm_status rmsnorm_adapter_kind_from_name(const char *name, rmsnorm_adapter_kind *kind);

/* A GPU, or what stands in for one. Texts are the driver's, cut to fit. */
typedef struct rmsnorm_adapter {
    char name[128];   /* "NVIDIA H200"; "llvmpipe (LLVM 15.0.6, 256 bits)" */
    char driver[192]; /* what the driver says of itself */
    char vendor[48], architecture[48];
    char backend[16]; /* "Vulkan", "Metal", "D3D12" ... */
    rmsnorm_adapter_kind kind;
    uint32_t vendor_id, device_id;  /* PCI's */
    rmsnorm_device_profile profile; /* its limits; its features once it is opened: then they were tried */
    bool timestamps;                /* kernel times come from the device's clock; known once it is opened */
} rmsnorm_adapter;

/* Either of a device of its own (adapter, kind), or of the caller's (device, with its instance). */
typedef struct rmsnorm_webgpu_options {
    size_t struct_size;
    const char *library; /* file name; NULL: the environment's RMSNORM_WEBGPU_LIBRARY, then the usual names */
    const char *adapter; /* a part of name, driver, vendor, architecture or backend, in any case; NULL: any */
    rmsnorm_adapter_kind kind;
    struct WGPUInstanceImpl *instance; /* the caller's; kept alive while open */
    struct WGPUDeviceImpl *device;
    void *(*get_function)(void *user,
                          const char *name); /* the caller's WebGPU: "wgpuDeviceGetQueue" to its address, or NULL */
    void *user;                              /* of get_function */
    const rmsnorm_device_profile *profile; /* narrows limits and features, for tests; never widens; NULL: all it has */
    uint32_t timeout;                      /* milliseconds of any wait; 0: 60000 */
    const char
        *tuning; /* file of rmsnorm_tuning_*; NULL: the environment's RMSNORM_TUNING, then the user's cache; "": none */
} rmsnorm_webgpu_options;

#define RMSNORM_WEBGPU_OPTIONS_INIT                   \
    {                                                 \
        .struct_size = sizeof(rmsnorm_webgpu_options) \
    }

/* A device and all that is kept for it: pipelines, plans, buffers. */
typedef struct rmsnorm_webgpu rmsnorm_webgpu;

/* The file of the WebGPU library that options lead to, as the system knows it: at most size bytes with the terminator.
 * RMSNORM_NOT_FOUND when there is none: the sentence says what was tried. options may be NULL. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_library(const rmsnorm_webgpu_options *options, char *path, size_t size);

/* The adapters that options ask for: the first `capacity` of them into adapters, how many there are into *count. Finding none
 * is no error; not finding a library is RMSNORM_NOT_FOUND. options may be NULL. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_adapters(const rmsnorm_webgpu_options *options, rmsnorm_adapter *adapters,
                                                   size_t capacity, size_t *count);

/* options may be NULL: the first adapter. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_open(const rmsnorm_webgpu_options *options, rmsnorm_webgpu **webgpu);

/* Waits for nothing. Tensors created on it must have been released; a device of the caller's is left as it is. */
RMSNORM_API void rmsnorm_webgpu_close(rmsnorm_webgpu *webgpu);

RMSNORM_API void rmsnorm_webgpu_describe(const rmsnorm_webgpu *webgpu, rmsnorm_adapter *adapter);

/* Until all that was submitted here is done. Reports what went wrong since the last call that did. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_wait(rmsnorm_webgpu *webgpu);

/* ---- Tensors --------------------------------------------------------------------------------- */

/* A tensor on the device. Of `tensor`, dtype, rank and dims count; it is contiguous, row-major. To wrap a buffer of your own,
 * set all three members: the buffer's usage must have Storage (CopySrc and CopyDst for down- and upload); offset is a
 * multiple of minStorageBufferOffsetAlignment; and what an odd number of float16 leaves of its last four bytes belongs to the
 * tensor, too. */
typedef struct rmsnorm_webgpu_tensor {
    rmsnorm_tensor tensor;
    struct WGPUBufferImpl *buffer; /* NULL: none yet */
    uint64_t offset;               /* bytes */
} rmsnorm_webgpu_tensor;

/* Gives it a buffer, whose contents are not defined. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_tensor_create(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor);

/* Takes back the buffer of rmsnorm_webgpu_tensor_create or of a run, for later use; buffer becomes NULL. Work that was submitted
 * with it is not disturbed. */
RMSNORM_API void rmsnorm_webgpu_tensor_release(rmsnorm_webgpu *webgpu, rmsnorm_webgpu_tensor *tensor);

RMSNORM_API rmsnorm_status rmsnorm_webgpu_upload(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_tensor *tensor,
                                                 const void *data);
/* Waits for the work that was submitted before. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_download(rmsnorm_webgpu *webgpu, const rmsnorm_webgpu_tensor *tensor,
                                                   void *data);

/* ---- Run ------------------------------------------------------------------------------------- */

typedef struct rmsnorm_webgpu_run_options {
    size_t struct_size;
    const rmsnorm_package *package;         /* NULL: the embedded one of the operator */
    struct WGPUCommandEncoderImpl *encoder; /* record into it instead of submitting; the same device's */
    bool batch_invariant; /* a row's bits do not depend on how many rows there are; tuning is not used */
    const char *variant;  /* as in rmsnorm_request */
    rmsnorm_tunable tunables[RMSNORM_MAX_TUNABLES];
    size_t tunable_count;
    double *seconds; /* not NULL: waits, and sets the time of the kernels alone by the device's clock, or without one of
                        the call. Not with an encoder */
} rmsnorm_webgpu_run_options;

#define RMSNORM_WEBGPU_RUN_OPTIONS_INIT                   \
    {                                                     \
        .struct_size = sizeof(rmsnorm_webgpu_run_options) \
    }

/* Slots as in rmsnorm_run; a NULL tensor is omitted. An output without a buffer is inferred and created; one with a buffer must
 * have the type and dims that rmsnorm_infer says. An output may be exactly an input of the same type and shape; any other
 * overlap is refused. Tensors may lie side by side in one buffer. Returns when the work is queued: runs on one device happen
 * in the order of the calls, any number may be in flight. Nothing is submitted unless all checks passed. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_run(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                              const rmsnorm_attributes *attributes,
                                              const rmsnorm_webgpu_tensor *const *inputs, size_t input_count,
                                              rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                              const rmsnorm_webgpu_run_options *options);

/* The same with tensors in memory: what rmsnorm_run takes, and like it an output that is NULL or has NULL data is skipped. Waits. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_run_host(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                                   const rmsnorm_attributes *attributes,
                                                   const rmsnorm_tensor *const *inputs, size_t input_count,
                                                   rmsnorm_tensor *const *outputs, size_t output_count,
                                                   const rmsnorm_webgpu_run_options *options);

/* The plan that a run makes of such a request on this device, tuning looked up: its variant, shaders and dispatches. The request's
 * device does not count. package NULL: the embedded one of the operator. Release it with rmsnorm_plan_release. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_plan(rmsnorm_webgpu *webgpu, const rmsnorm_operator *op,
                                               const rmsnorm_package *package, const rmsnorm_request *request,
                                               rmsnorm_plan **plan);

/* A plan of rmsnorm_plan_make, or one that the caller wrote: its bindings name inputs and outputs by slot. All buffers must be there;
 * of the options, encoder and seconds count. Pipelines are kept by their shader's text. */
RMSNORM_API rmsnorm_status rmsnorm_webgpu_run_plan(rmsnorm_webgpu *webgpu, const rmsnorm_plan *plan,
                                                   const rmsnorm_webgpu_tensor *const *inputs, size_t input_count,
                                                   const rmsnorm_webgpu_tensor *const *outputs, size_t output_count,
                                                   const rmsnorm_webgpu_run_options *options);

/* ---- Tuning ---------------------------------------------------------------------------------- */

/* The winners of `rmsnorm tune`, for each adapter and class of requests: operator, types, outputs, and powers of two of rows and row
 * length. A JSON file. */
typedef struct rmsnorm_tuning rmsnorm_tuning;

/* A file that is not there is an empty table. NULL: where rmsnorm_webgpu_open looks. */
RMSNORM_API rmsnorm_status rmsnorm_tuning_open(const char *path, rmsnorm_tuning **tuning);
RMSNORM_API void rmsnorm_tuning_close(rmsnorm_tuning *tuning);
RMSNORM_API const char *rmsnorm_tuning_path(const rmsnorm_tuning *tuning);

typedef struct rmsnorm_tuning_choice {
    char variant[64]; /* "": the planner's */
    struct {
        char name[32];
        int64_t value;
    } tunables[RMSNORM_MAX_TUNABLES];
    size_t tunable_count;
    double seconds; /* when it was found */
    double default_seconds;
} rmsnorm_tuning_choice;

/* The class a request belongs to, as text: "_ai_onnx_simplifiedlayernormalization_webgpu_1a2b3c4 float16 float16 rows 2^7 width
 * 2^12*4". */
RMSNORM_API rmsnorm_status rmsnorm_tuning_class(const rmsnorm_package *package, const rmsnorm_request *request,
                                                char *text, size_t size);
/* Whether the table has a choice for the class on the adapter. An entry that is none counts as not there: with a variant or a
 * tunable whose name is longer than there is room for above, with too many tunables, or of other types. */
RMSNORM_API bool rmsnorm_tuning_find(const rmsnorm_tuning *tuning, const rmsnorm_adapter *adapter,
                                     const char *request_class, rmsnorm_tuning_choice *choice);
RMSNORM_API rmsnorm_status rmsnorm_tuning_put(rmsnorm_tuning *tuning, const rmsnorm_adapter *adapter,
                                              const char *request_class, const rmsnorm_tuning_choice *choice);
/* Through a temporary file in the same folder, so that the file is always whole. */
RMSNORM_API rmsnorm_status rmsnorm_tuning_save(const rmsnorm_tuning *tuning);

#ifdef __cplusplus
}
#endif

#endif
