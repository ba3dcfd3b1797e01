/* json.c: answers as JSON. */
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "attributes.h"
#include "cli.h"
#include "text.h"

void rmsnorm_cli_write_json(FILE *file, json_t *value, bool narrow)
{
    /* A failed write shows in main, which checks standard output once for all. */
    (void)json_dumpf(value, file, (size_t)JSON_INDENT(2) | (size_t)JSON_REAL_PRECISION(narrow ? 9 : 17));
    json_decref(value);
    (void)fputc('\n', file);
}

void rmsnorm_cli_print_json(json_t *value, bool narrow)
{
    rmsnorm_cli_write_json(stdout, value, narrow);
}

json_t *rmsnorm_cli_json_text(const char *text)
{
    char *copy = rmsnorm_cli_allocate(3 * strlen(text) + 1, 1);
    rmsnorm_cli_repair(text, copy);
    json_t *value = json_string(copy);
    free(copy);
    return value;
}

json_t *rmsnorm_cli_json_number(double value, bool narrow)
{
    char text[RMSNORM_CLI_NUMBER];
    if (!isfinite(value)) {
        return json_string(rmsnorm_cli_number(value, narrow, text));
    }
    return json_real(narrow ? strtod(rmsnorm_cli_number(value, true, text), NULL) : value);
}

json_t *rmsnorm_cli_json_shape(const rmsnorm_tensor *tensor)
{
    if (tensor->rank < 0) {
        return json_null();
    }
    json_t *shape = json_array();
    for (int32_t i = 0; i < tensor->rank; ++i) {
        json_t *dim = tensor->dims[i] >= 0           ? json_integer(tensor->dims[i])
                      : tensor->dim_names[i] != NULL ? rmsnorm_cli_json_text(tensor->dim_names[i])
                                                     : json_null();
        (void)json_array_append_new(shape, dim);
    }
    return shape;
}

json_t *rmsnorm_cli_json_types(rmsnorm_dtypes set)
{
    json_t *types = json_array();
    for (int type = 0; type < 32; ++type) {
        if ((set & RMSNORM_DTYPES(type)) != 0) {
            (void)json_array_append_new(types, json_string(rmsnorm_dtype_name((rmsnorm_dtype)type)));
        }
    }
    return types;
}

json_t *rmsnorm_cli_json_attributes(const rmsnorm_operator *op, const rmsnorm_attributes *attributes)
{
    json_t *object = json_object();
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const rmsnorm_attribute *attribute = &op->attributes[i];
        if (attribute->kind == RMSNORM_ATTRIBUTE_INT) {
            const int64_t value = rmsnorm_cli_attribute_int(attributes, attribute->name);
            (void)json_object_set_new(object, attribute->name, json_integer(value));
        } else {
            const double value = (double)rmsnorm_cli_attribute_float(attributes, attribute->name);
            (void)json_object_set_new(object, attribute->name, rmsnorm_cli_json_number(value, true));
        }
    }
    return object;
}
