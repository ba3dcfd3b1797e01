/* descriptor.h: a type and a shape in words: DTYPE:DIM,DIM,... */
#ifndef RMSNORM_CLI_DESCRIPTOR_H
#define RMSNORM_CLI_DESCRIPTOR_H

#include <stdbool.h>

#include "rmsnorm/rmsnorm.h"

/* Parses "DTYPE:DIM,DIM,..."; "DTYPE:" is a scalar. With symbolic a dim may also be a name or ?, DTYPE may be ?, and "DTYPE"
 * alone leaves the rank unknown. text is cut up, and the tensor's dim names point into it. `what` names it in a refusal. */
int rmsnorm_cli_descriptor_parse(const char *what, char *text, bool symbolic, rmsnorm_tensor *tensor);

#endif
