/* npy.h: NumPy's .npy format (NEP 1): magic, version, header length, a Python dict literal, elements. */
#ifndef RMSNORM_GRAPH_NPY_H
#define RMSNORM_GRAPH_NPY_H

#include "graph/source.h"

/* What the dict says. */
typedef struct rmsnorm_npy_header {
    char descr[16]; /* "<f4" */
    bool fortran_order;
    size_t rank;
    int64_t dims[RMSNORM_MAX_RANK];
} rmsnorm_npy_header;

/* Parses the dict alone; `size` bytes, not terminated. */
rmsnorm_status rmsnorm_npy_parse(const char *file, const char *text, size_t size, rmsnorm_npy_header *header);

rmsnorm_status rmsnorm_npy_read(rmsnorm_source *source, bool bfloat16, rmsnorm_tensor *tensor, const char **name);

/* Everything before the elements, at most 65535 + 10 bytes and in practice 128 or 192; `header` is freed with
 * free(). */
rmsnorm_status rmsnorm_npy_header_write(const char *file, bool bfloat16, const rmsnorm_tensor *tensor, uint8_t **header,
                                        size_t *size);

#endif
