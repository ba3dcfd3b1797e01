/* seal.c: metadata.json made right for the files it stands beside. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "package/json.h"
#include "package/metadata.h"
#include "package/open.h"

static rmsnorm_status list_files(rmsnorm_arena *arena, const rmsnorm_files *files, rmsnorm_listed **listed,
                                 size_t *count)
{
    *listed = rmsnorm_arena_allocate(arena, (files->count + 1) * sizeof **listed);
    *count = 0;
    if (*listed == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < files->count; ++i) {
        const rmsnorm_file *file = &files->items[i];
        if (strcmp(file->name, RMSNORM_METADATA) != 0) {
            rmsnorm_listed *entry = &(*listed)[(*count)++];
            entry->name = file->name;
            RMSNORM_TRY(rmsnorm_digest_make(file->data, file->size, &entry->digest));
        }
    }
    return RMSNORM_OK;
}

/* {"algorithm": "sha256", "files": {...}}, or NULL without memory. */
static json_t *digest_json(const rmsnorm_listed *listed, size_t count)
{
    json_t *files = json_object();
    for (size_t i = 0; i < count; ++i) {
        char text[RMSNORM_DIGEST_TEXT];
        rmsnorm_digest_write(&listed[i].digest, text);
        if (json_object_set_new(files, listed[i].name, json_string(text)) != 0) {
            json_decref(files);
            return NULL;
        }
    }
    return json_pack("{s:s, s:o}", "algorithm", "sha256", "files", files);
}

static rmsnorm_status print(rmsnorm_arena *arena, const json_t *root, rmsnorm_file *file)
{
    const size_t flags = (size_t)JSON_INDENT(2) | (size_t)JSON_REAL_PRECISION(17);
    file->size = json_dumpb(root, NULL, 0, flags);
    char *text = rmsnorm_arena_allocate(arena, file->size + 2);
    if (text == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    (void)json_dumpb(root, text, file->size, flags);
    text[file->size++] = '\n';
    file->data = text;
    return RMSNORM_OK;
}

/* The fields that hang on the files are set where they stand; all others stay. */
static rmsnorm_status renew(rmsnorm_arena *arena, json_t *root, const rmsnorm_files *files, rmsnorm_file *file)
{
    rmsnorm_listed *listed;
    size_t count;
    const char *id;
    const char *name = json_string_value(json_object_get(root, "name"));
    RMSNORM_CHECK(name != NULL && rmsnorm_metadata_name_is_valid(name), RMSNORM_MALFORMED,
                  RMSNORM_METADATA ": name is missing, or not DOMAIN.OPERATOR of letters, digits, _ and dots");
    RMSNORM_TRY(list_files(arena, files, &listed, &count));
    RMSNORM_TRY(rmsnorm_metadata_id(arena, name, listed, count, &id));
    RMSNORM_CHECK(json_object_set_new(root, "id", json_string(id)) == 0 &&
                      json_object_set_new(root, "digest", digest_json(listed, count)) == 0,
                  RMSNORM_OUT_OF_MEMORY, RMSNORM_METADATA ": no memory for its JSON");
    return print(arena, root, file);
}

rmsnorm_status rmsnorm_package_renew(rmsnorm_arena *arena, const rmsnorm_files *files)
{
    rmsnorm_file *file = files->items;
    while (strcmp(file->name, RMSNORM_METADATA) != 0) {
        ++file;
    }
    rmsnorm_any value;
    RMSNORM_TRY(rmsnorm_json_parse(arena, RMSNORM_METADATA, file->data, file->size, &value));
    json_t *root = json_loadb(file->data, file->size, 0, NULL);
    RMSNORM_CHECK(root != NULL, RMSNORM_OUT_OF_MEMORY, RMSNORM_METADATA ": no memory for its JSON");
    const rmsnorm_status status = renew(arena, root, files, file);
    json_decref(root);
    return status;
}

rmsnorm_status rmsnorm_package_seal(const char *folder, rmsnorm_package **package)
{
    return rmsnorm_package_from_folder(folder, rmsnorm_package_renew, package);
}
