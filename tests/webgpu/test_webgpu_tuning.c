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

/* The table's only entry, for the class "c"; gives whether it is found, and then that it is whole. */
static bool finds(const char *entry, rmsnorm_tuning_choice *choice)
{
    const rmsnorm_adapter adapter = {
        .name = "a", .backend = "b", .driver = "d", .profile = {.shader_f16 = true, .subgroups = true}};
    char text[1024];
    rmsnorm_tuning *tuning;
    (void)snprintf(text, sizeof text, "{\"adapters\": {\"a, b, 00000000:00000000, d\": {\"c\": %s}}}", entry);
    write_text(path, text);
    memset(choice, '?', sizeof *choice);
    gpu_must(rmsnorm_tuning_open(path, &tuning));
    const bool found = rmsnorm_tuning_find(tuning, &adapter, "c", choice);
    rmsnorm_tuning_close(tuning);
    if (!found) {
        assert_int_equal(choice->variant[0], '?');
    }
    return found;
}

#define LETTERS_31 "abcdefghijklmnopqrstuvwxyzabcde"
#define LETTERS_63 LETTERS_31 LETTERS_31 "a"

/* What a cut name would say, another variant may be called. */
static void test_an_entry_that_is_no_choice_is_not_there(void **state)
{
    (void)state;
    rmsnorm_tuning_choice choice;
    assert_true(
        finds("{\"variant\": \"" LETTERS_63 "\", \"tunables\": {\"" LETTERS_31 "\": 7}, \"seconds\": 0.5}", &choice));
    assert_string_equal(choice.variant, LETTERS_63);
    assert_int_equal(choice.tunable_count, 1);
    assert_string_equal(choice.tunables[0].name, LETTERS_31);
    assert_int_equal(choice.tunables[0].value, 7);
    assert_true(choice.seconds == 0.5 && choice.default_seconds == 0);
    assert_true(finds("{}", &choice));
    assert_true(choice.variant[0] == '\0' && choice.tunable_count == 0);
    static const char *const others[] = {
        "{\"variant\": \"" LETTERS_63 "b\"}",
        "{\"tunables\": {\"" LETTERS_31 "f\": 1}}",
        "{\"tunables\": {\"a\":1, \"b\":1, \"c\":1, \"d\":1, \"e\":1, \"f\":1, \"g\":1, \"h\":1, \"i\":1}}",
        "{\"tunables\": {\"a\": 1.5}}",
        "{\"tunables\": [1]}",
        "{\"variant\": 1}",
        "[]",
        "7",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_false(finds(others[i], &choice));
    }
    assert_int_equal(unlink(path), 0);
}

static void test_arguments(void **state)
{
    (void)state;
    const rmsnorm_adapter adapter = {.name = "a"};
    const rmsnorm_request request = RMSNORM_REQUEST_INIT;
    rmsnorm_tuning_choice choice = {.tunable_count = RMSNORM_MAX_TUNABLES + 1};
    rmsnorm_tuning *tuning;
    rmsnorm_package *package;
    char text[192];
    const rmsnorm_operator *const op = rmsnorm_operator_at(0);
    gpu_must(rmsnorm_package_open_operator(op->domain, op->name, &package));
    gpu_must_fail(rmsnorm_tuning_open(path, NULL), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must(rmsnorm_tuning_open(path, &tuning));
    rmsnorm_tuning_close(NULL);
    assert_null(rmsnorm_tuning_path(NULL));
    gpu_must_fail(rmsnorm_tuning_class(NULL, &request, text, sizeof text), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must_fail(rmsnorm_tuning_class(package, NULL, text, sizeof text), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must_fail(rmsnorm_tuning_class(package, &request, NULL, 1), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must_fail(rmsnorm_tuning_put(tuning, &adapter, "c", &choice), RMSNORM_INVALID_ARGUMENT, "more than 8", NULL);
    choice.tunable_count = 0;
    memset(choice.variant, 'x', sizeof choice.variant);
    gpu_must_fail(rmsnorm_tuning_put(tuning, &adapter, "c", &choice), RMSNORM_INVALID_ARGUMENT, "without an end", NULL);
    choice = (rmsnorm_tuning_choice){.variant = "rows"};
    gpu_must_fail(rmsnorm_tuning_put(NULL, &adapter, "c", &choice), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must_fail(rmsnorm_tuning_put(tuning, NULL, "c", &choice), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must_fail(rmsnorm_tuning_put(tuning, &adapter, NULL, &choice), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must_fail(rmsnorm_tuning_put(tuning, &adapter, "c", NULL), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    gpu_must(rmsnorm_tuning_put(tuning, &adapter, "c", &choice));
    assert_true(rmsnorm_tuning_find(tuning, &adapter, "c", &choice));
    assert_false(rmsnorm_tuning_find(NULL, &adapter, "c", &choice));
    assert_false(rmsnorm_tuning_find(tuning, NULL, "c", &choice));
    assert_false(rmsnorm_tuning_find(tuning, &adapter, NULL, &choice));
    assert_false(rmsnorm_tuning_find(tuning, &adapter, "c", NULL));
    gpu_must_fail(rmsnorm_tuning_save(NULL), RMSNORM_INVALID_ARGUMENT, "NULL", NULL);
    rmsnorm_tuning_close(tuning);
    rmsnorm_package_close(package);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_run_takes_the_tuned_variant),
        cmocka_unit_test(test_a_choice_that_has_no_plan_is_passed_over),
        cmocka_unit_test(test_broken_files),
        cmocka_unit_test(test_an_entry_that_is_no_choice_is_not_there),
        cmocka_unit_test(test_arguments),
    };
    return cmocka_run_group_tests_name("webgpu_tuning", tests, begin, end);
}
