/* element.h: the elements of a tensor one by one, as doubles. The command's own conversions: it sees only the public headers,
 * and what it reports about the kernels should not come from the kernels' code. */
#ifndef RMSNORM_CLI_ELEMENT_H
#define RMSNORM_CLI_ELEMENT_H

#include "rmsnorm/rmsnorm.h"

/* Element `index` of a contiguous tensor of one of the four types. Exact. */
double rmsnorm_cli_element(const rmsnorm_tensor *tensor, int64_t index);

/* Stores a finite value of at most 4 in magnitude, rounded to nearest even. */
void rmsnorm_cli_element_store(rmsnorm_tensor *tensor, int64_t index, double value);

/* float16 and bfloat16: how many representable values lie between two elements, 0 for the same (and for -0 and 0). */
int32_t rmsnorm_cli_element_steps(const rmsnorm_tensor *a, const rmsnorm_tensor *b, int64_t index);

#endif
