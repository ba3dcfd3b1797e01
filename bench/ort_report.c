/* ort_report.c: a model with and without the plug-in, for people and for programs. */
#include <math.h>
#include <string.h>

#include "ort_model.h"

static const char *const sides[BENCH_MODEL_SIDES] = {"alone", "plugin"};
static const char *const titles[BENCH_MODEL_SIDES] = {"ONNX Runtime alone", "with the plug-in"};

static bool both_ran(const bench_model_report *report)
{
    return report->timings[BENCH_MODEL_ALONE].ran && report->timings[BENCH_MODEL_PLUGIN].ran;
}

static double ratio(const bench_model_report *report)
{
    return report->timings[BENCH_MODEL_ALONE].median / report->timings[BENCH_MODEL_PLUGIN].median;
}

static void print_kinds(FILE *file, const bench_model_report *report, int side)
{
    if (!report->timings[side].ran) {
        return;
    }
    fprintf(file, "\n%s, by kind of node, per run:\n", titles[side]);
    for (size_t i = 0; i < report->kind_counts[side]; i++) {
        const bench_model_kind *const kind = &report->kinds[side][i];
        fprintf(file, "  %-40s %6.4g x %10.1f us  %s\n", kind->op, kind->nodes, kind->microseconds, kind->provider);
    }
}

void bench_model_print_text(FILE *file, const bench_model_request *request, const bench_model_report *report)
{
    fprintf(file, "%s, ONNX Runtime %s, %zu thread%s\n\n", request->path, report->version, request->threads,
            request->threads == 1 ? "" : "s");
    fprintf(file, "whole runs, us          median     quartiles\n");
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        const bench_timing *const timing = &report->timings[i];
        fprintf(file, "  %-18s ", titles[i]);
        if (timing->ran) {
            fprintf(file, "%10.1f     %.1f..%.1f\n", timing->median, timing->quartile_low, timing->quartile_high);
        } else {
            fprintf(file, "cannot run: %s\n", report->failed[i]);
        }
    }
    if (both_ran(report)) {
        fprintf(file, "  %.2f times as fast\n", ratio(report));
    }
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        print_kinds(file, report, i);
    }
    fprintf(file, "\n%s\n%s", request->custom ? "as custom operators: nothing is claimed" : "the plug-in",
            report->said);
    if (!both_ran(report)) {
        return;
    }
    fprintf(file, "\noutputs: %zu of %zu have the same bits", report->outputs_same, report->outputs);
    if (report->difference > 0.0) {
        fprintf(file, "; the largest difference is %.3g in \"%s\", %.3g of its largest element", report->difference,
                report->output, report->relative);
    }
    fprintf(file, "\n");
}

static void print_number(FILE *file, const char *name, double number)
{
    if (isfinite(number)) {
        fprintf(file, "\"%s\": %.9g", name, number);
    } else {
        fprintf(file, "\"%s\": \"inf\"", name);
    }
}

static void print_side(FILE *file, const bench_model_report *report, int side)
{
    if (!report->timings[side].ran) {
        fprintf(file, ", \"%s\": {\"error\": ", sides[side]);
        bench_print_string(file, report->failed[side]);
        fprintf(file, "}");
        return;
    }
    fprintf(file, ", \"%s\": {\"nodes\": [", sides[side]);
    for (size_t i = 0; i < report->kind_counts[side]; i++) {
        const bench_model_kind *const kind = &report->kinds[side][i];
        fprintf(file, "%s{\"op\": ", i == 0 ? "" : ", ");
        bench_print_string(file, kind->op);
        fprintf(file, ", \"provider\": ");
        bench_print_string(file, kind->provider);
        fprintf(file, ", ");
        print_number(file, "count", kind->nodes);
        fprintf(file, ", ");
        print_number(file, "us", kind->microseconds);
        fprintf(file, "}");
    }
    fprintf(file, "]");
    bench_print_timing(file, "run", &report->timings[side]);
    fprintf(file, "}");
}

static void print_lines(FILE *file, const char *lines)
{
    for (const char *line = lines; *line != '\0';) {
        char text[1024];
        const size_t length = strcspn(line, "\n");
        snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : sizeof text - 1), line);
        fprintf(file, "%s", line == lines ? "" : ", ");
        bench_print_string(file, text);
        line += length + (line[length] == '\n');
    }
}

void bench_model_print_json(FILE *file, const bench_model_request *request, const bench_model_report *report)
{
    fprintf(file, "{\"model\": ");
    bench_print_string(file, request->path);
    fprintf(file, ", \"onnxruntime\": ");
    bench_print_string(file, report->version);
    fprintf(file, ", \"threads\": %zu", request->threads);
    for (int i = 0; i < BENCH_MODEL_SIDES; i++) {
        print_side(file, report, i);
    }
    if (both_ran(report)) {
        fprintf(file, ", \"ratio\": %.4g", ratio(report));
    }
    fprintf(file, ", \"said\": [");
    print_lines(file, report->said);
    fprintf(file, "], \"outputs\": %zu", report->outputs);
    if (both_ran(report)) {
        fprintf(file, ", \"outputs_same\": %zu, ", report->outputs_same);
        print_number(file, "difference", report->difference);
        fprintf(file, ", ");
        print_number(file, "relative", report->relative);
        fprintf(file, ", \"output\": ");
        bench_print_string(file, report->output);
    }
    fprintf(file, "}\n");
}
