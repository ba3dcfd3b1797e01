/* old_runtime.c: a library that ONNX Runtime takes for the plug-in: it hands the plug-in a runtime that answers as 1.23 does, and counts
 * what is handed to the runtime's pool. */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdatomic.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef OrtStatus *create_function(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                   OrtEpFactory **factories, size_t most, size_t *count);
typedef OrtStatus *release_function(OrtEpFactory *factory);

EXPORT create_function CreateEpFactories;
EXPORT release_function ReleaseEpFactory;
EXPORT void take_handed(size_t *calls, size_t *tasks);

static const OrtApiBase *real;
static void *plugin;

/* ---- The pool -------------------------------------------------------------------------------- */

static OrtApi table;
static atomic_size_t handed_calls, handed_tasks;

/* The runtime orders a call before its tasks, and these before what follows, in ways that ThreadSanitizer does not see, since the runtime is
 * built without it. Here it sees them; tasks are not ordered among themselves. */
typedef struct handed {
    void (*task)(void *user, size_t index);
    void *user;
    atomic_size_t begun, done;
} handed;

static void run_task(void *user, size_t index)
{
    handed *const h = user;
    (void)atomic_load_explicit(&h->begun, memory_order_acquire);
    h->task(h->user, index);
    atomic_fetch_add_explicit(&h->done, 1, memory_order_release);
}

static OrtStatus *ORT_API_CALL parallel_for(const OrtKernelContext *context, void (*task)(void *, size_t), size_t count,
                                            size_t batches, void *user)
{
    handed h = {.task = task, .user = user};
    atomic_fetch_add(&handed_calls, 1);
    atomic_fetch_add(&handed_tasks, count);
    atomic_store_explicit(&h.begun, 1, memory_order_release);
    OrtStatus *const status =
        real->GetApi(ORT_API_VERSION)->KernelContext_ParallelFor(context, run_task, count, batches, &h);
    return atomic_load_explicit(&h.done, memory_order_acquire) == count || status != NULL
               ? status
               : table.CreateStatus(ORT_FAIL, "the pool left tasks out");
}

void take_handed(size_t *calls, size_t *tasks)
{
    *calls = atomic_exchange(&handed_calls, 0);
    *tasks = atomic_exchange(&handed_tasks, 0);
}

/* ---- The runtime ----------------------------------------------------------------------------- */

static const OrtApi *ORT_API_CALL get_api(uint32_t version)
{
    return version == ORT_API_VERSION ? &table : version < ORT_API_VERSION ? real->GetApi(version) : NULL;
}

static const char *ORT_API_CALL get_version(void)
{
    return "1.23.0";
}

OrtStatus *CreateEpFactories(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                             OrtEpFactory **factories, size_t most, size_t *count)
{
    static const OrtApiBase old = {get_api, get_version};
    create_function *create;
    real = base;
    table = *base->GetApi(ORT_API_VERSION);
    table.KernelContext_ParallelFor = parallel_for;
    plugin = dlopen(PLUGIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    void *const symbol = plugin != NULL ? dlsym(plugin, "CreateEpFactories") : NULL;
    if (symbol == NULL) {
        return base->GetApi(ORT_API_VERSION)->CreateStatus(ORT_FAIL, "the plug-in is not there");
    }
    memcpy(&create, &symbol, sizeof create);
    return create(name, &old, logger, factories, most, count);
}

OrtStatus *ReleaseEpFactory(OrtEpFactory *factory)
{
    release_function *release;
    void *const symbol = dlsym(plugin, "ReleaseEpFactory");
    memcpy(&release, &symbol, sizeof release);
    OrtStatus *const status = release(factory);
    dlclose(plugin);
    return status;
}
