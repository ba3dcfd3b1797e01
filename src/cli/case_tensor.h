/* case_tensor.h: a tensor of a package's test.json: {"dtype": "float16", "shape": [2,3], "data": [...]}. */
#ifndef RMSNORM_CLI_CASE_TENSOR_H
#define RMSNORM_CLI_CASE_TENSOR_H

#include <jansson.h>

#include "rmsnorm/rmsnorm.h"

/* Refuses what is not an object, a field that is missing, and one that is not in `names` (the last is NULL; a name that begins
 * with '?' may be missing). The sentence begins with `what`. */
int rmsnorm_cli_case_fields(const char *what, const json_t *object, const char *const *names);

/* Reads a tensor: every value must be one of its type, and fewer values than elements repeat until the shape is full. `what`
 * is its place, "inputs.x". With ulp it is an expected output, which has that field as well. Free tensor->data in any case. */
int rmsnorm_cli_case_tensor(const char *what, const json_t *object, rmsnorm_tensor *tensor, int64_t *ulp);

#endif
