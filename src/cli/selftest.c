/* selftest.c: rmsnorm selftest: the worked examples on every device. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "cli.h"
#include "examples.h"
#include "gpu.h"
#include "json.h"
#include "options.h"
#include "text.h"

enum { DEVICE = 1, ADAPTER, WITHOUT, LIMIT };

static const rmsnorm_cli_option options[] = {
    {DEVICE, 0, "device", "cpu|webgpu", "this one alone (default: both)"},
    RMSNORM_CLI_GPU_ADAPTER(ADAPTER),
    RMSNORM_CLI_GPU_WITHOUT(WITHOUT),
    RMSNORM_CLI_GPU_LIMIT(LIMIT),
};

static const rmsnorm_cli_usage usage = {
    .command = "selftest",
    .synopsis = "[--device cpu|webgpu [--adapter TEXT] [--without FEATURE]... [--limit NAME=N]...]",
    .text =
        "Runs the worked examples of the operators' contract, and calls that drivers have got wrong, on the CPU with each\n"
        "instruction set that runs here and on each WebGPU adapter found. Prints a line for each device: pass, or FAIL with\n"
        "the first example that went wrong and what came of it (--json lists all). A driver that fails is not to be used.\n"
        "Exit code 1 if a device failed. Where there is no WebGPU library or no adapter, a line says so; with\n"
        "--device webgpu that is an error.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
    .again = 1UL << WITHOUT | 1UL << LIMIT,
};

/* The devices so far, and what each came to. */
typedef struct selftest {
    json_t *devices; /* NULL: text */
    size_t passed, failed;
} selftest;

/* One device. */
typedef struct outcome {
    size_t examples, failed, skipped; /* examples are those that ran */
    char first[1400];                 /* what failed first */
    json_t *failures;                 /* NULL: text */
} outcome;

/* ---- One device ------------------------------------------------------------------------------ */

static void note_failure(outcome *result, const rmsnorm_cli_example *example, rmsnorm_dtype dtype)
{
    if (result->failed++ == 0) {
        (void)snprintf(result->first, sizeof result->first, "%s of %s, %s: %s", example->name, example->op,
                       rmsnorm_dtype_name(dtype), rmsnorm_cli_sentence());
    }
    if (result->failures != NULL) {
        json_t *failure = json_object();
        (void)json_object_set_new(failure, "example", json_string(example->name));
        (void)json_object_set_new(failure, "operator", json_string(example->op));
        (void)json_object_set_new(failure, "dtype", json_string(rmsnorm_dtype_name(dtype)));
        (void)json_object_set_new(failure, "error", json_string(rmsnorm_cli_sentence()));
        (void)json_array_append_new(result->failures, failure);
    }
}

/* What runs now, on a terminal alone; NULL: nothing any more. */
static void show_progress(const rmsnorm_cli_example *example)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%s", example != NULL ? example->name : "");
        (void)fflush(stderr);
    }
}

static void run_examples(const rmsnorm_cli_context *context, outcome *result)
{
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};
    const rmsnorm_dtypes taken =
        context->webgpu == NULL ? ~(rmsnorm_dtypes)0 : RMSNORM_DTYPES(RMSNORM_FLOAT) | RMSNORM_DTYPES(RMSNORM_FLOAT16);
    const rmsnorm_cli_example *example;
    for (size_t i = 0; (example = rmsnorm_cli_example_at(i)) != NULL; ++i) {
        show_progress(example);
        for (size_t j = 0; j < sizeof dtypes / sizeof dtypes[0]; ++j) {
            if ((example->types & taken & RMSNORM_DTYPES(dtypes[j])) != 0) {
                const int code = rmsnorm_cli_example_run(example, dtypes[j], context);
                result->skipped += code == RMSNORM_CLI_SKIPPED;
                result->examples += code != RMSNORM_CLI_SKIPPED;
                if (code == RMSNORM_CLI_BAD) {
                    note_failure(result, example, dtypes[j]);
                }
            }
        }
    }
    show_progress(NULL);
}

static json_t *device_json(const rmsnorm_cli_context *context)
{
    json_t *device = json_object();
    (void)json_object_set_new(device, "device", json_string(context->webgpu != NULL ? "webgpu" : "cpu"));
    if (context->webgpu != NULL) {
        (void)json_object_set_new(device, "adapter", rmsnorm_cli_json_text(context->adapter.name));
        (void)json_object_set_new(device, "backend", rmsnorm_cli_json_text(context->adapter.backend));
    } else {
        (void)json_object_set_new(device, "isa", json_string(rmsnorm_isa_name(context->isa)));
    }
    return device;
}

static void print_outcome(const rmsnorm_cli_context *context, const outcome *result)
{
    char name[RMSNORM_CLI_GPU_NAME];
    if (context->webgpu != NULL) {
        printf("WebGPU, %s: ", rmsnorm_cli_gpu_name(&context->adapter, name));
    } else {
        printf("CPU, %s: ", rmsnorm_isa_name(context->isa));
    }
    if (result->examples == 0) {
        printf("FAIL, no example could be run: %s\n", result->first);
    } else if (result->failed > 0) {
        printf("FAIL, %zu of %zu examples, the first: %s\n", result->failed, result->examples, result->first);
    } else if (result->skipped > 0) {
        printf("pass, %zu examples, %zu skipped\n", result->examples, result->skipped);
    } else {
        printf("pass, %zu examples\n", result->examples);
    }
    (void)fflush(stdout);
}

/* A device that takes no example has not passed. */
static void test_device(selftest *all, const rmsnorm_cli_context *context)
{
    outcome result = {.failures = all->devices != NULL ? json_array() : NULL};
    run_examples(context, &result);
    if (result.examples == 0) {
        ++result.failed;
        (void)snprintf(result.first, sizeof result.first, "%s", rmsnorm_cli_sentence());
    }
    ++*(result.failed == 0 ? &all->passed : &all->failed);
    if (all->devices == NULL) {
        print_outcome(context, &result);
        return;
    }
    json_t *device = device_json(context);
    (void)json_object_set_new(device, "ok", json_boolean(result.failed == 0));
    (void)json_object_set_new(device, "examples", json_integer((json_int_t)result.examples));
    (void)json_object_set_new(device, "skipped", json_integer((json_int_t)result.skipped));
    (void)json_object_set_new(device, "failures", result.failures);
    (void)json_array_append_new(all->devices, device);
}

/* ---- Devices --------------------------------------------------------------------------------- */

/* With each instruction set that the environment leaves. */
static int test_cpu(selftest *all)
{
    for (int i = RMSNORM_ISA_SCALAR; i < RMSNORM_ISA_COUNT; ++i) {
        const rmsnorm_isa isa = (rmsnorm_isa)i;
        const rmsnorm_cli_args args = {.max_isa = isa, .threads = 1};
        rmsnorm_cli_context context;
        if (!rmsnorm_isa_runnable(isa)) {
            continue;
        }
        if (rmsnorm_cli_context_open(&args, &context) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        if (context.isa == isa) {
            test_device(all, &context);
        }
        rmsnorm_cli_context_close(&context);
    }
    return RMSNORM_CLI_DONE;
}

/* A line for an adapter, or all of WebGPU (NULL), that there is no outcome for. */
static void report_unopened(const selftest *all, const rmsnorm_adapter *adapter)
{
    char name[RMSNORM_CLI_GPU_NAME];
    if (all->devices == NULL) {
        printf("WebGPU%s%s: %s%s\n", adapter != NULL ? ", " : "",
               adapter != NULL ? rmsnorm_cli_gpu_name(adapter, name) : "",
               adapter != NULL ? "FAIL, it cannot be opened: " : "not tested: ", rmsnorm_cli_gpu_sentence());
        return;
    }
    json_t *device = json_object();
    (void)json_object_set_new(device, "device", json_string("webgpu"));
    if (adapter != NULL) {
        (void)json_object_set_new(device, "adapter", rmsnorm_cli_json_text(adapter->name));
        (void)json_object_set_new(device, "backend", rmsnorm_cli_json_text(adapter->backend));
        (void)json_object_set_new(device, "ok", json_false());
    }
    (void)json_object_set_new(device, "error", json_string(rmsnorm_cli_sentence()));
    (void)json_array_append_new(all->devices, device);
}

static int test_adapters(selftest *all, const rmsnorm_cli_gpu_words *words)
{
    rmsnorm_device_profile profile;
    rmsnorm_adapter *adapters = NULL;
    size_t count = 0;
    if (rmsnorm_cli_gpu_profile(words, &profile) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (rmsnorm_cli_gpu_list(words->adapter, &adapters, &count) != RMSNORM_CLI_DONE) {
        if (rmsnorm_cli_gpu_wanted(words)) {
            return RMSNORM_CLI_BAD;
        }
        report_unopened(all, NULL);
    }
    for (size_t i = 0; i < count; ++i) {
        rmsnorm_webgpu *webgpu;
        if (rmsnorm_cli_gpu_open_listed(&adapters[i], &profile, &webgpu) != RMSNORM_CLI_DONE) {
            ++all->failed;
            report_unopened(all, &adapters[i]);
            continue;
        }
        rmsnorm_cli_context context;
        rmsnorm_cli_context_open_gpu(webgpu, &context);
        test_device(all, &context);
        rmsnorm_cli_context_close(&context);
    }
    free(adapters);
    return RMSNORM_CLI_DONE;
}

static int run(const rmsnorm_cli_args *args, const rmsnorm_cli_gpu_words *words)
{
    selftest all = {.devices = args->json ? json_array() : NULL};
    int code = rmsnorm_cli_gpu_check(words, args);
    if (code == RMSNORM_CLI_DONE && !rmsnorm_cli_gpu_wanted(words)) {
        code = test_cpu(&all);
    }
    if (code == RMSNORM_CLI_DONE && (words->device == NULL || rmsnorm_cli_gpu_wanted(words))) {
        code = test_adapters(&all, words);
    }
    if (code != RMSNORM_CLI_DONE) {
        json_decref(all.devices);
        return code;
    }
    if (args->json) {
        json_t *root = json_object();
        (void)json_object_set_new(root, "devices", all.devices);
        (void)json_object_set_new(root, "passed", json_integer((json_int_t)all.passed));
        (void)json_object_set_new(root, "failed", json_integer((json_int_t)all.failed));
        rmsnorm_cli_print_json(root, true);
    }
    return all.failed == 0 && all.passed > 0 ? RMSNORM_CLI_DONE : RMSNORM_CLI_NO;
}

int rmsnorm_cli_selftest(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    rmsnorm_cli_gpu_words words = {.device = NULL};
    const char *value;
    int code = RMSNORM_CLI_DONE;
    int id = RMSNORM_CLI_END;
    while (code == RMSNORM_CLI_DONE && (id = rmsnorm_cli_next(&args, &value)) >= 0) {
        switch (id) {
        case DEVICE:
            words.device = value;
            break;
        case ADAPTER:
            words.adapter = value;
            break;
        case WITHOUT:
            rmsnorm_cli_list_add(&words.without, value);
            break;
        case LIMIT:
            rmsnorm_cli_list_add(&words.limits, value);
            break;
        default:
            code = rmsnorm_cli_fail("selftest takes no argument, '%s' was given", value);
            break;
        }
    }
    if (code == RMSNORM_CLI_DONE) {
        code = id == RMSNORM_CLI_END ? run(&args, &words) : rmsnorm_cli_stopped(id);
    }
    rmsnorm_cli_list_free(&words.without);
    rmsnorm_cli_list_free(&words.limits);
    return code;
}
