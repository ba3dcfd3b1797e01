/* provider.h: the execution provider: which nodes it takes from a graph, and how they are run. */
#ifndef RMSNORM_PLUGIN_PROVIDER_H
#define RMSNORM_PLUGIN_PROVIDER_H

#include "kernel.h"

/* A node to be compiled: a kernel whose slots still have names. */
typedef struct plugin_plan {
    struct plugin_plan *next;
    plugin_kernel kernel;
    char *inputs[PLUGIN_SLOTS], *outputs[PLUGIN_SLOTS]; /* NULL: none, or a constant of the kernel's */
    char *refusal;                                      /* why it is not compiled; else NULL */
} plugin_plan;

typedef struct plugin_provider {
    plugin_ep_table table; /* first: it is what the runtime knows */
    const plugin_runtime *runtime;
    const OrtLogger *logger;
    const plugin_registry *registry; /* of the factory; NULL: all nodes are compiled */
    plugin_options options;
    plugin_plan *plans; /* of the graph that was looked at last */
    bool has_compiled;  /* nodes of a graph */
} plugin_provider;

/* Reads the options of a session: entries "ep.rmsnormexecutionprovider.NAME". A name or value that is not known
 * is refused with what is. */
OrtStatus *plugin_options_read(const plugin_runtime *runtime, const OrtSessionOptions *session,
                               plugin_options *options);

OrtStatus *plugin_provider_create(const plugin_runtime *runtime, const plugin_options *options, const OrtLogger *logger,
                                  const plugin_registry *registry, OrtEp **ep);
void plugin_provider_release(OrtEp *ep);

/* Of the table. */
OrtStatus *ORT_API_CALL plugin_claim(OrtEp *self, const OrtGraph *graph, OrtEpGraphSupportInfo *support);
OrtStatus *ORT_API_CALL plugin_compile(OrtEp *self, const OrtGraph **graphs, const OrtNode **nodes, size_t count,
                                       OrtNodeComputeInfo **infos, OrtNode **context_nodes);
void ORT_API_CALL plugin_release_compiled(OrtEp *self, OrtNodeComputeInfo **infos, size_t count);

void plugin_plans_release(plugin_provider *provider);

#endif
