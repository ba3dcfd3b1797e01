#include "operator/attribute.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/error.h"
#include "operator/meant.h"
#include "operator/schema.h"
#include "operator/text.h"

/* No shape has more than RMSNORM_MAX_RANK dims; the exact check needs the rank of X. */
static bool is_possible_axis(int64_t value)
{
    return value >= -RMSNORM_MAX_RANK && value < RMSNORM_MAX_RANK;
}

static bool is_one(int64_t value)
{
    return value == 1;
}

static bool is_stash_type(int64_t value)
{
    return value == RMSNORM_FLOAT || value == RMSNORM_DOUBLE;
}

/* The one place that ties the schema's names to the fields of rmsnorm_attributes. */
static const struct field {
    const char *name;
    size_t offset;
    bool (*is_legal)(int64_t value); /* of an int attribute */
    rmsnorm_status refusal;
} fields[] = {
    {rmsnorm_axis, offsetof(rmsnorm_attributes, axis), is_possible_axis, RMSNORM_INVALID_ARGUMENT},
    {rmsnorm_epsilon, offsetof(rmsnorm_attributes, epsilon), NULL, RMSNORM_INVALID_ARGUMENT},
    {rmsnorm_stash_type, offsetof(rmsnorm_attributes, stash_type), is_stash_type, RMSNORM_UNSUPPORTED},
    {rmsnorm_keep_dims, offsetof(rmsnorm_attributes, keep_dims), is_one, RMSNORM_INVALID_ARGUMENT},
};

static const struct field *field_of(const rmsnorm_attribute *attribute)
{
    const struct field *field = fields;
    while (field->name != attribute->name) {
        ++field;
    }
    return field;
}

static rmsnorm_status check_int(const rmsnorm_operator *op, const rmsnorm_attribute *attribute, int64_t value)
{
    const struct field *const field = field_of(attribute);
    if (field->is_legal(value)) {
        return RMSNORM_OK;
    }
    const char *const type = is_stash_type == field->is_legal && value > 0 && value < INT32_MAX
                                 ? rmsnorm_dtype_name((rmsnorm_dtype)value)
                                 : "";
    return rmsnorm_fail(field->refusal, "%s: %s is %" PRId64 "%s%s%s; allowed: %s", op->name, attribute->name, value,
                        type[0] != '\0' ? " (" : "", type, type[0] != '\0' ? ")" : "", attribute->allowed);
}

static rmsnorm_status check_float(const rmsnorm_operator *op, const rmsnorm_attribute *attribute, float value)
{
    const bool legal = op->kind != RMSNORM_SKIP_SIMPLIFIED_LAYER_NORMALIZATION || (isfinite(value) && value >= 0.0f);
    RMSNORM_CHECK(legal, RMSNORM_INVALID_ARGUMENT, "%s: %s is %g; allowed: %s", op->name, attribute->name,
                  (double)value, attribute->allowed);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_attributes_check(const rmsnorm_operator *op, const rmsnorm_attributes *attributes)
{
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const rmsnorm_attribute *const attribute = &op->attributes[i];
        const char *const at = (const char *)attributes + field_of(attribute)->offset;
        if (attribute->kind == RMSNORM_ATTRIBUTE_INT) {
            RMSNORM_TRY(check_int(op, attribute, *(const int64_t *)(const void *)at));
        } else {
            RMSNORM_TRY(check_float(op, attribute, *(const float *)(const void *)at));
        }
    }
    return RMSNORM_OK;
}

void rmsnorm_attributes_init(const rmsnorm_operator *op, rmsnorm_attributes *attributes)
{
    if (op == NULL || attributes == NULL) {
        return;
    }
    *attributes = (rmsnorm_attributes){.axis = -1, .stash_type = RMSNORM_FLOAT, .keep_dims = 1};
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const rmsnorm_attribute *const attribute = &op->attributes[i];
        char *const at = (char *)attributes + field_of(attribute)->offset;
        if (attribute->kind == RMSNORM_ATTRIBUTE_INT) {
            *(int64_t *)(void *)at = attribute->default_int;
        } else {
            *(float *)(void *)at = attribute->default_float;
        }
    }
}

/* The refusal of a name, with the attributes that there are and the one that was probably meant. */
static rmsnorm_status not_found(const rmsnorm_operator *op, const char *name, size_t length)
{
    const int shown = (int)(length < 100 ? length : 100);
    const char *meant = NULL;
    size_t least = RMSNORM_NOT_MEANT;
    rmsnorm_words words = {""};
    rmsnorm_text list = {words.text, sizeof words.text, 0};
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const char *const candidate = op->attributes[i].name;
        const size_t errors = rmsnorm_meant_distance(name, length, candidate, 3);
        meant = errors < least ? candidate : meant;
        least = errors < least ? errors : least;
        rmsnorm_text_add(&list, "%s%s", i == 0 ? "" : ", ", candidate);
    }
    return rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "%s: no attribute '%.*s'%s%s%s allowed: %s", op->name, shown, name,
                        meant != NULL ? "; did you mean '" : ";", meant != NULL ? meant : "", meant != NULL ? "'?" : "",
                        words.text);
}

/* The attribute that a call names, given by its first `length` characters. */
static rmsnorm_status find(const char *function, const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                           const char *name, size_t length, const rmsnorm_attribute **found)
{
    RMSNORM_CHECK(op != NULL, RMSNORM_INVALID_ARGUMENT, "%s: the operator is NULL", function);
    RMSNORM_CHECK(attributes != NULL, RMSNORM_INVALID_ARGUMENT, "%s: %s: attributes is NULL", function, op->name);
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const char *const candidate = op->attributes[i].name;
        if (strlen(candidate) == length && memcmp(candidate, name, length) == 0) {
            *found = &op->attributes[i];
            return RMSNORM_OK;
        }
    }
    return not_found(op, name, length);
}

rmsnorm_status rmsnorm_attributes_set_int(const rmsnorm_operator *op, rmsnorm_attributes *attributes, const char *name,
                                          int64_t value)
{
    static const char function[] = "rmsnorm_attributes_set_int";
    RMSNORM_CHECK(name != NULL, RMSNORM_INVALID_ARGUMENT, "%s: the name is NULL", function);
    const rmsnorm_attribute *attribute = NULL;
    RMSNORM_TRY(find(function, op, attributes, name, strlen(name), &attribute));
    RMSNORM_CHECK(attribute->kind == RMSNORM_ATTRIBUTE_INT, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s is a float attribute; given: the int %" PRId64, op->name, name, value);
    RMSNORM_TRY(check_int(op, attribute, value));
    *(int64_t *)(void *)((char *)attributes + field_of(attribute)->offset) = value;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_attributes_set_float(const rmsnorm_operator *op, rmsnorm_attributes *attributes,
                                            const char *name, float value)
{
    static const char function[] = "rmsnorm_attributes_set_float";
    RMSNORM_CHECK(name != NULL, RMSNORM_INVALID_ARGUMENT, "%s: the name is NULL", function);
    const rmsnorm_attribute *attribute = NULL;
    RMSNORM_TRY(find(function, op, attributes, name, strlen(name), &attribute));
    RMSNORM_CHECK(attribute->kind == RMSNORM_ATTRIBUTE_FLOAT, RMSNORM_INVALID_ARGUMENT,
                  "%s: %s is an int attribute; given: the float %g", op->name, name, (double)value);
    RMSNORM_TRY(check_float(op, attribute, value));
    *(float *)(void *)((char *)attributes + field_of(attribute)->offset) = value;
    return RMSNORM_OK;
}

/* A whole text as an int: decimal digits with an optional sign. */
static bool parse_int(const char *text, int64_t *value)
{
    if (text[0] == '\0' || strspn(text, "+-0123456789") != strlen(text)) {
        return false;
    }
    char *end = NULL;
    errno = 0;
    const long long parsed = strtoll(text, &end, 10);
    *value = parsed;
    return *end == '\0' && errno == 0;
}

/* A whole text as a float, with '.' as the decimal point whatever the locale says: strtof reads the locale's, so it is
 * given that one (printf tells which it is, and unlike localeconv from any thread). */
static bool parse_float(const char *text, float *value)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+-.";
    char half[16];
    char local[160] = "";
    const size_t length = strlen(text);
    const char *const point = strchr(text, '.');
    const size_t whole = point != NULL ? (size_t)(point - text) : length;
    if (length == 0 || length > 128 || strspn(text, digits) != length || snprintf(half, sizeof half, "%.1f", 0.5) < 3) {
        return false;
    }
    const int radix_length = (int)strlen(half) - 2;
    snprintf(local, sizeof local, "%.*s%.*s%s", (int)whole, text, point != NULL ? radix_length : 0, half + 1,
             point != NULL ? point + 1 : "");
    char *end = NULL;
    errno = 0;
    *value = strtof(local, &end);
    /* ERANGE with a finite result is an underflow: rounded to the nearest float like any other number. */
    return end != local && *end == '\0' && !(errno == ERANGE && isinf(*value));
}

rmsnorm_status rmsnorm_attributes_parse(const rmsnorm_operator *op, rmsnorm_attributes *attributes,
                                        const char *assignment)
{
    static const char function[] = "rmsnorm_attributes_parse";
    RMSNORM_CHECK(assignment != NULL, RMSNORM_INVALID_ARGUMENT, "%s: the assignment is NULL", function);
    const char *const sign = strchr(assignment, '=');
    RMSNORM_CHECK(sign != NULL, RMSNORM_INVALID_ARGUMENT, "attribute '%.100s' has no value; allowed: NAME=VALUE",
                  assignment);
    const rmsnorm_attribute *attribute = NULL;
    RMSNORM_TRY(find(function, op, attributes, assignment, (size_t)(sign - assignment), &attribute));
    const char *const text = sign + 1;
    if (attribute->kind == RMSNORM_ATTRIBUTE_INT) {
        int64_t value = 0;
        RMSNORM_CHECK(parse_int(text, &value), RMSNORM_INVALID_ARGUMENT,
                      "%s: %s is '%.100s'; allowed: an int of 64 bits, %s", op->name, attribute->name, text,
                      attribute->allowed);
        return rmsnorm_attributes_set_int(op, attributes, attribute->name, value);
    }
    float value = 0.0f;
    RMSNORM_CHECK(parse_float(text, &value), RMSNORM_INVALID_ARGUMENT,
                  "%s: %s is '%.100s'; allowed: a float number, %s", op->name, attribute->name, text,
                  attribute->allowed);
    return rmsnorm_attributes_set_float(op, attributes, attribute->name, value);
}
