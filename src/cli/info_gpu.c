/* info_gpu.c: what rmsnorm info says of WebGPU. */
#include "info_gpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "gpu.h"
#include "json.h"
#include "text.h"

/* ---- Finding --------------------------------------------------------------------------------- */

static void open_one(rmsnorm_cli_gpu *gpu)
{
    rmsnorm_webgpu *webgpu;
    if (rmsnorm_cli_gpu_open_listed(&gpu->adapter, NULL, &webgpu) != RMSNORM_CLI_DONE) {
        (void)snprintf(gpu->error, sizeof gpu->error, "%s", rmsnorm_cli_gpu_sentence());
        return;
    }
    rmsnorm_webgpu_describe(webgpu, &gpu->adapter);
    rmsnorm_webgpu_close(webgpu);
}

void rmsnorm_cli_gpus_find(rmsnorm_cli_gpus *gpus)
{
    *gpus = (rmsnorm_cli_gpus){.count = 0};
    rmsnorm_adapter *adapters = NULL;
    if (rmsnorm_webgpu_library(NULL, gpus->library, sizeof gpus->library) != RMSNORM_OK) {
        (void)rmsnorm_cli_fail_library();
        (void)snprintf(gpus->error, sizeof gpus->error, "%s", rmsnorm_cli_gpu_sentence());
        return;
    }
    if (rmsnorm_cli_gpu_list(NULL, &adapters, &gpus->count) != RMSNORM_CLI_DONE) {
        (void)snprintf(gpus->error, sizeof gpus->error, "%s", rmsnorm_cli_gpu_sentence());
    }
    gpus->items = rmsnorm_cli_allocate(gpus->count, sizeof *gpus->items);
    for (size_t i = 0; i < gpus->count; ++i) {
        gpus->items[i].adapter = adapters[i];
        open_one(&gpus->items[i]);
    }
    free(adapters);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

enum { LIMIT_COUNT = 8 };

typedef struct limit {
    const char *name; /* WebGPU's */
    uint64_t value;
} limit;

static void list_limits(const rmsnorm_device_profile *profile, limit limits[LIMIT_COUNT])
{
    const limit all[LIMIT_COUNT] = {
        {"maxStorageBufferBindingSize", profile->max_storage_buffer_binding_size},
        {"maxBufferSize", profile->max_buffer_size},
        {"minStorageBufferOffsetAlignment", profile->min_storage_buffer_offset_alignment},
        {"maxStorageBuffersPerShaderStage", profile->max_storage_buffers_per_shader_stage},
        {"maxComputeWorkgroupStorageSize", profile->max_compute_workgroup_storage_size},
        {"maxComputeInvocationsPerWorkgroup", profile->max_compute_invocations_per_workgroup},
        {"maxComputeWorkgroupSizeX", profile->max_compute_workgroup_size_x},
        {"maxComputeWorkgroupsPerDimension", profile->max_compute_workgroups_per_dimension},
    };
    for (size_t i = 0; i < LIMIT_COUNT; ++i) {
        limits[i] = all[i];
    }
}

/* ---- Text ------------------------------------------------------------------------------------ */

static void show_line(const char *what, const char *text)
{
    printf("    %-9s ", what);
    rmsnorm_cli_show(stdout, text[0] != '\0' ? text : "not told");
    putchar('\n');
}

static void print_features(const rmsnorm_adapter *adapter)
{
    const rmsnorm_device_profile *profile = &adapter->profile;
    printf("    %-9s %s, ", "features", profile->shader_f16 ? "shader-f16" : "no shader-f16");
    if (profile->subgroups) {
        printf("subgroups of %" PRIu32 " to %" PRIu32, profile->subgroup_min_size, profile->subgroup_max_size);
    } else {
        printf("no subgroups");
    }
    printf(", %s\n", adapter->timestamps ? "timestamps" : "no timestamps");
}

static void print_adapter(const rmsnorm_cli_gpu *gpu)
{
    const rmsnorm_adapter *adapter = &gpu->adapter;
    char name[RMSNORM_CLI_GPU_NAME];
    limit limits[LIMIT_COUNT];
    printf("  %s, %s\n", rmsnorm_cli_gpu_name(adapter, name), rmsnorm_adapter_kind_name(adapter->kind));
    show_line("driver", adapter->driver);
    printf("    %-9s ", "vendor");
    rmsnorm_cli_show(stdout, adapter->vendor);
    printf("%s0x%04" PRIx32 ", device 0x%04" PRIx32 "\n", adapter->vendor[0] != '\0' ? " " : "", adapter->vendor_id,
           adapter->device_id);
    if (gpu->error[0] != '\0') {
        show_line("unusable", gpu->error);
        return;
    }
    print_features(adapter);
    list_limits(&adapter->profile, limits);
    for (size_t i = 0; i < LIMIT_COUNT; ++i) {
        printf("    %-9s %s %" PRIu64 "\n", i == 0 ? "limits" : "", limits[i].name, limits[i].value);
    }
}

void rmsnorm_cli_gpus_text(const rmsnorm_cli_gpus *gpus)
{
    printf("\nWebGPU   ");
    rmsnorm_cli_show(stdout, gpus->library[0] != '\0' ? gpus->library : gpus->error);
    putchar('\n');
    if (gpus->library[0] != '\0' && gpus->error[0] != '\0') {
        printf("  ");
        rmsnorm_cli_show(stdout, gpus->error);
        putchar('\n');
    }
    for (size_t i = 0; i < gpus->count; ++i) {
        print_adapter(&gpus->items[i]);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *features_json(const rmsnorm_adapter *adapter)
{
    json_t *features = json_array();
    if (adapter->profile.shader_f16) {
        (void)json_array_append_new(features, json_string("shader-f16"));
    }
    if (adapter->profile.subgroups) {
        (void)json_array_append_new(features, json_string("subgroups"));
    }
    if (adapter->timestamps) {
        (void)json_array_append_new(features, json_string("timestamp-query"));
    }
    return features;
}

static json_t *limits_json(const rmsnorm_device_profile *profile)
{
    limit limits[LIMIT_COUNT];
    json_t *object = json_object();
    list_limits(profile, limits);
    for (size_t i = 0; i < LIMIT_COUNT; ++i) {
        const json_int_t value = limits[i].value <= INT64_MAX ? (json_int_t)limits[i].value : INT64_MAX;
        (void)json_object_set_new(object, limits[i].name, json_integer(value));
    }
    if (profile->subgroups) {
        (void)json_object_set_new(object, "subgroupMinSize", json_integer(profile->subgroup_min_size));
        (void)json_object_set_new(object, "subgroupMaxSize", json_integer(profile->subgroup_max_size));
    }
    return object;
}

static json_t *adapter_json(const rmsnorm_cli_gpu *gpu)
{
    const rmsnorm_adapter *adapter = &gpu->adapter;
    json_t *object = json_object();
    (void)json_object_set_new(object, "name", rmsnorm_cli_json_text(adapter->name));
    (void)json_object_set_new(object, "kind", json_string(rmsnorm_adapter_kind_name(adapter->kind)));
    (void)json_object_set_new(object, "backend", rmsnorm_cli_json_text(adapter->backend));
    (void)json_object_set_new(object, "driver", rmsnorm_cli_json_text(adapter->driver));
    (void)json_object_set_new(object, "vendor", rmsnorm_cli_json_text(adapter->vendor));
    (void)json_object_set_new(object, "architecture", rmsnorm_cli_json_text(adapter->architecture));
    (void)json_object_set_new(object, "vendor_id", json_integer(adapter->vendor_id));
    (void)json_object_set_new(object, "device_id", json_integer(adapter->device_id));
    if (gpu->error[0] != '\0') {
        (void)json_object_set_new(object, "error", json_string(gpu->error));
        return object;
    }
    json_t *profile = json_object();
    (void)json_object_set_new(profile, "limits", limits_json(&adapter->profile));
    (void)json_object_set_new(profile, "features", features_json(adapter));
    (void)json_object_set_new(object, "profile", profile);
    return object;
}

json_t *rmsnorm_cli_gpus_json(const rmsnorm_cli_gpus *gpus)
{
    json_t *object = json_object();
    json_t *adapters = json_array();
    for (size_t i = 0; i < gpus->count; ++i) {
        (void)json_array_append_new(adapters, adapter_json(&gpus->items[i]));
    }
    (void)json_object_set_new(object, "library",
                              gpus->library[0] != '\0' ? rmsnorm_cli_json_text(gpus->library) : json_null());
    if (gpus->error[0] != '\0') {
        (void)json_object_set_new(object, "error", json_string(gpus->error));
    }
    (void)json_object_set_new(object, "adapters", adapters);
    return object;
}
