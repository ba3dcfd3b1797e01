/* ort_compare: two models in ONNX Runtime on the same inputs: how far their outputs are apart, and how long each takes. */
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "decoder/ort_kinds.h"
#include "decoder/ort_model.h"

static const char usage[] =
    "usage: ort_compare A.onnx B.onnx [OPTION]...\n"
    "  --dims NAME=N[,NAME=N]...     of symbolic dims (batch_size=1,sequence_length=16, others 1)\n"
    "  --ids N                       integer inputs are from 0 to N - 1 (16)\n"
    "  --seed N                      of the inputs (1)\n"
    "  --threads N                   (1)\n"
    "  --seconds X                   to time for, both together; 0: not timed (0)\n"
    "  --optimization all|basic|off  what ONNX Runtime does to the models first (all)\n"
    "  --ulp N | --relative X        how far apart elements may be: numbers of their type between them, or the difference by\n"
    "                                the largest magnitude of the output (--relative 1e-3)\n"
    "  --kinds                       also the nodes that are run, by kind\n"
    "  --json\n"
    "Exit status: 0 as close as allowed, 1 further apart, 2 a model cannot be run, or a usage error.\n";

enum { MOST_SAMPLES = 4000, LEAST_SAMPLES = 7, OK = 0, APART = 1, BAD = 2 };

static const char *const sides[2] = {"A", "B"};

typedef struct comparison {
    const char *paths[2];
    ort_options options;
    double seconds, relative;
    int64_t ulp; /* -1: relative decides */
    bool kinds, json;
    ort_model models[2];
    bench_timing timings[2];
    ort_difference difference; /* of all outputs the largest */
    ort_kinds found[2];
} comparison;

static int fail(const char *sentence, const char *what)
{
    fprintf(stderr, "ort_compare: %s%s%s\n", what, what[0] != '\0' ? ": " : "", sentence);
    return BAD;
}

/* ---- Running --------------------------------------------------------------------------------- */

static bool open_models(comparison *c, char why[256])
{
    for (int i = 0; i < 2; i++) {
        char name[] = "/tmp/ort_compare-XXXXXX";
        ort_options options = c->options;
        const int file = c->kinds ? mkstemp(name) : -1;
        options.optimized = file >= 0 ? name : NULL;
        bool good = ort_model_open(&c->models[i], c->paths[i], &options, why);
        if (file >= 0) {
            good = good && ort_kinds_read(name, &c->found[i], why);
            close(file);
            unlink(name);
        }
        if (!good) {
            return false;
        }
    }
    return true;
}

static bool compare_outputs(comparison *c, char why[256])
{
    if (c->models[0].output_count != c->models[1].output_count) {
        snprintf(why, 256, "one model has %zu outputs, the other one %zu", c->models[0].output_count,
                 c->models[1].output_count);
        return false;
    }
    bool good = ort_model_run(&c->models[0], why) && ort_model_run(&c->models[1], why);
    for (size_t i = 0; good && i < c->models[0].output_count; i++) {
        ort_output outputs[2] = {{.rank = 0}, {.rank = 0}};
        ort_difference one;
        good = ort_model_output(&c->models[0], i, &outputs[0], why) &&
               ort_model_output(&c->models[1], i, &outputs[1], why) &&
               ort_compare_outputs(&outputs[0], &outputs[1], &one, why);
        for (int k = 0; k < 2; k++) {
            c->models[k].api->ReleaseValue(outputs[k].value);
        }
        if (good) {
            c->difference.ulp = one.ulp > c->difference.ulp ? one.ulp : c->difference.ulp;
            c->difference.relative = one.relative > c->difference.relative ? one.relative : c->difference.relative;
            c->difference.largest = one.largest > c->difference.largest ? one.largest : c->difference.largest;
        }
    }
    return good;
}

/* One run of each in turn; who begins alternates. */
static bool time_both(comparison *c, char why[256])
{
    static double samples[2][MOST_SAMPLES];
    const double end = bench_now_us() + c->seconds * 1e6;
    size_t count = 0;
    while (count < MOST_SAMPLES && (count < LEAST_SAMPLES || bench_now_us() < end)) {
        for (size_t i = 0; i < 2; i++) {
            const size_t which = (count + i) % 2;
            const double start = bench_now_us();
            if (!ort_model_run(&c->models[which], why)) {
                return false;
            }
            samples[which][count] = bench_now_us() - start;
        }
        count++;
    }
    for (size_t i = 0; i < 2; i++) {
        c->timings[i].ran = true;
        bench_summarize(samples[i], count, &c->timings[i]);
    }
    return true;
}

/* ---- Reports --------------------------------------------------------------------------------- */

static bool is_close(const comparison *c)
{
    return c->ulp >= 0 ? c->difference.ulp <= (uint64_t)c->ulp : c->difference.relative <= c->relative;
}

static void print_text(const comparison *c)
{
    printf("largest difference: %" PRIu64 " ulp, %.3g of the largest magnitude, which is %.4g: %s\n", c->difference.ulp,
           c->difference.relative, c->difference.largest, is_close(c) ? "allowed" : "TOO FAR");
    for (int i = 0; i < 2; i++) {
        if (c->kinds) {
            printf("%s runs ", sides[i]);
            ort_kinds_print(stdout, &c->found[i]);
        }
    }
    if (c->timings[0].ran) {
        for (int i = 0; i < 2; i++) {
            const bench_timing *const timing = &c->timings[i];
            printf("%s: %.4g ms, quartiles %.4g..%.4g, of %zu runs\n", sides[i], timing->median / 1e3,
                   timing->quartile_low / 1e3, timing->quartile_high / 1e3, timing->samples);
        }
        printf("A by B: %.2f\n", c->timings[0].median / c->timings[1].median);
    }
}

/* JSON has no infinity: null. */
static void print_real(const char *name, double number)
{
    if (isfinite(number)) {
        printf(", \"%s\": %.6g", name, number);
    } else {
        printf(", \"%s\": null", name);
    }
}

static void print_json(const comparison *c)
{
    printf("{\"close\": %s, \"ulp\": %" PRIu64, is_close(c) ? "true" : "false", c->difference.ulp);
    print_real("relative", c->difference.relative);
    print_real("largest", c->difference.largest);
    for (int i = 0; i < 2; i++) {
        if (c->kinds) {
            printf(", \"%s_runs\": ", sides[i]);
            ort_kinds_print_json(stdout, &c->found[i]);
        }
        if (c->timings[i].ran) {
            bench_print_timing(stdout, sides[i], &c->timings[i]);
        }
    }
    if (c->timings[0].ran) {
        printf(", \"ratio\": %.4f", c->timings[0].median / c->timings[1].median);
    }
    printf("}\n");
}

static int run(comparison *c)
{
    char why[256];
    const bool good = open_models(c, why) && compare_outputs(c, why) && (c->seconds <= 0.0 || time_both(c, why));
    ort_model_close(&c->models[0]);
    ort_model_close(&c->models[1]);
    if (!good) {
        return fail(why, "");
    }
    (c->json ? print_json : print_text)(c);
    return is_close(c) ? OK : APART;
}

/* ---- The command line ------------------------------------------------------------------------ */

enum { DIMS = 256, IDS, SEED, THREADS, SECONDS, OPTIMIZATION, ULP, RELATIVE, KINDS, JSON, HELP };

static const struct option long_options[] = {{"dims", required_argument, NULL, DIMS},
                                             {"ids", required_argument, NULL, IDS},
                                             {"seed", required_argument, NULL, SEED},
                                             {"threads", required_argument, NULL, THREADS},
                                             {"seconds", required_argument, NULL, SECONDS},
                                             {"optimization", required_argument, NULL, OPTIMIZATION},
                                             {"ulp", required_argument, NULL, ULP},
                                             {"relative", required_argument, NULL, RELATIVE},
                                             {"kinds", no_argument, NULL, KINDS},
                                             {"json", no_argument, NULL, JSON},
                                             {"help", no_argument, NULL, HELP},
                                             {NULL, 0, NULL, 0}};

/* NAME=N,NAME=N: each N ends at a comma or at the end. */
static bool read_dims(const char *text, ort_options *options)
{
    while (*text != '\0' && options->dim_count < ORT_MOST_DIMS) {
        ort_dim *const dim = &options->dims[options->dim_count++];
        const size_t length = strcspn(text, "=,");
        if (text[length] != '=' || length == 0 || length >= sizeof dim->name) {
            return false;
        }
        memcpy(dim->name, text, length); /* a name of zeros before */
        const char *const number = text + length + 1;
        char *end;
        dim->size = strtoll(number, &end, 10);
        if (end == number || (*end != ',' && *end != '\0') || dim->size < 0 || dim->size > INT32_MAX) {
            return false;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return *text == '\0';
}

static bool read_whole(const char *text, int64_t least, int64_t *number)
{
    char *end;
    *number = strtoll(text, &end, 10);
    return end != text && *end == '\0' && *number >= least && *number <= INT32_MAX;
}

static bool read_real(const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && *number >= 0.0;
}

static bool read_optimization(const char *text, GraphOptimizationLevel *level)
{
    *level = strcmp(text, "all") == 0     ? ORT_ENABLE_ALL
             : strcmp(text, "basic") == 0 ? ORT_ENABLE_BASIC
                                          : ORT_DISABLE_ALL;
    return *level != ORT_DISABLE_ALL || strcmp(text, "off") == 0;
}

static bool set_option(int id, const char *value, comparison *c)
{
    int64_t number = 0;
    bool good = true;
    switch (id) {
    case DIMS:
        return read_dims(value, &c->options);
    case IDS:
        return read_whole(value, 1, &c->options.ids);
    case SEED:
        good = read_whole(value, 0, &number);
        c->options.seed = (uint64_t)number;
        return good;
    case THREADS:
        good = read_whole(value, 1, &number);
        c->options.threads = (int)number;
        return good;
    case SECONDS:
        return read_real(value, &c->seconds);
    case OPTIMIZATION:
        return read_optimization(value, &c->options.optimization);
    case ULP:
        return read_whole(value, 0, &c->ulp);
    case RELATIVE:
        return read_real(value, &c->relative);
    default:
        *(id == KINDS ? &c->kinds : &c->json) = true;
        return true;
    }
}

int main(int argc, char **argv)
{
    static comparison c = {.options = ORT_OPTIONS_INIT, .ulp = -1, .relative = 1e-3};
    int id;
    int which = 0;
    while ((id = getopt_long(argc, argv, "h", long_options, &which)) != -1) {
        if (id == HELP || id == 'h') {
            fputs(usage, stdout);
            return OK;
        }
        if (id == '?') {
            return BAD;
        }
        if (!set_option(id, optarg, &c)) {
            return fail("this value is not allowed, --help says which are", optarg);
        }
    }
    if (argc - optind != 2) {
        return fail("two models are compared, write ort_compare A.onnx B.onnx", "");
    }
    c.paths[0] = argv[optind];
    c.paths[1] = argv[optind + 1];
    return run(&c);
}
