/* Runtimes that are too old, unknown or none: an error, never a crash. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "plugin/rig.h"

typedef OrtStatus *create_function(const char *name, const OrtApiBase *base, const OrtLogger *logger,
                                   OrtEpFactory **factories, size_t most, size_t *count);
typedef OrtStatus *release_function(OrtEpFactory *factory);
typedef OrtStatus *register_function(OrtSessionOptions *options, const OrtApiBase *base);

static create_function *create;
static release_function *release_factory;
static register_function *register_ops;

static int open_plugin(void **state)
{
    if (rig_open(state) != 0) {
        return -1;
    }
    void *const library = dlopen(PLUGIN_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    void *symbols[] = {dlsym(library, "CreateEpFactories"), dlsym(library, "ReleaseEpFactory"),
                       dlsym(library, "RegisterCustomOps")};
    memcpy(&create, &symbols[0], sizeof create);
    memcpy(&release_factory, &symbols[1], sizeof release_factory);
    memcpy(&register_ops, &symbols[2], sizeof register_ops);
    return create != NULL && release_factory != NULL && register_ops != NULL ? 0 : -1;
}

static uint32_t newest; /* that the base below gives */

static const OrtApi *ORT_API_CALL get_api(uint32_t version)
{
    return version <= newest ? ort_base->GetApi(version) : NULL;
}

static const char *ORT_API_CALL get_version(void)
{
    return "1.2.3";
}

static const char *ORT_API_CALL get_no_version(void)
{
    return NULL;
}

static const char *ORT_API_CALL get_newest_version(void)
{
    static char text[16];
    snprintf(text, sizeof text, "1.%u.0", newest);
    return text;
}

static void old_runtimes_get_a_status(void **state)
{
    (void)state;
    const OrtApiBase base = {get_api, get_version}, unnamed = {get_api, get_no_version};
    OrtSessionOptions *options;
    expect_good(ort->CreateSessionOptions(&options));
    for (newest = 1; newest < 23; newest++) {
        OrtEpFactory *factory = NULL;
        size_t count = 7;
        expect_status(create("rmsnorm", &base, NULL, &factory, 1, &count), "this ONNX Runtime is 1.2.3; 1.23 or later");
        assert_int_equal(count, 0);
        assert_null(factory);
        expect_status(create("rmsnorm", &unnamed, NULL, &factory, 1, &count), "of an unknown version");
        expect_status(register_ops(options, &base), "this ONNX Runtime is 1.2.3; 1.23 or later");
    }
    ort->ReleaseSessionOptions(options);
}

static void no_runtime_gives_no_factory(void **state)
{
    (void)state;
    const OrtApiBase base = {get_api, get_version}, empty = {NULL, NULL};
    const OrtApiBase *const bases[] = {&base, &empty, NULL};
    newest = 0;
    for (size_t i = 0; i < 3; i++) {
        OrtEpFactory *factory = NULL;
        size_t count = 7;
        assert_null(create("rmsnorm", bases[i], NULL, &factory, 1, &count));
        assert_int_equal(count, 0);
        assert_null(register_ops(NULL, bases[i]));
    }
}

static void every_version_from_the_oldest_on_has_a_factory(void **state)
{
    (void)state;
    const OrtApiBase told = {get_api, get_newest_version}, untold = {get_api, get_no_version};
    const uint32_t there = ort_base->GetApi(24) != NULL ? 24 : 23;
    for (newest = 23; newest <= there; newest++) {
        for (int i = 0; i < 2; i++) {
            OrtEpFactory *factory = NULL;
            size_t count = 0;
            expect_good(create("rmsnorm", i == 0 ? &told : &untold, NULL, &factory, 1, &count));
            assert_int_equal(count, 1);
            assert_string_equal(factory->GetName(factory), "RmsNormExecutionProvider");
            assert_string_equal(factory->GetVersion(factory), rmsnorm_version());
            assert_int_equal(factory->ort_version_supported, newest == 23 ? 23 : 24);
            expect_good(release_factory(factory));
        }
    }
}

static void a_factory_needs_room(void **state)
{
    (void)state;
    OrtEpFactory *factory = NULL;
    size_t count = 7;
    expect_status(create("rmsnorm", ort_base, NULL, &factory, 0, &count), "no room for a factory");
    assert_int_equal(count, 0);
    expect_good(release_factory(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(old_runtimes_get_a_status),
        cmocka_unit_test(no_runtime_gives_no_factory),
        cmocka_unit_test(every_version_from_the_oldest_on_has_a_factory),
        cmocka_unit_test(a_factory_needs_room),
    };
    return cmocka_run_group_tests(tests, open_plugin, rig_close);
}
