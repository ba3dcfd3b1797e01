/* gpu_report.c: the results of a device as text, Markdown and JSON; and the cases of the published table. */
#include <inttypes.h>
#include <string.h>

#include "gpu.h"

/* The cells of a row; an empty one where a contender did not run. */
enum {
    CELL_OP,
    CELL_TYPES,
    CELL_SHAPE,
    CELL_VARIANT,
    CELL_OURS,
    CELL_SPREAD,
    CELL_COPY,
    CELL_OF_COPY,
    CELL_INVARIANT,
    CELL_SINGLE,
    CELL_ORT,
    CELL_RATIO,
    CELL_SUBMIT,
    CELLS
};

static const char *const heads[CELLS] = {"op",           "types",   "shape",   "variant",      "ours us",
                                         "quartiles us", "copy us", "of copy", "invariant us", "alone us",
                                         "ORT us",       "ratio",   "host us"};

/* Three digits, or all before the point where there are more. */
static void print_number(char cell[64], double number)
{
    snprintf(cell, 64, number >= 999.5 ? "%.0f" : "%.3g", number);
}

static void fill(const bench_gpu_result *result, char cells[CELLS][64])
{
    const bench_timing *const timings = result->timings;
    char high[64];
    memset(cells, 0, CELLS * sizeof cells[0]);
    bench_name(&result->what, cells[CELL_OP], sizeof cells[0]);
    bench_types(&result->what, cells[CELL_TYPES], sizeof cells[0]);
    snprintf(cells[CELL_SHAPE], sizeof cells[0], "%" PRId64 "x%" PRId64, result->what.rows, result->what.hidden_size);
    snprintf(cells[CELL_VARIANT], sizeof cells[0], "%s", result->variant);
    print_number(cells[CELL_OURS], timings[BENCH_GPU_OURS].median);
    print_number(cells[CELL_SPREAD], timings[BENCH_GPU_OURS].quartile_low);
    print_number(high, timings[BENCH_GPU_OURS].quartile_high);
    const size_t length = strlen(cells[CELL_SPREAD]);
    snprintf(cells[CELL_SPREAD] + length, sizeof cells[0] - length, "..%.20s", high);
    print_number(cells[CELL_COPY], timings[BENCH_GPU_COPY].median);
    snprintf(cells[CELL_OF_COPY], sizeof cells[0], "%.2f", bench_gpu_of_copy(result));
    print_number(cells[CELL_INVARIANT], timings[BENCH_GPU_INVARIANT].median);
    print_number(cells[CELL_SINGLE], timings[BENCH_GPU_SINGLE].median);
    if (timings[BENCH_GPU_ORT].ran) {
        print_number(cells[CELL_ORT], timings[BENCH_GPU_ORT].median);
        snprintf(cells[CELL_RATIO], sizeof cells[0], "%.2f", bench_gpu_against_ort(result));
    }
    print_number(cells[CELL_SUBMIT], timings[BENCH_GPU_SUBMIT].median);
}

static void print_adapter(FILE *file, const rmsnorm_adapter *adapter)
{
    fprintf(file, "%s, %s, %s%s\n\n", adapter->name, adapter->backend, adapter->driver,
            adapter->timestamps ? "" : "; without timestamps: all times are the host's");
}

static void print_missing(FILE *file, const bench_gpu_result *results, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!results[i].timings[BENCH_GPU_ORT].ran) {
            fprintf(file, "\nwithout ONNX Runtime in %s: %s\n", count == 1 ? "this case" : "one case or more",
                    results[i].timings[BENCH_GPU_ORT].why);
            return;
        }
    }
}

void bench_gpu_print_text(FILE *file, const rmsnorm_adapter *adapter, const bench_gpu_result *results, size_t count)
{
    static const int widths[CELLS] = {-10, -10, -12, -10, 9, 16, 9, 7, 9, 9, 7, 8};
    print_adapter(file, adapter);
    for (int i = 0; i < CELLS; i++) {
        fprintf(file, "%*s%s", widths[i], heads[i], i + 1 < CELLS ? "  " : "\n");
    }
    for (size_t r = 0; r < count; r++) {
        char cells[CELLS][64];
        fill(&results[r], cells);
        for (int i = 0; i < CELLS; i++) {
            fprintf(file, "%*s%s", widths[i], cells[i], i + 1 < CELLS ? "  " : "\n");
        }
    }
    print_missing(file, results, count);
}

void bench_gpu_print_markdown(FILE *file, const rmsnorm_adapter *adapter, const bench_gpu_result *results, size_t count)
{
    print_adapter(file, adapter);
    for (int i = 0; i < CELLS; i++) {
        fprintf(file, "| %s %s", heads[i], i + 1 < CELLS ? "" : "|\n");
    }
    for (int i = 0; i < CELLS; i++) {
        fprintf(file, "|%s%s", i >= CELL_OURS ? "---:" : "---", i + 1 < CELLS ? "" : "|\n");
    }
    for (size_t r = 0; r < count; r++) {
        char cells[CELLS][64];
        fill(&results[r], cells);
        for (int i = 0; i < CELLS; i++) {
            fprintf(file, "| %s %s", cells[i], i + 1 < CELLS ? "" : "|\n");
        }
    }
    print_missing(file, results, count);
}

static void print_result(FILE *file, const bench_gpu_result *result)
{
    static const char *const names[BENCH_GPU_TIMINGS] = {"rmsnorm",       "copy",        "rmsnorm_batch_invariant",
                                                         "rmsnorm_alone", "onnxruntime", "host"};
    char name[48];
    char types[48];
    bench_name(&result->what, name, sizeof name);
    bench_types(&result->what, types, sizeof types);
    fprintf(file,
            "{\"case\": \"%s\", \"operator\": \"%s\", \"types\": \"%s\", \"rows\": %" PRId64
            ", \"hidden_size\": %" PRId64 ", \"bytes\": %" PRId64
            ", \"variant\": \"%s\", \"passes\": %zu, \"repeats\": %zu, \"copy_shape\": \"%s\"",
            name, result->what.op->name, types, result->what.rows, result->what.hidden_size, result->bytes,
            result->variant, result->passes, result->repeats, result->copy_shape);
    for (int c = 0; c < BENCH_GPU_TIMINGS; c++) {
        bench_print_timing(file, names[c], &result->timings[c]);
    }
    if (result->timings[BENCH_GPU_ORT].ran) {
        fprintf(file, ", \"ratio_to_onnxruntime\": %.4f", bench_gpu_against_ort(result));
    }
    fprintf(file, ", \"of_copy_limit\": %.4f}", bench_gpu_of_copy(result));
}

void bench_gpu_print_json(FILE *file, const rmsnorm_adapter *adapter, const bench_gpu_result *results, size_t count)
{
    fputs("{\"adapter\": ", file);
    bench_print_string(file, adapter->name);
    fputs(", \"backend\": ", file);
    bench_print_string(file, adapter->backend);
    fputs(", \"driver\": ", file);
    bench_print_string(file, adapter->driver);
    fprintf(file, ", \"timestamps\": %s, \"cases\": [", adapter->timestamps ? "true" : "false");
    for (size_t r = 0; r < count; r++) {
        fputs(r > 0 ? ",\n  " : "\n  ", file);
        print_result(file, &results[r]);
    }
    fputs("\n]}\n", file);
}

/* ---- The table ------------------------------------------------------------------------------- */

size_t bench_gpu_table(bench_case *cases, size_t capacity)
{
    static const int64_t shapes[][2] = {{1, 4096},    {128, 4096},  {4096, 512}, {16, 65536},
                                        {1, 1000004}, {16384, 128}, {65535, 16}, {1, 1048576}};
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16};
    enum { SHAPES = sizeof shapes / sizeof shapes[0], DTYPES = 2, CASES = 2 * DTYPES * SHAPES };
    const rmsnorm_operator *const operators[] = {
        rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0),
        rmsnorm_operator_find("com.microsoft", "SkipSimplifiedLayerNormalization", 0),
    };
    for (size_t i = 0; i < CASES && i < capacity; i++) {
        const rmsnorm_dtype dtype = dtypes[i / SHAPES % DTYPES];
        cases[i] = (bench_case){.op = operators[i / SHAPES / DTYPES],
                                .dtype = dtype,
                                .gamma_dtype = dtype,
                                .rows = shapes[i % SHAPES][0],
                                .hidden_size = shapes[i % SHAPES][1],
                                .threads = 1};
    }
    return CASES;
}
