/* describe.h: an operator's page, all of it from its schema record. */
#ifndef RMSNORM_CLI_DESCRIBE_H
#define RMSNORM_CLI_DESCRIBE_H

#include <stdbool.h>

#include <jansson.h>

#include "rmsnorm/rmsnorm.h"

void rmsnorm_cli_describe_text(const rmsnorm_operator *op, bool prose);
void rmsnorm_cli_describe_markdown(const rmsnorm_operator *op, bool prose);
json_t *rmsnorm_cli_describe_json(const rmsnorm_operator *op, bool prose);

/* What an operator can have on a device: "run", "shape inference", ...; NULL past the last. */
const char *rmsnorm_cli_support_name(int index);
bool rmsnorm_cli_support_at(const rmsnorm_support *support, int index);

/* "CPU, WebGPU": where the operator runs. */
#define RMSNORM_CLI_DEVICES 32
const char *rmsnorm_cli_devices(const rmsnorm_operator *op, char text[RMSNORM_CLI_DEVICES]);

/* An attribute's default as text. */
#define RMSNORM_CLI_DEFAULT 32
const char *rmsnorm_cli_default(const rmsnorm_attribute *attribute, char text[RMSNORM_CLI_DEFAULT]);
const char *rmsnorm_cli_kind(const rmsnorm_attribute *attribute);

#endif
