/* test_fuse.c: rmsnorm fuse finds every norm of a decoder of 32 layers, and ONNX Runtime gets the same from what it wrote.
 *
 * usage: test_fuse STYLE DTYPE, as make_decoder names them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "cli/support.h"
#include "decoder/decoder.h"
#include "decoder/ort_model.h"

/* What 32 layers may make of single roundings that came elsewhere, by the largest magnitude of the output. Fused norms have
 * one rounding where the small nodes have several; ONNX Runtime runs narrow products in float, with a rounding behind each. */
#define FLOAT_RELATIVE 1e-5
#define FLOAT16_RELATIVE 5e-3

static decoder_options options = DECODER_OPTIONS_INIT;
static bool with_ort;

static const int64_t opsets[] = {11, 17, 21, 23};
static const char *const targets[] = {"rmsnorm", "onnx", "ort-cpu"};

/* A narrow sum is rounded before its norm, which SkipSimplifiedLayerNormalization does not do; and it is in no standard. */
static int64_t residuals_for(const char *target, const decoder_counts *counts)
{
    return options.dtype == RMSNORM_FLOAT && strcmp(target, "rmsnorm") == 0 ? counts->residuals : 0;
}

static void expect_fused(const char *target, const decoder_counts *counts)
{
    char script[128];
    (void)snprintf(script, sizeof script, "rmsnorm fuse plain.onnx -o fused.onnx --target %s --json", target);
    json_t *const report = json_of(script, 0);
    if (json_integer_value(at(report, "counts.chains")) != counts->norms ||
        json_integer_value(at(report, "counts.residuals")) != residuals_for(target, counts)) {
        fail_msg("opset %d, target %s: %d chains of %d, %d residuals of %d", (int)options.file.opset, target,
                 (int)json_integer_value(at(report, "counts.chains")), (int)counts->norms,
                 (int)json_integer_value(at(report, "counts.residuals")), (int)residuals_for(target, counts));
    }
    json_decref(report);
}

static ort_output run_in_ort(ort_model *model, const char *path)
{
    ort_options session = ORT_OPTIONS_INIT;
    ort_output output = {.rank = 0};
    char why[256];
    session.optimization = ORT_DISABLE_ALL; /* what stands in the file, not what is fused when it is loaded */
    if (!ort_model_open(model, path, &session, why) || !ort_model_run(model, why) ||
        !ort_model_output(model, 0, &output, why)) {
        fail_msg("%s: %s", path, why);
    }
    return output;
}

static void expect_same_outputs(void)
{
    ort_model models[2] = {{.api = NULL}, {.api = NULL}};
    const ort_output plain = run_in_ort(&models[0], "plain.onnx");
    const ort_output fused = run_in_ort(&models[1], "fused.onnx");
    const double allowed = options.dtype == RMSNORM_FLOAT ? FLOAT_RELATIVE : FLOAT16_RELATIVE;
    ort_difference difference;
    char why[256];
    if (!ort_compare_outputs(&plain, &fused, &difference, why)) {
        fail_msg("%s", why);
    }
    if (difference.relative > allowed) {
        fail_msg("opset %d: %g apart, allowed is %g", (int)options.file.opset, difference.relative, allowed);
    }
    print_message("opset %d: %g apart\n", (int)options.file.opset, difference.relative);
    models[0].api->ReleaseValue(plain.value);
    models[1].api->ReleaseValue(fused.value);
    ort_model_close(&models[0]);
    ort_model_close(&models[1]);
}

static void every_norm_is_fused(void **state)
{
    (void)state;
    for (size_t o = 0; o < sizeof opsets / sizeof opsets[0]; o++) {
        decoder_counts counts;
        char why[256];
        options.file.opset = opsets[o];
        options.root = (decoder_root)(o % 3);
        options.file.value_info = o % 2 == 1;
        if (!decoder_write(&options, "plain.onnx", &counts, why)) {
            fail_msg("%s", why);
        }
        for (size_t t = 0; t < sizeof targets / sizeof targets[0]; t++) {
            expect_fused(targets[t], &counts);
        }
        if (with_ort) { /* the last target's */
            expect_same_outputs();
        }
    }
}

static bool choose(const char *style, const char *dtype)
{
    static const char *const styles[] = {"llama", "gemma", "qwen"};
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    bool known[2] = {false, false};
    for (int i = 0; i < 3; i++) {
        if (strcmp(styles[i], style) == 0) {
            options.style = (decoder_style)i;
            known[0] = true;
        }
        if (strcmp(rmsnorm_dtype_name(dtypes[i]), dtype) == 0) {
            options.dtype = dtypes[i];
            known[1] = true;
        }
    }
    return known[0] && known[1];
}

int main(int argc, char **argv)
{
    char why[256];
    if (argc != 3 || !choose(argv[1], argv[2])) {
        fprintf(stderr, "usage: test_fuse llama|gemma|qwen float|float16|bfloat16\n");
        return 2;
    }
    /* Its CPU provider has no products of bfloat16 matrices. */
    with_ort = options.dtype != RMSNORM_BFLOAT16 && bench_ort_load(NULL, why) != NULL;
    if (!with_ort && options.dtype != RMSNORM_BFLOAT16) {
        printf("only counted: %s\n", why);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_norm_is_fused)};
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
