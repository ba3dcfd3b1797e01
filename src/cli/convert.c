/* convert.c: rmsnorm convert: a model's norm nodes in another form. */
#include <string.h>

#include "cli.h"
#include "options.h"
#include "rewrite.h"

enum { OUTPUT = 1, TO, DATA_FILES, DRY_RUN, VERIFY, QUIET };

static const rmsnorm_cli_option options[] = {
    {OUTPUT, 'o', "output", "FILE",
     "where the result goes; - is standard output (the report then goes to standard error)"},
    {TO, 0, "to", "rmsnormalization|simplified|decomposed", "the form, required"},
    {DATA_FILES, 0, "data-files", "copy|link|leave",
     "data in other files: copy (default), link, or leave it where it is"},
    {DRY_RUN, 0, "dry-run", NULL, "only say what would be done, write nothing"},
    {VERIFY, 0, "verify", NULL,
     "run what is replaced before and after, on random inputs; exit 1, unwritten, if it differs"},
    {QUIET, 'q', "quiet", NULL, "only the last line of the report"},
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
    switch (id) {
    case RMSNORM_CLI_POSITIONAL:
        if (rewrite->input != NULL) {
            return rmsnorm_cli_fail("one model at a time: '%s' and '%s' were given", rewrite->input, value);
        }
        rewrite->input = value;
        return RMSNORM_CLI_DONE;
    case OUTPUT:
        rewrite->output = value;
        return RMSNORM_CLI_DONE;
    case TO:
        *form = parse_form(value);
        return *form >= 0 ? RMSNORM_CLI_DONE : RMSNORM_CLI_BAD;
    case DATA_FILES:
        return rmsnorm_cli_data_files_parse(value, &rewrite->data_files);
    default:
        rewrite->dry_run = rewrite->dry_run || id == DRY_RUN;
        rewrite->verify = rewrite->verify || id == VERIFY;
        rewrite->quiet = rewrite->quiet || id == QUIET;
        return RMSNORM_CLI_DONE;
    }
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
