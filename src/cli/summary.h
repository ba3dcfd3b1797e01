/* summary.h: what rmsnorm run says about its outputs. */
#ifndef RMSNORM_CLI_SUMMARY_H
#define RMSNORM_CLI_SUMMARY_H

#include <stdbool.h>

#include "context.h"
#include "outputs.h"
#include "primitive.h"
#include "rmsnorm/rmsnorm.h"

/* One operator or primitive of the run, with its attribute values in effect. */
typedef struct rmsnorm_cli_step {
    const char *node;           /* the node's name, or NULL for a single operator */
    const rmsnorm_operator *op; /* NULL: a primitive, whose attributes are in `source` */
    const rmsnorm_attributes *attributes;
    const rmsnorm_cli_primitive *primitive;
    const rmsnorm_node *source;
} rmsnorm_cli_step;

typedef struct rmsnorm_cli_report_data {
    const char *model; /* the file, or NULL for a single operator */
    const rmsnorm_cli_step *steps;
    size_t step_count;
    const rmsnorm_cli_output *outputs;
    size_t output_count;
    const rmsnorm_cli_context *context;
} rmsnorm_cli_report_data;

/* Writes the outputs that have a path, then reports: operators, outputs with min, max, mean and first values, or the file they
 * went to. */
int rmsnorm_cli_deliver(const rmsnorm_cli_report_data *data, const char *directory, bool json);

#endif
