/* embedded.h: the packages of kernels/, compiled in. cmake/RmsnormEmbed.cmake writes the tables. */
#ifndef RMSNORM_PACKAGE_EMBEDDED_H
#define RMSNORM_PACKAGE_EMBEDDED_H

#include "rmsnorm/package.h"

typedef struct rmsnorm_embedded {
    const char *name; /* of the folder: "ai.onnx.RMSNormalization" */
    const rmsnorm_package_file *files;
    size_t file_count;
} rmsnorm_embedded;

/* Sorted by name. Where kernels/ is empty there is one entry that is not counted: C has no empty array. */
extern const rmsnorm_embedded rmsnorm_embedded_packages[];
extern const size_t rmsnorm_embedded_count;

#endif
