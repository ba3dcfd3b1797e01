/* pieces.h: a file that is to be written, as what it is put together from: spans of the file it was, and new bytes. */
#ifndef RMSNORM_GRAPH_PIECES_H
#define RMSNORM_GRAPH_PIECES_H

#include "operator/arena.h"

#include <protobuf-c/protobuf-c.h>

typedef struct rmsnorm_piece {
    const uint8_t *memory; /* NULL: a span of the input */
    uint64_t at, size;     /* at: of a span */
} rmsnorm_piece;

typedef struct rmsnorm_pieces {
    rmsnorm_arena arena; /* of the new bytes */
    rmsnorm_piece *items;
    size_t count, capacity;
    uint64_t size; /* of all */
} rmsnorm_pieces;

void rmsnorm_pieces_init(rmsnorm_pieces *pieces);
void rmsnorm_pieces_release(rmsnorm_pieces *pieces);

/* A span of the input, from a place to another. */
rmsnorm_status rmsnorm_pieces_keep(rmsnorm_pieces *pieces, uint64_t at, uint64_t end);

/* A field that holds a number. */
rmsnorm_status rmsnorm_pieces_number(rmsnorm_pieces *pieces, unsigned field, uint64_t number);

/* A field that holds a new message. */
rmsnorm_status rmsnorm_pieces_message(rmsnorm_pieces *pieces, unsigned field, const ProtobufCMessage *message);

/* A field that holds a message of pieces: those between begin and end. */
typedef struct rmsnorm_pieces_mark {
    size_t piece;
    uint64_t size;
    uint8_t *memory;
    size_t used;
} rmsnorm_pieces_mark;
rmsnorm_status rmsnorm_pieces_begin(rmsnorm_pieces *pieces, unsigned field, rmsnorm_pieces_mark *mark);
void rmsnorm_pieces_end(rmsnorm_pieces *pieces, const rmsnorm_pieces_mark *mark);

#endif
