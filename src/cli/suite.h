/* suite.h: what rmsnorm test counts and prints: a line, or an object, for each case on each device. */
#ifndef RMSNORM_CLI_SUITE_H
#define RMSNORM_CLI_SUITE_H

#include <jansson.h>

#include "compare.h"
#include "context.h"
#include "text.h"

typedef struct rmsnorm_cli_suite {
    rmsnorm_cli_tolerance chosen;
    const rmsnorm_cli_context *context; /* what computes now; NULL: nothing */
    bool gpu;                           /* skipped cases are counted */
    json_t *tests;                      /* NULL: text */
    size_t passed, failed, skipped;
} rmsnorm_cli_suite;

/* A case that is done, with what running it returned. */
void rmsnorm_cli_suite_report(rmsnorm_cli_suite *suite, const char *name, int code, const rmsnorm_cli_results *results);

/* "float 1e-7 + 1e-5 * |expected|, ...": for every type, from the one table. */
const char *rmsnorm_cli_suite_tolerances(const rmsnorm_cli_tolerance *chosen, char text[RMSNORM_CLI_SHAPE]);

/* The counts, or all that was gathered as JSON, and the exit code: RMSNORM_CLI_NO when a case failed, or none was run. */
int rmsnorm_cli_suite_end(rmsnorm_cli_suite *suite);

#endif
