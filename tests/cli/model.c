/* model.c: small ONNX files, field by field (numbers: onnx.proto). */
#include "model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support.h"

static void put_varint(message *to, uint64_t value)
{
    do {
        assert_true(to->size < sizeof to->bytes);
        to->bytes[to->size++] = (unsigned char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value != 0);
}

static void put_number(message *to, unsigned field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_bytes(message *to, unsigned field, const void *bytes, size_t size)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, size);
    assert_true(to->size + size <= sizeof to->bytes);
    if (size > 0) {
        memcpy(to->bytes + to->size, bytes, size);
    }
    to->size += size;
}

static void put_text(message *to, unsigned field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

static void put_message(message *to, unsigned field, const message *value)
{
    put_bytes(to, field, value->bytes, value->size);
}

void model_begin(model *self)
{
    self->graph.size = 0;
    put_text(&self->graph, 2, "graph");
}

static message *new_message(void)
{
    message *fresh = calloc(1, sizeof *fresh);
    assert_non_null(fresh);
    return fresh;
}

/* The next part of a comma-separated list, or false at its end; "" is a list of one empty part. */
static bool next_part(const char **list, char *part, size_t size)
{
    if (*list == NULL) {
        return false;
    }
    const size_t length = strcspn(*list, ",");
    assert_true(length < size);
    memcpy(part, *list, length);
    part[length] = '\0';
    *list = (*list)[length] == ',' ? *list + length + 1 : NULL;
    return true;
}

static void put_value(model *self, unsigned field, const char *name, int dtype, const char *dims)
{
    message *info = new_message();
    message *type = new_message();
    message *tensor = new_message();
    message *shape = new_message();
    put_number(tensor, 1, (uint64_t)dtype);
    if (dims != NULL) {
        char part[64];
        const char *list = dims[0] == '\0' ? NULL : dims;
        while (next_part(&list, part, sizeof part)) {
            message *dim = new_message();
            if (part[0] >= '0' && part[0] <= '9') {
                put_number(dim, 1, strtoull(part, NULL, 10));
            } else if (part[0] != '?') {
                put_text(dim, 2, part);
            }
            put_message(shape, 1, dim);
            free(dim);
        }
        put_message(tensor, 2, shape);
    }
    put_message(type, 1, tensor);
    put_text(info, 1, name);
    put_message(info, 2, type);
    put_message(&self->graph, field, info);
    free(info);
    free(type);
    free(tensor);
    free(shape);
}

void model_input(model *self, const char *name, int dtype, const char *dims)
{
    put_value(self, 11, name, dtype, dims);
}

void model_output(model *self, const char *name, int dtype, const char *dims)
{
    put_value(self, 12, name, dtype, dims);
}

/* values NULL: zeros. */
static message *tensor_message(const char *name, int dtype, size_t item_size, const char *dims, const void *values)
{
    message *tensor = new_message();
    size_t count = 1;
    char part[64];
    const char *list = dims[0] == '\0' ? NULL : dims;
    while (next_part(&list, part, sizeof part)) {
        put_number(tensor, 1, strtoull(part, NULL, 10));
        count *= strtoul(part, NULL, 10);
    }
    put_number(tensor, 2, (uint64_t)dtype);
    put_text(tensor, 8, name);
    void *zeros = calloc(count + 1, item_size);
    assert_non_null(zeros);
    put_bytes(tensor, 9, values != NULL ? values : zeros, count * item_size);
    free(zeros);
    return tensor;
}

void model_initializer(model *self, const char *name, const char *dims, const float *values)
{
    message *tensor = tensor_message(name, RMSNORM_FLOAT, 4, dims, values);
    put_message(&self->graph, 5, tensor);
    free(tensor);
}

void model_foreign_initializer(model *self, const char *name, int dtype, size_t item_size, const char *dims)
{
    message *tensor = tensor_message(name, dtype, item_size, dims, NULL);
    put_message(&self->graph, 5, tensor);
    free(tensor);
}

void model_integers(model *self, const char *name, const char *dims, const int64_t *values)
{
    message *tensor = tensor_message(name, RMSNORM_INT64, 8, dims, values);
    put_message(&self->graph, 5, tensor);
    free(tensor);
}

static void put_float(message *to, unsigned field, const char *text)
{
    const float number = strtof(text, NULL);
    put_varint(to, field << 3 | 5);
    memcpy(to->bytes + to->size, &number, 4);
    to->size += 4;
}

/* "1,-2]" */
static void put_list(message *attribute, const char *list)
{
    char part[32];
    const bool floats = strchr(list, '.') != NULL;
    const char *next = list[0] == ']' ? NULL : list;
    while (next_part(&next, part, sizeof part)) {
        if (floats) {
            put_float(attribute, 7, part);
        } else {
            put_number(attribute, 8, (uint64_t)strtoll(part, NULL, 10));
        }
    }
    put_number(attribute, 20, floats ? 6 : 7);
}

static void put_attribute(message *node, const char *word, size_t length)
{
    char text[64];
    assert_true(length < sizeof text);
    memcpy(text, word, length);
    text[length] = '\0';
    char *value = strchr(text, '=');
    assert_non_null(value);
    *value++ = '\0';
    message *attribute = new_message();
    put_text(attribute, 1, text);
    if (value[0] == '[') {
        put_list(attribute, value + 1);
    } else if (strchr(value, '.') != NULL) {
        put_float(attribute, 2, value);
        put_number(attribute, 20, 1);
    } else {
        put_number(attribute, 3, (uint64_t)strtoll(value, NULL, 10));
        put_number(attribute, 20, 2);
    }
    put_message(node, 5, attribute);
    free(attribute);
}

static message *node_message(const char *name, const char *domain, const char *op_type, const char *inputs,
                             const char *outputs)
{
    message *node = new_message();
    char part[256];
    while (next_part(&inputs, part, sizeof part)) {
        put_text(node, 1, part);
    }
    while (next_part(&outputs, part, sizeof part)) {
        put_text(node, 2, part);
    }
    put_text(node, 3, name);
    put_text(node, 4, op_type);
    put_text(node, 7, domain);
    return node;
}

void model_node(model *self, const char *name, const char *domain, const char *op_type, const char *inputs,
                const char *outputs, const char *attributes)
{
    message *node = node_message(name, domain, op_type, inputs, outputs);
    for (const char *next = attributes; *next != '\0';) {
        const size_t length = strcspn(next, " ");
        put_attribute(node, next, length);
        next += length + (next[length] == ' ');
    }
    put_message(&self->graph, 1, node);
    free(node);
}

void model_constant(model *self, const char *name, const char *output, const char *dims, const float *values)
{
    model_value_node(self, name, "Constant", NULL, output, RMSNORM_FLOAT, 4, dims, values);
}

void model_value_node(model *self, const char *name, const char *op_type, const char *inputs, const char *output,
                      int dtype, size_t item_size, const char *dims, const void *values)
{
    message *node = node_message(name, "", op_type, inputs, output);
    message *attribute = new_message();
    message *tensor = tensor_message("value", dtype, item_size, dims, values);
    put_text(attribute, 1, "value");
    put_message(attribute, 5, tensor);
    put_number(attribute, 20, 4);
    put_message(node, 5, attribute);
    put_message(&self->graph, 1, node);
    free(node);
    free(attribute);
    free(tensor);
}

void model_write(const model *self, int opset, const char *path)
{
    message *whole = new_message();
    message *import = new_message();
    put_number(whole, 1, 8);
    put_message(whole, 7, &self->graph);
    put_text(import, 1, "");
    put_number(import, 2, (uint64_t)opset);
    put_message(whole, 8, import);
    import->size = 0;
    put_text(import, 1, "com.microsoft");
    put_number(import, 2, 1);
    put_message(whole, 8, import);
    write_bytes(path, whole->bytes, whole->size);
    free(whole);
    free(import);
}
