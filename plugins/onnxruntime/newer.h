/* newer.h: what ONNX Runtime has from 1.24 on and the headers of 1.23 do not declare: kernels in a provider's own registry,
 * and operators that a provider brings along. Members stand in the order of the runtime's own tables, which only ever
 * grow; they are used where GetApi(24) gives a table. */
#ifndef RMSNORM_PLUGIN_NEWER_H
#define RMSNORM_PLUGIN_NEWER_H

#include <onnxruntime_c_api.h>

#define PLUGIN_OLDEST_API 23   /* the first with OrtGraph */
#define PLUGIN_REGISTRY_API 24 /* the first with kernel registries */

/* Members that are not called here are void pointers: they keep the place. */
typedef struct plugin_registry plugin_registry;
typedef struct plugin_definition_builder plugin_definition_builder;
typedef struct plugin_definition plugin_definition;
typedef struct plugin_data_type plugin_data_type;

typedef struct plugin_kernel_table plugin_kernel_table;
struct plugin_kernel_table {
    uint32_t version;
    uint32_t flags; /* the runtime's own */
    OrtStatus *(ORT_API_CALL *compute)(plugin_kernel_table *self, OrtKernelContext *context);
    void(ORT_API_CALL *release)(plugin_kernel_table *self);
    void *pre_pack_weight, *set_shared_pre_packed_weight;
};

typedef OrtStatus *(ORT_API_CALL *plugin_kernel_create)(void *state, const OrtKernelInfo *info,
                                                        plugin_kernel_table **kernel);

/* OrtApi with what follows its members of 1.23. */
typedef struct plugin_api {
    OrtApi known;
    void *between[24];
    OrtStatus *(ORT_API_CALL *tensor_shape)(const OrtValue *value, ONNXTensorElementDataType *element,
                                            const int64_t **dims, size_t *rank); /* the dims stay the value's */
} plugin_api;

/* OrtEpApi with what follows. */
typedef struct plugin_ep_api {
    OrtEpApi known;
    void *create_hardware_device, *release_hardware_device;
    OrtStatus *(ORT_API_CALL *create_registry)(plugin_registry **registry);
    void(ORT_API_CALL *release_registry)(plugin_registry *registry);
    OrtStatus *(ORT_API_CALL *add_kernel)(plugin_registry *registry, const plugin_definition *definition,
                                          plugin_kernel_create create, void *state);
    OrtStatus *(ORT_API_CALL *create_builder)(plugin_definition_builder **builder);
    void(ORT_API_CALL *release_builder)(plugin_definition_builder *builder);
    OrtStatus *(ORT_API_CALL *set_operator)(plugin_definition_builder *builder, const char *type);
    OrtStatus *(ORT_API_CALL *set_domain)(plugin_definition_builder *builder, const char *domain);
    OrtStatus *(ORT_API_CALL *set_versions)(plugin_definition_builder *builder, int first, int last);
    OrtStatus *(ORT_API_CALL *set_provider)(plugin_definition_builder *builder, const char *provider);
    void *set_input_memory, *set_output_memory;
    OrtStatus *(ORT_API_CALL *add_types)(plugin_definition_builder *builder, const char *constraint,
                                         const plugin_data_type *const *types, size_t count);
    void *add_aliases;
    OrtStatus *(ORT_API_CALL *add_in_place)(plugin_definition_builder *builder, const int *inputs, const int *outputs,
                                            size_t count);
    OrtStatus *(ORT_API_CALL *build)(plugin_definition_builder *builder, plugin_definition **definition);
    void(ORT_API_CALL *release_definition)(plugin_definition *definition);
    void *definition_type, *definition_domain, *definition_versions, *definition_provider, *definition_input_memory,
        *definition_output_memory;
    OrtStatus *(ORT_API_CALL *tensor_type)(ONNXTensorElementDataType element, const plugin_data_type **type);
    OrtStatus *(ORT_API_CALL *look_up_kernel)(OrtEpGraphSupportInfo *support, const OrtNode *node,
                                              const plugin_definition **definition);
    void *store_weight_data;
    OrtStatus *(ORT_API_CALL *kernel_provider)(const OrtKernelInfo *info, const OrtEp **provider);
} plugin_ep_api;

/* OrtEp with what follows. */
typedef struct plugin_ep_table {
    OrtEp known;
    OrtStatus *(ORT_API_CALL *get_registry)(OrtEp *self, const plugin_registry **registry);
    void *is_concurrent_run_supported; /* NULL: it is */
} plugin_ep_table;

/* OrtEpFactory with what follows. */
typedef struct plugin_factory_table {
    OrtEpFactory known;
    void *get_incompatibility, *create_resource_importer;
    OrtStatus *(ORT_API_CALL *get_domain_count)(OrtEpFactory *self, size_t *count);
    OrtStatus *(ORT_API_CALL *get_domains)(OrtEpFactory *self, OrtCustomOpDomain **domains, size_t count);
} plugin_factory_table;

#endif
