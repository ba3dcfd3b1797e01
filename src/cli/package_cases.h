/* package_cases.h: the cases of a kernel package, test.json, on the CPU or with its shaders on a WebGPU device. */
#ifndef RMSNORM_CLI_PACKAGE_CASES_H
#define RMSNORM_CLI_PACKAGE_CASES_H

#include <stddef.h>

#include "compare.h"
#include "context.h"
#include "rmsnorm/package.h"

typedef struct rmsnorm_cli_package_cases rmsnorm_cli_package_cases;

/* Opens the package in a folder, every digest checked, and its test.json. Refuses a package that is wrong, a test.json that is
 * missing, is no JSON or has no cases, and an operator that this library does not have. */
int rmsnorm_cli_package_cases_open(const char *folder, rmsnorm_cli_package_cases **cases);
/* The same, of a package that is open, is called `name` in sentences and outlives the cases; `text` is its test.json. */
int rmsnorm_cli_package_cases_read(const char *name, const rmsnorm_package *package, const char *text, size_t size,
                                   rmsnorm_cli_package_cases **cases);
void rmsnorm_cli_package_cases_close(rmsnorm_cli_package_cases *cases);

size_t rmsnorm_cli_package_cases_count(const rmsnorm_cli_package_cases *cases);

/* "FOLDER: NAME", or "FOLDER: case 3" where there is no name. To be freed. */
char *rmsnorm_cli_package_cases_name(const rmsnorm_cli_package_cases *cases, size_t index);

/* RMSNORM_CLI_DONE when the case is well-formed and each output that it lists is as expected, at most `ulp` steps off; else
 * the sentence says what is not, or, with RMSNORM_CLI_SKIPPED, why the device does not take it. Free the results in any case;
 * their names live as long as the cases. */
int rmsnorm_cli_package_cases_run(const rmsnorm_cli_package_cases *cases, size_t index,
                                  const rmsnorm_cli_context *context, rmsnorm_cli_results *results);

#endif
