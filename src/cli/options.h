/* options.h: the command line of a subcommand: long options as --x V or --x=V, in any place; -- ends them. */
#ifndef RMSNORM_CLI_OPTIONS_H
#define RMSNORM_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "rmsnorm/rmsnorm.h"

typedef struct rmsnorm_cli_option {
    int id;            /* > 0 */
    char letter;       /* 'o' for -o, or 0 */
    const char *name;  /* "output" for --output */
    const char *value; /* what it takes: "NAME=FILE"; NULL for a switch */
    const char *help;
} rmsnorm_cli_option;

typedef struct rmsnorm_cli_usage {
    const char *command;  /* "run" */
    const char *synopsis; /* what follows "rmsnorm run", one line per form */
    const char *text;     /* what it does */
    const rmsnorm_cli_option *options;
    size_t option_count;
    unsigned long again; /* 1UL << ID of each own option whose value may be given more than once */
    bool computes;       /* --isa and --threads make sense */
} rmsnorm_cli_usage;

enum {
    RMSNORM_CLI_POSITIONAL = 0,
    RMSNORM_CLI_END = -1,    /* nothing is left */
    RMSNORM_CLI_STOP = -2,   /* --help or --version has been printed: return RMSNORM_CLI_DONE */
    RMSNORM_CLI_REFUSED = -3 /* the sentence says why: return RMSNORM_CLI_BAD */
};

/* A walk along the arguments. Zero-initialize, then set usage, argc and argv (argv[0] is the subcommand). */
typedef struct rmsnorm_cli_args {
    const rmsnorm_cli_usage *usage;
    int argc;
    char **argv;
    int at;
    bool ended;         /* -- was seen */
    unsigned long seen; /* options with a value that were given, by their place among all */
    /* What the common options said. */
    bool json;
    rmsnorm_isa max_isa;
    size_t threads; /* 0: one per core */
} rmsnorm_cli_args;

/* The id of the next option, with its value, or RMSNORM_CLI_POSITIONAL, with the word; or one of the negative codes. */
int rmsnorm_cli_next(rmsnorm_cli_args *args, const char **value);

/* What the subcommand returns when rmsnorm_cli_next gave a negative code other than RMSNORM_CLI_END. */
int rmsnorm_cli_stopped(int code);

/* A list of words that grows; the words are the caller's. */
typedef struct rmsnorm_cli_list {
    const char **items;
    size_t count;
} rmsnorm_cli_list;

void rmsnorm_cli_list_add(rmsnorm_cli_list *list, const char *item);
void rmsnorm_cli_list_free(rmsnorm_cli_list *list);

/* The index of the candidate most like the word, if one is near enough to be what was meant; else -1. */
typedef const char *(*rmsnorm_cli_candidate)(const void *table, size_t index); /* NULL past the last */
int rmsnorm_cli_nearest(const char *word, rmsnorm_cli_candidate candidate, const void *table);

#endif
