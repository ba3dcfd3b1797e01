/* support.h: what the tests of src/graph share: a scratch directory, files made byte by byte, protobuf written by
 * hand (so that the reader is not tested against its own library), and refusals. */
#ifndef RMSNORM_TESTS_GRAPH_SUPPORT_H
#define RMSNORM_TESTS_GRAPH_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rmsnorm/graph.h"

/* Group fixtures: a new empty directory, removed with what is in it. */
int make_directory(void **state);
int remove_directory(void **state);

/* NAME in that directory; each of the last 8 results stays valid. */
const char *path_of(const char *name);

/* Entries of the directory, to see that nothing is left behind. */
size_t directory_count(void);

typedef struct bytes {
    uint8_t *data;
    size_t size, capacity;
} bytes;

void put(bytes *to, const void *data, size_t size);
void put_text(bytes *to, const char *text);
void put_little(bytes *to, uint64_t value, size_t size);
void release(bytes *of);

void save(const char *path, const bytes *content);
bytes load(const char *path);

/* Protobuf, field by field. */
void put_varint(bytes *to, uint64_t value);
void field_varint(bytes *to, unsigned field, uint64_t value);
void field_float(bytes *to, unsigned field, float value);
void field_bytes(bytes *to, unsigned field, const void *data, size_t size);
void field_text(bytes *to, unsigned field, const char *text);
void field_message(bytes *to, unsigned field, bytes *message); /* releases message */

/* A .npy file, version 1.0, with this dict. */
bytes npy_file(const char *dict, const void *data, size_t size);
/* A .safetensors file with this header. */
bytes safetensors_file(const char *header, const void *data, size_t size);
/* A TensorProto with raw_data. */
bytes tensor_message(const char *name, int32_t type, const int64_t *dims, size_t rank, const void *data, size_t size);

/* Readers on memory, called "FILE" in sentences. */
rmsnorm_status read_npy(const bytes *content, rmsnorm_tensor *tensor);
rmsnorm_status read_npy_bfloat16(const bytes *content, rmsnorm_tensor *tensor);
rmsnorm_status read_pb(const bytes *content, rmsnorm_tensor *tensor);
rmsnorm_status read_safetensors(const bytes *content, const char *wanted, rmsnorm_tensor *tensor);
rmsnorm_status read_model(const bytes *content, rmsnorm_model **model);

/* The status, and a sentence that holds the part and is one line. */
void expect_refusal(rmsnorm_status got, rmsnorm_status wanted, const char *part);

void expect_tensor(const rmsnorm_tensor *tensor, rmsnorm_dtype dtype, const int64_t *dims, int32_t rank,
                   const void *data, size_t size);

#endif
