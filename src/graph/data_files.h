/* data_files.h: the files a model keeps tensors in, brought to where the model is written. */
#ifndef RMSNORM_GRAPH_DATA_FILES_H
#define RMSNORM_GRAPH_DATA_FILES_H

#include "graph/document.h"

/* Bytes done and in all, told on as they change. */
typedef struct rmsnorm_advance {
    bool (*report)(void *user, uint64_t done, uint64_t total); /* may be NULL */
    void *user;
    uint64_t done, total;
} rmsnorm_advance;
/* RMSNORM_CANCELLED when the one who is told wants no more; path is for the sentence. */
rmsnorm_status rmsnorm_advance_by(rmsnorm_advance *advance, uint64_t bytes, const char *path);

typedef struct rmsnorm_data_move {
    rmsnorm_document *document;
    rmsnorm_data_files mode;
    char *target;  /* the folder of the file that is written, resolved; NULL: there is nothing to bring */
    bool *missing; /* by location: to be made */
    char **made;   /* paths, files before their folders are needed no more, to take back */
    size_t made_count, made_capacity;
    uint64_t bytes; /* to be copied */
} rmsnorm_data_move;

/* Looks at what is there and refuses what must not be replaced; nothing is written. Release in any case. */
rmsnorm_status rmsnorm_data_move_plan(rmsnorm_data_move *move, rmsnorm_document *document, const char *path,
                                      rmsnorm_data_files mode);
rmsnorm_status rmsnorm_data_move_make(rmsnorm_data_move *move, const char *path, rmsnorm_advance *advance);
/* Takes back what was made. */
void rmsnorm_data_move_undo(rmsnorm_data_move *move);
void rmsnorm_data_move_release(rmsnorm_data_move *move);

#endif
