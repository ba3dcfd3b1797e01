/* test_run.c: the decoders load and run in ONNX Runtime, and have in them what they say. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "decoder/decoder.h"
#include "decoder/ort_kinds.h"
#include "decoder/ort_model.h"

enum { LAYERS = 2, NOT_RUN = 77 };

static char folder[] = "/tmp/rmsnorm-decoder-XXXXXX";

static const char *in_folder(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *const path = paths[next++ % 4];
    (void)snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state)
{
    static const char *const names[] = {"a.onnx", "b.onnx", "b.data"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)unlink(in_folder(names[i]));
    }
    return rmdir(folder);
}

static decoder_options small(decoder_style style, rmsnorm_dtype dtype)
{
    decoder_options options = DECODER_OPTIONS_INIT;
    options.style = style;
    options.dtype = dtype;
    options.layers = LAYERS;
    return options;
}

static decoder_counts write_decoder(const decoder_options *options, const char *path)
{
    decoder_counts counts;
    char why[256];
    if (!decoder_write(options, path, &counts, why)) {
        fail_msg("%s", why);
    }
    return counts;
}

static void open_model(ort_model *model, const char *path)
{
    const ort_options options = ORT_OPTIONS_INIT;
    char why[256];
    if (!ort_model_open(model, path, &options, why) || !ort_model_run(model, why)) {
        fail_msg("%s", why);
    }
}

static ort_output output_of(const ort_model *model)
{
    ort_output output;
    char why[256];
    assert_int_equal(model->output_count, 1);
    if (!ort_model_output(model, 0, &output, why)) {
        fail_msg("%s", why);
    }
    return output;
}

/* Numbers everywhere, of the size that a normalized state has. */
static void expect_tame(const ort_output *output)
{
    double squares = 0.0;
    for (size_t i = 0; i < output->count; i++) {
        const double value = bench_data_get((rmsnorm_dtype)output->type, output->data, (int64_t)i);
        assert_true(isfinite(value));
        squares += value * value;
    }
    const double size = sqrt(squares / (double)output->count);
    assert_true(size > 0.05 && size < 5.0);
}

static void expect_run(const decoder_options *options)
{
    ort_model model = {.api = NULL};
    (void)write_decoder(options, in_folder("a.onnx"));
    open_model(&model, in_folder("a.onnx"));
    const ort_output output = output_of(&model);
    assert_int_equal(output.type, options->dtype);
    assert_int_equal(output.rank, 3);
    assert_int_equal(output.dims[0], 1);
    assert_int_equal(output.dims[1], 16);
    assert_int_equal(output.dims[2], options->vocabulary > 0 ? options->vocabulary : options->hidden);
    assert_string_equal(output.name, options->vocabulary > 0 ? "logits" : "last_hidden_state");
    /* A gemma's weights are added to 1, so that its states are as large as the others'. */
    expect_tame(&output);
    model.api->ReleaseValue(output.value);
    ort_model_close(&model);
}

static const decoder_style styles[] = {DECODER_LLAMA, DECODER_GEMMA, DECODER_QWEN};
static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
enum { STYLES = 3, DTYPES = 3, RUN_DTYPES = 2 }; /* ONNX Runtime's CPU provider has no products of bfloat16 matrices */

static void every_style_runs(void **state)
{
    (void)state;
    for (int i = 0; i < STYLES * RUN_DTYPES; i++) {
        decoder_options options = small(styles[i / RUN_DTYPES], dtypes[i % RUN_DTYPES]);
        options.qk_norms = options.style == DECODER_GEMMA;
        expect_run(&options);
        options.vocabulary = 40;
        expect_run(&options);
        options.skeleton = true;
        expect_run(&options);
    }
}

static void every_opset_and_root_runs(void **state)
{
    (void)state;
    for (int64_t opset = 7; opset <= 25; opset++) {
        for (int d = 0; d < RUN_DTYPES; d++) {
            decoder_options options = small(styles[opset % STYLES], dtypes[d]);
            options.file.opset = opset;
            options.root = (decoder_root)(opset / 3 % 3);
            expect_run(&options);
        }
    }
}

/* Each norm has one square root, and nothing else has. */
static void counts_are_those_of_the_file(void **state)
{
    (void)state;
    for (int i = 0; i < STYLES * DTYPES; i++) {
        const decoder_style style = styles[i / DTYPES];
        const int d = i % DTYPES;
        decoder_options options = small(style, dtypes[d]);
        ort_kinds kinds;
        char why[256];
        options.skeleton = d == 2;
        const decoder_counts counts = write_decoder(&options, in_folder("a.onnx"));
        assert_true(ort_kinds_read(in_folder("a.onnx"), &kinds, why));
        const bool two = style == DECODER_LLAMA || (style == DECODER_QWEN && options.skeleton);
        assert_int_equal(counts.norms, (two ? 2 : 4) * LAYERS + 1);
        assert_int_equal(counts.residuals, 2 * LAYERS);
        assert_int_equal(counts.norms, counts.float_norms + counts.early_rounded + counts.late_rounded);
        assert_int_equal(counts.norms, ort_kinds_count(&kinds, "Sqrt"));
        assert_int_equal(counts.norms, ort_kinds_count(&kinds, "Pow"));
        const int64_t casts = d == 0 ? 0 : style == DECODER_GEMMA ? 3 : 2;
        assert_int_equal(casts * counts.norms, ort_kinds_count(&kinds, "Cast"));
    }
}

/* Data in a file beside it, and declared values, change nothing. */
static void other_files_give_the_same_bits(void **state)
{
    (void)state;
    for (int d = 0; d < RUN_DTYPES; d++) {
        decoder_options options = small(DECODER_QWEN, dtypes[d]);
        (void)write_decoder(&options, in_folder("a.onnx"));
        options.file.external = in_folder("b.data");
        options.file.value_info = true;
        (void)write_decoder(&options, in_folder("b.onnx"));
        ort_model models[2] = {{.api = NULL}, {.api = NULL}};
        ort_difference difference;
        char why[256];
        open_model(&models[0], in_folder("a.onnx"));
        open_model(&models[1], in_folder("b.onnx"));
        const ort_output a = output_of(&models[0]);
        const ort_output b = output_of(&models[1]);
        assert_true(ort_compare_outputs(&a, &b, &difference, why));
        assert_int_equal(difference.ulp, 0);
        assert_true(difference.largest > 0.5);
        models[0].api->ReleaseValue(a.value);
        models[1].api->ReleaseValue(b.value);
        ort_model_close(&models[0]);
        ort_model_close(&models[1]);
    }
}

static void differences_are_seen(void **state)
{
    (void)state;
    const float x[] = {1.0f, -0.0f, 0x1p-149f, -4.0f};
    float y[] = {1.0f, 0.0f, -0x1p-149f, -4.0f};
    ort_output a = {.type = ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, .rank = 1, .count = 4, .dims = {4}, .data = x};
    ort_output b = a;
    ort_difference difference;
    char why[256];
    b.data = y;
    assert_true(ort_compare_outputs(&a, &b, &difference, why));
    assert_int_equal(difference.ulp, 2);
    assert_true(difference.largest == 4.0);
    y[0] = 1.5f;
    assert_true(ort_compare_outputs(&a, &b, &difference, why));
    assert_int_equal(difference.ulp, 1 << 22);
    assert_true(difference.relative == 0.125);
    y[0] = NAN;
    assert_true(ort_compare_outputs(&a, &b, &difference, why));
    assert_true(difference.ulp == UINT64_MAX && isinf(difference.relative));
    b.dims[0] = 5;
    assert_false(ort_compare_outputs(&a, &b, &difference, why));
}

int main(void)
{
    char why[256];
    if (bench_ort_load(NULL, why) == NULL) {
        printf("not run: %s\n", why);
        return NOT_RUN;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_style_runs),
        cmocka_unit_test(every_opset_and_root_runs),
        cmocka_unit_test(counts_are_those_of_the_file),
        cmocka_unit_test(other_files_give_the_same_bits),
        cmocka_unit_test(differences_are_seen),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
