/* info.c: rmsnorm info: what this build and this machine offer. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"
#include "context.h"
#include "info_gpu.h"
#include "json.h"
#include "options.h"

static const rmsnorm_cli_usage usage = {
    .command = "info",
    .synopsis = "",
    .text =
        "Shows the version, the instruction sets compiled in and runnable here, the one in use, caches and threads;\n"
        "the WebGPU library, and its adapters with driver, features and the limits that plans depend on. Each is opened\n"
        "once: a feature is shown when what it is for works. An adapter's profile in --json is what\n"
        "rmsnorm plan --device-profile reads.\n",
    .computes = true,
};

enum { CACHE_COUNT = 3 };

/* Bytes, or 0 where the system does not say. */
static long cache_size(int level)
{
#if defined(_SC_LEVEL1_DCACHE_SIZE) && defined(_SC_LEVEL2_CACHE_SIZE) && defined(_SC_LEVEL3_CACHE_SIZE)
    static const int names[CACHE_COUNT] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
    const long size = sysconf(names[level]);
    return size > 0 ? size : 0;
#else
    (void)level;
    return 0;
#endif
}

static long core_count(void)
{
#if defined(_SC_NPROCESSORS_ONLN)
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? cores : 1;
#else
    return 1;
#endif
}

static const char *const cache_names[CACHE_COUNT] = {"L1 data", "L2", "L3"};
static const char *const cache_keys[CACHE_COUNT] = {"l1_data", "l2", "l3"};

static void print_text(const rmsnorm_cli_context *context, const rmsnorm_cli_gpus *gpus)
{
    printf("rmsnorm %s\n\nInstruction set  compiled  runnable\n", rmsnorm_version());
    for (int i = RMSNORM_ISA_SCALAR; i < RMSNORM_ISA_COUNT; ++i) {
        const rmsnorm_isa isa = (rmsnorm_isa)i;
        printf("  %-13s  %8s  %8s%s\n", rmsnorm_isa_name(isa), rmsnorm_isa_compiled(isa) ? "yes" : "no",
               rmsnorm_isa_runnable(isa) ? "yes" : "no", isa == context->isa ? "  in use" : "");
    }
    printf("\nCaches   ");
    for (int i = 0; i < CACHE_COUNT; ++i) {
        printf("%s%s ", i == 0 ? "" : ", ", cache_names[i]);
        const long size = cache_size(i);
        if (size > 0) {
            printf("%ld KiB", size / 1024);
        } else {
            printf("unknown");
        }
    }
    printf("\nThreads  %zu in use, %ld cores\n", context->threads, core_count());
    rmsnorm_cli_gpus_text(gpus);
}

static void print_json(const rmsnorm_cli_context *context, const rmsnorm_cli_gpus *gpus)
{
    json_t *sets = json_array();
    for (int i = RMSNORM_ISA_SCALAR; i < RMSNORM_ISA_COUNT; ++i) {
        const rmsnorm_isa isa = (rmsnorm_isa)i;
        json_t *set = json_object();
        (void)json_object_set_new(set, "name", json_string(rmsnorm_isa_name(isa)));
        (void)json_object_set_new(set, "compiled", json_boolean(rmsnorm_isa_compiled(isa)));
        (void)json_object_set_new(set, "runnable", json_boolean(rmsnorm_isa_runnable(isa)));
        (void)json_array_append_new(sets, set);
    }
    json_t *caches = json_object();
    for (int i = 0; i < CACHE_COUNT; ++i) {
        const long size = cache_size(i);
        (void)json_object_set_new(caches, cache_keys[i], size > 0 ? json_integer(size) : json_null());
    }
    json_t *root = json_object();
    (void)json_object_set_new(root, "version", json_string(rmsnorm_version()));
    (void)json_object_set_new(root, "isas", sets);
    (void)json_object_set_new(root, "isa", json_string(rmsnorm_isa_name(context->isa)));
    (void)json_object_set_new(root, "caches", caches);
    (void)json_object_set_new(root, "cores", json_integer(core_count()));
    (void)json_object_set_new(root, "threads", json_integer((json_int_t)context->threads));
    (void)json_object_set_new(root, "webgpu", rmsnorm_cli_gpus_json(gpus));
    rmsnorm_cli_print_json(root, true);
}

int rmsnorm_cli_info(int argc, char **argv)
{
    rmsnorm_cli_args args = {.usage = &usage, .argc = argc, .argv = argv};
    const char *value;
    const int id = rmsnorm_cli_next(&args, &value);
    if (id == RMSNORM_CLI_POSITIONAL) {
        return rmsnorm_cli_fail("info takes no argument, '%s' was given", value);
    }
    if (id != RMSNORM_CLI_END) {
        return rmsnorm_cli_stopped(id);
    }
    rmsnorm_cli_context context;
    const int code = rmsnorm_cli_context_open(&args, &context);
    if (code == RMSNORM_CLI_DONE) {
        rmsnorm_cli_gpus gpus;
        rmsnorm_cli_gpus_find(&gpus);
        (args.json ? print_json : print_text)(&context, &gpus);
        free(gpus.items);
    }
    rmsnorm_cli_context_close(&context);
    return code;
}
