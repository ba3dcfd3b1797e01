#define _POSIX_C_SOURCE 200809L

#include "ort_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ort_profile.h"
#include "ort_session.h"

#define PROVIDER "RmsNormExecutionProvider"
#define LIBRARY "rmsnorm"

enum { MOST = 512, SAMPLES = 2000, SAMPLES_LEAST = 7, PROFILED = 20 };
/* A sample lasts so long at least. */
#define SAMPLE_US 300.0

typedef struct side {
    OrtSessionOptions *options;
    OrtSession *session;
    OrtIoBinding *binding;
    OrtValue **results; /* of the first run: later ones write there again */
    size_t result_count;
    int calls; /* per sample */
    double samples[SAMPLES];
} side;

typedef struct bench_run {
    const OrtApi *api;
    const bench_model_request *request;
    bench_model_report *report;
    OrtEnv *env;
    OrtAllocator *allocator; /* the runtime's, not to be released */
    bool registered;
    OrtValue *inputs[MOST];
    char *input_names[MOST], *output_names[MOST];
    size_t input_count, output_count;
    bool *dims_met; /* of each dim that is asked for, whether an input has it */
    side *sides;
} bench_run;

static bool works(const bench_run *run, int which)
{
    return run->report->failed[which][0] == '\0';
}

/* A session to ask: the other one's inputs and outputs are the same. */
static const OrtSession *any_session(const bench_run *run)
{
    return run->sides[works(run, BENCH_MODEL_ALONE) ? BENCH_MODEL_ALONE : BENCH_MODEL_PLUGIN].session;
}

/* The plug-in's own sentence, where the runtime has put a place in its source and names of functions before it. */
static bool good(const bench_run *run, OrtStatus *status, char why[256])
{
    const char *const text = status != NULL ? run->api->GetErrorMessage(status) : "";
    const char *const own = strstr(text, "rmsnorm: ");
    if (own == NULL) {
        const bench_ort_session session = {.api = run->api};
        return bench_ort_good(&session, status, why);
    }
    snprintf(why, 256, "%s", own + strlen("rmsnorm: "));
    why[strcspn(why, "\n")] = '\0';
    run->api->ReleaseStatus(status);
    return false;
}

#define TRY(expression)                      \
    do {                                     \
        if (!good(run, (expression), why)) { \
            return false;                    \
        }                                    \
    } while (0)

/* ---- Sessions -------------------------------------------------------------------------------- */

/* What the plug-in says, each line once: the runtime asks it more than once. */
static void ORT_API_CALL listen(void *user, OrtLoggingLevel level, const char *category, const char *id,
                                const char *place, const char *message)
{
    char *const said = ((bench_model_report *)user)->said;
    const size_t used = strlen(said), length = strlen(message);
    (void)level;
    (void)category;
    (void)id;
    (void)place;
    if (strncmp(message, "rmsnorm: ", 9) != 0 || used + length + 2 > BENCH_MODEL_SAID) {
        return;
    }
    for (const char *line = said; (line = strstr(line, message + 9)) != NULL; line++) {
        if ((line == said || line[-1] == '\n') && line[length - 9] == '\n') {
            return;
        }
    }
    snprintf(said + used, BENCH_MODEL_SAID - used, "%s\n", message + 9);
}

static bool append_provider(bench_run *run, OrtSessionOptions *options, char why[256])
{
    enum { OPTIONS = 16 };
    const OrtEpDevice *const *devices;
    const OrtEpDevice *ours = NULL;
    char text[OPTIONS][256];
    const char *keys[OPTIONS], *values[OPTIONS];
    size_t count;
    TRY(run->api->GetEpDevices(run->env, &devices, &count));
    for (size_t i = 0; i < count; i++) {
        ours = strcmp(run->api->EpDevice_EpName(devices[i]), PROVIDER) == 0 ? devices[i] : ours;
    }
    if (ours == NULL) {
        snprintf(why, 256, "%s brings no %s", run->request->plugin, PROVIDER);
        return false;
    }
    const size_t option_count = run->request->option_count;
    if (option_count > OPTIONS) {
        snprintf(why, 256, "%zu options are given, at most %d are taken", option_count, OPTIONS);
        return false;
    }
    for (size_t i = 0; i < option_count; i++) {
        const int length = snprintf(text[i], sizeof text[i], "%s", run->request->options[i]);
        char *const equals = strchr(text[i], '=');
        if (equals == NULL || length >= (int)sizeof text[i]) {
            snprintf(why, 256, "option '%.100s' is not NAME=VALUE, or longer than %zu", text[i], sizeof text[i] - 1);
            return false;
        }
        *equals = '\0';
        keys[i] = text[i];
        values[i] = equals + 1;
    }
    TRY(run->api->SessionOptionsAppendExecutionProvider_V2(options, run->env, &ours, 1, keys, values, option_count));
    return true;
}

/* profile: where to write one, or NULL. */
static bool open_session(bench_run *run, int which, const char *profile, OrtSessionOptions **options,
                         OrtSession **session, char why[256])
{
    TRY(run->api->CreateSessionOptions(options));
    TRY(run->api->SetIntraOpNumThreads(*options, (int)run->request->threads));
    TRY(run->api->AddSessionConfigEntry(*options, "session.force_spinning_stop", "1"));
    if (profile != NULL) {
        TRY(run->api->EnableProfiling(*options, profile));
    }
    if (which == BENCH_MODEL_PLUGIN && run->request->custom) {
        TRY(run->api->RegisterCustomOpsLibrary_V2(*options, run->request->plugin));
    } else if (which == BENCH_MODEL_PLUGIN && !append_provider(run, *options, why)) {
        return false;
    }
    TRY(run->api->CreateSession(run->env, run->request->path, *options, session));
    return true;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

static int64_t dim_of(bench_run *run, int64_t dim, const char *name)
{
    for (size_t i = 0; dim < 0 && name != NULL && i < run->request->dim_count; i++) {
        const char *const asked = run->request->dims[i];
        const size_t length = strlen(name);
        if (strncmp(asked, name, length) == 0 && asked[length] == '=') {
            run->dims_met[i] = true;
            return strtoll(asked + length + 1, NULL, 10);
        }
    }
    return dim < 0 ? 1 : dim;
}

/* Floats in [-1, 1]; ones for whole numbers, which may be indices. */
static bool fill(bench_run *run, OrtValue *value, ONNXTensorElementDataType type, char why[256])
{
    size_t size;
    void *data;
    TRY(run->api->GetTensorSizeInBytes(value, &size));
    TRY(run->api->GetTensorMutableData(value, &data));
    const size_t element = rmsnorm_dtype_size((rmsnorm_dtype)type);
    if (element != 0) {
        bench_data_fill((rmsnorm_dtype)type, data, (int64_t)(size / element), 1);
        return true;
    }
    memset(data, 0, size);
    for (size_t i = 0; type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64 && i < size / 8; i++) {
        ((int64_t *)data)[i] = 1;
    }
    for (size_t i = 0; type == ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32 && i < size / 4; i++) {
        ((int32_t *)data)[i] = 1;
    }
    for (size_t i = 0; type == ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL && i < size; i++) {
        ((unsigned char *)data)[i] = 1;
    }
    return true;
}

static bool make_input(bench_run *run, size_t index, char why[256])
{
    const OrtApi *const api = run->api;
    OrtTypeInfo *info;
    const OrtTensorTypeAndShapeInfo *tensor;
    ONNXTensorElementDataType type;
    int64_t dims[RMSNORM_MAX_RANK];
    const char *names[RMSNORM_MAX_RANK];
    size_t rank;
    TRY(api->SessionGetInputName(any_session(run), index, run->allocator, &run->input_names[index]));
    TRY(api->SessionGetInputTypeInfo(any_session(run), index, &info));
    TRY(api->CastTypeInfoToTensorInfo(info, &tensor));
    if (tensor == NULL) {
        snprintf(why, 256, "input '%.100s' is no tensor: such models are not timed", run->input_names[index]);
        return false;
    }
    TRY(api->GetTensorElementType(tensor, &type));
    TRY(api->GetDimensionsCount(tensor, &rank));
    if (rank > RMSNORM_MAX_RANK || type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
        snprintf(why, 256, "input '%.100s' is of strings, or has more than %d dims", run->input_names[index],
                 RMSNORM_MAX_RANK);
        return false;
    }
    TRY(api->GetDimensions(tensor, dims, rank));
    TRY(api->GetSymbolicDimensions(tensor, names, rank));
    for (size_t i = 0; i < rank; i++) {
        dims[i] = dim_of(run, dims[i], names[i]);
    }
    api->ReleaseTypeInfo(info);
    TRY(api->CreateTensorAsOrtValue(run->allocator, dims, rank, type, &run->inputs[index]));
    return fill(run, run->inputs[index], type, why);
}

static bool name_all(bench_run *run, char why[256])
{
    const OrtSession *const session = any_session(run);
    TRY(run->api->SessionGetInputCount(session, &run->input_count));
    TRY(run->api->SessionGetOutputCount(session, &run->output_count));
    if (run->input_count > MOST || run->output_count > MOST) {
        snprintf(why, 256, "the model has more than %d inputs or outputs", MOST);
        return false;
    }
    for (size_t i = 0; i < run->input_count; i++) {
        if (!make_input(run, i, why)) {
            return false;
        }
    }
    for (size_t i = 0; i < run->request->dim_count; i++) {
        if (!run->dims_met[i]) {
            snprintf(why, 256, "--dim %.150s: no input has a dim of that name", run->request->dims[i]);
            return false;
        }
    }
    for (size_t i = 0; i < run->output_count; i++) {
        TRY(run->api->SessionGetOutputName(session, i, run->allocator, &run->output_names[i]));
    }
    return true;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* The first run allocates the outputs; they are bound for those that follow. */
static bool bind(bench_run *run, side *s, char why[256])
{
    const OrtApi *const api = run->api;
    OrtMemoryInfo *memory;
    TRY(api->CreateIoBinding(s->session, &s->binding));
    TRY(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    for (size_t i = 0; i < run->input_count; i++) {
        TRY(api->BindInput(s->binding, run->input_names[i], run->inputs[i]));
    }
    for (size_t i = 0; i < run->output_count; i++) {
        TRY(api->BindOutputToDevice(s->binding, run->output_names[i], memory));
    }
    api->ReleaseMemoryInfo(memory);
    TRY(api->RunWithBinding(s->session, NULL, s->binding));
    TRY(api->GetBoundOutputValues(s->binding, run->allocator, &s->results, &s->result_count));
    for (size_t i = 0; i < s->result_count; i++) {
        TRY(api->BindOutput(s->binding, run->output_names[i], s->results[i]));
    }
    return true;
}

static bool call(bench_run *run, side *s, char why[256])
{
    TRY(run->api->RunWithBinding(s->session, NULL, s->binding));
    return true;
}

/* The first call is not timed. */
static bool sample(bench_run *run, side *s, double *microseconds, char why[256])
{
    bool fine = call(run, s, why);
    const double start = bench_now_us();
    for (int i = 0; fine && i < s->calls; i++) {
        fine = call(run, s, why);
    }
    *microseconds = (bench_now_us() - start) / s->calls;
    return fine;
}

static bool measure(bench_run *run, char why[256])
{
    double first;
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        run->sides[i].calls = 1;
        if (works(run, i) && !sample(run, &run->sides[i], &first, why)) {
            return false;
        }
        run->sides[i].calls = works(run, i) && first < SAMPLE_US ? (int)(SAMPLE_US / (first + 0.01)) + 1 : 1;
    }
    const double end = bench_now_us() + run->request->seconds * 1e6;
    size_t count = 0;
    while (count < SAMPLES && (count < SAMPLES_LEAST || bench_now_us() < end)) {
        for (size_t i = 0; i < BENCH_MODEL_SIDES; i++) {
            const size_t which = (count + i) % BENCH_MODEL_SIDES;
            side *const s = &run->sides[which];
            if (works(run, (int)which) && !sample(run, s, &s->samples[count], why)) {
                return false;
            }
        }
        count++;
    }
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        if (works(run, i)) {
            run->report->timings[i].ran = true;
            bench_summarize(run->sides[i].samples, count, &run->report->timings[i]);
        }
    }
    return true;
}

/* ---- Differences ----------------------------------------------------------------------------- */

static bool compare_output(bench_run *run, size_t index, char why[256])
{
    const OrtApi *const api = run->api;
    bench_model_report *const report = run->report;
    const void *data[2];
    size_t sizes[2];
    OrtTensorTypeAndShapeInfo *info;
    ONNXTensorElementDataType type;
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        TRY(api->GetTensorSizeInBytes(run->sides[i].results[index], &sizes[i]));
        TRY(api->GetTensorData(run->sides[i].results[index], &data[i]));
    }
    TRY(api->GetTensorTypeAndShape(run->sides[0].results[index], &info));
    TRY(api->GetTensorElementType(info, &type));
    api->ReleaseTensorTypeAndShapeInfo(info);
    const size_t element = rmsnorm_dtype_size((rmsnorm_dtype)type);
    const bool same = sizes[0] == sizes[1] && (sizes[0] == 0 || memcmp(data[0], data[1], sizes[0]) == 0);
    report->outputs_same += same;
    double largest = 0.0, scale = 0.0;
    for (size_t i = 0; !same && element != 0 && sizes[0] == sizes[1] && i < sizes[0] / element; i++) {
        const double a = bench_data_get((rmsnorm_dtype)type, data[BENCH_MODEL_PLUGIN], (int64_t)i);
        const double b = bench_data_get((rmsnorm_dtype)type, data[BENCH_MODEL_ALONE], (int64_t)i);
        const double apart = isnan(a) != isnan(b) ? INFINITY : isnan(a) || a == b ? 0.0 : fabs(a - b);
        largest = fmax(largest, apart);
        scale = fmax(scale, fabs(b));
    }
    if (!same && (element == 0 || sizes[0] != sizes[1])) {
        largest = INFINITY;
    }
    if (largest > report->difference) {
        report->difference = largest;
        report->relative = scale > 0.0 ? largest / scale : INFINITY;
        snprintf(report->output, sizeof report->output, "%s", run->output_names[index]);
    }
    return true;
}

static bool compare_all(bench_run *run, char why[256])
{
    run->report->outputs = run->output_count;
    for (size_t i = 0; works(run, BENCH_MODEL_ALONE) && i < run->output_count; i++) {
        if (!compare_output(run, i, why)) {
            return false;
        }
    }
    return true;
}

/* ---- Profiles -------------------------------------------------------------------------------- */

static bool profile_runs(bench_run *run, side *s, int which, const char *prefix, char why[256])
{
    char *name;
    if (!open_session(run, which, prefix, &s->options, &s->session, why) || !bind(run, s, why)) {
        return false;
    }
    for (int i = 0; i < PROFILED; i++) {
        if (!call(run, s, why)) {
            return false;
        }
    }
    TRY(run->api->SessionEndProfiling(s->session, run->allocator, &name));
    const bool read =
        bench_profile_read(name, PROFILED, run->report->kinds[which], &run->report->kind_counts[which], why);
    (void)unlink(name);
    TRY(run->api->AllocatorFree(run->allocator, name));
    return read;
}

static void close_side(bench_run *run, side *s)
{
    const OrtApi *const api = run->api;
    for (size_t i = 0; i < s->result_count; i++) {
        api->ReleaseValue(s->results[i]);
    }
    if (s->results != NULL) {
        (void)run->allocator->Free(run->allocator, s->results);
    }
    api->ReleaseIoBinding(s->binding);
    api->ReleaseSession(s->session);
    api->ReleaseSessionOptions(s->options);
}

static bool profile(bench_run *run, int which, char why[256])
{
    if (!works(run, which)) {
        return true;
    }
    char prefix[256];
    const char *const folder = getenv("TMPDIR");
    side *const s = calloc(1, sizeof *s);
    if (s == NULL) {
        snprintf(why, 256, "out of memory");
        return false;
    }
    snprintf(prefix, sizeof prefix, "%s/rmsnorm-ort-bench-%ld-%d",
             folder != NULL && folder[0] != '\0' ? folder : "/tmp", (long)getpid(), which);
    const bool fine = profile_runs(run, s, which, prefix, why);
    close_side(run, s);
    free(s);
    return fine;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* false: the plug-in's side does not run. */
static bool bind_all(bench_run *run)
{
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        if (works(run, i)) {
            (void)bind(run, &run->sides[i], run->report->failed[i]);
        }
    }
    return works(run, BENCH_MODEL_PLUGIN);
}

static void join_failures(const bench_model_report *report, char why[BENCH_MODEL_WHY])
{
    const char *const alone = report->failed[BENCH_MODEL_ALONE], *const plugin = report->failed[BENCH_MODEL_PLUGIN];
    if (alone[0] == '\0') {
        snprintf(why, BENCH_MODEL_WHY, "with the plug-in: %s", plugin);
    } else if (strcmp(alone, plugin) == 0) {
        snprintf(why, BENCH_MODEL_WHY, "alone and with the plug-in: %s", plugin);
    } else {
        snprintf(why, BENCH_MODEL_WHY, "alone: %s; with the plug-in: %s", alone, plugin);
    }
}

static bool open_all(bench_run *run, char why[256])
{
    const char *version = "";
    run->api = bench_ort_load(&version, why);
    if (run->api == NULL) {
        return false;
    }
    snprintf(run->report->version, sizeof run->report->version, "%s", version);
    TRY(run->api->CreateEnvWithCustomLogger(listen, run->report, ORT_LOGGING_LEVEL_INFO, "ort-bench", &run->env));
    TRY(run->api->GetAllocatorWithDefaultOptions(&run->allocator));
    if (!run->request->custom) {
        TRY(run->api->RegisterExecutionProviderLibrary(run->env, LIBRARY, run->request->plugin));
        run->registered = true;
    }
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        (void)open_session(run, i, NULL, &run->sides[i].options, &run->sides[i].session, run->report->failed[i]);
    }
    if (!works(run, BENCH_MODEL_PLUGIN)) {
        return false;
    }
    return name_all(run, why) && bind_all(run);
}

static void close_all(bench_run *run)
{
    if (run->api == NULL) {
        return;
    }
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        close_side(run, &run->sides[i]);
    }
    for (size_t i = 0; i < MOST; i++) {
        run->api->ReleaseValue(run->inputs[i]);
        if (run->input_names[i] != NULL) {
            (void)run->allocator->Free(run->allocator, run->input_names[i]);
        }
        if (run->output_names[i] != NULL) {
            (void)run->allocator->Free(run->allocator, run->output_names[i]);
        }
    }
    char why[256];
    if (run->registered) {
        (void)good(run, run->api->UnregisterExecutionProviderLibrary(run->env, LIBRARY), why);
    }
    run->api->ReleaseEnv(run->env);
}

bool bench_model(const bench_model_request *request, bench_model_report *report, char why[BENCH_MODEL_WHY])
{
    bench_run *const run = calloc(1, sizeof *run);
    side *const sides = calloc(BENCH_MODEL_SIDES, sizeof *sides);
    bool *const dims_met = calloc(request->dim_count + 1, sizeof *dims_met);
    memset(report, 0, sizeof *report);
    snprintf(why, BENCH_MODEL_WHY, "out of memory");
    bool fine = run != NULL && sides != NULL && dims_met != NULL;
    if (fine) {
        run->request = request;
        run->report = report;
        run->sides = sides;
        run->dims_met = dims_met;
        fine = open_all(run, why) && compare_all(run, why) && measure(run, why) &&
               profile(run, BENCH_MODEL_ALONE, why) && profile(run, BENCH_MODEL_PLUGIN, why);
        if (!works(run, BENCH_MODEL_PLUGIN)) {
            join_failures(report, why);
        }
        close_all(run);
    }
    free(dims_met);
    free(sides);
    free(run);
    return fine;
}
