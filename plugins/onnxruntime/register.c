/* register.c: what the runtime finds in the library when it is registered as one of custom operators. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "custom.h"
#include "entries.h"

/* Domains are shared by all sessions of a runtime, and go with the library. */
typedef struct registered {
    struct registered *next;
    plugin_runtime runtime;
    plugin_custom_domain standard, microsoft;
} registered;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static registered *all;

static void release(registered *one)
{
    plugin_custom_release(&one->runtime, &one->standard);
    plugin_custom_release(&one->runtime, &one->microsoft);
    free(one);
}

__attribute__((destructor)) static void release_all(void)
{
    while (all != NULL) {
        registered *const one = all;
        all = one->next;
        release(one);
    }
}

static OrtStatus *make_domains(registered *one)
{
    const plugin_runtime *const runtime = &one->runtime;
    PLUGIN_TRY(runtime->api->CreateCustomOpDomain("", &one->standard.domain));
    PLUGIN_TRY(runtime->api->CreateCustomOpDomain("com.microsoft", &one->microsoft.domain));
    PLUGIN_TRY(plugin_custom_add(runtime, &one->standard, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, NULL));
    PLUGIN_TRY(plugin_custom_add(runtime, &one->standard, RMSNORM_RMS_NORMALIZATION, NULL));
    PLUGIN_TRY(plugin_custom_add(runtime, &one->microsoft, RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION, NULL));
    return plugin_custom_add(runtime, &one->microsoft, RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION, NULL);
}

/* Under the lock. */
static OrtStatus *find_domains(const plugin_runtime *runtime, registered **found)
{
    for (*found = all; *found != NULL; *found = (*found)->next) {
        if ((*found)->runtime.api == runtime->api) {
            return NULL;
        }
    }
    registered *const made = calloc(1, sizeof *made);
    if (made == NULL) {
        return plugin_fail(runtime->api, ORT_FAIL, "rmsnorm: no memory is left");
    }
    made->runtime = *runtime;
    OrtStatus *const status = make_domains(made);
    if (status != NULL) {
        release(made);
        return status;
    }
    made->next = all;
    *found = all = made;
    return NULL;
}

/* ---- The runtime's optimizers ---------------------------------------------------------------- */

#define KEY "optimization.disable_specified_optimizers"

/* Those that make operators of com.microsoft out of the standard's. The runtime gives a domain of custom operators version 1000 in a
 * model that does not import it, and has its own operators of com.microsoft up to version 1: what these make is then "not a
 * registered function/op". Whether a model imports the domain cannot be seen here. The basic level makes none, and what changes
 * nodes of com.microsoft has some only in a model that imports it. */
static const char optimizers[] = "AttentionFusion;"
                                 "BiasDropoutFusion;"
                                 "BiasGeluFusion;"
                                 "BiasSoftmaxFusion;"
                                 "ConvActivationFusion;"
                                 "ConvAddActivationFusion;"
                                 "DQMatMulNBitsFusion;"
                                 "DynamicQuantizeMatMulFusion;"
                                 "EmbedLayerNormFusion;"
                                 "FastGeluFusion;"
                                 "GeluApproximation;"
                                 "GeluFusionL2;"
                                 "GemmActivationFusion;"
                                 "MatMulActivationFusion;"
                                 "MatMulIntegerToFloatFusion;"
                                 "MatMulScaleFusion;"
                                 "MatmulTransposeFusion;"
                                 "NhwcTransformer;"
                                 "QDQSelectorActionTransformer;"
                                 "QuickGeluFusion;"
                                 "SkipLayerNormFusion";

/* Behind what is switched off already. */
static OrtStatus *switch_off(const OrtApi *api, OrtSessionOptions *options)
{
    char list[4096];
    int there = 0;
    size_t size = sizeof list - sizeof optimizers - 1;
    list[0] = '\0';
    PLUGIN_TRY(api->HasSessionConfigEntry(options, KEY, &there));
    if (there != 0) {
        PLUGIN_TRY(api->GetSessionConfigEntry(options, KEY, list, &size));
    }
    const size_t used = strlen(list);
    snprintf(list + used, sizeof list - used, "%s%s", used != 0 ? ";" : "", optimizers);
    return api->AddSessionConfigEntry(options, KEY, list);
}

OrtStatus *ORT_API_CALL RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base)
{
    plugin_runtime runtime;
    bool known;
    registered *domains = NULL;
    PLUGIN_TRY(plugin_runtime_find(base, &runtime, &known));
    if (!known) {
        return NULL; /* no table to make a status with */
    }
    pthread_mutex_lock(&lock);
    OrtStatus *const status = find_domains(&runtime, &domains);
    pthread_mutex_unlock(&lock);
    PLUGIN_TRY(status);
    PLUGIN_TRY(switch_off(runtime.api, options));
    PLUGIN_TRY(runtime.api->AddCustomOpDomain(options, domains->standard.domain));
    return runtime.api->AddCustomOpDomain(options, domains->microsoft.domain);
}
