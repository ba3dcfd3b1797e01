/* starter.h: the files `rmsnorm package new` starts from: those of src/cli/starter, compiled in by cmake/RmsnormEmbed.cmake. */
#ifndef RMSNORM_CLI_STARTER_H
#define RMSNORM_CLI_STARTER_H

#include "rmsnorm/package.h"

/* NAME.json.jinja is rendered with name, domain and op, and becomes NAME.json; all others are copied. */
extern const rmsnorm_package_file rmsnorm_cli_starter[];
extern const size_t rmsnorm_cli_starter_count;

#endif
