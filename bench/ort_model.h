/* ort_model.h: a model in ONNX Runtime, with and without the plug-in: whole runs interleaved, times by kind of node, what the plug-in
 * took, and how far the outputs are apart. */
#ifndef RMSNORM_BENCH_ORT_MODEL_H
#define RMSNORM_BENCH_ORT_MODEL_H

#include "bench.h"

typedef struct bench_model_request {
    const char *path, *plugin;
    bool custom;             /* as custom operators; else as execution provider */
    const char *const *dims; /* "NAME=16", for symbolic dims; others are 1 */
    size_t dim_count;
    const char *const *options; /* "NAME=VALUE", of the provider */
    size_t option_count;
    size_t threads;
    double seconds;
} bench_model_request;

enum { BENCH_MODEL_ALONE, BENCH_MODEL_PLUGIN, BENCH_MODEL_SIDES };

typedef struct bench_model_kind {
    char op[64], provider[64];
    double nodes;        /* events per run */
    double microseconds; /* per run, by the runtime's profile */
} bench_model_kind;

enum { BENCH_MODEL_KINDS = 256, BENCH_MODEL_SAID = 65536, BENCH_MODEL_WHY = 640 };

typedef struct bench_model_report {
    char version[32];                    /* of ONNX Runtime */
    char failed[BENCH_MODEL_SIDES][256]; /* why a side does not run the model; "": it does */
    bench_timing timings[BENCH_MODEL_SIDES];
    bench_model_kind kinds[BENCH_MODEL_SIDES][BENCH_MODEL_KINDS]; /* the longest first */
    size_t kind_counts[BENCH_MODEL_SIDES];
    char said[BENCH_MODEL_SAID];  /* lines: what the plug-in claims, and leaves */
    size_t outputs, outputs_same; /* all of them; with the same bits */
    double difference, relative;  /* the largest |a - b|, and that by the largest |b| of its output */
    char output[128];             /* where it is */
} bench_model_report;

/* A runtime that does not run the model alone is part of the report; the plug-in's side has to run it. false: a sentence is in
 * `why`. */
bool bench_model(const bench_model_request *request, bench_model_report *report, char why[BENCH_MODEL_WHY]);

void bench_model_print_text(FILE *file, const bench_model_request *request, const bench_model_report *report);
void bench_model_print_json(FILE *file, const bench_model_request *request, const bench_model_report *report);

#endif
