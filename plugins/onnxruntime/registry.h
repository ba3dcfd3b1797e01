/* registry.h: kernels for nodes as they stand, where the runtime has registries. */
#ifndef RMSNORM_PLUGIN_REGISTRY_H
#define RMSNORM_PLUGIN_REGISTRY_H

#include "provider.h"

enum { PLUGIN_MOST_OPERATORS = 8 };

/* What a kernel of an operator is made from. Stays where it is as long as the registry. */
typedef struct plugin_maker {
    const plugin_runtime *runtime;
    const rmsnorm_operator *op;
} plugin_maker;

OrtStatus *plugin_registry_create(const plugin_runtime *runtime, plugin_maker makers[PLUGIN_MOST_OPERATORS],
                                  plugin_registry **registry);

#endif
