/* What a tuning file says is what a run does. */
#define _XOPEN_SOURCE 700 /* strdup, mkdtemp, mkfifo */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "support.h"

static char path[64];

static int begin(void **state)
{
    (void)state;
    (void)snprintf(path, sizeof path, "tuning-%ld.json", (long)getpid());
    return 0;
}

static int end(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

static rmsnorm_webgpu *open_tuned(void)
{
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *gpu;
    options.tuning = path;
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    return gpu;
}

static rmsnorm_request request_of(const trial *t)
{
    rmsnorm_request request = RMSNORM_REQUEST_INIT;
    request.inputs[0] = &t->in[0];
    request.inputs[1] = &t->in[1];
    request.wanted[0] = true;
    return request;
}

/* The variant of the plan; the caller frees it. */
static char *planned(rmsnorm_webgpu *gpu, const rmsnorm_operator *op, const rmsnorm_request *request)
{
    rmsnorm_plan *plan;
    gpu_must(rmsnorm_webgpu_plan(gpu, op, NULL, request, &plan));
    char *const variant = strdup(plan->variant);
    rmsnorm_plan_release(plan);
    return variant;
}

/* A variant that the package would not choose for the request but has for it. */
static bool find_other(rmsnorm_webgpu *gpu, const rmsnorm_package *package, const rmsnorm_request *request,
                       const char *usual, char other[64])
{
    rmsnorm_adapter adapter;
    size_t size;
    size_t i;
    const json_t *variant;
    rmsnorm_webgpu_describe(gpu, &adapter);
    const char *const text = rmsnorm_package_text(package, "manifest.json", &size);
    json_t *const manifest = json_loadb(text, size, 0, NULL);
    bool found = false;
    json_array_foreach(json_object_get(manifest, "variants"), i, variant)
    {
        rmsnorm_request own = *request;
        rmsnorm_plan *plan;
        own.device = &adapter.profile;
        own.variant = json_string_value(json_object_get(variant, "name"));
        if (!found && strcmp(own.variant, usual) != 0 && rmsnorm_plan_make(package, &own, &plan) == RMSNORM_OK) {
            found = true;
            (void)snprintf(other, 64, "%s", own.variant);
            rmsnorm_plan_release(plan);
        }
    }
    json_decref(manifest);
    return found;
}

static void put(rmsnorm_webgpu *gpu, const rmsnorm_package *package, const rmsnorm_request *request,
                const char *variant)
{
    rmsnorm_tuning *tuning;
    rmsnorm_adapter adapter;
    char request_class[192];
    rmsnorm_tuning_choice choice = {.seconds = 1e-6, .default_seconds = 2e-6};
    rmsnorm_webgpu_describe(gpu, &adapter);
    (void)snprintf(choice.variant, sizeof choice.variant, "%s", variant);
    gpu_must(rmsnorm_tuning_open(path, &tuning));
    gpu_must(rmsnorm_tuning_class(package, request, request_class, sizeof request_class));
    gpu_must(rmsnorm_tuning_put(tuning, &adapter, request_class, &choice));
    gpu_must(rmsnorm_tuning_save(tuning));
    rmsnorm_tuning_close(tuning);
}

static void test_a_run_takes_the_tuned_variant(void **state)
{
    (void)state;
    trial t = rms_trial(SIMPLE, F32, F32, 1, 65536);
    trial cpu = trial_copy(&t);
    const rmsnorm_request request = request_of(&t);
    rmsnorm_package *package;
    char other[64];
    gpu_must(rmsnorm_package_open_operator(t.op->domain, t.op->name, &package));
    rmsnorm_webgpu *gpu = open_tuned();
    char *const usual = planned(gpu, t.op, &request);
    assert_true(find_other(gpu, package, &request, usual, other));
    put(gpu, package, &request, other);
    rmsnorm_webgpu_close(gpu);

    gpu = open_tuned();
    char *const tuned = planned(gpu, t.op, &request);
    assert_string_equal(tuned, other);
    gpu_must(gpu_run_host(gpu, &t, NULL));
    trial_must_run(&cpu);
    expect_agreement(&t, &cpu, 4);

    rmsnorm_request fixed = request; /* what a caller asks for comes before tuning */
    fixed.batch_invariant = true;
    char *const invariant = planned(gpu, t.op, &fixed);
    fixed.batch_invariant = false;
    fixed.variant = usual;
    char *const asked = planned(gpu, t.op, &fixed);
    assert_string_equal(asked, usual);
    rmsnorm_webgpu_close(gpu);
    rmsnorm_package_close(package);
    free(usual);
    free(tuned);
    free(invariant);
    free(asked);
    trial_end(&cpu);
    trial_end(&t);
}

static void test_a_choice_that_has_no_plan_is_passed_over(void **state)
{
    (void)state;
    trial t = rms_trial(SIMPLE, F32, F32, 2, 8);
    const rmsnorm_request request = request_of(&t);
    rmsnorm_package *package;
    gpu_must(rmsnorm_package_open_operator(t.op->domain, t.op->name, &package));
    rmsnorm_webgpu *gpu = open_tuned();
    char *const usual = planned(gpu, t.op, &request);
    put(gpu, package, &request, "of another package");
    rmsnorm_webgpu_close(gpu);
    gpu = open_tuned();
    char *const still = planned(gpu, t.op, &request);
    assert_string_equal(still, usual);
    rmsnorm_webgpu_close(gpu);
    rmsnorm_package_close(package);
    free(usual);
    free(still);
    trial_end(&t);
}

static void write_text(const char *name, const char *text)
{
    FILE *const file = fopen(name, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* One that was named must be right; one in the user's cache folder is only a cache. A pipe is waited for by nobody. */
static void test_broken_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/rmsnorm-tuning-XXXXXX";
    char inner[128];
    char named[128];
    rmsnorm_webgpu_options options = RMSNORM_WEBGPU_OPTIONS_INIT;
    rmsnorm_webgpu *gpu;
    assert_non_null(mkdtemp(folder));
    snprintf(named, sizeof named, "%s/named.json", folder);
    options.tuning = named;
    write_text(named, "{\"adapters\": [");
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_MALFORMED, named, "line 1", NULL);
    write_text(named, "[]");
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_MALFORMED, named, "adapters", NULL);
    assert_int_equal(unlink(named), 0);
    assert_int_equal(mkfifo(named, 0600), 0);
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_IO, named, "no regular file", NULL);
    assert_int_equal(unlink(named), 0);
    options.tuning = folder;
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_IO, folder, "no regular file", NULL);

    snprintf(inner, sizeof inner, "%s/rmsnorm", folder);
    assert_int_equal(mkdir(inner, 0700), 0);
    snprintf(inner, sizeof inner, "%s/rmsnorm/tuning.json", folder);
    write_text(inner, "nonsense");
    unsetenv("RMSNORM_TUNING");
    setenv("MESA_SHADER_CACHE_DISABLE", "true", 1); /* it would be in that folder, too */
    setenv("XDG_CACHE_HOME", folder, 1);
    options.tuning = NULL;
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    rmsnorm_webgpu_close(gpu);
    setenv("RMSNORM_TUNING", inner, 1);
    gpu_must_fail(rmsnorm_webgpu_open(&options, &gpu), RMSNORM_MALFORMED, inner, NULL);
    setenv("RMSNORM_TUNING", "", 1);
    gpu_must(rmsnorm_webgpu_open(&options, &gpu));
    rmsnorm_webgpu_close(gpu);
    assert_int_equal(unlink(inner), 0);
    inner[strlen(inner) - strlen("/tuning.json")] = '\0';
    assert_int_equal(rmdir(inner), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_takes_the_tuned_variant),
        cmocka_unit_test(test_a_choice_that_has_no_plan_is_passed_over),
        cmocka_unit_test(test_broken_files),
    };
    return cmocka_run_group_tests_name("webgpu_tuning", tests, begin, end);
}
