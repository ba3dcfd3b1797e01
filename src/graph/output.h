/* output.h: files that are complete or not there at all. */
#ifndef RMSNORM_GRAPH_OUTPUT_H
#define RMSNORM_GRAPH_OUTPUT_H

#include "rmsnorm/rmsnorm.h"

/* Writes all of the content to a descriptor that was opened for it; path is for sentences. */
typedef rmsnorm_status (*rmsnorm_output_writer)(void *content, int descriptor, const char *path);

/* Writes to path ("-": standard output). A regular file is written beside its place and renamed into it, so that a reader
 * or a crash never sees half of it; its permissions are those of the file it replaces, and a symbolic link stays one. What
 * is no regular file (a device, a pipe) is written to. */
rmsnorm_status rmsnorm_output_make(const char *path, rmsnorm_output_writer writer, void *content);

/* The same for a file that is only made where there is none: RMSNORM_INVALID_ARGUMENT when there is one, which stays as it
 * is. */
rmsnorm_status rmsnorm_output_make_new(const char *path, rmsnorm_output_writer writer, void *content);

/* "PATH: cannot be written: ..." by errno. */
rmsnorm_status rmsnorm_output_fail(const char *path);

/* The header and then the tensor's elements, little-endian and without gaps. */
rmsnorm_status rmsnorm_output_write(const char *path, const uint8_t *header, size_t header_size,
                                    const rmsnorm_tensor *tensor);

#endif
