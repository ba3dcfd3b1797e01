/* convert.c: rmsnorm convert: a model's norm nodes in another form. */
#include <string.h>

#include "cli.h"
#include "options.h"
#include "rewrite.h"

enum { TO = RMSNORM_CLI_REWRITE_OWN };

static const rmsnorm_cli_option options[] = {
    RMSNORM_CLI_REWRITE_OUTPUT_LINE,
    {TO, 0, "to", "rmsnormalization|simplified|decomposed", "the form, required"},
    RMSNORM_CLI_REWRITE_LINES,
};

static const rmsnorm_cli_usage usage = {
    .command = "convert",
    .synopsis = "MODEL.onnx --to FORM -o FILE [OPTION]...",
    .text =
        "Turns a model's norm nodes into another form: rmsnormalization (RMSNormalization, in the standard since opset 23),\n"
        "simplified (SimplifiedLayerNormalization, ONNX Runtime's), or decomposed (Mul, ReduceMean, Add, Sqrt, Reciprocal,\n"
        "Cast), for tools that know none of them. SkipSimplifiedLayerNormalization becomes additions and a norm. Epsilon,\n"
        "axis, rounding, optional outputs and the names of all values are kept; the opset is raised where it must be and\n"
        "every other node means the same at the new one.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .computes = true,
};

/* The form, or below 0. */
static int parse_form(const char *word)
{
    static const char *const forms[] = {[RMSNORM_TO_RMS_NORMALIZATION] = "rmsnormalization",
                                        [RMSNORM_TO_SIMPLIFIED_LAYER_NORMALIZATION] = "simplified",
                                        [RMSNORM_TO_DECOMPOSED] = "decomposed"};
    for (int i = 0; i < (int)(sizeof forms / sizeof forms[0]); ++i) {
        if (strcmp(word, forms[i]) == 0) {
            return i;
        }
    }
    (void)rmsnorm_cli_fail("--to is '%s', allowed are rmsnormalization, simplified, decomposed", word);
    return -1;
}

static int set_option(int id, const char *value, rmsnorm_cli_rewrite *rewrite, int *form)
{
    if (id != TO) {
        return rmsnorm_cli_rewrite_option(id, value, rewrite);
    }
    *form = parse_form(value);
    return *form >= 0 ? RMSNORM_CLI_DONE : RMSNORM_CLI_BAD;
}

static rmsnorm_status apply(rmsnorm_ir *ir, const void *form)
{
    return rmsnorm_ir_convert(ir, (rmsnorm_conversion)(*(const int *)form));
}

int rmsnorm_cli_convert(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    int form = -1;
    rmsnorm_cli_rewrite rewrite = {.apply = apply,
                                   .options = &form,
                                   .verb = "convert",
                                   .done = "converted",
                                   .nothing =
                                       "no norm nodes to convert were found; small nodes become some by rmsnorm fuse"};
    const char *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (set_option(id, value, &rewrite, &form) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    rewrite.json = args.json;
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    return form >= 0 ? rmsnorm_cli_rewrite_run(&rewrite, &args)
                     : rmsnorm_cli_fail("no form is given, write --to rmsnormalization, simplified or decomposed");
}
