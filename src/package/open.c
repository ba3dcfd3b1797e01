/* open.c: from files to a package: digests first, then the manifest, then the templates. */
#include "package/open.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "package/embedded.h"
#include "package/json.h"
#include "package/metadata.h"

/* Files, parsed manifest and parsed templates of the largest package. */
#define MEMORY_LIMIT ((size_t)256 << 20)

static atomic_uint_fast64_t openings;

rmsnorm_status rmsnorm_package_begin(rmsnorm_package **package)
{
    *package = calloc(1, sizeof **package);
    RMSNORM_CHECK(*package != NULL, RMSNORM_OUT_OF_MEMORY, "no memory for a package");
    rmsnorm_arena_init(&(*package)->arena, MEMORY_LIMIT);
    (*package)->serial = atomic_fetch_add(&openings, 1) + 1;
    return RMSNORM_OK;
}

void rmsnorm_package_close(rmsnorm_package *package)
{
    if (package != NULL) {
        rmsnorm_arena_release(&package->arena);
        free(package);
    }
}

static rmsnorm_status read_json(rmsnorm_package *package, const char *name, rmsnorm_status absent, rmsnorm_any *json)
{
    const rmsnorm_file *file = rmsnorm_package_find(package, name, strlen(name));
    RMSNORM_CHECK(file != NULL, absent, "%s is missing: this is no package", name);
    return rmsnorm_json_parse(&package->arena, name, file->data, file->size, json);
}

static rmsnorm_status check_metadata(rmsnorm_package *package, rmsnorm_metadata_check *check)
{
    rmsnorm_any json;
    rmsnorm_metadata metadata;
    RMSNORM_TRY(read_json(package, RMSNORM_METADATA, RMSNORM_NOT_FOUND, &json));
    RMSNORM_TRY(rmsnorm_metadata_parse(&package->arena, &json, &metadata));
    RMSNORM_TRY(check(&package->arena, &metadata, package->files, package->file_count));
    package->name = metadata.name;
    package->id = metadata.id;
    package->spec = metadata.spec;
    package->version = metadata.version;
    package->plans = strcmp(metadata.spec, RMSNORM_MANIFEST_SPEC) == 0;
    return RMSNORM_OK;
}

/* Both files name the operator. */
static rmsnorm_status check_name(const rmsnorm_package *package)
{
    const char *domain = package->manifest.domain;
    const char *name = package->manifest.name;
    const size_t length = strlen(domain);
    RMSNORM_CHECK(strncmp(package->name, domain, length) == 0 && package->name[length] == '.' &&
                      strcmp(package->name + length + 1, name) == 0,
                  RMSNORM_MALFORMED,
                  RMSNORM_METADATA ": name is \"%.80s\", by " RMSNORM_MANIFEST " it is \"%.80s.%.80s\"", package->name,
                  domain, name);
    return RMSNORM_OK;
}

static bool is_template(const rmsnorm_file *file)
{
    static const char ending[] = ".jinja";
    const size_t length = strlen(file->name);
    return length >= sizeof ending && strcmp(file->name + length + 1 - sizeof ending, ending) == 0;
}

static rmsnorm_status parse_templates(rmsnorm_package *package)
{
    for (size_t i = 0; i < package->file_count; ++i) {
        rmsnorm_file *file = &package->files[i];
        const rmsnorm_text_source source = {file->name, file->data, file->size};
        if (is_template(file)) {
            RMSNORM_TRY(rmsnorm_template_parse(&package->arena, &source, &file->parsed));
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status check_passes(const rmsnorm_package *package)
{
    for (size_t i = 0; i < package->manifest.variant_count; ++i) {
        const rmsnorm_manifest_variant *variant = &package->manifest.variants[i];
        for (size_t k = 0; k < variant->pass_count; ++k) {
            const char *name = variant->passes[k].template_name;
            const rmsnorm_file *file = rmsnorm_package_find(package, name, strlen(name));
            RMSNORM_CHECK(file != NULL && file->parsed != NULL, RMSNORM_MALFORMED,
                          RMSNORM_MANIFEST
                          ": variants[%zu].passes[%zu].template is \"%.80s\", which is no .jinja file of "
                          "the package",
                          i, k, name);
        }
    }
    return RMSNORM_OK;
}

static rmsnorm_status finish(rmsnorm_package *package, rmsnorm_metadata_check *check)
{
    rmsnorm_any json;
    RMSNORM_TRY(check_metadata(package, check));
    RMSNORM_TRY(read_json(package, RMSNORM_MANIFEST, RMSNORM_MALFORMED, &json));
    RMSNORM_TRY(rmsnorm_manifest_parse(&package->arena, &json, !package->plans, &package->manifest));
    RMSNORM_TRY(check_name(package));
    if (!package->plans) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(parse_templates(package));
    return check_passes(package);
}

rmsnorm_status rmsnorm_package_finish(rmsnorm_package **package, const rmsnorm_files *files,
                                      rmsnorm_metadata_check *check)
{
    (*package)->files = files->items;
    (*package)->file_count = files->count;
    const rmsnorm_status status = finish(*package, check);
    if (status != RMSNORM_OK) {
        rmsnorm_package_close(*package);
        *package = NULL;
    }
    return status;
}

static rmsnorm_status copy_file(rmsnorm_arena *arena, const rmsnorm_package_file *file, rmsnorm_files *files)
{
    RMSNORM_CHECK(file->name != NULL && (file->data != NULL || file->size == 0), RMSNORM_INVALID_ARGUMENT,
                  "opening a package: a file has no name or no data");
    const char *name = rmsnorm_arena_copy(arena, file->name, strlen(file->name));
    if (name == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_TRY(rmsnorm_files_add(files, name, file->size));
    files->items[files->count - 1].data = rmsnorm_arena_copy(arena, file->data, file->size);
    return files->items[files->count - 1].data != NULL ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status copy_files(rmsnorm_arena *arena, const rmsnorm_package_file *given, size_t count,
                                 rmsnorm_files *files)
{
    files->items = rmsnorm_arena_allocate(arena, RMSNORM_PACKAGE_FILES * sizeof *files->items);
    if (files->items == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; ++i) {
        RMSNORM_TRY(copy_file(arena, &given[i], files));
    }
    return rmsnorm_files_sort(files);
}

static rmsnorm_status open_files(const rmsnorm_package_file *files, size_t count, rmsnorm_metadata_check *check,
                                 rmsnorm_package **package)
{
    rmsnorm_files copied = {.items = NULL};
    RMSNORM_CHECK((files != NULL || count == 0) && package != NULL, RMSNORM_INVALID_ARGUMENT,
                  "opening a package: files or package is NULL");
    *package = NULL;
    rmsnorm_package *made;
    RMSNORM_TRY(rmsnorm_package_begin(&made));
    rmsnorm_status status = copy_files(&made->arena, files, count, &copied);
    if (status != RMSNORM_OK) {
        rmsnorm_package_close(made);
        return status;
    }
    status = rmsnorm_package_finish(&made, &copied, check);
    *package = made;
    return status;
}

rmsnorm_status rmsnorm_package_open_files(const rmsnorm_package_file *files, size_t count, rmsnorm_package **package)
{
    return open_files(files, count, rmsnorm_metadata_verify, package);
}

rmsnorm_status rmsnorm_package_open_verified(const rmsnorm_package_file *files, size_t count, rmsnorm_package **package)
{
    return open_files(files, count, rmsnorm_metadata_trust, package);
}

rmsnorm_status rmsnorm_package_from_folder(const char *folder, rmsnorm_package_change *change,
                                           rmsnorm_package **package)
{
    rmsnorm_files files = {.items = NULL};
    RMSNORM_CHECK(folder != NULL && package != NULL, RMSNORM_INVALID_ARGUMENT,
                  "opening a package: folder or package is NULL");
    *package = NULL;
    rmsnorm_package *made;
    RMSNORM_TRY(rmsnorm_package_begin(&made));
    rmsnorm_status status = rmsnorm_folder_read(&made->arena, folder, &files);
    if (status == RMSNORM_OK && change != NULL) {
        status = change(&made->arena, &files);
    }
    if (status == RMSNORM_OK) {
        status = rmsnorm_package_finish(&made, &files, rmsnorm_metadata_verify);
    } else {
        rmsnorm_package_close(made);
    }
    if (status != RMSNORM_OK) {
        return rmsnorm_fail(status, "%s: %s", folder, rmsnorm_last_error());
    }
    *package = made;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_package_open(const char *folder, rmsnorm_package **package)
{
    return rmsnorm_package_from_folder(folder, NULL, package);
}

rmsnorm_status rmsnorm_package_open_operator(const char *domain, const char *name, rmsnorm_package **package)
{
    RMSNORM_CHECK(name != NULL && package != NULL, RMSNORM_INVALID_ARGUMENT,
                  "rmsnorm_package_open_operator: name or package is NULL");
    *package = NULL;
    const rmsnorm_operator *op = rmsnorm_operator_find(domain, name, 0);
    if (op == NULL) {
        return RMSNORM_NOT_FOUND;
    }
    const char *spelled = op->domain[0] == '\0' ? "ai.onnx" : op->domain;
    const size_t length = strlen(spelled);
    for (size_t i = 0; i < rmsnorm_embedded_count; ++i) {
        const rmsnorm_embedded *embedded = &rmsnorm_embedded_packages[i];
        if (strncmp(embedded->name, spelled, length) == 0 && embedded->name[length] == '.' &&
            strcmp(embedded->name + length + 1, op->name) == 0) {
            return rmsnorm_package_open_files(embedded->files, embedded->file_count, package);
        }
    }
    return rmsnorm_fail(RMSNORM_NOT_BUILT, "%s::%s has no package in this build", spelled, op->name);
}
