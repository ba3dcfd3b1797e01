#include "registry.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- Kernels --------------------------------------------------------------------------------- */

typedef struct node_kernel {
    plugin_kernel_table table; /* first: it is what the runtime knows */
    plugin_kernel kernel;
} node_kernel;

static OrtStatus *ORT_API_CALL compute(plugin_kernel_table *self, OrtKernelContext *context)
{
    return plugin_kernel_run(&((node_kernel *)self)->kernel, context);
}

static void ORT_API_CALL release(plugin_kernel_table *self)
{
    free(self);
}

static OrtStatus *ORT_API_CALL create_kernel(void *state, const OrtKernelInfo *info, plugin_kernel_table **made)
{
    const plugin_maker *const maker = state;
    const OrtEp *provider;
    PLUGIN_TRY(maker->runtime->newer->kernel_provider(info, &provider));
    node_kernel *const kernel = calloc(1, sizeof *kernel);
    if (kernel == NULL) {
        return plugin_fail(maker->runtime->api, ORT_EP_FAIL, "rmsnorm: no memory is left");
    }
    kernel->table.version = PLUGIN_REGISTRY_API;
    kernel->table.compute = compute;
    kernel->table.release = release;
    plugin_kernel_init(&kernel->kernel, maker->runtime, &((const plugin_provider *)provider)->options, maker->op);
    const rmsnorm_status read = plugin_kernel_read(&kernel->kernel, info);
    OrtStatus *const status = read != RMSNORM_OK ? plugin_kernel_refuse(&kernel->kernel, read)
                                                 : plugin_kernel_read_slots(&kernel->kernel, info);
    if (status != NULL) {
        free(kernel);
        return status;
    }
    *made = &kernel->table;
    return NULL;
}

/* ---- Definitions ----------------------------------------------------------------------------- */

enum { MOST_TYPES = 8 };

static OrtStatus *add_types(const plugin_runtime *runtime, plugin_definition_builder *builder, const char *constraint,
                            rmsnorm_dtypes types)
{
    const plugin_data_type *list[MOST_TYPES];
    size_t count = 0;
    for (int type = 0; type < 32; type++) {
        if ((types >> type & 1) != 0 && count < MOST_TYPES) {
            PLUGIN_TRY(runtime->newer->tensor_type((ONNXTensorElementDataType)type, &list[count++]));
        }
    }
    return runtime->newer->add_types(builder, constraint, list, count);
}

/* Which inputs may become which outputs, when all are of one type. */
static OrtStatus *add_in_place(const plugin_runtime *runtime, plugin_definition_builder *builder,
                               const rmsnorm_operator *op)
{
    static const int inputs[] = {0, 0, 1, 1}, outputs[] = {0, 3, 0, 3};
    const bool skip = op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    return runtime->newer->add_in_place(builder, inputs, outputs, skip ? 4 : 1);
}

static OrtStatus *describe(const plugin_maker *maker, plugin_definition_builder *builder, rmsnorm_dtypes input,
                           rmsnorm_dtypes scale)
{
    const plugin_ep_api *const api = maker->runtime->newer;
    const rmsnorm_operator *const op = maker->op;
    const char *const names[] = {op->inputs[0].type, op->inputs[op->input_count - 1].type};
    const bool one_type = strcmp(names[0], names[1]) == 0;
    PLUGIN_TRY(api->set_operator(builder, op->name));
    PLUGIN_TRY(api->set_domain(builder, op->domain));
    PLUGIN_TRY(api->set_versions(builder, op->since_version, INT_MAX));
    PLUGIN_TRY(api->set_provider(builder, PLUGIN_PROVIDER));
    PLUGIN_TRY(add_types(maker->runtime, builder, names[0], input));
    if (!one_type) {
        PLUGIN_TRY(add_types(maker->runtime, builder, names[1], scale));
    }
    return input == scale ? add_in_place(maker->runtime, builder, op) : NULL;
}

static OrtStatus *add_kernel(plugin_maker *maker, plugin_registry *registry, rmsnorm_dtypes input, rmsnorm_dtypes scale)
{
    const plugin_ep_api *const api = maker->runtime->newer;
    plugin_definition_builder *builder;
    plugin_definition *definition = NULL;
    PLUGIN_TRY(api->create_builder(&builder));
    OrtStatus *status = describe(maker, builder, input, scale);
    if (status == NULL) {
        status = api->build(builder, &definition);
    }
    if (status == NULL) {
        status = api->add_kernel(registry, definition, create_kernel, maker);
        api->release_definition(definition);
    }
    api->release_builder(builder);
    return status;
}

static rmsnorm_dtypes types_of(const rmsnorm_operator *op, const char *constraint)
{
    for (size_t i = 0; i < op->type_constraint_count; i++) {
        if (strcmp(op->type_constraints[i].name, constraint) == 0) {
            return op->type_constraints[i].types[RMSNORM_DEVICE_CPU];
        }
    }
    return 0;
}

/* One kernel for each type where input and scale have the same, which may work in place, and one where they differ: the runtime
 * reuses memory by its size, and a result of another type may not lie where its input does. */
static OrtStatus *add_operator(plugin_maker *maker, plugin_registry *registry)
{
    const rmsnorm_operator *const op = maker->op;
    const char *const input = op->inputs[0].type, *const scale = op->inputs[op->input_count - 1].type;
    const rmsnorm_dtypes inputs = types_of(op, input), scales = types_of(op, scale);
    for (int type = 0; type < 32; type++) {
        const rmsnorm_dtypes one = inputs & RMSNORM_DTYPES(type);
        if (one != 0 && (scales & one) != 0) {
            PLUGIN_TRY(add_kernel(maker, registry, one, one));
        }
        if (one != 0 && strcmp(input, scale) != 0 && (scales & ~one) != 0) {
            PLUGIN_TRY(add_kernel(maker, registry, one, scales & ~one));
        }
    }
    return NULL;
}

OrtStatus *plugin_registry_create(const plugin_runtime *runtime, plugin_maker makers[PLUGIN_MOST_OPERATORS],
                                  plugin_registry **registry)
{
    PLUGIN_TRY(runtime->newer->create_registry(registry));
    OrtStatus *status = NULL;
    for (size_t i = 0; status == NULL && i < PLUGIN_MOST_OPERATORS && rmsnorm_operator_at(i) != NULL; i++) {
        makers[i] = (plugin_maker){runtime, rmsnorm_operator_at(i)};
        status = add_operator(&makers[i], *registry);
    }
    if (status != NULL) {
        runtime->newer->release_registry(*registry);
        *registry = NULL;
    }
    return status;
}
