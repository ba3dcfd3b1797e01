/* file.c: small files as texts. */
#define _XOPEN_SOURCE 700

#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "rmsnorm/graph.h"
#include "signals.h"

static int read_stream(FILE *stream, const char *name, size_t limit, char **text, size_t *length)
{
    size_t room = 1 << 16;
    char *all = rmsnorm_cli_allocate(room, 1);
    *length = 0;
    errno = 0;
    for (size_t count = 1; count > 0 && *length <= limit;) {
        if (*length + 1 == room) {
            char *larger = rmsnorm_cli_allocate(2 * room, 1);
            memcpy(larger, all, *length);
            free(all);
            all = larger;
            room *= 2;
        }
        count = fread(all + *length, 1, room - 1 - *length, stream);
        *length += count;
    }
    all[*length] = '\0';
    int code = RMSNORM_CLI_DONE;
    if (ferror(stream)) {
        code = rmsnorm_cli_fail("'%s' cannot be read: %s", name, strerror(errno));
    } else if (*length > limit) {
        code = rmsnorm_cli_fail("'%s' has more than %zu bytes", name, limit);
    } else if (strlen(all) != *length) {
        code = rmsnorm_cli_fail("'%s' is no text: byte %zu is zero", name, strlen(all));
    }
    *text = code == RMSNORM_CLI_DONE ? all : NULL;
    if (code != RMSNORM_CLI_DONE) {
        free(all);
    }
    return code;
}

int rmsnorm_cli_file_read(const char *path, size_t limit, char **text, size_t *length)
{
    *text = NULL;
    if (strcmp(path, "-") == 0) {
        return read_stream(stdin, "standard input", limit, text, length);
    }
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return rmsnorm_cli_fail("'%s' cannot be opened: %s", path, strerror(errno));
    }
    const int code = read_stream(stream, path, limit, text, length);
    (void)fclose(stream);
    return code;
}

bool rmsnorm_cli_file_is_stream(const char *path)
{
    struct stat status;
    return strcmp(path, "-") == 0 || (stat(path, &status) == 0 && !S_ISREG(status.st_mode));
}

int rmsnorm_cli_file_check(const char *path)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    char *folder = rmsnorm_cli_allocate(length + 2, 1);
    memcpy(folder, length > 0 ? path : ".", length > 0 ? length : 1);
    struct stat status;
    int code = RMSNORM_CLI_DONE;
    if (stat(path, &status) == 0 ? access(path, W_OK) != 0 : access(folder, W_OK | X_OK) != 0) {
        code = rmsnorm_cli_fail("%s: cannot be written: %s", path, strerror(errno));
    } else if (path[0] == '\0' || (stat(path, &status) == 0 && S_ISDIR(status.st_mode))) {
        code = rmsnorm_cli_fail("'%s' is a directory, the name of a file is needed", path);
    }
    free(folder);
    return code;
}

int rmsnorm_cli_file_replace(const char *path, const char *text, size_t length)
{
    const rmsnorm_cli_patience before =
        rmsnorm_cli_signals_enter(rmsnorm_cli_file_is_stream(path) ? RMSNORM_CLI_AT_ONCE : RMSNORM_CLI_NOTED);
    const rmsnorm_status status = rmsnorm_bytes_write(path, text, length);
    return rmsnorm_cli_signals_leave(before, status == RMSNORM_OK ? RMSNORM_CLI_DONE : rmsnorm_cli_fail_library());
}
