/* tensor_proto.h: ONNX TensorProto and tensors. */
#ifndef RMSNORM_GRAPH_TENSOR_PROTO_H
#define RMSNORM_GRAPH_TENSOR_PROTO_H

#include "graph/external.h"
#include "graph/source.h"

#include "onnx.pb-c.h"

/* The tensor of a message, in new memory that holds name too. A TensorProto of an element type other than the four is
 * refused; with any_type int32 and int64 are read as well, and the others give a descriptor: type and shape, NULL data.
 * Elements in another file are read from there; external NULL: they are refused. `where` ("x.onnx: initializer "w"") begins
 * every sentence. */
rmsnorm_status rmsnorm_tensor_proto_convert(const char *where, const Onnx__TensorProto *proto, bool any_type,
                                            rmsnorm_external *external, rmsnorm_tensor *tensor, const char **name);

/* A .pb file. */
rmsnorm_status rmsnorm_tensor_proto_read(rmsnorm_source *source, rmsnorm_tensor *tensor, const char **name);

/* Everything before the elements, which then end the file as its raw_data; `header` is freed with free(). */
rmsnorm_status rmsnorm_tensor_proto_header_write(const char *file, const rmsnorm_tensor *tensor, const char *name,
                                                 uint8_t **header, size_t *size);

#endif
