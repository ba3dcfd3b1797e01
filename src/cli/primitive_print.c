/* primitive_print.c: a primitive's attributes in effect, for people and as JSON. */
#include <inttypes.h>

#include "element.h"
#include "json.h"
#include "primitive_parts.h"
#include "text.h"

/* A number of a one-element tensor. */
static double number_of(const rmsnorm_tensor *tensor)
{
    const bool integer = tensor->dtype == RMSNORM_INT64 || tensor->dtype == RMSNORM_INT32;
    return integer ? (double)rmsnorm_cli_element_integer(tensor, 0) : rmsnorm_cli_element(tensor, 0);
}

/* The value of an attribute that is given or has a default; NULL: it is not in effect, or says nothing. */
static json_t *value_of(const rmsnorm_cli_primitive_attribute *known, const rmsnorm_node_attribute *given)
{
    if ((given == NULL && known->presence != RMSNORM_CLI_DEFAULT) || known->kind == RMSNORM_CLI_PRIMITIVE_ANY) {
        return NULL;
    }
    json_t *list;
    switch (known->kind) {
    case RMSNORM_CLI_PRIMITIVE_TYPE:
        return json_string(rmsnorm_dtype_name((rmsnorm_dtype)given->i));
    case RMSNORM_CLI_PRIMITIVE_TENSOR:
        return rmsnorm_cli_json_number(number_of(&given->tensor), given->tensor.dtype != RMSNORM_DOUBLE);
    case RMSNORM_CLI_PRIMITIVE_INTS:
        list = json_array();
        for (size_t i = 0; i < given->count; ++i) {
            (void)json_array_append_new(list, json_integer(given->ints[i]));
        }
        return list;
    default:
        return json_integer(given != NULL ? given->i : known->value);
    }
}

json_t *rmsnorm_cli_primitive_json_attributes(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node)
{
    json_t *object = json_object();
    for (size_t i = 0; i < RMSNORM_CLI_PRIMITIVE_ATTRIBUTES && primitive->attributes[i].name != NULL; ++i) {
        const rmsnorm_cli_primitive_attribute *known = &primitive->attributes[i];
        json_t *value = value_of(known, rmsnorm_cli_call_attribute(node, known->name));
        if (value != NULL) {
            (void)json_object_set_new(object, known->name, value);
        }
    }
    return object;
}

static void append_value(const json_t *value, char text[RMSNORM_CLI_ATTRIBUTES])
{
    char number[RMSNORM_CLI_NUMBER];
    if (json_is_integer(value)) {
        rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_string(value)) {
        rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%s", json_string_value(value));
    } else {
        rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%s",
                           rmsnorm_cli_number(json_real_value(value), true, number));
    }
}

const char *rmsnorm_cli_primitive_attributes(const rmsnorm_cli_primitive *primitive, const rmsnorm_node *node,
                                             char text[RMSNORM_CLI_ATTRIBUTES])
{
    json_t *object = rmsnorm_cli_primitive_json_attributes(primitive, node);
    const char *name;
    json_t *value;
    text[0] = '\0';
    json_object_foreach(object, name, value)
    {
        rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%s%s=%s", text[0] == '\0' ? "" : " ", name,
                           json_is_array(value) ? "[" : "");
        for (size_t i = 0; i < json_array_size(value); ++i) {
            rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "%s", i == 0 ? "" : ",");
            append_value(json_array_get(value, i), text);
        }
        if (json_is_array(value)) {
            rmsnorm_cli_append(text, RMSNORM_CLI_ATTRIBUTES, "]");
        } else {
            append_value(value, text);
        }
    }
    json_decref(object);
    return text;
}
