/* chart.c: time per element against bytes, both logarithmic: ours, ONNX Runtime's, and the copy limit. One panel per case name,
 * type and thread count. */
#include <math.h>
#include <string.h>

#include "bench.h"

#define PANEL_WIDTH 360.0
#define PANEL_HEIGHT 240.0
#define MARGIN_LEFT 52.0
#define MARGIN_TOP 34.0
#define MARGIN_BOTTOM 36.0
#define MARGIN_RIGHT 12.0
#define COLUMNS 3

/* The scale of every panel: powers of ten of bytes, and of ns per element. */
static int x_low, x_high, y_low, y_high;

static const struct {
    const char *name, *colour;
} series[] = {{"rmsnorm", "#0b6e4f"}, {"ONNX Runtime", "#b3541e"}, {"best copy of the same bytes", "#7a7a7a"}};

#define SERIES_COUNT 3

static double time_of(const bench_result *result, int which)
{
    const double ours = result->timings[BENCH_OURS].median;
    switch (which) {
    case 0:
        return ours;
    case 1:
        return result->timings[BENCH_ORT].ran ? result->timings[BENCH_ORT].median : 0.0;
    default:
        return bench_of_copy_limit(result) * ours;
    }
}

static bool same_panel(const bench_result *a, const bench_result *b)
{
    return a->what.op == b->what.op && a->what.dtype == b->what.dtype && a->what.gamma_dtype == b->what.gamma_dtype &&
           a->what.bias == b->what.bias && a->what.sum == b->what.sum && a->what.threads == b->what.threads;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Whole decades around all results, at least from 10 kB to 1 GB and from 0.01 to 10 ns. */
static void set_scale(const bench_result *results, size_t count)
{
    x_low = 4, x_high = 9, y_low = -2, y_high = 1;
    for (size_t r = 0; r < count; r++) {
        const double elements = (double)results[r].what.rows * (double)results[r].what.hidden_size;
        const double x = log10((double)results[r].bytes);
        x_low = smaller(x_low, (int)floor(x));
        x_high = -smaller(-x_high, -(int)ceil(x));
        for (int s = 0; s < SERIES_COUNT; s++) {
            const double us = time_of(&results[r], s);
            if (us > 0.0) {
                const double y = log10(us * 1e3 / elements);
                y_low = smaller(y_low, (int)floor(y));
                y_high = -smaller(-y_high, -(int)ceil(y));
            }
        }
    }
}

/* "10 kB" for 4: the power of ten in the unit that suits it. */
static void name_power(int power, const char *const units[], int first, char *text, size_t size)
{
    const int group = (power - first) / 3;
    snprintf(text, size, "%g%s", pow(10.0, power - first - 3 * group), units[group]);
}

static double x_at(double bytes)
{
    return MARGIN_LEFT + (log10(bytes) - x_low) / (x_high - x_low) * (PANEL_WIDTH - MARGIN_LEFT - MARGIN_RIGHT);
}

static double y_at(double ns)
{
    const double height = PANEL_HEIGHT - MARGIN_TOP - MARGIN_BOTTOM;
    return MARGIN_TOP + (y_high - log10(ns)) / (y_high - y_low) * height;
}

static void print_axes(FILE *file, const bench_result *first)
{
    static const char *const bytes[] = {" B", " kB", " MB", " GB", " TB"};
    static const char *const times[] = {" ps", " ns", " us", " ms"};
    char label[32];
    char name[48];
    char types[48];
    bench_name(&first->what, name, sizeof name);
    bench_types(&first->what, types, sizeof types);
    fprintf(file, "<text x=\"%.0f\" y=\"18\" font-weight=\"bold\">%s, %s, %zu thread%s</text>\n", MARGIN_LEFT, name,
            types, first->what.threads, first->what.threads == 1 ? "" : "s");
    for (int power = x_low; power <= x_high; power++) {
        const double x = x_at(pow(10, power));
        name_power(power, bytes, 0, label, sizeof label);
        fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x, MARGIN_TOP, x,
                PANEL_HEIGHT - MARGIN_BOTTOM);
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"#555\">%s</text>\n", x,
                PANEL_HEIGHT - MARGIN_BOTTOM + 14, label);
    }
    for (int power = y_low; power <= y_high; power++) {
        const double y = y_at(pow(10, power));
        name_power(power, times, -3, label, sizeof label);
        fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", MARGIN_LEFT, y,
                PANEL_WIDTH - MARGIN_RIGHT, y);
        fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%s</text>\n", MARGIN_LEFT - 4,
                y + 4, label);
    }
    fprintf(file, "<text x=\"%.0f\" y=\"%.0f\" fill=\"#555\">time per element, by bytes read and written</text>\n",
            MARGIN_LEFT, PANEL_HEIGHT - 6);
}

static void print_series(FILE *file, const bench_result *results, size_t count, size_t first, int which)
{
    fprintf(file, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", series[which].colour,
            which == 2 ? " stroke-dasharray=\"5 3\"" : "");
    for (int pass = 0; pass < 2; pass++) { /* the line, then its points */
        for (size_t r = first; r < count; r++) {
            const double us = time_of(&results[r], which);
            if (!same_panel(&results[first], &results[r]) || us <= 0.0) {
                continue;
            }
            const double elements = (double)results[r].what.rows * (double)results[r].what.hidden_size;
            const double x = x_at((double)results[r].bytes);
            const double y = y_at(us * 1e3 / elements);
            if (pass == 0) {
                fprintf(file, "%.1f,%.1f ", x, y);
            } else {
                fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y, series[which].colour);
            }
        }
        fputs(pass == 0 ? "\"/>\n" : "", file);
    }
}

static bool is_first(const bench_result *results, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        if (same_panel(&results[i], &results[index])) {
            return false;
        }
    }
    return true;
}

void bench_print_svg(FILE *file, const bench_result *results, size_t count)
{
    set_scale(results, count);
    size_t panels = 0;
    for (size_t r = 0; r < count; r++) {
        panels += is_first(results, r);
    }
    const double width = PANEL_WIDTH * (panels < COLUMNS ? (double)(panels > 0 ? panels : 1) : COLUMNS);
    const size_t lines = (panels + COLUMNS - 1) / COLUMNS;
    const double height = PANEL_HEIGHT * (double)lines + 30;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height, width, height);
    for (int s = 0; s < SERIES_COUNT; s++) {
        fprintf(file, "<text x=\"%.0f\" y=\"18\" fill=\"%s\">\xe2\x97\x8f %s</text>\n", MARGIN_LEFT + 110 * s,
                series[s].colour, series[s].name);
    }
    size_t panel = 0;
    for (size_t r = 0; r < count; r++) {
        if (!is_first(results, r)) {
            continue;
        }
        const size_t line = panel / COLUMNS;
        fprintf(file, "<g transform=\"translate(%.0f %.0f)\">\n", PANEL_WIDTH * (double)(panel % COLUMNS),
                30 + PANEL_HEIGHT * (double)line);
        print_axes(file, &results[r]);
        for (int s = 0; s < SERIES_COUNT; s++) {
            print_series(file, results, count, r, s);
        }
        fprintf(file, "</g>\n");
        panel++;
    }
    fprintf(file, "</svg>\n");
}
