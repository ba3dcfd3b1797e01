/* test.c: rmsnorm test: ONNX-style test folders and the cases of kernel packages. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "compare.h"
#include "context.h"
#include "data_set.h"
#include "folder.h"
#include "json.h"
#include "options.h"
#include "package_cases.h"
#include "text.h"

enum { DEVICE = 1, RTOL, ATOL };

static const rmsnorm_cli_option options[] = {
    {DEVICE, 0, "device", "DEVICE", "what computes: cpu (the default) or webgpu"},
    {RTOL, 0, "rtol", "X", "another relative tolerance, for every type (test folders)"},
    {ATOL, 0, "atol", "X", "another absolute tolerance, for every type (test folders)"},
};

static const char about[] =
    "Runs test folders: DIR/model.onnx on DIR/test_data_set_N/input_K.pb against output_K.pb. A DIR may also be a folder\n"
    "of such folders. Files belong to the declared inputs and outputs by tensor name where all names match, else by\n"
    "position. A DIR may be a kernel package as well, or a folder of them: every digest is checked, then each case of\n"
    "its test.json runs, with its own tolerance: so many steps from one value of the type to the next (ulp).\n"
    "Prints a line for each data set and case; the last line is 'N passed, N failed'. Exit code 1 if any failed.\n\n"
    "Differences allowed in test folders:\n%s.\n"
    "NaN equals NaN, and infinities must be the same.\n"
    "A double that the model computes in float (RMSNormalization with stash_type 1) may need another: --rtol 1e-5.\n";

typedef struct suite {
    rmsnorm_cli_tolerance chosen;
    const rmsnorm_cli_context *context;
    json_t *tests; /* NULL: text */
    size_t passed, failed;
} suite;

/* "float 1e-7 + 1e-5 * |expected|, ...": for every type, from the one table. */
static const char *tolerances(const rmsnorm_cli_tolerance *chosen, char text[RMSNORM_CLI_SHAPE])
{
    static const rmsnorm_dtype types[] = {RMSNORM_FLOAT, RMSNORM_DOUBLE, RMSNORM_FLOAT16, RMSNORM_BFLOAT16};
    text[0] = '\0';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        char one[RMSNORM_CLI_TOLERANCE];
        const rmsnorm_cli_tolerance tolerance = rmsnorm_cli_tolerance_of(types[i], chosen);
        rmsnorm_cli_append(text, RMSNORM_CLI_SHAPE, "%s%s %s", i == 0 ? "" : ", ", rmsnorm_dtype_name(types[i]),
                           rmsnorm_cli_tolerance_text(&tolerance, one));
    }
    return text;
}

/* What went wrong, without the folder when it begins with it: that stands in front already. */
static const char *sentence_in(const char *folder)
{
    const char *sentence = rmsnorm_cli_sentence();
    const size_t length = strlen(folder);
    return strncmp(sentence, folder, length) == 0 && sentence[length] == '/' ? sentence + length + 1 : sentence;
}

static void report(suite *all, const char *name, int code, const rmsnorm_cli_results *results)
{
    const bool ok = code == RMSNORM_CLI_DONE;
    ++*(ok ? &all->passed : &all->failed);
    if (all->tests != NULL) {
        json_t *test = json_object();
        (void)json_object_set_new(test, "name", rmsnorm_cli_json_text(name));
        (void)json_object_set_new(test, "ok", json_boolean(ok));
        if (!ok) {
            (void)json_object_set_new(test, "error", json_string(sentence_in(name)));
        }
        json_t *differences = json_object();
        for (size_t i = 0; i < results->count; ++i) {
            json_t *value = rmsnorm_cli_json_number(results->differences[i].largest, false);
            json_t *key = rmsnorm_cli_json_text(results->names[i]);
            (void)json_object_set_new(differences, json_string_value(key), value);
            json_decref(key);
        }
        (void)json_object_set_new(test, "largest_difference", differences);
        (void)json_array_append_new(all->tests, test);
        return;
    }
    fputs(ok ? "ok      " : "FAILED  ", stdout);
    rmsnorm_cli_show(stdout, name);
    printf(": ");
    if (!ok) {
        fputs(sentence_in(name), stdout);
    }
    for (size_t i = 0; i < results->count && ok; ++i) {
        char number[RMSNORM_CLI_NUMBER];
        printf("%s", i == 0 ? "largest difference " : ", ");
        printf("%s", rmsnorm_cli_rounded(results->differences[i].largest, number));
        if (results->differences[i].steps > 0) {
            printf(" (%" PRIu64 " ulp)", results->differences[i].steps);
        }
        printf(" in ");
        rmsnorm_cli_show(stdout, results->names[i]);
    }
    putchar('\n');
    (void)fflush(stdout);
}

static void print_json(const suite *all, const rmsnorm_cli_tolerance *chosen)
{
    char text[RMSNORM_CLI_SHAPE];
    json_t *root = json_object();
    (void)json_object_set_new(root, "allowed_differences", json_string(tolerances(chosen, text)));
    (void)json_object_set_new(root, "tests", all->tests);
    (void)json_object_set_new(root, "passed", json_integer((json_int_t)all->passed));
    (void)json_object_set_new(root, "failed", json_integer((json_int_t)all->failed));
    rmsnorm_cli_print_json(root, false);
}

static void test_folder(suite *all, const char *folder)
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
        report(all, folder, code, &none);
    }
    for (size_t i = 0; i < sets.count; ++i) {
        rmsnorm_cli_results results;
        code = rmsnorm_cli_data_set_run(chain, sets.items[i], &all->chosen, all->context, &results);
        report(all, sets.items[i], code, &results);
        rmsnorm_cli_results_free(&results);
    }
    rmsnorm_cli_chain_free(chain);
    rmsnorm_cli_paths_free(&sets);
    free(path);
}

static void test_package(suite *all, const rmsnorm_cli_package_cases *cases)
{
    for (size_t i = 0; i < rmsnorm_cli_package_cases_count(cases); ++i) {
        rmsnorm_cli_results results;
        char *name = rmsnorm_cli_package_cases_name(cases, i);
        const int code = rmsnorm_cli_package_cases_run(cases, i, all->context, &results);
        report(all, name, code, &results);
        rmsnorm_cli_results_free(&results);
        free(name);
    }
}

/* The packages among the folders, NULL where there is another test folder: all are opened before the first case runs. */
static int open_packages(const rmsnorm_cli_paths *folders, rmsnorm_cli_package_cases **packages, size_t *count)
{
    int code = RMSNORM_CLI_DONE;
    for (size_t i = 0; i < folders->count && code == RMSNORM_CLI_DONE; ++i) {
        if (rmsnorm_cli_folder_is_package(folders->items[i])) {
            code = rmsnorm_cli_package_cases_open(folders->items[i], &packages[i]);
            ++*count;
        }
    }
    return code;
}

static int test_all(suite *all, const rmsnorm_cli_paths *folders)
{
    char text[RMSNORM_CLI_SHAPE];
    rmsnorm_cli_package_cases **packages = rmsnorm_cli_allocate(folders->count, sizeof(void *));
    size_t package_count = 0;
    int code = open_packages(folders, packages, &package_count);
    if (code == RMSNORM_CLI_DONE) {
        if (all->tests == NULL && package_count < folders->count) {
            printf("differences allowed: %s\n", tolerances(&all->chosen, text));
        }
        for (size_t i = 0; i < folders->count; ++i) {
            if (packages[i] != NULL) {
                test_package(all, packages[i]);
            } else {
                test_folder(all, folders->items[i]);
            }
        }
        if (all->tests != NULL) {
            print_json(all, &all->chosen);
        } else {
            printf("%zu passed, %zu failed\n", all->passed, all->failed);
        }
        code = all->failed == 0 ? RMSNORM_CLI_DONE : RMSNORM_CLI_NO;
    } else {
        json_decref(all->tests);
    }
    for (size_t i = 0; i < folders->count; ++i) {
        rmsnorm_cli_package_cases_close(packages[i]);
    }
    free(packages);
    return code;
}

static int test(const rmsnorm_cli_args *args, const rmsnorm_cli_list *directories, const rmsnorm_cli_tolerance *chosen)
{
    rmsnorm_cli_paths folders = {NULL, 0};
    rmsnorm_cli_context context = {.pool = NULL};
    int code = directories->count > 0 ? RMSNORM_CLI_DONE
                                      : rmsnorm_cli_fail("no test folder is given, write rmsnorm test DIR...");
    for (size_t i = 0; i < directories->count && code == RMSNORM_CLI_DONE; ++i) {
        code = rmsnorm_cli_folder_find(directories->items[i], &folders);
    }
    if (code == RMSNORM_CLI_DONE) {
        code = rmsnorm_cli_context_open(args, &context);
    }
    if (code == RMSNORM_CLI_DONE) {
        suite all = {*chosen, &context, args->json ? json_array() : NULL, 0, 0};
        code = test_all(&all, &folders);
    }
    rmsnorm_cli_context_close(&context);
    rmsnorm_cli_paths_free(&folders);
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

static int check_device(const char *word)
{
    if (strcmp(word, "webgpu") == 0) {
        return rmsnorm_cli_fail("--device webgpu: this build cannot compute on WebGPU; allowed: cpu");
    }
    return strcmp(word, "cpu") == 0 ? RMSNORM_CLI_DONE
                                    : rmsnorm_cli_fail("--device is '%s', allowed are cpu and webgpu", word);
}

static int take(int id, const char *value, rmsnorm_cli_tolerance *chosen)
{
    switch (id) {
    case DEVICE:
        return check_device(value);
    case RTOL:
        return parse_tolerance("rtol", value, &chosen->relative);
    default:
        return parse_tolerance("atol", value, &chosen->absolute);
    }
}

int rmsnorm_cli_test(int argc, char **argv)
{
    rmsnorm_cli_tolerance chosen = {-1, -1, -1};
    char text[RMSNORM_CLI_SHAPE];
    char page[sizeof about + RMSNORM_CLI_SHAPE];
    (void)snprintf(page, sizeof page, about, tolerances(&chosen, text));
    const rmsnorm_cli_usage usage = {
        .command = "test",
        .synopsis = "DIR... [--device DEVICE] [--rtol X] [--atol X]",
        .text = page,
        .options = options,
        .option_count = sizeof options / sizeof options[0],
        .computes = true,
    };
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    rmsnorm_cli_list directories = {NULL, 0};
    const char *value;
    int code = RMSNORM_CLI_DONE;
    int id;
    while (code == RMSNORM_CLI_DONE && (id = rmsnorm_cli_next(&args, &value)) != RMSNORM_CLI_END) {
        if (id < 0) {
            rmsnorm_cli_list_free(&directories);
            return rmsnorm_cli_stopped(id);
        }
        if (id == RMSNORM_CLI_POSITIONAL) {
            rmsnorm_cli_list_add(&directories, value);
        } else {
            code = take(id, value, &chosen);
        }
    }
    if (code == RMSNORM_CLI_DONE) {
        code = test(&args, &directories, &chosen);
    }
    rmsnorm_cli_list_free(&directories);
    return code;
}
