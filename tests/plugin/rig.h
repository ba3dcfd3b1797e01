/* rig.h: ONNX Runtime with and without the plug-in: models written by hand, sessions, runs, and what the plug-in says. */
#ifndef RMSNORM_TESTS_PLUGIN_RIG_H
#define RMSNORM_TESTS_PLUGIN_RIG_H

#include <onnxruntime_c_api.h>

#include "graph/models.h"

enum { MOST_TENSORS = 24 };

/* How a session computes norms. */
typedef enum rig_mode {
    RIG_ALONE,    /* the runtime's own kernels */
    RIG_PROVIDER, /* the plug-in as execution provider */
    RIG_COMPILED, /* the same, told that the runtime has no kernel registries: as 1.23 */
    RIG_CUSTOM,   /* the plug-in as custom operators */
    RIG_BOTH,     /* provider and custom operators */
    RIG_AFTER_GPU /* the provider, behind the runtime's own for WebGPU */
} rig_mode;

extern const OrtApi *ort;
extern OrtEnv *env;
extern const OrtApiBase *ort_base;
extern long ort_minor;          /* N of 1.N */
extern OrtValue *rig_gamma;     /* what sessions share as "gamma", an initializer of their models; NULL: nothing */
extern const char *rig_save_to; /* where a session writes its optimized model; NULL: nowhere */
extern void (*rig_prepare)(OrtSessionOptions *options); /* what else a session is to have; NULL: nothing */

/* Group fixtures: loads the runtime and registers the plug-in. */
int rig_open(void **state);
int rig_close(void **state);

/* Fails the test with the sentence of a status. */
void expect_good(OrtStatus *status);
/* Releases the status, and fails the test unless it holds the part. */
void expect_status(OrtStatus *status, const char *part);

/* A tensor with a name; data is the test's. */
typedef struct named {
    const char *name;
    rmsnorm_tensor tensor;
} named;

/* option, or NULL: "threads=1"; more with ; between. */
OrtStatus *rig_session(rig_mode mode, const bytes *model, const char *option, OrtSession **session);

/* Results are allocated; release with release_results. */
OrtStatus *rig_run(OrtSession *session, const named *inputs, size_t input_count, named *outputs, size_t output_count);
void release_results(named *outputs, size_t count);

/* Both at once, and the test fails where one does. */
void run_model(rig_mode mode, const bytes *model, const named *inputs, size_t input_count, named *outputs,
               size_t output_count);

/* What the plug-in has said since forget_said. */
const char *said(void);
void forget_said(void);
size_t count_said(const char *part);
/* Nodes that the runtime itself placed on the provider, in the last session with a logger at ORT_LOGGING_LEVEL_VERBOSE. */
size_t rig_placed(void);

/* What nodes in sessions of RIG_COMPILED have handed to the runtime's pool since the last call: calls, and the tasks of all. */
void rig_handed(size_t *calls, size_t *tasks);

/* ---- Models ---------------------------------------------------------------------------------- */

void put_scalar(bytes *graph, const char *name, float value);
void put_constant(bytes *graph, const char *name, const rmsnorm_tensor *tensor);
/* The model of the graph, with these opsets of ai.onnx and com.microsoft; 0: not imported. */
bytes finish(bytes *graph, int64_t standard, int64_t microsoft);

/* ---- Data ------------------------------------------------------------------------------------ */

/* Finite numbers of moderate size, the same in every run. */
void fill_tensor(rmsnorm_tensor *tensor, uint32_t seed);
/* With data allocated and filled; "2,3,8", "" for a scalar. */
rmsnorm_tensor make_tensor(rmsnorm_dtype dtype, const char *dims, uint32_t seed);
double element_of(const rmsnorm_tensor *tensor, size_t index);
void expect_same_bits(const rmsnorm_tensor *got, const rmsnorm_tensor *wanted);
/* Within `ulps` of the narrower of the two, as numbers. */
void expect_close(const rmsnorm_tensor *got, const rmsnorm_tensor *wanted, double relative);

#endif
