/* report.c: the results as text, Markdown and JSON. */
#include <inttypes.h>
#include <string.h>

#include "bench.h"

void bench_name(const bench_case *what, char *text, size_t size)
{
    const char *const name = what->op->kind == RMSNORM_SIMPLIFIED_LAYER_NORMALIZATION        ? "rms"
                             : what->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION ? "skip"
                                                                                             : "RMSNormalization";
    snprintf(text, size, "%s%s%s", name, what->bias ? "+bias" : "", what->sum ? "+sum" : "");
}

void bench_types(const bench_case *what, char *text, size_t size)
{
    if (what->dtype == what->gamma_dtype) {
        snprintf(text, size, "%s", rmsnorm_dtype_name(what->dtype));
    } else {
        snprintf(text, size, "%s*%s", rmsnorm_dtype_name(what->dtype), rmsnorm_dtype_name(what->gamma_dtype));
    }
}

/* The cells of a row; an empty one where a contender did not run. */
enum {
    CELL_OP,
    CELL_TYPES,
    CELL_SHAPE,
    CELL_THREADS,
    CELL_OURS,
    CELL_SPREAD,
    CELL_ORT,
    CELL_RATIO,
    CELL_COPY,
    CELL_OF_COPY,
    CELLS
};

static const char *const heads[CELLS] = {"op",           "types",  "shape", "threads",      "ours us",
                                         "quartiles us", "ORT us", "ratio", "best copy us", "of copy"};

/* Three digits, or all before the point where there are more. */
static void print_number(char cell[48], double number)
{
    snprintf(cell, 48, number >= 999.5 ? "%.0f" : "%.3g", number);
}

static void fill(const bench_result *result, char cells[CELLS][48])
{
    const bench_timing *const ours = &result->timings[BENCH_OURS];
    const bench_timing *const ort = &result->timings[BENCH_ORT];
    const double of_copy = bench_of_copy_limit(result);
    memset(cells, 0, CELLS * sizeof cells[0]);
    bench_name(&result->what, cells[CELL_OP], sizeof cells[0]);
    bench_types(&result->what, cells[CELL_TYPES], sizeof cells[0]);
    snprintf(cells[CELL_SHAPE], sizeof cells[0], "%" PRId64 "x%" PRId64, result->what.rows, result->what.hidden_size);
    snprintf(cells[CELL_THREADS], sizeof cells[0], "%zu", result->what.threads);
    print_number(cells[CELL_OURS], ours->median);
    char high[48];
    print_number(cells[CELL_SPREAD], ours->quartile_low);
    print_number(high, ours->quartile_high);
    const size_t length = strlen(cells[CELL_SPREAD]);
    snprintf(cells[CELL_SPREAD] + length, sizeof cells[0] - length, "..%s", high);
    if (ort->ran) {
        print_number(cells[CELL_ORT], ort->median);
        snprintf(cells[CELL_RATIO], sizeof cells[0], "%.2f", bench_against_ort(result));
    }
    print_number(cells[CELL_COPY], of_copy * ours->median);
    snprintf(cells[CELL_OF_COPY], sizeof cells[0], "%.2f", of_copy);
}

void bench_print_text(FILE *file, const bench_result *results, size_t count)
{
    static const int widths[CELLS] = {-16, -17, -12, 7, 9, 16, 9, 7, 12, 7};
    for (int i = 0; i < CELLS; i++) {
        fprintf(file, "%*s%s", widths[i], heads[i], i + 1 < CELLS ? "  " : "\n");
    }
    for (size_t r = 0; r < count; r++) {
        char cells[CELLS][48];
        fill(&results[r], cells);
        for (int i = 0; i < CELLS; i++) {
            fprintf(file, "%*s%s", widths[i], cells[i], i + 1 < CELLS ? "  " : "\n");
        }
    }
}

void bench_print_markdown(FILE *file, const bench_result *results, size_t count)
{
    for (int i = 0; i < CELLS; i++) {
        fprintf(file, "| %s %s", heads[i], i + 1 < CELLS ? "" : "|\n");
    }
    for (int i = 0; i < CELLS; i++) {
        fprintf(file, "|%s%s", i >= CELL_THREADS ? "---:" : "---", i + 1 < CELLS ? "" : "|\n");
    }
    for (size_t r = 0; r < count; r++) {
        char cells[CELLS][48];
        fill(&results[r], cells);
        for (int i = 0; i < CELLS; i++) {
            fprintf(file, "| %s %s", cells[i], i + 1 < CELLS ? "" : "|\n");
        }
    }
}

void bench_print_string(FILE *file, const char *text)
{
    fputc('"', file);
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(file, "\\%c", *c);
        } else if (*c < 0x20) {
            fprintf(file, "\\u%04x", *c);
        } else {
            fputc(*c, file);
        }
    }
    fputc('"', file);
}

void bench_print_timing(FILE *file, const char *name, const bench_timing *timing)
{
    if (timing->ran) {
        fprintf(
            file,
            ", \"%s\": {\"median_us\": %.4f, \"minimum_us\": %.4f, \"quartile_low_us\": %.4f, \"quartile_high_us\": %.4f, "
            "\"samples\": %zu}",
            name, timing->median, timing->minimum, timing->quartile_low, timing->quartile_high, timing->samples);
    } else {
        fprintf(file, ", \"%s\": {\"not_run\": ", name);
        bench_print_string(file, timing->why);
        fputc('}', file);
    }
}

void bench_print_json(FILE *file, const bench_result *results, size_t count)
{
    static const char *const names[BENCH_CONTENDERS] = {"rmsnorm", "onnxruntime", "memcpy", "copy", "stream_copy"};
    fprintf(file, "[");
    for (size_t r = 0; r < count; r++) {
        const bench_result *const result = &results[r];
        char name[48];
        char types[48];
        bench_name(&result->what, name, sizeof name);
        bench_types(&result->what, types, sizeof types);
        fprintf(file,
                "%s\n  {\"case\": \"%s\", \"operator\": \"%s\", \"types\": \"%s\", \"rows\": %" PRId64
                ", \"hidden_size\": %" PRId64 ", \"threads\": %zu, \"isa\": \"%s\", \"bytes\": %" PRId64,
                r > 0 ? "," : "", name, result->what.op->name, types, result->what.rows, result->what.hidden_size,
                result->what.threads, rmsnorm_isa_name(result->what.isa), result->bytes);
        for (int c = 0; c < BENCH_CONTENDERS; c++) {
            bench_print_timing(file, names[c], &result->timings[c]);
        }
        if (result->timings[BENCH_ORT].ran) {
            fprintf(file, ", \"ratio_to_onnxruntime\": %.4f", bench_against_ort(result));
        }
        fprintf(file, ", \"of_copy_limit\": %.4f}", bench_of_copy_limit(result));
    }
    fprintf(file, "\n]\n");
}
