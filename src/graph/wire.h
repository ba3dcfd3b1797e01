/* wire.h: protobuf messages from untrusted bytes. protobuf-c recurses without a limit and turns two bytes into a
 * hundred; so the bytes are walked along the descriptors first, and memory comes out of a budget. */
#ifndef RMSNORM_GRAPH_WIRE_H
#define RMSNORM_GRAPH_WIRE_H

#include <protobuf-c/protobuf-c.h>

#include "rmsnorm/rmsnorm.h"

/* A subgraph is three messages deeper than its graph (node, attribute, graph), so this allows twenty in each other.
 * protobuf-c needs some 1.2 KiB of stack a message: 80 KiB in all, for threads with small stacks. */
#define RMSNORM_WIRE_DEPTH 64

/* Memory for one unpacked message. Bytes are counted when allocated and not given back, which bounds the peak as
 * well. */
typedef struct rmsnorm_budget {
    size_t limit, used;
    bool exhausted;               /* a request went over the limit */
    ProtobufCAllocator allocator; /* refers to this budget: it must not move */
} rmsnorm_budget;

/* The base plus the factor times the size of the file. The dearest honest file is a graph of nothing but short
 * nodes: it takes 17 bytes for one, most of them this library's view (tests/graph/test_memory.c measures it).
 * int64_data of small numbers takes 8, weights take 1. An empty message takes up to 300 for one. */
#define RMSNORM_BUDGET_BASE ((size_t)64 << 20)
#define RMSNORM_BUDGET_FACTOR 24

void rmsnorm_budget_init(rmsnorm_budget *budget, size_t file_size);
/* Zeroed memory out of the budget, freed with free(); NULL when it is exhausted or the system has none. */
void *rmsnorm_budget_allocate(rmsnorm_budget *budget, size_t count, size_t size);
/* The sentence for a NULL. */
rmsnorm_status rmsnorm_budget_fail(const rmsnorm_budget *budget, const char *file);

/* Whether these may be the first bytes of a message (a ProtobufCMessageDescriptor): the fields in them, as far as they are
 * whole, without the messages inside. */
rmsnorm_status rmsnorm_wire_check_start(const char *file, const void *descriptor, const uint8_t *bytes, size_t size);

/* Where something was left out of a message: before this byte, so many are missing in all. */
typedef struct rmsnorm_wire_cut {
    size_t at;
    uint64_t missing;
} rmsnorm_wire_cut;

/* Sorted; so that a sentence tells the byte of the file. */
typedef struct rmsnorm_wire_cuts {
    const rmsnorm_wire_cut *items;
    size_t count;
} rmsnorm_wire_cuts;

/* "FILE: is no valid ONNX protobuf: byte 7, in GraphProto: what"; descriptor is a ProtobufCMessageDescriptor. */
rmsnorm_status rmsnorm_wire_fail(const char *file, const void *descriptor, uint64_t place, const char *what);

/* Walks the message and all messages in it, then unpacks it. Refused, with the byte where it stands: lengths beyond
 * the enclosing message, unended numbers, a wire type that does not fit the field, groups, deep nesting; a field that
 * occurs twice where one is meant (protobuf would merge the two, in quadratic time, and no writer relies on it); and
 * names that are not UTF-8 or hold a NUL (doc_string is exempt: it names nothing). cuts may be
 * NULL. Free with protobuf_c_message_free_unpacked(message, &budget->allocator). */
rmsnorm_status rmsnorm_wire_unpack(const char *file, const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                                   size_t size, const rmsnorm_wire_cuts *cuts, rmsnorm_budget *budget,
                                   ProtobufCMessage **message);

#endif
