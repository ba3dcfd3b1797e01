/* register.c: what the runtime finds in the library when it is registered as one of custom operators. */
#include <pthread.h>
#include <stdlib.h>

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
    PLUGIN_TRY(runtime.api->AddCustomOpDomain(options, domains->standard.domain));
    return runtime.api->AddCustomOpDomain(options, domains->microsoft.domain);
}
