#include "graph/wire.h"

#include "graph/bytes.h"
#include "graph/source.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const char *file;
    const uint8_t *bytes; /* the first, to tell where something stands */
    const rmsnorm_wire_cuts *cuts;
} walk;

/* A message, or a packed field, that is being walked. */
typedef struct span {
    const ProtobufCMessageDescriptor *descriptor;
    const uint8_t *at, *end;
} span;

rmsnorm_status rmsnorm_wire_fail(const char *file, const void *descriptor, uint64_t place, const char *what)
{
    const ProtobufCMessageDescriptor *const message = descriptor;
    return rmsnorm_fail(RMSNORM_MALFORMED, "%s: is no valid ONNX protobuf: byte %" PRIu64 ", in %s: %s", file, place,
                        message->short_name, what);
}

static rmsnorm_status fail_at(const walk *w, const span *s, const uint8_t *at, const char *what)
{
    const size_t place = (size_t)(at - w->bytes);
    uint64_t missing = 0;
    for (size_t i = 0; w->cuts != NULL && i < w->cuts->count && w->cuts->items[i].at <= place; i++) {
        missing = w->cuts->items[i].missing;
    }
    (void)rmsnorm_wire_fail(w->file, s->descriptor, place + missing, what);
    return RMSNORM_MALFORMED;
}

/* A base-128 number of at most `most` bytes. */
static bool read_number(span *s, size_t most, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < most && s->at < s->end; i++) {
        const uint8_t byte = *s->at++;
        *value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            return true;
        }
    }
    return false;
}

/* How one element of the type is written. */
static ProtobufCWireType wire_type_of(ProtobufCType type)
{
    switch (type) {
    case PROTOBUF_C_TYPE_FLOAT:
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
        return PROTOBUF_C_WIRE_TYPE_32BIT;
    case PROTOBUF_C_TYPE_DOUBLE:
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
        return PROTOBUF_C_WIRE_TYPE_64BIT;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE:
        return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
    default:
        return PROTOBUF_C_WIRE_TYPE_VARINT;
    }
}

/* Steps over an element that is no message: a number, or raw bytes. */
static rmsnorm_status step_over(const walk *w, span *s, ProtobufCWireType wire_type)
{
    uint64_t ignored;
    const size_t left = (size_t)(s->end - s->at);
    switch (wire_type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        return read_number(s, 10, &ignored) ? RMSNORM_OK : fail_at(w, s, s->at, "a number does not end");
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        s->at += left < 8 ? 0 : 8;
        return left < 8 ? fail_at(w, s, s->at, "8 bytes are due") : RMSNORM_OK;
    default:
        s->at += left < 4 ? 0 : 4;
        return left < 4 ? fail_at(w, s, s->at, "4 bytes are due") : RMSNORM_OK;
    }
}

static rmsnorm_status check_message(const walk *w, span *s, int depth);

/* The content of a length-delimited field, known or (field NULL) unknown. */
static rmsnorm_status check_delimited(const walk *w, const span *s, const ProtobufCFieldDescriptor *field,
                                      span *content, int depth)
{
    if (field == NULL || field->type == PROTOBUF_C_TYPE_BYTES) {
        return RMSNORM_OK;
    }
    if (field->type == PROTOBUF_C_TYPE_STRING) {
        const bool exempt = strcmp(field->name, "doc_string") == 0;
        const size_t size = (size_t)(content->end - content->at);
        return exempt || rmsnorm_text_valid(content->at, size) ? RMSNORM_OK
                                                               : fail_at(w, s, content->at, "a name is not UTF-8 text");
    }
    if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
        content->descriptor = field->descriptor;
        return check_message(w, content, depth + 1);
    }
    while (content->at < content->end) {
        RMSNORM_TRY(step_over(w, content, wire_type_of(field->type)));
    }
    return RMSNORM_OK;
}

/* The fields of a oneof share their case number, and so one bit. ONNX's largest message has 20 fields. */
static uint64_t bit_of(const ProtobufCMessageDescriptor *descriptor, const ProtobufCFieldDescriptor *field)
{
    const ProtobufCFieldDescriptor *first = field;
    if ((field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) != 0) {
        first = descriptor->fields;
        while (first->quantifier_offset != field->quantifier_offset) {
            first++;
        }
    }
    return (uint64_t)1 << (first - descriptor->fields);
}

/* What a field begins with. */
typedef struct tag_read {
    ProtobufCWireType wire_type;
    const ProtobufCFieldDescriptor *field; /* NULL: unknown */
} tag_read;

static rmsnorm_status read_tag(const walk *w, span *s, tag_read *result)
{
    const uint8_t *const start = s->at;
    uint64_t tag;
    if (!read_number(s, 5, &tag) || tag >> 3 == 0 || tag > UINT32_MAX) {
        return fail_at(w, s, start, "a field number is due");
    }
    const ProtobufCWireType wire_type = (ProtobufCWireType)(tag & 7);
    const ProtobufCFieldDescriptor *const field =
        protobuf_c_message_descriptor_get_field(s->descriptor, (unsigned)(tag >> 3));
    if (wire_type != PROTOBUF_C_WIRE_TYPE_VARINT && wire_type != PROTOBUF_C_WIRE_TYPE_64BIT &&
        wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED && wire_type != PROTOBUF_C_WIRE_TYPE_32BIT) {
        return fail_at(w, s, start, "a field has an unknown wire type");
    }
    if (field != NULL) {
        const bool packed =
            field->label == PROTOBUF_C_LABEL_REPEATED && wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
        if (wire_type != wire_type_of(field->type) && !packed) {
            return fail_at(w, s, start, "a field has the wire type of another type");
        }
    }
    *result = (tag_read){wire_type, field};
    return RMSNORM_OK;
}

static rmsnorm_status check_field(const walk *w, span *s, uint64_t *seen, int depth)
{
    const uint8_t *const start = s->at;
    tag_read tag = {.field = NULL};
    RMSNORM_TRY(read_tag(w, s, &tag));
    if (tag.field != NULL && tag.field->label != PROTOBUF_C_LABEL_REPEATED) {
        const uint64_t bit = bit_of(s->descriptor, tag.field);
        if ((*seen & bit) != 0) {
            return fail_at(w, s, start, "a field that may stand once stands twice");
        }
        *seen |= bit;
    }
    if (tag.wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
        return step_over(w, s, tag.wire_type);
    }
    uint64_t length;
    if (!read_number(s, 5, &length) || length > (uint64_t)(s->end - s->at)) {
        return fail_at(w, s, start, "a field is longer than what encloses it");
    }
    span content = {s->descriptor, s->at, s->at + length};
    s->at += length;
    return check_delimited(w, s, tag.field, &content, depth);
}

rmsnorm_status rmsnorm_wire_check_start(const char *file, const void *descriptor, const uint8_t *bytes, size_t size)
{
    const walk w = {file, bytes, NULL};
    span s = {descriptor, bytes, bytes + size};
    const ptrdiff_t longest = 5 + 10; /* a tag and a number: what is cut off is not looked at */
    while (s.end - s.at >= longest) {
        const uint8_t *const start = s.at;
        tag_read tag = {.field = NULL};
        RMSNORM_TRY(read_tag(&w, &s, &tag));
        if (tag.wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) {
            RMSNORM_TRY(step_over(&w, &s, tag.wire_type));
            continue;
        }
        uint64_t length;
        if (!read_number(&s, 5, &length) || length > RMSNORM_PROTOBUF_LIMIT) {
            return fail_at(&w, &s, start, "a field is longer than a protobuf message can be");
        }
        if (length > (uint64_t)(s.end - s.at)) {
            break;
        }
        s.at += length;
    }
    return RMSNORM_OK;
}

static rmsnorm_status check_message(const walk *w, span *s, int depth)
{
    if (depth > RMSNORM_WIRE_DEPTH) {
        return fail_at(w, s, s->at, "messages are nested too deeply");
    }
    uint64_t seen = 0;
    while (s->at < s->end) {
        RMSNORM_TRY(check_field(w, s, &seen, depth));
    }
    return RMSNORM_OK;
}

static void *allocate_from(void *user, size_t size)
{
    rmsnorm_budget *const budget = user;
    /* What malloc itself adds, so that many small requests are counted for what they cost. */
    const size_t overhead = 16;
    if (size > budget->limit - budget->used || overhead > budget->limit - budget->used - size) {
        budget->exhausted = true;
        return NULL;
    }
    budget->used += size + overhead;
    return malloc(size > 0 ? size : 1);
}

static void release(void *user, void *memory)
{
    (void)user;
    free(memory);
}

void rmsnorm_budget_init(rmsnorm_budget *budget, size_t file_size)
{
    const size_t most = (SIZE_MAX - RMSNORM_BUDGET_BASE) / RMSNORM_BUDGET_FACTOR;
    const size_t counted = file_size < most ? file_size : most;
    *budget = (rmsnorm_budget){.limit = RMSNORM_BUDGET_BASE + RMSNORM_BUDGET_FACTOR * counted,
                               .allocator = {allocate_from, release, budget}};
}

void *rmsnorm_budget_allocate(rmsnorm_budget *budget, size_t count, size_t size)
{
    if (count > SIZE_MAX / size) {
        budget->exhausted = true;
        return NULL;
    }
    void *const memory = allocate_from(budget, count * size);
    return memory != NULL ? memset(memory, 0, count * size) : NULL;
}

rmsnorm_status rmsnorm_budget_fail(const rmsnorm_budget *budget, const char *file)
{
    RMSNORM_CHECK(!budget->exhausted, RMSNORM_MALFORMED,
                  "%s: would unpack to more than %zu bytes, far more than a model of its size needs", file,
                  budget->limit);
    return rmsnorm_fail_memory(file, budget->used);
}

rmsnorm_status rmsnorm_wire_unpack(const char *file, const ProtobufCMessageDescriptor *descriptor, const uint8_t *bytes,
                                   size_t size, const rmsnorm_wire_cuts *cuts, rmsnorm_budget *budget,
                                   ProtobufCMessage **message)
{
    const walk w = {file, bytes, cuts};
    span whole = {descriptor, bytes, bytes + size};
    RMSNORM_TRY(check_message(&w, &whole, 0));
    *message = protobuf_c_message_unpack(descriptor, &budget->allocator, size, bytes);
    /* What the walk lets through, protobuf-c takes; so a NULL is a matter of memory. */
    return *message != NULL ? RMSNORM_OK : rmsnorm_budget_fail(budget, file);
}
