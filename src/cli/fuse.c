/* fuse.c: rmsnorm fuse: small nodes of a model become RMS normalizations. */
#include <string.h>

#include "cli.h"
#include "options.h"
#include "rewrite.h"

enum { OUTPUT = 1, TARGET, RELAXED, RESIDUALS, DATA_FILES, DRY_RUN, VERIFY, QUIET };

static const rmsnorm_cli_option options[] = {
    {OUTPUT, 'o', "output", "FILE",
     "where the result goes; - is standard output (the report then goes to standard error)"},
    {TARGET, 0, "target", "rmsnorm|onnx|ort-cpu|ort-webgpu", "what runs it (rmsnorm)"},
    {RELAXED, 0, "relaxed", NULL, "also what only removes a rounding in between, or reorders one addition"},
    {RESIDUALS, 0, "residuals", "fuse|keep",
     "additions before a norm: fuse or keep (default: keep for ort-cpu, else fuse)"},
    {DATA_FILES, 0, "data-files", "copy|link|leave",
     "data in other files: copy (default), link, or leave it where it is"},
    {DRY_RUN, 0, "dry-run", NULL, "only say what would be done, write nothing"},
    {VERIFY, 0, "verify", NULL,
     "run what is replaced before and after, on random inputs; exit 1, unwritten, if it differs"},
    {QUIET, 'q', "quiet", NULL, "only the last line of the report"},
};

static const rmsnorm_cli_usage usage = {
    .command = "fuse",
    .synopsis = "MODEL.onnx -o FILE [OPTION]...\nMODEL.onnx --dry-run [OPTION]...",
    .text =
        "Finds RMS normalization in a model: chains of Pow, ReduceMean, Add, Sqrt, Div, Mul and Cast become one node,\n"
        "SimplifiedLayerNormalization or RMSNormalization, whichever rounds as the chain does; additions before a norm\n"
        "become SkipSimplifiedLayerNormalization. What would not give the same result is left alone and listed with the\n"
        "reason. Everything that is not replaced stays byte for byte.\n\n"
        "--target: rmsnorm emits all three operators; onnx only RMSNormalization, which is in the standard since opset 23;\n"
        "ort-cpu and ort-webgpu what ONNX Runtime 1.30 runs there by itself. The opset is raised when every other node\n"
        "means the same at the new one.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .computes = true,
};

static int parse_target(const char *word, rmsnorm_cli_rewrite *rewrite, rmsnorm_fuse_options *fuse)
{
    static const struct {
        const char *name;
        rmsnorm_target target;
    } targets[] = {{"rmsnorm", RMSNORM_TARGET_RMSNORM},
                   {"onnx", RMSNORM_TARGET_ONNX},
                   {"ort-cpu", RMSNORM_TARGET_ORT_CPU},
                   {"ort-webgpu", RMSNORM_TARGET_ORT_WEBGPU}};
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; ++i) {
        if (strcmp(word, targets[i].name) == 0) {
            fuse->target = targets[i].target;
            rewrite->target = targets[i].name;
            return RMSNORM_CLI_DONE;
        }
    }
    const bool bare = strcmp(word, "ort") == 0;
    return rmsnorm_cli_fail("--target is '%s', allowed are rmsnorm, onnx, ort-cpu, ort-webgpu%s", word,
                            bare ? "; for ONNX Runtime on the CPU it is ort-cpu" : "");
}

static int parse_residuals(const char *word, rmsnorm_fuse_options *fuse)
{
    const bool fused = strcmp(word, "fuse") == 0;
    if (!fused && strcmp(word, "keep") != 0) {
        return rmsnorm_cli_fail("--residuals is '%s', allowed are fuse, keep", word);
    }
    fuse->residuals = fused ? RMSNORM_RESIDUALS_FUSE : RMSNORM_RESIDUALS_KEEP;
    return RMSNORM_CLI_DONE;
}

static int set_option(int id, const char *value, rmsnorm_cli_rewrite *rewrite, rmsnorm_fuse_options *fuse)
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
    case TARGET:
        return parse_target(value, rewrite, fuse);
    case RESIDUALS:
        return parse_residuals(value, fuse);
    case DATA_FILES:
        return rmsnorm_cli_data_files_parse(value, &rewrite->data_files);
    default:
        fuse->relaxed = fuse->relaxed || id == RELAXED;
        rewrite->dry_run = rewrite->dry_run || id == DRY_RUN;
        rewrite->verify = rewrite->verify || id == VERIFY;
        rewrite->quiet = rewrite->quiet || id == QUIET;
        return RMSNORM_CLI_DONE;
    }
}

static rmsnorm_status apply(rmsnorm_ir *ir, const void *fuse)
{
    return rmsnorm_ir_fuse(ir, fuse);
}

int rmsnorm_cli_fuse(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    rmsnorm_fuse_options fuse = RMSNORM_FUSE_OPTIONS_INIT;
    rmsnorm_cli_rewrite rewrite = {.apply = apply,
                                   .options = &fuse,
                                   .verb = "fuse",
                                   .done = "fused",
                                   .target = "rmsnorm",
                                   .nothing = "no small nodes that resemble RMS normalization were found"};
    const char *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (set_option(id, value, &rewrite, &fuse) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    rewrite.json = args.json;
    return id == RMSNORM_CLI_END ? rmsnorm_cli_rewrite_run(&rewrite, &args) : rmsnorm_cli_stopped(id);
}
