/* The tensors of a whole model, wherever they stand in it, and the files that hold their elements. */
#include "graph/bytes.h"
#include "graph/document.h"
#include "operator/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct visit {
    rmsnorm_document *document;
    size_t capacity;
} visit;

/* The bytes that shape and type ask for. */
static uint64_t needed_by(const Onnx__TensorProto *proto)
{
    const uint64_t bits = proto->has_data_type ? rmsnorm_external_bits(proto->data_type) : 0;
    uint64_t count = 1;
    for (size_t i = 0; i < proto->n_dims; i++) {
        if (proto->dims[i] == 0) {
            return bits > 0 ? 0 : UINT64_MAX;
        }
    }
    for (size_t i = 0; i < proto->n_dims; i++) {
        if (proto->dims[i] < 0 || (uint64_t)proto->dims[i] > (UINT64_MAX >> 8) / count) {
            return UINT64_MAX;
        }
        count *= (uint64_t)proto->dims[i];
    }
    return bits > 0 ? count / 8 * bits + (count % 8 * bits + 7) / 8 : UINT64_MAX;
}

static rmsnorm_status add_location(visit *v, const char *location)
{
    rmsnorm_names *const names = &v->document->data_files;
    if (names->count > 0 && strcmp(names->items[names->count - 1], location) == 0) {
        return RMSNORM_OK;
    }
    if (names->count == v->capacity) {
        const size_t larger = 2 * v->capacity + 16;
        const char **const items = realloc(names->items, larger * sizeof *items);
        if (items == NULL) {
            return rmsnorm_fail_memory(v->document->input.file, larger * sizeof *items);
        }
        names->items = items;
        v->capacity = larger;
    }
    names->items[names->count++] = location;
    return RMSNORM_OK;
}

static rmsnorm_status visit_tensor(visit *v, const Onnx__TensorProto *proto)
{
    if (!rmsnorm_external_has(proto)) {
        return RMSNORM_OK;
    }
    char where[600];
    const char *location;
    snprintf(where, sizeof where, "%s: tensor \"" RMSNORM_NAME "\"", v->document->input.file,
             proto->name != NULL ? proto->name : "");
    RMSNORM_TRY(rmsnorm_external_location(where, proto, &location));
    const rmsnorm_status status = rmsnorm_external_check(&v->document->external, where, proto, needed_by(proto));
    return status == RMSNORM_OK || status == RMSNORM_NOT_FOUND ? add_location(v, location) : status;
}

static rmsnorm_status visit_message(visit *v, const ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *const descriptor = message->descriptor;
    if (descriptor == &onnx__tensor_proto__descriptor) {
        return visit_tensor(v, (const Onnx__TensorProto *)message);
    }
    for (unsigned i = 0; i < descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *const field = &descriptor->fields[i];
        const char *const place = (const char *)message + field->offset;
        const char *const quantifier = (const char *)message + field->quantifier_offset;
        if (field->type != PROTOBUF_C_TYPE_MESSAGE) {
            continue;
        }
        const ProtobufCMessage *const *messages = (const ProtobufCMessage *const *)(const void *)place;
        size_t count = *messages != NULL;
        if (field->label == PROTOBUF_C_LABEL_REPEATED) {
            memcpy(&count, quantifier, sizeof count);
            memcpy(&messages, place, sizeof messages);
        } else if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
            int chosen;
            memcpy(&chosen, quantifier, sizeof chosen);
            count = (uint32_t)chosen == field->id && *messages != NULL;
        }
        for (size_t k = 0; k < count; k++) {
            RMSNORM_TRY(visit_message(v, messages[k]));
        }
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_document_find_data(rmsnorm_document *document)
{
    visit v = {.document = document};
    RMSNORM_TRY(visit_message(&v, &document->proto->base));
    rmsnorm_names *const names = &document->data_files;
    rmsnorm_names_sort(names);
    size_t kept = 0;
    for (size_t i = 0; i < names->count; i++) {
        if (kept == 0 || strcmp(names->items[kept - 1], names->items[i]) != 0) {
            names->items[kept++] = names->items[i];
        }
    }
    names->count = kept;
    return RMSNORM_OK;
}
