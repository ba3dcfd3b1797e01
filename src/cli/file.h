/* file.h: small files as texts: read whole, written complete or not at all. */
#ifndef RMSNORM_CLI_FILE_H
#define RMSNORM_CLI_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* All of it, at most limit bytes, with a terminator behind; "-" is standard input. To be freed. A text with a zero byte in it
 * is refused. */
int rmsnorm_cli_file_read(const char *path, size_t limit, char **text, size_t *length);

/* Standard output ("-"), a device or a pipe: what is written there cannot be taken back, and may wait for a reader. */
bool rmsnorm_cli_file_is_stream(const char *path);

/* Refuses a place where nothing can be written, before the work that it is for. */
int rmsnorm_cli_file_check(const char *path);

/* As rmsnorm_bytes_write does; of a file no signal leaves a half. */
int rmsnorm_cli_file_replace(const char *path, const char *text, size_t length);

#endif
