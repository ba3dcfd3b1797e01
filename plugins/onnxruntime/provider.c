#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------- */

enum { LONGEST_VALUE = 256 };

/* The value of an option, and whether it is there. */
static OrtStatus *read_option(const OrtApi *api, const OrtSessionOptions *session, const char *name,
                              char value[LONGEST_VALUE], bool *there)
{
    char key[64];
    int found = 0;
    size_t size = LONGEST_VALUE;
    snprintf(key, sizeof key, "ep.rmsnormexecutionprovider.%s", name);
    PLUGIN_TRY(api->HasSessionConfigEntry(session, key, &found));
    *there = found != 0;
    return found != 0 ? api->GetSessionConfigEntry(session, key, value, &size) : NULL;
}

static OrtStatus *refuse_option(const OrtApi *api, const char *name, const char *value, const char *allowed)
{
    return plugin_fail(api, ORT_INVALID_ARGUMENT, "rmsnorm: provider option %s is \"%s\"; allowed is %s", name, value,
                       allowed);
}

static bool read_threads(const char *value, plugin_options *options)
{
    char *end;
    const unsigned long threads = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || threads > 65536) {
        return false;
    }
    options->threads = threads != 0 ? threads : options->threads;
    return true;
}

/* Names of operators between commas. */
static bool read_disabled(const char *value, plugin_options *options)
{
    while (*value != '\0') {
        const size_t length = strcspn(value, ",");
        const rmsnorm_operator *found = NULL, *op;
        for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; i++) {
            found = strlen(op->name) == length && memcmp(op->name, value, length) == 0 ? op : found;
        }
        if (found == NULL) {
            return false;
        }
        options->disabled |= UINT32_C(1) << found->kind;
        value += length + (value[length] == ',');
    }
    return true;
}

static bool read_switch(const char *value, bool *on)
{
    *on = strcmp(value, "1") == 0;
    return *on || strcmp(value, "0") == 0;
}

OrtStatus *plugin_options_read(const plugin_runtime *runtime, const OrtSessionOptions *session, plugin_options *options)
{
    const OrtApi *const api = runtime->api;
    char value[LONGEST_VALUE];
    bool there, log;
    PLUGIN_TRY(read_option(api, session, "threads", value, &there));
    if (there && !read_threads(value, options)) {
        return refuse_option(api, "threads", value, "a number; 0 is one for each core");
    }
    PLUGIN_TRY(read_option(api, session, "isa", value, &there));
    if (there && rmsnorm_isa_from_name(value, &options->isa) != RMSNORM_OK) {
        return refuse_option(api, "isa", value, "auto, scalar, neon, avx2 or avx512");
    }
    PLUGIN_TRY(read_option(api, session, "disable", value, &there));
    if (there && !read_disabled(value, options)) {
        return refuse_option(api, "disable", value,
                             "a list of operators with commas between them, as "
                             "SimplifiedLayerNormalization,RMSNormalization");
    }
    PLUGIN_TRY(read_option(api, session, "fuse", value, &there));
    if (there && !read_switch(value, &options->fuse)) {
        return refuse_option(api, "fuse", value, "0 or 1");
    }
    PLUGIN_TRY(read_option(api, session, "log", value, &there));
    if (there && !read_switch(value, &log)) {
        return refuse_option(api, "log", value, "0 or 1");
    }
    options->level = there && log ? ORT_LOGGING_LEVEL_WARNING : ORT_LOGGING_LEVEL_INFO;
    return plugin_options_check(api, options);
}

/* ---- The provider ---------------------------------------------------------------------------- */

static const char *ORT_API_CALL get_name(const OrtEp *self)
{
    (void)self;
    return PLUGIN_PROVIDER;
}

static OrtStatus *ORT_API_CALL get_registry(OrtEp *self, const plugin_registry **registry)
{
    *registry = ((const plugin_provider *)self)->registry;
    return NULL;
}

OrtStatus *plugin_provider_create(const plugin_runtime *runtime, const plugin_options *options, const OrtLogger *logger,
                                  const plugin_registry *registry, OrtEp **ep)
{
    plugin_provider *const provider = calloc(1, sizeof *provider);
    if (provider == NULL) {
        return plugin_fail(runtime->api, ORT_EP_FAIL, "rmsnorm: no memory is left");
    }
    OrtEp *const known = &provider->table.known;
    known->ort_version_supported = runtime->newer != NULL ? PLUGIN_REGISTRY_API : PLUGIN_OLDEST_API;
    known->GetName = get_name;
    known->GetCapability = plugin_claim;
    known->Compile = plugin_compile;
    known->ReleaseNodeComputeInfos = plugin_release_compiled;
    provider->table.get_registry = get_registry;
    provider->runtime = runtime;
    provider->logger = logger;
    provider->registry = registry;
    provider->options = *options;
    *ep = known;
    return NULL;
}

void plugin_plans_release(plugin_provider *provider)
{
    while (provider->plans != NULL) {
        plugin_plan *const plan = provider->plans;
        provider->plans = plan->next;
        for (size_t i = 0; i < PLUGIN_SLOTS; i++) {
            free(plan->inputs[i]);
            free(plan->outputs[i]);
        }
        free(plan->refusal);
        plugin_kernel_finish(&plan->kernel);
        free(plan);
    }
}

void plugin_provider_release(OrtEp *ep)
{
    if (ep != NULL) {
        plugin_plans_release((plugin_provider *)ep);
        free(ep);
    }
}
