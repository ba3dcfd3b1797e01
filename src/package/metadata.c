/* metadata.c: metadata.json, field by field. */
#include "package/metadata.h"

#include "package/folder.h"

#include <stdlib.h>
#include <string.h>

/* A field on its way to a message: "webgpu" and "opPath" for webgpu.opPath. */
typedef struct field {
    const char *outer; /* NULL: of the top level */
    const char *name;
} field;

static rmsnorm_status fail_field(field at, const char *problem)
{
    return rmsnorm_fail(RMSNORM_MALFORMED, RMSNORM_METADATA ": %s%s%s %s", at.outer != NULL ? at.outer : "",
                        at.outer != NULL ? "." : "", at.name, problem);
}

static rmsnorm_status fail_kind(field at, rmsnorm_any_kind wanted, rmsnorm_any_kind kind)
{
    return rmsnorm_fail(RMSNORM_MALFORMED, RMSNORM_METADATA ": %s%s%s is of the kind %s, %s is wanted",
                        at.outer != NULL ? at.outer : "", at.outer != NULL ? "." : "", at.name,
                        rmsnorm_any_kind_name(kind), rmsnorm_any_kind_name(wanted));
}

static rmsnorm_status take(const rmsnorm_map *map, field at, rmsnorm_any_kind kind, const rmsnorm_any **value)
{
    *value = rmsnorm_map_get(map, at.name, strlen(at.name));
    if (*value == NULL) {
        return fail_field(at, "is missing");
    }
    return (*value)->kind == kind ? RMSNORM_OK : fail_kind(at, kind, (*value)->kind);
}

static rmsnorm_status take_map(const rmsnorm_map *map, field at, const rmsnorm_map **taken)
{
    const rmsnorm_any *value;
    RMSNORM_TRY(take(map, at, RMSNORM_ANY_MAP, &value));
    *taken = value->as.map;
    return RMSNORM_OK;
}

/* Not empty; JSON has no zero byte to hide the end of one. */
static rmsnorm_status take_text(rmsnorm_arena *arena, const rmsnorm_map *map, field at, const char **text)
{
    const rmsnorm_any *value;
    RMSNORM_TRY(take(map, at, RMSNORM_ANY_STRING, &value));
    if (value->as.string.length == 0) {
        return fail_field(at, "is empty");
    }
    *text = rmsnorm_arena_copy(arena, value->as.string.text, value->as.string.length);
    return *text != NULL ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

/* A field that may be left out: older packages do. */
static rmsnorm_status check_optional(const rmsnorm_map *map, field at, rmsnorm_any_kind kind)
{
    const rmsnorm_any *value = rmsnorm_map_get(map, at.name, strlen(at.name));
    return value == NULL || value->kind == kind ? RMSNORM_OK : fail_kind(at, kind, value->kind);
}

static rmsnorm_status check_names(const rmsnorm_map *map)
{
    static const char *const known[] = {"name",    "id",     "version",    "license",
                                        "backend", "digest", "provenance", "webgpu"};
    for (size_t i = 0; i < map->count; ++i) {
        const rmsnorm_entry *entry = &map->entries[i];
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof known[0] && !found; ++k) {
            found = strlen(known[k]) == entry->length && memcmp(known[k], entry->key, entry->length) == 0;
        }
        RMSNORM_CHECK(found, RMSNORM_MALFORMED,
                      RMSNORM_METADATA ": %.*s is an unknown field; there are name, id, version, license, backend, "
                                       "digest, provenance, webgpu",
                      (int)(entry->length < 64 ? entry->length : 64), entry->key);
    }
    return RMSNORM_OK;
}

static rmsnorm_status parse_top(rmsnorm_arena *arena, const rmsnorm_map *map, rmsnorm_metadata *metadata)
{
    const rmsnorm_any *version;
    RMSNORM_TRY(check_names(map));
    RMSNORM_TRY(take_text(arena, map, (field){NULL, "name"}, &metadata->name));
    RMSNORM_CHECK(rmsnorm_metadata_name_is_valid(metadata->name), RMSNORM_MALFORMED,
                  RMSNORM_METADATA ": name is \"%.80s\", it must be DOMAIN.OPERATOR of letters, digits, _ and dots",
                  metadata->name);
    RMSNORM_TRY(take_text(arena, map, (field){NULL, "id"}, &metadata->id));
    RMSNORM_TRY(take(map, (field){NULL, "version"}, RMSNORM_ANY_INTEGER, &version));
    metadata->version = version->as.integer;
    if (metadata->version < 1) {
        return fail_field((field){NULL, "version"}, "is less than 1");
    }
    return take_text(arena, map, (field){NULL, "license"}, &metadata->license);
}

static rmsnorm_status parse_backend(rmsnorm_arena *arena, const rmsnorm_map *map)
{
    const rmsnorm_map *backend;
    const char *type;
    RMSNORM_TRY(take_map(map, (field){NULL, "backend"}, &backend));
    RMSNORM_TRY(take_text(arena, backend, (field){"backend", "type"}, &type));
    RMSNORM_CHECK(strcmp(type, "webgpu") == 0, RMSNORM_UNSUPPORTED,
                  RMSNORM_METADATA ": backend.type is \"%.80s\", only \"webgpu\" is understood", type);
    return RMSNORM_OK;
}

static rmsnorm_status parse_provenance(rmsnorm_arena *arena, const rmsnorm_map *map)
{
    const rmsnorm_map *provenance;
    const rmsnorm_map *kernel;
    const rmsnorm_any *dirty;
    const char *sha;
    if (rmsnorm_map_get(map, "provenance", strlen("provenance")) == NULL) {
        return RMSNORM_OK;
    }
    RMSNORM_TRY(take_map(map, (field){NULL, "provenance"}, &provenance));
    RMSNORM_TRY(take_map(provenance, (field){"provenance", "kernel"}, &kernel));
    RMSNORM_TRY(take_text(arena, kernel, (field){"provenance.kernel", "sha"}, &sha));
    return take(kernel, (field){"provenance.kernel", "dirty"}, RMSNORM_ANY_BOOLEAN, &dirty);
}

static rmsnorm_status parse_webgpu(rmsnorm_arena *arena, const rmsnorm_map *map, rmsnorm_metadata *metadata)
{
    const rmsnorm_map *webgpu;
    const char *path;
    RMSNORM_TRY(take_map(map, (field){NULL, "webgpu"}, &webgpu));
    RMSNORM_TRY(take_text(arena, webgpu, (field){"webgpu", "manifestSpec"}, &metadata->spec));
    RMSNORM_TRY(check_optional(webgpu, (field){"webgpu", "specialized"}, RMSNORM_ANY_BOOLEAN));
    return take_text(arena, webgpu, (field){"webgpu", "opPath"}, &path);
}

static int compare_listed(const void *a, const void *b)
{
    return strcmp(((const rmsnorm_listed *)a)->name, ((const rmsnorm_listed *)b)->name);
}

static rmsnorm_status parse_listed(rmsnorm_arena *arena, const rmsnorm_entry *entry, rmsnorm_listed *file)
{
    file->name = rmsnorm_arena_copy(arena, entry->key, entry->length);
    if (file->name == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    RMSNORM_CHECK(rmsnorm_metadata_file_is_valid(file->name) && strcmp(file->name, RMSNORM_METADATA) != 0,
                  RMSNORM_MALFORMED,
                  RMSNORM_METADATA ": digest.files lists \"%.80s\", which is no name for a file of it", file->name);
    RMSNORM_CHECK(entry->value.kind == RMSNORM_ANY_STRING &&
                      rmsnorm_digest_read(entry->value.as.string.text, entry->value.as.string.length, &file->digest),
                  RMSNORM_MALFORMED,
                  RMSNORM_METADATA ": digest.files[\"%.80s\"] is no SHA-256 in base64, which has 44 characters",
                  file->name);
    return RMSNORM_OK;
}

static rmsnorm_status parse_digest(rmsnorm_arena *arena, const rmsnorm_map *map, rmsnorm_metadata *metadata)
{
    const rmsnorm_map *digest;
    const rmsnorm_map *files;
    const char *algorithm;
    RMSNORM_TRY(take_map(map, (field){NULL, "digest"}, &digest));
    RMSNORM_TRY(take_text(arena, digest, (field){"digest", "algorithm"}, &algorithm));
    RMSNORM_CHECK(strcmp(algorithm, "sha256") == 0, RMSNORM_UNSUPPORTED,
                  RMSNORM_METADATA ": digest.algorithm is \"%.80s\", only \"sha256\" is understood", algorithm);
    RMSNORM_TRY(take_map(digest, (field){"digest", "files"}, &files));
    RMSNORM_CHECK(files->count <= RMSNORM_PACKAGE_FILES, RMSNORM_MALFORMED,
                  RMSNORM_METADATA ": digest.files lists %zu files, at most %d are allowed", files->count,
                  RMSNORM_PACKAGE_FILES);
    rmsnorm_listed *listed = rmsnorm_arena_allocate(arena, (files->count + 1) * sizeof *listed);
    if (listed == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < files->count; ++i) {
        RMSNORM_TRY(parse_listed(arena, &files->entries[i], &listed[i]));
    }
    qsort(listed, files->count, sizeof *listed, compare_listed);
    metadata->files = listed;
    metadata->file_count = files->count;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_metadata_parse(rmsnorm_arena *arena, const rmsnorm_any *json, rmsnorm_metadata *metadata)
{
    *metadata = (rmsnorm_metadata){.name = NULL};
    RMSNORM_CHECK(json->kind == RMSNORM_ANY_MAP, RMSNORM_MALFORMED, RMSNORM_METADATA ": is no object");
    RMSNORM_TRY(parse_top(arena, json->as.map, metadata));
    RMSNORM_TRY(parse_backend(arena, json->as.map));
    RMSNORM_TRY(parse_digest(arena, json->as.map, metadata));
    RMSNORM_TRY(parse_provenance(arena, json->as.map));
    return parse_webgpu(arena, json->as.map, metadata);
}
