/* folder.h: the files of a package, from a folder that may be hostile. */
#ifndef RMSNORM_PACKAGE_FOLDER_H
#define RMSNORM_PACKAGE_FOLDER_H

#include "package/package.h"

#define RMSNORM_PACKAGE_FILES 256
#define RMSNORM_PACKAGE_FILE_SIZE ((size_t)4 << 20)
#define RMSNORM_PACKAGE_SIZE ((size_t)32 << 20) /* of all files together */

/* A list of files that keeps to these limits; names and data are the caller's. */
typedef struct rmsnorm_files {
    rmsnorm_file *items;
    size_t count, size;
} rmsnorm_files;

/* Refuses a name that is none, a file that is too large and one too many. items has room for RMSNORM_PACKAGE_FILES. */
rmsnorm_status rmsnorm_files_add(rmsnorm_files *files, const char *name, size_t size);

/* By name; refuses a name that is there twice. */
rmsnorm_status rmsnorm_files_sort(rmsnorm_files *files);

/* The files of FOLDER/build/webgpu or, where there is none, of FOLDER: RMSNORM_NOT_FOUND without a metadata.json. Folders
 * inside, what is no regular file, and links that lead elsewhere are refused; in a snapshot of a Hub's cache a link may lead to
 * the cache's blobs of the same repository. */
rmsnorm_status rmsnorm_folder_read(rmsnorm_arena *arena, const char *folder, rmsnorm_files *files);

#endif
