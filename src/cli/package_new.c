/* package_new.c: rmsnorm package new: a package that verifies, plans and has a test case, to be changed into another. */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "file.h"
#include "folder.h"
#include "json.h"
#include "options.h"
#include "package.h"
#include "signals.h"
#include "starter.h"
#include "text.h"

enum { INTO = 1 };

static const rmsnorm_cli_option options[] = {
    {INTO, 0, "into", "DIR", "where the folder NAME is made (default: here)"},
};
static const rmsnorm_cli_usage usage = {
    .command = "package new",
    .synopsis = "NAME [--into DIR]",
    .text = "Starts a package: the folder NAME, with everything a package has, around an operator that copies x to y.\n"
            "NAME is DOMAIN.OPERATOR: com.example.Scale. The folder must not be there yet.\n",
    .options = options,
    .option_count = sizeof options / sizeof options[0],
};

static int check_name(const char *name)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.";
    const size_t length = strlen(name);
    const bool words = strchr(name, '.') != NULL && strstr(name, "..") == NULL && name[0] != '.' &&
                       name[length - 1] != '.' && strspn(name, allowed) == length && length <= 128;
    return words ? RMSNORM_CLI_DONE
                 : rmsnorm_cli_fail("'%s' is no name for a package, allowed is DOMAIN.OPERATOR of letters, digits, _ "
                                    "and dots: com.example.Scale",
                                    name);
}

/* {"name": "com.example.Scale", "domain": "com.example", "op": "Scale"}, to be freed. */
static char *make_context(const char *name)
{
    const char *dot = strrchr(name, '.');
    json_t *root = json_object();
    (void)json_object_set_new(root, "name", json_string(name));
    (void)json_object_set_new(root, "domain", json_stringn(name, (size_t)(dot - name)));
    (void)json_object_set_new(root, "op", json_string(dot + 1));
    char *text = json_dumps(root, 0);
    json_decref(root);
    return text;
}

static const char ending[] = ".json.jinja";

static bool is_rendered(const rmsnorm_package_file *file)
{
    const size_t length = strlen(file->name);
    return length > strlen(ending) && strcmp(file->name + length - strlen(ending), ending) == 0;
}

/* To be freed. */
static char *starter_path(const char *folder, const rmsnorm_package_file *file)
{
    char *path = rmsnorm_cli_path_join(folder, file->name);
    if (is_rendered(file)) {
        path[strlen(path) - strlen(".jinja")] = '\0';
    }
    return path;
}

static int write_starter(const char *folder, const rmsnorm_package_file *file, const char *context)
{
    char *path = starter_path(folder, file);
    char *text = NULL;
    int code = RMSNORM_CLI_DONE;
    if (!is_rendered(file)) {
        code = rmsnorm_cli_file_replace(path, file->data, file->size);
    } else if (rmsnorm_template_render_json(file->name, file->data, file->size, context, &text) != RMSNORM_OK) {
        code = rmsnorm_cli_fail_library();
    } else { /* a template's last newline is not rendered; the text has room for it in place of its end */
        const size_t size = strlen(text);
        text[size] = '\n';
        code = rmsnorm_cli_file_replace(path, text, size + 1);
    }
    free(text);
    free(path);
    return code;
}

static int make_folder(const char *path)
{
    return mkdir(path, 0777) == 0 ? RMSNORM_CLI_DONE
                                  : rmsnorm_cli_fail("'%s' cannot be made: %s", path, strerror(errno));
}

/* FOLDER/build/webgpu with the starter's files, and what is drawn from them. */
static int fill(const char *folder, const char *name, rmsnorm_cli_built *built)
{
    char *build = rmsnorm_cli_path_join(folder, "build");
    char *inner = rmsnorm_cli_path_join(build, "webgpu");
    char *context = make_context(name);
    int code = make_folder(build);
    if (code == RMSNORM_CLI_DONE) {
        code = make_folder(inner);
    }
    for (size_t i = 0; i < rmsnorm_cli_starter_count && code == RMSNORM_CLI_DONE; ++i) {
        code = write_starter(inner, &rmsnorm_cli_starter[i], context);
    }
    free(context);
    free(inner);
    free(build);
    return code == RMSNORM_CLI_DONE ? rmsnorm_cli_package_seal(folder, true, built) : code;
}

/* All that `fill` makes, and the folder. */
static void take_back(const char *folder)
{
    char *build = rmsnorm_cli_path_join(folder, "build");
    char *inner = rmsnorm_cli_path_join(build, "webgpu");
    char *card = rmsnorm_cli_path_join(folder, "README.md");
    for (size_t i = 0; i < rmsnorm_cli_starter_count; ++i) {
        char *path = starter_path(inner, &rmsnorm_cli_starter[i]);
        (void)unlink(path);
        free(path);
    }
    (void)unlink(card);
    (void)rmdir(inner);
    (void)rmdir(build);
    (void)rmdir(folder);
    free(card);
    free(inner);
    free(build);
}

static int make(const char *folder, const char *name, rmsnorm_cli_built *built)
{
    const rmsnorm_cli_patience before = rmsnorm_cli_signals_enter(RMSNORM_CLI_NOTED);
    int code = make_folder(folder);
    if (code == RMSNORM_CLI_DONE) {
        code = fill(folder, name, built);
        if (code != RMSNORM_CLI_DONE) {
            take_back(folder);
        }
    }
    return rmsnorm_cli_signals_leave(before, code);
}

static int start(const char *name, const char *into, bool json)
{
    rmsnorm_cli_built built;
    char *folder = into != NULL ? rmsnorm_cli_path_join(into, name) : rmsnorm_cli_path_join(".", name);
    const int code = make(folder, name, &built);
    if (code == RMSNORM_CLI_DONE && json) {
        json_t *root = json_object();
        (void)json_object_set_new(root, "folder", rmsnorm_cli_json_text(folder));
        (void)json_object_set_new(root, "id", rmsnorm_cli_json_text(built.id));
        rmsnorm_cli_print_json(root, false);
    } else if (code == RMSNORM_CLI_DONE) {
        rmsnorm_cli_show(stdout, folder);
        printf("\n  id  %s\nAfter each change of its files: rmsnorm package build ", built.id);
        rmsnorm_cli_show(stdout, folder);
        putchar('\n');
    }
    free(folder);
    return code;
}

int rmsnorm_cli_package_new(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    const char *name = NULL;
    const char *into = NULL;
    const char *value;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (id == INTO) {
            into = value;
        } else if (name != NULL) {
            return rmsnorm_cli_fail("one package at a time: '%s' and '%s' were given", name, value);
        } else {
            name = value;
        }
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    if (name == NULL) {
        return rmsnorm_cli_fail("no name is given, write rmsnorm package new DOMAIN.OPERATOR");
    }
    return check_name(name) == RMSNORM_CLI_DONE ? start(name, into, args.json) : RMSNORM_CLI_BAD;
}
