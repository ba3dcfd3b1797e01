/* package.h: a package for the fuzzers, two of whose files are given. */
#ifndef RMSNORM_TESTS_FUZZ_PACKAGE_H
#define RMSNORM_TESTS_FUZZ_PACKAGE_H

#include <string.h>

#include "fuzz/stop.h"
#include "package/open.h"

/* A refusal has one line, and does not blame the memory. */
static inline void fuzz_check_refusal(rmsnorm_status status)
{
    FUZZ_CHECK(status != RMSNORM_OUT_OF_MEMORY);
    FUZZ_CHECK(rmsnorm_last_error()[0] != '\0' && strpbrk(rmsnorm_last_error(), "\r\n\t\033") == NULL);
}

/* Those that the passes of the starter and of kernels/ name. */
#define FUZZ_TEMPLATES                                                                                  \
    "copy.wgsl.jinja", "norm-skip-splitk-normalize.wgsl.jinja", "norm-skip-splitk-partials.wgsl.jinja", \
        "norm-skip.wgsl.jinja", "rms-normalization-splitk-normalize.wgsl.jinja",                        \
        "rms-normalization-splitk-partials.wgsl.jinja", "rms-normalization.wgsl.jinja"

/* Opens the files after making the digests of metadata.json right. NULL: refused. */
static inline rmsnorm_package *fuzz_open(const void *manifest, size_t manifest_size, const void *metadata,
                                         size_t metadata_size)
{
    static const char wgsl[] = "{% for i in [1, 2] %}{{ binding.x }}{{ i }}{% endfor %}";
    static const char *const templates[] = {FUZZ_TEMPLATES};
    enum { TEMPLATE_COUNT = sizeof templates / sizeof templates[0], FILE_COUNT = TEMPLATE_COUNT + 2 };
    rmsnorm_package *package;
    FUZZ_CHECK(rmsnorm_package_begin(&package) == RMSNORM_OK);
    rmsnorm_files files = {rmsnorm_arena_allocate(&package->arena, FILE_COUNT * sizeof(rmsnorm_file)), FILE_COUNT, 0};
    FUZZ_CHECK(files.items != NULL);
    for (size_t i = 0; i < TEMPLATE_COUNT; ++i) {
        files.items[i] = (rmsnorm_file){templates[i], wgsl, sizeof wgsl - 1, NULL};
    }
    files.items[TEMPLATE_COUNT] = (rmsnorm_file){
        "manifest.json", rmsnorm_arena_copy(&package->arena, manifest, manifest_size), manifest_size, NULL};
    files.items[TEMPLATE_COUNT + 1] = (rmsnorm_file){
        "metadata.json", rmsnorm_arena_copy(&package->arena, metadata, metadata_size), metadata_size, NULL};
    FUZZ_CHECK(rmsnorm_files_sort(&files) == RMSNORM_OK);
    rmsnorm_status status = rmsnorm_package_renew(&package->arena, &files);
    if (status == RMSNORM_OK) {
        status = rmsnorm_package_finish(&package, &files, rmsnorm_metadata_verify);
    } else {
        rmsnorm_package_close(package);
        package = NULL;
    }
    FUZZ_CHECK((status == RMSNORM_OK) == (package != NULL));
    if (status != RMSNORM_OK) {
        fuzz_check_refusal(status);
        return NULL;
    }
    return package;
}

#endif
