#include "graph/bytes.h"

#include "operator/error.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool host_is_big_endian(void)
{
    const uint16_t probe = 1;
    uint8_t first;
    memcpy(&first, &probe, 1);
    return first == 0;
}

bool rmsnorm_bytes_differ(size_t item, bool file_is_big_endian)
{
    return item > 1 && file_is_big_endian != host_is_big_endian();
}

void rmsnorm_bytes_reorder(void *data, size_t count, size_t item, bool file_is_big_endian)
{
    if (!rmsnorm_bytes_differ(item, file_is_big_endian)) {
        return;
    }
    uint8_t *at = data;
    for (size_t i = 0; i < count; i++, at += item) {
        for (size_t low = 0, high = item - 1; low < high; low++, high--) {
            const uint8_t kept = at[low];
            at[low] = at[high];
            at[high] = kept;
        }
    }
}

uint64_t rmsnorm_bytes_load(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)bytes[i] << (8 * i);
    }
    return value;
}

void rmsnorm_bytes_store(uint8_t *bytes, size_t size, uint64_t value)
{
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(value >> (8 * i));
    }
}

/* Bytes of the character that begins here, 0 when none does. The second byte's range is what excludes overlong forms
 * (E0, F0), surrogates (ED) and numbers past U+10FFFF (F4). */
static size_t character_size(const uint8_t *text, size_t size)
{
    const uint8_t first = text[0];
    if (first < 0x80) {
        return first != 0;
    }
    const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || length > size) {
        return 0;
    }
    const uint8_t low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < low || text[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return length;
}

bool rmsnorm_text_valid(const uint8_t *text, size_t size)
{
    while (size > 0) {
        const size_t length = character_size(text, size);
        if (length == 0) {
            return false;
        }
        text += length;
        size -= length;
    }
    return true;
}

const char *rmsnorm_file_display(const char *path)
{
    const size_t shown = 300;
    const size_t length = strlen(path);
    return length > shown ? path + (length - shown) : path;
}

rmsnorm_status rmsnorm_shape_set(rmsnorm_tensor *tensor, const char *where, rmsnorm_dtype dtype, size_t rank,
                                 const int64_t *dims)
{
    RMSNORM_CHECK(rank <= RMSNORM_MAX_RANK, RMSNORM_MALFORMED, "%s has %zu dims; at most %d are supported", where, rank,
                  RMSNORM_MAX_RANK);
    rmsnorm_tensor shaped = {.dtype = dtype, .rank = (int32_t)rank};
    for (size_t i = 0; i < rank; i++) {
        RMSNORM_CHECK(dims[i] >= 0, RMSNORM_MALFORMED, "%s has dim %zu = %" PRId64 "; it must not be negative", where,
                      i, dims[i]);
        shaped.dims[i] = dims[i];
    }
    RMSNORM_CHECK(rmsnorm_tensor_count(&shaped) >= 0, RMSNORM_MALFORMED,
                  "%s has a shape whose bytes do not fit 63 bits", where);
    *tensor = shaped;
    return RMSNORM_OK;
}

void *rmsnorm_memory_aligned(size_t size)
{
    const size_t alignment = 64;
    if (size > SIZE_MAX - alignment) {
        return NULL;
    }
    const size_t blocks = size / alignment + (size % alignment != 0 || size == 0);
    return aligned_alloc(alignment, blocks * alignment);
}

rmsnorm_status rmsnorm_fail_memory(const char *where, uint64_t bytes)
{
    return rmsnorm_fail(RMSNORM_OUT_OF_MEMORY, "%s: no memory for %" PRIu64 " bytes", where, bytes);
}
