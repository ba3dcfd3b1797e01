#define _XOPEN_SOURCE 700
#define _FILE_OFFSET_BITS 64

#include "graph/data_files.h"

#include "graph/bytes.h"
#include "graph/output.h"
#include "operator/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Between two reports. */
#define STEP ((uint64_t)64 << 20)

rmsnorm_status rmsnorm_advance_by(rmsnorm_advance *advance, uint64_t bytes, const char *path)
{
    advance->done += bytes;
    RMSNORM_CHECK(advance->report == NULL || advance->report(advance->user, advance->done, advance->total),
                  RMSNORM_CANCELLED, "%s: writing was cancelled", rmsnorm_file_display(path));
    return RMSNORM_OK;
}

/* ---- What is there --------------------------------------------------------------------------- */

static bool join(char path[PATH_MAX], const char *folder, const char *location)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, location);
    errno = ENAMETOOLONG;
    return length >= 0 && length < PATH_MAX;
}

/* The data file of the input. */
static rmsnorm_status open_data(const rmsnorm_data_move *move, size_t index, const rmsnorm_external_file **file)
{
    rmsnorm_document *const document = move->document;
    return rmsnorm_external_open(&document->external, document->input.file, document->data_files.items[index], file);
}

static rmsnorm_status read_piece(int descriptor, const char *path, uint64_t at, uint8_t *to, size_t size)
{
    for (size_t got = 0; got < size;) {
        const ssize_t count = pread(descriptor, to + got, size - got, (off_t)(at + got));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        RMSNORM_CHECK(count > 0, RMSNORM_IO, "%s: cannot be read: %s", rmsnorm_file_display(path),
                      count < 0 ? strerror(errno) : "it has become shorter");
        got += (size_t)count;
    }
    return RMSNORM_OK;
}

static rmsnorm_status compare(int left, int right, const char *path, uint64_t size, bool *same)
{
    uint8_t pieces[2][1 << 14];
    *same = true;
    for (uint64_t at = 0; at < size && *same; at += sizeof pieces[0]) {
        const size_t step = size - at < sizeof pieces[0] ? (size_t)(size - at) : sizeof pieces[0];
        RMSNORM_TRY(read_piece(left, path, at, pieces[0], step));
        RMSNORM_TRY(read_piece(right, path, at, pieces[1], step));
        *same = memcmp(pieces[0], pieces[1], step) == 0;
    }
    return RMSNORM_OK;
}

/* Whether the file that is there already has the content that is wanted there. */
static rmsnorm_status check_there(const rmsnorm_external_file *file, const char *path)
{
    rmsnorm_external_file there;
    there.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    RMSNORM_CHECK(there.descriptor >= 0, RMSNORM_IO, "%s: cannot be read: %s", rmsnorm_file_display(path),
                  strerror(errno));
    bool same = false;
    rmsnorm_status status = RMSNORM_OK;
    if (rmsnorm_file_mark_open(there.descriptor, &there.mark) && there.mark.regular) {
        same = rmsnorm_file_is_same(&there.mark, &file->mark);
        if (!same && there.mark.size == file->mark.size) {
            status = compare(file->descriptor, there.descriptor, path, file->mark.size, &same);
        }
    }
    close(there.descriptor);
    RMSNORM_CHECK(same || status != RMSNORM_OK, RMSNORM_INVALID_ARGUMENT,
                  "%s: is there already, with other content than the data file of that name, and is not replaced",
                  rmsnorm_file_display(path));
    return status;
}

static rmsnorm_status plan_one(rmsnorm_data_move *move, size_t index, const rmsnorm_file_mark *output)
{
    char path[PATH_MAX];
    struct stat there;
    const char *const location = move->document->data_files.items[index];
    const rmsnorm_external_file *file;
    const rmsnorm_status status = open_data(move, index, &file);
    if (status == RMSNORM_NOT_FOUND && move->target == NULL) {
        return RMSNORM_OK; /* it was not there before either */
    }
    RMSNORM_TRY(status);
    RMSNORM_CHECK(output == NULL || !rmsnorm_file_is_same(output, &file->mark), RMSNORM_INVALID_ARGUMENT,
                  "%s: the model would replace its own data file \"" RMSNORM_NAME "\"", move->document->input.file,
                  location);
    if (move->target == NULL) {
        return RMSNORM_OK;
    }
    if (!join(path, move->target, location)) {
        return rmsnorm_output_fail(location);
    }
    if (lstat(path, &there) == 0) {
        return check_there(file, path);
    }
    move->missing[index] = true;
    move->bytes += file->mark.size;
    return RMSNORM_OK;
}

/* The folder a path is in, resolved. */
static char *folder_of(const char *path)
{
    char *const copy = malloc(strlen(path) + 3);
    if (copy == NULL) {
        return NULL;
    }
    sprintf(copy, "%s%s", strchr(path, '/') == NULL ? "./" : "", path);
    char *const slash = strrchr(copy, '/');
    slash[slash == copy] = '\0';
    char *const resolved = realpath(copy, NULL);
    free(copy);
    return resolved;
}

rmsnorm_status rmsnorm_data_move_plan(rmsnorm_data_move *move, rmsnorm_document *document, const char *path,
                                      rmsnorm_data_files mode)
{
    *move = (rmsnorm_data_move){.document = document, .mode = mode};
    const size_t count = document->data_files.count;
    rmsnorm_file_mark output;
    const bool exists = strcmp(path, "-") != 0 && rmsnorm_file_mark_named(path, &output);
    if (count == 0 || strcmp(path, "-") == 0 || (exists && !output.regular)) {
        return RMSNORM_OK;
    }
    if (mode != RMSNORM_DATA_FILES_LEAVE) {
        char *const folder = folder_of(path);
        if (folder == NULL) {
            return rmsnorm_output_fail(path);
        }
        rmsnorm_file_mark there;
        rmsnorm_file_mark here;
        const bool same = rmsnorm_file_mark_named(folder, &there) &&
                          rmsnorm_file_mark_named(document->external.folders[0], &here) &&
                          rmsnorm_file_is_same(&there, &here);
        if (same) {
            free(folder);
        } else {
            move->target = folder;
        }
    }
    move->missing = calloc(count, sizeof *move->missing);
    if (move->missing == NULL) {
        return rmsnorm_fail_memory(document->input.file, count);
    }
    for (size_t i = 0; i < count; i++) {
        RMSNORM_TRY(plan_one(move, i, exists ? &output : NULL));
    }
    return RMSNORM_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

/* What cannot be noted is not kept. */
static rmsnorm_status note_made(rmsnorm_data_move *move, const char *path)
{
    const size_t length = strlen(path) + 1;
    char *const copy = malloc(length);
    if (copy != NULL && move->made_count == move->made_capacity) {
        const size_t larger = 2 * move->made_capacity + 8;
        char **const made = realloc(move->made, larger * sizeof *made);
        move->made = made != NULL ? made : move->made;
        move->made_capacity = made != NULL ? larger : move->made_capacity;
    }
    if (copy == NULL || move->made_count == move->made_capacity) {
        free(copy);
        remove(path);
        return rmsnorm_fail_memory(rmsnorm_file_display(path), length);
    }
    memcpy(copy, path, length);
    move->made[move->made_count++] = copy;
    return RMSNORM_OK;
}

/* The folders a location names, below the target; none of them may be a link out of it. */
static rmsnorm_status make_folders(rmsnorm_data_move *move, char *path)
{
    const size_t base = strlen(move->target);
    for (char *slash = strchr(path + base + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        struct stat there;
        rmsnorm_status status = RMSNORM_OK;
        if (mkdir(path, 0777) == 0) {
            status = note_made(move, path);
        } else if (errno != EEXIST || lstat(path, &there) != 0) {
            status = rmsnorm_output_fail(path);
        } else if (!S_ISDIR(there.st_mode)) {
            status =
                rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: is no folder, but data files are to be written below it",
                             rmsnorm_file_display(path));
        }
        *slash = '/';
        RMSNORM_TRY(status);
    }
    return RMSNORM_OK;
}

typedef struct copying {
    const rmsnorm_external_file *file;
    rmsnorm_advance *advance;
} copying;

/* Holes stay holes. */
static rmsnorm_status copy_data(void *content, int descriptor, const char *path)
{
    const copying *const c = content;
    const uint64_t size = c->file->mark.size;
    for (uint64_t at = 0; at < size;) {
        const uint64_t data = rmsnorm_file_skip_hole(c->file->descriptor, at, size);
        if (data > at && lseek(descriptor, (off_t)data, SEEK_SET) < 0) {
            return rmsnorm_output_fail(path);
        }
        const uint64_t step = size - data < STEP ? size - data : STEP;
        switch (rmsnorm_file_copy(c->file->descriptor, data, descriptor, step)) {
        case RMSNORM_FILE_COPIED:
            break;
        case RMSNORM_FILE_UNWRITABLE:
            return rmsnorm_output_fail(path);
        case RMSNORM_FILE_ENDED:
            return rmsnorm_fail(RMSNORM_IO, "%s: cannot be written: its original has become shorter",
                                rmsnorm_file_display(path));
        default:
            return rmsnorm_fail(RMSNORM_IO, "%s: cannot be written: its original cannot be read: %s",
                                rmsnorm_file_display(path), strerror(errno));
        }
        RMSNORM_TRY(rmsnorm_advance_by(c->advance, data + step - at, path));
        at = data + step;
    }
    return ftruncate(descriptor, (off_t)size) == 0 ? RMSNORM_OK : rmsnorm_output_fail(path);
}

/* False: it has to be copied. */
static bool make_link(const rmsnorm_document *document, const char *location, const char *path)
{
    char from[PATH_MAX];
    return join(from, document->external.folders[0], location) &&
           linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

static rmsnorm_status make_one(rmsnorm_data_move *move, size_t index, rmsnorm_advance *advance)
{
    char path[PATH_MAX];
    const char *const location = move->document->data_files.items[index];
    const rmsnorm_external_file *file;
    RMSNORM_TRY(open_data(move, index, &file));
    if (!join(path, move->target, location)) {
        return rmsnorm_output_fail(location);
    }
    RMSNORM_TRY(make_folders(move, path));
    const bool linked = move->mode == RMSNORM_DATA_FILES_LINK && make_link(move->document, location, path);
    if (!linked) {
        copying content = {file, advance};
        RMSNORM_TRY(rmsnorm_output_make_new(path, copy_data, &content));
    }
    RMSNORM_TRY(note_made(move, path));
    return linked ? rmsnorm_advance_by(advance, file->mark.size, path) : RMSNORM_OK;
}

rmsnorm_status rmsnorm_data_move_make(rmsnorm_data_move *move, const char *path, rmsnorm_advance *advance)
{
    for (size_t i = 0; move->target != NULL && i < move->document->data_files.count; i++) {
        if (move->missing[i]) {
            RMSNORM_TRY(make_one(move, i, advance));
        }
    }
    /* A data file of the model's own name is seen now that it is there. */
    rmsnorm_file_mark output;
    for (size_t i = 0; i < move->made_count; i++) {
        rmsnorm_file_mark made;
        RMSNORM_CHECK(!rmsnorm_file_mark_named(path, &output) || !rmsnorm_file_mark_named(move->made[i], &made) ||
                          !rmsnorm_file_is_same(&output, &made),
                      RMSNORM_INVALID_ARGUMENT, "%s: is the name of one of the model's data files too",
                      rmsnorm_file_display(path));
    }
    return RMSNORM_OK;
}

void rmsnorm_data_move_undo(rmsnorm_data_move *move)
{
    while (move->made_count > 0) {
        char *const path = move->made[--move->made_count];
        remove(path);
        free(path);
    }
}

void rmsnorm_data_move_release(rmsnorm_data_move *move)
{
    for (size_t i = 0; i < move->made_count; i++) {
        free(move->made[i]);
    }
    free(move->made);
    free(move->missing);
    free(move->target);
}
