/* ort_session.c: one node, IO binding, outputs preallocated. */
#include <stdlib.h>

#include "ort_session.h"

#define TRY BENCH_ORT_TRY

bool bench_ort_good(const bench_ort_session *session, OrtStatus *status, char why[256])
{
    return bench_ort_check(session->api, status, why);
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

static bool make_graph(const bench_ort_session *session, const bench_case *what, const value *values, size_t count,
                       char why[256])
{
    const OrtApi *const api = session->api;
    const OrtModelEditorApi *const editor = api->GetModelEditorApi();
    OrtGraph *graph;
    OrtValueInfo *infos[2][6];
    const char *names[2][6];
    size_t counts[2] = {0, 0};
    TRY(editor->CreateGraph(&graph));
    for (size_t i = 0; i < count; i++) {
        OrtTensorTypeAndShapeInfo *shape;
        OrtTypeInfo *type;
        const int side = values[i].output;
        TRY(api->CreateTensorTypeAndShapeInfo(&shape));
        TRY(api->SetTensorElementType(shape, type_of(values[i].dtype)));
        TRY(api->SetDimensions(shape, values[i].dims, values[i].rank));
        TRY(editor->CreateTensorTypeInfo(shape, &type));
        TRY(editor->CreateValueInfo(values[i].name, type, &infos[side][counts[side]]));
        names[side][counts[side]++] = values[i].name;
        api->ReleaseTypeInfo(type);
        api->ReleaseTensorTypeAndShapeInfo(shape);
    }
    /* The sum is slot 3; the statistics before it are not wanted. */
    const char *slots[4] = {"output", "", "", "sum"};
    const float epsilon = 1e-5f;
    OrtOpAttr *attribute;
    OrtNode *node;
    TRY(api->CreateOpAttr("epsilon", &epsilon, 1, ORT_OP_ATTR_FLOAT, &attribute));
    TRY(editor->CreateNode(what->op->name, what->op->domain, BENCH_ORT_NODE, names[0], counts[0], slots,
                           counts[1] > 1 ? 4 : 1, &attribute, 1, &node));
    TRY(editor->AddNodeToGraph(graph, node));
    TRY(editor->SetGraphInputs(graph, infos[0], counts[0]));
    TRY(editor->SetGraphOutputs(graph, infos[1], counts[1]));
    TRY(editor->AddGraphToModel(session->model, graph));
    return true;
}

static bool make_session(bench_ort_session *session, const bench_case *what, const value *values, size_t count,
                         bench_ort_configure *configure, char why[256])
{
    const OrtModelEditorApi *const editor = session->api->GetModelEditorApi();
    const char *const domains[] = {"", "com.microsoft"};
    const int versions[] = {what->op->since_version > 17 ? what->op->since_version : 17, 1};
    TRY(editor->CreateModel(domains, versions, 2, &session->model));
    if (!make_graph(session, what, values, count, why)) {
        return false;
    }
    TRY(session->api->CreateSessionOptions(&session->options));
    if (!configure(session, what, why)) {
        return false;
    }
    TRY(editor->CreateSessionFromModel(session->env, session->model, session->options, &session->session));
    return true;
}

static bool bind(bench_ort_session *session, const value *values, size_t count, char why[256])
{
    const OrtApi *const api = session->api;
    OrtMemoryInfo *memory;
    TRY(api->CreateIoBinding(session->session, &session->binding));
    TRY(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    for (size_t i = 0; i < count; i++) {
        size_t bytes = rmsnorm_dtype_size(values[i].dtype);
        for (size_t d = 0; d < values[i].rank; d++) {
            bytes *= (size_t)values[i].dims[d];
        }
        OrtValue *tensor;
        TRY(api->CreateTensorWithDataAsOrtValue(memory, values[i].data, bytes, values[i].dims, values[i].rank,
                                                type_of(values[i].dtype), &tensor));
        TRY(values[i].output ? api->BindOutput(session->binding, values[i].name, tensor)
                             : api->BindInput(session->binding, values[i].name, tensor));
        api->ReleaseValue(tensor);
    }
    api->ReleaseMemoryInfo(memory);
    return true;
}

bool bench_ort_open(bench_ort_session *session, const bench_case *what, const bench_data *data,
                    bench_ort_configure *configure, char why[256])
{
    value values[6];
    const size_t count = list_values(what, data, values);
    session->api = bench_ort_load(NULL, why);
    if (session->api == NULL) {
        return false;
    }
    TRY(session->api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "bench", &session->env));
    TRY(session->api->CreateRunOptions(&session->run_options));
    return make_session(session, what, values, count, configure, why) && bind(session, values, count, why);
}

bool bench_ort_run(const bench_ort_session *session, char why[256])
{
    return bench_ort_good(session,
                          session->api->RunWithBinding(session->session, session->run_options, session->binding), why);
}

void bench_ort_close(bench_ort_session *session)
{
    const OrtApi *const api = session->api;
    if (api != NULL) {
        api->ReleaseRunOptions(session->run_options);
        api->ReleaseIoBinding(session->binding);
        api->ReleaseSession(session->session);
        api->ReleaseSessionOptions(session->options);
        api->ReleaseModel(session->model);
        api->ReleaseEnv(session->env);
    }
}
