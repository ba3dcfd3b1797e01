/* outputs.c: results into files, all or none. */
#define _XOPEN_SOURCE 700

#include "outputs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "file.h"
#include "rmsnorm/graph.h"
#include "signals.h"
#include "text.h"

/* The part of a path that names the file, as rmsnorm_tensor_write takes it; what follows names the format or the tensor. */
static size_t file_length(const char *path)
{
    static const char safetensors[] = ".safetensors";
    static const char bfloat16[] = ":bfloat16";
    const char *mark = strstr(path, ".safetensors:");
    if (mark != NULL) {
        return (size_t)(mark - path) + sizeof safetensors - 1;
    }
    const size_t length = strlen(path);
    const size_t suffix = sizeof bfloat16 - 1;
    return length >= suffix && strcmp(path + length - suffix, bfloat16) == 0 ? length - suffix : length;
}

static bool is_stdout(const char *path)
{
    return path[0] == '-' && file_length(path) == 1;
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = rmsnorm_cli_allocate(length + 1, 1);
    memcpy(copy, text, length);
    return copy;
}

static char *path_in(const char *directory, const char *name, rmsnorm_dtype dtype)
{
    const size_t size = strlen(directory) + 3 * strlen(name) + sizeof "/.npy:bfloat16";
    char *path = rmsnorm_cli_allocate(size, 1);
    int used = snprintf(path, size, "%s/", directory);
    for (const char *at = name; *at != '\0'; ++at) {
        const unsigned char byte = (unsigned char)*at;
        const bool safe = byte < 0x80 && (isalnum(byte) || byte == '_' || byte == '-' || (byte == '.' && at != name));
        used += snprintf(path + used, size - (size_t)used, safe ? "%c" : "%%%02X", byte);
    }
    (void)snprintf(path + used, size - (size_t)used, ".npy%s", dtype == RMSNORM_BFLOAT16 ? ":bfloat16" : "");
    return path;
}

char *rmsnorm_cli_output_target(const char *wanted, const char *directory, const char *name,
                                const rmsnorm_tensor *tensor)
{
    if (wanted != NULL && wanted[0] == '=') {
        return copy_text(wanted + 1, strlen(wanted + 1));
    }
    return directory == NULL ? NULL : path_in(directory, name, tensor->dtype);
}

/* Where the base name begins. */
static size_t base_offset(const char *file)
{
    const char *slash = strrchr(file, '/');
    return slash == NULL ? 0 : (size_t)(slash - file) + 1;
}

/* What the system knows of a file, or of what standard output goes to. */
static bool status_of(const char *file, struct stat *status)
{
    return (strcmp(file, "-") == 0 ? fstat(STDOUT_FILENO, status) : stat(file, status)) == 0;
}

static bool same_existing(const char *a, const char *b)
{
    struct stat one, two;
    return status_of(a, &one) && status_of(b, &two) && one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

static bool same_directory(const char *a, const char *b)
{
    char *first = base_offset(a) > 0 ? copy_text(a, base_offset(a)) : copy_text(".", 1);
    char *second = base_offset(b) > 0 ? copy_text(b, base_offset(b)) : copy_text(".", 1);
    const bool same = strcmp(first, second) == 0 || same_existing(first, second);
    free(first);
    free(second);
    return same;
}

static bool same_file(const char *a, const char *b)
{
    char *first = copy_text(a, file_length(a));
    char *second = copy_text(b, file_length(b));
    const bool same =
        same_existing(first, second) ||
        (strcmp(first + base_offset(first), second + base_offset(second)) == 0 && same_directory(first, second));
    free(first);
    free(second);
    return same;
}

static int check_target(const rmsnorm_cli_output *output)
{
    char *file = copy_text(output->path, file_length(output->path));
    struct stat status;
    int code = RMSNORM_CLI_DONE;
    if (stat(file, &status) != 0 && lstat(file, &status) == 0) {
        code = rmsnorm_cli_fail("output '%s': '%s' is a symbolic link that leads to no file", output->name, file);
    } else if (file[0] == '\0') {
        code = rmsnorm_cli_fail("output '%s': the file name is empty, write %s=FILE", output->name, output->name);
    } else if (stat(file, &status) == 0 && S_ISDIR(status.st_mode)) {
        code = rmsnorm_cli_fail("output '%s': '%s' is a directory, the name of a file is needed", output->name, file);
    } else if (rmsnorm_tensor_write_check(output->path, output->name) != RMSNORM_OK) {
        code = rmsnorm_cli_fail("output '%s': %s", output->name, rmsnorm_last_error());
    }
    free(file);
    return code;
}

bool rmsnorm_cli_outputs_to_stdout(const rmsnorm_cli_output *outputs, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (outputs[i].path != NULL && is_stdout(outputs[i].path)) {
            return true;
        }
    }
    return false;
}

int rmsnorm_cli_outputs_check(const rmsnorm_cli_output *outputs, size_t count, bool json)
{
    if (json && rmsnorm_cli_outputs_to_stdout(outputs, count)) {
        return rmsnorm_cli_fail("--json and an output to '-' both need standard output, give the output a file");
    }
    for (size_t i = 0; i < count; ++i) {
        if (outputs[i].path == NULL) {
            continue;
        }
        if (!is_stdout(outputs[i].path) && check_target(&outputs[i]) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
        for (size_t j = 0; j < i; ++j) {
            if (outputs[j].path != NULL && same_file(outputs[i].path, outputs[j].path)) {
                return rmsnorm_cli_fail("outputs '%s' and '%s' both go to '%s', each needs its own file",
                                        outputs[j].name, outputs[i].name, outputs[i].path);
            }
        }
    }
    return RMSNORM_CLI_DONE;
}

/* An output that is complete, but has not yet its name. */
typedef struct staged {
    char *path; /* DIR/.rmsnorm-PID-K.npy:bfloat16; NULL: nothing is staged */
    char *file; /* the file to become */
    char *old;  /* a second name of what it replaces; NULL: there is none */
    bool replaces, published;
} staged;

/* A regular file, or a new one, beside which another can be written. The rest (standard output, devices, pipes) cannot be taken
 * back. */
static bool can_stage(const char *path)
{
    char *file = copy_text(path, file_length(path));
    const bool can = !rmsnorm_cli_file_is_stream(file);
    free(file);
    return can;
}

static void choose_place(const char *path, size_t index, staged *place)
{
    place->file = copy_text(path, file_length(path));
    char *linked = realpath(place->file, NULL); /* a symbolic link stays one */
    if (linked != NULL) {
        free(place->file);
        place->file = linked;
    }
    const size_t base = base_offset(place->file);
    const char *dot = strrchr(path, '.');
    const char *extension = dot == NULL || strchr(dot, '/') != NULL ? "" : dot;
    const char *marked = strstr(path, ".safetensors:"); /* the tensor's name may hold dots and slashes */
    extension = marked != NULL ? marked : extension;
    const size_t size = base + strlen(extension) + 64;
    place->path = rmsnorm_cli_allocate(size, 1);
    (void)snprintf(place->path, size, "%.*s.rmsnorm-%ld-%zu%s", (int)base, place->file, (long)getpid(), index,
                   extension);
}

/* The library's sentence, with the name that the user gave instead of the staged one. */
static int fail_write(const rmsnorm_cli_output *output, const char *path)
{
    char text[1024];
    (void)snprintf(text, sizeof text, "%s", rmsnorm_last_error());
    const size_t length = file_length(path);
    char *name = copy_text(path, length);
    rmsnorm_cli_clean(name);
    const char *found = strstr(text, name);
    free(name);
    if (found == NULL) {
        return rmsnorm_cli_fail("output '%s': %s", output->name, text);
    }
    return rmsnorm_cli_fail("output '%s': %.*s%.*s%s", output->name, (int)(found - text), text,
                            (int)file_length(output->path), output->path, found + length);
}

static int write_one(const rmsnorm_cli_output *output, const char *path)
{
    if (rmsnorm_cli_signals_came()) {
        return rmsnorm_cli_fail("interrupted");
    }
    return rmsnorm_tensor_write(path, output->tensor, output->name) == RMSNORM_OK ? RMSNORM_CLI_DONE
                                                                                  : fail_write(output, path);
}

/* A stream may wait for its reader for ever: a signal ends that. With files staged beside it is the second one that does. */
static int write_streams(const rmsnorm_cli_output *outputs, size_t count, bool beside_files)
{
    const rmsnorm_cli_patience before =
        rmsnorm_cli_signals_enter(beside_files ? RMSNORM_CLI_ASKED : RMSNORM_CLI_AT_ONCE);
    int code = RMSNORM_CLI_DONE;
    for (size_t i = 0; i < count && code == RMSNORM_CLI_DONE; ++i) {
        if (outputs[i].path != NULL && !can_stage(outputs[i].path)) {
            code = write_one(&outputs[i], outputs[i].path);
        }
    }
    (void)rmsnorm_cli_signals_enter(before);
    return code;
}

/* What cannot be taken back comes after all that can fail, and before the renames, which hardly can. */
static int stage(const rmsnorm_cli_output *outputs, size_t count, staged *places)
{
    bool any = false;
    for (size_t i = 0; i < count; ++i) {
        if (outputs[i].path != NULL && can_stage(outputs[i].path)) {
            any = true;
            choose_place(outputs[i].path, i, &places[i]);
            if (write_one(&outputs[i], places[i].path) != RMSNORM_CLI_DONE) {
                return RMSNORM_CLI_BAD;
            }
        }
    }
    return write_streams(outputs, count, any);
}

/* A second name for what is there, by which it can come back. */
static int keep_old(const rmsnorm_cli_output *output, staged *place, size_t index)
{
    struct stat status;
    place->replaces = stat(place->file, &status) == 0;
    if (!place->replaces) {
        return RMSNORM_CLI_DONE;
    }
    const size_t base = base_offset(place->file);
    const size_t size = base + 64;
    place->old = rmsnorm_cli_allocate(size, 1);
    (void)snprintf(place->old, size, "%.*s.rmsnorm-%ld-%zu.old", (int)base, place->file, (long)getpid(), index);
    (void)unlink(place->old);
    bool kept = link(place->file, place->old) == 0;
    if (!kept) {
        kept = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS || errno == EMLINK; /* no links there */
        free(place->old);
        place->old = NULL;
    }
    /* The permissions stay those of the file that is replaced. */
    return kept && chmod(place->path, status.st_mode & 07777) == 0
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("output '%s': '%s' cannot be replaced: %s", output->name, place->file,
                                  strerror(errno));
}

static int publish(const rmsnorm_cli_output *outputs, size_t count, staged *places)
{
    int code = RMSNORM_CLI_DONE;
    for (size_t i = 0; i < count && code == RMSNORM_CLI_DONE; ++i) {
        code = places[i].path != NULL ? keep_old(&outputs[i], &places[i], i) : RMSNORM_CLI_DONE;
    }
    for (size_t i = 0; i < count && code == RMSNORM_CLI_DONE; ++i) {
        places[i].published = places[i].path != NULL && rename(places[i].path, places[i].file) == 0;
        if (places[i].path != NULL && !places[i].published) {
            code = rmsnorm_cli_fail("output '%s': '%s' cannot be replaced: %s", outputs[i].name, places[i].file,
                                    strerror(errno));
        }
    }
    return code;
}

/* After a failure all is as it was before. */
static void take_back(const staged *place)
{
    (void)unlink(place->path);
    if (place->published && place->old != NULL) {
        (void)rename(place->old, place->file);
    } else if (place->published && !place->replaces) {
        (void)unlink(place->file);
    }
}

static int write_staged(const rmsnorm_cli_output *outputs, size_t count)
{
    staged *places = rmsnorm_cli_allocate(count, sizeof *places);
    int code = stage(outputs, count, places);
    for (size_t i = 0; i < count; ++i) {
        if (places[i].path != NULL) {
            places[i].path[file_length(places[i].path)] = '\0';
        }
    }
    code = code == RMSNORM_CLI_DONE ? publish(outputs, count, places) : code;
    for (size_t i = 0; i < count; ++i) {
        if (places[i].path != NULL && code != RMSNORM_CLI_DONE) {
            take_back(&places[i]);
        }
        if (places[i].old != NULL) {
            (void)unlink(places[i].old);
        }
        free(places[i].path);
        free(places[i].file);
        free(places[i].old);
    }
    free(places);
    return code;
}

static int write_all(const rmsnorm_cli_output *outputs, size_t count, const char *directory)
{
    const bool made = directory != NULL && mkdir(directory, 0777) == 0;
    if (directory != NULL && !made && errno != EEXIST) {
        return rmsnorm_cli_fail("cannot make the directory '%s': %s", directory, strerror(errno));
    }
    const rmsnorm_cli_output *only = NULL;
    size_t targets = 0;
    for (size_t i = 0; i < count; ++i) {
        if (outputs[i].path != NULL) {
            only = &outputs[i];
            ++targets;
        }
    }
    /* One file is written whole or not at all by the library itself. */
    const int code = targets != 1            ? write_staged(outputs, count)
                     : can_stage(only->path) ? write_one(only, only->path)
                                             : write_streams(only, 1, false);
    if (made && code != RMSNORM_CLI_DONE) {
        (void)rmdir(directory);
    }
    return code;
}

int rmsnorm_cli_outputs_write(const rmsnorm_cli_output *outputs, size_t count, const char *directory)
{
    const rmsnorm_cli_patience before = rmsnorm_cli_signals_enter(RMSNORM_CLI_NOTED);
    return rmsnorm_cli_signals_leave(before, write_all(outputs, count, directory));
}

void rmsnorm_cli_outputs_free(rmsnorm_cli_output *outputs, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        free(outputs[i].path);
    }
    free(outputs);
}
