/* metadata.json, one field after the other. */
#include <stdio.h>
#include <string.h>

#include "package/metadata.h"
#include "package/support.h"

/* The parent's path and the name; of the top level the parent's path is "". */
typedef struct place {
    const char *parent, *name;
} place;

static const struct {
    place at;
    const char *missing; /* the sentence */
    const char *kind;    /* that is wanted */
} fields[] = {
    {{"", "name"}, "metadata.json: name is missing", "string"},
    {{"", "id"}, "metadata.json: id is missing", "string"},
    {{"", "version"}, "metadata.json: version is missing", "integer"},
    {{"", "license"}, "metadata.json: license is missing", "string"},
    {{"", "backend"}, "metadata.json: backend is missing", "map"},
    {{"backend", "type"}, "metadata.json: backend.type is missing", "string"},
    {{"", "digest"}, "metadata.json: digest is missing", "map"},
    {{"digest", "algorithm"}, "metadata.json: digest.algorithm is missing", "string"},
    {{"digest", "files"}, "metadata.json: digest.files is missing", "map"},
    {{"provenance", "kernel"}, "metadata.json: provenance.kernel is missing", "map"},
    {{"provenance.kernel", "sha"}, "metadata.json: provenance.kernel.sha is missing", "string"},
    {{"provenance.kernel", "dirty"}, "metadata.json: provenance.kernel.dirty is missing", "boolean"},
    {{"", "webgpu"}, "metadata.json: webgpu is missing", "map"},
    {{"webgpu", "manifestSpec"}, "metadata.json: webgpu.manifestSpec is missing", "string"},
    {{"webgpu", "opPath"}, "metadata.json: webgpu.opPath is missing", "string"},
};

static void test_every_field_is_missed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i) {
        parcel all = parcel_make();
        assert_int_equal(json_object_del(parcel_at(&all, fields[i].at.parent), fields[i].at.name), 0);
        parcel_write(&all);
        parcel_refused(&all, RMSNORM_MALFORMED, fields[i].missing);
        parcel_free(&all);
    }
}

static void test_every_field_has_its_kind(void **state)
{
    (void)state;
    static const place optional[] = {{"", "provenance"}, {"webgpu", "specialized"}};
    const size_t needed = sizeof fields / sizeof fields[0];
    for (size_t i = 0; i < needed + 2; ++i) {
        const place at = i < needed ? fields[i].at : optional[i - needed];
        const char *kind = i < needed ? fields[i].kind : i == needed ? "map" : "boolean";
        char sentence[128];
        (void)snprintf(sentence, sizeof sentence, "metadata.json: %s%s%s is of the kind list, %s is wanted", at.parent,
                       at.parent[0] != '\0' ? "." : "", at.name, kind);
        parcel all = parcel_make();
        assert_int_equal(json_object_set_new(parcel_at(&all, at.parent), at.name, json_array()), 0);
        parcel_write(&all);
        parcel_refused(&all, RMSNORM_MALFORMED, sentence);
        parcel_free(&all);
    }
}

static void refuse_with(const char *parent, const char *name, json_t *value, rmsnorm_status status, const char *part)
{
    parcel all = parcel_make();
    assert_int_equal(json_object_set_new(parcel_at(&all, parent), name, value), 0);
    parcel_write(&all);
    parcel_refused(&all, status, part);
    parcel_free(&all);
}

static void test_values(void **state)
{
    (void)state;
    refuse_with("", "color", json_true(), RMSNORM_MALFORMED,
                "metadata.json: color is an unknown field; there are name,");
    refuse_with("", "name", json_string(""), RMSNORM_MALFORMED, "name is empty");
    static const char *const names[] = {"Copy", ".Copy", "a..b", "a.", "a.b-c", "a.b c", "a/b.c", "a.\xc3\xa9"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        refuse_with("", "name", json_string(names[i]), RMSNORM_MALFORMED, "it must be DOMAIN.OPERATOR");
    }
    refuse_with("", "version", json_integer(0), RMSNORM_MALFORMED, "version is less than 1");
    refuse_with("", "version", json_real(1.0), RMSNORM_MALFORMED, "version is of the kind float, integer is wanted");
    refuse_with("backend", "type", json_string("cuda"), RMSNORM_UNSUPPORTED,
                "backend.type is \"cuda\", only \"webgpu\" is understood");
    refuse_with("digest", "algorithm", json_string("md5"), RMSNORM_UNSUPPORTED,
                "digest.algorithm is \"md5\", only \"sha256\" is understood");
    refuse_with("digest.files", "a/b", json_string(""), RMSNORM_MALFORMED, "digest.files lists \"a/b\"");
    refuse_with("digest.files", "..", json_string(""), RMSNORM_MALFORMED, "digest.files lists \"..\"");
    refuse_with("digest.files", "metadata.json", json_string(""), RMSNORM_MALFORMED,
                "digest.files lists \"metadata.json\"");
    refuse_with("digest.files", "test.json", json_integer(1), RMSNORM_MALFORMED,
                "digest.files[\"test.json\"] is no SHA-256 in base64");
}

static void test_many_listed_files(void **state)
{
    (void)state;
    parcel all = parcel_make();
    json_t *files = parcel_at(&all, "digest.files");
    for (int i = 0; i < 256; ++i) {
        char name[16];
        (void)snprintf(name, sizeof name, "f%d", i);
        assert_int_equal(json_object_set_new(files, name, json_string("")), 0);
    }
    parcel_write(&all);
    parcel_refused(&all, RMSNORM_MALFORMED, "digest.files lists 259 files, at most 256 are allowed");
    parcel_free(&all);
}

static void test_not_even_metadata(void **state)
{
    (void)state;
    parcel all = parcel_make();
    rmsnorm_package_file *file = parcel_find(&all, RMSNORM_METADATA);
    const rmsnorm_package_file kept = *file;
    parcel_put(&all, RMSNORM_METADATA, "[]");
    parcel_refused(&all, RMSNORM_MALFORMED, "metadata.json: is no object");
    parcel_put(&all, RMSNORM_METADATA, "{\n\"name\": }");
    parcel_refused(&all, RMSNORM_MALFORMED, "metadata.json:2:");
    *file = kept;
    parcel_free(&all);
}

/* Packages from before these fields. */
static void test_the_older_schema(void **state)
{
    (void)state;
    parcel all = parcel_make();
    assert_int_equal(json_object_del(all.metadata, "provenance"), 0);
    parcel_write(&all);
    parcel_accepted(&all);
    assert_int_equal(json_object_del(parcel_at(&all, "webgpu"), "specialized"), 0);
    parcel_write(&all);
    parcel_accepted(&all);
    parcel_free(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_is_missed),
        cmocka_unit_test(test_every_field_has_its_kind),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_many_listed_files),
        cmocka_unit_test(test_not_even_metadata),
        cmocka_unit_test(test_the_older_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
