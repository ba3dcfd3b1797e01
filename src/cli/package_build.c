/* package_build.c: rmsnorm package build and new: what writes a package. */
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
#include "starter.h"
#include "text.h"

#define FILE_LIMIT ((size_t)4 << 20)

/* "id" of what may be any text. */
static void find_id(const char *metadata, size_t length, char *id, size_t size)
{
    json_t *root = json_loadb(metadata, length, 0, NULL);
    const char *found = json_string_value(json_object_get(root, "id"));
    (void)snprintf(id, size, "%s", found != NULL ? found : "");
    rmsnorm_cli_clean(id);
    json_decref(root);
}

/* Whether the file is another one than the text; without one it is. */
static bool differs(const char *path, const char *text, size_t length)
{
    char *there = NULL;
    size_t size = 0;
    const bool same = rmsnorm_cli_path_exists(path) &&
                      rmsnorm_cli_file_read(path, FILE_LIMIT, &there, &size) == RMSNORM_CLI_DONE && size == length &&
                      memcmp(there, text, length) == 0;
    free(there);
    return !same;
}

static int seal(const char *folder, const rmsnorm_package *package, bool write, rmsnorm_cli_built *built)
{
    rmsnorm_package_info info;
    size_t length;
    char *card;
    size_t card_length;
    rmsnorm_package_describe(package, &info);
    (void)snprintf(built->name, sizeof built->name, "%s", info.name);
    (void)snprintf(built->id, sizeof built->id, "%s", info.id);
    int code = rmsnorm_cli_card(package, &card, &card_length);
    if (code != RMSNORM_CLI_DONE) {
        return code;
    }
    char *metadata_path = rmsnorm_cli_path_join(folder, "build/webgpu/metadata.json");
    char *card_path = rmsnorm_cli_path_join(folder, "README.md");
    const char *metadata = rmsnorm_package_text(package, "metadata.json", &length);
    char *old = NULL;
    size_t old_length;
    code = rmsnorm_cli_file_read(metadata_path, FILE_LIMIT, &old, &old_length);
    if (code == RMSNORM_CLI_DONE) {
        find_id(old, old_length, built->before, sizeof built->before);
        built->metadata = old_length != length || memcmp(old, metadata, length) != 0;
        built->card = differs(card_path, card, card_length);
    }
    if (code == RMSNORM_CLI_DONE && write && built->metadata) {
        code = rmsnorm_cli_file_replace(metadata_path, metadata, length);
    }
    if (code == RMSNORM_CLI_DONE && write && built->card) {
        code = rmsnorm_cli_file_replace(card_path, card, card_length);
    }
    free(old);
    free(card_path);
    free(metadata_path);
    free(card);
    return code;
}

int rmsnorm_cli_package_seal(const char *folder, bool write, rmsnorm_cli_built *built)
{
    rmsnorm_package *package;
    *built = (rmsnorm_cli_built){.metadata = false};
    char *inner = rmsnorm_cli_path_join(folder, "build/webgpu");
    const bool found = rmsnorm_cli_path_exists(inner);
    free(inner);
    if (!found) {
        return rmsnorm_cli_fail("'%s' has no build/webgpu in it, give the folder of a package", folder);
    }
    if (rmsnorm_package_seal(folder, &package) != RMSNORM_OK) {
        return rmsnorm_cli_fail_library();
    }
    int code = rmsnorm_cli_package_cases(package);
    code = code == RMSNORM_CLI_DONE ? seal(folder, package, write, built) : code;
    rmsnorm_package_close(package);
    return code;
}

/* ---- build ----------------------------------------------------------------------------------- */

enum { CHECK = 1 };

static const rmsnorm_cli_option build_options[] = {
    {CHECK, 0, "check", NULL, "write nothing; exit code 1 if something would be written"},
};
static const rmsnorm_cli_usage build_usage = {
    .command = "package build",
    .synopsis = "DIR [--check]",
    .text =
        "Makes the folder of a package right after its files were changed: writes digest and id into\n"
        "build/webgpu/metadata.json, which keeps its other fields, and README.md, which is drawn from the manifest and\n"
        "the operator's schema. A file that is right already is not touched.\n",
    .options = build_options,
    .option_count = sizeof build_options / sizeof build_options[0],
};

static void report(const char *folder, const rmsnorm_cli_built *built, bool write, bool json)
{
    static const char *const names[] = {"build/webgpu/metadata.json", "README.md"};
    const bool changed[] = {built->metadata, built->card};
    if (json) {
        json_t *root = json_object();
        json_t *files = json_array();
        for (size_t i = 0; i < 2; ++i) {
            if (changed[i]) {
                (void)json_array_append_new(files, json_string(names[i]));
            }
        }
        (void)json_object_set_new(root, "name", rmsnorm_cli_json_text(built->name));
        (void)json_object_set_new(root, "id", rmsnorm_cli_json_text(built->id));
        (void)json_object_set_new(root, "id_before", rmsnorm_cli_json_text(built->before));
        (void)json_object_set_new(root, write ? "written" : "stale", files);
        rmsnorm_cli_print_json(root, false);
        return;
    }
    printf("%s", built->id);
    if (strcmp(built->id, built->before) != 0) {
        printf(", before %s", built->before[0] != '\0' ? built->before : "none");
    }
    putchar('\n');
    for (size_t i = 0; i < 2; ++i) {
        printf("%s ", !changed[i] ? "as it was" : write ? "written  " : "stale    ");
        rmsnorm_cli_show(stdout, folder);
        printf("/%s\n", names[i]);
    }
}

int rmsnorm_cli_package_build(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &build_usage, .argc = argc, .argv = argv};
    const char *folder = NULL;
    const char *value;
    bool write = true;
    int id;
    while ((id = rmsnorm_cli_next(&args, &value)) >= 0) {
        if (id == CHECK) {
            write = false;
        } else if (folder != NULL) {
            return rmsnorm_cli_fail("one folder at a time: '%s' and '%s' were given", folder, value);
        } else {
            folder = value;
        }
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    if (folder == NULL) {
        return rmsnorm_cli_fail("no package is given, write rmsnorm package build DIR");
    }
    rmsnorm_cli_built built;
    if (rmsnorm_cli_package_seal(folder, write, &built) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    report(folder, &built, write, args.json);
    return !write && (built.metadata || built.card) ? RMSNORM_CLI_NO : RMSNORM_CLI_DONE;
}
