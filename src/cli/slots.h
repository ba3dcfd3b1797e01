/* slots.h: an operator's inputs and outputs by the names of the schema. */
#ifndef RMSNORM_CLI_SLOTS_H
#define RMSNORM_CLI_SLOTS_H

#include <stdbool.h>
#include <stddef.h>

#include "rmsnorm/rmsnorm.h"

/* "X, scale" */
#define RMSNORM_CLI_NAMES 256
const char *rmsnorm_cli_slot_names(const rmsnorm_slot *slots, size_t count, char text[RMSNORM_CLI_NAMES]);

/* The slot of an input, or of an output, whose name is the first `length` bytes of word. */
int rmsnorm_cli_slot_find(const rmsnorm_operator *op, bool input, const char *word, size_t length, size_t *slot);

#endif
