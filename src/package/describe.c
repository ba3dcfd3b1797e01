/* describe.c: what an opened package says about itself. */
#include <string.h>

#include "package/package.h"

const rmsnorm_file *rmsnorm_package_find(const rmsnorm_package *package, const char *name, size_t length)
{
    for (size_t i = 0; i < package->file_count; ++i) {
        const char *candidate = package->files[i].name;
        if (strncmp(candidate, name, length) == 0 && candidate[length] == '\0') {
            return &package->files[i];
        }
    }
    return NULL;
}

static size_t copy_slots(const rmsnorm_manifest_slot *slots, size_t count, rmsnorm_package_slot *copies)
{
    count = count < RMSNORM_MAX_SLOTS ? count : RMSNORM_MAX_SLOTS;
    for (size_t i = 0; i < count; ++i) {
        copies[i] = (rmsnorm_package_slot){slots[i].key, slots[i].onnx, slots[i].type, slots[i].optional};
    }
    return count;
}

void rmsnorm_package_describe(const rmsnorm_package *package, rmsnorm_package_info *info)
{
    if (info == NULL) {
        return;
    }
    if (package == NULL) {
        *info = (rmsnorm_package_info){.name = NULL};
        return;
    }
    const rmsnorm_manifest *manifest = &package->manifest;
    *info = (rmsnorm_package_info){
        .name = package->name,
        .id = package->id,
        .version = package->version,
        .serial = package->serial,
        .spec = package->spec,
        .domain = manifest->domain,
        .operator_name = manifest->name,
        .since_version = manifest->since_version,
        .plans = package->plans,
    };
    info->input_count = copy_slots(manifest->inputs, manifest->input_count, info->inputs);
    info->output_count = copy_slots(manifest->outputs, manifest->output_count, info->outputs);
}

const char *rmsnorm_package_text(const rmsnorm_package *package, const char *name, size_t *size)
{
    const rmsnorm_file *file =
        package != NULL && name != NULL ? rmsnorm_package_find(package, name, strlen(name)) : NULL;
    if (size != NULL) {
        *size = file != NULL ? file->size : 0;
    }
    return file != NULL ? file->data : NULL;
}
