/* What somebody may do to the files of a package between its writer and its reader. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "package/metadata.h"
#include "package/support.h"

static void test_the_package_as_it_is(void **state)
{
    (void)state;
    parcel all = parcel_make();
    parcel_accepted(&all);
    parcel_free(&all);
}

/* Every bit position of every byte would be the same call again: one bit each of the first, a middle and the last byte. */
static void test_a_flipped_bit_in_each_file(void **state)
{
    (void)state;
    parcel all = parcel_make();
    for (size_t i = 0; i < all.count; ++i) {
        rmsnorm_package_file *file = &all.files[i];
        if (strcmp(file->name, RMSNORM_METADATA) == 0) {
            continue;
        }
        const rmsnorm_package_file kept = *file;
        const size_t places[] = {0, kept.size / 2, kept.size - 1};
        char sentence[128];
        (void)snprintf(sentence, sizeof sentence, "%s is not the file whose digest metadata.json has", kept.name);
        for (size_t k = 0; k < 3; ++k) {
            char *flipped = malloc(kept.size);
            assert_non_null(flipped);
            memcpy(flipped, kept.data, kept.size);
            flipped[places[k]] ^= 1 << k;
            file->data = flipped;
            parcel_refused(&all, RMSNORM_MALFORMED, sentence);
            free(flipped);
        }
        file->data = kept.data;
        --file->size;
        parcel_refused(&all, RMSNORM_MALFORMED, sentence);
        *file = kept;
    }
    parcel_accepted(&all);
    parcel_free(&all);
}

/* Each character of each digest, replaced: another digest, or none. */
static void test_another_digest(void **state)
{
    (void)state;
    parcel all = parcel_make();
    json_t *files = parcel_at(&all, "digest.files");
    char text[RMSNORM_DIGEST_TEXT];
    (void)snprintf(text, sizeof text, "%s", json_string_value(json_object_get(files, "test.json")));
    for (size_t i = 0; i < RMSNORM_DIGEST_TEXT - 1; ++i) {
        const char kept = text[i];
        text[i] = kept == 'A' ? 'B' : 'A';
        assert_int_equal(json_object_set_new(files, "test.json", json_string(text)), 0);
        parcel_write(&all);
        parcel_refused(&all, RMSNORM_MALFORMED, "test.json");
        text[i] = kept;
    }
    for (size_t length = 0; length < RMSNORM_DIGEST_TEXT - 1; ++length) {
        assert_int_equal(json_object_set_new(files, "test.json", json_stringn(text, length)), 0);
        parcel_write(&all);
        parcel_refused(&all, RMSNORM_MALFORMED, "digest.files[\"test.json\"] is no SHA-256 in base64");
    }
    parcel_free(&all);
}

static void test_a_missing_file(void **state)
{
    (void)state;
    parcel all = parcel_make();
    parcel_remove(&all, "test.json");
    parcel_refused(&all, RMSNORM_MALFORMED, "test.json is missing, which metadata.json lists");
    parcel_remove(&all, "copy.wgsl.jinja");
    parcel_refused(&all, RMSNORM_MALFORMED, "copy.wgsl.jinja is missing, which metadata.json lists, and so are 1 more");
    parcel_free(&all);
}

static void test_a_file_too_many(void **state)
{
    (void)state;
    parcel all = parcel_make();
    parcel_put(&all, "zz.wgsl", "x");
    parcel_refused(&all, RMSNORM_MALFORMED, "zz.wgsl is not listed in metadata.json");
    parcel_put(&all, ".hidden", "x");
    parcel_put(&all, "a", "x");
    parcel_refused(&all, RMSNORM_MALFORMED, ".hidden is not listed in metadata.json, nor are 2 more");
    parcel_free(&all);
}

static void test_a_renamed_file(void **state)
{
    (void)state;
    parcel all = parcel_make();
    parcel_find(&all, "test.json")->name = "Test.json";
    parcel_refused(&all, RMSNORM_MALFORMED,
                   "test.json is missing, and Test.json is not listed in metadata.json: the file was renamed");
    parcel_free(&all);
}

static void test_two_files_exchanged(void **state)
{
    (void)state;
    parcel all = parcel_make();
    parcel_find(&all, "test.json")->name = "x";
    parcel_find(&all, "manifest.json")->name = "test.json";
    parcel_find(&all, "x")->name = "manifest.json";
    parcel_refused(&all, RMSNORM_MALFORMED, "manifest.json is not the file whose digest metadata.json has");
    parcel_free(&all);
}

static void test_the_id_is_that_of_the_files(void **state)
{
    (void)state;
    parcel all = parcel_make();
    char id[64];
    (void)snprintf(id, sizeof id, "%s", json_string_value(parcel_at(&all, "id")));
    assert_memory_equal(id, "_test_ns_copy_webgpu_", 21);
    assert_int_equal(strlen(id), 28);
    /* Another file, another id: the old one is refused. */
    parcel_put(&all, "test.json", "{}");
    parcel_seal(&all);
    assert_string_not_equal(id, json_string_value(parcel_at(&all, "id")));
    assert_int_equal(json_object_set_new(all.metadata, "id", json_string(id)), 0);
    parcel_write(&all);
    parcel_refused(&all, RMSNORM_MALFORMED, "that of its files is _test_ns_copy_webgpu_");
    static const char *const ids[] = {"_test_ns_copy_webgpu_",        "_test_ns_Copy_webgpu_0123456",
                                      "_test_ns_copy_webgpu_012345",  "_test_ns_copy_webgpu_01234567",
                                      "_test_ns_copy_webgpu_012345A", "test_ns_copy_webgpu_0123456"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; ++i) {
        assert_int_equal(json_object_set_new(all.metadata, "id", json_string(ids[i])), 0);
        parcel_write(&all);
        parcel_refused(&all, RMSNORM_MALFORMED, "it must be _test_ns_copy_webgpu_ and 7 hex digits");
    }
    parcel_free(&all);
}

/* The name is hashed with the digest, so files that have exchanged their content have another id. */
static void test_the_id_covers_the_names(void **state)
{
    (void)state;
    parcel all = parcel_make();
    parcel_put(&all, "a", "1");
    parcel_put(&all, "b", "2");
    parcel_seal(&all);
    char id[64];
    (void)snprintf(id, sizeof id, "%s", json_string_value(parcel_at(&all, "id")));
    parcel_put(&all, "a", "2");
    parcel_put(&all, "b", "1");
    parcel_seal(&all);
    assert_string_not_equal(id, json_string_value(parcel_at(&all, "id")));
    parcel_accepted(&all);
    parcel_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_package_as_it_is),    cmocka_unit_test(test_a_flipped_bit_in_each_file),
        cmocka_unit_test(test_another_digest),          cmocka_unit_test(test_a_missing_file),
        cmocka_unit_test(test_a_file_too_many),         cmocka_unit_test(test_a_renamed_file),
        cmocka_unit_test(test_two_files_exchanged),     cmocka_unit_test(test_the_id_is_that_of_the_files),
        cmocka_unit_test(test_the_id_covers_the_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
