/* custom.h: the operators as custom ones: in place of the runtime's, or where it has none. */
#ifndef RMSNORM_PLUGIN_CUSTOM_H
#define RMSNORM_PLUGIN_CUSTOM_H

#include "kernel.h"

enum { PLUGIN_DOMAIN_OPERATORS = 2 };

typedef struct plugin_custom_op {
    OrtCustomOp table; /* first: it is what the runtime knows */
    const plugin_runtime *runtime;
    const rmsnorm_operator *op;
    const char *provider; /* NULL: the runtime's CPU provider */
} plugin_custom_op;

/* Stays where it is as long as a session may use it. Zero before. */
typedef struct plugin_custom_domain {
    OrtCustomOpDomain *domain;
    plugin_custom_op ops[PLUGIN_DOMAIN_OPERATORS];
    size_t count;
} plugin_custom_domain;

/* Adds an operator to a domain that is there. provider NULL: the runtime's CPU provider. */
OrtStatus *plugin_custom_add(const plugin_runtime *runtime, plugin_custom_domain *domain, rmsnorm_operator_kind kind,
                             const char *provider);

/* com.microsoft::SimplifiedLayerNormalization for the provider of this library: models spell it so, the runtime has it in the
 * default domain alone. */
OrtStatus *plugin_custom_spelling(const plugin_runtime *runtime, plugin_custom_domain *domain);
void plugin_custom_release(const plugin_runtime *runtime, plugin_custom_domain *domain);

#endif
