/* folder.c: ONNX-style test folders and packages. */
#define _XOPEN_SOURCE 700

#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"
#include "text.h"

static const char set_prefix[] = "test_data_set_";

void rmsnorm_cli_paths_free(rmsnorm_cli_paths *paths)
{
    for (size_t i = 0; i < paths->count; ++i) {
        free(paths->items[i]);
    }
    free(paths->items);
    *paths = (rmsnorm_cli_paths){NULL, 0};
}

/* Takes the path over. */
static void add(rmsnorm_cli_paths *paths, char *path)
{
    if ((paths->count & (paths->count + 1)) == 0) { /* full: the room is the powers of two minus one */
        char **items = rmsnorm_cli_allocate(2 * paths->count + 1, sizeof *items);
        if (paths->count > 0) {
            memcpy(items, paths->items, paths->count * sizeof *items);
        }
        free(paths->items);
        paths->items = items;
    }
    paths->items[paths->count++] = path;
}

char *rmsnorm_cli_path_join(const char *directory, const char *name)
{
    const size_t length = strlen(directory);
    const size_t size = length + strlen(name) + 2;
    char *path = rmsnorm_cli_allocate(size, 1);
    (void)snprintf(path, size, "%s%s%s", directory, length > 0 && directory[length - 1] == '/' ? "" : "/", name);
    return path;
}

bool rmsnorm_cli_path_exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

static bool is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* The number behind a prefix and before an ending, or -1. */
static long long number_in(const char *name, const char *prefix, const char *ending)
{
    const size_t length = strlen(name);
    const size_t before = strlen(prefix);
    const size_t after = strlen(ending);
    if (length <= before + after || strncmp(name, prefix, before) != 0 || strcmp(name + length - after, ending) != 0) {
        return -1;
    }
    char digits[16];
    long long number;
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(length - before - after), name + before);
    const bool canonical = (digits[0] != '0' || digits[1] == '\0') && length - before - after < sizeof digits;
    return canonical && rmsnorm_cli_integer(digits, 0, 1000000000, &number) ? number : -1;
}

/* By length, then by bytes: test_data_set_2 before test_data_set_10. */
static int compare_numbered(const void *a, const void *b)
{
    char *const *first = a;
    char *const *second = b;
    const size_t lengths[2] = {strlen(*first), strlen(*second)};
    return lengths[0] != lengths[1] ? (lengths[0] < lengths[1] ? -1 : 1) : strcmp(*first, *second);
}

static int compare_plain(const void *a, const void *b)
{
    char *const *first = a;
    char *const *second = b;
    return strcmp(*first, *second);
}

/* The entries of a directory without those that begin with a dot. */
static int list(const char *directory, rmsnorm_cli_paths *names)
{
    DIR *stream = opendir(directory);
    if (stream == NULL) {
        return rmsnorm_cli_fail("'%s' cannot be read: %s", directory, strerror(errno));
    }
    const struct dirent *entry;
    while (errno = 0, (entry = readdir(stream)) != NULL) {
        if (entry->d_name[0] != '.') {
            char *name = rmsnorm_cli_allocate(strlen(entry->d_name) + 1, 1);
            memcpy(name, entry->d_name, strlen(entry->d_name));
            add(names, name);
        }
    }
    const int error = errno;
    (void)closedir(stream);
    if (error != 0) {
        return rmsnorm_cli_fail("'%s' cannot be read: %s", directory, strerror(error));
    }
    if (names->count > 1) {
        qsort(names->items, names->count, sizeof *names->items, compare_plain);
    }
    return RMSNORM_CLI_DONE;
}

static bool holds(const char *directory, const char *name)
{
    char *path = rmsnorm_cli_path_join(directory, name);
    const bool found = rmsnorm_cli_path_exists(path);
    free(path);
    return found;
}

static bool is_test(const char *directory)
{
    bool found = holds(directory, "model.onnx");
    rmsnorm_cli_paths names = {NULL, 0};
    if (!found && list(directory, &names) == RMSNORM_CLI_DONE) {
        for (size_t i = 0; i < names.count; ++i) {
            found = found || number_in(names.items[i], set_prefix, "") >= 0;
        }
    }
    rmsnorm_cli_paths_free(&names);
    return found;
}

bool rmsnorm_cli_folder_is_package(const char *directory)
{
    return holds(directory, "build/webgpu/metadata.json") || holds(directory, "build/webgpu/manifest.json") ||
           (holds(directory, "metadata.json") && (holds(directory, "test.json") || holds(directory, "manifest.json")));
}

int rmsnorm_cli_folder_find(const char *directory, rmsnorm_cli_paths *tests)
{
    rmsnorm_cli_paths names = {NULL, 0};
    if (list(directory, &names) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    const size_t before = tests->count;
    if (is_test(directory) || rmsnorm_cli_folder_is_package(directory)) {
        size_t length = strlen(directory);
        while (length > 1 && directory[length - 1] == '/') {
            --length;
        }
        char *test = rmsnorm_cli_allocate(length + 1, 1);
        memcpy(test, directory, length);
        add(tests, test);
    } else {
        for (size_t i = 0; i < names.count; ++i) {
            char *test = rmsnorm_cli_path_join(directory, names.items[i]);
            if (is_directory(test) && (is_test(test) || rmsnorm_cli_folder_is_package(test))) {
                add(tests, test);
            } else {
                free(test);
            }
        }
    }
    rmsnorm_cli_paths_free(&names);
    return tests->count > before
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail(
                     "'%s' is no test folder and holds none: a test folder has model.onnx and test_data_set_0, or is a "
                     "kernel package, with build/webgpu/metadata.json",
                     directory);
}

int rmsnorm_cli_folder_sets(const char *test, rmsnorm_cli_paths *sets)
{
    rmsnorm_cli_paths names = {NULL, 0};
    if (list(test, &names) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    for (size_t i = 0; i < names.count; ++i) {
        if (number_in(names.items[i], set_prefix, "") >= 0) {
            add(sets, rmsnorm_cli_path_join(test, names.items[i]));
        }
    }
    rmsnorm_cli_paths_free(&names);
    if (sets->count > 1) {
        qsort(sets->items, sets->count, sizeof *sets->items, compare_numbered);
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_folder_files(const char *set, const char *prefix, rmsnorm_cli_paths *files)
{
    rmsnorm_cli_paths names = {NULL, 0};
    if (list(set, &names) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    int code = RMSNORM_CLI_DONE;
    size_t count = 0;
    for (size_t i = 0; i < names.count && code == RMSNORM_CLI_DONE; ++i) {
        if (strncmp(names.items[i], prefix, strlen(prefix)) == 0) {
            ++count;
            if (number_in(names.items[i], prefix, ".pb") < 0) {
                code = rmsnorm_cli_fail("'%s/%s' is no data file, their names are %s0.pb, %s1.pb, ...", set,
                                        names.items[i], prefix, prefix);
            }
        }
    }
    for (size_t i = 0; i < count && code == RMSNORM_CLI_DONE; ++i) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s%zu.pb", prefix, i);
        char *path = rmsnorm_cli_path_join(set, name);
        if (!rmsnorm_cli_path_exists(path)) {
            code = rmsnorm_cli_fail("'%s' is missing, the files must be numbered from 0 without a gap", path);
        }
        add(files, path);
    }
    rmsnorm_cli_paths_free(&names);
    return code;
}
