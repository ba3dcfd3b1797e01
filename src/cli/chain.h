/* chain.h: a model made of the library's operators and primitives, checked once, then run on any number of input sets. */
#ifndef RMSNORM_CLI_CHAIN_H
#define RMSNORM_CLI_CHAIN_H

#include "context.h"
#include "rmsnorm/graph.h"
#include "summary.h"

typedef struct rmsnorm_cli_chain rmsnorm_cli_chain;

/* Reads the model and refuses, before anything is computed, a node it cannot run, a value that nothing makes or two things
 * make, and nodes out of topological order. */
int rmsnorm_cli_chain_open(const char *path, rmsnorm_cli_chain **chain);
void rmsnorm_cli_chain_free(rmsnorm_cli_chain *chain);
const rmsnorm_graph *rmsnorm_cli_chain_graph(const rmsnorm_cli_chain *chain);

/* Takes the inputs, in the order of graph->inputs, all present, and what replaces the defaults behind them (NULL where the
 * initializer serves; defaults may be NULL as a whole): checks them against the declared types and shapes, and every
 * node and the declared outputs by shape inference. The outputs are of the four types. Results of an earlier run are released. The data stays the caller's. */
int rmsnorm_cli_chain_prepare(rmsnorm_cli_chain *chain, const rmsnorm_tensor *const *inputs,
                              const rmsnorm_tensor *const *defaults);

/* Runs all nodes on the prepared inputs; a value is released after its last use. Codes as of rmsnorm_cli_context_run. */
int rmsnorm_cli_chain_compute(rmsnorm_cli_chain *chain, const rmsnorm_cli_context *context);

/* Element type and shape of graph->outputs[index] once prepared, with data once computed, until the next rmsnorm_cli_chain_prepare. */
const rmsnorm_tensor *rmsnorm_cli_chain_output(const rmsnorm_cli_chain *chain, size_t index);

/* The operators and primitives but for the Constants, with their attribute values in effect. */
const rmsnorm_cli_step *rmsnorm_cli_chain_steps(const rmsnorm_cli_chain *chain, size_t *count);

#endif
