/* ort.c: ONNX Runtime's CPU provider through its C API, loaded at run time: one node, IO binding, outputs preallocated.
 *
 * The library is that of the environment's RMSNORM_ORT_LIBRARY, else the system's libonnxruntime.so.1. Its workers stop spinning at the end of
 * a call ("session.force_spinning_stop"), so that they do not take the cores from the contender that follows. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#if defined(RMSNORM_HAVE_ORT)

#include <dlfcn.h>
#include <onnxruntime_c_api.h>

/* The first version with the model editor; any later runtime has it too. */
#define API_VERSION 22

typedef struct ort {
    void *library;
    const OrtApi *api;
    OrtEnv *env;
    OrtSession *session;
    OrtIoBinding *binding;
    OrtRunOptions *run_options;
} ort;

/* The sentence of a failure into why; true without one. */
static bool good(const ort *state, OrtStatus *status, char why[256])
{
    if (status == NULL) {
        return true;
    }
    snprintf(why, 256, "ONNX Runtime: %s", state->api->GetErrorMessage(status));
    for (char *c = why; *c != '\0'; c++) {
        *c = *c == '\n' ? ' ' : *c;
    }
    state->api->ReleaseStatus(status);
    return false;
}

#define TRY(expression)                        \
    do {                                       \
        if (!good(state, (expression), why)) { \
            return false;                      \
        }                                      \
    } while (0)

static bool load(ort *state, char why[256])
{
    const char *const chosen = getenv("RMSNORM_ORT_LIBRARY");
    const char *const path = chosen != NULL && chosen[0] != '\0' ? chosen : "libonnxruntime.so.1";
    state->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (state->library == NULL) {
        snprintf(why, 256, "ONNX Runtime is not there: %s", dlerror());
        return false;
    }
    const OrtApiBase *(*base)(void);
    void *const symbol = dlsym(state->library, "OrtGetApiBase");
    memcpy(&base, &symbol, sizeof base);
    state->api = symbol != NULL ? base()->GetApi(API_VERSION) : NULL;
    if (state->api == NULL) {
        snprintf(why, 256, "%s is no ONNX Runtime of version 1.%d or later", path, API_VERSION);
        return false;
    }
    return true;
}

static ONNXTensorElementDataType type_of(rmsnorm_dtype dtype)
{
    return (ONNXTensorElementDataType)dtype; /* ORT counts as TensorProto does, for these four */
}

/* One value of the graph: its name, type, shape and memory. */
typedef struct value {
    const char *name;
    rmsnorm_dtype dtype;
    int64_t dims[2];
    size_t rank;
    void *data;
    bool output;
} value;

static size_t list_values(const bench_case *what, const bench_data *data, value values[6])
{
    const bool skip = data->skip != NULL;
    size_t count = 0;
    const int64_t rows = what->rows;
    const int64_t h = what->hidden_size;
    values[count++] = (value){"input", what->dtype, {rows, h}, 2, data->input, false};
    if (skip) {
        values[count++] = (value){"skip", what->dtype, {rows, h}, 2, data->skip, false};
    }
    values[count++] = (value){"gamma", what->gamma_dtype, {h, 0}, 1, data->gamma, false};
    if (data->bias != NULL) {
        values[count++] = (value){"bias", what->dtype, {h, 0}, 1, data->bias, false};
    }
    values[count++] = (value){"output", what->gamma_dtype, {rows, h}, 2, data->output, true};
    if (data->sum != NULL) {
        values[count++] = (value){"sum", what->dtype, {rows, h}, 2, data->sum, true};
    }
    return count;
}

static bool make_graph(const ort *state, const bench_case *what, const value *values, size_t count, OrtModel *model,
                       char why[256])
{
    const OrtModelEditorApi *const editor = state->api->GetModelEditorApi();
    OrtGraph *graph;
    OrtValueInfo *infos[2][6];
    const char *names[2][6];
    size_t counts[2] = {0, 0};
    TRY(editor->CreateGraph(&graph));
    for (size_t i = 0; i < count; i++) {
        OrtTensorTypeAndShapeInfo *shape;
        OrtTypeInfo *type;
        const int side = values[i].output;
        TRY(state->api->CreateTensorTypeAndShapeInfo(&shape));
        TRY(state->api->SetTensorElementType(shape, type_of(values[i].dtype)));
        TRY(state->api->SetDimensions(shape, values[i].dims, values[i].rank));
        TRY(editor->CreateTensorTypeInfo(shape, &type));
        TRY(editor->CreateValueInfo(values[i].name, type, &infos[side][counts[side]]));
        names[side][counts[side]++] = values[i].name;
        state->api->ReleaseTypeInfo(type);
        state->api->ReleaseTensorTypeAndShapeInfo(shape);
    }
    /* The sum is slot 3; the statistics before it are not wanted. */
    const char *slots[4] = {"output", "", "", "sum"};
    const float epsilon = 1e-5f;
    OrtOpAttr *attribute;
    OrtNode *node;
    TRY(state->api->CreateOpAttr("epsilon", &epsilon, 1, ORT_OP_ATTR_FLOAT, &attribute));
    TRY(editor->CreateNode(what->op->name, what->op->domain, "node", names[0], counts[0], slots, counts[1] > 1 ? 4 : 1,
                           &attribute, 1, &node));
    TRY(editor->AddNodeToGraph(graph, node));
    TRY(editor->SetGraphInputs(graph, infos[0], counts[0]));
    TRY(editor->SetGraphOutputs(graph, infos[1], counts[1]));
    TRY(editor->AddGraphToModel(model, graph));
    return true;
}

static bool make_session(ort *state, const bench_case *what, const value *values, size_t count, char why[256])
{
    const OrtModelEditorApi *const editor = state->api->GetModelEditorApi();
    const char *const domains[] = {"", "com.microsoft"};
    const int versions[] = {what->op->since_version > 17 ? what->op->since_version : 17, 1};
    OrtModel *model;
    OrtSessionOptions *options;
    TRY(editor->CreateModel(domains, versions, 2, &model));
    if (!make_graph(state, what, values, count, model, why)) {
        return false;
    }
    TRY(state->api->CreateSessionOptions(&options));
    TRY(state->api->SetIntraOpNumThreads(options, (int)what->threads));
    TRY(state->api->AddSessionConfigEntry(options, "session.force_spinning_stop", "1"));
    TRY(editor->CreateSessionFromModel(state->env, model, options, &state->session));
    state->api->ReleaseSessionOptions(options);
    state->api->ReleaseModel(model);
    return true;
}

static bool bind(ort *state, const value *values, size_t count, char why[256])
{
    OrtMemoryInfo *memory;
    TRY(state->api->CreateIoBinding(state->session, &state->binding));
    TRY(state->api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    for (size_t i = 0; i < count; i++) {
        size_t bytes = rmsnorm_dtype_size(values[i].dtype);
        for (size_t d = 0; d < values[i].rank; d++) {
            bytes *= (size_t)values[i].dims[d];
        }
        OrtValue *tensor;
        TRY(state->api->CreateTensorWithDataAsOrtValue(memory, values[i].data, bytes, values[i].dims, values[i].rank,
                                                       type_of(values[i].dtype), &tensor));
        TRY(values[i].output ? state->api->BindOutput(state->binding, values[i].name, tensor)
                             : state->api->BindInput(state->binding, values[i].name, tensor));
        state->api->ReleaseValue(tensor);
    }
    state->api->ReleaseMemoryInfo(memory);
    return true;
}

static void release(void *user)
{
    ort *const state = user;
    if (state->api != NULL) {
        state->api->ReleaseRunOptions(state->run_options);
        state->api->ReleaseIoBinding(state->binding);
        state->api->ReleaseSession(state->session);
        state->api->ReleaseEnv(state->env);
    }
    free(state); /* the library stays loaded: its threads may not be gone yet */
}

static bool prepare(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    ort *const state = calloc(1, sizeof *state);
    *user = state;
    if (state == NULL) {
        snprintf(why, 256, "out of memory");
        return false;
    }
    value values[6];
    const size_t count = list_values(what, data, values);
    if (!load(state, why)) {
        return false;
    }
    TRY(state->api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &state->env));
    TRY(state->api->CreateRunOptions(&state->run_options));
    return make_session(state, what, values, count, why) && bind(state, values, count, why);
}

static bool call(void *user)
{
    const ort *const state = user;
    OrtStatus *const status = state->api->RunWithBinding(state->session, state->run_options, state->binding);
    if (status != NULL) {
        state->api->ReleaseStatus(status);
    }
    return status == NULL;
}

#else

static bool prepare(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    (void)what;
    (void)data;
    *user = NULL;
    snprintf(why, 256, "built without ONNX Runtime's header: scripts/bootstrap bench fetches it");
    return false;
}

static bool call(void *user)
{
    (void)user;
    return false;
}

static void release(void *user)
{
    (void)user;
}

#endif

const bench_contender bench_ort = {"ONNX Runtime", prepare, call, release};
