/* onnx_file.h: an ONNX model made node by node, and its file, with the weights inside or in a file beside it.
 *
 * A failure of a file is kept until onnx_file_save, which tells it; until then every call may be made. */
#ifndef RMSNORM_TESTS_DECODER_ONNX_FILE_H
#define RMSNORM_TESTS_DECODER_ONNX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rmsnorm/rmsnorm.h"

/* An element type beyond the library's own, by ONNX's number. */
#define ONNX_INT64 7

/* Dims that have a name. */
enum { ONNX_BATCH = -1, ONNX_SEQUENCE = -2 };
#define ONNX_BATCH_NAME "batch_size"
#define ONNX_SEQUENCE_NAME "sequence_length"

typedef struct onnx_value {
    const char *name;
    int32_t dtype; /* as ONNX counts */
    size_t rank;
    int64_t dims[4];
} onnx_value;

typedef struct onnx_file onnx_file;

typedef struct onnx_file_options {
    int64_t opset;
    const char
        *external;   /* a path: weights of 1024 bytes and more go there, at multiples of 4096; NULL: into the model */
    bool value_info; /* every value between nodes is declared */
    bool random;     /* weights are; else zero, and holes in the file where it can have some */
    uint64_t seed;
} onnx_file_options;

onnx_file *onnx_file_begin(const onnx_file_options *options);

/* The scope, "/model/layers.0", is that of the nodes that follow. */
void onnx_file_scope(onnx_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));

onnx_value onnx_file_input(onnx_file *file, const char *name, const onnx_value *type);

/* An initializer; its values are centre + spread * u, with u uniform in [-1, 1). */
onnx_value onnx_file_weight(onnx_file *file, const char *name, const onnx_value *type, double centre, double spread);
/* An initializer with these elements, kept in the model. */
onnx_value onnx_file_integers(onnx_file *file, const char *name, const int64_t *values, size_t count);
/* A Constant node; a scalar of a float type. */
onnx_value onnx_file_scalar(onnx_file *file, int32_t dtype, double value);

/* A node named after its scope and kind, as the output is, of the given type and shape. */
typedef struct onnx_node onnx_node;
onnx_node *onnx_file_node(onnx_file *file, const char *kind, const onnx_value *first, const onnx_value *second,
                          const onnx_value *type, onnx_value *output);
/* One input more; an output in a later slot, those before it omitted; the domain, which the model then imports in version 1. */
void onnx_node_input(onnx_file *file, onnx_node *node, const onnx_value *input);
onnx_value onnx_node_output(onnx_file *file, onnx_node *node, size_t slot, const onnx_value *type);
void onnx_node_domain(onnx_file *file, onnx_node *node, const char *domain);
void onnx_node_int(onnx_file *file, onnx_node *node, const char *name, int64_t value);
void onnx_node_ints(onnx_file *file, onnx_node *node, const char *name, const int64_t *values, size_t count);

/* The output of the last node becomes one of the graph, under this name. */
void onnx_file_output(onnx_file *file, const char *name);

typedef struct onnx_file_size {
    int64_t nodes, weights, weight_bytes;
} onnx_file_size;

/* Writes the model and frees. false: a sentence is in `why`. */
bool onnx_file_save(onnx_file *file, const char *path, onnx_file_size *size, char why[256]);

#endif
