/* gpu.h: what is timed on a WebGPU device, and beside what: our kernels, a copy shader of the same bytes, ONNX Runtime's WebGPU
 * provider. Kernel times are by the device's own clock where it has one. */
#ifndef RMSNORM_BENCH_GPU_H
#define RMSNORM_BENCH_GPU_H

#include <rmsnorm/webgpu.h>

#include "bench.h"

/* ---- Samples --------------------------------------------------------------------------------- */

/* A plan on tensors of the device. `repeats` runs of it go to the device as one, so that a clock's step and what surrounds a
 * pass count for little; 0 is one. */
typedef struct bench_gpu_work {
    const rmsnorm_plan *plan;
    const rmsnorm_webgpu_tensor *inputs[RMSNORM_MAX_SLOTS], *outputs[RMSNORM_MAX_SLOTS];
    size_t repeats;
} bench_gpu_work;

/* Microseconds of one run, after one that is not timed, so that it finds in the caches what its own last one left there. Below 0: the
 * last error says why not. */
double bench_gpu_sample(rmsnorm_webgpu *webgpu, const bench_gpu_work *work);

/* Keeps the device busy until its clock rate has risen, and sets repeats so that a sample is long enough. */
bool bench_gpu_start(rmsnorm_webgpu *webgpu, bench_gpu_work *work);

/* Sorts the samples. */
double bench_median(double *samples, size_t count);

/* ---- The copy shader ------------------------------------------------------------------------- */

/* Reads `reads` buffers, writes `writes`, 1 or 2 of each, of as many bytes; in the shape that was the fastest of a few. */
typedef struct bench_gpu_copy bench_gpu_copy;

/* element: RMSNORM_FLOAT or RMSNORM_FLOAT16, in fours. NULL: the last error says why not. */
bench_gpu_copy *bench_gpu_copy_open(rmsnorm_webgpu *webgpu, rmsnorm_dtype element, size_t reads, size_t writes,
                                    int64_t bytes);
void bench_gpu_copy_close(rmsnorm_webgpu *webgpu, bench_gpu_copy *copy);
const bench_gpu_work *bench_gpu_copy_work(const bench_gpu_copy *copy);

/* "256 invocations, 4 elements each" */
const char *bench_gpu_copy_shape(const bench_gpu_copy *copy);

/* ---- Cases ----------------------------------------------------------------------------------- */

enum {
    BENCH_GPU_OURS,
    BENCH_GPU_COPY,
    BENCH_GPU_INVARIANT, /* ours, as options.batch_invariant has it */
    BENCH_GPU_SINGLE,    /* ours, one run to a sample, as ONNX Runtime's are */
    BENCH_GPU_ORT,
    BENCH_GPU_SUBMIT, /* of a whole call on tensors that stay on the device, the host's time until it returns */
    BENCH_GPU_TIMINGS
};

typedef struct bench_gpu_result {
    bench_case what;
    int64_t bytes;
    char variant[64], copy_shape[64];
    size_t passes, repeats;
    bench_timing timings[BENCH_GPU_TIMINGS];
} bench_gpu_result;

/* Times a case for about `seconds`, its result compared with the CPU's first. An error is a sentence in `why`. */
bool bench_gpu_measure(rmsnorm_webgpu *webgpu, const bench_case *what, double seconds, bench_gpu_result *result,
                       char why[256]);

/* The copy's time by ours; ONNX Runtime's by ours of one run. 0 where one did not run. */
double bench_gpu_of_copy(const bench_gpu_result *result);
double bench_gpu_against_ort(const bench_gpu_result *result);

/* Fills in the cases of the published table, at most capacity of them; returns how many there are. */
size_t bench_gpu_table(bench_case *cases, size_t capacity);

typedef void bench_gpu_printer(FILE *file, const rmsnorm_adapter *adapter, const bench_gpu_result *results,
                               size_t count);
void bench_gpu_print_text(FILE *file, const rmsnorm_adapter *adapter, const bench_gpu_result *results, size_t count);
void bench_gpu_print_markdown(FILE *file, const rmsnorm_adapter *adapter, const bench_gpu_result *results,
                              size_t count);
void bench_gpu_print_json(FILE *file, const rmsnorm_adapter *adapter, const bench_gpu_result *results, size_t count);

/* How fast the copy shader is with 64 MiB to 1 GiB, as far as the device has room and before `seconds` are over (0: all of it). false: the
 * last error says why not. */
bool bench_gpu_bandwidth(rmsnorm_webgpu *webgpu, double seconds, FILE *file, bool json);

#endif
