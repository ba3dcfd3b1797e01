/* operand.h: an input on the command line: a tensor file, or a tensor made on the spot. */
#ifndef RMSNORM_CLI_OPERAND_H
#define RMSNORM_CLI_OPERAND_H

#include <stdbool.h>

#include "rmsnorm/rmsnorm.h"

typedef struct rmsnorm_cli_operand {
    rmsnorm_tensor tensor;
    const char *name; /* in the file; "" where there is none */
    bool read, made;  /* where the memory is from: a file, or made on the spot */
} rmsnorm_cli_operand;

/* spec is a file as rmsnorm_tensor_read takes it, or random:DTYPE:DIM,DIM,...[:SEED]. Without SEED the position is the seed,
 * so that two inputs of a call differ. `what` names the input in a refusal. */
int rmsnorm_cli_operand_read(const char *what, const char *spec, size_t position, rmsnorm_cli_operand *operand);
void rmsnorm_cli_operand_release(rmsnorm_cli_operand *operand);

/* Refuses a command line that reads standard input ("-") twice; first and each word may be NULL. */
int rmsnorm_cli_stdin_check(const char *first, const char *const *words, size_t count);

/* What the help pages say about random:. */
#define RMSNORM_CLI_RANDOM_HELP                                                                                              \
    "random:DTYPE:DIM,DIM,...[:SEED] in place of a file makes a tensor on the spot, with mean 0 and variance 1; the same\n"  \
    "SEED gives the same tensor everywhere (default: 0 for the first input, 1 for the second, ...). A file of such a name\n" \
    "is ./random:...\n"

#endif
