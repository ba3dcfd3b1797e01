/* Tensor files: the format follows from the name. */
#include "graph/bytes.h"
#include "graph/npy.h"
#include "graph/output.h"
#include "graph/safetensors.h"
#include "graph/tensor_proto.h"
#include "operator/error.h"
#include "rmsnorm/graph.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef enum format { FORMAT_NPY, FORMAT_PB, FORMAT_SAFETENSORS, FORMAT_TOLD_BY_CONTENT } format;

/* A name taken apart. */
typedef struct location {
    format format;
    bool bfloat16;
    const char *tensor; /* after .safetensors:, else NULL */
    char file[];
} location;

static bool ends_with(const char *text, size_t length, const char *end)
{
    const size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

static bool set_format(location *where, size_t length)
{
    if (strcmp(where->file, "-") == 0) {
        where->format = where->bfloat16 ? FORMAT_NPY : FORMAT_TOLD_BY_CONTENT;
    } else if (ends_with(where->file, length, ".npy")) {
        where->format = FORMAT_NPY;
    } else if (ends_with(where->file, length, ".pb") && !where->bfloat16) {
        where->format = FORMAT_PB;
    } else {
        return false;
    }
    return true;
}

static rmsnorm_status locate(const char *path, location **result)
{
    RMSNORM_CHECK(path != NULL && path[0] != '\0', RMSNORM_INVALID_ARGUMENT, "tensor file: the name is empty");
    const char *const safetensors = ".safetensors";
    const char *const suffix = ":bfloat16";
    size_t length = strlen(path);
    location *const where = calloc(1, sizeof *where + length + 1);
    if (where == NULL) {
        return rmsnorm_fail_memory(rmsnorm_file_display(path), length);
    }
    memcpy(where->file, path, length);
    *result = where;
    /* First: behind .safetensors: everything is the tensor's name. */
    char *const marker = strstr(where->file, ".safetensors:");
    if (marker != NULL || ends_with(path, length, safetensors)) {
        where->format = FORMAT_SAFETENSORS;
        if (marker != NULL) {
            marker[strlen(safetensors)] = '\0';
            where->tensor = marker + strlen(safetensors) + 1;
        }
        return RMSNORM_OK;
    }
    where->bfloat16 = ends_with(path, length, suffix);
    if (where->bfloat16) {
        length -= strlen(suffix);
        where->file[length] = '\0';
    }
    if (set_format(where, length)) {
        return RMSNORM_OK;
    }
    free(where);
    return rmsnorm_fail(
        RMSNORM_INVALID_ARGUMENT,
        "%s: is no name of a tensor file; FILE.npy, FILE.npy:bfloat16, FILE.pb, FILE.safetensors:TENSOR and - "
        "are allowed",
        rmsnorm_file_display(path));
}

static rmsnorm_status read_located(rmsnorm_source *source, const location *where, rmsnorm_tensor *tensor,
                                   const char **name)
{
    format chosen = where->format;
    if (chosen == FORMAT_TOLD_BY_CONTENT) {
        const uint8_t *head;
        size_t size;
        RMSNORM_TRY(rmsnorm_source_peek(source, 6, &head, &size));
        chosen = size == 6 && memcmp(head + 1, "NUMPY", 5) == 0 ? FORMAT_NPY : FORMAT_PB;
    }
    switch (chosen) {
    case FORMAT_NPY:
        return rmsnorm_npy_read(source, where->bfloat16, tensor, name);
    case FORMAT_SAFETENSORS:
        return rmsnorm_safetensors_read(source, where->tensor, tensor, name);
    default:
        return rmsnorm_tensor_proto_read(source, tensor, name);
    }
}

rmsnorm_status rmsnorm_tensor_read(const char *path, rmsnorm_tensor *tensor, const char **name)
{
    RMSNORM_CHECK(tensor != NULL, RMSNORM_INVALID_ARGUMENT, "rmsnorm_tensor_read: tensor is NULL");
    location *where;
    RMSNORM_TRY(locate(path, &where));
    rmsnorm_source source;
    rmsnorm_status status = rmsnorm_source_open(&source, where->file);
    if (status == RMSNORM_OK) {
        const char *own_name;
        status = read_located(&source, where, tensor, &own_name);
        if (status == RMSNORM_OK && name != NULL) {
            *name = own_name;
        }
        rmsnorm_source_close(&source);
    }
    free(where);
    return status;
}

void rmsnorm_tensor_file_release(rmsnorm_tensor *tensor)
{
    if (tensor != NULL) {
        free(tensor->data);
        *tensor = (rmsnorm_tensor){.data = NULL};
    }
}

static rmsnorm_status check_writable(const char *file, const rmsnorm_tensor *tensor)
{
    RMSNORM_CHECK(tensor != NULL, RMSNORM_INVALID_ARGUMENT, "%s: the tensor to write is NULL", file);
    RMSNORM_CHECK(rmsnorm_dtype_size(tensor->dtype) > 0, RMSNORM_UNSUPPORTED,
                  "%s: tensors of type %s are not written; float, double, float16 and bfloat16 are", file,
                  rmsnorm_dtype_name(tensor->dtype));
    const int64_t count = rmsnorm_tensor_count(tensor);
    RMSNORM_CHECK(count >= 0, RMSNORM_INVALID_ARGUMENT,
                  "%s: the tensor to write has no numeric shape that fits 63 bits", file);
    RMSNORM_CHECK(count == 0 || tensor->data != NULL, RMSNORM_INVALID_ARGUMENT, "%s: the tensor to write has no data",
                  file);
    const int64_t row = tensor->rank > 0 ? tensor->dims[tensor->rank - 1] : 1;
    RMSNORM_CHECK(tensor->row_stride == 0 || tensor->row_stride >= row, RMSNORM_INVALID_ARGUMENT,
                  "%s: the tensor to write has row_stride %" PRId64 "; 0 or at least its last dim, %" PRId64
                  ", is allowed",
                  file, tensor->row_stride, row);
    return RMSNORM_OK;
}

/* The tensor's name in a .safetensors file. */
static const char *inner_name(const location *where, const char *name)
{
    return where->tensor != NULL ? where->tensor : name != NULL && name[0] != '\0' ? name : "tensor";
}

static rmsnorm_status make_header(const location *where, const rmsnorm_tensor *tensor, const char *name,
                                  uint8_t **header, size_t *size)
{
    const char *const file = rmsnorm_file_display(where->file);
    RMSNORM_TRY(check_writable(file, tensor));
    switch (where->format) {
    case FORMAT_PB:
        return rmsnorm_tensor_proto_header_write(file, tensor, name, header, size);
    case FORMAT_SAFETENSORS:
        return rmsnorm_safetensors_header_write(file, tensor, inner_name(where, name), header, size);
    default:
        return rmsnorm_npy_header_write(file, where->bfloat16, tensor, header, size);
    }
}

static rmsnorm_status check_place(const location *where, const char *name)
{
    return where->format == FORMAT_SAFETENSORS
               ? rmsnorm_safetensors_check_replaced(where->file, inner_name(where, name))
               : RMSNORM_OK;
}

rmsnorm_status rmsnorm_tensor_write_check(const char *path, const char *name)
{
    location *where;
    RMSNORM_TRY(locate(path, &where));
    const rmsnorm_status status = check_place(where, name);
    free(where);
    return status;
}

rmsnorm_status rmsnorm_tensor_write(const char *path, const rmsnorm_tensor *tensor, const char *name)
{
    location *where;
    uint8_t *header;
    size_t size;
    RMSNORM_TRY(locate(path, &where));
    rmsnorm_status status = check_place(where, name);
    if (status == RMSNORM_OK) {
        status = make_header(where, tensor, name, &header, &size);
    }
    if (status == RMSNORM_OK) {
        status = rmsnorm_output_write(where->file, header, size, tensor);
        free(header);
    }
    free(where);
    return status;
}
