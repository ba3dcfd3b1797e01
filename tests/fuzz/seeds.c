/* seeds: writes a few small honest files of each format into FOLDER/FORMAT, where the fuzzers start. */
#define _XOPEN_SOURCE 700

#include "graph/models.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char *in(const char *folder, const char *name)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* In the three formats; `called` is the file's name. */
static int write_tensor(const char *folder, const char *called, const rmsnorm_tensor *tensor)
{
    static const struct {
        const char *start, *end, *bfloat16;
    } formats[] = {{"npy/", ".npy", ":bfloat16"}, {"pb/", ".pb", ""}, {"safetensors/", ".safetensors", ""}};
    int failures = 0;
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s%s%s%s", formats[i].start, called, formats[i].end,
                 tensor->dtype == RMSNORM_BFLOAT16 ? formats[i].bfloat16 : "");
        failures += rmsnorm_tensor_write(in(folder, name), tensor, "w") != RMSNORM_OK;
    }
    return failures;
}

static int write_tensors(const char *folder)
{
    static uint8_t data[96];
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)(i * 37);
    }
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_DOUBLE, RMSNORM_BFLOAT16};
    int failures = 0;
    for (size_t i = 0; i < 4; i++) {
        const rmsnorm_tensor tensor = {.dtype = types[i], .rank = 3, .dims = {2, 1, 3}, .data = data};
        failures += write_tensor(folder, rmsnorm_dtype_name(types[i]), &tensor);
    }
    /* As many dims as there may be: one more is one insertion away. */
    rmsnorm_tensor full = {.dtype = RMSNORM_FLOAT16, .rank = RMSNORM_MAX_RANK, .data = data};
    for (size_t i = 0; i < RMSNORM_MAX_RANK; i++) {
        full.dims[i] = 1;
    }
    return failures + write_tensor(folder, "full", &full);
}

static int write_bytes(const char *folder, const char *format, size_t number, const void *data, size_t size)
{
    char name[64];
    snprintf(name, sizeof name, "%s/%zu", format, number);
    FILE *const file = fopen(in(folder, name), "w");
    if (file == NULL) {
        return 1;
    }
    const int failed = fwrite(data, 1, size, file) != size;
    return fclose(file) != 0 || failed;
}

static int write_text(const char *folder, const char *format, size_t number, const char *text)
{
    return write_bytes(folder, format, number, text, strlen(text));
}

/* What templates are made of, in as few words as will do. */
static int write_templates(const char *folder)
{
    static const char *const expressions[] = {
        "1 + 2 * -3 // n ** 2 % 4 - 0.5 / 1e5",
        "not a.b[1:-1:2][0] in [1, 'x\\n\\u00e9', none] and x is not defined or 1 == 1.0 != true",
        "{'k': (1, 2), \"l\": s}.get('k', range(3, 9, 2)) | join(',') ~ s.split(' ', 1)[-1]",
        "s | replace('a', 'b', count=1) | upper | indent(2) | int(default=7) if n < 3 else [[3, 1] | sort, s | tojson(indent=1)]",
    };
    static const char *const templates[] = {
        "a\n  {%- if n %}{{ s }}{% elif x -%} b {% else %}c{% endif %}\n{# note -#}\n",
        "{% for k, v in m.items() if v %}{{ loop.index0 }}{{ k ~ v }}{% else %}-{% endfor %}{% set a, b = 1, [2] %}{{ b }}",
        "{% macro f(a, b=a + 1) %}{{ a }}{{ f(a - 1) if a else b }}{% endmacro %}{{ f(3, b='x') | length }}",
        "{% set x %}{% raw %}{{ raw }}{% endraw %}{% endset %}{{ x }}{% include 'self' %}{% include s %}",
    };
    int failures = 0;
    for (size_t i = 0; i < sizeof expressions / sizeof expressions[0]; i++) {
        failures += write_text(folder, "expression", i, expressions[i]);
    }
    for (size_t i = 0; i < sizeof templates / sizeof templates[0]; i++) {
        failures += write_text(folder, "template", i, templates[i]);
    }
    return failures;
}

/* Numbers of a request, and names of a Hub: as few as make one that is accepted. */
static int write_requests(const char *folder)
{
    static const uint8_t requests[][14] = {{0, 0, 3, 1, 0, 2, 2, 3, 0, 0, 1, 3, 0, 0},
                                           {1, 0, 7, 9, 1, 2, 2, 3, 0, 1, 2, 2, 3, 0},
                                           {2, 0, 3, 0, 0, 2, 2, 3, 0, 1, 3, 0, 0, 0}};
    static const struct {
        const char *text;
        size_t size;
    } names[] = {{"org/name\0"
                  "0123456789012345678901234567890123456789",
                  49},
                 {"https://hub.invalid/\0api/x/../y", 31},
                 {"http://127.0.0.1:80/\0//host/%2e%2e", 34}};
    int failures = 0;
    for (size_t i = 0; i < 3; i++) {
        failures += write_bytes(folder, "infer", i, requests[i], sizeof requests[i]);
        failures += write_bytes(folder, "plan", i, requests[i], sizeof requests[i]);
        failures += write_bytes(folder, "hub", i, names[i].text, names[i].size);
    }
    return failures;
}

static void put_node(bytes *graph, const char *type, const char *domain, const char *inputs, const char *outputs)
{
    bytes node = begin_node(type, domain, inputs, outputs);
    field_message(graph, GRAPH_NODE, &node);
}

static void put_floats(bytes *graph, const char *name, size_t rank, int64_t count, const float *values)
{
    bytes tensor = tensor_message(name, RMSNORM_FLOAT, &count, rank, values, (size_t)count * sizeof *values);
    field_message(graph, GRAPH_INITIALIZER, &tensor);
}

static void put_cast(bytes *graph, const char *input, const char *output, rmsnorm_dtype to)
{
    bytes node = begin_node("Cast", "", input, output);
    put_attribute_int(&node, "to", to);
    field_message(graph, GRAPH_NODE, &node);
}

/* The three operators behind additions, and small nodes that compute a norm in float of what is float16. */
static bytes norms_model(int64_t opset)
{
    static const float scale[] = {1, 2, 3, 4}, two = 2, small = 1e-5F;
    bytes graph = {0}, model = {0};
    field_text(&graph, GRAPH_NAME, "norms");
    put_node(&graph, "Add", "", "x r", "a");
    put_node(&graph, "SimplifiedLayerNormalization", "", "a scale", "b m");
    put_node(&graph, "Add", "", "b bias", "c");
    put_node(&graph, "Add", "", "c a", "d");
    put_node(&graph, opset < 23 ? "SimplifiedLayerNormalization" : "RMSNormalization", "", "d scale", "e");
    put_node(&graph, "SkipSimplifiedLayerNormalization", "com.microsoft", "e x scale bias", "y - i s");
    put_cast(&graph, "h", "f", RMSNORM_FLOAT);
    put_node(&graph, "Pow", "", "f two", "sq");
    put_node(&graph, "ReduceMean", "", "sq axes", "ms");
    put_node(&graph, "Add", "", "ms small", "me");
    put_node(&graph, "Sqrt", "", "me", "root");
    put_node(&graph, "Reciprocal", "", "root", "inv");
    put_node(&graph, "Mul", "", "f inv", "n");
    put_cast(&graph, "n", "w", RMSNORM_FLOAT16);
    put_node(&graph, "Mul", "", "w hscale", "z");
    put_floats(&graph, "scale", 1, 4, scale);
    put_floats(&graph, "bias", 1, 4, scale);
    put_floats(&graph, "two", 0, 1, &two);
    put_floats(&graph, "small", 0, 1, &small);
    const int64_t axes = -1, one = 1;
    bytes tensor = tensor_message("axes", 7, &one, 1, &axes, sizeof axes);
    field_message(&graph, GRAPH_INITIALIZER, &tensor);
    put_value(&graph, GRAPH_INPUT, "x", RMSNORM_FLOAT, "N,2,4");
    put_value(&graph, GRAPH_INPUT, "r", RMSNORM_FLOAT, "N,2,4");
    put_value(&graph, GRAPH_INPUT, "h", RMSNORM_FLOAT16, "N,4");
    put_value(&graph, GRAPH_INPUT, "hscale", RMSNORM_FLOAT16, "4");
    put_value(&graph, GRAPH_OUTPUT, "y", RMSNORM_FLOAT, "N,2,4");
    put_value(&graph, GRAPH_OUTPUT, "z", RMSNORM_FLOAT16, "N,4");
    field_varint(&model, MODEL_IR, 8);
    put_opset(&model, NULL, opset);
    put_opset(&model, "com.microsoft", 1);
    field_message(&model, MODEL_GRAPH, &graph);
    return model;
}

static void write_models(const char *folder)
{
    bytes models[] = {rich_model(), chain_model(), strange_model(), norms_model(18), norms_model(23)};
    static const char *const names[] = {"onnx/rich.onnx", "onnx/chain.onnx", "onnx/strange.onnx", "onnx/norms18.onnx",
                                        "onnx/norms23.onnx"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        save(in(folder, names[i]), &models[i]);
        release(&models[i]);
    }
}

int main(int argc, char **argv)
{
    static const char *const formats[] = {"npy",      "pb",    "safetensors", "onnx", "expression",
                                          "template", "infer", "plan",        "hub"};
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    mkdir(argv[1], 0777);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        mkdir(in(argv[1], formats[i]), 0777);
    }
    write_models(argv[1]);
    bytes two = safetensors_file("{\"__metadata__\":{\"a\":\"b\"},"
                                 "\"first\":{\"dtype\":\"U8\",\"shape\":[3,0],\"data_offsets\":[0,0]},"
                                 "\"second\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
                                 "1234", 4);
    save(in(argv[1], "safetensors/two.safetensors"), &two);
    release(&two);
    return write_tensors(argv[1]) + write_templates(argv[1]) + write_requests(argv[1]) == 0 ? 0 : 1;
}
