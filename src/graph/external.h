/* external.h: elements of tensors that are kept in files beside the model. Where those files are is said by the model, which
 * is untrusted: a location is relative, has no "..", and what it leads to, symbolic links followed, is a regular file in or
 * below the folder the model was named in, or the folder it really lies in where its name is a link itself (which is how
 * caches of downloads keep both). Files are read, not mapped: one that becomes shorter gives a sentence, not a signal. */
#ifndef RMSNORM_GRAPH_EXTERNAL_H
#define RMSNORM_GRAPH_EXTERNAL_H

#include "graph/file.h"

#include "onnx.pb-c.h"

typedef struct rmsnorm_external_file {
    int descriptor;
    rmsnorm_file_mark mark;
} rmsnorm_external_file;

typedef struct rmsnorm_external {
    char *folders[2];           /* resolved; NULL: a stream, which is in no folder */
    char *location;             /* of the file opened last, NULL: none */
    rmsnorm_external_file file; /* it */
    rmsnorm_file_mark *seen;    /* files that count for the allowance */
    size_t seen_count, seen_capacity;
    uint64_t allowance; /* bytes that may still be read: a small model cannot ask for the same data a thousand times */
} rmsnorm_external;

/* path of the model; "-" or NULL: a stream. */
rmsnorm_status rmsnorm_external_init(rmsnorm_external *external, const char *path);
void rmsnorm_external_release(rmsnorm_external *external);

/* Whether the elements of a tensor are elsewhere. */
bool rmsnorm_external_has(const Onnx__TensorProto *proto);

/* The location a tensor gives, checked as far as its text goes. `where` begins every sentence. */
rmsnorm_status rmsnorm_external_location(const char *where, const Onnx__TensorProto *proto, const char **location);

/* The file at a location, which stays the external's and is valid until another is opened. */
rmsnorm_status rmsnorm_external_open(rmsnorm_external *external, const char *where, const char *location,
                                     const rmsnorm_external_file **file);

/* Where a tensor's elements are, checked against the size of the file. `needed`: the bytes that shape and type ask for;
 * UINT64_MAX: not known. */
rmsnorm_status rmsnorm_external_check(rmsnorm_external *external, const char *where, const Onnx__TensorProto *proto,
                                      uint64_t needed);

/* Checks, and reads as many bytes as are needed into new memory with room for `spare` more. */
rmsnorm_status rmsnorm_external_read(rmsnorm_external *external, const char *where, const Onnx__TensorProto *proto,
                                     uint64_t needed, size_t spare, uint8_t **bytes);

/* Bits an element of an ONNX type takes in a file; 0: not known. */
unsigned rmsnorm_external_bits(int32_t data_type);

#endif
