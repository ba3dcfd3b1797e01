/* metadata.h: metadata.json: who a package is, and the digest of each of its files. docs/packages.md has the format. */
#ifndef RMSNORM_PACKAGE_METADATA_H
#define RMSNORM_PACKAGE_METADATA_H

#include "package/digest.h"
#include "package/package.h"

#define RMSNORM_METADATA "metadata.json"
#define RMSNORM_MANIFEST "manifest.json"

/* A file that metadata.json lists. */
typedef struct rmsnorm_listed {
    const char *name;
    rmsnorm_digest digest;
} rmsnorm_listed;

typedef struct rmsnorm_metadata {
    const char *name, *id, *license, *spec;
    int64_t version;
    const rmsnorm_listed *files; /* sorted by name */
    size_t file_count;
} rmsnorm_metadata;

/* Everything lives in arena. An error names the field: "metadata.json: webgpu.opPath is missing". */
rmsnorm_status rmsnorm_metadata_parse(rmsnorm_arena *arena, const rmsnorm_any *json, rmsnorm_metadata *metadata);

/* A check of files, metadata.json among them and sorted by name, against what metadata.json says of them. */
typedef rmsnorm_status rmsnorm_metadata_check(rmsnorm_arena *arena, const rmsnorm_metadata *metadata,
                                              const rmsnorm_file *files, size_t count);

/* They are those that are listed, to the byte; and the id is theirs. */
rmsnorm_metadata_check rmsnorm_metadata_verify;

/* They are listed, and the id is of the form; the caller has checked their digests. */
rmsnorm_metadata_check rmsnorm_metadata_trust;

/* "_ai_onnx_rmsnormalization_webgpu_1a2b3c4": from the name and the SHA-256 over each file's name, a zero byte and digest. */
rmsnorm_status rmsnorm_metadata_id(rmsnorm_arena *arena, const char *name, const rmsnorm_listed *files, size_t count,
                                   const char **id);

/* "ai.onnx.RMSNormalization": words of letters, digits and _, at least two of them. */
bool rmsnorm_metadata_name_is_valid(const char *name);

/* A file's name in a package: 1 to 255 bytes of UTF-8, no slash or backslash, no control character, not "." or "..". */
bool rmsnorm_metadata_file_is_valid(const char *name);

#endif
