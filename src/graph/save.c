#include "graph/bytes.h"
#include "graph/data_files.h"
#include "graph/edit.h"
#include "graph/output.h"
#include "operator/error.h"

#include <errno.h>
#include <string.h>

/* Small pieces are gathered to this size; larger spans go from file to file, in steps of which each is reported. */
enum { GATHERED = 1 << 14 };
#define STEP ((uint64_t)64 << 20)

typedef struct saving {
    const rmsnorm_input *input;
    const rmsnorm_pieces *pieces;
    rmsnorm_advance advance;
    int descriptor;
    const char *path;
    size_t used;
    uint8_t gathered[GATHERED];
} saving;

static rmsnorm_status flush(saving *s)
{
    if (!rmsnorm_file_write(s->descriptor, s->gathered, s->used)) {
        return rmsnorm_output_fail(s->path);
    }
    const size_t written = s->used;
    s->used = 0;
    return rmsnorm_advance_by(&s->advance, written, s->path);
}

static rmsnorm_status write_memory(saving *s, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t done = 0; done < size;) {
        const uint64_t step = size - done < STEP ? size - done : STEP;
        if (!rmsnorm_file_write(s->descriptor, bytes + done, (size_t)step)) {
            return rmsnorm_output_fail(s->path);
        }
        RMSNORM_TRY(rmsnorm_advance_by(&s->advance, step, s->path));
        done += step;
    }
    return RMSNORM_OK;
}

static rmsnorm_status write_span(saving *s, uint64_t at, uint64_t size)
{
    if (s->input->descriptor < 0) {
        return write_memory(s, s->input->memory + at, size);
    }
    for (uint64_t done = 0; done < size;) {
        const uint64_t step = size - done < STEP ? size - done : STEP;
        switch (rmsnorm_file_copy(s->input->descriptor, s->input->start + at + done, s->descriptor, step)) {
        case RMSNORM_FILE_COPIED:
            break;
        case RMSNORM_FILE_UNWRITABLE:
            return rmsnorm_output_fail(s->path);
        case RMSNORM_FILE_ENDED:
            return rmsnorm_fail(RMSNORM_IO, "%s: has become shorter since it was opened", s->input->file);
        default:
            return rmsnorm_fail(RMSNORM_IO, "%s: cannot be read: %s", s->input->file, strerror(errno));
        }
        RMSNORM_TRY(rmsnorm_advance_by(&s->advance, step, s->path));
        done += step;
    }
    return RMSNORM_OK;
}

static rmsnorm_status write_piece(saving *s, const rmsnorm_piece *piece)
{
    if (piece->size > GATHERED - s->used) {
        RMSNORM_TRY(flush(s));
    }
    if (piece->size > GATHERED) {
        return piece->memory != NULL ? write_memory(s, piece->memory, piece->size)
                                     : write_span(s, piece->at, piece->size);
    }
    if (piece->memory != NULL) {
        memcpy(s->gathered + s->used, piece->memory, (size_t)piece->size);
    } else {
        RMSNORM_TRY(rmsnorm_input_read(s->input, piece->at, s->gathered + s->used, (size_t)piece->size));
    }
    s->used += (size_t)piece->size;
    return RMSNORM_OK;
}

static rmsnorm_status write_pieces(void *content, int descriptor, const char *path)
{
    saving *const s = content;
    s->descriptor = descriptor;
    s->path = path;
    s->used = 0;
    for (size_t i = 0; i < s->pieces->count; i++) {
        RMSNORM_TRY(write_piece(s, &s->pieces->items[i]));
    }
    RMSNORM_TRY(flush(s));
    return rmsnorm_input_check_unchanged(s->input);
}

static rmsnorm_status read_options(const rmsnorm_document_save_options *options, const char *file,
                                   rmsnorm_document_save_options *ours)
{
    if (options != NULL) {
        RMSNORM_CHECK(options->struct_size >= sizeof options->struct_size, RMSNORM_INVALID_ARGUMENT,
                      "%s: options.struct_size is %zu; allowed: sizeof(rmsnorm_document_save_options): start from "
                      "RMSNORM_DOCUMENT_SAVE_OPTIONS_INIT",
                      file, options->struct_size);
        memcpy(ours, options, options->struct_size < sizeof *ours ? options->struct_size : sizeof *ours);
    }
    RMSNORM_CHECK(ours->data_files == RMSNORM_DATA_FILES_COPY || ours->data_files == RMSNORM_DATA_FILES_LINK ||
                      ours->data_files == RMSNORM_DATA_FILES_LEAVE,
                  RMSNORM_INVALID_ARGUMENT, "%s: options.data_files is none of COPY, LINK and LEAVE", file);
    return RMSNORM_OK;
}

static rmsnorm_status save(rmsnorm_document *document, const char *path, const rmsnorm_document_save_options *options,
                           const rmsnorm_pieces *pieces, rmsnorm_data_move *move)
{
    RMSNORM_TRY(rmsnorm_data_move_plan(move, document, path, options->data_files));
    saving s = {.input = &document->input, .pieces = pieces};
    s.advance = (rmsnorm_advance){options->progress, options->user, 0, pieces->size + move->bytes};
    RMSNORM_TRY(rmsnorm_data_move_make(move, path, &s.advance));
    return rmsnorm_output_make(path, write_pieces, &s);
}

rmsnorm_status rmsnorm_document_save(rmsnorm_document *document, const char *path,
                                     const rmsnorm_document_save_options *options)
{
    rmsnorm_document_save_options ours = RMSNORM_DOCUMENT_SAVE_OPTIONS_INIT;
    RMSNORM_CHECK(path != NULL && path[0] != '\0', RMSNORM_INVALID_ARGUMENT, "model file: the name is empty");
    RMSNORM_CHECK(document != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_document_save: document is NULL");
    RMSNORM_TRY(read_options(options, rmsnorm_file_display(path), &ours));
    rmsnorm_pieces pieces;
    rmsnorm_data_move move = {.document = document};
    rmsnorm_status status = rmsnorm_edit_make(document, &pieces);
    if (status == RMSNORM_OK) {
        status = save(document, path, &ours, &pieces, &move);
    }
    if (status != RMSNORM_OK) {
        rmsnorm_data_move_undo(&move);
    }
    rmsnorm_data_move_release(&move);
    rmsnorm_pieces_release(&pieces);
    return status;
}
