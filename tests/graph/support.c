#define _XOPEN_SOURCE 700

#include "graph/support.h"

#include "graph/model.h"
#include "graph/npy.h"
#include "graph/safetensors.h"
#include "graph/tensor_proto.h"
#include "operator/size.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char directory[64];

int make_directory(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/rmsnorm-graph-XXXXXX");
    return mkdtemp(directory) != NULL ? 0 : -1;
}

static size_t visit(void (*act)(const char *path))
{
    DIR *const open = opendir(directory);
    assert_non_null(open);
    size_t count = 0;
    for (const struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            if (act != NULL) {
                act(path_of(entry->d_name));
            }
        }
    }
    closedir(open);
    return count;
}

static void remove_entry(const char *path)
{
    remove(path);
}

int remove_directory(void **state)
{
    (void)state;
    visit(remove_entry);
    return rmdir(directory);
}

size_t directory_count(void)
{
    return visit(NULL);
}

const char *path_of(const char *name)
{
    static char paths[8][512];
    static unsigned next;
    char *const path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

void put(bytes *to, const void *data, size_t size)
{
    if (to->size + size > to->capacity) {
        to->capacity = 2 * (to->size + size) + 64;
        to->data = realloc(to->data, to->capacity);
        assert_non_null(to->data);
    }
    if (size > 0) {
        memcpy(to->data + to->size, data, size);
        to->size += size;
    }
}

void put_text(bytes *to, const char *text)
{
    put(to, text, strlen(text));
}

void put_little(bytes *to, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const uint8_t byte = (uint8_t)(value >> (8 * i));
        put(to, &byte, 1);
    }
}

void release(bytes *of)
{
    free(of->data);
    *of = (bytes){0};
}

void save(const char *path, const bytes *content)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(content->data, 1, content->size, file), content->size);
    assert_int_equal(fclose(file), 0);
}

bytes load(const char *path)
{
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    bytes content = {0};
    uint8_t piece[4096];
    for (size_t got = fread(piece, 1, sizeof piece, file); got > 0; got = fread(piece, 1, sizeof piece, file)) {
        put(&content, piece, got);
    }
    fclose(file);
    return content;
}

void put_varint(bytes *to, uint64_t value)
{
    do {
        const uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        put(to, &byte, 1);
        value >>= 7;
    } while (value > 0);
}

void field_varint(bytes *to, unsigned field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

void field_float(bytes *to, unsigned field, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_varint(to, field << 3 | 5);
    put_little(to, bits, 4);
}

void field_bytes(bytes *to, unsigned field, const void *data, size_t size)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, size);
    put(to, data, size);
}

void field_text(bytes *to, unsigned field, const char *text)
{
    field_bytes(to, field, text, strlen(text));
}

void field_message(bytes *to, unsigned field, bytes *message)
{
    field_bytes(to, field, message->data, message->size);
    release(message);
}

bytes npy_file(const char *dict, const void *data, size_t size)
{
    bytes file = {0};
    put(&file, "\x93NUMPY\x01\x00", 8);
    put_little(&file, strlen(dict), 2);
    put_text(&file, dict);
    put(&file, data, size);
    return file;
}

bytes safetensors_file(const char *header, const void *data, size_t size)
{
    bytes file = {0};
    put_little(&file, strlen(header), 8);
    put_text(&file, header);
    put(&file, data, size);
    return file;
}

bytes tensor_message(const char *name, int32_t type, const int64_t *dims, size_t rank, const void *data, size_t size)
{
    bytes message = {0};
    for (size_t i = 0; i < rank; i++) {
        field_varint(&message, 1, (uint64_t)dims[i]);
    }
    field_varint(&message, 2, (uint64_t)type);
    field_text(&message, 8, name);
    field_bytes(&message, 9, data, size);
    return message;
}

rmsnorm_status read_npy(const bytes *content, rmsnorm_tensor *tensor)
{
    const char *name;
    rmsnorm_source source = rmsnorm_source_memory("FILE", content->data, content->size);
    return rmsnorm_npy_read(&source, false, tensor, &name);
}

rmsnorm_status read_npy_bfloat16(const bytes *content, rmsnorm_tensor *tensor)
{
    const char *name;
    rmsnorm_source source = rmsnorm_source_memory("FILE", content->data, content->size);
    return rmsnorm_npy_read(&source, true, tensor, &name);
}

rmsnorm_status read_pb(const bytes *content, rmsnorm_tensor *tensor)
{
    const char *name;
    rmsnorm_source source = rmsnorm_source_memory("FILE", content->data, content->size);
    return rmsnorm_tensor_proto_read(&source, tensor, &name);
}

rmsnorm_status read_safetensors(const bytes *content, const char *wanted, rmsnorm_tensor *tensor)
{
    const char *name;
    rmsnorm_source source = rmsnorm_source_memory("FILE", content->data, content->size);
    return rmsnorm_safetensors_read(&source, wanted, tensor, &name);
}

rmsnorm_status read_model(const bytes *content, rmsnorm_model **model)
{
    rmsnorm_source source = rmsnorm_source_memory("FILE", content->data, content->size);
    return rmsnorm_model_load(&source, NULL, model);
}

void expect_refusal(rmsnorm_status got, rmsnorm_status wanted, const char *part)
{
    const char *const sentence = rmsnorm_last_error();
    if (got != wanted || strstr(sentence, part) == NULL || strchr(sentence, '\n') != NULL) {
        print_error("status %d, wanted %d; sentence \"%s\", wanted \"%s\"\n", got, wanted, sentence, part);
        fail();
    }
}

void expect_tensor(const rmsnorm_tensor *tensor, rmsnorm_dtype dtype, const int64_t *dims, int32_t rank,
                   const void *data, size_t size)
{
    assert_int_equal(tensor->dtype, dtype);
    assert_int_equal(tensor->rank, rank);
    for (int32_t i = 0; i < rank; i++) {
        assert_int_equal(tensor->dims[i], dims[i]);
    }
    assert_non_null(tensor->data);
    assert_int_equal((uintptr_t)tensor->data % 64, 0);
    assert_int_equal(rmsnorm_tensor_count(tensor) * (int64_t)rmsnorm_item_size(dtype), size);
    if (size > 0) {
        assert_memory_equal(tensor->data, data, size);
    }
}
