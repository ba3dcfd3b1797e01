#include "plugin/rig.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROVIDER "RmsNormExecutionProvider"

const OrtApi *ort;
OrtEnv *env;
const OrtApiBase *ort_base;
long ort_minor;
OrtValue *rig_gamma;
const char *rig_save_to;
void (*rig_prepare)(OrtSessionOptions *options);

/* ---- The runtime ----------------------------------------------------------------------------- */

static char messages[1 << 16];
static size_t placed;

static void ORT_API_CALL listen(void *user, OrtLoggingLevel level, const char *category, const char *id,
                                const char *place, const char *message)
{
    (void)user;
    (void)level;
    (void)category;
    (void)id;
    (void)place;
    const size_t used = strlen(messages);
    if (strncmp(message, "rmsnorm: ", 9) == 0 && used + strlen(message) + 2 < sizeof messages) {
        snprintf(messages + used, sizeof messages - used, "%s\n", message);
    }
    static const char placement[] = " placed on [" PROVIDER "]. Number of nodes: ";
    const char *const count = strstr(message, placement);
    if (count != NULL) {
        placed = strtoul(count + sizeof placement - 1, NULL, 10);
    }
}

size_t rig_placed(void)
{
    return placed;
}

const char *said(void)
{
    return messages;
}

void forget_said(void)
{
    messages[0] = '\0';
}

size_t count_said(const char *part)
{
    size_t count = 0;
    for (const char *at = messages; (at = strstr(at, part)) != NULL; at++) {
        count++;
    }
    return count;
}

void expect_good(OrtStatus *status)
{
    if (status != NULL) {
        char text[1024];
        snprintf(text, sizeof text, "%s", ort->GetErrorMessage(status));
        ort->ReleaseStatus(status);
        fail_msg("%s\n%s", text, messages);
    }
}

void expect_status(OrtStatus *status, const char *part)
{
    char text[1024] = "no error at all";
    if (status != NULL) {
        snprintf(text, sizeof text, "%s", ort->GetErrorMessage(status));
        ort->ReleaseStatus(status);
    }
    if (status == NULL || strstr(text, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, text);
    }
}

/* One library at a time: both make a provider of the same name. */
static const char *registered;
static const char provider_library[] = PLUGIN_LIBRARY, compiled_library[] = OLD_LIBRARY;

static void use_library(const char *library)
{
    if (registered != library) {
        if (registered != NULL) {
            expect_good(ort->UnregisterExecutionProviderLibrary(env, "rmsnorm"));
        }
        registered = NULL;
        expect_good(ort->RegisterExecutionProviderLibrary(env, "rmsnorm", library));
        registered = library;
    }
}

void rig_handed(size_t *calls, size_t *tasks)
{
    void *const library = dlopen(compiled_library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void (*take)(size_t *, size_t *);
    void *const symbol = dlsym(library, "take_handed");
    assert_non_null(symbol);
    memcpy(&take, &symbol, sizeof take);
    take(calls, tasks);
    assert_int_equal(dlclose(library), 0); /* it stays while it is registered */
}

/* What the runtime allocates once while it starts, and does not release, is none of this project's leaks. */
#ifdef __SANITIZE_ADDRESS__
void __lsan_disable(void);
void __lsan_enable(void);
#define UNWATCHED_BEGIN() __lsan_disable()
#define UNWATCHED_END() __lsan_enable()
#else
#define UNWATCHED_BEGIN() (void)0
#define UNWATCHED_END() (void)0
#endif

static int load_runtime(void)
{
    const char *const chosen = getenv("RMSNORM_ORT_LIBRARY"); /* another version */
    void *const library = dlopen(chosen != NULL && chosen[0] != '\0' ? chosen : ORT_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        print_error("%s\n", dlerror());
        return -1;
    }
    const OrtApiBase *(*base)(void);
    void *const symbol = dlsym(library, "OrtGetApiBase");
    memcpy(&base, &symbol, sizeof base);
    ort_base = base();
    ort = ort_base->GetApi(ORT_API_VERSION);
    if (ort == NULL) {
        print_error("ONNX Runtime %s is too old\n", ort_base->GetVersionString());
        return -1;
    }
    print_message("ONNX Runtime %s\n", ort_base->GetVersionString());
    ort_minor = strtol(ort_base->GetVersionString() + 2, NULL, 10);
    expect_good(ort->CreateEnvWithCustomLogger(listen, NULL, ORT_LOGGING_LEVEL_INFO, "test", &env));
    return 0;
}

int rig_open(void **state)
{
    (void)state;
    UNWATCHED_BEGIN();
    const int result = load_runtime();
    UNWATCHED_END();
    return result;
}

int rig_close(void **state)
{
    (void)state;
    if (registered != NULL) {
        expect_good(ort->UnregisterExecutionProviderLibrary(env, "rmsnorm"));
        registered = NULL;
    }
    ort->ReleaseEnv(env);
    return 0;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static void append_provider(OrtSessionOptions *options, const char *option)
{
    const OrtEpDevice *const *devices;
    const OrtEpDevice *ours = NULL;
    size_t count, options_count = 0;
    char copy[512], *keys[8], *values[8];
    expect_good(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count; i++) {
        ours = strcmp(ort->EpDevice_EpName(devices[i]), PROVIDER) == 0 ? devices[i] : ours;
    }
    assert_non_null(ours);
    snprintf(copy, sizeof copy, "%s", option != NULL ? option : "");
    for (char *part = strtok(copy, ";"); part != NULL && options_count < 8; part = strtok(NULL, ";")) {
        char *const equals = strchr(part, '=');
        assert_non_null(equals);
        *equals = '\0';
        keys[options_count] = part;
        values[options_count++] = equals + 1;
    }
    expect_good(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &ours, 1, (const char *const *)keys,
                                                              (const char *const *)values, options_count));
}

OrtStatus *rig_session(rig_mode mode, const bytes *model, const char *option, OrtSession **session)
{
    OrtSessionOptions *options;
    expect_good(ort->CreateSessionOptions(&options));
    expect_good(ort->SetIntraOpNumThreads(options, 2));
    if (rig_gamma != NULL) {
        expect_good(ort->AddInitializer(options, "gamma", rig_gamma));
    }
    if (rig_save_to != NULL) {
        expect_good(ort->SetOptimizedModelFilePath(options, rig_save_to));
    }
    if (rig_prepare != NULL) {
        rig_prepare(options);
    }
    placed = 0;
    OrtStatus *status = NULL;
    if (mode == RIG_AFTER_GPU) {
        status = ort->SessionOptionsAppendExecutionProvider(options, "WebGPU", NULL, NULL, 0);
    }
    if (mode != RIG_ALONE && mode != RIG_CUSTOM) {
        use_library(mode == RIG_COMPILED ? compiled_library : provider_library);
        append_provider(options, option);
    }
    if (mode == RIG_CUSTOM || mode == RIG_BOTH) {
        expect_good(ort->RegisterCustomOpsLibrary_V2(options, PLUGIN_LIBRARY));
    }
    status = status != NULL ? status : ort->CreateSessionFromArray(env, model->data, model->size, options, session);
    ort->ReleaseSessionOptions(options);
    return status;
}

static void take_result(OrtValue *value, rmsnorm_tensor *tensor)
{
    OrtTensorTypeAndShapeInfo *info;
    enum ONNXTensorElementDataType type;
    size_t rank, size;
    const void *data;
    memset(tensor, 0, sizeof *tensor);
    OrtStatus *const absent = ort->GetTensorTypeAndShape(value, &info);
    if (absent != NULL) { /* an optional result that an older runtime's kernel does not write */
        ort->ReleaseStatus(absent);
        ort->ReleaseValue(value);
        return;
    }
    expect_good(ort->GetTensorElementType(info, &type));
    expect_good(ort->GetDimensionsCount(info, &rank));
    assert_true(rank <= RMSNORM_MAX_RANK);
    expect_good(ort->GetDimensions(info, tensor->dims, rank));
    ort->ReleaseTensorTypeAndShapeInfo(info);
    tensor->dtype = (rmsnorm_dtype)type;
    tensor->rank = (int32_t)rank;
    expect_good(ort->GetTensorSizeInBytes(value, &size));
    expect_good(ort->GetTensorData(value, &data));
    tensor->data = malloc(size + 1);
    assert_non_null(tensor->data);
    if (size != 0) {
        memcpy(tensor->data, data, size);
    }
    ort->ReleaseValue(value);
}

OrtStatus *rig_run(OrtSession *session, const named *inputs, size_t input_count, named *outputs, size_t output_count)
{
    const char *names[2][MOST_TENSORS];
    OrtValue *values[2][MOST_TENSORS] = {{NULL}};
    OrtMemoryInfo *memory;
    assert_true(input_count <= MOST_TENSORS && output_count <= MOST_TENSORS);
    expect_good(ort->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory));
    for (size_t i = 0; i < input_count; i++) {
        const rmsnorm_tensor *const tensor = &inputs[i].tensor;
        const size_t size = (size_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype);
        names[0][i] = inputs[i].name;
        expect_good(ort->CreateTensorWithDataAsOrtValue(memory, tensor->data, size, tensor->dims, (size_t)tensor->rank,
                                                        (ONNXTensorElementDataType)tensor->dtype, &values[0][i]));
    }
    ort->ReleaseMemoryInfo(memory);
    for (size_t i = 0; i < output_count; i++) {
        names[1][i] = outputs[i].name;
    }
    OrtStatus *const status = ort->Run(session, NULL, names[0], (const OrtValue *const *)values[0], input_count,
                                       names[1], output_count, values[1]);
    for (size_t i = 0; i < input_count; i++) {
        ort->ReleaseValue(values[0][i]);
    }
    for (size_t i = 0; status == NULL && i < output_count; i++) {
        take_result(values[1][i], &outputs[i].tensor);
    }
    return status;
}

void release_results(named *outputs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(outputs[i].tensor.data);
        outputs[i].tensor.data = NULL;
    }
}

void run_model(rig_mode mode, const bytes *model, const named *inputs, size_t input_count, named *outputs,
               size_t output_count)
{
    OrtSession *session;
    expect_good(rig_session(mode, model, NULL, &session));
    expect_good(rig_run(session, inputs, input_count, outputs, output_count));
    ort->ReleaseSession(session);
}

/* ---- Models ---------------------------------------------------------------------------------- */

void put_scalar(bytes *graph, const char *name, float value)
{
    bytes message = tensor_message(name, RMSNORM_FLOAT, NULL, 0, &value, sizeof value);
    field_message(graph, GRAPH_INITIALIZER, &message);
}

void put_constant(bytes *graph, const char *name, const rmsnorm_tensor *tensor)
{
    const size_t size = (size_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype);
    bytes message =
        tensor_message(name, (int32_t)tensor->dtype, tensor->dims, (size_t)tensor->rank, tensor->data, size);
    field_message(graph, GRAPH_INITIALIZER, &message);
}

bytes finish(bytes *graph, int64_t standard, int64_t microsoft)
{
    bytes model = {0};
    field_text(graph, GRAPH_NAME, "main");
    field_varint(&model, MODEL_IR, 8);
    put_opset(&model, NULL, standard);
    if (microsoft != 0) {
        put_opset(&model, "com.microsoft", microsoft);
    }
    field_message(&model, MODEL_GRAPH, graph);
    return model;
}

/* ---- Data ------------------------------------------------------------------------------------ */

void fill_tensor(rmsnorm_tensor *tensor, uint32_t seed)
{
    const int64_t count = rmsnorm_tensor_count(tensor);
    uint32_t state = seed * 2654435761U + 12345U;
    for (int64_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        const double number = ((double)(state >> 8) / 8388608.0 - 1.0) * 2.0;
        const float narrow = (float)number;
        uint32_t bits;
        memcpy(&bits, &narrow, sizeof bits);
        switch (tensor->dtype) {
        case RMSNORM_FLOAT:
            ((float *)tensor->data)[i] = narrow;
            break;
        case RMSNORM_DOUBLE:
            ((double *)tensor->data)[i] = number;
            break;
        case RMSNORM_BFLOAT16:
            ((uint16_t *)tensor->data)[i] = (uint16_t)(bits >> 16);
            break;
        default: /* float16, 2^-5 .. 2^1 */
            ((uint16_t *)tensor->data)[i] =
                (uint16_t)((state >> 31) << 15 | (10U + (state >> 8) % 6U) << 10 | (state >> 16 & 0x3ffU));
        }
    }
}

rmsnorm_tensor make_tensor(rmsnorm_dtype dtype, const char *dims, uint32_t seed)
{
    rmsnorm_tensor tensor = {.dtype = dtype};
    for (const char *at = dims; *at != '\0'; at += *at == ',') {
        char *end;
        tensor.dims[tensor.rank++] = strtoll(at, &end, 10);
        at = end;
    }
    tensor.data = calloc((size_t)rmsnorm_tensor_count(&tensor) + 1, rmsnorm_dtype_size(dtype));
    assert_non_null(tensor.data);
    fill_tensor(&tensor, seed);
    return tensor;
}

static double half_value(uint16_t bits)
{
    const int exponent = bits >> 10 & 31;
    const double fraction = bits & 0x3ff;
    const double magnitude = exponent == 0    ? ldexp(fraction, -24)
                             : exponent == 31 ? (fraction != 0.0 ? NAN : INFINITY)
                                              : ldexp(1024.0 + fraction, exponent - 25);
    return bits >> 15 != 0 ? -magnitude : magnitude;
}

double element_of(const rmsnorm_tensor *tensor, size_t index)
{
    const uint16_t *const halves = tensor->data;
    switch (tensor->dtype) {
    case RMSNORM_FLOAT:
        return (double)((const float *)tensor->data)[index];
    case RMSNORM_DOUBLE:
        return ((const double *)tensor->data)[index];
    case RMSNORM_FLOAT16:
        return half_value(halves[index]);
    default: {
        const uint32_t bits = (uint32_t)halves[index] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    }
}

static void expect_shape(const rmsnorm_tensor *got, const rmsnorm_tensor *wanted)
{
    assert_string_equal(rmsnorm_dtype_name(got->dtype), rmsnorm_dtype_name(wanted->dtype));
    assert_int_equal(got->rank, wanted->rank);
    for (int32_t i = 0; i < got->rank; i++) {
        assert_int_equal(got->dims[i], wanted->dims[i]);
    }
}

void expect_same_bits(const rmsnorm_tensor *got, const rmsnorm_tensor *wanted)
{
    expect_shape(got, wanted);
    const size_t size = (size_t)rmsnorm_tensor_count(got) * rmsnorm_dtype_size(got->dtype);
    if (size != 0) {
        assert_memory_equal(got->data, wanted->data, size);
    }
}

void expect_close(const rmsnorm_tensor *got, const rmsnorm_tensor *wanted, double relative)
{
    expect_shape(got, wanted);
    const size_t count = (size_t)rmsnorm_tensor_count(got);
    for (size_t i = 0; i < count; i++) {
        const double a = element_of(got, i), b = element_of(wanted, i);
        if (!(fabs(a - b) <= relative * fmax(fabs(a), fabs(b)) + 1e-7)) {
            fail_msg("element %zu is %.9g, not %.9g", i, a, b);
        }
    }
}
