/* folder.h: ONNX-style test folders: DIR/model.onnx, DIR/test_data_set_N/input_K.pb and output_K.pb; and kernel packages:
 * DIR/build/webgpu/metadata.json. */
#ifndef RMSNORM_CLI_FOLDER_H
#define RMSNORM_CLI_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* A list of paths, owned. */
typedef struct rmsnorm_cli_paths {
    char **items;
    size_t count;
} rmsnorm_cli_paths;

void rmsnorm_cli_paths_free(rmsnorm_cli_paths *paths);

/* A package is known by the metadata.json or manifest.json in its build/webgpu, or is that folder: metadata.json beside
 * test.json or manifest.json. */
bool rmsnorm_cli_folder_is_package(const char *directory);

/* Adds the test folders and packages that a directory is or holds, sorted. A test folder is known by its model.onnx or a
 * test_data_set_N. A directory that is none and holds none is bad input. */
int rmsnorm_cli_folder_find(const char *directory, rmsnorm_cli_paths *tests);

/* The test_data_set_N of a test folder, sorted by N. */
int rmsnorm_cli_folder_sets(const char *test, rmsnorm_cli_paths *sets);

/* The files PREFIX_0.pb, PREFIX_1.pb, ... of a data set. A missing number, or a file with PREFIX_ that is none of them, is refused. */
int rmsnorm_cli_folder_files(const char *set, const char *prefix, rmsnorm_cli_paths *files);

/* "DIR/NAME", to be freed. */
char *rmsnorm_cli_path_join(const char *directory, const char *name);
bool rmsnorm_cli_path_exists(const char *path);

#endif
