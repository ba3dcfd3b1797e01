/* run.c: rmsnorm run: its command line. */
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "operand.h"
#include "primitive.h"

enum {
    OP = 1,
    KERNEL,
    KERNEL_VERSION,
    REVISION,
    ATTRIBUTE,
    INPUT,
    OUTPUT,
    OUTPUT_DIR,
    DEVICE,
    ADAPTER,
    BATCH_INVARIANT
};

static const rmsnorm_cli_option options[] = {
    {OP, 0, "op", "NAME", "run one operator: [DOMAIN::]NAME, see rmsnorm describe"},
    {KERNEL, 0, "kernel", "PACKAGE",
     "run the operator of this kernel package, on WebGPU: a folder, or a Hub's ORG/NAME"},
    RMSNORM_CLI_KERNEL_VERSION(KERNEL_VERSION),
    RMSNORM_CLI_KERNEL_REVISION(REVISION),
    {ATTRIBUTE, 0, "attr", "NAME=VALUE", "an attribute of the operator (again for more)"},
    {INPUT, 0, "input", "NAME=FILE", "an input of the model by name (again for more)"},
    {OUTPUT, 'o', "output", "NAME[=FILE]", "write an output; without FILE ask for it (again for more)"},
    {OUTPUT_DIR, 0, "output-dir", "DIR", "write every output to DIR/NAME.npy; DIR is made, its parent must be there"},
    RMSNORM_CLI_GPU_DEVICE(DEVICE),
    RMSNORM_CLI_GPU_ADAPTER(ADAPTER),
    {BATCH_INVARIANT, 0, "batch-invariant", NULL, "WebGPU: a row's bits do not depend on how many rows there are"},
};

/* %s: the primitives. */
static const char about[] =
    "Runs a model made of the RMS normalization operators and of what decomposed ones consist of, or one operator.\n"
    "What they consist of, of ai.onnx from opset 7 on, is computed plainly, on the CPU whatever the device:\n"
    "%s.\n\n"
    "A model's FILEs fill its declared inputs in order, those given by name left out. A declared input that the model\n"
    "gives a value itself (an initializer) takes another by --input alone. An operator's INPUTs fill its\n"
    "slots in order; _ leaves an optional one out. Of an operator's outputs the first is computed, and those asked\n"
    "for with -o. Outputs that go to no file are summarized. Nothing is written unless everything could be\n"
    "computed; several files appear together or not at all.\n\n"
    "A FILE is X.npy, X.npy:bfloat16 (2-byte items), X.pb (ONNX TensorProto), X.safetensors:TENSOR, or - for\n"
    "standard input or output; when an output goes to -, the report goes to standard error. A .safetensors output\n"
    "holds its tensor alone: an existing file with other tensors is not replaced. In DIR/NAME.npy the bytes of NAME\n"
    "other than letters, digits, _, - and a . that is not the first become %%XX.\n" RMSNORM_CLI_RANDOM_HELP
    "WebGPU takes float and float16; on the CPU a row's bits never depend on other rows.\n";

static const rmsnorm_cli_usage usage = {
    .command = "run",
    .synopsis = "MODEL.onnx [--input NAME=FILE | FILE]... [--output NAME=FILE]... [--output-dir DIR]\n"
                "--op [DOMAIN::]NAME [--attr NAME=VALUE]... [-o OUTPUT[=FILE]]... INPUT...\n"
                "--kernel FOLDER [--attr NAME=VALUE]... [-o OUTPUT[=FILE]]... INPUT...\n"
                "--kernel ORG/NAME --version N [--attr NAME=VALUE]... [-o OUTPUT[=FILE]]... INPUT...",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .again = 1UL << ATTRIBUTE | 1UL << INPUT | 1UL << OUTPUT,
    .computes = true,
};

static int parse(rmsnorm_cli_args *args, rmsnorm_cli_request *request)
{
    const char *value;
    for (;;) {
        const int id = rmsnorm_cli_next(args, &value);
        switch (id) {
        case RMSNORM_CLI_POSITIONAL:
            rmsnorm_cli_list_add(&request->words, value);
            break;
        case OP:
            request->op = value;
            break;
        case KERNEL:
            request->kernel.name = value;
            break;
        case KERNEL_VERSION:
            request->kernel.version = value;
            break;
        case REVISION:
            request->kernel.revision = value;
            break;
        case ATTRIBUTE:
            rmsnorm_cli_list_add(&request->attributes, value);
            break;
        case INPUT:
            rmsnorm_cli_list_add(&request->inputs, value);
            break;
        case OUTPUT:
            rmsnorm_cli_list_add(&request->outputs, value);
            break;
        case OUTPUT_DIR:
            request->directory = value;
            break;
        case DEVICE:
            request->gpu.device = value;
            break;
        case ADAPTER:
            request->gpu.adapter = value;
            break;
        case BATCH_INVARIANT:
            request->batch_invariant = true;
            break;
        default:
            request->json = args->json;
            return id;
        }
    }
}

static bool ends_with(const char *word, const char *ending)
{
    const size_t length = strlen(word), size = strlen(ending);
    return length >= size && strcmp(word + length - size, ending) == 0;
}

/* A word that can be no model, as operand.h has them. */
static bool is_tensor(const char *word)
{
    return strncmp(word, "random:", 7) == 0 || ends_with(word, ".npy") || strstr(word, ".safetensors:") != NULL;
}

/* The first word that can only be a model, or NULL. */
static const char *model_among(const rmsnorm_cli_list *words)
{
    for (size_t i = 0; i < words->count; ++i) {
        if (ends_with(words->items[i], ".onnx") && !is_tensor(words->items[i])) {
            return words->items[i];
        }
    }
    return NULL;
}

static int check_kernel(rmsnorm_cli_request *request)
{
    if (request->kernel.name == NULL) {
        return rmsnorm_cli_kernel_is_remote(&request->kernel)
                   ? rmsnorm_cli_fail(
                         "--version and --revision go with --kernel ORG/NAME; rmsnorm --version prints ours")
                   : RMSNORM_CLI_DONE;
    }
    if (request->op != NULL) {
        return rmsnorm_cli_fail("--kernel '%s' and --op '%s' both say what to run, give one of them",
                                request->kernel.name, request->op);
    }
    if (request->gpu.device == NULL) {
        request->gpu.device = "webgpu";
    }
    return rmsnorm_cli_gpu_wanted(&request->gpu)
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("--kernel '%s' computes on WebGPU, not with --device %s", request->kernel.name,
                                  request->gpu.device);
}

static int check(const rmsnorm_cli_args *args, rmsnorm_cli_request *request)
{
    if (check_kernel(request) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (rmsnorm_cli_gpu_check(&request->gpu, args) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const bool single = request->op != NULL || request->kernel.name != NULL;
    const char *model = single ? model_among(&request->words) : NULL;
    if (model != NULL) {
        return rmsnorm_cli_fail("the model '%s' and --%s '%s' exclude each other, give one of them", model,
                                request->op != NULL ? "op" : "kernel",
                                request->op != NULL ? request->op : request->kernel.name);
    }
    if (request->directory != NULL && request->directory[0] == '\0') {
        return rmsnorm_cli_fail("--output-dir is empty, a directory is needed ('.' is the present one)");
    }
    if (single && request->inputs.count > 0) {
        return rmsnorm_cli_fail("--input '%s' goes with a model, the inputs of --op are given by slot: INPUT...",
                                request->inputs.items[0]);
    }
    if (!single && request->words.count == 0) {
        return rmsnorm_cli_fail("nothing to run, give a MODEL.onnx or --op NAME; 'rmsnorm run --help' explains");
    }
    if (!single && is_tensor(request->words.items[0])) {
        return rmsnorm_cli_fail("'%s' is a tensor: give a MODEL.onnx before it, or --op NAME", request->words.items[0]);
    }
    if (!single && request->attributes.count > 0) {
        return rmsnorm_cli_fail("--attr '%s' goes with --op, a model has its attributes in its nodes",
                                request->attributes.items[0]);
    }
    return RMSNORM_CLI_DONE;
}

static int open_context(const rmsnorm_cli_args *args, rmsnorm_cli_request *request)
{
    if (!rmsnorm_cli_gpu_wanted(&request->gpu)) {
        return rmsnorm_cli_context_open(args, &request->context);
    }
    rmsnorm_webgpu *webgpu;
    if (rmsnorm_cli_gpu_open(request->gpu.adapter, NULL, &webgpu) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    rmsnorm_cli_context_open_gpu(webgpu, &request->context);
    request->context.batch_invariant = request->batch_invariant;
    return RMSNORM_CLI_DONE;
}

/* What the package is for becomes the operator. */
static int run_kernel(rmsnorm_cli_request *request, rmsnorm_package *package)
{
    rmsnorm_package_info info;
    char name[320];
    rmsnorm_package_describe(package, &info);
    (void)snprintf(name, sizeof name, "%s::%s", info.domain, info.operator_name);
    request->op = name;
    request->context.package = package;
    const int code = rmsnorm_cli_run_operator(request);
    request->op = NULL;
    return code;
}

static int open_kernel(const rmsnorm_cli_request *request, rmsnorm_package **package)
{
    char *folder;
    *package = NULL;
    if (request->kernel.name == NULL) {
        return RMSNORM_CLI_DONE;
    }
    if (rmsnorm_cli_kernel_folder(&request->kernel, &folder) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const rmsnorm_status status = rmsnorm_package_open(folder, package);
    free(folder);
    return status == RMSNORM_OK ? RMSNORM_CLI_DONE : rmsnorm_cli_fail_library();
}

static int run(const rmsnorm_cli_args *args, rmsnorm_cli_request *request)
{
    rmsnorm_package *package;
    int code = check(args, request);
    if (code == RMSNORM_CLI_DONE) {
        code = open_kernel(request, &package);
    }
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    code = open_context(args, request);
    if (code == RMSNORM_CLI_DONE && package != NULL) {
        code = run_kernel(request, package);
    } else if (code == RMSNORM_CLI_DONE) {
        code = request->op != NULL ? rmsnorm_cli_run_operator(request) : rmsnorm_cli_run_model(request);
    }
    rmsnorm_cli_context_close(&request->context);
    rmsnorm_package_close(package);
    return code;
}

int rmsnorm_cli_run(int argc, char **argv)
{
    char names[RMSNORM_CLI_PRIMITIVES];
    char page[sizeof about + RMSNORM_CLI_PRIMITIVES];
    (void)snprintf(page, sizeof page, about, rmsnorm_cli_primitive_names(names));
    rmsnorm_cli_usage with_names = usage;
    with_names.text = page;
    rmsnorm_cli_args args = {.usage = &with_names, .argc = argc, .argv = argv};
    rmsnorm_cli_request request = {.op = NULL};
    const int end = parse(&args, &request);
    const int code = end == RMSNORM_CLI_END ? run(&args, &request) : rmsnorm_cli_stopped(end);
    rmsnorm_cli_list_free(&request.words);
    rmsnorm_cli_list_free(&request.attributes);
    rmsnorm_cli_list_free(&request.inputs);
    rmsnorm_cli_list_free(&request.outputs);
    return code == RMSNORM_CLI_SKIPPED ? RMSNORM_CLI_BAD : code;
}
