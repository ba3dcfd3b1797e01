#include "build.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_SLOTS = 64, MOST_ATTRIBUTES = 16, MOST_NUMBERS = 4096, MOST_TEXT = 16384 };

static char *copy(build *b, const char *text, size_t length)
{
    char *const copied = rmsnorm_arena_copy(&b->strings, text, length);
    assert_non_null(copied);
    return copied;
}

static void *room(build *b, size_t size)
{
    void *const memory = rmsnorm_arena_allocate(&b->strings, size + 1);
    assert_non_null(memory);
    return memory;
}

build *build_begin(int64_t opset)
{
    build *const b = calloc(1, sizeof *b);
    assert_non_null(b);
    rmsnorm_arena_init(&b->strings, SIZE_MAX);
    assert_int_equal(rmsnorm_ir_create(0, &b->ir), RMSNORM_OK);
    assert_int_equal(rmsnorm_ir_set_opset(b->ir, "", opset), RMSNORM_OK);
    assert_int_equal(rmsnorm_ir_set_opset(b->ir, "com.microsoft", 1), RMSNORM_OK);
    return b;
}

void build_end(build *b)
{
    rmsnorm_ir_free(b->ir);
    rmsnorm_arena_release(&b->strings);
    free(b);
}

/* ---- Values ---------------------------------------------------------------------------------- */

static size_t find(const build *b, const char *name)
{
    for (size_t i = b->ir->value_count; i-- > 0;) {
        if (strcmp(b->ir->values[i].shown.name, name) == 0) {
            return i;
        }
    }
    return RMSNORM_NO_INDEX;
}

size_t build_find(const build *b, const char *name)
{
    const size_t value = find(b, name);
    if (value == RMSNORM_NO_INDEX) {
        fail_msg("no value \"%s\"", name);
    }
    return value;
}

static void read_dims(build *b, const char *dims, rmsnorm_ir_value *value)
{
    if (strcmp(dims, "*") == 0) {
        value->open = true;
        return;
    }
    for (const char *at = dims; *at != '\0';) {
        const size_t length = strcspn(at, ",");
        char *end;
        const int64_t number = strtoll(at, &end, 10);
        if (length == 3 && strncmp(at, "...", 3) == 0 && at == dims) {
            value->open = true;
        } else {
            const int32_t d = value->type.rank++;
            assert_true(d < RMSNORM_MAX_RANK);
            const bool is_number = end == at + length;
            value->type.dims[d] = is_number ? number : RMSNORM_UNKNOWN;
            value->type.dim_names[d] = is_number || *at == '?' ? NULL : copy(b, at, length);
        }
        at += length + (at[length] == ',');
    }
}

static size_t add_value(build *b, const rmsnorm_ir_value *value)
{
    size_t index;
    assert_int_equal(rmsnorm_ir_add_value(b->ir, value, &index), RMSNORM_OK);
    return index;
}

size_t build_value(build *b, const char *name, rmsnorm_dtype dtype, const char *dims)
{
    rmsnorm_ir_value value = {.name = copy(b, name, strlen(name)), .graph = b->graph, .type.dtype = dtype};
    read_dims(b, dims, &value);
    return add_value(b, &value);
}

/* To float16 or bfloat16, by cutting: the tests' numbers fit. */
static uint16_t narrow(float number, rmsnorm_dtype dtype)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    if (dtype == RMSNORM_BFLOAT16) {
        return (uint16_t)(bits >> 16);
    }
    const uint32_t sign = bits >> 16 & 0x8000, exponent = bits >> 23 & 255, mantissa = bits & 0x7fffff;
    if (exponent <= 112) { /* subnormal or zero: units of 2^-24 */
        const float magnitude = number < 0.0f ? -number : number;
        return (uint16_t)(sign | (uint32_t)(magnitude * 0x1p24f));
    }
    if (exponent >= 143) {
        return (uint16_t)(sign | 0x7c00 | (exponent == 255 && mantissa != 0));
    }
    return (uint16_t)(sign | (exponent - 112) << 10 | mantissa >> 13);
}

static size_t element_size(rmsnorm_dtype dtype)
{
    const size_t size = rmsnorm_dtype_size(dtype);
    return size != 0 ? size : dtype == RMSNORM_INT64 ? 8 : dtype == RMSNORM_INT32 ? 4 : 1;
}

static void store(char *to, rmsnorm_dtype dtype, double number)
{
    const float single = (float)number;
    const int64_t large = number >= 0x1p63 ? INT64_MAX : number >= -0x1p63 ? (int64_t)number : 0;
    const int32_t small = (int32_t)(number >= 0x1p31 ? INT32_MAX : number >= -0x1p31 ? (int64_t)number : 0);
    const uint16_t half = narrow(single, dtype);
    switch ((int)dtype) {
    case RMSNORM_FLOAT:
        memcpy(to, &single, sizeof single);
        break;
    case RMSNORM_DOUBLE:
        memcpy(to, &number, sizeof number);
        break;
    case RMSNORM_FLOAT16:
    case RMSNORM_BFLOAT16:
        memcpy(to, &half, sizeof half);
        break;
    case 6:
        memcpy(to, &small, sizeof small);
        break;
    case 7:
        memcpy(to, &large, sizeof large);
        break;
    default:
        assert_int_equal(dtype, BUILD_BOOL);
        *to = number != 0.0;
    }
}

/* "1,2.5" or "1,2.5]...": as many as are there. */
static size_t read_numbers(const char *text, double *numbers)
{
    size_t count = 0;
    char *end;
    for (const char *at = text; *at != '\0' && *at != ']'; at = end + (*end == ',')) {
        assert_true(count < MOST_NUMBERS);
        numbers[count++] = strtod(at, &end);
        if (end == at) {
            fail_msg("no number: %s", at);
        }
    }
    return count;
}

static void *store_all(build *b, rmsnorm_dtype dtype, size_t elements, const double *numbers, size_t count)
{
    assert_true(count == 1 || count == elements);
    char *const data = room(b, elements * element_size(dtype));
    for (size_t i = 0; i < elements; i++) {
        store(data + i * element_size(dtype), dtype, numbers[count == 1 ? 0 : i]);
    }
    return data;
}

size_t build_constant(build *b, const char *name, rmsnorm_dtype dtype, const char *dims, const char *numbers)
{
    static double read[MOST_NUMBERS];
    rmsnorm_ir_value value = {
        .name = copy(b, name, strlen(name)), .graph = b->graph, .type.dtype = dtype, .constant = true};
    read_dims(b, dims, &value);
    if (numbers[0] != '\0') {
        const int64_t elements = rmsnorm_tensor_count(&value.type);
        assert_true(elements >= 0);
        value.type.data = store_all(b, dtype, (size_t)elements, read, read_numbers(numbers, read));
    }
    return add_value(b, &value);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static size_t read_slots(build *b, const char *names, bool make, size_t *slots)
{
    size_t count = 0;
    if (names[0] == '\0') {
        return 0;
    }
    for (const char *at = names;; at++) {
        const size_t length = strcspn(at, ",");
        assert_true(count < MOST_SLOTS);
        if (length == 0) {
            slots[count++] = RMSNORM_NO_INDEX;
        } else {
            const char *const name = copy(b, at, length);
            if (make && find(b, name) == RMSNORM_NO_INDEX) {
                (void)build_value(b, name, RMSNORM_UNDEFINED, "*");
            }
            slots[count++] = build_find(b, name);
        }
        at += length;
        if (*at == '\0') {
            return count;
        }
    }
}

static bool is_float(const char *number)
{
    return strpbrk(number, ".e") != NULL || strstr(number, "inf") != NULL || strstr(number, "nan") != NULL;
}

/* The nearest int64. */
static int64_t whole(double number)
{
    return number >= 0x1p63 ? INT64_MAX : number < -0x1p63 ? INT64_MIN : (int64_t)number;
}

static void read_list(build *b, const char *text, rmsnorm_node_attribute *attribute)
{
    static double read[MOST_NUMBERS];
    attribute->count = read_numbers(text, read);
    int64_t *const ints = room(b, attribute->count * sizeof *ints);
    float *const floats = room(b, attribute->count * sizeof *floats);
    for (size_t i = 0; i < attribute->count; i++) {
        floats[i] = (float)read[i];
        ints[i] = is_float(text) ? 0 : whole(read[i]);
    }
    attribute->kind = is_float(text) ? RMSNORM_NODE_ATTRIBUTE_FLOATS : RMSNORM_NODE_ATTRIBUTE_INTS;
    attribute->ints = is_float(text) ? NULL : ints;
    attribute->floats = is_float(text) ? floats : NULL;
}

static void read_tensor(build *b, const char *type, const char *numbers, rmsnorm_node_attribute *attribute)
{
    static double read[MOST_NUMBERS];
    rmsnorm_tensor *const tensor = &attribute->tensor;
    attribute->kind = RMSNORM_NODE_ATTRIBUTE_TENSOR;
    for (int code = 1; code <= 16 && tensor->dtype == RMSNORM_UNDEFINED; code++) {
        const char *const name = rmsnorm_dtype_name((rmsnorm_dtype)code);
        const size_t length = strlen(name);
        if (strncmp(type, name, length) == 0 && type[length] == ':') {
            tensor->dtype = (rmsnorm_dtype)code;
        }
    }
    assert_int_not_equal(tensor->dtype, RMSNORM_UNDEFINED);
    tensor->rank = *numbers == '[';
    const size_t count = read_numbers(numbers + tensor->rank, read);
    tensor->dims[0] = (int64_t)count;
    if (count > 0) {
        tensor->data = store_all(b, tensor->dtype, count, read, count);
    }
}

/* NAME=VALUE, with a terminator behind. */
static void read_attribute(build *b, char *text, rmsnorm_node_attribute *attribute)
{
    char *const value = strchr(text, '=');
    if (value == NULL) {
        fail_msg("no attribute: %s", text);
        return;
    }
    *value = '\0';
    const char *const given = value + 1;
    const char *const colon = strchr(given, ':');
    *attribute = (rmsnorm_node_attribute){.name = text};
    if (*given == '"') {
        attribute->kind = RMSNORM_NODE_ATTRIBUTE_OTHER;
    } else if (*given == '[') {
        read_list(b, given + 1, attribute);
    } else if (colon != NULL) {
        read_tensor(b, given, colon + 1, attribute);
    } else if (is_float(given)) {
        attribute->kind = RMSNORM_NODE_ATTRIBUTE_FLOAT;
        attribute->f = strtof(given, NULL);
    } else {
        attribute->kind = RMSNORM_NODE_ATTRIBUTE_INT;
        attribute->i = strtoll(given, NULL, 10);
    }
}

size_t build_node(build *b, const char *op, const char *inputs, const char *outputs)
{
    size_t in[MOST_SLOTS];
    size_t out[MOST_SLOTS];
    rmsnorm_node_attribute *const attributes = room(b, MOST_ATTRIBUTES * sizeof *attributes);
    rmsnorm_ir_node node = {.graph = b->graph, .attributes = attributes, .inputs = in, .outputs = out};
    node.origin = b->ir->node_count;
    node.domain = "";
    node.name = copy(b, outputs, strcspn(outputs, ","));
    char *at = copy(b, op, strlen(op));
    node.op_type = at;
    for (size_t part = 0; *at != '\0'; part++) {
        char *const word = at;
        at += strcspn(at, " ");
        if (*at != '\0') {
            *at++ = '\0';
        }
        char *const colons = strstr(word, "::");
        if (part == 0 && colons != NULL) {
            *colons = '\0';
            node.domain = word;
            node.op_type = colons + 2;
        } else if (word[0] == '@') {
            node.name = word + 1;
        } else if (part > 0) {
            assert_true(node.attribute_count < MOST_ATTRIBUTES);
            read_attribute(b, word, &attributes[node.attribute_count++]);
        }
    }
    node.input_count = read_slots(b, inputs, false, in);
    node.output_count = read_slots(b, outputs, true, out);
    size_t index;
    if (rmsnorm_ir_add_node(b->ir, &node, &index) != RMSNORM_OK) {
        fail_msg("%s: %s", op, rmsnorm_last_error());
    }
    return index;
}

void build_output(build *b, const char *names)
{
    size_t values[MOST_SLOTS];
    const size_t count = read_slots(b, names, false, values);
    for (size_t i = 0; i < count; i++) {
        b->ir->values[values[i]].shown.output = true;
    }
}

size_t build_graph(build *b, size_t owner)
{
    assert_int_equal(rmsnorm_ir_add_graph(b->ir, owner, &b->graph), RMSNORM_OK);
    return b->graph;
}

/* ---- Text ------------------------------------------------------------------------------------ */

typedef struct writer {
    char text[MOST_TEXT];
    size_t length;
} writer;

static void put(writer *to, const char *format, ...) RMSNORM_PRINTF(2, 3);
static void put(writer *to, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(to->text + to->length, sizeof to->text - to->length, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && (size_t)length < sizeof to->text - to->length);
    to->length += (size_t)length;
}

const char *build_type(build *b, const char *name)
{
    static writer to;
    to.length = 0;
    const rmsnorm_ir_value *const value = &b->ir->values[build_find(b, name)].shown;
    put(&to, "%s:", value->type.dtype == RMSNORM_UNDEFINED ? "?" : rmsnorm_dtype_name(value->type.dtype));
    if (value->open) {
        put(&to, "%s", value->type.rank == 0 ? "*" : "...,");
    }
    for (int32_t d = 0; d < value->type.rank; d++) {
        const char *const comma = d + 1 < value->type.rank ? "," : "";
        if (value->type.dims[d] != RMSNORM_UNKNOWN) {
            put(&to, "%" PRId64 "%s", value->type.dims[d], comma);
        } else {
            put(&to, "%s%s", value->type.dim_names[d] != NULL ? value->type.dim_names[d] : "?", comma);
        }
    }
    return copy(b, to.text, to.length);
}

static void put_values(writer *to, const rmsnorm_ir *ir, const size_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        put(to, "%s%s", i > 0 ? ", " : "", values[i] == RMSNORM_NO_INDEX ? "" : ir->values[values[i]].shown.name);
    }
}

const char *build_nodes(build *b, size_t graph)
{
    static writer to;
    to.length = 0;
    to.text[0] = '\0';
    for (size_t n = b->ir->graphs[graph].first; n != RMSNORM_NO_INDEX; n = b->ir->nodes[n].shown.next) {
        const rmsnorm_ir_node *const node = &b->ir->nodes[n].shown;
        put(&to, "%s%s(", to.length > 0 ? "; " : "", node->op_type);
        put_values(&to, b->ir, node->inputs, node->input_count);
        put(&to, ") = ");
        put_values(&to, b->ir, node->outputs, node->output_count);
    }
    return copy(b, to.text, to.length);
}
