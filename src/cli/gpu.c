/* gpu.c: the WebGPU device of a subcommand. */
#include "gpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "device.h"
#include "text.h"

bool rmsnorm_cli_gpu_wanted(const rmsnorm_cli_gpu_words *words)
{
    return words->device != NULL && strcmp(words->device, "webgpu") == 0;
}

int rmsnorm_cli_gpu_check(const rmsnorm_cli_gpu_words *words, const rmsnorm_cli_args *args)
{
    const bool gpu = rmsnorm_cli_gpu_wanted(words);
    if (words->device != NULL && !gpu && strcmp(words->device, "cpu") != 0) {
        return rmsnorm_cli_fail("--device is '%s', allowed are cpu and webgpu", words->device);
    }
    if (words->adapter != NULL && words->adapter[0] == '\0') {
        return rmsnorm_cli_fail("--adapter is empty, a part of an adapter's name is needed; 'rmsnorm info' lists them");
    }
    if (gpu && (args->max_isa != RMSNORM_ISA_AUTO || args->threads != 0)) {
        return rmsnorm_cli_fail("--%s goes with the CPU, not with --device webgpu",
                                args->threads != 0 ? "threads" : "isa");
    }
    const char *const option = words->adapter != NULL     ? "adapter"
                               : words->without.count > 0 ? "without"
                               : words->limits.count > 0  ? "limit"
                                                          : NULL;
    return gpu || option == NULL ? RMSNORM_CLI_DONE
                                 : rmsnorm_cli_fail("--%s goes with --device webgpu, the CPU has none", option);
}

const char *rmsnorm_cli_gpu_name(const rmsnorm_adapter *adapter, char text[RMSNORM_CLI_GPU_NAME])
{
    text[0] = '\0';
    rmsnorm_cli_append(text, RMSNORM_CLI_GPU_NAME, "%s, %s", adapter->name[0] != '\0' ? adapter->name : "no name",
                       adapter->backend);
    rmsnorm_cli_clean(text);
    return text;
}

const char *rmsnorm_cli_gpu_sentence(void)
{
    static const char lead[] = "WebGPU: ";
    const char *const sentence = rmsnorm_cli_sentence();
    return strncmp(sentence, lead, sizeof lead - 1) == 0 ? sentence + sizeof lead - 1 : sentence;
}

/* ---- Which there are ------------------------------------------------------------------------- */

/* More than the library lists. */
enum { ADAPTERS_MAXIMUM = 64 };

/* The refusal of a text that no adapter has: with those there are. */
static int fail_unknown(const char *wanted)
{
    rmsnorm_adapter *const adapters = rmsnorm_cli_allocate(ADAPTERS_MAXIMUM, sizeof *adapters);
    size_t count = 0;
    int code;
    if (rmsnorm_webgpu_adapters(NULL, adapters, ADAPTERS_MAXIMUM, &count) != RMSNORM_OK) {
        code = rmsnorm_cli_fail_library();
    } else if (count == 0) {
        code = rmsnorm_cli_fail("there is no WebGPU adapter here: no GPU, or no driver that the WebGPU library finds");
    } else {
        char names[600] = "";
        for (size_t i = 0; i < count && i < ADAPTERS_MAXIMUM; ++i) {
            char name[RMSNORM_CLI_GPU_NAME];
            rmsnorm_cli_append(names, sizeof names, "%s'%s'", i == 0 ? "" : ", ",
                               rmsnorm_cli_gpu_name(&adapters[i], name));
        }
        code = rmsnorm_cli_fail("no WebGPU adapter has '%.80s' in its name, there is %s", wanted, names);
    }
    free(adapters);
    return code;
}

/* The sentence of a call that looked for an adapter. A library that is missing is no adapter that is missing. */
static int fail_search(rmsnorm_status status, const char *wanted)
{
    const int code = rmsnorm_cli_fail_library();
    return status == RMSNORM_NOT_FOUND && strstr(rmsnorm_cli_sentence(), "there is no adapter") != NULL
               ? fail_unknown(wanted == NULL ? "" : wanted)
               : code;
}

int rmsnorm_cli_gpu_list(const char *adapter, rmsnorm_adapter **adapters, size_t *count)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    options.adapter = adapter;
    *adapters = rmsnorm_cli_allocate(ADAPTERS_MAXIMUM, sizeof **adapters);
    *count = 0;
    int code = RMSNORM_CLI_DONE;
    if (rmsnorm_webgpu_adapters(&options, *adapters, ADAPTERS_MAXIMUM, count) != RMSNORM_OK) {
        code = rmsnorm_cli_fail_library();
    } else if (*count == 0) {
        code = fail_unknown(adapter == NULL ? "" : adapter);
    }
    if (code != RMSNORM_CLI_DONE) {
        free(*adapters);
        *adapters = NULL;
        *count = 0;
    }
    return code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

int rmsnorm_cli_gpu_open(const char *adapter, const char *tuning, rmsnorm_webgpu **webgpu)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    options.adapter = adapter;
    options.tuning = tuning;
    const rmsnorm_status status = rmsnorm_webgpu_open(&options, webgpu);
    return status == RMSNORM_OK ? RMSNORM_CLI_DONE : fail_search(status, adapter);
}

/* A limit that would change nothing is refused: whoever gives one wants to see what it does. */
static int set_limit(const char *word, rmsnorm_device_profile *profile)
{
    if (rmsnorm_cli_device_limit(word, profile) != RMSNORM_CLI_DONE) {
        return RMSNORM_CLI_BAD;
    }
    char name[80];
    rmsnorm_device_profile unused = *profile;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    return strncmp(name, "subgroup", strlen("subgroup")) != 0 &&
                   rmsnorm_device_profile_set(&unused, name, 0) == RMSNORM_OK
               ? RMSNORM_CLI_DONE
               : rmsnorm_cli_fail("--limit '%s': nothing here depends on it, allowed are the limits of 'rmsnorm info'",
                                  name);
}

int rmsnorm_cli_gpu_profile(const rmsnorm_cli_gpu_words *words, rmsnorm_device_profile *profile)
{
    *profile = (rmsnorm_device_profile){.struct_size = sizeof *profile,
                                        .max_storage_buffer_binding_size = UINT64_MAX,
                                        .max_buffer_size = UINT64_MAX,
                                        .max_storage_buffers_per_shader_stage = UINT32_MAX,
                                        .max_compute_workgroup_storage_size = UINT32_MAX,
                                        .max_compute_invocations_per_workgroup = UINT32_MAX,
                                        .max_compute_workgroup_size_x = UINT32_MAX,
                                        .max_compute_workgroups_per_dimension = UINT32_MAX,
                                        .shader_f16 = true,
                                        .subgroups = true};
    for (size_t i = 0; i < words->without.count; ++i) {
        const char *const name = words->without.items[i];
        if (strcmp(name, "shader-f16") == 0) {
            profile->shader_f16 = false;
        } else if (strcmp(name, "subgroups") == 0) {
            profile->subgroups = false;
        } else {
            return rmsnorm_cli_fail("--without is '%.80s', allowed are shader-f16 and subgroups", name);
        }
    }
    for (size_t i = 0; i < words->limits.count; ++i) {
        if (set_limit(words->limits.items[i], profile) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_BAD;
        }
    }
    return RMSNORM_CLI_DONE;
}

static bool same_adapter(const rmsnorm_adapter *a, const rmsnorm_adapter *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->backend, b->backend) == 0 && a->vendor_id == b->vendor_id &&
           a->device_id == b->device_id;
}

int rmsnorm_cli_gpu_open_listed(const rmsnorm_adapter *listed, const rmsnorm_device_profile *profile,
                                rmsnorm_webgpu **webgpu)
{
    /* One text chooses an adapter: one GPU may be there through several backends, one backend may have several GPUs. */
    const char *const texts[] = {listed->name, listed->backend, listed->driver, listed->vendor, listed->architecture};
    char name[RMSNORM_CLI_GPU_NAME];
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
        options.adapter = texts[i];
        options.kind = listed->kind;
        options.profile = profile;
        options.tuning = "";
        if (texts[i][0] == '\0') {
            continue;
        }
        const rmsnorm_status status = rmsnorm_webgpu_open(&options, webgpu);
        if (status == RMSNORM_NOT_FOUND) {
            continue; /* the null backend is there for its own name alone */
        }
        if (status != RMSNORM_OK) {
            return rmsnorm_cli_fail_library();
        }
        rmsnorm_adapter opened;
        rmsnorm_webgpu_describe(*webgpu, &opened);
        if (same_adapter(&opened, listed)) {
            return RMSNORM_CLI_DONE;
        }
        rmsnorm_webgpu_close(*webgpu);
        *webgpu = NULL;
    }
    return rmsnorm_cli_fail("another adapter answers to every word that %s is known by",
                            rmsnorm_cli_gpu_name(listed, name));
}
