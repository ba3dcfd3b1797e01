/* file.h: small files as texts: read whole, written complete or not at all. */
#ifndef RMSNORM_CLI_FILE_H
#define RMSNORM_CLI_FILE_H

#include <stddef.h>

/* All of it, at most limit bytes, with a terminator behind; "-" is standard input. To be freed. A text with a zero byte in it
 * is refused. */
int rmsnorm_cli_file_read(const char *path, size_t limit, char **text, size_t *length);

/* Refuses a place where nothing can be written, before the work that it is for. */
int rmsnorm_cli_file_check(const char *path);

/* As rmsnorm_bytes_write does, and no signal ends the command meanwhile. */
int rmsnorm_cli_file_replace(const char *path, const char *text, size_t length);

#endif
