/* What is opened, and what it says about itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "package/embedded.h"
#include "package/metadata.h"
#include "package/support.h"

static void test_an_opened_package_describes_itself(void **state)
{
    (void)state;
    parcel all = parcel_make();
    rmsnorm_package *package;
    rmsnorm_package_info info;
    assert_int_equal(parcel_open(&all, &package), RMSNORM_OK);
    char id[64];
    (void)snprintf(id, sizeof id, "%s", json_string_value(parcel_at(&all, "id")));
    parcel_free(&all); /* the package has its own copies */
    rmsnorm_package_describe(package, &info);
    assert_string_equal(info.name, "test.ns.Copy");
    assert_string_equal(info.id, id);
    assert_int_equal(info.version, 1);
    assert_string_equal(info.spec, "rmsnorm-1");
    assert_string_equal(info.domain, "test.ns");
    assert_string_equal(info.operator_name, "Copy");
    assert_int_equal(info.since_version, 1);
    assert_int_equal(info.input_count, 2);
    assert_string_equal(info.inputs[0].key, "x");
    assert_string_equal(info.inputs[1].onnx, "S");
    assert_true(info.inputs[1].optional && !info.inputs[0].optional);
    assert_int_equal(info.output_count, 1);
    assert_string_equal(info.outputs[0].type, "T");
    assert_true(info.plans);
    size_t size;
    assert_string_equal(rmsnorm_package_text(package, "test.json", &size), "{\"cases\": []}\n");
    assert_int_equal(size, 14);
    assert_non_null(rmsnorm_package_text(package, RMSNORM_METADATA, NULL));
    assert_null(rmsnorm_package_text(package, "test.jso", &size));
    assert_int_equal(size, 0);
    rmsnorm_package_close(package);
    rmsnorm_package_close(NULL);
}

static void test_templates_are_parsed_and_found_by_length(void **state)
{
    (void)state;
    parcel all = parcel_make();
    rmsnorm_package *package;
    assert_int_equal(parcel_open(&all, &package), RMSNORM_OK);
    const rmsnorm_file *file = rmsnorm_package_find(package, "copy.wgsl.jinja and more", 15);
    assert_non_null(file);
    assert_non_null(file->parsed);
    assert_null(rmsnorm_package_find(package, "copy.wgsl.jinja", 14));
    assert_null(rmsnorm_package_find(package, "test.json", 9)->parsed);
    rmsnorm_package_close(package);
    parcel_put(&all, "broken.jinja", "{% if %}");
    parcel_seal(&all);
    rmsnorm_package *none = NULL;
    assert_int_not_equal(parcel_open(&all, &none), RMSNORM_OK);
    assert_non_null(strstr(rmsnorm_last_error(), "broken.jinja:1:"));
    assert_null(none);
    parcel_free(&all);
}

static const char foreign[] =
    "{\"domain\": \"test.ns\", \"name\": \"Copy\", \"sinceVersion\": 7, \"future\": true,\n"
    " \"typeConstraints\": {\"T\": [\"float32\"]},\n"
    " \"inputs\": {\"x\": {\"onnx\": \"X\", \"dtype\": \"T\"}},\n"
    " \"outputs\": {\"y\": {\"onnx\": \"Y\", \"dtype\": \"T\"}}, \"variants\": {\"by\": \"others\"}}";

/* The Hub's own spec: its contract is read, its variants are not looked at, its templates may be of any kind. */
static void test_another_spec_opens_for_its_contract(void **state)
{
    (void)state;
    parcel all = parcel_make();
    parcel_put(&all, "manifest.json", foreign);
    parcel_put(&all, "other.jinja", "{% if %}");
    assert_int_equal(json_object_set_new(parcel_at(&all, "webgpu"), "manifestSpec", json_string("1.0")), 0);
    parcel_seal(&all);
    /* Its builder numbers ids in a way of its own. */
    assert_int_equal(json_object_set_new(all.metadata, "id", json_string("_test_ns_copy_webgpu_0123456")), 0);
    parcel_write(&all);
    rmsnorm_package *package;
    rmsnorm_package_info info;
    assert_int_equal(parcel_open(&all, &package), RMSNORM_OK);
    rmsnorm_package_describe(package, &info);
    assert_false(info.plans);
    assert_string_equal(info.spec, "1.0");
    assert_int_equal(info.since_version, 7);
    assert_string_equal(info.inputs[0].key, "x");
    rmsnorm_package_close(package);
    assert_int_equal(json_object_set_new(all.metadata, "id", json_string("_test_ns_copy_012345")), 0);
    parcel_write(&all);
    parcel_refused(&all, RMSNORM_MALFORMED, "it must be _test_ns_copy_webgpu_ and 7 hex digits");
    parcel_free(&all);
}

/* The caller has checked the digests: what is not needed may be missing; what is nobody's, or no package, is refused. */
static void test_verified_files_are_opened_without_digests(void **state)
{
    (void)state;
    parcel all = parcel_make();
    rmsnorm_package *package;
    rmsnorm_package *none = NULL;
    parcel_remove(&all, "test.json");
    parcel_put(&all, "copy.wgsl.jinja", "// changed");
    parcel_refused(&all, RMSNORM_MALFORMED, "test.json is missing");
    assert_int_equal(rmsnorm_package_open_verified(all.files, all.count, &package), RMSNORM_OK);
    assert_string_equal(rmsnorm_package_text(package, "copy.wgsl.jinja", NULL), "// changed");
    rmsnorm_package_close(package);

    parcel_put(&all, "more.jinja", "");
    expect_sentence(rmsnorm_package_open_verified(all.files, all.count, &none), RMSNORM_MALFORMED,
                    "more.jinja is not listed in metadata.json");
    parcel_remove(&all, "more.jinja");
    parcel_remove(&all, "copy.wgsl.jinja");
    expect_sentence(rmsnorm_package_open_verified(all.files, all.count, &none), RMSNORM_MALFORMED,
                    "which is no .jinja file of the package");
    assert_int_equal(json_object_set_new(all.metadata, "id", json_string("_test_ns_copy_webgpu_12345")), 0);
    parcel_write(&all);
    expect_sentence(rmsnorm_package_open_verified(all.files, all.count, &none), RMSNORM_MALFORMED, "7 hex digits");
    assert_null(none);
    parcel_free(&all);
}

static void test_two_versions_side_by_side(void **state)
{
    (void)state;
    parcel all = parcel_make();
    rmsnorm_package *first;
    rmsnorm_package *second;
    rmsnorm_package_info infos[2];
    assert_int_equal(parcel_open(&all, &first), RMSNORM_OK);
    assert_int_equal(json_object_set_new(all.metadata, "version", json_integer(2)), 0);
    parcel_put(&all, "test.json", "{}");
    parcel_seal(&all);
    assert_int_equal(parcel_open(&all, &second), RMSNORM_OK);
    parcel_free(&all);
    rmsnorm_package_describe(first, &infos[0]);
    rmsnorm_package_describe(second, &infos[1]);
    assert_int_equal(infos[0].version, 1);
    assert_int_equal(infos[1].version, 2);
    assert_string_equal(infos[0].name, infos[1].name);
    assert_string_not_equal(infos[0].id, infos[1].id);
    assert_string_equal(rmsnorm_package_text(first, "test.json", NULL), "{\"cases\": []}\n");
    assert_string_equal(rmsnorm_package_text(second, "test.json", NULL), "{}");
    rmsnorm_package_close(first);
    assert_string_equal(rmsnorm_package_text(second, "test.json", NULL), "{}");
    rmsnorm_package_close(second);
}

static void test_manifest_and_metadata_agree(void **state)
{
    (void)state;
    parcel all = parcel_make();
    static const char *const names[] = {"test.ns.Copies", "test.n.Copy", "test.ns.x.Copy", "test.nsx.Copy"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        assert_int_equal(json_object_set_new(all.metadata, "name", json_string(names[i])), 0);
        parcel_seal(&all);
        parcel_refused(&all, RMSNORM_MALFORMED, "by manifest.json it is \"test.ns.Copy\"");
    }
    assert_int_equal(json_object_set_new(all.metadata, "name", json_string("test.ns.Copy")), 0);
    parcel_remove(&all, "copy.wgsl.jinja");
    parcel_put(&all, "copy.wgsl", "x");
    parcel_seal(&all);
    parcel_refused(&all, RMSNORM_MALFORMED,
                   "manifest.json: variants[0].passes[0].template is \"copy.wgsl.jinja\", which is no .jinja file");
    parcel_remove(&all, "manifest.json");
    parcel_seal(&all);
    parcel_refused(&all, RMSNORM_MALFORMED, "manifest.json is missing: this is no package");
    parcel_free(&all);
    rmsnorm_package *package;
    expect_sentence(rmsnorm_package_open_files(NULL, 0, &package), RMSNORM_NOT_FOUND,
                    "metadata.json is missing: this is no package");
}

static void test_names_and_sizes_of_files(void **state)
{
    (void)state;
    parcel all = parcel_make();
    static const char *const names[] = {"", ".", "..", "a/b", "/a", "a\\b", "a\nb", "\x7f", "\xff"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        parcel_put(&all, names[i], "x");
        parcel_refused(&all, RMSNORM_MALFORMED, "is no name for a file of a package");
        parcel_remove(&all, names[i]);
    }
    char *large = calloc(((size_t)4 << 20) + 1, 1);
    assert_non_null(large);
    parcel_put(&all, "large", "");
    parcel_find(&all, "large")->data = large;
    parcel_find(&all, "large")->size = ((size_t)4 << 20) + 1;
    parcel_refused(&all, RMSNORM_MALFORMED, "large has 4194305 bytes, at most 4194304 are allowed");
    parcel_find(&all, "large")->size = (size_t)4 << 20;
    parcel_seal(&all);
    parcel_accepted(&all);
    rmsnorm_package_file same[300];
    for (size_t i = 0; i < 300; ++i) {
        same[i] = *parcel_find(&all, "large");
    }
    rmsnorm_package *package;
    expect_sentence(rmsnorm_package_open_files(same, 300, &package), RMSNORM_MALFORMED,
                    "the files have more than 33554432 bytes together");
    expect_sentence(rmsnorm_package_open_files(same, 2, &package), RMSNORM_MALFORMED, "large is there twice");
    for (size_t i = 0; i < 300; ++i) {
        same[i].size = 1;
    }
    expect_sentence(rmsnorm_package_open_files(same, 300, &package), RMSNORM_MALFORMED,
                    "there are more than 256 files");
    free(large);
    parcel_free(&all);
}

static void test_embedded_packages_open_by_operator(void **state)
{
    (void)state;
    for (size_t i = 0; i < rmsnorm_embedded_count; ++i) {
        const char *name = rmsnorm_embedded_packages[i].name;
        char domain[64];
        (void)snprintf(domain, sizeof domain, "%.*s", (int)(strrchr(name, '.') - name), name);
        rmsnorm_package *package;
        rmsnorm_package_info info;
        if (rmsnorm_package_open_operator(domain, strrchr(name, '.') + 1, &package) != RMSNORM_OK) {
            fail_msg("%s: %s", name, rmsnorm_last_error());
        }
        rmsnorm_package_describe(package, &info);
        assert_string_equal(info.name, name);
        assert_true(info.plans);
        rmsnorm_package_close(package);
        assert_true(i == 0 || strcmp(rmsnorm_embedded_packages[i - 1].name, name) < 0);
    }
    print_message("%zu embedded packages\n", rmsnorm_embedded_count);
    rmsnorm_package *package = (rmsnorm_package *)1;
    expect_sentence(rmsnorm_package_open_operator("", "RMSNormalisation", &package), RMSNORM_NOT_FOUND,
                    "RMSNormalization");
    assert_null(package);
}

static void test_a_template_by_itself(void **state)
{
    (void)state;
    char *text;
    assert_int_equal(rmsnorm_template_render_json("t", "plain", 5, "{\"n\": 2}", &text), RMSNORM_OK);
    assert_string_equal(text, "plain");
    free(text);
    expect_sentence(rmsnorm_template_render_json("t", "x", 1, "[]", &text), RMSNORM_MALFORMED,
                    "context: a JSON object is wanted");
    assert_null(text);
    expect_sentence(rmsnorm_template_render_json("t", "x", 1, "{", &text), RMSNORM_MALFORMED, "context:1:");
}

static void test_null_is_refused(void **state)
{
    (void)state;
    const rmsnorm_package_file unnamed = {NULL, "x", 1};
    const rmsnorm_package_file without = {"manifest.json", NULL, 1};
    rmsnorm_device_profile profile = RMSNORM_DEVICE_PROFILE_INIT;
    const rmsnorm_request request = RMSNORM_REQUEST_INIT;
    rmsnorm_package *package = NULL;
    rmsnorm_package_info info = {.name = "x"};
    rmsnorm_plan *plan;
    char *text;
    size_t size = 7;
    const rmsnorm_status refusals[] = {
        rmsnorm_package_open(NULL, &package),
        rmsnorm_package_open("p", NULL),
        rmsnorm_package_seal(NULL, &package),
        rmsnorm_package_seal("p", NULL),
        rmsnorm_package_open_files(NULL, 1, &package),
        rmsnorm_package_open_files(NULL, 0, NULL),
        rmsnorm_package_open_files(&unnamed, 1, &package),
        rmsnorm_package_open_verified(&without, 1, &package),
        rmsnorm_package_open_operator("", NULL, &package),
        rmsnorm_package_open_operator("", "SimplifiedLayerNormalization", NULL),
        rmsnorm_device_profile_set(NULL, "shader-f16", 1),
        rmsnorm_device_profile_set(&profile, NULL, 1),
        rmsnorm_plan_make(NULL, &request, &plan),
        rmsnorm_template_render_json(NULL, "x", 1, "{}", &text),
        rmsnorm_template_render_json("t", NULL, 1, "{}", &text),
        rmsnorm_template_render_json("t", "x", 1, NULL, &text),
        rmsnorm_template_render_json("t", "x", 1, "{}", NULL),
    };
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; ++i) {
        assert_int_equal(refusals[i], RMSNORM_INVALID_ARGUMENT);
    }
    assert_null(package);
    rmsnorm_plan_release(NULL);
    rmsnorm_package_describe(NULL, &info);
    assert_true(info.name == NULL && info.input_count == 0);
    assert_null(rmsnorm_package_text(NULL, "test.json", &size));
    assert_int_equal(size, 0);
    assert_int_equal(rmsnorm_package_open_operator("", "SimplifiedLayerNormalization", &package), RMSNORM_OK);
    rmsnorm_package_describe(package, NULL);
    assert_null(rmsnorm_package_text(package, NULL, NULL));
    rmsnorm_package_close(package);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_opened_package_describes_itself),
        cmocka_unit_test(test_templates_are_parsed_and_found_by_length),
        cmocka_unit_test(test_another_spec_opens_for_its_contract),
        cmocka_unit_test(test_verified_files_are_opened_without_digests),
        cmocka_unit_test(test_two_versions_side_by_side),
        cmocka_unit_test(test_manifest_and_metadata_agree),
        cmocka_unit_test(test_names_and_sizes_of_files),
        cmocka_unit_test(test_embedded_packages_open_by_operator),
        cmocka_unit_test(test_a_template_by_itself),
        cmocka_unit_test(test_null_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
