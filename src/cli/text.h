/* text.h: words, numbers and shapes as the command prints them. */
#ifndef RMSNORM_CLI_TEXT_H
#define RMSNORM_CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli.h"
#include "rmsnorm/rmsnorm.h"

/* Replaces control characters and bytes that are not UTF-8 by '?': names come from files, and a terminal obeys what it is
 * sent. Never makes the text longer. */
void rmsnorm_cli_clean(char *text);
/* Prints a cleaned copy. */
void rmsnorm_cli_show(FILE *file, const char *text);

/* A copy with U+FFFD for each byte that is not UTF-8 and nothing else changed; repaired has room for three times the text and
 * its end. For JSON, which escapes control characters itself. */
void rmsnorm_cli_repair(const char *text, char *repaired);

/* Appends to a text of `size` bytes; what does not fit is cut off. */
void rmsnorm_cli_append(char *text, size_t size, const char *format, ...) RMSNORM_CLI_PRINTF(3, 4);

/* The shortest decimal that reads back as the same double, or, with narrow, as the same float: "1e-5", "0.1", "-inf". */
#define RMSNORM_CLI_NUMBER 32
const char *rmsnorm_cli_number(double value, bool narrow, char text[RMSNORM_CLI_NUMBER]);
/* Six significant digits, for reading. */
const char *rmsnorm_cli_rounded(double value, char text[RMSNORM_CLI_NUMBER]);

/* "[2,S,?]", "[]" for a scalar, "of unknown rank". Long names are cut. */
#define RMSNORM_CLI_SHAPE 2048
const char *rmsnorm_cli_shape(const rmsnorm_tensor *tensor, char text[RMSNORM_CLI_SHAPE]);

/* "float, float16": the members of a set. */
#define RMSNORM_CLI_TYPES 128
const char *rmsnorm_cli_types(rmsnorm_dtypes set, char text[RMSNORM_CLI_TYPES]);

/* "ai.onnx" for "". */
const char *rmsnorm_cli_domain(const char *domain);

/* "CPU", "WebGPU"; as a key of JSON "cpu", "webgpu". */
const char *rmsnorm_cli_device_name(int device);
const char *rmsnorm_cli_device_key(int device);

/* Prints words wrapped at 100 columns, every line indented. */
void rmsnorm_cli_wrap(FILE *file, const char *text, int indent);

/* The whole text as a number in [minimum, maximum]. */
bool rmsnorm_cli_integer(const char *text, long long minimum, long long maximum, long long *value);

#endif
