/* package.h: kernel packages, and the planner that turns a request into shaders and dispatches. No GPU, no threads.
 *
 *   rmsnorm_package *package;
 *   rmsnorm_package_open_operator("", "SimplifiedLayerNormalization", &package);
 *   rmsnorm_request request = RMSNORM_REQUEST_INIT;
 *   request.inputs[0] = &x; request.inputs[1] = &scale;        descriptors, in ONNX's slots
 *   rmsnorm_plan *plan;
 *   rmsnorm_plan_make(package, &request, &plan);
 *
 * The format of a package: docs/packages.md. Needs librmsnorm_webgpu. */
#ifndef RMSNORM_PACKAGE_H
#define RMSNORM_PACKAGE_H

#include "rmsnorm/rmsnorm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RMSNORM_MANIFEST_SPEC "rmsnorm-1" /* the one spec whose variants are understood here */
#define RMSNORM_MAX_SLOTS 8               /* inputs, or outputs, of an operator that has a package */

/* ---- Packages -------------------------------------------------------------------------------- */

/* An opened package does not change: any number of threads may use it, and several versions of one live side by side. */
typedef struct rmsnorm_package rmsnorm_package;

/* From a folder: a package's own (with build/webgpu/ in it), or build/webgpu itself. The digest of every file is checked
 * before anything is used; a file that is missing, unlisted, renamed or changed is named. */
RMSNORM_API rmsnorm_status rmsnorm_package_open(const char *folder, rmsnorm_package **package);

/* A file of a package that is in memory. */
typedef struct rmsnorm_package_file {
    const char *name; /* "manifest.json" */
    const void *data;
    size_t size;
} rmsnorm_package_file;

/* The same from the files of build/webgpu, metadata.json among them. The data is copied. */
RMSNORM_API rmsnorm_status rmsnorm_package_open_files(const rmsnorm_package_file *files, size_t count,
                                                      rmsnorm_package **package);

/* The same for a host that has digests of its own and has checked them, as a browser has: no digest is made here. Files that
 * metadata.json lists may be missing, for a plan needs the manifest and the templates only. */
RMSNORM_API rmsnorm_status rmsnorm_package_open_verified(const rmsnorm_package_file *files, size_t count,
                                                         rmsnorm_package **package);

/* The package for an operator that is compiled into the library. */
RMSNORM_API rmsnorm_status rmsnorm_package_open_operator(const char *domain, const char *name,
                                                         rmsnorm_package **package);

/* For authors: opens a folder after making `id` and `digest` of its metadata.json right. Nothing is written: what belongs
 * into the file is rmsnorm_package_text(package, "metadata.json", &size). */
RMSNORM_API rmsnorm_status rmsnorm_package_seal(const char *folder, rmsnorm_package **package);

RMSNORM_API void rmsnorm_package_close(rmsnorm_package *package);

/* A slot as the manifest has it. */
typedef struct rmsnorm_package_slot {
    const char *key;  /* the bind key: "x", "invStdVar" */
    const char *onnx; /* ONNX's name: "X", "inv_std_var" */
    const char *type; /* the name of a type constraint */
    bool optional;
} rmsnorm_package_slot;

/* What a package says about itself. All strings live as long as it does. */
typedef struct rmsnorm_package_info {
    const char *name;   /* "ai.onnx.SimplifiedLayerNormalization" */
    const char *id;     /* "_ai_onnx_simplifiedlayernormalization_webgpu_1a2b3c4" */
    int64_t version;    /* of the contract */
    const char *spec;   /* of the manifest */
    const char *domain; /* "ai.onnx" */
    const char *operator_name;
    int64_t since_version;
    rmsnorm_package_slot inputs[RMSNORM_MAX_SLOTS];
    size_t input_count;
    rmsnorm_package_slot outputs[RMSNORM_MAX_SLOTS];
    size_t output_count;
    uint64_t serial; /* of the opening: no two packages that a process opens have the same */
    bool plans;      /* false for a spec that is not RMSNORM_MANIFEST_SPEC: the contract can be read, nothing planned */
} rmsnorm_package_info;

RMSNORM_API void rmsnorm_package_describe(const rmsnorm_package *package, rmsnorm_package_info *info);

/* A file's text, for instance "test.json"; NULL when the package has none of that name. */
RMSNORM_API const char *rmsnorm_package_text(const rmsnorm_package *package, const char *name, size_t *size);

/* ---- Devices --------------------------------------------------------------------------------- */

/* What a plan needs to know of a device: WebGPU's own names and defaults. */
typedef struct rmsnorm_device_profile {
    size_t struct_size;
    uint64_t max_storage_buffer_binding_size;
    uint64_t max_buffer_size;
    uint32_t min_storage_buffer_offset_alignment;
    uint32_t max_storage_buffers_per_shader_stage;
    uint32_t max_compute_workgroup_storage_size;
    uint32_t max_compute_invocations_per_workgroup;
    uint32_t max_compute_workgroup_size_x;
    uint32_t max_compute_workgroups_per_dimension;
    uint32_t subgroup_min_size, subgroup_max_size; /* 0 when there are none */
    bool shader_f16, subgroups;
} rmsnorm_device_profile;

/* clang-format off */
#define RMSNORM_DEVICE_PROFILE_INIT \
    {sizeof(rmsnorm_device_profile), (uint64_t)128 << 20, (uint64_t)256 << 20, 256, 8, 16384, 256, 256, 65535, 0, 0, false, false}
/* clang-format on */

/* Sets a field by WebGPU's name ("maxStorageBufferBindingSize") or a feature by its own ("shader-f16": 0 or 1). */
RMSNORM_API rmsnorm_status rmsnorm_device_profile_set(rmsnorm_device_profile *profile, const char *name,
                                                      uint64_t value);

/* ---- Requests -------------------------------------------------------------------------------- */

#define RMSNORM_MAX_TUNABLES 8

typedef struct rmsnorm_tunable {
    const char *name;
    int64_t value;
} rmsnorm_tunable;

/* Slots are ONNX's: inputs[3] is the fourth input. A NULL input is omitted; data is not looked at. */
typedef struct rmsnorm_request {
    size_t struct_size;
    const rmsnorm_tensor *inputs[RMSNORM_MAX_SLOTS];
    bool wanted[RMSNORM_MAX_SLOTS];  /* outputs beside the required ones */
    int in_place[RMSNORM_MAX_SLOTS]; /* the input whose buffer the output shares, plus 1; 0: its own buffer */
    bool beside_output
        [RMSNORM_MAX_SLOTS]; /* the input lies in a buffer that also holds an output, elsewhere in it: WebGPU
                                              wants all its bindings to be of one kind, so the shader declares the input as
                                              read_write, too */
    const rmsnorm_attributes *attributes; /* NULL: the manifest's defaults */
    const rmsnorm_device_profile *device; /* NULL: WebGPU's default limits, no features */
    rmsnorm_tunable tunables[RMSNORM_MAX_TUNABLES];
    size_t tunable_count;
    bool batch_invariant; /* the same variant for every number of rows, so that a row's bits do not depend on it */
    const char *variant;  /* only this one; NULL: the first whose conditions hold */
} rmsnorm_request;

#define RMSNORM_REQUEST_INIT                   \
    {                                          \
        .struct_size = sizeof(rmsnorm_request) \
    }

/* ---- Plans ----------------------------------------------------------------------------------- */

typedef enum rmsnorm_buffer_kind {
    RMSNORM_BUFFER_INPUT,
    RMSNORM_BUFFER_OUTPUT,
    RMSNORM_BUFFER_SCRATCH
} rmsnorm_buffer_kind;

/* A range of a buffer, bound as storage at `binding` of group 0. Its offset is legal for the device and its size a multiple
 * of 4: up to 3 bytes longer than a tensor of float16. */
typedef struct rmsnorm_binding {
    const char *name; /* the variable in the shader */
    rmsnorm_buffer_kind kind;
    size_t slot; /* of the input or output, or the index of the scratch buffer */
    bool writes; /* the shader declares it read_write */
    uint32_t binding;
    uint64_t offset, size; /* bytes */
} rmsnorm_binding;

/* One dispatch. Passes run in their order; each may read what earlier ones wrote. */
typedef struct rmsnorm_pass {
    size_t shader; /* index into the plan's shaders */
    const rmsnorm_binding *bindings;
    size_t binding_count;
    const uint32_t *uniforms; /* the contents of the uniform buffer, bound at uniform_binding */
    size_t uniform_count;
    uint32_t uniform_binding;
    uint32_t workgroups[3];
} rmsnorm_pass;

typedef struct rmsnorm_shader {
    const char *label; /* "SimplifiedLayerNormalization/rows/f16x4" */
    const char *wgsl;
    size_t length;
} rmsnorm_shader;

/* What a request comes to. Everything lives as long as the plan. */
struct rmsnorm_plan {
    const char *variant;
    rmsnorm_tensor outputs[RMSNORM_MAX_SLOTS]; /* dtype, rank and dims; rank RMSNORM_UNKNOWN where not wanted */
    size_t output_count;
    const rmsnorm_shader *shaders;
    size_t shader_count;
    const rmsnorm_pass *passes;
    size_t pass_count;       /* 0 when there are no elements */
    const uint64_t *scratch; /* bytes of each scratch buffer */
    size_t scratch_count;
    uint64_t peak_memory; /* bytes of all scratch and uniform buffers */
};
typedef struct rmsnorm_plan rmsnorm_plan;

/* Pure: the same package and request give the same bytes. A refusal is the contract's sentence, or says for each variant
 * which of its conditions does not hold. */
RMSNORM_API rmsnorm_status rmsnorm_plan_make(const rmsnorm_package *package, const rmsnorm_request *request,
                                             rmsnorm_plan **plan);
RMSNORM_API void rmsnorm_plan_release(rmsnorm_plan *plan);

/* ---- Templates by themselves ----------------------------------------------------------------- */

/* Renders a template with a JSON object as its context. For authors; includes are refused. text is released with free(). */
RMSNORM_API rmsnorm_status rmsnorm_template_render_json(const char *name, const char *source, size_t length,
                                                        const char *context, char **text);

#ifdef __cplusplus
}
#endif

#endif
