/* package.c: rmsnorm package: which of its subcommands, and the two that only look. */
#include "package.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "file.h"
#include "json.h"
#include "options.h"
#include "text.h"

static const rmsnorm_cli_command commands[] = {
    {"verify", "check every file of a package against its digest", rmsnorm_cli_package_verify},
    {"build", "make digests, id and README.md of a package right", rmsnorm_cli_package_build},
    {"new", "start a package", rmsnorm_cli_package_new},
    {"render", "render one template", rmsnorm_cli_package_render},
};
enum { COMMAND_COUNT = sizeof commands / sizeof commands[0] };

static const char *command_name(const void *table, size_t index)
{
    (void)table;
    return index < COMMAND_COUNT ? commands[index].name : NULL;
}

static void print_help(void)
{
    printf("Usage: rmsnorm package SUBCOMMAND [OPTION]... [ARGUMENT]...\n\n"
           "Kernel packages: folders of WebGPU templates with a manifest that says when and how they run.\n\n"
           "Subcommands:\n");
    for (size_t i = 0; i < COMMAND_COUNT; ++i) {
        printf("  %-10s %s\n", commands[i].name, commands[i].help);
    }
    printf("\n'rmsnorm package SUBCOMMAND --help' explains one.\n");
}

int rmsnorm_cli_package(int argc, char **argv)
{
    if (argc < 2) {
        return rmsnorm_cli_fail("package needs a subcommand, 'rmsnorm package --help' lists them");
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
        print_help();
        return RMSNORM_CLI_DONE;
    }
    for (size_t i = 0; i < COMMAND_COUNT; ++i) {
        if (strcmp(word, commands[i].name) == 0) {
            return commands[i].run(argc - 1, argv + 1);
        }
    }
    const int nearest = rmsnorm_cli_nearest(word, command_name, NULL);
    if (nearest >= 0) {
        return rmsnorm_cli_fail("unknown subcommand 'package %s', did you mean '%s'?", word, commands[nearest].name);
    }
    return rmsnorm_cli_fail("unknown subcommand 'package %s', 'rmsnorm package --help' lists them", word);
}

bool rmsnorm_cli_package_is_wrong(rmsnorm_status status)
{
    return status == RMSNORM_MALFORMED || status == RMSNORM_UNSUPPORTED || status == RMSNORM_INVALID_ARGUMENT;
}

/* ---- verify ---------------------------------------------------------------------------------- */

static const rmsnorm_cli_usage verify_usage = {
    .command = "package verify",
    .synopsis = "DIR",
    .text =
        "Opens a package as a program would: every file must have the digest that metadata.json lists, none may be\n"
        "missing or more, and manifest and templates must be readable. DIR is the package's folder, or build/webgpu in\n"
        "it. Exit code 1 if the package is wrong, 2 if DIR is none.\n",
};

/* Files, metadata.json not counted. The package was opened, so the JSON is as it should be. */
static size_t count_files(const rmsnorm_package *package)
{
    size_t size;
    const char *text = rmsnorm_package_text(package, "metadata.json", &size);
    json_t *root = json_loadb(text, size, 0, NULL);
    const size_t count = json_object_size(json_object_get(json_object_get(root, "digest"), "files"));
    json_decref(root);
    return count;
}

static void report_json(const rmsnorm_package_info *info, size_t files, const char *fault)
{
    json_t *root = json_object();
    (void)json_object_set_new(root, "ok", json_boolean(fault == NULL));
    if (fault != NULL) {
        (void)json_object_set_new(root, "error", rmsnorm_cli_json_text(fault));
    } else {
        (void)json_object_set_new(root, "name", rmsnorm_cli_json_text(info->name));
        (void)json_object_set_new(root, "id", rmsnorm_cli_json_text(info->id));
        (void)json_object_set_new(root, "version", json_integer(info->version));
        (void)json_object_set_new(root, "spec", rmsnorm_cli_json_text(info->spec));
        (void)json_object_set_new(root, "plans", json_boolean(info->plans));
        (void)json_object_set_new(root, "files", json_integer((json_int_t)files));
    }
    rmsnorm_cli_print_json(root, false);
}

static int report_fault(bool json, const char *fault)
{
    if (json) {
        report_json(NULL, 0, fault);
    } else {
        printf("FAILED  %s\n", fault);
    }
    return RMSNORM_CLI_NO;
}

/* What is in them is for their readers to judge; that they can be read at all is for everyone. */
int rmsnorm_cli_package_cases(const rmsnorm_package *package)
{
    static const char *const names[] = {"test.json", "bench.json"};
    for (size_t i = 0; i < 2; i++) {
        size_t size;
        json_error_t error;
        const char *const text = rmsnorm_package_text(package, names[i], &size);
        json_t *const root = text == NULL ? NULL : json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
        if (text != NULL && root == NULL) {
            return rmsnorm_cli_fail("%s:%d:%d: %s", names[i], error.line, error.column, error.text);
        }
        json_decref(root);
    }
    return RMSNORM_CLI_DONE;
}

static int verify(const char *folder, bool json)
{
    rmsnorm_package *package;
    rmsnorm_package_info info;
    const rmsnorm_status status = rmsnorm_package_open(folder, &package);
    if (status != RMSNORM_OK) {
        if (!rmsnorm_cli_package_is_wrong(status)) {
            return rmsnorm_cli_fail_library();
        }
        return report_fault(json, rmsnorm_last_error());
    }
    if (rmsnorm_cli_package_cases(package) != RMSNORM_CLI_DONE) {
        rmsnorm_package_close(package);
        return report_fault(json, rmsnorm_cli_sentence());
    }
    rmsnorm_package_describe(package, &info);
    const size_t files = count_files(package);
    if (json) {
        report_json(&info, files, NULL);
    } else {
        printf("ok      ");
        rmsnorm_cli_show(stdout, info.name);
        printf("\n  id       %s\n  version  %" PRId64 "\n  spec     ", info.id, info.version);
        rmsnorm_cli_show(stdout, info.spec);
        printf("%s\n  files    %zu, each with the digest that metadata.json lists\n",
               info.plans ? "" : ": its contract can be read, nothing planned (" RMSNORM_MANIFEST_SPEC " can)", files);
    }
    rmsnorm_package_close(package);
    return RMSNORM_CLI_DONE;
}

/* The one word of a subcommand that takes one; `id` is what ended the walk. */
static int take_word(rmsnorm_cli_args *args, const char **word, int *id)
{
    const char *value;
    *word = NULL;
    while ((*id = rmsnorm_cli_next(args, &value)) >= 0) {
        if (*word != NULL) {
            return rmsnorm_cli_fail("one folder at a time: '%s' and '%s' were given", *word, value);
        }
        *word = value;
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_package_verify(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &verify_usage, .argc = argc, .argv = argv};
    const char *folder;
    int id;
    if (take_word(&args, &folder, &id) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    return folder != NULL ? verify(folder, args.json)
                          : rmsnorm_cli_fail("no package is given, write rmsnorm package verify DIR");
}

/* ---- render ---------------------------------------------------------------------------------- */

enum { CONTEXT = 1 };
#define TEMPLATE_LIMIT ((size_t)4 << 20)
#define CONTEXT_LIMIT ((size_t)16 << 20)

static const rmsnorm_cli_option render_options[] = {
    {CONTEXT, 0, "context", "FILE", "the variables: a JSON object; - is standard input (default: none)"},
};
static const rmsnorm_cli_usage render_usage = {
    .command = "package render",
    .synopsis = "TEMPLATE [--context FILE.json|-]",
    .text = "Prints what a template renders to, for whoever writes one. An include is refused: it needs a package.\n",
    .options = render_options,
    .option_count = sizeof render_options / sizeof render_options[0],
};

static int render(const char *path, const char *context_path, bool json)
{
    char *source = NULL;
    char *context = NULL;
    char *text = NULL;
    size_t length = 0;
    size_t context_length = 0;
    int code = rmsnorm_cli_file_read(path, TEMPLATE_LIMIT, &source, &length);
    if (code == RMSNORM_CLI_DONE && context_path != NULL) {
        code = rmsnorm_cli_file_read(context_path, CONTEXT_LIMIT, &context, &context_length);
    }
    if (code == RMSNORM_CLI_DONE &&
        rmsnorm_template_render_json(path, source, length, context != NULL ? context : "{}", &text) != RMSNORM_OK) {
        code = rmsnorm_cli_fail_library();
    }
    if (code == RMSNORM_CLI_DONE && json) {
        json_t *root = json_object();
        (void)json_object_set_new(root, "text", rmsnorm_cli_json_text(text));
        rmsnorm_cli_print_json(root, false);
    } else if (code == RMSNORM_CLI_DONE) {
        fputs(text, stdout); /* as it is: it may go into a file */
    }
    free(source);
    free(context);
    free(text);
    return code;
}

int rmsnorm_cli_package_render(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &render_usage, .argc = argc, .argv = argv};
    const char *path = NULL;
    const char *context = NULL;
    const char *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (id == CONTEXT) {
            context = value;
        } else if (path != NULL) {
            return rmsnorm_cli_fail("one template at a time: '%s' and '%s' were given", path, value);
        } else {
            path = value;
        }
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    if (path == NULL) {
        return rmsnorm_cli_fail("no template is given, write rmsnorm package render TEMPLATE --context FILE.json");
    }
    if (context != NULL && strcmp(path, "-") == 0 && strcmp(context, "-") == 0) {
        return rmsnorm_cli_fail("template and context are both '-', standard input is only one of them");
    }
    return render(path, context, args.json);
}
