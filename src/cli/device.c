/* device.c: the device that a plan is for. */
#include "device.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli.h"
#include "file.h"
#include "options.h"
#include "text.h"

#define PROFILE_LIMIT ((size_t)1 << 20) /* bytes of a file */

/* The first are what a plan depends on, as rmsnorm_device_profile_set knows them; the rest are WebGPU's others. */
enum { LIMITS_USED = 10, FEATURES_USED = 2 };

static const char *const limits[] = {
    "maxStorageBufferBindingSize",
    "maxBufferSize",
    "minStorageBufferOffsetAlignment",
    "maxStorageBuffersPerShaderStage",
    "maxComputeWorkgroupStorageSize",
    "maxComputeInvocationsPerWorkgroup",
    "maxComputeWorkgroupSizeX",
    "maxComputeWorkgroupsPerDimension",
    "subgroupMinSize",
    "subgroupMaxSize",
    "maxComputeWorkgroupSizeY",
    "maxComputeWorkgroupSizeZ",
    "maxTextureDimension1D",
    "maxTextureDimension2D",
    "maxTextureDimension3D",
    "maxTextureArrayLayers",
    "maxBindGroups",
    "maxBindGroupsPlusVertexBuffers",
    "maxBindingsPerBindGroup",
    "maxDynamicUniformBuffersPerPipelineLayout",
    "maxDynamicStorageBuffersPerPipelineLayout",
    "maxSampledTexturesPerShaderStage",
    "maxSamplersPerShaderStage",
    "maxStorageBuffersInVertexStage",
    "maxStorageBuffersInFragmentStage",
    "maxStorageTexturesPerShaderStage",
    "maxStorageTexturesInVertexStage",
    "maxStorageTexturesInFragmentStage",
    "maxUniformBuffersPerShaderStage",
    "maxUniformBufferBindingSize",
    "minUniformBufferOffsetAlignment",
    "maxVertexBuffers",
    "maxVertexAttributes",
    "maxVertexBufferArrayStride",
    "maxInterStageShaderVariables",
    "maxColorAttachments",
    "maxColorAttachmentBytesPerSample",
    "maxImmediateSize",
    NULL,
};

static const char *const features[] = {
    "shader-f16",
    "subgroups",
    "core-features-and-limits",
    "depth-clip-control",
    "depth32float-stencil8",
    "texture-compression-bc",
    "texture-compression-bc-sliced-3d",
    "texture-compression-etc2",
    "texture-compression-astc",
    "texture-compression-astc-sliced-3d",
    "timestamp-query",
    "indirect-first-instance",
    "rg11b10ufloat-renderable",
    "bgra8unorm-storage",
    "float32-filterable",
    "float32-blendable",
    "clip-distances",
    "dual-source-blending",
    "texture-formats-tier1",
    "texture-formats-tier2",
    "primitive-index",
    "texture-component-swizzle",
    NULL,
};

static const char *name_at(const void *table, size_t index)
{
    const char *const *names = table;
    return names[index];
}

/* `what` is "limit" or "feature"; *index is its place in the table. */
static int find(const char *what, const char *const *names, const char *name, size_t *index)
{
    for (*index = 0; names[*index] != NULL; ++*index) {
        if (strcmp(names[*index], name) == 0) {
            return RMSNORM_CLI_DONE;
        }
    }
    const int nearest = rmsnorm_cli_nearest(name, name_at, names);
    if (nearest >= 0) {
        return rmsnorm_cli_fail("device profile: unknown %s '%.80s', did you mean '%s'?", what, name, names[nearest]);
    }
    return rmsnorm_cli_fail("device profile: unknown %s '%.80s', allowed are WebGPU's, as '%s'", what, name, names[0]);
}

static int set(rmsnorm_device_profile *profile, const char *name, uint64_t value)
{
    return rmsnorm_device_profile_set(profile, name, value) == RMSNORM_OK ? RMSNORM_CLI_DONE
                                                                          : rmsnorm_cli_fail_library();
}

static int set_limit(rmsnorm_device_profile *profile, const char *name, long long value)
{
    size_t index;
    if (find("limit", limits, name, &index) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    return index < LIMITS_USED ? set(profile, name, (uint64_t)value) : RMSNORM_CLI_DONE;
}

int rmsnorm_cli_device_feature(const char *name, rmsnorm_device_profile *profile)
{
    size_t index;
    if (find("feature", features, name, &index) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    return index < FEATURES_USED ? set(profile, name, 1) : RMSNORM_CLI_DONE;
}

int rmsnorm_cli_device_limit(const char *word, rmsnorm_device_profile *profile)
{
    const size_t length = strcspn(word, "=");
    long long value;
    if (word[length] == '\0' || !rmsnorm_cli_integer(word + length + 1, 0, INT64_MAX, &value)) {
        return rmsnorm_cli_fail("--limit is '%s', allowed is NAME=NUMBER, with a whole number from 0 on", word);
    }
    char *name = rmsnorm_cli_allocate(length + 1, 1);
    memcpy(name, word, length);
    const int code = set_limit(profile, name, value);
    free(name);
    return code;
}

/* ---- The file -------------------------------------------------------------------------------- */

static int read_limits(json_t *object, rmsnorm_device_profile *profile)
{
    if (!json_is_object(object)) {
        return rmsnorm_cli_fail("limits is no object");
    }
    for (void *at = json_object_iter(object); at != NULL; at = json_object_iter_next(object, at)) {
        const char *name = json_object_iter_key(at);
        const json_t *value = json_object_iter_value(at);
        if (!json_is_integer(value) || json_integer_value(value) < 0) {
            return rmsnorm_cli_fail("limits: %.80s is no whole number from 0 on", name);
        }
        if (set_limit(profile, name, json_integer_value(value)) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return RMSNORM_CLI_DONE;
}

static int read_features(const json_t *list, rmsnorm_device_profile *profile)
{
    for (size_t i = 0; i < json_array_size(list); ++i) {
        const char *name = json_string_value(json_array_get(list, i));
        if (name == NULL) {
            return rmsnorm_cli_fail("features: element %zu is no string", i);
        }
        if (rmsnorm_cli_device_feature(name, profile) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return json_is_array(list) ? RMSNORM_CLI_DONE : rmsnorm_cli_fail("features is no list");
}

static int read_profile(json_t *root, rmsnorm_device_profile *profile)
{
    if (!json_is_object(root)) {
        return rmsnorm_cli_fail("no object, allowed is {\"limits\": {...}, \"features\": [...]}");
    }
    for (void *at = json_object_iter(root); at != NULL; at = json_object_iter_next(root, at)) {
        const char *key = json_object_iter_key(at);
        json_t *value = json_object_iter_value(at);
        int code;
        if (strcmp(key, "limits") == 0) {
            code = read_limits(value, profile);
        } else if (strcmp(key, "features") == 0) {
            code = read_features(value, profile);
        } else {
            code = rmsnorm_cli_fail("a field '%.80s', allowed are limits and features", key);
        }
        if (code != RMSNORM_CLI_DONE) {
            return code;
        }
    }
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_device_read(const char *path, rmsnorm_device_profile *profile)
{
    char *text = NULL;
    size_t length;
    int code = rmsnorm_cli_file_read(path, PROFILE_LIMIT, &text, &length);
    if (code == RMSNORM_CLI_DONE) {
        json_error_t error;
        json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
        code = root != NULL ? read_profile(root, profile)
                            : rmsnorm_cli_fail("line %d, column %d: %s", error.line, error.column, error.text);
        if (code != RMSNORM_CLI_DONE) {
            code = rmsnorm_cli_fail("%s: %s", strcmp(path, "-") == 0 ? "standard input" : path, rmsnorm_cli_sentence());
        }
        json_decref(root);
    }
    free(text);
    return code;
}
