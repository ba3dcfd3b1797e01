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

/* What is there already keeps its permissions. */
static int write_file(const char *path, const char *replaced, const char *text, size_t length)
{
    struct stat status;
    FILE *stream = fopen(path, "wbx");
    if (stream == NULL) {
        return -1;
    }
    int result = fwrite(text, 1, length, stream) == length ? 0 : -1;
    if (stat(replaced, &status) == 0 && fchmod(fileno(stream), status.st_mode & 07777) != 0) {
        result = -1;
    }
    const int error = errno;
    if (fclose(stream) != 0) {
        return -1;
    }
    errno = error;
    return result;
}

int rmsnorm_cli_file_replace(const char *path, const char *text, size_t length)
{
    char *linked = realpath(path, NULL); /* a symbolic link stays one */
    const char *target = linked != NULL ? linked : path;
    const char *slash = strrchr(target, '/');
    const int folder = slash != NULL ? (int)(slash - target) + 1 : 0;
    const size_t size = (size_t)folder + 64;
    char *part = rmsnorm_cli_allocate(size, 1);
    (void)snprintf(part, size, "%.*s.rmsnorm-%ld.part", folder, target, (long)getpid());
    int code = RMSNORM_CLI_DONE;
    if (write_file(part, target, text, length) != 0 || rename(part, target) != 0) {
        code = rmsnorm_cli_fail("'%s' cannot be written: %s", path, strerror(errno));
        (void)unlink(part);
    }
    free(part);
    free(linked);
    return code;
}
