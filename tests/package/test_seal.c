/* Sealing: the same folder with its metadata made right. */
#define _XOPEN_SOURCE 700

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "package/metadata.h"
#include "package/support.h"

static parcel all;

static int setup(void **state)
{
    (void)state;
    all = parcel_make();
    (void)folder_make();
    folder_unpack(&all, "p");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    parcel_free(&all);
    folder_remove();
    return 0;
}

static json_t *sealed(void)
{
    rmsnorm_package *package;
    size_t size;
    if (rmsnorm_package_seal(folder_path("p"), &package) != RMSNORM_OK) {
        fail_msg("%s", rmsnorm_last_error());
    }
    const char *text = rmsnorm_package_text(package, RMSNORM_METADATA, &size);
    assert_int_equal(text[size - 1], '\n');
    json_t *json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    folder_write("p/metadata.json", text, size);
    rmsnorm_package_close(package);
    return json;
}

static void test_a_right_one_stays(void **state)
{
    (void)state;
    json_t *json = sealed();
    assert_true(json_equal(json, all.metadata));
    json_decref(json);
    json = sealed(); /* of its own text */
    assert_true(json_equal(json, all.metadata));
    json_decref(json);
}

static void test_changed_files_are_listed_again(void **state)
{
    (void)state;
    folder_write("p/test.json", "{}", 2);
    folder_write("p/new.txt", "new", 3);
    rmsnorm_package *package;
    expect_sentence(rmsnorm_package_open(folder_path("p"), &package), RMSNORM_MALFORMED, "new.txt");
    json_t *json = sealed();
    assert_int_equal(rmsnorm_package_open(folder_path("p"), &package), RMSNORM_OK);
    rmsnorm_package_close(package);
    parcel_put(&all, "test.json", "{}");
    parcel_put(&all, "new.txt", "new");
    parcel_seal(&all);
    assert_true(json_equal(json, all.metadata));
    json_decref(json);
}

/* What an author writes: no id and no digest yet. All other fields stay, in their order. */
static void test_fields_are_made_and_kept(void **state)
{
    (void)state;
    static const char text[] =
        "{\"webgpu\": {\"opPath\": \"p\", \"manifestSpec\": \"rmsnorm-1\"}, \"license\": \"\xc3\x9c\","
        "\"version\": 3, \"name\": \"test.ns.Copy\", \"backend\": {\"type\": \"webgpu\"}}";
    folder_write("p/metadata.json", text, strlen(text));
    json_t *json = sealed();
    assert_string_equal(json_object_iter_key(json_object_iter(json)), "webgpu");
    assert_string_equal(json_string_value(json_object_get(json, "license")), "\xc3\x9c");
    assert_int_equal(json_integer_value(json_object_get(json, "version")), 3);
    assert_int_equal(json_object_size(json_object_get(json_object_get(json, "digest"), "files")), 3);
    json_decref(json);
}

static void refused(rmsnorm_status status, const char *part)
{
    rmsnorm_package *package = (rmsnorm_package *)1;
    expect_sentence(rmsnorm_package_seal(folder_path("p"), &package), status, part);
    assert_null(package);
}

static void test_what_would_not_open_is_not_sealed(void **state)
{
    (void)state;
    folder_write("p/broken.jinja", "{% if %}", 8);
    rmsnorm_package *package = NULL;
    assert_int_not_equal(rmsnorm_package_seal(folder_path("p"), &package), RMSNORM_OK);
    assert_non_null(strstr(rmsnorm_last_error(), "broken.jinja:1:"));
    assert_int_equal(unlink(folder_path("p/broken.jinja")), 0);
    folder_write("p/metadata.json", "{\"name\": \"x\"}", 13);
    refused(RMSNORM_MALFORMED, "name is missing, or not DOMAIN.OPERATOR");
    folder_write("p/metadata.json", "[]", 2);
    refused(RMSNORM_MALFORMED, "name is missing");
    folder_write("p/metadata.json", "{\"name\": \"test.ns.Copy\"}", 24);
    refused(RMSNORM_MALFORMED, "version is missing");
    folder_write("p/metadata.json", "{", 1);
    refused(RMSNORM_MALFORMED, "metadata.json:1:");
    assert_int_equal(unlink(folder_path("p/metadata.json")), 0);
    refused(RMSNORM_NOT_FOUND, "metadata.json is missing");
}

static void test_a_name_that_is_not_utf8(void **state)
{
    (void)state;
    folder_write("p/\xff", "x", 1);
    refused(RMSNORM_MALFORMED, "is no name for a file of a package");
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_a_right_one_stays),        IN_FOLDER(test_changed_files_are_listed_again),
        IN_FOLDER(test_fields_are_made_and_kept), IN_FOLDER(test_what_would_not_open_is_not_sealed),
        IN_FOLDER(test_a_name_that_is_not_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
