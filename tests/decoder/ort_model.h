/* ort_model.h: a model file in ONNX Runtime, with inputs that are the same for every model with inputs of these names. */
#ifndef RMSNORM_TESTS_DECODER_ORT_MODEL_H
#define RMSNORM_TESTS_DECODER_ORT_MODEL_H

#include <stddef.h>

#include "bench/ort_library.h"
#include "rmsnorm/rmsnorm.h"

enum { ORT_MOST_DIMS = 8, ORT_MOST_VALUES = 64 };

typedef struct ort_dim {
    char name[64];
    int64_t size;
} ort_dim;

typedef struct ort_options {
    int threads;
    GraphOptimizationLevel optimization;
    ort_dim dims[ORT_MOST_DIMS]; /* of symbolic dims; "batch_size" is 1, "sequence_length" 16, any other one 1 */
    size_t dim_count;
    uint64_t seed;
    int64_t ids;           /* integers are from 0 to ids - 1 */
    const char *optimized; /* a file that the model is written to after optimization; NULL: none */
} ort_options;
#define ORT_OPTIONS_INIT                                                    \
    {                                                                       \
        .threads = 1, .optimization = ORT_ENABLE_ALL, .seed = 1, .ids = 16, \
    }

typedef struct ort_model {
    const OrtApi *api;
    OrtEnv *env;
    OrtSessionOptions *session_options;
    OrtSession *session;
    OrtIoBinding *binding;
    OrtMemoryInfo *memory;
    OrtAllocator *allocator; /* ONNX Runtime's own */
    OrtRunOptions *run_options;
    OrtValue *inputs[ORT_MOST_VALUES];
    void *data[ORT_MOST_VALUES]; /* of the inputs */
    size_t input_count, output_count;
} ort_model;

/* Loads it, and binds inputs and outputs. false: a sentence is in `why`, and the model, zero before, is to be closed all the
 * same. */
bool ort_model_open(ort_model *model, const char *path, const ort_options *options, char why[256]);
bool ort_model_run(const ort_model *model, char why[256]);
void ort_model_close(ort_model *model);

/* What the last run made. Release value with the API. */
typedef struct ort_output {
    char name[128];
    OrtValue *value;
    ONNXTensorElementDataType type;
    size_t rank, count; /* of dims, of elements */
    int64_t dims[ORT_MOST_DIMS];
    const void *data;
} ort_output;
bool ort_model_output(const ort_model *model, size_t index, ort_output *output, char why[256]);

/* How far two tensors of one type and shape are apart. */
typedef struct ort_difference {
    uint64_t ulp; /* most numbers of the type between two elements; UINT64_MAX where one of them alone is no number */
    double relative; /* largest difference by the largest magnitude in a; infinite likewise */
    double largest;  /* that magnitude */
} ort_difference;
/* false: types or shapes differ, or are none that are compared. */
bool ort_compare_outputs(const ort_output *a, const ort_output *b, ort_difference *difference, char why[256]);

#endif
