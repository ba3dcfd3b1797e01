#include "attributes.h"

OrtStatus *plugin_attribute_read(const OrtApi *api, const OrtOpAttr *from, rmsnorm_node_attribute *to)
{
    OrtOpAttrType type;
    size_t size;
    PLUGIN_TRY(api->OpAttr_GetType(from, &type));
    if (type == ORT_OP_ATTR_INT) {
        to->kind = RMSNORM_NODE_ATTRIBUTE_INT;
        return api->ReadOpAttr(from, type, &to->i, sizeof to->i, &size);
    }
    if (type == ORT_OP_ATTR_FLOAT) {
        to->kind = RMSNORM_NODE_ATTRIBUTE_FLOAT;
        return api->ReadOpAttr(from, type, &to->f, sizeof to->f, &size);
    }
    to->kind = RMSNORM_NODE_ATTRIBUTE_OTHER;
    return NULL;
}

/* Whether there is one of another type. Each is asked for its size alone. */
static bool has_other(const OrtApi *api, const OrtKernelInfo *info, const char *name)
{
    OrtAllocator *allocator;
    OrtValue *tensor = NULL;
    size_t size = 0;
    if (plugin_passed(api, api->KernelInfoGetAttribute_string(info, name, NULL, &size)) ||
        plugin_passed(api, api->KernelInfoGetAttributeArray_int64(info, name, NULL, &size)) ||
        plugin_passed(api, api->KernelInfoGetAttributeArray_float(info, name, NULL, &size))) {
        return true;
    }
    const bool found = plugin_passed(api, api->GetAllocatorWithDefaultOptions(&allocator)) &&
                       plugin_passed(api, api->KernelInfoGetAttribute_tensor(info, name, allocator, &tensor));
    api->ReleaseValue(tensor);
    return found;
}

bool plugin_attribute_of_kernel(const OrtApi *api, const void *info, const char *name, rmsnorm_node_attribute *to)
{
    if (plugin_passed(api, api->KernelInfoGetAttribute_int64(info, name, &to->i))) {
        to->kind = RMSNORM_NODE_ATTRIBUTE_INT;
        return true;
    }
    if (plugin_passed(api, api->KernelInfoGetAttribute_float(info, name, &to->f))) {
        to->kind = RMSNORM_NODE_ATTRIBUTE_FLOAT;
        return true;
    }
    to->kind = RMSNORM_NODE_ATTRIBUTE_OTHER;
    return has_other(api, info, name);
}

bool plugin_attribute_of_shapes(const OrtApi *api, const void *context, const char *name, rmsnorm_node_attribute *to)
{
    const OrtOpAttr *attribute = NULL;
    return plugin_passed(api, api->ShapeInferContext_GetAttribute(context, name, &attribute)) && attribute != NULL &&
           plugin_passed(api, plugin_attribute_read(api, attribute, to));
}

enum { MOST_ATTRIBUTES = 16 };

rmsnorm_status plugin_attributes_read(const OrtApi *api, const rmsnorm_operator *op, plugin_attribute_find *find,
                                      const void *node, rmsnorm_attributes *attributes)
{
    rmsnorm_node_attribute list[MOST_ATTRIBUTES], refused[1];
    rmsnorm_attributes ignored;
    size_t count = 0, refused_count = 0;
    const rmsnorm_operator *any;
    rmsnorm_attributes_init(op, attributes);
    for (size_t i = 0; (any = rmsnorm_operator_at(i)) != NULL; i++) {
        for (size_t j = 0; j < any->attribute_count && count < MOST_ATTRIBUTES; j++) {
            rmsnorm_node_attribute *const next = &list[count];
            *next = (rmsnorm_node_attribute){.name = any->attributes[j].name};
            if (!find(api, node, next->name, next)) {
                continue;
            }
            if (rmsnorm_attributes_read(op, list, count + 1, attributes) == RMSNORM_OK) {
                count++;
            } else if (refused_count == 0) {
                refused[refused_count++] = *next;
            }
        }
    }
    return rmsnorm_attributes_read(op, refused, refused_count, &ignored); /* once more, for its sentence */
}
