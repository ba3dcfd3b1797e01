/* device.h: the device that a plan is for, in WebGPU's own names. */
#ifndef RMSNORM_CLI_DEVICE_H
#define RMSNORM_CLI_DEVICE_H

#include "rmsnorm/package.h"

/* Reads {"limits": {NAME: NUMBER}, "features": [NAME]} into the profile; path "-" is standard input. What a browser says of
 * itself will do: WebGPU's limits and features that no plan depends on are known and change nothing. */
int rmsnorm_cli_device_read(const char *path, rmsnorm_device_profile *profile);

/* "NAME=NUMBER" of the command line. */
int rmsnorm_cli_device_limit(const char *word, rmsnorm_device_profile *profile);
int rmsnorm_cli_device_feature(const char *name, rmsnorm_device_profile *profile);

#endif
