/* test.c: rmsnorm test: ONNX-style test folders and the cases of kernel packages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "data_set.h"
#include "folder.h"
#include "gpu.h"
#include "kernel.h"
#include "options.h"
#include "package_cases.h"
#include "suite.h"
#include "text.h"

enum { DEVICE = 1, ADAPTER, WITHOUT, LIMIT, RTOL, ATOL, KERNEL_VERSION, REVISION };

static const rmsnorm_cli_option options[] = {
    RMSNORM_CLI_GPU_DEVICE(DEVICE),
    RMSNORM_CLI_GPU_ADAPTER(ADAPTER),
    RMSNORM_CLI_GPU_WITHOUT(WITHOUT),
    RMSNORM_CLI_GPU_LIMIT(LIMIT),
    RMSNORM_CLI_KERNEL_VERSION(KERNEL_VERSION),
    RMSNORM_CLI_KERNEL_REVISION(REVISION),
    {RTOL, 0, "rtol", "X", "another relative tolerance, for every type (test folders)"},
    {ATOL, 0, "atol", "X", "another absolute tolerance, for every type (test folders)"},
};

static const char about[] =
    "Runs test folders: DIR/model.onnx on DIR/test_data_set_N/input_K.pb against output_K.pb. A DIR may also be a folder\n"
    "of such folders. Files belong to the declared inputs and outputs by tensor name where all names match, else by\n"
    "position. A DIR may be a kernel package as well, or a folder of them: every digest is checked, then each case of\n"
    "its test.json runs, with its own tolerance: so many steps from one value of the type to the next (ulp).\n"
    "Prints a line for each data set and case; the last line is 'N passed, N failed'. Exit code 1 if any failed.\n\n"
    "With --device webgpu all of it runs on each adapter found, or on those that --adapter leaves; packages with their\n"
    "own shaders. What an adapter does not take (a type, a size beyond its limits) is shown as skipped and counted apart;\n"
    "exit code 1 also if nothing could be run. --without and --limit never widen what an adapter has.\n\n"
    "Differences allowed in test folders:\n%s.\n"
    "NaN equals NaN, and infinities must be the same. On WebGPU zero will do for a subnormal number.\n"
    "A double that the model computes in float (RMSNormalization with stash_type 1) may need another: --rtol 1e-5.\n";

typedef struct request {
    rmsnorm_cli_gpu_words gpu;
    rmsnorm_cli_list directories;
    rmsnorm_cli_kernel_words kernel; /* its name is the one directory */
    rmsnorm_cli_tolerance chosen;
} request;

/* What is to be tested; packages[i] is NULL where folder i is another test folder. */
typedef struct work {
    rmsnorm_cli_paths folders;
    rmsnorm_cli_package_cases **packages;
    size_t package_count;
} work;

/* ---- On one device --------------------------------------------------------------------------- */

static void test_folder(rmsnorm_cli_suite *all, const char *folder)
{
    const rmsnorm_cli_results none = {.count = 0};
    char *path = rmsnorm_cli_path_join(folder, "model.onnx");
    rmsnorm_cli_paths sets = {NULL, 0};
    rmsnorm_cli_chain *chain = NULL;
    int code = rmsnorm_cli_chain_open(path, &chain);
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_folder_sets(folder, &sets);
    }
    if (code == RMSNORM_CLI_DONE && sets.count == 0) {
        code = rmsnorm_cli_fail("'%s' has a model and no test_data_set_0 to run it on", folder);
    }
    if (code != RMSNORM_CLI_DONE) {
        rmsnorm_cli_suite_report(all, folder, code, &none);
    }
    for (size_t i = 0; i < sets.count; ++i) {
        rmsnorm_cli_results results;
        code = rmsnorm_cli_data_set_run(chain, sets.items[i], &all->chosen, all->context, &results);
        rmsnorm_cli_suite_report(all, sets.items[i], code, &results);
        rmsnorm_cli_results_free(&results);
    }
    rmsnorm_cli_chain_free(chain);
    rmsnorm_cli_paths_free(&sets);
    free(path);
}

static void test_package(rmsnorm_cli_suite *all, const rmsnorm_cli_package_cases *cases)
{
    for (size_t i = 0; i < rmsnorm_cli_package_cases_count(cases); ++i) {
        rmsnorm_cli_results results;
        char *name = rmsnorm_cli_package_cases_name(cases, i);
        const int code = rmsnorm_cli_package_cases_run(cases, i, all->context, &results);
        rmsnorm_cli_suite_report(all, name, code, &results);
        rmsnorm_cli_results_free(&results);
        free(name);
    }
}

static void test_work(rmsnorm_cli_suite *all, const rmsnorm_cli_context *context, const work *todo)
{
    all->context = context;
    all->chosen.flushes = context->webgpu != NULL;
    for (size_t i = 0; i < todo->folders.count; ++i) {
        if (todo->packages[i] != NULL) {
            test_package(all, todo->packages[i]);
        } else {
            test_folder(all, todo->folders.items[i]);
        }
    }
    all->context = NULL;
}

static void print_tolerances(const rmsnorm_cli_suite *all, const work *todo)
{
    char text[RMSNORM_CLI_SHAPE];
    if (all->tests == NULL && todo->package_count < todo->folders.count) {
        printf("differences allowed: %s\n", rmsnorm_cli_suite_tolerances(&all->chosen, text));
    }
}

/* ---- Devices --------------------------------------------------------------------------------- */

static int test_cpu(rmsnorm_cli_suite *all, const rmsnorm_cli_args *args, const work *todo)
{
    rmsnorm_cli_context context;
    const int code = rmsnorm_cli_context_open(args, &context);
    if (code == RMSNORM_CLI_DONE) {
        print_tolerances(all, todo);
        test_work(all, &context, todo);
    }
    rmsnorm_cli_context_close(&context);
    return code;
}

static void print_device(const rmsnorm_cli_context *context)
{
    char place[RMSNORM_CLI_PLACE];
    const rmsnorm_device_profile *profile = &context->adapter.profile;
    printf("on %s, with%s shader-f16, with%s subgroups\n", rmsnorm_cli_context_place(context, place),
           profile->shader_f16 ? "" : "out", profile->subgroups ? "" : "out");
}

static void test_adapter(rmsnorm_cli_suite *all, const rmsnorm_adapter *adapter, const rmsnorm_device_profile *profile,
                         const work *todo)
{
    const rmsnorm_cli_results none = {.count = 0};
    char name[RMSNORM_CLI_GPU_NAME];
    rmsnorm_webgpu *webgpu;
    if (rmsnorm_cli_gpu_open_listed(adapter, profile, &webgpu) != RMSNORM_CLI_DONE) {
        rmsnorm_cli_suite_report(all, rmsnorm_cli_gpu_name(adapter, name), RMSNORM_CLI_SKIPPED, &none);
        return;
    }
    rmsnorm_cli_context context;
    rmsnorm_cli_context_open_gpu(webgpu, &context);
    if (all->tests == NULL) {
        print_device(&context);
    }
    test_work(all, &context, todo);
    rmsnorm_cli_context_close(&context);
}

static int test_adapters(rmsnorm_cli_suite *all, const rmsnorm_cli_gpu_words *words, const work *todo)
{
    rmsnorm_device_profile profile;
    rmsnorm_adapter *adapters = NULL;
    size_t count = 0;
    int code = rmsnorm_cli_gpu_profile(words, &profile);
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_gpu_list(words->adapter, &adapters, &count);
    }
    if (code == RMSNORM_CLI_DONE) {
        print_tolerances(all, todo);
    }
    for (size_t i = 0; i < count; ++i) {
        test_adapter(all, &adapters[i], &profile, todo);
    }
    free(adapters);
    return code;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* All packages are opened before the first case runs. */
static int open_work(const rmsnorm_cli_list *directories, work *todo)
{
    int code = directories->count > 0 ? RMSNORM_CLI_DONE
                                      : rmsnorm_cli_fail("no test folder is given, write rmsnorm test DIR...");
    for (size_t i = 0; i < directories->count && code == RMSNORM_CLI_DONE; ++i) {
        code = rmsnorm_cli_folder_find(directories->items[i], &todo->folders);
    }
    todo->packages = rmsnorm_cli_allocate(todo->folders.count, sizeof(void *));
    for (size_t i = 0; i < todo->folders.count && code == RMSNORM_CLI_DONE; ++i) {
        if (rmsnorm_cli_folder_is_package(todo->folders.items[i])) {
            code = rmsnorm_cli_package_cases_open(todo->folders.items[i], &todo->packages[i]);
            ++todo->package_count;
        }
    }
    return code;
}

static void close_work(work *todo)
{
    for (size_t i = 0; i < todo->folders.count; ++i) {
        rmsnorm_cli_package_cases_close(todo->packages[i]);
    }
    free(todo->packages);
    rmsnorm_cli_paths_free(&todo->folders);
}

/* With a version or revision the one word is a kernel of a Hub. */
static int open_asked(const request *asked, work *todo)
{
    rmsnorm_cli_kernel_words kernel = asked->kernel;
    char *folder;
    if (!rmsnorm_cli_kernel_is_remote(&kernel)) {
        return open_work(&asked->directories, todo);
    }
    if (asked->directories.count != 1) {
        return rmsnorm_cli_fail("--version and --revision go with one ORG/NAME, %zu words were given",
                                asked->directories.count);
    }
    kernel.name = asked->directories.items[0];
    if (rmsnorm_cli_kernel_folder(&kernel, &folder) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const char *items[] = {folder};
    const rmsnorm_cli_list fetched = {items, 1};
    const int code = open_work(&fetched, todo);
    free(folder);
    return code;
}

static int test(const rmsnorm_cli_args *args, const request *asked)
{
    const bool gpu = rmsnorm_cli_gpu_wanted(&asked->gpu);
    work todo = {.package_count = 0};
    int code = rmsnorm_cli_gpu_check(&asked->gpu, args);
    if (code == RMSNORM_CLI_DONE) {
        code = open_asked(asked, &todo);
    }
    if (code == RMSNORM_CLI_DONE) {
        rmsnorm_cli_suite all = {.chosen = asked->chosen, .gpu = gpu, .tests = args->json ? json_array() : NULL};
        code = gpu ? test_adapters(&all, &asked->gpu, &todo) : test_cpu(&all, args, &todo);
        if (code == RMSNORM_CLI_DONE) {
            code = rmsnorm_cli_suite_end(&all);
        } else {
            json_decref(all.tests);
        }
    }
    close_work(&todo);
    return code;
}

static int parse_tolerance(const char *name, const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && *value >= 0 && *value <= 1e300
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("--%s is '%s', allowed are numbers from 0", name, text);
}

static int take(int id, const char *value, request *asked)
{
    switch (id) {
    case DEVICE:
        asked->gpu.device = value;
        return RMSNORM_CLI_DONE;
    case ADAPTER:
        asked->gpu.adapter = value;
        return RMSNORM_CLI_DONE;
    case WITHOUT:
        rmsnorm_cli_list_add(&asked->gpu.without, value);
        return RMSNORM_CLI_DONE;
    case LIMIT:
        rmsnorm_cli_list_add(&asked->gpu.limits, value);
        return RMSNORM_CLI_DONE;
    case KERNEL_VERSION:
        asked->kernel.version = value;
        return RMSNORM_CLI_DONE;
    case REVISION:
        asked->kernel.revision = value;
        return RMSNORM_CLI_DONE;
    case RTOL:
        return parse_tolerance("rtol", value, &asked->chosen.relative);
    case ATOL:
        return parse_tolerance("atol", value, &asked->chosen.absolute);
    default:
        rmsnorm_cli_list_add(&asked->directories, value);
        return RMSNORM_CLI_DONE;
    }
}

int rmsnorm_cli_test(int argc, char **argv)
{
    request asked = {.chosen = {-1, -1, -1, false}};
    char text[RMSNORM_CLI_SHAPE];
    char page[sizeof about + RMSNORM_CLI_SHAPE];
    (void)snprintf(page, sizeof page, about, rmsnorm_cli_suite_tolerances(&asked.chosen, text));
    const rmsnorm_cli_usage usage = {
        .command = "test",
        .synopsis = "DIR... [--device webgpu [--adapter TEXT] [--without FEATURE]... [--limit NAME=N]...]\n"
                    "DIR... [--rtol X] [--atol X]\n"
                    "ORG/NAME --version N [--device webgpu ...]",
        .text = page,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .again = 1UL << WITHOUT | 1UL << LIMIT,
        .computes = true,
    };
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    const char *value;
    int code = RMSNORM_CLI_DONE;
    int id = RMSNORM_CLI_END;
    while (code == RMSNORM_CLI_DONE && (id = rmsnorm_cli_next(&args, &value)) >= 0) {
        code = take(id, value, &asked);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = id == RMSNORM_CLI_END ? test(&args, &asked) : rmsnorm_cli_stopped(id);
    }
    rmsnorm_cli_list_free(&asked.directories);
    rmsnorm_cli_list_free(&asked.gpu.without);
    rmsnorm_cli_list_free(&asked.gpu.limits);
    return code;
}
