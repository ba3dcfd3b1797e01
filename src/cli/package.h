/* package.h: rmsnorm package: verify, build, new, render, and the card that build writes. */
#ifndef RMSNORM_CLI_PACKAGE_H
#define RMSNORM_CLI_PACKAGE_H

#include <stdbool.h>

#include "rmsnorm/package.h"

int rmsnorm_cli_package_verify(int argc, char **argv);
int rmsnorm_cli_package_build(int argc, char **argv);
int rmsnorm_cli_package_new(int argc, char **argv);
int rmsnorm_cli_package_render(int argc, char **argv);

/* Whether a package that did not open is one that is wrong, rather than none at all or out of reach. */
bool rmsnorm_cli_package_is_wrong(rmsnorm_status status);

/* Refuses a test.json or bench.json that is there and is no JSON. */
int rmsnorm_cli_package_cases(const rmsnorm_package *package);

/* What sealing a package and drawing its card have changed. */
typedef struct rmsnorm_cli_built {
    char name[160], id[192], before[192]; /* ids; before is empty where there was none */
    bool metadata, card;                  /* the file was another one, or not there */
} rmsnorm_cli_built;

/* Makes FOLDER/build/webgpu/metadata.json and FOLDER/README.md right; with write false only tells. */
int rmsnorm_cli_package_seal(const char *folder, bool write, rmsnorm_cli_built *built);

/* README.md of a package, in Markdown, from its manifest and metadata and from the operator's schema. To be freed. */
int rmsnorm_cli_card(const rmsnorm_package *package, char **text, size_t *length);

#endif
