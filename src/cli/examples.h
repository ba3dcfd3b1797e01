/* examples.h: the worked examples of the operators' contract, and what drivers have got wrong: small calls with known answers. */
#ifndef RMSNORM_CLI_EXAMPLES_H
#define RMSNORM_CLI_EXAMPLES_H

#include <stdbool.h>

#include "context.h"
#include "rmsnorm/rmsnorm.h"

#define RMSNORM_CLI_EXAMPLE_SLOTS 4

/* Fewer values than elements repeat until the shape is full. No items: the slot is left out. */
typedef struct rmsnorm_cli_values {
    const double *items;
    size_t count;
} rmsnorm_cli_values;

typedef struct rmsnorm_cli_example {
    const char *name;
    const char *op;       /* as rmsnorm_operator_parse takes it */
    rmsnorm_dtypes types; /* all inputs are of one of them */
    int64_t rows, width;  /* inputs that are values of a row alone have the shape (width) */
    double epsilon;       /* below 0: the operator's default */
    rmsnorm_cli_values inputs[RMSNORM_CLI_EXAMPLE_SLOTS], outputs[RMSNORM_CLI_EXAMPLE_SLOTS]; /* by slot */
    int64_t steps; /* ulp allowed on the CPU, where the answer is written in decimals */
    bool specials; /* a row has a NaN or an infinity: WGSL promises nothing of it, but its neighbours stay right */
} rmsnorm_cli_example;

/* NULL past the last. */
const rmsnorm_cli_example *rmsnorm_cli_example_at(size_t index);

/* With inputs of one of the example's types. RMSNORM_CLI_DONE when all outputs are as expected; else the sentence says what is
 * not, or, with RMSNORM_CLI_SKIPPED, why the device does not take it. */
int rmsnorm_cli_example_run(const rmsnorm_cli_example *example, rmsnorm_dtype dtype,
                            const rmsnorm_cli_context *context);

#endif
