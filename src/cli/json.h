/* json.h: answers as JSON. No function returns NULL: main gives jansson an allocator that exits when memory is out. */
#ifndef RMSNORM_CLI_JSON_H
#define RMSNORM_CLI_JSON_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

#include "rmsnorm/rmsnorm.h"

/* Prints and releases a value; narrow: its reals are floats, and nine digits tell them all apart. */
void rmsnorm_cli_print_json(json_t *value, bool narrow);
/* The same to another file than standard output. */
void rmsnorm_cli_write_json(FILE *file, json_t *value, bool narrow);

/* A string from a file or the command line, exactly; bytes that are not UTF-8 become U+FFFD. */
json_t *rmsnorm_cli_json_text(const char *text);
/* A number; with narrow the shortest decimal of the same float. JSON has no NaN and no infinities: they become "nan",
 * "inf", "-inf". */
json_t *rmsnorm_cli_json_number(double value, bool narrow);
/* [2,"S",null], or null for an unknown rank. */
json_t *rmsnorm_cli_json_shape(const rmsnorm_tensor *tensor);
/* ["float","float16"] */
json_t *rmsnorm_cli_json_types(rmsnorm_dtypes set);
/* {"axis": -1, "epsilon": 1e-5}: the values in effect. */
json_t *rmsnorm_cli_json_attributes(const rmsnorm_operator *op, const rmsnorm_attributes *attributes);

#endif
