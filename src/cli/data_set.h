/* data_set.h: one test_data_set_N: its inputs through a model, the results against its outputs. */
#ifndef RMSNORM_CLI_DATA_SET_H
#define RMSNORM_CLI_DATA_SET_H

#include "chain.h"
#include "compare.h"

/* RMSNORM_CLI_DONE when every output is as expected; else the sentence says what is not, or, with RMSNORM_CLI_SKIPPED, why the
 * device does not take it. Free the results in any case. */
int rmsnorm_cli_data_set_run(rmsnorm_cli_chain *chain, const char *set, const rmsnorm_cli_tolerance *chosen,
                             const rmsnorm_cli_context *context, rmsnorm_cli_results *results);

#endif
