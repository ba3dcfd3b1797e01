/* bytes.h: what every file format here needs: byte order, text, shapes and tensor memory. */
#ifndef RMSNORM_GRAPH_BYTES_H
#define RMSNORM_GRAPH_BYTES_H

#include "rmsnorm/rmsnorm.h"

/* Turns `count` items of `item` bytes from the order of a file into the order of this host, or back. */
void rmsnorm_bytes_reorder(void *data, size_t count, size_t item, bool file_is_big_endian);

/* Whether rmsnorm_bytes_reorder changes anything. */
bool rmsnorm_bytes_differ(size_t item, bool file_is_big_endian);

/* A little-endian number of `size` bytes, at most 8. */
uint64_t rmsnorm_bytes_load(const uint8_t *bytes, size_t size);
void rmsnorm_bytes_store(uint8_t *bytes, size_t size, uint64_t value);

/* Whether the text is UTF-8 as RFC 3629 has it (no surrogates, no overlong forms) and holds no NUL, so that the C
 * string made of it is the whole of it. */
bool rmsnorm_text_valid(const uint8_t *text, size_t size);

/* How a file is called in sentences: its path, from the left cut to what leaves room for the rest of the sentence. */
const char *rmsnorm_file_display(const char *path);

/* Untrusted names in sentences are cut, so that the sentence survives them. */
#define RMSNORM_NAME "%.160s"

/* Gives the tensor a type and a numeric shape. A negative dim, a rank above RMSNORM_MAX_RANK or a count that does not
 * fit is RMSNORM_MALFORMED; the sentence begins with `where`, which names the file and the tensor. */
rmsnorm_status rmsnorm_shape_set(rmsnorm_tensor *tensor, const char *where, rmsnorm_dtype dtype, size_t rank,
                                 const int64_t *dims);

/* 64-byte aligned, never NULL for want of bytes, freed with free(). NULL: out of memory. */
void *rmsnorm_memory_aligned(size_t size);

/* What every reader says when memory is short. */
rmsnorm_status rmsnorm_fail_memory(const char *where, uint64_t bytes);

#endif
