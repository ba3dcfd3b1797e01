#include "graph/npy.h"

#include "graph/bytes.h"
#include "operator/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[6] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y'};

/* Versions 2 and 3 have room for 4 GiB, for structured types; a plain one needs hundreds of bytes. */
#define HEADER_LIMIT ((uint64_t)1 << 20)

/* How a descr is read: after its byte order, '<' or '>', or '|' for raw bytes, which are taken as little-endian: NumPy
 * writes it for types it does not know (ml_dtypes' bfloat16), on hosts that are little-endian today. '=' means the
 * order of whoever wrote the file, which the file does not tell; NumPy never writes it. */
typedef struct spelling {
    const char *code;
    bool bfloat16; /* with the suffix :bfloat16 */
    rmsnorm_dtype dtype;
} spelling;

static const spelling spellings[] = {
    {"f2", false, RMSNORM_FLOAT16}, {"f4", false, RMSNORM_FLOAT},   {"f8", false, RMSNORM_DOUBLE},
    {"u2", true, RMSNORM_BFLOAT16}, {"i2", true, RMSNORM_BFLOAT16}, {"f2", true, RMSNORM_BFLOAT16},
    {"V2", true, RMSNORM_BFLOAT16},
};

static const spelling *find_spelling(const char *descr, bool bfloat16)
{
    for (size_t i = 0; i < sizeof spellings / sizeof spellings[0]; i++) {
        const spelling *const s = &spellings[i];
        const char *const orders = s->code[0] == 'V' ? "|" : "<>";
        if (s->bfloat16 == bfloat16 && descr[0] != '\0' && strchr(orders, descr[0]) != NULL &&
            strcmp(descr + 1, s->code) == 0) {
            return s;
        }
    }
    return NULL;
}

static rmsnorm_status fail_descr(const char *file, const char *descr, bool bfloat16)
{
    if (bfloat16) {
        return rmsnorm_fail(RMSNORM_UNSUPPORTED,
                            "%s: has elements \"%s\"; with :bfloat16 allowed are \"<u2\", \"<i2\", \"<f2\" and \"|V2\"",
                            file, descr);
    }
    const bool two_bytes = find_spelling(descr, true) != NULL;
    return rmsnorm_fail(RMSNORM_UNSUPPORTED, "%s: has elements \"%s\"; allowed are \"<f2\", \"<f4\" and \"<f8\"%s",
                        file, descr,
                        two_bytes ? ", and 2-byte items as bfloat16 when the name ends in .npy:bfloat16" : "");
}

static rmsnorm_status read_dict(rmsnorm_source *source, rmsnorm_npy_header *header)
{
    const char *const what = "the .npy header";
    uint8_t start[8];
    uint8_t length_bytes[4];
    RMSNORM_TRY(rmsnorm_source_read(source, start, sizeof start, what));
    RMSNORM_CHECK(memcmp(start, magic, sizeof magic) == 0, RMSNORM_MALFORMED,
                  "%s: does not begin like a .npy file (0x93 NUMPY)", source->file);
    RMSNORM_CHECK(start[6] >= 1 && start[6] <= 3 && start[7] == 0, RMSNORM_UNSUPPORTED,
                  "%s: is version %d.%d of the .npy format; 1.0, 2.0 and 3.0 are allowed", source->file, start[6],
                  start[7]);
    const size_t length_size = start[6] == 1 ? 2 : 4;
    RMSNORM_TRY(rmsnorm_source_read(source, length_bytes, length_size, what));
    const uint64_t length = rmsnorm_bytes_load(length_bytes, length_size);
    RMSNORM_CHECK(length <= HEADER_LIMIT, RMSNORM_MALFORMED,
                  "%s: the .npy header claims %" PRIu64 " bytes; at most %" PRIu64 " are read", source->file, length,
                  HEADER_LIMIT);
    uint8_t *text = NULL;
    RMSNORM_TRY(rmsnorm_source_take(source, length, what, &text));
    const rmsnorm_status status = rmsnorm_npy_parse(source->file, (const char *)text, (size_t)length, header);
    free(text);
    return status;
}

rmsnorm_status rmsnorm_npy_read(rmsnorm_source *source, bool bfloat16, rmsnorm_tensor *tensor, const char **name)
{
    rmsnorm_npy_header header;
    RMSNORM_TRY(read_dict(source, &header));
    const spelling *const found = find_spelling(header.descr, bfloat16);
    if (found == NULL) {
        return fail_descr(source->file, header.descr, bfloat16);
    }
    RMSNORM_CHECK(!header.fortran_order || header.rank < 2, RMSNORM_UNSUPPORTED,
                  "%s: is in Fortran order; save it in C order (numpy.ascontiguousarray)", source->file);
    rmsnorm_tensor result;
    RMSNORM_TRY(rmsnorm_shape_set(&result, source->file, found->dtype, header.rank, header.dims));
    RMSNORM_TRY(rmsnorm_source_elements(source, &result, header.descr[0] == '>', "", name));
    const rmsnorm_status status = rmsnorm_source_end(source, "the data of its shape");
    if (status != RMSNORM_OK) {
        free(result.data);
        return status;
    }
    *tensor = result;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_npy_header_write(const char *file, bool bfloat16, const rmsnorm_tensor *tensor, uint8_t **header,
                                        size_t *size)
{
    RMSNORM_CHECK(bfloat16 || tensor->dtype != RMSNORM_BFLOAT16, RMSNORM_UNSUPPORTED,
                  "%s: .npy has no bfloat16; add :bfloat16 to its name for 2-byte items, or write .pb or .safetensors",
                  file);
    RMSNORM_CHECK(!bfloat16 || tensor->dtype == RMSNORM_BFLOAT16, RMSNORM_UNSUPPORTED,
                  "%s: the suffix :bfloat16 is for bfloat16 tensors, this one is %s", file,
                  rmsnorm_dtype_name(tensor->dtype));
    char shape[RMSNORM_MAX_RANK * 22 + 1] = "";
    size_t used = 0;
    for (int32_t i = 0; i < tensor->rank; i++) {
        used += (size_t)snprintf(shape + used, sizeof shape - used, i == 0 ? "%" PRId64 "," : " %" PRId64 ",",
                                 tensor->dims[i]);
    }
    if (tensor->rank > 1) {
        shape[used - 1] = '\0'; /* as NumPy writes it: a trailing comma only in (3,) */
    }
    const int item = bfloat16 ? 2 : (int)rmsnorm_dtype_size(tensor->dtype);
    char dict[sizeof shape + 64];
    const int length = snprintf(dict, sizeof dict, "{'descr': '<%c%d', 'fortran_order': False, 'shape': (%s), }",
                                bfloat16 ? 'u' : 'f', item, shape);
    /* Magic, version and length take 10 bytes; a newline ends the header, and the elements begin at a multiple of
     * 64. */
    const size_t total = (10 + (size_t)length + 1 + 63) / 64 * 64;
    uint8_t *const bytes = malloc(total);
    if (bytes == NULL) {
        return rmsnorm_fail_memory(file, total);
    }
    memset(bytes, ' ', total);
    memcpy(bytes, magic, sizeof magic);
    bytes[6] = 1;
    bytes[7] = 0;
    rmsnorm_bytes_store(bytes + 8, 2, total - 10);
    memcpy(bytes + 10, dict, (size_t)length);
    bytes[total - 1] = '\n';
    *header = bytes;
    *size = total;
    return RMSNORM_OK;
}
