/* package.h: an opened package, inside the house. */
#ifndef RMSNORM_PACKAGE_PACKAGE_H
#define RMSNORM_PACKAGE_PACKAGE_H

#include "package/manifest.h"
#include "template/template.h"

/* One file of build/webgpu; data has a terminator behind its size bytes. */
typedef struct rmsnorm_file {
    const char *name;
    const char *data;
    size_t size;
    const rmsnorm_template *parsed; /* of a .jinja file, else NULL */
} rmsnorm_file;

struct rmsnorm_package {
    rmsnorm_arena arena; /* holds all of it, this struct excepted */
    const char *name, *id, *spec;
    int64_t version;
    uint64_t serial; /* of the opening */
    bool plans;
    rmsnorm_manifest manifest;
    rmsnorm_file *files;
    size_t file_count;
};

const rmsnorm_file *rmsnorm_package_find(const rmsnorm_package *package, const char *name, size_t length);

#endif
