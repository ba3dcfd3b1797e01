/* functions.h: what the expressions of a manifest may call. docs/packages.md lists them. */
#ifndef RMSNORM_PACKAGE_FUNCTIONS_H
#define RMSNORM_PACKAGE_FUNCTIONS_H

#include "template/expression.h"

extern const rmsnorm_function rmsnorm_manifest_functions[];
extern const size_t rmsnorm_manifest_function_count;

#endif
