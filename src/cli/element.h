/* element.h: the elements of a tensor one by one, as doubles. The command's own conversions: it sees only the public headers,
 * and what it reports about the kernels should not come from the kernels' code. */
#ifndef RMSNORM_CLI_ELEMENT_H
#define RMSNORM_CLI_ELEMENT_H

#include "rmsnorm/rmsnorm.h"

/* Bytes per element of the four types, int32 and int64; of others 0. */
size_t rmsnorm_cli_element_size(rmsnorm_dtype dtype);

/* Element `index` of a contiguous tensor of one of the four types. Exact. */
double rmsnorm_cli_element(const rmsnorm_tensor *tensor, int64_t index);

/* The smallest number of the type that is not subnormal. */
double rmsnorm_cli_smallest_normal(rmsnorm_dtype dtype);

/* Stores a value rounded once, to nearest even; beyond the range that is infinity. Of one of the four types. */
void rmsnorm_cli_element_store(rmsnorm_tensor *tensor, int64_t index, double value);

/* The same of int32 and int64 tensors; an int32 stores the lowest 32 bits. */
int64_t rmsnorm_cli_element_integer(const rmsnorm_tensor *tensor, int64_t index);
void rmsnorm_cli_element_store_integer(rmsnorm_tensor *tensor, int64_t index, int64_t value);

/* How many steps from one representable value to the next lead from one element to the other; 0 from -0 to 0. Neither is NaN. */
uint64_t rmsnorm_cli_element_steps(const rmsnorm_tensor *a, const rmsnorm_tensor *b, int64_t index);

#endif
