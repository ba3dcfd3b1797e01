/* make_norms: writes the ONNX model of one norm, or of a chain of them, each of which normalizes what the one before it gives. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "decoder/onnx_file.h"

static const char usage[] =
    "usage: make_norms -o FILE [OPTION]...\n"
    "  --op NAME              SimplifiedLayerNormalization (the default), SkipSimplifiedLayerNormalization\n"
    "                         or RMSNormalization; the second one with one skip for all\n"
    "  --dtype NAME           float, float16, bfloat16 or double (float)\n"
    "  --shape ROWSxHIDDEN    of input and output (1x4096); gamma is a weight of the model\n"
    "  --gamma-input          gamma is an input of the model, one for all\n"
    "  --sum                  the skip operator with its sum, which is the skip of the next one\n"
    "  --nodes N              in a chain, 1 to 100000 (1)\n";

enum { OP = 256, DTYPE, SHAPE, NODES, GAMMA_INPUT, SUM, HELP };

static const struct option long_options[] = {{"op", required_argument, NULL, OP},
                                             {"dtype", required_argument, NULL, DTYPE},
                                             {"shape", required_argument, NULL, SHAPE},
                                             {"nodes", required_argument, NULL, NODES},
                                             {"gamma-input", no_argument, NULL, GAMMA_INPUT},
                                             {"sum", no_argument, NULL, SUM},
                                             {"help", no_argument, NULL, HELP},
                                             {NULL, 0, NULL, 0}};

typedef struct request {
    const rmsnorm_operator *op;
    rmsnorm_dtype dtype;
    int64_t rows, hidden_size, nodes;
    bool gamma_input, sum;
    const char *output;
} request;

static bool refuse(const char *option, const char *value, const char *allowed)
{
    fprintf(stderr, "make_norms: --%s is '%s', allowed %s\n", option, value, allowed);
    return false;
}

/* The digits at *text, which is then behind them. */
static bool read_number(const char **text, int64_t most, int64_t *number)
{
    char *end;
    errno = 0;
    *number = **text >= '0' && **text <= '9' ? strtoll(*text, &end, 10) : 0;
    if (errno != 0 || *number < 1 || *number > most) {
        return false;
    }
    *text = end;
    return true;
}

static bool set_op(const char *value, request *asked)
{
    asked->op = rmsnorm_operator_parse(value);
    return asked->op != NULL ||
           refuse("op", value, "are SimplifiedLayerNormalization, SkipSimplifiedLayerNormalization, RMSNormalization");
}

static bool set_option(int id, const char *value, request *asked)
{
    const int64_t most = 1 << 24;
    const char *rest = value;
    switch (id) {
    case OP:
        return set_op(value, asked);
    case DTYPE:
        asked->dtype = rmsnorm_dtype_from_name(value);
        return asked->dtype != RMSNORM_UNDEFINED || refuse("dtype", value, "are float, float16, bfloat16, double");
    case SHAPE:
        return (read_number(&rest, most, &asked->rows) && *rest++ == 'x' &&
                read_number(&rest, most, &asked->hidden_size) && *rest == '\0') ||
               refuse("shape", value, "is ROWSxHIDDEN, each from 1 to 16777216");
    case NODES:
        return (read_number(&rest, 100000, &asked->nodes) && *rest == '\0') ||
               refuse("nodes", value, "are whole numbers from 1 to 100000");
    default:
        *(id == SUM ? &asked->sum : &asked->gamma_input) = true;
        return true;
    }
}

/* The contract's own sentence about the types. */
static bool check_types(const request *asked, char why[256])
{
    const rmsnorm_tensor rows = {.dtype = asked->dtype, .rank = 2, .dims = {asked->rows, asked->hidden_size}};
    const rmsnorm_tensor row = {.dtype = asked->dtype, .rank = 1, .dims = {asked->hidden_size}};
    const rmsnorm_tensor *const inputs[] = {&rows, asked->op->input_count > 2 ? &rows : &row, &row};
    rmsnorm_attributes attributes;
    rmsnorm_tensor result = {.rank = 0};
    rmsnorm_attributes_init(asked->op, &attributes);
    const bool good = rmsnorm_infer(asked->op, &attributes, inputs, asked->op->input_count > 2 ? 3 : 2,
                                    (rmsnorm_tensor *[]){&result}, 1, NULL) == RMSNORM_OK;
    snprintf(why, 256, "%s", good ? "" : rmsnorm_last_error());
    return good;
}

static bool write_model(const request *asked, char why[256])
{
    const bool skip = asked->op->kind == RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION;
    const onnx_file_options options = {
        .opset = asked->op->since_version > 17 ? asked->op->since_version : 17, .random = true, .seed = 1};
    const onnx_value rows = {.dtype = (int32_t)asked->dtype, .rank = 2, .dims = {asked->rows, asked->hidden_size}};
    const onnx_value row = {.dtype = (int32_t)asked->dtype, .rank = 1, .dims = {asked->hidden_size}};
    onnx_file_size size;
    onnx_file *const file = onnx_file_begin(&options);
    if (file == NULL) {
        snprintf(why, 256, "out of memory");
        return false;
    }
    onnx_value last = onnx_file_input(file, "input", &rows);
    onnx_value added = skip ? onnx_file_input(file, "skip", &rows) : last;
    const onnx_value given = asked->gamma_input ? onnx_file_input(file, "gamma", &row) : last;
    for (int64_t i = 0; i < asked->nodes; i++) {
        char name[32];
        onnx_value output;
        snprintf(name, sizeof name, "gamma_%" PRId64, i);
        onnx_file_scope(file, "/%" PRId64, i);
        const onnx_value gamma = asked->gamma_input ? given : onnx_file_weight(file, name, &row, 1.0, 0.5);
        onnx_node *const node = onnx_file_node(file, asked->op->name, &last, skip ? &added : &gamma, &rows, &output);
        if (skip) {
            onnx_node_input(file, node, &gamma);
            onnx_node_domain(file, node, asked->op->domain);
            added = asked->sum ? onnx_node_output(file, node, 3, &rows) : added;
        }
        last = output;
    }
    onnx_file_output(file, "output");
    return onnx_file_save(file, asked->output, &size, why);
}

int main(int argc, char **argv)
{
    request asked = {
        rmsnorm_operator_find("", "SimplifiedLayerNormalization", 0), RMSNORM_FLOAT, 1, 4096, 1, false, false, NULL};
    char why[256];
    int id;
    while ((id = getopt_long(argc, argv, "o:h", long_options, NULL)) != -1) {
        if (id == HELP || id == 'h') {
            fputs(usage, stdout);
            return 0;
        }
        if (id == 'o') {
            asked.output = optarg;
        } else if (id == '?' || !set_option(id, optarg, &asked)) {
            return 2;
        }
    }
    if (asked.output == NULL || optind < argc) {
        fprintf(stderr, "make_norms: %s\n", optind < argc ? "too many words" : "no output is given, write -o FILE");
        return 2;
    }
    if (!check_types(&asked, why) || !write_model(&asked, why)) {
        fprintf(stderr, "make_norms: %s\n", why);
        return 2;
    }
    return 0;
}
