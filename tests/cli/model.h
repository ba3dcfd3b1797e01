/* model.h: small ONNX files, field by field: the tests' own encoder, so that reader and test do not share a mistake. */
#ifndef RMSNORM_TESTS_CLI_MODEL_H
#define RMSNORM_TESTS_CLI_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "rmsnorm/rmsnorm.h"

typedef struct message {
    unsigned char bytes[1 << 16];
    size_t size;
} message;

typedef struct model {
    message graph;
} model;

void model_begin(model *self);
/* dims: "2,S,?"; "" is a scalar, NULL an unknown rank. */
void model_input(model *self, const char *name, int dtype, const char *dims);
void model_output(model *self, const char *name, int dtype, const char *dims);
void model_initializer(model *self, const char *name, const char *dims, const float *values);
/* Initializer of another type, of zeros. */
void model_foreign_initializer(model *self, const char *name, int dtype, size_t item_size, const char *dims);
void model_integers(model *self, const char *name, const char *dims, const int64_t *values);
/* inputs and outputs: "X,,scale"; attributes: "epsilon=0.5 axis=1 axes=[0,-1]" (a value with '.' is of floats). domain may be
 * "". */
void model_node(model *self, const char *name, const char *domain, const char *op_type, const char *inputs,
                const char *outputs, const char *attributes);
void model_constant(model *self, const char *name, const char *output, const char *dims, const float *values);
/* A node of ai.onnx with a tensor as its attribute "value". values NULL: zeros. */
void model_value_node(model *self, const char *name, const char *op_type, const char *inputs, const char *output,
                      int dtype, size_t item_size, const char *dims, const void *values);
/* Opsets: ai.onnx `opset`, com.microsoft 1. */
void model_write(const model *self, int opset, const char *path);

#endif
