/* verify.c: that the files of a package are those its metadata.json was written for. */
#include "package/metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/text.h"

enum { ID_DIGITS = 7 };

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool rmsnorm_metadata_name_is_valid(const char *name)
{
    size_t words = 1;
    for (size_t i = 0; name[i] != '\0'; ++i) {
        const bool dot = name[i] == '.';
        if (!(is_word(name[i]) || (dot && i > 0 && name[i - 1] != '.')) || i >= 128) {
            return false;
        }
        words += dot;
    }
    return words > 1 && name[strlen(name) - 1] != '.';
}

bool rmsnorm_metadata_file_is_valid(const char *name)
{
    char clean[256]; /* control characters and what is no UTF-8 are replaced in it */
    const size_t length = strlen(name);
    if (length == 0 || length >= sizeof clean || strpbrk(name, "/\\") != NULL) {
        return false;
    }
    memcpy(clean, name, length + 1);
    rmsnorm_text_clean(clean);
    return strcmp(clean, name) == 0 && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* "_ai_onnx_rmsnormalization_webgpu_": all of an id but its digits. */
static char *id_stem(rmsnorm_arena *arena, const char *name)
{
    static const char backend[] = "_webgpu_";
    const size_t length = strlen(name);
    char *id = rmsnorm_arena_allocate(arena, 1 + length + sizeof backend + ID_DIGITS);
    if (id == NULL) {
        return NULL;
    }
    const char *op = strrchr(name, '.') + 1;
    id[0] = '_';
    for (size_t i = 0; i < length; ++i) {
        const char c = name[i];
        const bool lower = name + i >= op && c >= 'A' && c <= 'Z';
        id[1 + i] = c == '.' ? '_' : lower ? (char)(c - 'A' + 'a') : c;
    }
    memcpy(id + 1 + length, backend, sizeof backend);
    return id;
}

rmsnorm_status rmsnorm_metadata_id(rmsnorm_arena *arena, const char *name, const rmsnorm_listed *files, size_t count,
                                   const char **id)
{
    size_t size = 0;
    for (size_t i = 0; i < count; ++i) {
        size += strlen(files[i].name) + 1 + sizeof files[i].digest.bytes;
    }
    char *text = rmsnorm_arena_allocate(arena, size + 1);
    char *made = id_stem(arena, name);
    if (text == NULL || made == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    char *end = text;
    for (size_t i = 0; i < count; ++i) {
        const size_t length = strlen(files[i].name) + 1;
        memcpy(end, files[i].name, length);
        memcpy(end + length, files[i].digest.bytes, sizeof files[i].digest.bytes);
        end += length + sizeof files[i].digest.bytes;
    }
    rmsnorm_digest digest;
    RMSNORM_TRY(rmsnorm_digest_make(text, size, &digest));
    char *digits = made + strlen(made);
    for (int i = 0; i < ID_DIGITS; ++i) {
        digits[i] = "0123456789abcdef"[digest.bytes[i / 2] >> (i % 2 == 0 ? 4 : 0) & 15];
    }
    *id = made;
    return RMSNORM_OK;
}

/* What is only on one side, of two sorted lists. */
typedef struct difference {
    const char *missing, *unlisted; /* the first of each */
    size_t missing_count, unlisted_count;
} difference;

static difference compare(const rmsnorm_metadata *metadata, const rmsnorm_file *files, size_t count)
{
    difference found = {NULL, NULL, 0, 0};
    size_t i = 0;
    for (size_t k = 0; i < metadata->file_count || k < count;) {
        const char *listed = i < metadata->file_count ? metadata->files[i].name : NULL;
        const char *there = k < count ? files[k].name : NULL;
        const int order = listed == NULL ? 1 : there == NULL ? -1 : strcmp(listed, there);
        if (order < 0) {
            found.missing = found.missing_count++ == 0 ? listed : found.missing;
        } else if (order > 0 && strcmp(there, RMSNORM_METADATA) != 0) {
            found.unlisted = found.unlisted_count++ == 0 ? there : found.unlisted;
        }
        i += order <= 0;
        k += order >= 0;
    }
    return found;
}

static rmsnorm_status check_listed(const difference *found)
{
    char more[64] = "";
    if (found->unlisted_count > 1) {
        (void)snprintf(more, sizeof more, ", nor are %zu more", found->unlisted_count - 1);
    }
    RMSNORM_CHECK(found->unlisted_count == 0, RMSNORM_MALFORMED, "%s is not listed in " RMSNORM_METADATA "%s",
                  found->unlisted, more);
    return RMSNORM_OK;
}

static rmsnorm_status check_presence(const rmsnorm_metadata *metadata, const rmsnorm_file *files, size_t count)
{
    const difference found = compare(metadata, files, count);
    char more[64] = "";
    RMSNORM_CHECK(found.missing_count != 1 || found.unlisted_count != 1, RMSNORM_MALFORMED,
                  "%s is missing, and %s is not listed in " RMSNORM_METADATA ": the file was renamed", found.missing,
                  found.unlisted);
    if (found.missing_count > 0) {
        if (found.missing_count > 1) {
            (void)snprintf(more, sizeof more, ", and so are %zu more", found.missing_count - 1);
        }
        return rmsnorm_fail(RMSNORM_MALFORMED, "%s is missing, which " RMSNORM_METADATA " lists%s", found.missing,
                            more);
    }
    return check_listed(&found);
}

static rmsnorm_status check_id_form(rmsnorm_arena *arena, const rmsnorm_metadata *metadata)
{
    const char *id = id_stem(arena, metadata->name);
    if (id == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t stem = strlen(id);
    const bool formed = strlen(metadata->id) == stem + ID_DIGITS && memcmp(metadata->id, id, stem) == 0 &&
                        strspn(metadata->id + stem, "0123456789abcdef") == ID_DIGITS;
    RMSNORM_CHECK(formed, RMSNORM_MALFORMED, RMSNORM_METADATA ": id is \"%.160s\", it must be %s and %d hex digits",
                  metadata->id, id, ID_DIGITS);
    return RMSNORM_OK;
}

/* Every other spec's id is whatever its builder took it from. */
static rmsnorm_status check_id(rmsnorm_arena *arena, const rmsnorm_metadata *metadata)
{
    const char *id;
    RMSNORM_TRY(check_id_form(arena, metadata));
    RMSNORM_TRY(rmsnorm_metadata_id(arena, metadata->name, metadata->files, metadata->file_count, &id));
    RMSNORM_CHECK(strcmp(metadata->spec, RMSNORM_MANIFEST_SPEC) != 0 || strcmp(metadata->id, id) == 0,
                  RMSNORM_MALFORMED, RMSNORM_METADATA ": id is \"%.160s\", that of its files is %s", metadata->id, id);
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_metadata_verify(rmsnorm_arena *arena, const rmsnorm_metadata *metadata,
                                       const rmsnorm_file *files, size_t count)
{
    RMSNORM_TRY(check_presence(metadata, files, count));
    size_t i = 0;
    for (size_t k = 0; k < count; ++k) {
        if (strcmp(files[k].name, RMSNORM_METADATA) == 0) {
            continue;
        }
        rmsnorm_digest digest;
        RMSNORM_TRY(rmsnorm_digest_make(files[k].data, files[k].size, &digest));
        RMSNORM_CHECK(memcmp(digest.bytes, metadata->files[i++].digest.bytes, sizeof digest.bytes) == 0,
                      RMSNORM_MALFORMED, "%s is not the file whose digest " RMSNORM_METADATA " has: it was changed",
                      files[k].name);
    }
    return check_id(arena, metadata);
}

rmsnorm_status rmsnorm_metadata_trust(rmsnorm_arena *arena, const rmsnorm_metadata *metadata, const rmsnorm_file *files,
                                      size_t count)
{
    const difference found = compare(metadata, files, count);
    RMSNORM_TRY(check_listed(&found));
    return check_id_form(arena, metadata);
}
