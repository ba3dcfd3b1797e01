/* ort_webgpu.c: ONNX Runtime's WebGPU provider, and the kernel times out of its profile.
 *
 * With a profile the provider writes one event of category "Api" for each dispatch, taken by the device's timestamps, named
 * NODE&OPERATOR&PROGRAM. Copies to and from the device are no dispatches and have none; those between layouts or providers
 * would be other nodes'. A call's time is the sum of its node's events. */
#define _POSIX_C_SOURCE 200809L

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ort_session.h"

/* |output - ours| / (1 + |ours|). Its float16 is off by 1.7e-3, as it narrows what lies between. */
#define TOLERANCE 1e-2

typedef struct ort_webgpu {
    bench_ort_session session;
    size_t calls; /* with the one of prepare */
    bool profile_ended;
} ort_webgpu;

/* ---- session --------------------------------------------------------------------------------- */

/* The runtime appends the time of day and ".json". */
static bool configure(const bench_ort_session *session, const bench_case *what, char why[256])
{
    char prefix[256];
    const char *const folder = getenv("TMPDIR");
    snprintf(prefix, sizeof prefix, "%s/rmsnorm-bench-%ld", folder != NULL && folder[0] != '\0' ? folder : "/tmp",
             (long)getpid());
    (void)what;
    BENCH_ORT_TRY(session->api->SessionOptionsAppendExecutionProvider(session->options, "WebGPU", NULL, NULL, 0));
    BENCH_ORT_TRY(session->api->SetIntraOpNumThreads(session->options, 1));
    BENCH_ORT_TRY(session->api->EnableProfiling(session->options, prefix));
    return true;
}

/* The case's output, computed by ours, in memory of its own; NULL with a sentence. */
static void *expect(const bench_case *what, const bench_data *data, char why[256])
{
    const size_t bytes = (size_t)(what->rows * what->hidden_size) * rmsnorm_dtype_size(what->gamma_dtype);
    bench_data own = *data;
    void *state = NULL;
    own.output = malloc(bytes);
    snprintf(why, 256, "out of memory");
    bool good = own.output != NULL && bench_ours.prepare(what, &own, &state, why);
    if (good && !bench_ours.call(state)) {
        snprintf(why, 256, "%s", rmsnorm_last_error());
        good = false;
    }
    if (state != NULL) {
        bench_ours.release(state);
    }
    if (!good) {
        free(own.output);
        own.output = NULL;
    }
    return own.output;
}

/* The runtime's Dawn asks its device for the largest limits and prints a warning for two of them, for every session. */
static bool open_quietly(bench_ort_session *session, const bench_case *what, const bench_data *data, char why[256])
{
    const int kept = dup(STDERR_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    (void)fflush(stderr);
    if (kept >= 0 && nowhere >= 0) {
        (void)dup2(nowhere, STDERR_FILENO);
    }
    const bool good = bench_ort_open(session, what, data, configure, why);
    if (!good && strstr(why, "RequestAdapter") != NULL) {
        snprintf(why, 256, "ONNX Runtime's WebGPU provider finds no adapter that it takes");
    }
    (void)fflush(stderr);
    if (kept >= 0 && nowhere >= 0) {
        (void)dup2(kept, STDERR_FILENO);
    }
    (void)close(nowhere);
    (void)close(kept);
    return good;
}

static bool is_right(const bench_case *what, const void *output, const void *expected, char why[256])
{
    for (int64_t i = 0; i < what->rows * what->hidden_size; i++) {
        const double ours = bench_data_get(what->gamma_dtype, expected, i);
        const double theirs = bench_data_get(what->gamma_dtype, output, i);
        if (!(fabs(theirs - ours) <= TOLERANCE * (1.0 + fabs(ours)))) {
            snprintf(why, 256, "ONNX Runtime's WebGPU provider is wrong at element %lld: %g, expected %g", (long long)i,
                     theirs, ours);
            return false;
        }
    }
    return true;
}

static bool prepare(const bench_case *what, const bench_data *data, void **user, char why[256])
{
    ort_webgpu *const state = calloc(1, sizeof *state);
    *user = state;
    if (state == NULL) {
        snprintf(why, 256, "out of memory");
        return false;
    }
    if (what->gamma_dtype != RMSNORM_FLOAT && what->gamma_dtype != RMSNORM_FLOAT16) {
        snprintf(why, 256, "ONNX Runtime's WebGPU provider has float and float16 alone");
        return false;
    }
    void *const expected = expect(what, data, why);
    const bool good = expected != NULL && open_quietly(&state->session, what, data, why) &&
                      bench_ort_run(&state->session, why) && is_right(what, data->output, expected, why);
    state->calls = 1;
    free(expected);
    return good;
}

static bool call(void *user)
{
    ort_webgpu *const state = user;
    char why[256];
    state->calls++;
    return bench_ort_run(&state->session, why);
}

/* ---- profile --------------------------------------------------------------------------------- */

static bool has_text(const json_t *object, const char *key, const char *text)
{
    const char *const found = json_string_value(json_object_get(object, key));
    return found != NULL && strcmp(found, text) == 0;
}

static bool ran_elsewhere(const json_t *event)
{
    const json_t *const provider = json_object_get(json_object_get(event, "args"), "provider");
    return has_text(event, "cat", "Node") && provider != NULL &&
           !has_text(json_object_get(event, "args"), "provider", "WebGpuExecutionProvider");
}

static bool is_kernel(const json_t *event)
{
    const char *const name = json_string_value(json_object_get(event, "name"));
    return has_text(event, "cat", "Api") && name != NULL &&
           strncmp(name, BENCH_ORT_NODE "&", sizeof BENCH_ORT_NODE) == 0;
}

/* Every call has as many kernels as every other; the first call is prepare's. */
static bool read_times(const json_t *profile, size_t calls, double *microseconds, size_t capacity, size_t *count,
                       char why[256])
{
    size_t kernels = 0;
    size_t seen = 0;
    size_t i;
    const json_t *event;
    json_array_foreach(profile, i, event)
    {
        if (ran_elsewhere(event)) {
            snprintf(why, 256, "ONNX Runtime did not run the operator on WebGPU");
            return false;
        }
        kernels += is_kernel(event);
    }
    if (kernels == 0 || kernels % calls != 0) {
        snprintf(why, 256, "ONNX Runtime's profile has %zu kernel times for %zu calls%s", kernels, calls,
                 kernels == 0 ? ": the device has no timestamps" : "");
        return false;
    }
    *count = calls - 1 < capacity ? calls - 1 : capacity;
    memset(microseconds, 0, *count * sizeof microseconds[0]);
    json_array_foreach(profile, i, event)
    {
        if (is_kernel(event)) {
            const size_t index = seen++ / (kernels / calls);
            if (index >= 1 && index <= *count) {
                microseconds[index - 1] += json_number_value(json_object_get(event, "dur"));
            }
        }
    }
    return true;
}

/* Closes the profile; its file is the caller's to remove. */
static bool end_profile(ort_webgpu *state, char *path, size_t size, char why[256])
{
    const bench_ort_session *const session = &state->session;
    OrtAllocator *allocator;
    char *name;
    state->profile_ended = true;
    BENCH_ORT_TRY(session->api->GetAllocatorWithDefaultOptions(&allocator));
    BENCH_ORT_TRY(session->api->SessionEndProfiling(session->session, allocator, &name));
    snprintf(path, size, "%s", name);
    return bench_ort_good(session, session->api->AllocatorFree(allocator, name), why);
}

bool bench_ort_webgpu_times(void *user, double *microseconds, size_t capacity, size_t *count, char why[256])
{
    ort_webgpu *const state = user;
    char path[512];
    if (!end_profile(state, path, sizeof path, why)) {
        return false;
    }
    json_error_t error;
    json_t *const profile = json_load_file(path, 0, &error);
    snprintf(why, 256, "ONNX Runtime's profile cannot be read: %s", error.text);
    const bool good = profile != NULL && read_times(profile, state->calls, microseconds, capacity, count, why);
    json_decref(profile);
    (void)unlink(path);
    return good;
}

static void release(void *user)
{
    ort_webgpu *const state = user;
    char path[512];
    char why[256];
    if (state->session.session != NULL && !state->profile_ended && end_profile(state, path, sizeof path, why)) {
        (void)unlink(path);
    }
    bench_ort_close(&state->session);
    free(state);
}

const bench_contender bench_ort_webgpu = {"ONNX Runtime WebGPU", prepare, call, release};
