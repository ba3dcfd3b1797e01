#include "fuzz/fuzz.h"
#include "operator/size.h"

#include <stdlib.h>
#include <string.h>

void fuzz_check_status(rmsnorm_status status)
{
    if (status != RMSNORM_OK) {
        const char *const sentence = rmsnorm_last_error();
        FUZZ_CHECK(status != RMSNORM_OUT_OF_MEMORY);
        FUZZ_CHECK(strncmp(sentence, "FILE", 4) == 0);
        FUZZ_CHECK(strpbrk(sentence, "\r\n\t\033") == NULL);
    }
}

static size_t bytes_of(const rmsnorm_tensor *tensor)
{
    return (size_t)rmsnorm_tensor_count(tensor) * rmsnorm_item_size(tensor->dtype);
}

void fuzz_check_tensor(const rmsnorm_tensor *tensor)
{
    FUZZ_CHECK(tensor->rank >= 0 && tensor->rank <= RMSNORM_MAX_RANK);
    FUZZ_CHECK(rmsnorm_tensor_count(tensor) >= 0);
    FUZZ_CHECK(tensor->data != NULL && (uintptr_t)tensor->data % 64 == 0);
    /* The sanitizer checks the copy; the comparison keeps it. */
    const size_t size = bytes_of(tensor);
    uint8_t *const copy = malloc(size + 1);
    FUZZ_CHECK(copy != NULL);
    memcpy(copy, tensor->data, size);
    FUZZ_CHECK(memcmp(copy, tensor->data, size) == 0);
    free(copy);
}

void fuzz_check_again(const rmsnorm_tensor *tensor, uint8_t *header, size_t header_size, fuzz_reader read)
{
    const size_t size = bytes_of(tensor);
    uint8_t *const file = realloc(header, header_size + size + 1);
    FUZZ_CHECK(file != NULL);
    memcpy(file + header_size, tensor->data, size); /* libFuzzer runs on little-endian hosts */
    rmsnorm_source source = rmsnorm_source_memory("FILE", file, header_size + size);
    rmsnorm_tensor back;
    const char *name;
    FUZZ_CHECK(read(&source, &back, &name) == RMSNORM_OK);
    FUZZ_CHECK(back.dtype == tensor->dtype && back.rank == tensor->rank);
    FUZZ_CHECK(memcmp(back.dims, tensor->dims, sizeof back.dims) == 0);
    FUZZ_CHECK(memcmp(back.data, tensor->data, size) == 0);
    rmsnorm_tensor_file_release(&back);
    free(file);
}
