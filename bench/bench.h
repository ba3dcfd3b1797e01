/* bench.h: what is timed, by whom, and what comes out. The room sees only include/.
 *
 * A case is one operator, type, shape and thread count. Contenders share its buffers and are timed interleaved, one sample of
 * each in turn, so that what else the machine does hits all of them alike. */
#ifndef RMSNORM_BENCH_BENCH_H
#define RMSNORM_BENCH_BENCH_H

#include <rmsnorm/rmsnorm.h>
#include <stdio.h>

typedef struct bench_case {
    const rmsnorm_operator *op;
    rmsnorm_dtype dtype;       /* of input, skip, bias and sum */
    rmsnorm_dtype gamma_dtype; /* of gamma and output */
    int64_t rows, hidden_size;
    bool bias, sum; /* of the skip operator: with the slot or not */
    size_t threads;
    rmsnorm_isa isa;
} bench_case;

/* The buffers of a case, aligned to pages: input, skip, bias, gamma; output, sum. NULL where the case has none. */
typedef struct bench_data {
    void *input, *skip, *bias, *gamma, *output, *sum;
    int64_t bytes; /* that a call reads and writes at least, once each; without gamma and bias */
} bench_data;

/* The same numbers in [-1, 1] each time. false: out of memory. Release it in either case. */
bool bench_data_make(const bench_case *what, bench_data *data);
void bench_data_release(bench_data *data);
void bench_data_fill(rmsnorm_dtype dtype, void *buffer, int64_t count, uint64_t seed);
double bench_data_get(rmsnorm_dtype dtype, const void *buffer, int64_t index);

/* One way to do a case's work. prepare returns false, with a sentence in `why`, where it cannot take part. */
typedef struct bench_contender {
    const char *name;
    bool (*prepare)(const bench_case *what, const bench_data *data, void **state, char why[256]);
    bool (*call)(void *state);
    void (*release)(void *state);
} bench_contender;

extern const bench_contender bench_ours, bench_ort, bench_memcpy, bench_copy, bench_stream_copy;

/* ONNX Runtime's WebGPU provider, on the adapter that it chooses itself. prepare runs it once, which compiles its shaders, and compares
 * the output with ours on the CPU. What a call takes by the caller's clock says little, as inputs go to the device and outputs
 * come back each time; the provider's profile has the time of the kernels by the device's own clock. */
extern const bench_contender bench_ort_webgpu;

/* Kernel times of the calls since prepare, in their order, in microseconds (whole ones, as the profile has them): all kernels of
 * a call, no copies to and from the device. Ends the profile: only release may follow. Of more than `capacity` calls the first
 * ones. false: a sentence is in `why`. */
bool bench_ort_webgpu_times(void *state, double *microseconds, size_t capacity, size_t *count, char why[256]);

/* Microseconds per call. */
typedef struct bench_timing {
    bool ran;
    char why[256]; /* not */
    double median, minimum, quartile_low, quartile_high;
    size_t samples;
} bench_timing;

double bench_now_us(void); /* a clock that only goes forward */
/* Fills in median, minimum, quartiles and count; sorts the samples, of which there is one at least. */
void bench_summarize(double *samples, size_t count, bench_timing *timing);

enum { BENCH_OURS, BENCH_ORT, BENCH_MEMCPY, BENCH_COPY, BENCH_STREAM, BENCH_CONTENDERS };

typedef struct bench_result {
    bench_case what;
    int64_t bytes;
    bench_timing timings[BENCH_CONTENDERS];
} bench_result;

/* Times a case for about `seconds`. An error is a sentence in `why`. */
bool bench_measure(const bench_case *what, double seconds, bench_result *result, char why[256]);

/* Ratios: how many times as long the other one takes; the fastest copy's time by ours. 0 where one did not run. */
double bench_against_ort(const bench_result *result);
double bench_of_copy_limit(const bench_result *result);

/* Reports: a table for people, the same in Markdown, JSON, and an SVG chart of time per element against bytes. */
typedef void bench_printer(FILE *file, const bench_result *results, size_t count);
void bench_print_text(FILE *file, const bench_result *results, size_t count);
void bench_print_markdown(FILE *file, const bench_result *results, size_t count);
void bench_print_json(FILE *file, const bench_result *results, size_t count);
void bench_print_svg(FILE *file, const bench_result *results, size_t count);

/* Parts of a JSON report: a text, which may hold any character; `, "NAME": {...}` of a timing. */
void bench_print_string(FILE *file, const char *text);
void bench_print_timing(FILE *file, const char *name, const bench_timing *timing);

/* "rms", "skip", "skip+sum", "RMSNormalization"; "float", "float16*float". */
void bench_name(const bench_case *what, char *text, size_t size);
void bench_types(const bench_case *what, char *text, size_t size);

/* Times the planner on each operator's package. false: the last error says why not. */
bool bench_plans(FILE *file, bool json);

/* Fills in the cases of the published table, at most capacity of them; returns how many there are. */
size_t bench_table(bench_case *cases, size_t capacity);

#endif
