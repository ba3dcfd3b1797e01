/* file.h: open files: which one it is, and bytes from one into another. */
#ifndef RMSNORM_GRAPH_FILE_H
#define RMSNORM_GRAPH_FILE_H

#include "rmsnorm/rmsnorm.h"

typedef struct rmsnorm_file_mark {
    uint64_t device, number; /* which one it is, whatever its names */
    uint64_t size;
    int64_t seconds, nanoseconds; /* when it was written to last */
    bool regular;
} rmsnorm_file_mark;

/* False: errno tells. */
bool rmsnorm_file_mark_open(int descriptor, rmsnorm_file_mark *mark);
bool rmsnorm_file_mark_named(const char *path, rmsnorm_file_mark *mark);

bool rmsnorm_file_is_same(const rmsnorm_file_mark *left, const rmsnorm_file_mark *right);

/* What a call of the system that set errno to this becomes. */
rmsnorm_status rmsnorm_file_status(int error);

/* All of these bytes, or false: errno tells. */
bool rmsnorm_file_write(int descriptor, const uint8_t *bytes, size_t size);

typedef enum rmsnorm_file_copied {
    RMSNORM_FILE_COPIED,
    RMSNORM_FILE_ENDED,      /* the first file ends too early */
    RMSNORM_FILE_UNREADABLE, /* errno tells */
    RMSNORM_FILE_UNWRITABLE  /* errno tells */
} rmsnorm_file_copied;

/* Copies bytes to where the second file is being written, through the kernel where it can (which on some file systems shares
 * them), else through a small buffer. */
rmsnorm_file_copied rmsnorm_file_copy(int from, uint64_t at, int to, uint64_t size);

/* Where the next bytes that are no hole begin, at most `size`; regular files only. */
uint64_t rmsnorm_file_skip_hole(int descriptor, uint64_t at, uint64_t size);

#endif
