/* attributes.h: the attribute values in effect, by the names of the schema. */
#ifndef RMSNORM_CLI_ATTRIBUTES_H
#define RMSNORM_CLI_ATTRIBUTES_H

#include "options.h"
#include "rmsnorm/rmsnorm.h"

int64_t rmsnorm_cli_attribute_int(const rmsnorm_attributes *attributes, const char *name);
float rmsnorm_cli_attribute_float(const rmsnorm_attributes *attributes, const char *name);

/* "axis=-1 epsilon=1e-5" */
#define RMSNORM_CLI_ATTRIBUTES 256
const char *rmsnorm_cli_attributes(const rmsnorm_operator *op, const rmsnorm_attributes *attributes,
                                   char text[RMSNORM_CLI_ATTRIBUTES]);

/* The defaults, then each "NAME=VALUE" of the command line. */
int rmsnorm_cli_attributes_parse(const rmsnorm_operator *op, const rmsnorm_cli_list *assignments,
                                 rmsnorm_attributes *attributes);

#endif
