/* The same public calls as the checks, timed: the instruction sets in turn, repetition by repetition, and medians. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"

#define REPETITIONS 31
#define SECONDS_PER_LINE 1.5

typedef struct bench_line {
    rmsnorm_operator_kind kind;
    rmsnorm_dtype t, v;
    bool sum;
    int64_t rows, width;
    bool large; /* past every cache; only with --long */
} bench_line;

#define SKIP RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION
#define SIMPLE RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION
#define PLAIN RMSNORM_RMS_NORMALIZATION

/* The shapes of the published peers' measurements, and mixed types. */
static const bench_line lines[] = {
    {SIMPLE, RMSNORM_FLOAT, RMSNORM_FLOAT, false, 1, 4096, false},
    {SIMPLE, RMSNORM_FLOAT, RMSNORM_FLOAT, false, 16, 2048, false},
    {SIMPLE, RMSNORM_FLOAT, RMSNORM_FLOAT, false, 128, 4096, false},
    {SIMPLE, RMSNORM_FLOAT, RMSNORM_FLOAT, false, 4096, 8192, true},
    {SIMPLE, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, 1, 4096, false},
    {SIMPLE, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, 128, 4096, false},
    {SIMPLE, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, 4096, 8192, true},
    {SIMPLE, RMSNORM_BFLOAT16, RMSNORM_BFLOAT16, false, 128, 4096, false},
    {SIMPLE, RMSNORM_BFLOAT16, RMSNORM_FLOAT, false, 128, 4096, false},
    {SIMPLE, RMSNORM_DOUBLE, RMSNORM_DOUBLE, false, 128, 4096, false},
    {PLAIN, RMSNORM_FLOAT, RMSNORM_FLOAT, false, 128, 4096, false},
    {PLAIN, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, 128, 4096, false},
    {PLAIN, RMSNORM_BFLOAT16, RMSNORM_BFLOAT16, false, 128, 4096, false},
    {SKIP, RMSNORM_FLOAT, RMSNORM_FLOAT, false, 1, 4096, false},
    {SKIP, RMSNORM_FLOAT, RMSNORM_FLOAT, false, 128, 4096, false},
    {SKIP, RMSNORM_FLOAT, RMSNORM_FLOAT, true, 128, 4096, false},
    {SKIP, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, 1, 4096, false},
    {SKIP, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, 128, 4096, false},
    {SKIP, RMSNORM_FLOAT16, RMSNORM_FLOAT16, true, 1024, 4096, false},
    {SKIP, RMSNORM_BFLOAT16, RMSNORM_BFLOAT16, false, 128, 4096, false},
    {SKIP, RMSNORM_FLOAT16, RMSNORM_FLOAT16, false, 4096, 8192, true},
};

typedef struct bench_call {
    rmsnorm_tensor x, skip, gamma, y, sum;
    const rmsnorm_tensor *inputs[3];
    rmsnorm_tensor *outputs[4];
    size_t input_count, output_count;
    double bytes; /* read and written by one call */
} bench_call;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static rmsnorm_tensor filled(rng *r, rmsnorm_dtype dtype, int64_t rows, int64_t width)
{
    rmsnorm_tensor tensor = {.dtype = dtype, .rank = rows == 0 ? 1 : 2, .dims = {rows == 0 ? width : rows, width}};
    const int64_t count = rmsnorm_tensor_count(&tensor);
    tensor.data = malloc((size_t)count * rmsnorm_dtype_size(dtype));
    if (tensor.data == NULL) {
        (void)fprintf(stderr, "kerncheck: no memory for a bench tensor\n");
        exit(2);
    }
    const int64_t drawn = count < 65536 ? count : 65536; /* the rest repeats: the time does not depend on the values */
    for (int64_t i = 0; i < drawn; i++) {
        element_store(dtype, tensor.data, (size_t)i, rng_normal(r));
    }
    const size_t block = (size_t)drawn * rmsnorm_dtype_size(dtype);
    const size_t total = (size_t)count * rmsnorm_dtype_size(dtype);
    for (size_t done = block; done < total; done += block) {
        memcpy((char *)tensor.data + done, tensor.data, total - done < block ? total - done : block);
    }
    return tensor;
}

static void bench_build(bench_call *call, const bench_line *line)
{
    rng r = rng_seeded(7);
    *call = (bench_call){.x = filled(&r, line->t, line->rows, line->width),
                         .gamma = filled(&r, line->v, 0, line->width),
                         .y = filled(&r, line->v, line->rows, line->width)};
    const size_t element = rmsnorm_dtype_size(line->t);
    const double tensor = (double)(line->rows * line->width);
    call->inputs[0] = &call->x;
    call->inputs[1] = &call->gamma;
    call->outputs[0] = &call->y;
    call->input_count = 2;
    call->output_count = 1;
    call->bytes = tensor * (double)(element + rmsnorm_dtype_size(line->v));
    if (line->kind == SKIP) {
        call->skip = filled(&r, line->t, line->rows, line->width);
        call->inputs[1] = &call->skip;
        call->inputs[2] = &call->gamma;
        call->input_count = 3;
        call->bytes += tensor * (double)element;
    }
    if (line->sum) {
        call->sum = filled(&r, line->t, line->rows, line->width);
        call->outputs[3] = &call->sum;
        call->output_count = 4;
        call->bytes += tensor * (double)element;
    }
}

static double time_calls(const bench_line *line, bench_call *call, rmsnorm_isa isa, int calls)
{
    rmsnorm_options options = RMSNORM_OPTIONS_INIT;
    options.max_isa = isa;
    const rmsnorm_operator *const op = operator_of(line->kind);
    const double start = now();
    for (int i = 0; i < calls; i++) {
        const rmsnorm_status status =
            rmsnorm_run(op, NULL, call->inputs, call->input_count, call->outputs, call->output_count, &options);
        if (status != RMSNORM_OK) {
            (void)fprintf(stderr, "kerncheck: %s\n", rmsnorm_last_error());
            exit(2);
        }
    }
    return (now() - start) / calls;
}

static void bench_one(const checker *k, const bench_line *line, const char *name)
{
    bench_call call;
    bench_build(&call, line);
    double times[MAX_ISAS][REPETITIONS];
    const double once = time_calls(line, &call, k->isas[0], 1);
    const int calls = once > 50e-6 ? 1 : (int)(50e-6 / once) + 1;
    const double start = now();
    int done = 0;
    while (done < REPETITIONS && (done < 5 || now() - start < SECONDS_PER_LINE)) {
        for (int i = 0; i < k->isa_count; i++) {
            times[i][done] = time_calls(line, &call, k->isas[i], calls);
        }
        done++;
    }
    (void)printf("%-46s %6lldx%-6lld", name, (long long)line->rows, (long long)line->width);
    for (int i = 0; i < k->isa_count; i++) {
        qsort(times[i], (size_t)done, sizeof(times[i][0]), by_size);
        const double median = times[i][done / 2];
        (void)printf(" %10.2f us %6.1f GB/s", median * 1e6, call.bytes / median * 1e-9);
    }
    (void)printf("\n");
    (void)fflush(stdout);
    free(call.x.data);
    free(call.skip.data);
    free(call.gamma.data);
    free(call.y.data);
    free(call.sum.data);
}

int bench_run(const checker *k, const char *filter, bool large)
{
    (void)printf("medians of up to %d interleaved repetitions, one thread, caches warm where the tensors fit\n%-60s",
                 REPETITIONS, "");
    for (int i = 0; i < k->isa_count; i++) {
        (void)printf(" %25s", rmsnorm_isa_name(k->isas[i]));
    }
    (void)printf("\n");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        char name[96];
        (void)snprintf(name, sizeof(name), "%s %s%s%s%s", operator_of(lines[i].kind)->name,
                       rmsnorm_dtype_name(lines[i].t), lines[i].kind == SKIP ? "" : "*",
                       lines[i].kind == SKIP ? "" : rmsnorm_dtype_name(lines[i].v), lines[i].sum ? " +sum" : "");
        if ((large || !lines[i].large) && strstr(name, filter) != NULL) {
            bench_one(k, &lines[i], name);
        }
    }
    return 0;
}
