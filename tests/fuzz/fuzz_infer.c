#include <string.h>

#include "fuzz/stop.h"
#include "rmsnorm/rmsnorm.h"

typedef struct reader {
    const uint8_t *data;
    size_t size;
} reader;

static void take(reader *from, void *to, size_t size)
{
    const size_t there = size < from->size ? size : from->size;
    memset(to, 0, size);
    memcpy(to, from->data, there);
    from->data += there;
    from->size -= there;
}

static uint8_t take_byte(reader *from)
{
    uint8_t byte;
    take(from, &byte, 1);
    return byte;
}

/* Mostly small, sometimes at the ends of the type, sometimes anything. */
static int64_t take_number(reader *from)
{
    static const int64_t ends[] = {INT64_MIN, INT64_MAX, INT32_MAX, (int64_t)INT32_MAX + 1, -1, RMSNORM_UNKNOWN, 0, 1};
    const uint8_t kind = take_byte(from);
    int64_t number;
    if (kind < 160) {
        return kind % 8;
    }
    if (kind < 224) {
        return ends[kind % 8];
    }
    take(from, &number, sizeof number);
    return number;
}

/* Strings as a caller may have them, never longer than they are. */
static const char *take_name(reader *from)
{
    static const char *const names[] = {
        NULL, "S", "B", "", "a\nb", "\xFF\x80", "a very long name of a dimension indeed", "H"};
    return names[take_byte(from) % 8];
}

static void take_tensor(reader *from, rmsnorm_tensor *tensor)
{
    static const rmsnorm_dtype dtypes[] = {RMSNORM_FLOAT, RMSNORM_FLOAT16, RMSNORM_BFLOAT16, RMSNORM_DOUBLE};
    const uint8_t kind = take_byte(from);
    *tensor = (rmsnorm_tensor){.dtype = kind < 200 ? dtypes[kind % 4] : (rmsnorm_dtype)(kind - 200)};
    const uint8_t rank = take_byte(from);
    tensor->rank = rank < 240 ? rank % 6 : (int32_t)(int8_t)rank * (rank % 2 == 0 ? 1 : 1 << 20);
    for (int32_t i = 0; i < RMSNORM_MAX_RANK && i < tensor->rank; i++) {
        tensor->dims[i] = take_number(from);
        tensor->dim_names[i] = tensor->dims[i] == RMSNORM_UNKNOWN ? take_name(from) : NULL;
    }
    tensor->row_stride = take_byte(from) < 200 ? 0 : take_number(from);
}

enum { SLOTS = 6 };

/* A refusal changes no output, and one that is accepted has a shape that can be. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    reader from = {data, size};
    const rmsnorm_operator *const op = rmsnorm_operator_at(take_byte(&from) % 3);
    rmsnorm_attributes attributes;
    rmsnorm_attributes_init(op, &attributes);
    if (take_byte(&from) % 2 == 1) {
        attributes.axis = take_number(&from);
        attributes.stash_type = take_number(&from);
        attributes.keep_dims = take_number(&from);
        take(&from, &attributes.epsilon, sizeof attributes.epsilon);
    }
    rmsnorm_tensor in[SLOTS], out[SLOTS], before[SLOTS];
    const rmsnorm_tensor *inputs[SLOTS];
    rmsnorm_tensor *outputs[SLOTS];
    const uint8_t there = take_byte(&from), wanted = take_byte(&from);
    memset(out, 0x5A, sizeof out);
    memcpy(before, out, sizeof out);
    for (size_t i = 0; i < SLOTS; i++) {
        take_tensor(&from, &in[i]);
        inputs[i] = (there >> i & 1) != 0 ? &in[i] : NULL;
        outputs[i] = (wanted >> i & 1) != 0 ? &out[i] : NULL;
    }
    const size_t input_count = take_byte(&from) % (SLOTS + 1), output_count = take_byte(&from) % (SLOTS + 1);
    rmsnorm_constraints constraints;
    constraints.count = 0;
    const rmsnorm_status status =
        rmsnorm_infer(op, &attributes, inputs, input_count, outputs, output_count, &constraints);
    FUZZ_CHECK(status == RMSNORM_OK || status == RMSNORM_INVALID_ARGUMENT || status == RMSNORM_UNSUPPORTED);
    if (status != RMSNORM_OK) {
        FUZZ_CHECK(memcmp(out, before, sizeof out) == 0);
        FUZZ_CHECK(strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL && rmsnorm_last_error()[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < SLOTS; i++) {
        if (outputs[i] == NULL || i >= output_count) {
            FUZZ_CHECK(memcmp(&out[i], &before[i], sizeof out[i]) == 0);
            continue;
        }
        FUZZ_CHECK(out[i].rank >= RMSNORM_UNKNOWN && out[i].rank <= RMSNORM_MAX_RANK);
        for (int32_t k = 0; k < out[i].rank; k++) {
            FUZZ_CHECK(out[i].dims[k] >= RMSNORM_UNKNOWN);
        }
    }
    FUZZ_CHECK(constraints.count <= RMSNORM_MAX_CONSTRAINTS);
    for (size_t i = 0; i < constraints.count; i++) {
        char text[48];
        const size_t length = rmsnorm_constraint_format(op, inputs, &constraints.items[i], text, sizeof text);
        FUZZ_CHECK(length > 0 && strlen(text) == (length < sizeof text ? length : sizeof text - 1));
    }
    rmsnorm_memory memory;
    memset(&memory, 0, sizeof memory);
    if (rmsnorm_peak_memory(op, &attributes, inputs, input_count, outputs, output_count, RMSNORM_DEVICE_CPU, &memory) ==
        RMSNORM_OK) {
        FUZZ_CHECK(memory.bytes == 0 && strcmp(memory.expression, "0") == 0);
    }
    return 0;
}
