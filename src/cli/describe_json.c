/* describe_json.c: an operator's page for programs. */
#include <stdio.h>
#include <string.h>

#include "describe.h"
#include "json.h"
#include "text.h"

static void set_text(json_t *object, const char *key, const char *text)
{
    (void)json_object_set_new(object, key, json_string(text));
}

static void set_doc(json_t *object, const char *doc, bool prose)
{
    if (prose && doc[0] != '\0') {
        set_text(object, "description", doc);
    }
}

static json_t *support_json(const rmsnorm_operator *op)
{
    json_t *devices = json_object();
    for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
        json_t *entry = json_object();
        const char *name;
        for (int i = 0; (name = rmsnorm_cli_support_name(i)) != NULL; ++i) {
            char key[32]; /* "shape_inference" */
            (void)snprintf(key, sizeof key, "%s", name);
            for (char *space = key; (space = strchr(space, ' ')) != NULL;) {
                *space = '_';
            }
            (void)json_object_set_new(entry, key, json_boolean(rmsnorm_cli_support_at(&op->support[device], i)));
        }
        (void)json_object_set_new(devices, rmsnorm_cli_device_key(device), entry);
    }
    return devices;
}

static json_t *types_json(const rmsnorm_operator *op, bool prose)
{
    json_t *list = json_array();
    for (size_t i = 0; i < op->type_constraint_count; ++i) {
        const rmsnorm_type_constraint *constraint = &op->type_constraints[i];
        json_t *entry = json_object();
        json_t *types = json_object();
        for (int device = 0; device < RMSNORM_DEVICE_COUNT; ++device) {
            (void)json_object_set_new(types, rmsnorm_cli_device_key(device),
                                      rmsnorm_cli_json_types(constraint->types[device]));
        }
        set_text(entry, "name", constraint->name);
        (void)json_object_set_new(entry, "types", types);
        set_doc(entry, constraint->doc, prose);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

static json_t *slots_json(const rmsnorm_slot *slots, size_t count, bool prose)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; ++i) {
        json_t *entry = json_object();
        set_text(entry, "name", slots[i].name);
        set_text(entry, "type", slots[i].type);
        (void)json_object_set_new(entry, "required", json_boolean(slots[i].required));
        set_text(entry, "shape", slots[i].shape);
        set_doc(entry, slots[i].doc, prose);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

static json_t *attributes_json(const rmsnorm_operator *op, bool prose)
{
    json_t *list = json_array();
    for (size_t i = 0; i < op->attribute_count; ++i) {
        const rmsnorm_attribute *attribute = &op->attributes[i];
        json_t *entry = json_object();
        set_text(entry, "name", attribute->name);
        set_text(entry, "type", rmsnorm_cli_kind(attribute));
        (void)json_object_set_new(entry, "default",
                                  attribute->kind == RMSNORM_ATTRIBUTE_FLOAT
                                      ? rmsnorm_cli_json_number((double)attribute->default_float, true)
                                      : json_integer(attribute->default_int));
        set_text(entry, "allowed", attribute->allowed);
        set_doc(entry, attribute->doc, prose);
        (void)json_array_append_new(list, entry);
    }
    return list;
}

json_t *rmsnorm_cli_describe_json(const rmsnorm_operator *op, bool prose)
{
    json_t *root = json_object();
    set_text(root, "name", op->name);
    set_text(root, "domain", rmsnorm_cli_domain(op->domain));
    if (op->other_domain != NULL) {
        set_text(root, "other_domain", rmsnorm_cli_domain(op->other_domain));
    }
    (void)json_object_set_new(root, "since_version", json_integer(op->since_version));
    set_text(root, "summary", op->summary);
    set_doc(root, op->doc, prose);
    (void)json_object_set_new(root, "support", support_json(op));
    (void)json_object_set_new(root, "type_constraints", types_json(op, prose));
    (void)json_object_set_new(root, "inputs", slots_json(op->inputs, op->input_count, prose));
    (void)json_object_set_new(root, "outputs", slots_json(op->outputs, op->output_count, prose));
    (void)json_object_set_new(root, "attributes", attributes_json(op, prose));
    return root;
}
