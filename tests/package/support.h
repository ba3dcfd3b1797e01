/* support.h: a small package in memory, to be spoiled by tests. */
#ifndef RMSNORM_TESTS_PACKAGE_SUPPORT_H
#define RMSNORM_TESTS_PACKAGE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "package/package.h"

/* The files of test.ns.Copy: manifest.json, copy.wgsl.jinja, test.json; metadata.json is the last. */
#define PARCEL_FILES 16
typedef struct parcel {
    rmsnorm_package_file files[PARCEL_FILES];
    size_t count;
    json_t *metadata; /* what parcel_seal makes metadata.json of */
} parcel;

parcel parcel_make(void);
void parcel_free(parcel *all);

/* Sets or adds a file; name and text are not copied. */
void parcel_put(parcel *all, const char *name, const char *text);
void parcel_remove(parcel *all, const char *name);
rmsnorm_package_file *parcel_find(parcel *all, const char *name);

/* Writes the digests of all files, and the id, into the metadata; then the metadata into metadata.json. */
void parcel_seal(parcel *all);
/* The metadata into metadata.json, as it is. */
void parcel_write(parcel *all);

/* The JSON at a path of names, "webgpu.opPath". */
json_t *parcel_at(parcel *all, const char *path);

rmsnorm_status parcel_open(const parcel *all, rmsnorm_package **package);
void parcel_accepted(const parcel *all);
/* Refused with this status, no package, and a sentence that has the part in it. */
void parcel_refused(const parcel *all, rmsnorm_status status, const char *part);
void expect_sentence(rmsnorm_status got, rmsnorm_status status, const char *part);

/* A folder of its own for a test that needs one, removed with all in it. */
const char *folder_make(void);
void folder_remove(void);
const char *folder_path(const char *name); /* of one call: the next one overwrites it */
void folder_write(const char *name, const void *data, size_t size);
/* The parcel's files into FOLDER/name, which is made. */
void folder_unpack(const parcel *all, const char *name);

#endif
