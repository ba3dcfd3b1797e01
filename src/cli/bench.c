/* bench.c: rmsnorm bench: our call, ONNX Runtime's where it is there, and copies of the same bytes, interleaved. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench_gpu.h"
#include "cli.h"
#include "context.h"
#include "file.h"
#include "gpu.h"
#include "options.h"

enum {
    OP = 1,
    SHAPE,
    DTYPE,
    GAMMA_DTYPE,
    BIAS,
    SUM,
    SECONDS,
    TABLE,
    MARKDOWN,
    SVG,
    PLAN,
    DEVICE,
    ADAPTER,
    BANDWIDTH,
    TIME
};

static const rmsnorm_cli_option options[] = {
    {OP, 0, "op", "[DOMAIN::]NAME", "the operator (SimplifiedLayerNormalization)"},
    {SHAPE, 0, "shape", "ROWSxHIDDEN", "rows and elements per row (128x4096)"},
    {DTYPE, 0, "dtype", "float|float16|bfloat16|double", "of the input (float)"},
    {GAMMA_DTYPE, 0, "gamma-dtype", "float|float16|bfloat16|double", "of gamma and output (as --dtype)"},
    {BIAS, 0, "bias", NULL, "the skip operator with a bias"},
    {SUM, 0, "sum", NULL, "the skip operator with its sum output"},
    {SECONDS, 0, "seconds", "SECONDS", "how long to measure each case (3)"},
    {TABLE, 0, "table", NULL, "the published table: both operators, three types, six shapes"},
    {MARKDOWN, 0, "markdown", NULL, "a Markdown table"},
    {SVG, 0, "svg", "FILE", "a chart too: time per element against bytes"},
    {PLAN, 0, "plan", NULL, "instead: how long the planner takes for a request to a kernel package"},
    RMSNORM_CLI_GPU_DEVICE(DEVICE),
    RMSNORM_CLI_GPU_ADAPTER(ADAPTER),
    {BANDWIDTH, 0, "bandwidth", NULL, "instead, with --device webgpu: how fast a copy shader is, 64 MiB to 1 GiB"},
    {TIME, 0, "time", "SECONDS", "with --device webgpu: begin no further case after so long"},
};

static const rmsnorm_cli_usage usage = {
    .command = "bench",
    .synopsis =
        "[--op NAME] [--shape ROWSxHIDDEN] [--dtype DTYPE]...\n--table\n--plan\n--device webgpu [--table|--bandwidth|...]",
    .text =
        "Times rmsnorm_run, whole calls with their checks, beside ONNX Runtime (the library that the environment's\n"
        "RMSNORM_ORT_LIBRARY names, or the system's) and beside copies of as many bytes, interleaved in one process on\n"
        "the same buffers. Shows medians, quartiles and ratios; `of copy` is the best copy's time by ours.\n\n"
        "On a WebGPU device: kernel times by the device's clock, of ours as tuned there, of a copy shader that moves the same\n"
        "bytes, of one run alone beside ONNX Runtime's WebGPU provider; and the host's time to submit a whole call. --table:\n"
        "both operators, two types, eight shapes.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .computes = true,
};

enum { CASES_MAXIMUM = 64 };

typedef struct request {
    bench_case one;
    bool table, plan, markdown, bandwidth, gamma_given, names_case;
    double seconds, time;
    const char *svg;
    rmsnorm_cli_gpu_words gpu;
} request;

static int read_shape(const char *text, bench_case *what)
{
    const long long most = 1LL << 36;
    char *end;
    const long long rows = strtoll(text, &end, 10);
    const long long hidden_size = *end == 'x' ? strtoll(end + 1, &end, 10) : 0;
    if (*end != '\0' || rows < 1 || hidden_size < 1 || rows > most || hidden_size > most / rows) {
        return rmsnorm_cli_fail("--shape is '%s', allowed is ROWSxHIDDEN, both at least 1, at most 2^36 elements",
                                text);
    }
    what->rows = rows;
    what->hidden_size = hidden_size;
    return RMSNORM_CLI_DONE;
}

static int read_dtype(const char *name, const char *text, rmsnorm_dtype *dtype)
{
    *dtype = rmsnorm_dtype_from_name(text);
    return *dtype != RMSNORM_UNDEFINED
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s is '%s', allowed are float, float16, bfloat16, double", name, text);
}

static int read_seconds(const char *name, const char *text, double *seconds)
{
    char *end;
    *seconds = strtod(text, &end);
    return *end == '\0' && end != text && *seconds > 0 && *seconds <= 3600
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("%s is '%s', allowed is a number above 0, at most 3600", name, text);
}

static int take(int id, const char *value, request *asked)
{
    asked->names_case = asked->names_case || (id >= OP && id <= SUM);
    switch (id) {
    case OP:
        asked->one.op = rmsnorm_operator_parse(value);
        return asked->one.op != NULL ? RMSNORM_CLI_DONE : rmsnorm_cli_fail_library();
    case SHAPE:
        return read_shape(value, &asked->one);
    case DTYPE:
        return read_dtype("--dtype", value, &asked->one.dtype);
    case GAMMA_DTYPE:
        asked->gamma_given = true;
        return read_dtype("--gamma-dtype", value, &asked->one.gamma_dtype);
    case BIAS:
        asked->one.bias = true;
        return RMSNORM_CLI_DONE;
    case SUM:
        asked->one.sum = true;
        return RMSNORM_CLI_DONE;
    case SECONDS:
        return read_seconds("--seconds", value, &asked->seconds);
    case TIME:
        return read_seconds("--time", value, &asked->time);
    case TABLE:
        asked->table = true;
        return RMSNORM_CLI_DONE;
    case PLAN:
        asked->plan = true;
        return RMSNORM_CLI_DONE;
    case MARKDOWN:
        asked->markdown = true;
        return RMSNORM_CLI_DONE;
    case SVG:
        asked->svg = value;
        return RMSNORM_CLI_DONE;
    case DEVICE:
        asked->gpu.device = value;
        return RMSNORM_CLI_DONE;
    case ADAPTER:
        asked->gpu.adapter = value;
        return RMSNORM_CLI_DONE;
    case BANDWIDTH:
        asked->bandwidth = true;
        return RMSNORM_CLI_DONE;
    default:
        return rmsnorm_cli_fail("bench takes no argument, '%s' was given; --op and --shape name the case", value);
    }
}

static int check_gpu(const rmsnorm_cli_args *args, const request *asked)
{
    if (rmsnorm_cli_gpu_check(&asked->gpu, args) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (!rmsnorm_cli_gpu_wanted(&asked->gpu)) {
        return asked->bandwidth || asked->time > 0
                   ? rmsnorm_cli_fail("--%s goes with --device webgpu", asked->bandwidth ? "bandwidth" : "time")
                   : RMSNORM_CLI_DONE;
    }
    if (asked->plan || asked->svg != NULL) {
        return rmsnorm_cli_fail("--%s goes without --device webgpu", asked->plan ? "plan" : "svg");
    }
    const bool narrow =
        (asked->one.dtype == RMSNORM_FLOAT || asked->one.dtype == RMSNORM_FLOAT16) &&
        (!asked->gamma_given || asked->one.gamma_dtype == RMSNORM_FLOAT || asked->one.gamma_dtype == RMSNORM_FLOAT16);
    return narrow ? RMSNORM_CLI_DONE : rmsnorm_cli_fail("WebGPU has the types float and float16 alone");
}

static int check(const rmsnorm_cli_args *args, const request *asked)
{
    const bool skip = asked->one.op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    if ((asked->one.bias || asked->one.sum) && !skip) {
        return rmsnorm_cli_fail(
            "%s has neither a bias nor a sum output: --bias and --sum go with SkipSimplifiedLayerNormalization",
            asked->one.op->name);
    }
    if (asked->table && asked->names_case) {
        return rmsnorm_cli_fail(
            "--table has its own cases: it goes without --op, --shape, --dtype, --gamma-dtype, --bias "
            "and --sum");
    }
    return check_gpu(args, asked);
}

/* What is measured now, on a terminal alone. */
static void show_progress(size_t done, size_t count, const bench_case *what)
{
    if (isatty(STDERR_FILENO)) {
        char name[48];
        char types[48];
        bench_name(what, name, sizeof name);
        bench_types(what, types, sizeof types);
        fprintf(stderr, "\r\033[K%zu/%zu  %s %s %lldx%lld, %zu thread%s", done + 1, count, name, types,
                (long long)what->rows, (long long)what->hidden_size, what->threads, what->threads == 1 ? "" : "s");
    }
}

static int measure(const bench_case *cases, size_t count, double seconds, bench_result *results)
{
    for (size_t i = 0; i < count; i++) {
        char why[256];
        show_progress(i, count, &cases[i]);
        const bool good = bench_measure(&cases[i], seconds, &results[i], why);
        if (isatty(STDERR_FILENO)) {
            fprintf(stderr, "\r\033[K");
        }
        if (!good) {
            return rmsnorm_cli_fail("%s", why);
        }
    }
    return RMSNORM_CLI_DONE;
}

static int write_chart(const char *path, const bench_result *results, size_t count)
{
    char *text = NULL;
    size_t length = 0;
    FILE *const file = open_memstream(&text, &length);
    bool made = file != NULL;
    if (made) {
        bench_print_svg(file, results, count);
        made = ferror(file) == 0;
        made = fclose(file) == 0 && made;
    }
    const int code = made ? rmsnorm_cli_file_replace(path, text, length)
                          : rmsnorm_cli_fail("--svg: %s cannot be drawn: %s", path, strerror(errno));
    free(text);
    return code;
}

static int bench(const request *asked, const bench_case *cases, size_t count, bench_printer *print)
{
    if (asked->svg != NULL &&
        rmsnorm_cli_file_check(asked->svg) != RMSNORM_CLI_DONE) { /* before minutes of measuring */
        return RMSNORM_CLI_BAD;
    }
    bench_result *const results = rmsnorm_cli_allocate(count, sizeof *results);
    int code = measure(cases, count, asked->seconds, results);
    if (code == RMSNORM_CLI_DONE) {
        print(stdout, results, count);
        const bench_timing *const ort = &results[0].timings[BENCH_ORT];
        if (print != bench_print_json && !ort->ran) {
            printf("without ONNX Runtime: %s\n", ort->why);
        }
    }
    if (asked->svg != NULL && code == RMSNORM_CLI_DONE) {
        code = write_chart(asked->svg, results, count);
    }
    free(results);
    return code;
}

int rmsnorm_cli_bench(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    request asked = {.one = {.op = rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0),
                             .dtype = RMSNORM_FLOAT,
                             .rows = 128,
                             .hidden_size = 4096},
                     .seconds = 3};
    const char *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        const int code = take(id, value, &asked);
        if (code != RMSNORM_CLI_DONE) {
            return code;
        }
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    int code = check(&args, &asked);
    if (code == RMSNORM_CLI_DONE && asked.plan) {
        return bench_plans(stdout, args.json) ? RMSNORM_CLI_DONE : rmsnorm_cli_fail_library();
    }
    if (code == RMSNORM_CLI_DONE && args.json && asked.markdown) {
        code = rmsnorm_cli_fail("--json and --markdown are two forms of the same answer: give one");
    }
    if (code == RMSNORM_CLI_DONE && rmsnorm_cli_gpu_wanted(&asked.gpu)) {
        if (!asked.gamma_given) {
            asked.one.gamma_dtype = asked.one.dtype;
        }
        return rmsnorm_cli_bench_gpu(asked.gpu.adapter, asked.table || asked.bandwidth ? NULL : &asked.one,
                                     asked.bandwidth, asked.seconds, asked.time,
                                     args.json        ? RMSNORM_CLI_BENCH_JSON
                                     : asked.markdown ? RMSNORM_CLI_BENCH_MARKDOWN
                                                      : RMSNORM_CLI_BENCH_TEXT);
    }
    rmsnorm_cli_context context;
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_context_open(&args, &context);
    }
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    bench_case cases[CASES_MAXIMUM];
    size_t count = 1;
    if (asked.table) {
        count = bench_table(cases, CASES_MAXIMUM);
    } else {
        cases[0] = asked.one;
        cases[0].gamma_dtype = asked.gamma_given ? asked.one.gamma_dtype : asked.one.dtype;
        cases[0].threads = context.threads;
    }
    for (size_t i = 0; i < count; i++) {
        cases[i].isa = context.isa;
    }
    rmsnorm_cli_context_close(&context);
    return bench(&asked, cases, count,
                 args.json        ? bench_print_json
                 : asked.markdown ? bench_print_markdown
                                  : bench_print_text);
}
