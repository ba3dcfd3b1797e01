#include "decoder/ort_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

#define TRY(expression)                                        \
    do {                                                       \
        if (!bench_ort_check(model->api, (expression), why)) { \
            return false;                                      \
        }                                                      \
    } while (0)

/* ---- Inputs ---------------------------------------------------------------------------------- */

static int64_t size_of_dim(const ort_options *options, const char *name)
{
    for (size_t i = 0; i < options->dim_count; i++) {
        if (strcmp(options->dims[i].name, name) == 0) {
            return options->dims[i].size;
        }
    }
    return strcmp(name, "sequence_length") == 0 ? 16 : 1;
}

static size_t element_size(ONNXTensorElementDataType type)
{
    switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
        return 8;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
        return 4;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
        return 1;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16:
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
        return rmsnorm_dtype_size((rmsnorm_dtype)type); /* counted as TensorProto does */
    default:
        return 0;
    }
}

static uint64_t seed_of(const char *name, uint64_t seed)
{
    uint64_t hash = seed ^ 14695981039346656037u; /* FNV-1a */
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    }
    return hash;
}

static void fill(ONNXTensorElementDataType type, void *data, size_t count, uint64_t seed, int64_t ids)
{
    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        const int64_t id = (int64_t)((seed >> 33) % (uint64_t)ids);
        switch (type) {
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
            ((int64_t *)data)[i] = id;
            break;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
            ((int32_t *)data)[i] = (int32_t)id;
            break;
        case ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL:
            ((bool *)data)[i] = true;
            break;
        default:
            bench_data_fill((rmsnorm_dtype)type, data, (int64_t)count, seed);
            return;
        }
    }
}

static bool read_shape(const ort_model *model, const OrtTensorTypeAndShapeInfo *info, const ort_options *options,
                       const char *name, ort_output *input, char why[256])
{
    const char *names[ORT_MOST_DIMS];
    TRY(model->api->GetTensorElementType(info, &input->type));
    TRY(model->api->GetDimensionsCount(info, &input->rank));
    if (input->rank > ORT_MOST_DIMS || element_size(input->type) == 0) {
        snprintf(why, 256, "the input %.100s is of a type or rank that is not filled here", name);
        return false;
    }
    TRY(model->api->GetDimensions(info, input->dims, input->rank));
    TRY(model->api->GetSymbolicDimensions(info, names, input->rank));
    input->count = 1;
    for (size_t i = 0; i < input->rank; i++) {
        input->dims[i] = input->dims[i] < 0 ? size_of_dim(options, names[i]) : input->dims[i];
        input->count *= (size_t)input->dims[i];
    }
    return true;
}

static bool make_input(ort_model *model, size_t index, const char *name, const ort_options *options, char why[256])
{
    ort_output input = {.rank = 0};
    OrtTypeInfo *type;
    const OrtTensorTypeAndShapeInfo *info;
    TRY(model->api->SessionGetInputTypeInfo(model->session, index, &type));
    const bool read = bench_ort_check(model->api, model->api->CastTypeInfoToTensorInfo(type, &info), why) &&
                      read_shape(model, info, options, name, &input, why);
    model->api->ReleaseTypeInfo(type);
    if (!read) {
        return false;
    }
    const size_t bytes = input.count * element_size(input.type);
    model->data[index] = malloc(bytes + 1);
    if (model->data[index] == NULL) {
        snprintf(why, 256, "out of memory for the input %.100s", name);
        return false;
    }
    fill(input.type, model->data[index], input.count, seed_of(name, options->seed), options->ids);
    TRY(model->api->CreateTensorWithDataAsOrtValue(model->memory, model->data[index], bytes, input.dims, input.rank,
                                                   input.type, &model->inputs[index]));
    TRY(model->api->BindInput(model->binding, name, model->inputs[index]));
    return true;
}

/* ---- Sessions -------------------------------------------------------------------------------- */

static bool start(ort_model *model, const char *path, const ort_options *options, char why[256])
{
    const OrtApi *const api = model->api;
    TRY(api->CreateEnv(ORT_LOGGING_LEVEL_FATAL, "decoder", &model->env));
    TRY(api->CreateRunOptions(&model->run_options));
    TRY(api->CreateSessionOptions(&model->session_options));
    TRY(api->SetIntraOpNumThreads(model->session_options, options->threads));
    TRY(api->SetSessionGraphOptimizationLevel(model->session_options, options->optimization));
    TRY(api->AddSessionConfigEntry(model->session_options, "session.force_spinning_stop", "1"));
    if (options->optimized != NULL) {
        TRY(api->SetOptimizedModelFilePath(model->session_options, options->optimized));
    }
    TRY(api->CreateSession(model->env, path, model->session_options, &model->session));
    TRY(api->CreateIoBinding(model->session, &model->binding));
    TRY(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &model->memory));
    TRY(api->GetAllocatorWithDefaultOptions(&model->allocator));
    TRY(api->SessionGetInputCount(model->session, &model->input_count));
    TRY(api->SessionGetOutputCount(model->session, &model->output_count));
    if (model->input_count > ORT_MOST_VALUES) {
        model->input_count = 0;
        snprintf(why, 256, "%.160s has more than %d inputs", path, ORT_MOST_VALUES);
        return false;
    }
    return true;
}

bool ort_model_open(ort_model *model, const char *path, const ort_options *options, char why[256])
{
    model->api = bench_ort_load(NULL, why);
    if (model->api == NULL || !start(model, path, options, why)) {
        return false;
    }
    const OrtApi *const api = model->api;
    for (size_t i = 0; i < model->input_count; i++) {
        char *name;
        TRY(api->SessionGetInputName(model->session, i, model->allocator, &name));
        const bool made = make_input(model, i, name, options, why);
        TRY(api->AllocatorFree(model->allocator, name));
        if (!made) {
            return false;
        }
    }
    for (size_t i = 0; i < model->output_count; i++) {
        char *name;
        TRY(api->SessionGetOutputName(model->session, i, model->allocator, &name));
        OrtStatus *const bound = api->BindOutputToDevice(model->binding, name, model->memory);
        TRY(api->AllocatorFree(model->allocator, name));
        TRY(bound);
    }
    return true;
}

bool ort_model_run(const ort_model *model, char why[256])
{
    return bench_ort_check(model->api, model->api->RunWithBinding(model->session, model->run_options, model->binding),
                           why);
}

void ort_model_close(ort_model *model)
{
    const OrtApi *const api = model->api;
    if (api == NULL) {
        return;
    }
    for (size_t i = 0; i < model->input_count; i++) {
        api->ReleaseValue(model->inputs[i]);
        free(model->data[i]);
    }
    api->ReleaseMemoryInfo(model->memory);
    api->ReleaseIoBinding(model->binding);
    api->ReleaseSession(model->session);
    api->ReleaseSessionOptions(model->session_options);
    api->ReleaseRunOptions(model->run_options);
    api->ReleaseEnv(model->env);
}

/* ---- Outputs --------------------------------------------------------------------------------- */

static bool describe(const ort_model *model, ort_output *output, char why[256])
{
    OrtTensorTypeAndShapeInfo *info;
    void *data;
    TRY(model->api->GetTensorTypeAndShape(output->value, &info));
    bool read = bench_ort_check(model->api, model->api->GetTensorElementType(info, &output->type), why) &&
                bench_ort_check(model->api, model->api->GetDimensionsCount(info, &output->rank), why) &&
                bench_ort_check(model->api, model->api->GetTensorShapeElementCount(info, &output->count), why);
    output->rank = output->rank < ORT_MOST_DIMS ? output->rank : ORT_MOST_DIMS;
    read = read && bench_ort_check(model->api, model->api->GetDimensions(info, output->dims, output->rank), why);
    model->api->ReleaseTensorTypeAndShapeInfo(info);
    if (!read) {
        return false;
    }
    TRY(model->api->GetTensorMutableData(output->value, &data));
    output->data = data;
    return true;
}

bool ort_model_output(const ort_model *model, size_t index, ort_output *output, char why[256])
{
    OrtValue **values;
    size_t count;
    char *name;
    memset(output, 0, sizeof *output);
    TRY(model->api->SessionGetOutputName(model->session, index, model->allocator, &name));
    snprintf(output->name, sizeof output->name, "%s", name);
    TRY(model->api->AllocatorFree(model->allocator, name));
    TRY(model->api->GetBoundOutputValues(model->binding, model->allocator, &values, &count));
    for (size_t i = 0; i < count; i++) {
        if (i == index) {
            output->value = values[i];
        } else {
            model->api->ReleaseValue(values[i]);
        }
    }
    TRY(model->api->AllocatorFree(model->allocator, values));
    return describe(model, output, why);
}
