#define _XOPEN_SOURCE 700

#include "package/support.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "package/metadata.h"

static const char manifest[] =
    "{\"domain\": \"test.ns\", \"name\": \"Copy\", \"sinceVersion\": 1,\n"
    " \"typeConstraints\": {\"T\": [\"float32\"]},\n"
    " \"inputs\": {\"x\": {\"onnx\": \"X\", \"dtype\": \"T\"}, \"s\": {\"onnx\": \"S\", \"dtype\": \"T\", \"optional\": true}},\n"
    " \"outputs\": {\"y\": {\"onnx\": \"Y\", \"dtype\": \"T\", \"shape\": \"x.shape\"}},\n"
    " \"variants\": [{\"name\": \"plain\", \"passes\": [{\"template\": \"copy.wgsl.jinja\", \"rows\": \"x.numel\",\n"
    "   \"bindings\": [{\"name\": \"x\", \"tensor\": \"x\", \"access\": \"read\"},\n"
    "                {\"name\": \"y\", \"tensor\": \"y\", \"access\": \"write\"}],\n"
    "   \"workgroups\": \"ceilDiv(x.numel, 64)\"}]}]}\n";
static const char copy[] = "// {{ name }}\n";
static const char cases[] = "{\"cases\": []}\n";
static const char metadata[] =
    "{\"name\": \"test.ns.Copy\", \"id\": \"\", \"version\": 1, \"license\": \"Apache-2.0\",\n"
    " \"backend\": {\"type\": \"webgpu\"}, \"digest\": {\"algorithm\": \"sha256\", \"files\": {}},\n"
    " \"provenance\": {\"kernel\": {\"sha\": \"0000000\", \"dirty\": false}},\n"
    " \"webgpu\": {\"manifestSpec\": \"rmsnorm-1\", \"specialized\": false, \"opPath\": \"test.ns/Copy\"}}\n";

parcel parcel_make(void)
{
    parcel all = {.count = 0};
    parcel_put(&all, "manifest.json", manifest);
    parcel_put(&all, "copy.wgsl.jinja", copy);
    parcel_put(&all, "test.json", cases);
    all.metadata = json_loads(metadata, 0, NULL);
    assert_non_null(all.metadata);
    parcel_seal(&all);
    return all;
}

void parcel_free(parcel *all)
{
    free((void *)parcel_find(all, RMSNORM_METADATA)->data);
    json_decref(all->metadata);
    *all = (parcel){.count = 0};
}

rmsnorm_package_file *parcel_find(parcel *all, const char *name)
{
    for (size_t i = 0; i < all->count; ++i) {
        if (strcmp(all->files[i].name, name) == 0) {
            return &all->files[i];
        }
    }
    return NULL;
}

void parcel_put(parcel *all, const char *name, const char *text)
{
    rmsnorm_package_file *file = parcel_find(all, name);
    if (file == NULL) {
        assert_true(all->count < PARCEL_FILES);
        file = &all->files[all->count++];
    }
    *file = (rmsnorm_package_file){name, text, strlen(text)};
}

void parcel_remove(parcel *all, const char *name)
{
    rmsnorm_package_file *file = parcel_find(all, name);
    assert_non_null(file);
    *file = all->files[--all->count];
}

void parcel_write(parcel *all)
{
    rmsnorm_package_file *old = parcel_find(all, RMSNORM_METADATA);
    free(old != NULL ? (void *)old->data : NULL);
    char *text = json_dumps(all->metadata, JSON_INDENT(1));
    assert_non_null(text);
    parcel_put(all, RMSNORM_METADATA, text);
}

static int compare_listed(const void *a, const void *b)
{
    return strcmp(((const rmsnorm_listed *)a)->name, ((const rmsnorm_listed *)b)->name);
}

void parcel_seal(parcel *all)
{
    rmsnorm_listed listed[PARCEL_FILES];
    size_t count = 0;
    json_t *files = parcel_at(all, "digest.files");
    assert_int_equal(json_object_clear(files), 0);
    for (size_t i = 0; i < all->count; ++i) {
        const rmsnorm_package_file *file = &all->files[i];
        if (strcmp(file->name, RMSNORM_METADATA) != 0) {
            char text[RMSNORM_DIGEST_TEXT];
            rmsnorm_listed *entry = &listed[count++];
            entry->name = file->name;
            assert_int_equal(rmsnorm_digest_make(file->data, file->size, &entry->digest), RMSNORM_OK);
            rmsnorm_digest_write(&entry->digest, text);
            assert_int_equal(json_object_set_new(files, file->name, json_string(text)), 0);
        }
    }
    qsort(listed, count, sizeof *listed, compare_listed);
    rmsnorm_arena arena;
    const char *id;
    rmsnorm_arena_init(&arena, 65536);
    assert_int_equal(rmsnorm_metadata_id(&arena, json_string_value(parcel_at(all, "name")), listed, count, &id),
                     RMSNORM_OK);
    assert_int_equal(json_object_set_new(all->metadata, "id", json_string(id)), 0);
    rmsnorm_arena_release(&arena);
    parcel_write(all);
}

json_t *parcel_at(parcel *all, const char *path)
{
    json_t *found = all->metadata;
    for (const char *next = path; *next != '\0';) {
        char key[64];
        const size_t length = strcspn(next, ".");
        (void)snprintf(key, sizeof key, "%.*s", (int)length, next);
        found = json_object_get(found, key);
        assert_non_null(found);
        next += length + (next[length] == '.');
    }
    return found;
}

rmsnorm_status parcel_open(const parcel *all, rmsnorm_package **package)
{
    return rmsnorm_package_open_files(all->files, all->count, package);
}

void parcel_accepted(const parcel *all)
{
    rmsnorm_package *package;
    if (parcel_open(all, &package) != RMSNORM_OK) {
        fail_msg("refused: %s", rmsnorm_last_error());
    }
    rmsnorm_package_close(package);
}

void expect_sentence(rmsnorm_status got, rmsnorm_status status, const char *part)
{
    if (got == RMSNORM_OK || strstr(rmsnorm_last_error(), part) == NULL) {
        fail_msg("status %d, wanted '%s', got: %s", (int)got, part, rmsnorm_last_error());
    }
    assert_int_equal(got, status);
}

void parcel_refused(const parcel *all, rmsnorm_status status, const char *part)
{
    rmsnorm_package *package = (rmsnorm_package *)1;
    expect_sentence(parcel_open(all, &package), status, part);
    assert_null(package);
}

static char folder[64];

const char *folder_make(void)
{
    strcpy(folder, "/tmp/rmsnorm-package-XXXXXX");
    assert_non_null(mkdtemp(folder));
    return folder;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place)
{
    (void)status, (void)kind, (void)place;
    return remove(path);
}

void folder_remove(void)
{
    assert_int_equal(nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char *folder_path(const char *name)
{
    static char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

void folder_write(const char *name, const void *data, size_t size)
{
    FILE *file = fopen(folder_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void folder_unpack(const parcel *all, const char *name)
{
    char path[400];
    assert_int_equal(mkdir(folder_path(name), 0777), 0);
    for (size_t i = 0; i < all->count; ++i) {
        (void)snprintf(path, sizeof path, "%s/%s", name, all->files[i].name);
        folder_write(path, all->files[i].data, all->files[i].size);
    }
}
