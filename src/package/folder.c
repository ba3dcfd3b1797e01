/* folder.c: the files of a package, from a folder that may be hostile. Everything is opened relative to the folder, and no
 * link is followed by the system, so that nothing can be exchanged between a check and its use. */
#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "package/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "package/metadata.h"

/* Not blocking: a pipe must not hold us up before it is refused. */
enum { FLAGS = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };

static rmsnorm_status fail_system(const char *name, const char *verb)
{
    const int error = errno;
    return rmsnorm_fail(error == ENOENT ? RMSNORM_NOT_FOUND : RMSNORM_IO, "%s cannot be %s: %s", name, verb,
                        strerror(error));
}

rmsnorm_status rmsnorm_files_add(rmsnorm_files *files, const char *name, size_t size)
{
    RMSNORM_CHECK(
        rmsnorm_metadata_file_is_valid(name), RMSNORM_MALFORMED,
        "\"%.80s\" is no name for a file of a package: 1 to 255 bytes of UTF-8 without slashes and control characters",
        name);
    RMSNORM_CHECK(files->count < RMSNORM_PACKAGE_FILES, RMSNORM_MALFORMED, "there are more than %d files",
                  RMSNORM_PACKAGE_FILES);
    RMSNORM_CHECK(size <= RMSNORM_PACKAGE_FILE_SIZE, RMSNORM_MALFORMED, "%s has %zu bytes, at most %zu are allowed",
                  name, size, RMSNORM_PACKAGE_FILE_SIZE);
    files->size += size;
    RMSNORM_CHECK(files->size <= RMSNORM_PACKAGE_SIZE, RMSNORM_MALFORMED, "the files have more than %zu bytes together",
                  RMSNORM_PACKAGE_SIZE);
    files->items[files->count++] = (rmsnorm_file){.name = name, .size = size};
    return RMSNORM_OK;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const rmsnorm_file *)a)->name, ((const rmsnorm_file *)b)->name);
}

rmsnorm_status rmsnorm_files_sort(rmsnorm_files *files)
{
    qsort(files->items, files->count, sizeof *files->items, compare_files);
    for (size_t i = 1; i < files->count; ++i) {
        RMSNORM_CHECK(strcmp(files->items[i - 1].name, files->items[i].name) != 0, RMSNORM_MALFORMED,
                      "%s is there twice", files->items[i].name);
    }
    return RMSNORM_OK;
}

/* The blob that a file of a Hub's snapshot is: REPOSITORY/snapshots/COMMIT/build/webgpu/FILE is a link to a file in
 * REPOSITORY/blobs. Steps up are the system's own, and no link; that they lead through `snapshots` is checked. */
static int open_blob(int folder, const char *name)
{
    struct stat above;
    struct stat named;
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    const int repository = openat(folder, "../../../..", flags);
    const bool snapshot = repository >= 0 && fstatat(folder, "../../..", &above, AT_SYMLINK_NOFOLLOW) == 0 &&
                          fstatat(repository, "snapshots", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
                          above.st_dev == named.st_dev && above.st_ino == named.st_ino;
    const int blobs = snapshot ? openat(repository, "blobs", flags) : -1;
    const int file = blobs >= 0 ? openat(blobs, name, FLAGS) : -1;
    const int error = snapshot ? errno : ELOOP;
    if (blobs >= 0) {
        (void)close(blobs);
    }
    if (repository >= 0) {
        (void)close(repository);
    }
    errno = error;
    return file;
}

/* A link may name another file of the folder, or a snapshot's blob. -1: errno tells. */
static int open_file(int folder, const char *name)
{
    static const char blobs[] = "../../../../blobs/";
    const int file = openat(folder, name, FLAGS);
    if (file >= 0 || errno != ELOOP) {
        return file;
    }
    char target[sizeof blobs + 256];
    const ssize_t length = readlinkat(folder, name, target, sizeof target - 1);
    if (length < 0) {
        return -1;
    }
    target[length] = '\0';
    const bool blob = strncmp(target, blobs, sizeof blobs - 1) == 0;
    const char *const last = blob ? target + sizeof blobs - 1 : target;
    if (!rmsnorm_metadata_file_is_valid(last)) {
        errno = ELOOP;
        return -1;
    }
    return blob ? open_blob(folder, last) : openat(folder, last, FLAGS);
}

static rmsnorm_status read_all(int file, const char *name, char *data, size_t *size)
{
    size_t done = 0;
    while (done < *size) {
        const ssize_t count = read(file, data + done, *size - done);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return fail_system(name, "read");
        }
        if (count == 0) {
            break; /* it has become shorter; its digest will tell */
        }
        done += (size_t)count;
    }
    *size = done;
    return RMSNORM_OK;
}

static rmsnorm_status read_open_file(rmsnorm_arena *arena, int descriptor, const char *name, rmsnorm_files *files)
{
    struct stat status;
    if (fstat(descriptor, &status) != 0) {
        return fail_system(name, "read");
    }
    RMSNORM_CHECK(!S_ISDIR(status.st_mode), RMSNORM_MALFORMED, "%s is a folder, only files are allowed", name);
    RMSNORM_CHECK(S_ISREG(status.st_mode), RMSNORM_MALFORMED, "%s is no regular file", name);
    const uint64_t size = (uint64_t)status.st_size;
    RMSNORM_TRY(rmsnorm_files_add(files, name, size < SIZE_MAX ? (size_t)size : SIZE_MAX));
    rmsnorm_file *file = &files->items[files->count - 1];
    char *data = rmsnorm_arena_allocate(arena, file->size + 1);
    file->data = data;
    return data != NULL ? read_all(descriptor, name, data, &file->size) : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status read_file(rmsnorm_arena *arena, int folder, const char *name, rmsnorm_files *files)
{
    const char *copy = rmsnorm_arena_copy(arena, name, strlen(name));
    if (copy == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const int descriptor = open_file(folder, copy);
    RMSNORM_CHECK(descriptor >= 0 || errno != ELOOP, RMSNORM_MALFORMED,
                  "%s is a symbolic link that leads out of the folder", copy);
    if (descriptor < 0) {
        return fail_system(copy, "opened");
    }
    const rmsnorm_status status = read_open_file(arena, descriptor, copy, files);
    (void)close(descriptor);
    return status;
}

/* Takes the descriptor over. */
static rmsnorm_status read_files(rmsnorm_arena *arena, int folder, rmsnorm_files *files)
{
    files->items = rmsnorm_arena_allocate(arena, RMSNORM_PACKAGE_FILES * sizeof *files->items);
    DIR *stream = files->items != NULL ? fdopendir(folder) : NULL;
    if (stream == NULL) {
        const rmsnorm_status status = files->items != NULL ? fail_system("the folder", "read") : RMSNORM_OUT_OF_MEMORY;
        (void)close(folder);
        return status;
    }
    rmsnorm_status status = RMSNORM_OK;
    const struct dirent *entry;
    while (status == RMSNORM_OK && (errno = 0, entry = readdir(stream)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            status = read_file(arena, folder, entry->d_name, files);
        }
    }
    if (status == RMSNORM_OK && errno != 0) {
        status = fail_system("the folder", "read");
    }
    (void)closedir(stream);
    return status == RMSNORM_OK ? rmsnorm_files_sort(files) : status;
}

/* FOLDER/build/webgpu, or FOLDER where there is none. -1: errno tells. */
static int open_folder(const char *path)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
    const int folder = open(path, flags);
    if (folder < 0) {
        return -1;
    }
    const int build = openat(folder, "build", flags | O_NOFOLLOW);
    const int inner = build >= 0 ? openat(build, "webgpu", flags | O_NOFOLLOW) : -1;
    const int error = errno;
    if (build >= 0) {
        (void)close(build);
    }
    if (inner < 0 && error == ENOENT) {
        return folder;
    }
    (void)close(folder);
    errno = error;
    return inner;
}

rmsnorm_status rmsnorm_folder_read(rmsnorm_arena *arena, const char *folder, rmsnorm_files *files)
{
    *files = (rmsnorm_files){.items = NULL};
    const int descriptor = open_folder(folder);
    if (descriptor < 0) {
        return fail_system("the folder, or build/webgpu in it,", "opened");
    }
    struct stat status;
    if (fstatat(descriptor, RMSNORM_METADATA, &status, AT_SYMLINK_NOFOLLOW) != 0) {
        (void)close(descriptor);
        return rmsnorm_fail(RMSNORM_NOT_FOUND, RMSNORM_METADATA " is missing: this is no package");
    }
    return read_files(arena, descriptor, files);
}
