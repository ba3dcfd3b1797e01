/* ort_bench.c: rmsnorm ort-bench: a model in ONNX Runtime, with and without the plug-in. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/ort_model.h"
#include "cli.h"
#include "context.h"
#include "options.h"
#include "text.h"

enum { PLUGIN = 1, CUSTOM, DIM, SECONDS, OPTION };

static const rmsnorm_cli_option options[] = {
    {PLUGIN, 0, "plugin", "LIBRARY", "the plug-in (librmsnorm_onnxruntime.so beside this command, or installed)"},
    {CUSTOM, 0, "custom-ops", NULL, "use it as custom operators, not as execution provider"},
    {DIM, 0, "dim", "NAME=SIZE", "a symbolic dim of the inputs (1)"},
    {OPTION, 0, "option", "NAME=VALUE", "an option of the provider: isa=avx2, fuse=0"},
    {SECONDS, 0, "seconds", "SECONDS", "how long to measure (3)"},
};

static const rmsnorm_cli_usage usage = {
    .command = "ort-bench",
    .synopsis = "MODEL.onnx [--plugin LIBRARY] [--dim NAME=SIZE]...",
    .text =
        "Runs a model in ONNX Runtime (the library that the environment's RMSNORM_ORT_LIBRARY names, or the system's) with\n"
        "and without the plug-in, one run of each in turn, on the same inputs: floats are random, whole numbers ones. Shows\n"
        "whole runs, times by kind of node from the runtime's profile, what the plug-in claims and why it leaves the rest,\n"
        "and the largest difference of the outputs. Where the runtime cannot run the model alone, it says why, and measures\n"
        "the plug-in's side.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .again = 1UL << DIM | 1UL << OPTION,
    .computes = true,
};

typedef struct request {
    bench_model_request model;
    rmsnorm_cli_list dims, options;
} request;

static int check_pair(const char *option, const char *value, bool number)
{
    const char *const equals = strchr(value, '=');
    long long size;
    const bool good =
        equals != NULL && equals != value && (!number || rmsnorm_cli_integer(equals + 1, 1, 1LL << 32, &size));
    return good ? RMSNORM_CLI_DONE
                : rmsnorm_cli_fail("%s is '%s', allowed is %s", option, value,
                                   number ? "NAME=SIZE, a size from 1 up" : "NAME=VALUE");
}

static int take(int id, const char *value, request *asked)
{
    char *end;
    switch (id) {
    case PLUGIN:
        asked->model.plugin = value;
        return RMSNORM_CLI_DONE;
    case CUSTOM:
        asked->model.custom = true;
        return RMSNORM_CLI_DONE;
    case DIM:
        rmsnorm_cli_list_add(&asked->dims, value);
        return check_pair("--dim", value, true);
    case OPTION:
        rmsnorm_cli_list_add(&asked->options, value);
        return check_pair("--option", value, false);
    case SECONDS:
        asked->model.seconds = strtod(value, &end);
        return *end == '\0' && end != value && asked->model.seconds > 0 && asked->model.seconds <= 3600
                   ? RMSNORM_CLI_DONE
                   : rmsnorm_cli_fail("--seconds is '%s', allowed is a number above 0, at most 3600", value);
    default:
        if (asked->model.path != NULL) {
            return rmsnorm_cli_fail("ort-bench takes one model, '%s' is another one", value);
        }
        asked->model.path = value;
        return RMSNORM_CLI_DONE;
    }
}

enum { PATH_SIZE = 4096 };

/* As it lies in a build folder, and as it is installed. */
static bool find_plugin(char path[PATH_SIZE])
{
    static const char *const places[] = {"", "../" RMSNORM_LIBDIR "/"};
    char own[PATH_SIZE];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    own[length > 0 ? length : 0] = '\0';
    char *const name = strrchr(own, '/');
    for (size_t i = 0; name != NULL && i < sizeof places / sizeof places[0]; i++) {
        name[1] = '\0';
        const int needed = snprintf(path, PATH_SIZE, "%s%slibrmsnorm_onnxruntime.so", own, places[i]);
        if (needed < PATH_SIZE && access(path, R_OK) == 0) {
            return true;
        }
    }
    return false;
}

static int bench(const request *asked, bool json)
{
    char why[BENCH_MODEL_WHY], plugin[PATH_SIZE];
    bench_model_request model = asked->model;
    if (model.plugin == NULL && !find_plugin(plugin)) {
        return rmsnorm_cli_fail("no plug-in is beside this command nor where it is installed to: --plugin names one");
    }
    char *const absolute = realpath(model.plugin != NULL ? model.plugin : plugin, NULL);
    if (absolute == NULL) {
        return rmsnorm_cli_fail("--plugin '%s': %s", model.plugin != NULL ? model.plugin : plugin, strerror(errno));
    }
    model.plugin = absolute; /* the runtime's loader would look a relative one up beside itself */
    model.dims = asked->dims.items;
    model.dim_count = asked->dims.count;
    model.options = asked->options.items;
    model.option_count = asked->options.count;
    bench_model_report *const report = rmsnorm_cli_allocate(1, sizeof *report);
    int code = RMSNORM_CLI_DONE;
    if (!bench_model(&model, report, why)) {
        code = rmsnorm_cli_fail("%s", why);
    } else if (json) {
        bench_model_print_json(stdout, &model, report);
    } else {
        bench_model_print_text(stdout, &model, report);
    }
    free(report);
    free(absolute);
    return code;
}

/* "isa=NAME" for the plug-in, unless an option says so itself: custom operators have only the environment. */
static void choose_isa(request *asked, const char *isa)
{
    bool chosen = false;
    for (size_t i = 0; i < asked->options.count; i++) {
        chosen = chosen || strncmp(asked->options.items[i], "isa=", 4) == 0;
    }
    if (asked->model.custom) {
        (void)setenv("RMSNORM_ISA", isa + 4, 1);
    } else if (!chosen) {
        rmsnorm_cli_list_add(&asked->options, isa);
    }
}

int rmsnorm_cli_ort_bench(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    request asked = {.model = {.seconds = 3}};
    rmsnorm_cli_context context;
    const char *value;
    char isa[32];
    int id, code = RMSNORM_CLI_DONE;
    while (code == RMSNORM_CLI_DONE && (id = rmsnorm_cli_next(&args, &value)) >= 0) {
        code = take(id, value, &asked);
    }
    if (code == RMSNORM_CLI_DONE && id != RMSNORM_CLI_END) {
        code = rmsnorm_cli_stopped(id);
    } else if (code == RMSNORM_CLI_DONE && asked.model.path == NULL) {
        code = rmsnorm_cli_fail("ort-bench takes a model: rmsnorm ort-bench MODEL.onnx");
    } else if (code == RMSNORM_CLI_DONE && asked.model.custom && asked.options.count != 0) {
        code = rmsnorm_cli_fail("--option is for the execution provider; custom operators (--custom-ops) have none");
    } else if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_context_open(&args, &context);
        if (code == RMSNORM_CLI_DONE) {
            snprintf(isa, sizeof isa, "isa=%s", rmsnorm_isa_name(context.isa));
            choose_isa(&asked, isa);
            asked.model.threads = context.threads;
            rmsnorm_cli_context_close(&context);
            code = bench(&asked, args.json);
        }
    }
    rmsnorm_cli_list_free(&asked.dims);
    rmsnorm_cli_list_free(&asked.options);
    return code;
}
