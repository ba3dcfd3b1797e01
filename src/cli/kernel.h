/* kernel.h: a kernel package of the command line: a folder, or with a version or revision one of a Hub. */
#ifndef RMSNORM_CLI_KERNEL_H
#define RMSNORM_CLI_KERNEL_H

#include <stdbool.h>

#include "options.h"
#include "rmsnorm/hub.h"

typedef struct rmsnorm_cli_kernel_words {
    const char *name;               /* FOLDER, or ORG/NAME */
    const char *version, *revision; /* NULL: not given; with both NULL the name is a folder */
    const char *endpoint, *cache;   /* NULL: as the environment says */
    bool offline;
} rmsnorm_cli_kernel_words;

/* Lines of a table of options, with the ids that the subcommand chose. */
#define RMSNORM_CLI_KERNEL_VERSION(id)                                                                    \
    {                                                                                                     \
        id, 0, "version", "N", "the version of the contract, of a Hub's ORG/NAME: what its branch vN has" \
    }
#define RMSNORM_CLI_KERNEL_REVISION(id)                                                                 \
    {                                                                                                   \
        id, 0, "revision", "SHA", "the commit of a Hub's ORG/NAME, instead of --version: 40 hex digits" \
    }

bool rmsnorm_cli_kernel_is_remote(const rmsnorm_cli_kernel_words *words);

/* From a Hub or its cache; progress is shown on a terminal, and an interrupt ends it. folder is to be freed, commit may be NULL. */
int rmsnorm_cli_kernel_fetch(const rmsnorm_cli_kernel_words *words, char **folder, char commit[RMSNORM_COMMIT_TEXT]);

/* The folder of the package, fetched when it is a Hub's; to be freed. */
int rmsnorm_cli_kernel_folder(const rmsnorm_cli_kernel_words *words, char **folder);

#endif
