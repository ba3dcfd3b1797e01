/* safetensors.h: the .safetensors format: a length of 8 bytes, a JSON header, the elements of all tensors without
 * gaps. */
#ifndef RMSNORM_GRAPH_SAFETENSORS_H
#define RMSNORM_GRAPH_SAFETENSORS_H

#include <jansson.h>

#include "graph/source.h"

#define RMSNORM_SAFETENSORS_METADATA "__metadata__"

/* One tensor of a header. What it points to belongs to the JSON document. */
typedef struct rmsnorm_safetensors_entry {
    const char *name;
    const char *type; /* "F16" */
    const json_t *shape;
    uint64_t begin, end; /* bytes, from the first one after the header */
} rmsnorm_safetensors_entry;

typedef struct rmsnorm_safetensors_index {
    json_t *document;
    rmsnorm_safetensors_entry *entries; /* in the order of their bytes; together they cover 0 to data_size */
    size_t count;
    uint64_t data_size;
} rmsnorm_safetensors_index;

/* Parses and checks a header: every tensor of it, whichever is wanted later. */
rmsnorm_status rmsnorm_safetensors_parse(const char *file, const char *text, size_t size,
                                         rmsnorm_safetensors_index *index);
void rmsnorm_safetensors_close(rmsnorm_safetensors_index *index);

/* The format's name of an element type, NULL when it has none; and the reverse, RMSNORM_UNDEFINED for types other than
 * the four. */
const char *rmsnorm_safetensors_type(rmsnorm_dtype dtype);
rmsnorm_dtype rmsnorm_safetensors_dtype(const char *type);

/* The tensor called `wanted`, or with NULL the only one. */
rmsnorm_status rmsnorm_safetensors_read(rmsnorm_source *source, const char *wanted, rmsnorm_tensor *tensor,
                                        const char **name);

/* Refuses to replace a regular file that holds more than a tensor of this name, or is of another format. An empty one is
 * replaced, and what is no file (a pipe) is not looked into. */
rmsnorm_status rmsnorm_safetensors_check_replaced(const char *path, const char *name);

/* Everything before the elements of a file that holds this one tensor; `header` is freed with free(). */
rmsnorm_status rmsnorm_safetensors_header_write(const char *file, const rmsnorm_tensor *tensor, const char *name,
                                                uint8_t **header, size_t *size);

#endif
