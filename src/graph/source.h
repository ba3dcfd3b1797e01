/* source.h: bytes to read: a file, a stream (pipe, terminal, standard input) or memory. Every read names what it was
 * for, so that a short file is reported as what is missing from it. No allocation exceeds what the file really holds,
 * or, for a stream, twice what it has delivered. */
#ifndef RMSNORM_GRAPH_SOURCE_H
#define RMSNORM_GRAPH_SOURCE_H

#include "rmsnorm/rmsnorm.h"

/* No reader takes more from one file: a sparse file costs its writer nothing and would cost the reader all its
 * memory. */
#define RMSNORM_FILE_LIMIT ((uint64_t)1 << 36)

/* A serialized protobuf message never is larger: its lengths are signed 32-bit numbers. */
#define RMSNORM_PROTOBUF_LIMIT ((uint64_t)INT32_MAX)

typedef struct rmsnorm_source {
    const char *file;      /* for sentences */
    int descriptor;        /* -1: memory */
    bool owned;            /* close the descriptor */
    const uint8_t *memory; /* the bytes that follow, when descriptor is -1 */
    bool sized;            /* size is known; a stream has none */
    uint64_t size;         /* bytes in all */
    uint64_t position;
    uint8_t head[8]; /* read already by rmsnorm_source_peek */
    size_t head_size;
} rmsnorm_source;

/* "-" is standard input. A directory is refused. path must outlive the source. */
rmsnorm_status rmsnorm_source_open(rmsnorm_source *source, const char *path);
rmsnorm_source rmsnorm_source_memory(const char *file, const void *bytes, size_t size);
void rmsnorm_source_close(rmsnorm_source *source);

/* The next bytes, at most 8 and fewer at the end, without consuming them. */
rmsnorm_status rmsnorm_source_peek(rmsnorm_source *source, size_t wanted, const uint8_t **head, size_t *size);

/* Exactly size bytes; `what` ("the header") is what the sentence says they belong to. */
rmsnorm_status rmsnorm_source_read(rmsnorm_source *source, void *to, size_t size, const char *what);
rmsnorm_status rmsnorm_source_skip(rmsnorm_source *source, uint64_t size, const char *what);

/* The same into new memory, freed with free(); one NUL follows the bytes. */
rmsnorm_status rmsnorm_source_take(rmsnorm_source *source, uint64_t size, const char *what, uint8_t **bytes);

/* What a stream must look like to be read on: asked with all that has come so far, each time the memory for it is to
 * grow, so that an endless stream of something else is refused early. */
typedef struct rmsnorm_source_form {
    rmsnorm_status (*check)(const char *file, const void *format, const uint8_t *bytes, size_t size);
    const void *format;
} rmsnorm_source_form;

/* All that is left, at most limit bytes. form may be NULL. */
rmsnorm_status rmsnorm_source_rest(rmsnorm_source *source, uint64_t limit, const rmsnorm_source_form *form,
                                   uint8_t **bytes, size_t *size);

/* Nothing may be left. */
rmsnorm_status rmsnorm_source_end(rmsnorm_source *source, const char *what);

/* Reads the elements of a shaped tensor, converts their byte order, and gives the tensor new memory that holds name
 * too. */
rmsnorm_status rmsnorm_source_elements(rmsnorm_source *source, rmsnorm_tensor *tensor, bool big_endian,
                                       const char *name, const char **name_copy);

#endif
