/* outputs.h: results into files, all or none. */
#ifndef RMSNORM_CLI_OUTPUTS_H
#define RMSNORM_CLI_OUTPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "rmsnorm/rmsnorm.h"

typedef struct rmsnorm_cli_output {
    const char *name;
    const rmsnorm_tensor *tensor;
    char *path; /* as rmsnorm_tensor_write takes it; NULL: to be summarized. Owned */
} rmsnorm_cli_output;

/* Where an output goes: to FILE when wanted is "=FILE", else to DIR/NAME.npy (":bfloat16" added where it must), else, without a
 * directory, nowhere: NULL. Bytes of the name that could lead out of DIR, or mean something to a shell or a file system, become
 * %XX, so that different names stay different. wanted may be NULL. */
char *rmsnorm_cli_output_target(const char *wanted, const char *directory, const char *name,
                                const rmsnorm_tensor *tensor);

/* Before anything is computed: two outputs into one file, also through symbolic links, standard output twice or together with a
 * report in JSON, a directory where the file should be, a .safetensors file that holds other tensors. */
int rmsnorm_cli_outputs_check(const rmsnorm_cli_output *outputs, size_t count, bool json);
/* Writes those that have a path beside their final names first, and renames only when all are written. directory, if not NULL, is
 * made if it is missing. */
int rmsnorm_cli_outputs_write(const rmsnorm_cli_output *outputs, size_t count, const char *directory);
/* Whether one goes to standard output, which then holds nothing else. */
bool rmsnorm_cli_outputs_to_stdout(const rmsnorm_cli_output *outputs, size_t count);

void rmsnorm_cli_outputs_free(rmsnorm_cli_output *outputs, size_t count);

#endif
