#include "provider.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------- */

enum { MOST_THREADS = 65536 };

static bool read_threads(const char *value, plugin_options *options)
{
    char *end;
    const unsigned long threads = strtoul(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || threads > MOST_THREADS) {
        return false;
    }
    options->threads = threads != 0 ? threads : options->threads;
    return true;
}

static bool read_isa(const char *value, plugin_options *options)
{
    return rmsnorm_isa_from_name(value, &options->isa) == RMSNORM_OK;
}

/* Names of operators. */
static bool read_disabled(const char *value, plugin_options *options)
{
    static const char between[] = ", ";
    size_t length;
    for (const char *at = value + strspn(value, between); *at != '\0'; at += length, at += strspn(at, between)) {
        const rmsnorm_operator *found = NULL, *op;
        length = strcspn(at, between);
        for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; i++) {
            found = strlen(op->name) == length && memcmp(op->name, at, length) == 0 ? op : found;
        }
        if (found == NULL) {
            return false;
        }
        options->disabled |= UINT32_C(1) << found->kind;
    }
    return true;
}

static bool read_switch(const char *value, bool *on)
{
    *on = strcmp(value, "1") == 0;
    return *on || strcmp(value, "0") == 0;
}

static bool read_fuse(const char *value, plugin_options *options)
{
    return read_switch(value, &options->fuse);
}

static bool read_log(const char *value, plugin_options *options)
{
    bool log;
    const bool good = read_switch(value, &log);
    options->level = log ? ORT_LOGGING_LEVEL_WARNING : ORT_LOGGING_LEVEL_INFO;
    return good;
}

static const struct {
    const char *name, *allowed; /* NULL: what the library names */
    bool (*read)(const char *value, plugin_options *options);
} known_options[] = {
    {"threads", "a number from 0 to 65536; 0 is one for each core", read_threads},
    {"isa", NULL, read_isa},
    {"disable", "a list of operators with commas between them, as SimplifiedLayerNormalization,RMSNormalization",
     read_disabled},
    {"fuse", "0 or 1", read_fuse},
    {"log", "0 or 1", read_log},
};

/* What is given may be anything, and a status is text: what is no plain letter of it becomes '?'. */
typedef struct shown {
    char text[128];
} shown;

static shown show(const char *given)
{
    shown s;
    snprintf(s.text, sizeof s.text, "%s", given);
    for (char *c = s.text; *c != '\0'; c++) {
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    }
    return s;
}

/* "auto, scalar, ..." */
static shown list_isas(void)
{
    shown s = {""};
    for (int isa = RMSNORM_ISA_AUTO; isa < RMSNORM_ISA_COUNT; isa++) {
        const size_t used = strlen(s.text);
        snprintf(s.text + used, sizeof s.text - used, "%s%s", used == 0 ? "" : ", ",
                 rmsnorm_isa_name((rmsnorm_isa)isa));
    }
    return s;
}

static OrtStatus *read_option(const OrtApi *api, const char *name, const char *value, plugin_options *options)
{
    char names[128] = "";
    for (size_t i = 0; i < sizeof known_options / sizeof known_options[0]; i++) {
        const size_t used = strlen(names);
        snprintf(names + used, sizeof names - used, "%s%s", i == 0 ? "" : ", ", known_options[i].name);
        if (strcmp(known_options[i].name, name) == 0) {
            const char *const allowed = known_options[i].allowed;
            return known_options[i].read(value, options)
                       ? NULL
                       : plugin_fail(api, ORT_INVALID_ARGUMENT, "rmsnorm: provider option %s is \"%s\"; allowed is %s",
                                     name, show(value).text, allowed != NULL ? allowed : list_isas().text);
        }
    }
    return plugin_fail(api, ORT_INVALID_ARGUMENT, "rmsnorm: no provider option \"%s\"; there are %s", show(name).text,
                       names);
}

OrtStatus *plugin_options_read(const plugin_runtime *runtime, const OrtSessionOptions *session, plugin_options *options)
{
    static const char prefix[] = "ep.rmsnormexecutionprovider.";
    const OrtApi *const api = runtime->api;
    OrtKeyValuePairs *entries;
    const char *const *keys, *const *values;
    size_t count;
    OrtStatus *status = NULL;
    PLUGIN_TRY(api->GetSessionOptionsConfigEntries(session, &entries));
    api->GetKeyValuePairs(entries, &keys, &values, &count);
    for (size_t i = 0; status == NULL && i < count; i++) {
        if (strncmp(keys[i], prefix, sizeof prefix - 1) == 0) {
            status = read_option(api, keys[i] + sizeof prefix - 1, values[i], options);
        }
        if (strcmp(keys[i], "ep.context_enable") == 0 && strcmp(values[i], "1") == 0) {
            options->compile = false;
        }
    }
    api->ReleaseKeyValuePairs(entries);
    return status != NULL ? status : plugin_options_check(api, options);
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
