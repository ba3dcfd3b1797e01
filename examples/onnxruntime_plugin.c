/* onnxruntime_plugin.c: a model in ONNX Runtime with the plug-in: register it, choose its device, run, and see what it took.
 *
 * usage: example_onnxruntime_plugin RUNTIME PLUGIN MODEL: a libonnxruntime.so.1, librmsnorm_onnxruntime.so by its absolute path, and a model of
 * float tensors with one result; its inputs are 0, 1, 2, ... */
#include <dlfcn.h>
#include <onnxruntime_c_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const OrtApi *ort;

static void check(OrtStatus *status)
{
    if (status != NULL) {
        fprintf(stderr, "%s\n", ort->GetErrorMessage(status));
        exit(1);
    }
}

/* What the plug-in says with log=1 are warnings; the runtime has others. */
static void ORT_API_CALL listen(void *user, OrtLoggingLevel level, const char *category, const char *id,
                                const char *place, const char *message)
{
    (void)user;
    (void)level;
    (void)category;
    (void)id;
    (void)place;
    if (strncmp(message, "rmsnorm: ", 9) == 0) {
        printf("%s\n", message);
    }
}

static void load_runtime(const char *path)
{
    void *const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *const symbol = library != NULL ? dlsym(library, "OrtGetApiBase") : NULL;
    const OrtApiBase *(*base)(void);
    memcpy(&base, &symbol, sizeof base);
    ort = symbol != NULL ? base()->GetApi(ORT_API_VERSION) : NULL;
    if (ort == NULL) {
        fprintf(stderr, "%s: no ONNX Runtime of 1.%d or later\n", path, ORT_API_VERSION);
        exit(1);
    }
}

static void append_plugin(OrtEnv *env, const char *plugin, OrtSessionOptions *options)
{
    const OrtEpDevice *const *devices;
    size_t count;
    check(ort->RegisterExecutionProviderLibrary(env, "rmsnorm", plugin));
    check(ort->GetEpDevices(env, &devices, &count));
    for (size_t i = 0; i < count; i++) {
        printf("device %s of %s\n", ort->EpDevice_EpName(devices[i]), ort->EpDevice_EpVendor(devices[i]));
        if (strcmp(ort->EpDevice_EpName(devices[i]), "RmsNormExecutionProvider") == 0) {
            check(ort->SessionOptionsAppendExecutionProvider_V2(options, env, &devices[i], 1, (const char *[]){"log"},
                                                                (const char *[]){"1"}, 1));
        }
    }
}

/* The input by its index: a name, and 0, 1, 2, ... in its shape, where dims that the model leaves open are 1. */
static OrtValue *make_input(OrtSession *session, OrtAllocator *allocator, size_t index, char **name)
{
    OrtTypeInfo *type;
    const OrtTensorTypeAndShapeInfo *tensor;
    int64_t dims[8];
    size_t rank, count = 1;
    OrtValue *value;
    void *data;
    check(ort->SessionGetInputName(session, index, allocator, name));
    check(ort->SessionGetInputTypeInfo(session, index, &type));
    check(ort->CastTypeInfoToTensorInfo(type, &tensor));
    check(ort->GetDimensionsCount(tensor, &rank));
    rank = rank < 8 ? rank : 8;
    check(ort->GetDimensions(tensor, dims, rank));
    for (size_t i = 0; i < rank; i++) {
        dims[i] = dims[i] < 0 ? 1 : dims[i];
        count *= (size_t)dims[i];
    }
    check(ort->CreateTensorAsOrtValue(allocator, dims, rank, ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    check(ort->GetTensorMutableData(value, &data));
    for (size_t i = 0; i < count; i++) {
        ((float *)data)[i] = (float)i;
    }
    ort->ReleaseTypeInfo(type);
    return value;
}

/* Runs once, and prints the result's first five numbers. */
static void run(OrtSession *session)
{
    OrtAllocator *allocator;
    OrtValue *inputs[8] = {NULL}, *output = NULL;
    char *names[8] = {NULL}, *result;
    size_t count;
    void *data;
    check(ort->GetAllocatorWithDefaultOptions(&allocator));
    check(ort->SessionGetInputCount(session, &count));
    for (size_t i = 0; i < count && i < 8; i++) {
        inputs[i] = make_input(session, allocator, i, &names[i]);
    }
    check(ort->SessionGetOutputName(session, 0, allocator, &result));
    check(ort->Run(session, NULL, (const char *const *)names, (const OrtValue *const *)inputs, count,
                   (const char *const[]){result}, 1, &output));
    check(ort->GetTensorMutableData(output, &data));
    const float *const y = data;
    printf("%s: %.6f %.6f %.6f %.6f %.6f ...\n", result, (double)y[0], (double)y[1], (double)y[2], (double)y[3],
           (double)y[4]);
    ort->ReleaseValue(output);
    check(ort->AllocatorFree(allocator, result));
    for (size_t i = 0; i < count && i < 8; i++) {
        ort->ReleaseValue(inputs[i]);
        check(ort->AllocatorFree(allocator, names[i]));
    }
}

int main(int count, char **arguments)
{
    OrtEnv *env;
    OrtSessionOptions *options;
    OrtSession *session;
    if (count != 4) {
        fprintf(stderr, "usage: %s RUNTIME PLUGIN MODEL\n", arguments[0]);
        return 2;
    }
    load_runtime(arguments[1]);
    check(ort->CreateEnvWithCustomLogger(listen, NULL, ORT_LOGGING_LEVEL_WARNING, "example", &env));
    check(ort->CreateSessionOptions(&options));
    append_plugin(env, arguments[2], options);
    check(ort->CreateSession(env, arguments[3], options, &session));
    run(session);
    ort->ReleaseSession(session);
    ort->ReleaseSessionOptions(options);
    check(ort->UnregisterExecutionProviderLibrary(env, "rmsnorm"));
    ort->ReleaseEnv(env);
    return 0;
}
