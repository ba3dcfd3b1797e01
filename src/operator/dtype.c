#include <stdint.h>
#include <string.h>

#include "operator/size.h"
#include "rmsnorm/rmsnorm.h"

/* Index: TensorProto.DataType. */
static const char *const names[] = {
    "undefined", "float",      "uint8",      "int8",         "uint16",         "int16",      "int32",
    "int64",     "string",     "bool",       "float16",      "double",         "uint32",     "uint64",
    "complex64", "complex128", "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz",
    "uint4",     "int4",       "float4e2m1", "float8e8m0",   "uint2",          "int2",
};

const char *rmsnorm_dtype_name(rmsnorm_dtype dtype)
{
    const size_t code = (size_t)dtype;
    return code < sizeof names / sizeof names[0] ? names[code] : "unknown";
}

rmsnorm_dtype rmsnorm_dtype_from_name(const char *name)
{
    static const struct {
        const char *name;
        rmsnorm_dtype dtype;
    } spellings[] = {
        {"float", RMSNORM_FLOAT},   {"float32", RMSNORM_FLOAT},  {"float16", RMSNORM_FLOAT16},
        {"double", RMSNORM_DOUBLE}, {"float64", RMSNORM_DOUBLE}, {"bfloat16", RMSNORM_BFLOAT16},
    };
    for (size_t i = 0; name != NULL && i < sizeof spellings / sizeof spellings[0]; ++i) {
        if (strcmp(name, spellings[i].name) == 0) {
            return spellings[i].dtype;
        }
    }
    return RMSNORM_UNDEFINED;
}

size_t rmsnorm_dtype_size(rmsnorm_dtype dtype)
{
    return rmsnorm_float_size(dtype);
}

int64_t rmsnorm_tensor_count(const rmsnorm_tensor *tensor)
{
    if (tensor == NULL || tensor->rank < 0 || tensor->rank > RMSNORM_MAX_RANK) {
        return RMSNORM_UNKNOWN;
    }
    int64_t count = 1;
    int64_t signs = 0;
    bool fits = true;
    bool empty = false;
    for (int32_t i = 0; i < tensor->rank; ++i) {
        const int64_t dim = tensor->dims[i];
        signs |= dim;
        empty |= dim == 0;
        fits &= rmsnorm_multiply(count, dim, &count);
    }
    if (signs < 0) {
        return RMSNORM_UNKNOWN;
    }
    if (empty) {
        return 0;
    }
    int64_t bytes = 0;
    const size_t size = rmsnorm_item_size(tensor->dtype);
    return fits && rmsnorm_multiply(count, size > 0 ? (int64_t)size : 1, &bytes) ? count : RMSNORM_UNKNOWN;
}
