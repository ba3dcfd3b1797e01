/* slim.h: a message without its weight: what a model says, small enough for memory whatever its tensors hold. */
#ifndef RMSNORM_GRAPH_SLIM_H
#define RMSNORM_GRAPH_SLIM_H

#include "graph/input.h"
#include "graph/wire.h"

/* A tensor of at most this many bytes keeps its elements. */
#define RMSNORM_SMALL_TENSOR 256

typedef struct rmsnorm_slim {
    uint8_t *bytes;
    size_t size, capacity;
    rmsnorm_wire_cut *cuts;
    size_t cut_count, cut_capacity;
} rmsnorm_slim;

/* The input's message (of a ProtobufCMessageDescriptor) again, smaller: of tensors, the elements beyond what
 * RMSNORM_SMALL_TENSOR may take are left out, and everywhere long bytes, doc strings and unknown fields are made empty.
 * All else is as it was, so that its checks are those of the whole. */
rmsnorm_status rmsnorm_slim_make(rmsnorm_slim *slim, const rmsnorm_input *input, const void *descriptor);
void rmsnorm_slim_release(rmsnorm_slim *slim);

#endif
