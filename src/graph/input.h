/* input.h: the bytes of a model that stay where they are. A regular file is read where and when it is needed, never mapped: one
 * that becomes shorter meanwhile gives a sentence, not a signal. A stream is kept in memory. */
#ifndef RMSNORM_GRAPH_INPUT_H
#define RMSNORM_GRAPH_INPUT_H

#include "graph/file.h"
#include "graph/source.h"

typedef struct rmsnorm_input {
    const char *file; /* for sentences */
    int descriptor;   /* -1: memory */
    bool owned;       /* close the descriptor */
    uint64_t start;   /* of the descriptor's file, where the bytes begin */
    uint8_t *memory;
    uint64_t size;
    rmsnorm_file_mark opened; /* of a file, as it was found */
} rmsnorm_input;

/* Takes over what the source has, which is an ONNX model of at most RMSNORM_PROTOBUF_LIMIT bytes; close the source all the
 * same. */
rmsnorm_status rmsnorm_input_take(rmsnorm_input *input, rmsnorm_source *source);
void rmsnorm_input_close(rmsnorm_input *input);

/* Exactly these bytes. */
rmsnorm_status rmsnorm_input_read(const rmsnorm_input *input, uint64_t at, void *to, size_t size);

/* A file that somebody has written to is not what was opened. */
rmsnorm_status rmsnorm_input_check_unchanged(const rmsnorm_input *input);

/* What has been read last, for reading in small steps. */
typedef struct rmsnorm_window {
    const rmsnorm_input *input;
    uint64_t start;
    size_t size;
    uint8_t bytes[1 << 14];
} rmsnorm_window;

/* `wanted` bytes (at most 4096) at a place, fewer where the input ends. Valid until the next call. */
rmsnorm_status rmsnorm_window_look(rmsnorm_window *window, uint64_t at, size_t wanted, const uint8_t **bytes,
                                   size_t *size);

/* One field of a message, as places in the input. */
typedef struct rmsnorm_field {
    unsigned number, wire_type; /* wire_type is a ProtobufCWireType */
    uint64_t start;             /* of the tag */
    uint64_t length;            /* of the length, for a delimited one, else of the content */
    uint64_t content, end;
} rmsnorm_field;

/* The field that begins at a place in a message (of a ProtobufCMessageDescriptor) that ends at another. */
rmsnorm_status rmsnorm_field_read(rmsnorm_window *window, const void *descriptor, uint64_t at, uint64_t end,
                                  rmsnorm_field *field);

#endif
