/* onnx_write.h: a message into a file, piece by piece, with holes where weights are zero. */
#ifndef RMSNORM_TESTS_DECODER_ONNX_WRITE_H
#define RMSNORM_TESTS_DECODER_ONNX_WRITE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "onnx.pb-c.h"

/* What raw data of zeros points to, whatever its length: it is never read. */
extern uint8_t onnx_hole[1];

/* false: errno says why not. */
bool onnx_write(const Onnx__ModelProto *model, const char *path);

/* Closes; a file that ends in a hole gets its length. */
bool onnx_write_end(FILE *stream, int64_t size);

#endif
