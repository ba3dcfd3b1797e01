/* fuse.c: rmsnorm fuse: small nodes of a model become RMS normalizations. */
#include <string.h>

#include "cli.h"
#include "options.h"
#include "rewrite.h"

enum { TARGET = RMSNORM_CLI_REWRITE_OWN, RELAXED, RESIDUALS };

static const rmsnorm_cli_option options[] = {
    RMSNORM_CLI_REWRITE_OUTPUT_LINE,
    {TARGET, 0, "target", "rmsnorm|onnx|ort-cpu|ort-webgpu", "what runs it (rmsnorm)"},
    {RELAXED, 0, "relaxed", NULL, "also what only removes a rounding in between, or reorders one addition"},
    {RESIDUALS, 0, "residuals", "fuse|keep",
     "additions before a norm: fuse or keep (default: keep for ort-cpu, else fuse)"},
    RMSNORM_CLI_REWRITE_LINES,
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
    const char *name;
    for (int i = 0; (name = rmsnorm_target_name((rmsnorm_target)i)) != NULL; ++i) {
        if (strcmp(word, name) == 0) {
            fuse->target = (rmsnorm_target)i;
            rewrite->target = name;
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
    case TARGET:
        return parse_target(value, rewrite, fuse);
    case RESIDUALS:
        return parse_residuals(value, fuse);
    case RELAXED:
        fuse->relaxed = true;
        return RMSNORM_CLI_DONE;
    default:
        return rmsnorm_cli_rewrite_option(id, value, rewrite);
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
