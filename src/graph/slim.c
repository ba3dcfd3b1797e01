#include "graph/slim.h"

#include "graph/bytes.h"
#include "operator/error.h"

#include <stdlib.h>
#include <string.h>

#include "onnx.pb-c.h"

/* Elements of a small tensor take at most 11 bytes for one of theirs: a tag, and ten of a negative number. */
enum { KEPT_ELEMENTS = 11 * RMSNORM_SMALL_TENSOR, KEPT_BYTES = 256 };

typedef struct work {
    rmsnorm_slim *slim;
    rmsnorm_window window;
} work;

static rmsnorm_status reserve(work *w, size_t more)
{
    rmsnorm_slim *const slim = w->slim;
    if (more <= slim->capacity - slim->size) {
        return RMSNORM_OK;
    }
    const size_t larger = 2 * (slim->size + more) + 4096;
    uint8_t *const bytes = realloc(slim->bytes, larger);
    if (bytes == NULL) {
        return rmsnorm_fail_memory(w->window.input->file, larger);
    }
    slim->bytes = bytes;
    slim->capacity = larger;
    return RMSNORM_OK;
}

static rmsnorm_status copy(work *w, uint64_t at, uint64_t end)
{
    const size_t size = (size_t)(end - at);
    const uint8_t *bytes;
    size_t got;
    RMSNORM_TRY(reserve(w, size));
    if (size <= 4096) {
        RMSNORM_TRY(rmsnorm_window_look(&w->window, at, size, &bytes, &got));
        memcpy(w->slim->bytes + w->slim->size, bytes, size);
    } else {
        RMSNORM_TRY(rmsnorm_input_read(w->window.input, at, w->slim->bytes + w->slim->size, size));
    }
    w->slim->size += size;
    return RMSNORM_OK;
}

static rmsnorm_status cut(work *w, uint64_t size)
{
    rmsnorm_slim *const slim = w->slim;
    if (slim->cut_count == slim->cut_capacity) {
        const size_t larger = 2 * slim->cut_capacity + 64;
        rmsnorm_wire_cut *const cuts = realloc(slim->cuts, larger * sizeof *cuts);
        if (cuts == NULL) {
            return rmsnorm_fail_memory(w->window.input->file, larger * sizeof *cuts);
        }
        slim->cuts = cuts;
        slim->cut_capacity = larger;
    }
    const uint64_t before = slim->cut_count > 0 ? slim->cuts[slim->cut_count - 1].missing : 0;
    slim->cuts[slim->cut_count++] = (rmsnorm_wire_cut){slim->size, before + size};
    return RMSNORM_OK;
}

/* The length again, in as many bytes as it had, so that places stay countable. */
static void set_length(work *w, size_t at, size_t digits, uint64_t length)
{
    for (size_t i = 0; i < digits; i++) {
        w->slim->bytes[at + i] = (uint8_t)((length >> (7 * i) & 0x7f) | (i + 1 < digits ? 0x80 : 0));
    }
}

typedef enum treatment { KEEP, EMPTY, DROP, ENTER } treatment;

static bool holds_elements(unsigned field)
{
    return (field >= 4 && field <= 7) || (field >= 9 && field <= 11);
}

/* held: bytes of elements the tensor has had so far. */
static treatment treat(const ProtobufCMessageDescriptor *descriptor, const rmsnorm_field *field, uint64_t *held)
{
    const ProtobufCFieldDescriptor *const known = protobuf_c_message_descriptor_get_field(descriptor, field->number);
    const uint64_t size = field->end - field->content;
    const bool delimited = field->wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    if (descriptor == &onnx__tensor_proto__descriptor && holds_elements(field->number)) {
        const bool packed = delimited && known->type != PROTOBUF_C_TYPE_BYTES;
        *held += delimited ? size : field->end - field->start;
        if (*held <= KEPT_ELEMENTS) {
            return KEEP;
        }
        return packed || known->label != PROTOBUF_C_LABEL_REPEATED ? (delimited ? EMPTY : KEEP) : DROP;
    }
    if (!delimited) {
        return KEEP;
    }
    if (known != NULL && known->type == PROTOBUF_C_TYPE_MESSAGE) {
        return ENTER;
    }
    const bool unread = known == NULL || known->type == PROTOBUF_C_TYPE_BYTES || strcmp(known->name, "doc_string") == 0;
    return unread && size > KEPT_BYTES ? EMPTY : KEEP;
}

static rmsnorm_status copy_message(work *w, const ProtobufCMessageDescriptor *descriptor, uint64_t at, uint64_t end,
                                   int depth)
{
    if (depth > RMSNORM_WIRE_DEPTH) {
        return rmsnorm_wire_fail(w->window.input->file, descriptor, at, "messages are nested too deeply");
    }
    uint64_t held = 0;
    for (rmsnorm_field field; at < end; at = field.end) {
        RMSNORM_TRY(rmsnorm_field_read(&w->window, descriptor, at, end, &field));
        const treatment chosen = treat(descriptor, &field, &held);
        if (chosen == KEEP) {
            RMSNORM_TRY(copy(w, field.start, field.end));
            continue;
        }
        if (chosen == DROP) {
            RMSNORM_TRY(cut(w, field.end - field.start));
            continue;
        }
        const size_t length_at = w->slim->size + (size_t)(field.length - field.start);
        RMSNORM_TRY(copy(w, field.start, field.content));
        const size_t content_at = w->slim->size;
        if (chosen == EMPTY) {
            RMSNORM_TRY(cut(w, field.end - field.content));
        } else {
            const ProtobufCFieldDescriptor *const known =
                protobuf_c_message_descriptor_get_field(descriptor, field.number);
            RMSNORM_TRY(copy_message(w, known->descriptor, field.content, field.end, depth + 1));
        }
        set_length(w, length_at, content_at - length_at, w->slim->size - content_at);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_slim_make(rmsnorm_slim *slim, const rmsnorm_input *input, const void *descriptor)
{
    *slim = (rmsnorm_slim){.bytes = NULL};
    work *const w = malloc(sizeof *w);
    if (w == NULL) {
        return rmsnorm_fail_memory(input->file, sizeof *w);
    }
    w->slim = slim;
    w->window.input = input;
    w->window.start = 0;
    w->window.size = 0;
    rmsnorm_status status = reserve(w, 1);
    if (status == RMSNORM_OK) {
        status = copy_message(w, descriptor, 0, input->size, 0);
    }
    free(w);
    if (status != RMSNORM_OK) {
        rmsnorm_slim_release(slim);
    }
    return status;
}

void rmsnorm_slim_release(rmsnorm_slim *slim)
{
    free(slim->bytes);
    free(slim->cuts);
    *slim = (rmsnorm_slim){.bytes = NULL};
}
