#include "graph/pieces.h"

#include "operator/error.h"

#include <stdlib.h>

/* A tag and a number, of at most ten bytes each. */
#define HEAD_SIZE ((size_t)20)

void rmsnorm_pieces_init(rmsnorm_pieces *pieces)
{
    *pieces = (rmsnorm_pieces){.items = NULL};
    rmsnorm_arena_init(&pieces->arena, SIZE_MAX);
}

void rmsnorm_pieces_release(rmsnorm_pieces *pieces)
{
    rmsnorm_arena_release(&pieces->arena);
    free(pieces->items);
    *pieces = (rmsnorm_pieces){.items = NULL};
}

static rmsnorm_status add(rmsnorm_pieces *pieces, rmsnorm_piece piece)
{
    if (pieces->count == pieces->capacity) {
        const size_t larger = 2 * pieces->capacity + 64;
        rmsnorm_piece *const items = realloc(pieces->items, larger * sizeof *items);
        RMSNORM_CHECK(items != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for %zu bytes", larger * sizeof *items);
        pieces->items = items;
        pieces->capacity = larger;
    }
    pieces->items[pieces->count++] = piece;
    pieces->size += piece.size;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_pieces_keep(rmsnorm_pieces *pieces, uint64_t at, uint64_t end)
{
    rmsnorm_piece *const last = pieces->count > 0 ? &pieces->items[pieces->count - 1] : NULL;
    if (last != NULL && last->memory == NULL && last->at + last->size == at) {
        last->size += end - at;
        pieces->size += end - at;
        return RMSNORM_OK;
    }
    return add(pieces, (rmsnorm_piece){NULL, at, end - at});
}

static size_t put_number(uint8_t *to, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        to[size++] = (uint8_t)(value | 0x80);
    }
    to[size++] = (uint8_t)value;
    return size;
}

rmsnorm_status rmsnorm_pieces_number(rmsnorm_pieces *pieces, unsigned field, uint64_t number)
{
    uint8_t *const memory = rmsnorm_arena_allocate(&pieces->arena, HEAD_SIZE);
    if (memory == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    size_t size = put_number(memory, (uint64_t)field << 3 | PROTOBUF_C_WIRE_TYPE_VARINT);
    size += put_number(memory + size, number);
    return add(pieces, (rmsnorm_piece){memory, 0, size});
}

rmsnorm_status rmsnorm_pieces_message(rmsnorm_pieces *pieces, unsigned field, const ProtobufCMessage *message)
{
    const size_t packed = protobuf_c_message_get_packed_size(message);
    uint8_t *const memory = rmsnorm_arena_allocate(&pieces->arena, packed + HEAD_SIZE);
    if (memory == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    size_t size = put_number(memory, (uint64_t)field << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    size += put_number(memory + size, packed);
    size += protobuf_c_message_pack(message, memory + size);
    return add(pieces, (rmsnorm_piece){memory, 0, size});
}

rmsnorm_status rmsnorm_pieces_begin(rmsnorm_pieces *pieces, unsigned field, rmsnorm_pieces_mark *mark)
{
    uint8_t *const memory = rmsnorm_arena_allocate(&pieces->arena, HEAD_SIZE);
    if (memory == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t used = put_number(memory, (uint64_t)field << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);
    *mark = (rmsnorm_pieces_mark){pieces->count, pieces->size, memory, used};
    return add(pieces, (rmsnorm_piece){memory, 0, 0});
}

void rmsnorm_pieces_end(rmsnorm_pieces *pieces, const rmsnorm_pieces_mark *mark)
{
    const size_t size = mark->used + put_number(mark->memory + mark->used, pieces->size - mark->size);
    pieces->items[mark->piece].size = size;
    pieces->size += size;
}
