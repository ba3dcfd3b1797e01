/* output.h: tensors to files: complete or not at all. */
#ifndef RMSNORM_GRAPH_OUTPUT_H
#define RMSNORM_GRAPH_OUTPUT_H

#include "rmsnorm/rmsnorm.h"

/* Writes the header and then the tensor's elements, little-endian and without gaps, to path ("-": standard output). A
 * regular file is written beside its place and renamed into it, so that a reader or a crash never sees half of it; its
 * permissions are those of the file it replaces, and a symbolic link stays one. What is no regular file (a device, a
 * pipe) is written to. */
rmsnorm_status rmsnorm_output_write(const char *path, const uint8_t *header, size_t header_size,
                                    const rmsnorm_tensor *tensor);

#endif
