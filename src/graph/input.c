#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "graph/input.h"

#include "graph/bytes.h"
#include "graph/wire.h"
#include "operator/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx.pb-c.h"

rmsnorm_status rmsnorm_input_take(rmsnorm_input *input, rmsnorm_source *source)
{
    *input = (rmsnorm_input){.file = source->file, .descriptor = -1};
    if (!source->sized || source->descriptor < 0) {
        size_t size = 0;
        const rmsnorm_source_form form = {rmsnorm_wire_check_start, &onnx__model_proto__descriptor};
        RMSNORM_TRY(rmsnorm_source_rest(source, RMSNORM_PROTOBUF_LIMIT, &form, &input->memory, &size));
        input->size = size;
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(source->size <= RMSNORM_PROTOBUF_LIMIT, RMSNORM_UNSUPPORTED,
                  "%s: is larger than the %" PRIu64 " bytes this format can have", source->file,
                  RMSNORM_PROTOBUF_LIMIT);
    const off_t start = lseek(source->descriptor, 0, SEEK_CUR);
    RMSNORM_CHECK(start >= 0 && rmsnorm_file_mark_open(source->descriptor, &input->opened), RMSNORM_IO,
                  "%s: cannot be read: %s", source->file, strerror(errno));
    input->descriptor = source->descriptor;
    input->owned = source->owned;
    input->start = (uint64_t)start;
    input->size = source->size;
    source->owned = false;
    return RMSNORM_OK;
}

void rmsnorm_input_close(rmsnorm_input *input)
{
    if (input->owned && input->descriptor >= 0) {
        close(input->descriptor);
    }
    free(input->memory);
    *input = (rmsnorm_input){.descriptor = -1};
}

static rmsnorm_status fail_short(const rmsnorm_input *input)
{
    return rmsnorm_fail(RMSNORM_IO, "%s: has become shorter since it was opened", input->file);
}

rmsnorm_status rmsnorm_input_read(const rmsnorm_input *input, uint64_t at, void *to, size_t size)
{
    if (at > input->size || size > input->size - at) {
        return fail_short(input);
    }
    if (input->descriptor < 0) {
        if (size > 0) {
            memcpy(to, input->memory + at, size);
        }
        return RMSNORM_OK;
    }
    for (size_t got = 0; got < size;) {
        const size_t most = (size_t)1 << 30;
        const size_t wanted = size - got < most ? size - got : most;
        const ssize_t count = pread(input->descriptor, (uint8_t *)to + got, wanted, (off_t)(input->start + at + got));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        RMSNORM_CHECK(count >= 0, RMSNORM_IO, "%s: cannot be read: %s", input->file, strerror(errno));
        if (count == 0) {
            return fail_short(input);
        }
        got += (size_t)count;
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_input_check_unchanged(const rmsnorm_input *input)
{
    if (input->descriptor < 0) {
        return RMSNORM_OK;
    }
    rmsnorm_file_mark now;
    RMSNORM_CHECK(rmsnorm_file_mark_open(input->descriptor, &now), RMSNORM_IO, "%s: cannot be read: %s", input->file,
                  strerror(errno));
    const rmsnorm_file_mark *const then = &input->opened;
    RMSNORM_CHECK(now.size == then->size && now.seconds == then->seconds && now.nanoseconds == then->nanoseconds,
                  RMSNORM_IO, "%s: has been written to since it was opened; open it again", input->file);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_window_look(rmsnorm_window *window, uint64_t at, size_t wanted, const uint8_t **bytes,
                                   size_t *size)
{
    const rmsnorm_input *const input = window->input;
    const uint64_t left = at < input->size ? input->size - at : 0;
    *size = wanted < left ? wanted : (size_t)left;
    if (input->descriptor < 0) {
        *bytes = input->memory + (at < input->size ? at : 0);
        return RMSNORM_OK;
    }
    if (at < window->start || at - window->start > window->size || window->size - (at - window->start) < *size) {
        const size_t piece = left < sizeof window->bytes ? (size_t)left : sizeof window->bytes;
        window->size = 0;
        RMSNORM_TRY(rmsnorm_input_read(input, at, window->bytes, piece));
        window->start = at;
        window->size = piece;
    }
    *bytes = window->bytes + (at - window->start);
    return RMSNORM_OK;
}

/* A base-128 number of at most `most` bytes; the bytes it takes, 0: it does not end. */
static size_t read_number(const uint8_t *bytes, size_t size, size_t most, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < most && i < size; i++) {
        *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            return i + 1;
        }
    }
    return 0;
}

rmsnorm_status rmsnorm_field_read(rmsnorm_window *window, const void *descriptor, uint64_t at, uint64_t end,
                                  rmsnorm_field *field)
{
    const char *const file = window->input->file;
    const uint8_t *bytes;
    size_t size;
    uint64_t tag;
    uint64_t number;
    const uint64_t left = end - at;
    RMSNORM_TRY(rmsnorm_window_look(window, at, left < 20 ? (size_t)left : 20, &bytes, &size));
    const size_t tag_size = read_number(bytes, size, 5, &tag);
    if (tag_size == 0 || tag >> 3 == 0 || tag > UINT32_MAX) {
        return rmsnorm_wire_fail(file, descriptor, at, "a field number is due");
    }
    *field = (rmsnorm_field){(unsigned)(tag >> 3), tag & 7, at, at + tag_size, at + tag_size, 0};
    uint64_t content = 0;
    size_t number_size;
    switch (field->wire_type) {
    case PROTOBUF_C_WIRE_TYPE_VARINT:
        content = read_number(bytes + tag_size, size - tag_size, 10, &number);
        if (content == 0) {
            return rmsnorm_wire_fail(file, descriptor, field->content, "a number does not end");
        }
        break;
    case PROTOBUF_C_WIRE_TYPE_64BIT:
        content = 8;
        break;
    case PROTOBUF_C_WIRE_TYPE_32BIT:
        content = 4;
        break;
    case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED:
        number_size = read_number(bytes + tag_size, size - tag_size, 5, &content);
        if (number_size == 0) {
            return rmsnorm_wire_fail(file, descriptor, at, "a field is longer than what encloses it");
        }
        field->content += number_size;
        break;
    default:
        return rmsnorm_wire_fail(file, descriptor, at, "a field has an unknown wire type");
    }
    if (content > end - field->content) {
        return rmsnorm_wire_fail(file, descriptor, at, "a field is longer than what encloses it");
    }
    field->end = field->content + content;
    return RMSNORM_OK;
}
