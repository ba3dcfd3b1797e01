#include "graph/tensor_proto.h"

#include "graph/bytes.h"
#include "graph/wire.h"
#include "operator/error.h"
#include "operator/size.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A field of TensorProto that can hold elements. */
typedef struct data_field {
    const char *name;
    size_t count; /* elements; bytes for raw_data */
    const void *data;
    size_t item; /* bytes an element takes in memory */
} data_field;

enum { RAW, FLOATS, DOUBLES, INTS, LONGS, ULONGS, STRINGS, FIELD_COUNT };

static void list_fields(const Onnx__TensorProto *proto, data_field *fields)
{
    fields[RAW] = (data_field){"raw_data", proto->raw_data.len, proto->raw_data.data, 1};
    fields[FLOATS] = (data_field){"float_data", proto->n_float_data, proto->float_data, sizeof(float)};
    fields[DOUBLES] = (data_field){"double_data", proto->n_double_data, proto->double_data, sizeof(double)};
    fields[INTS] = (data_field){"int32_data", proto->n_int32_data, proto->int32_data, sizeof(int32_t)};
    fields[LONGS] = (data_field){"int64_data", proto->n_int64_data, proto->int64_data, sizeof(int64_t)};
    fields[ULONGS] = (data_field){"uint64_data", proto->n_uint64_data, proto->uint64_data, sizeof(uint64_t)};
    fields[STRINGS] =
        (data_field){"string_data", proto->n_string_data, proto->string_data, sizeof(ProtobufCBinaryData)};
}

/* The typed field that onnx.proto prescribes for an element type. */
static int typed_field(rmsnorm_dtype dtype)
{
    return dtype == RMSNORM_FLOAT ? FLOATS : dtype == RMSNORM_DOUBLE ? DOUBLES : dtype == RMSNORM_INT64 ? LONGS : INTS;
}

/* The one field that holds the elements, with as many as the shape says. */
static rmsnorm_status choose_field(const char *where, const Onnx__TensorProto *proto, const rmsnorm_tensor *tensor,
                                   data_field *chosen)
{
    data_field fields[FIELD_COUNT];
    list_fields(proto, fields);
    const uint64_t count = (uint64_t)rmsnorm_tensor_count(tensor);
    const char *const type = rmsnorm_dtype_name(tensor->dtype);
    const int typed = typed_field(tensor->dtype);
    *chosen = fields[RAW];
    for (int i = RAW + 1; i < FIELD_COUNT; i++) {
        if (fields[i].count > 0) {
            RMSNORM_CHECK(chosen->count == 0, RMSNORM_MALFORMED, "%s has both %s and %s; one may hold the elements",
                          where, chosen->name, fields[i].name);
            RMSNORM_CHECK(i == typed, RMSNORM_MALFORMED,
                          "%s is %s but has its elements in %s; raw_data and %s are allowed", where, type,
                          fields[i].name, fields[typed].name);
            *chosen = fields[i];
        }
    }
    const bool raw = chosen->item == 1;
    const uint64_t wanted = raw ? count * rmsnorm_item_size(tensor->dtype) : count;
    RMSNORM_CHECK(chosen->count > 0 || wanted == 0, RMSNORM_MALFORMED,
                  "%s has no data for the %" PRIu64 " elements of its shape", where, count);
    RMSNORM_CHECK(chosen->count == wanted, RMSNORM_MALFORMED,
                  "%s has %zu %s in %s, but its shape and type need %" PRIu64, where, chosen->count,
                  raw ? "bytes" : "elements", chosen->name, wanted);
    return RMSNORM_OK;
}

/* int32_data holds 16-bit patterns, one to a number. */
static rmsnorm_status narrow(const char *where, const data_field *field, uint16_t *to)
{
    const int32_t *const from = field->data;
    for (size_t i = 0; i < field->count; i++) {
        RMSNORM_CHECK(from[i] >= 0 && from[i] <= UINT16_MAX, RMSNORM_MALFORMED,
                      "%s has %" PRId32 " as element %zu of int32_data; 0 to 65535 are allowed", where, from[i], i);
        to[i] = (uint16_t)from[i];
    }
    return RMSNORM_OK;
}

static rmsnorm_status copy_elements(const char *where, const data_field *field, rmsnorm_tensor *tensor)
{
    const size_t item = rmsnorm_item_size(tensor->dtype);
    if (field->item > item) {
        return narrow(where, field, tensor->data);
    }
    if (field->count > 0) {
        memcpy(tensor->data, field->data, field->count * field->item);
    }
    if (field->item == 1) { /* raw_data is little-endian; protobuf-c has converted the typed fields */
        rmsnorm_bytes_reorder(tensor->data, field->count / item, item, false);
    }
    return RMSNORM_OK;
}

/* What none of the fields read here could tell. */
static rmsnorm_status check_plain(const char *where, const Onnx__TensorProto *proto, const rmsnorm_external *external)
{
    RMSNORM_CHECK(proto->segment == NULL, RMSNORM_UNSUPPORTED,
                  "%s is a segment of a larger tensor; whole ones are allowed", where);
    const bool elsewhere = rmsnorm_external_has(proto);
    RMSNORM_CHECK(external != NULL || (!elsewhere && proto->n_external_data == 0), RMSNORM_UNSUPPORTED,
                  "%s has its data in another file, which is not read; save the data inside", where);
    data_field fields[FIELD_COUNT];
    list_fields(proto, fields);
    for (int i = RAW; elsewhere && i < FIELD_COUNT; i++) {
        RMSNORM_CHECK(fields[i].count == 0, RMSNORM_MALFORMED,
                      "%s has its data in another file and in %s; one may hold the elements", where, fields[i].name);
    }
    return RMSNORM_OK;
}

/* The elements, in this host's byte order, in new memory that has `spare` bytes more. */
static rmsnorm_status load_elements(const char *where, const Onnx__TensorProto *proto, rmsnorm_external *external,
                                    size_t item, size_t spare, rmsnorm_tensor *tensor)
{
    const size_t count = (size_t)rmsnorm_tensor_count(tensor);
    RMSNORM_TRY(check_plain(where, proto, external));
    if (rmsnorm_external_has(proto)) {
        uint8_t *bytes;
        RMSNORM_TRY(rmsnorm_external_read(external, where, proto, count * item, spare, &bytes));
        rmsnorm_bytes_reorder(bytes, count, item, false);
        tensor->data = bytes;
        return RMSNORM_OK;
    }
    data_field field;
    RMSNORM_TRY(choose_field(where, proto, tensor, &field));
    tensor->data = rmsnorm_memory_aligned(count * item + spare);
    if (tensor->data == NULL) {
        return rmsnorm_fail_memory(where, count * item);
    }
    const rmsnorm_status status = copy_elements(where, &field, tensor);
    if (status != RMSNORM_OK) {
        free(tensor->data);
    }
    return status;
}

rmsnorm_status rmsnorm_tensor_proto_convert(const char *where, const Onnx__TensorProto *proto, bool any_type,
                                            rmsnorm_external *external, rmsnorm_tensor *tensor, const char **name)
{
    RMSNORM_CHECK(proto->has_data_type && proto->data_type > 0, RMSNORM_MALFORMED, "%s has no element type (data_type)",
                  where);
    rmsnorm_tensor result;
    RMSNORM_TRY(rmsnorm_shape_set(&result, where, (rmsnorm_dtype)proto->data_type, proto->n_dims, proto->dims));
    const char *const own_name = proto->name != NULL ? proto->name : "";
    const size_t item = any_type ? rmsnorm_item_size(result.dtype) : rmsnorm_dtype_size(result.dtype);
    if (item == 0 && any_type) {
        *tensor = result;
        *name = own_name;
        return RMSNORM_OK;
    }
    RMSNORM_CHECK(item > 0, RMSNORM_UNSUPPORTED,
                  "%s has element type %s (data_type %" PRId32 "); float, double, float16 and bfloat16 are allowed",
                  where, rmsnorm_dtype_name(result.dtype), proto->data_type);
    const size_t bytes = (size_t)rmsnorm_tensor_count(&result) * item;
    const size_t name_size = strlen(own_name) + 1;
    RMSNORM_TRY(load_elements(where, proto, external, item, name_size, &result));
    char *const copy = (char *)result.data + bytes;
    memcpy(copy, own_name, name_size);
    *tensor = result;
    *name = copy;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_tensor_proto_read(rmsnorm_source *source, rmsnorm_tensor *tensor, const char **name)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    const rmsnorm_source_form form = {rmsnorm_wire_check_start, &onnx__tensor_proto__descriptor};
    RMSNORM_TRY(rmsnorm_source_rest(source, RMSNORM_PROTOBUF_LIMIT, &form, &bytes, &size));
    rmsnorm_budget budget;
    rmsnorm_budget_init(&budget, size);
    ProtobufCMessage *message = NULL;
    rmsnorm_status status =
        rmsnorm_wire_unpack(source->file, &onnx__tensor_proto__descriptor, bytes, size, NULL, &budget, &message);
    free(bytes); /* before the elements are copied a second time */
    if (status == RMSNORM_OK) {
        const Onnx__TensorProto *const proto = (const Onnx__TensorProto *)message;
        status = rmsnorm_tensor_proto_convert(source->file, proto, false, NULL, tensor, name);
        protobuf_c_message_free_unpacked(message, &budget.allocator);
    }
    return status;
}

/* Bytes written, at most 10. */
static size_t write_number(uint8_t *to, uint64_t value)
{
    size_t size = 0;
    for (; value >= 0x80; value >>= 7) {
        to[size++] = (uint8_t)(value | 0x80);
    }
    to[size++] = (uint8_t)value;
    return size;
}

rmsnorm_status rmsnorm_tensor_proto_header_write(const char *file, const rmsnorm_tensor *tensor, const char *name,
                                                 uint8_t **header, size_t *size)
{
    const bool named = name != NULL && name[0] != '\0';
    RMSNORM_CHECK(!named || rmsnorm_text_valid((const uint8_t *)name, strlen(name)), RMSNORM_INVALID_ARGUMENT,
                  "%s: the tensor's name is not UTF-8 text", file);
    const uint64_t bytes = (uint64_t)rmsnorm_tensor_count(tensor) * rmsnorm_dtype_size(tensor->dtype);
    Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
    proto.n_dims = (size_t)tensor->rank;
    proto.dims = (int64_t *)tensor->dims; /* packing only reads; protobuf-c's structures are for both ways */
    proto.has_data_type = true;
    proto.data_type = (int32_t)tensor->dtype;
    proto.name = named ? (char *)name : NULL;
    const size_t packed = onnx__tensor_proto__get_packed_size(&proto);
    const size_t most = packed + 11; /* then the tag and the length of raw_data */
    RMSNORM_CHECK(most < RMSNORM_PROTOBUF_LIMIT && bytes <= RMSNORM_PROTOBUF_LIMIT - most, RMSNORM_UNSUPPORTED,
                  "%s: %" PRIu64
                  " bytes of data do not fit a .pb file (2 GiB); .npy and .safetensors have no such limit",
                  file, bytes);
    uint8_t *const memory = malloc(most);
    if (memory == NULL) {
        return rmsnorm_fail_memory(file, most);
    }
    size_t used = onnx__tensor_proto__pack(&proto, memory);
    memory[used++] = 9 << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED; /* raw_data */
    used += write_number(memory + used, bytes);
    *header = memory;
    *size = used;
    return RMSNORM_OK;
}
