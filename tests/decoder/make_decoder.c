/* make_decoder: writes the ONNX model of a decoder and says what is in it. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoder/decoder.h"

static const char usage[] =
    "usage: make_decoder -o FILE [OPTION]...\n"
    "  --style llama|gemma|qwen           which decoder's layers (llama)\n"
    "  --root divide|inverse|reciprocal   how x / sqrt(...) is written (inverse)\n"
    "  --dtype float|float16|bfloat16     of weights and values (float)\n"
    "  --opset N                          7 to 25 (17)\n"
    "  --layers N (32)  --hidden N (64)  --heads N (4)  --head-dim N (16)  --intermediate N (128)\n"
    "  --vocabulary N                     token ids in, logits out; 0: embeddings in, hidden state out (0)\n"
    "  --qk-norms                         gemma with norms of queries and keys, as qwen always has\n"
    "  --skeleton                         attention and MLP are one product with a vector each\n"
    "  --external FILE                    weights go there, at multiples of 4096; FILE lies beside the model\n"
    "  --value-info                       every value between nodes is declared\n"
    "  --weights random|zeros             zeros are holes in the file where it can have some (random)\n"
    "  --seed N                           of random weights (1)\n"
    "  --json                             what is in it as JSON\n";

enum {
    STYLE = 256,
    ROOT,
    DTYPE,
    OPSET,
    LAYERS,
    HIDDEN,
    HEADS,
    HEAD_DIM,
    INTERMEDIATE,
    VOCABULARY,
    QK_NORMS,
    SKELETON,
    EXTERNAL,
    VALUE_INFO,
    WEIGHTS,
    SEED,
    JSON,
    HELP
};

static const struct option long_options[] = {{"style", required_argument, NULL, STYLE},
                                             {"root", required_argument, NULL, ROOT},
                                             {"dtype", required_argument, NULL, DTYPE},
                                             {"opset", required_argument, NULL, OPSET},
                                             {"layers", required_argument, NULL, LAYERS},
                                             {"hidden", required_argument, NULL, HIDDEN},
                                             {"heads", required_argument, NULL, HEADS},
                                             {"head-dim", required_argument, NULL, HEAD_DIM},
                                             {"intermediate", required_argument, NULL, INTERMEDIATE},
                                             {"vocabulary", required_argument, NULL, VOCABULARY},
                                             {"qk-norms", no_argument, NULL, QK_NORMS},
                                             {"skeleton", no_argument, NULL, SKELETON},
                                             {"external", required_argument, NULL, EXTERNAL},
                                             {"value-info", no_argument, NULL, VALUE_INFO},
                                             {"weights", required_argument, NULL, WEIGHTS},
                                             {"seed", required_argument, NULL, SEED},
                                             {"json", no_argument, NULL, JSON},
                                             {"help", no_argument, NULL, HELP},
                                             {NULL, 0, NULL, 0}};

static const char *const styles[] = {"llama", "gemma", "qwen", NULL};
static const char *const roots[] = {"divide", "inverse", "reciprocal", NULL};
static const char *const weights[] = {"zeros", "random", NULL};

static bool refuse(const char *option, const char *value, const char *allowed)
{
    fprintf(stderr, "make_decoder: --%s is '%s', allowed are %s\n", option, value, allowed);
    return false;
}

static bool choose(const char *option, const char *value, const char *const *names, int *index)
{
    char all[96] = "";
    for (int i = 0; names[i] != NULL; i++) {
        if (strcmp(names[i], value) == 0) {
            *index = i;
            return true;
        }
        snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i > 0 ? ", " : "", names[i]);
    }
    return refuse(option, value, all);
}

static bool choose_dtype(const char *value, rmsnorm_dtype *dtype)
{
    static const rmsnorm_dtype known[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(rmsnorm_dtype_name(known[i]), value) == 0) {
            *dtype = known[i];
            return true;
        }
    }
    return refuse("dtype", value, "float, float16, bfloat16");
}

static bool read_number(const char *option, const char *value, int64_t least, int64_t most, int64_t *number)
{
    char allowed[64];
    char *end;
    errno = 0;
    *number = strtoll(value, &end, 10);
    if (errno == 0 && end != value && *end == '\0' && *number >= least && *number <= most) {
        return true;
    }
    snprintf(allowed, sizeof allowed, "whole numbers from %" PRId64 " to %" PRId64, least, most);
    return refuse(option, value, allowed);
}

/* An option that takes a number. */
static bool set_number(int id, const char *name, const char *value, decoder_options *options)
{
    const struct {
        int id;
        int64_t least, most, *place;
    } numbers[] = {{OPSET, 7, 25, &options->file.opset},          {LAYERS, 0, 100000, &options->layers},
                   {HIDDEN, 1, 1 << 24, &options->hidden},        {HEADS, 1, 65536, &options->heads},
                   {HEAD_DIM, 1, 65536, &options->head_dim},      {INTERMEDIATE, 1, 1 << 24, &options->intermediate},
                   {VOCABULARY, 0, 1 << 24, &options->vocabulary}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].id == id) {
            return read_number(name, value, numbers[i].least, numbers[i].most, numbers[i].place);
        }
    }
    int64_t seed = 0;
    const bool good = read_number(name, value, 0, INT64_MAX, &seed);
    options->file.seed = (uint64_t)seed;
    return good;
}

static bool set_option(int id, const char *name, const char *value, decoder_options *options)
{
    int index = 0;
    bool good = true;
    switch (id) {
    case STYLE:
        good = choose(name, value, styles, &index);
        options->style = (decoder_style)index;
        return good;
    case ROOT:
        good = choose(name, value, roots, &index);
        options->root = (decoder_root)index;
        return good;
    case WEIGHTS:
        good = choose(name, value, weights, &index);
        options->file.random = index == 1;
        return good;
    case DTYPE:
        return choose_dtype(value, &options->dtype);
    case EXTERNAL:
        options->file.external = value;
        return true;
    case QK_NORMS:
    case SKELETON:
    case VALUE_INFO:
        *(id == QK_NORMS ? &options->qk_norms : id == SKELETON ? &options->skeleton : &options->file.value_info) = true;
        return true;
    default:
        return set_number(id, name, value, options);
    }
}

static void print(const decoder_counts *counts, bool json)
{
    const struct {
        const char *name;
        int64_t number;
    } lines[] = {{"norms", counts->norms},
                 {"float_norms", counts->float_norms},
                 {"early_rounded", counts->early_rounded},
                 {"late_rounded", counts->late_rounded},
                 {"residuals", counts->residuals},
                 {"nodes", counts->size.nodes},
                 {"weights", counts->size.weights},
                 {"weight_bytes", counts->size.weight_bytes}};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (json) {
            printf("%s\"%s\": %" PRId64, i > 0 ? ", " : "{", lines[i].name, lines[i].number);
        } else {
            printf("%-13s %" PRId64 "\n", lines[i].name, lines[i].number);
        }
    }
    printf("%s", json ? "}\n" : "");
}

int main(int argc, char **argv)
{
    decoder_options options = DECODER_OPTIONS_INIT;
    decoder_counts counts;
    const char *output = NULL;
    bool json = false;
    char why[256];
    int id;
    int which = 0;
    while ((id = getopt_long(argc, argv, "o:h", long_options, &which)) != -1) {
        if (id == HELP || id == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (id == 'o') {
            output = optarg;
        } else if (id == JSON) {
            json = true;
        } else if (id == '?' || !set_option(id, long_options[which].name, optarg, &options)) {
            return 2;
        }
    }
    if (output == NULL || optind < argc) {
        fprintf(stderr, "make_decoder: %s\n", output == NULL ? "no output is given, write -o FILE" : "too many words");
        return 2;
    }
    if (!decoder_write(&options, output, &counts, why)) {
        fprintf(stderr, "make_decoder: %s\n", why);
        return 2;
    }
    print(&counts, json);
    return 0;
}
