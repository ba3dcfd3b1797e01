/* ort_absent.c: what stands for ONNX Runtime where its header was not there when this was built. */
#include <string.h>

#include "bench.h"
#include "ort_model.h"

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

bool bench_ort_webgpu_times(void *state, double *microseconds, size_t capacity, size_t *count, char why[256])
{
    memset(microseconds, 0, capacity * sizeof *microseconds);
    *count = 0;
    return prepare(NULL, NULL, &state, why);
}

bool bench_model(const bench_model_request *request, bench_model_report *report, char why[BENCH_MODEL_WHY])
{
    void *state;
    (void)request;
    memset(report, 0, sizeof *report);
    return prepare(NULL, NULL, &state, why);
}

const bench_contender bench_ort = {"ONNX Runtime", prepare, call, release};
const bench_contender bench_ort_webgpu = {"ONNX Runtime WebGPU", prepare, call, release};
