/* options.c: the command line of a subcommand. */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "text.h"

enum { ISA = 1000, THREADS, JSON, HELP, VERSION };

static const rmsnorm_cli_option computing[] = {
    {ISA, 0, "isa", "scalar|neon|avx2|avx512", "at most this instruction set (RMSNORM_ISA does the same)"},
    {THREADS, 0, "threads", "N", "threads, 1 to 1024 (default: one per core; 1 starts none)"},
};
static const rmsnorm_cli_option always[] = {
    {JSON, 0, "json", NULL, "print the answer as JSON"},
    {HELP, 'h', "help", NULL, "print this page"},
    {VERSION, 0, "version", NULL, "print the version"},
};

/* The own options of the subcommand, then the common ones; NULL past the last. */
static const rmsnorm_cli_option *option_at(const rmsnorm_cli_usage *usage, size_t index)
{
    if (index < usage->option_count) {
        return &usage->options[index];
    }
    index -= usage->option_count;
    const size_t computing_count = usage->computes ? sizeof computing / sizeof computing[0] : 0;
    if (index < computing_count) {
        return &computing[index];
    }
    index -= computing_count;
    return index < sizeof always / sizeof always[0] ? &always[index] : NULL;
}

static const char *option_name(const void *usage, size_t index)
{
    const rmsnorm_cli_option *option = option_at(usage, index);
    return option == NULL ? NULL : option->name;
}

/* A common option whose name the subcommand has for one of its own. */
static bool is_hidden(const rmsnorm_cli_usage *usage, size_t index)
{
    for (size_t i = 0; index >= usage->option_count && i < usage->option_count; ++i) {
        if (strcmp(usage->options[i].name, option_name(usage, index)) == 0) {
            return true;
        }
    }
    return false;
}

static void print_help(const rmsnorm_cli_usage *usage)
{
    const char *line = usage->synopsis;
    const char *lead = "Usage: ";
    do { /* also for an empty synopsis */
        const int length = (int)strcspn(line, "\n");
        printf("%srmsnorm %s%s%.*s\n", lead, usage->command, length > 0 ? " " : "", length, line);
        line += length + (line[length] == '\n');
        lead = "       ";
    } while (*line != '\0');
    printf("\n%s\nOptions:\n", usage->text);
    const rmsnorm_cli_option *option;
    for (size_t i = 0; (option = option_at(usage, i)) != NULL; ++i) {
        char left[64] = "  ";
        if (is_hidden(usage, i)) {
            continue;
        }
        if (option->letter != 0) {
            rmsnorm_cli_append(left, sizeof left, "-%c, ", option->letter);
        }
        rmsnorm_cli_append(left, sizeof left, "--%s%s%s", option->name, option->value != NULL ? " " : "",
                           option->value != NULL ? option->value : "");
        printf("%-29s  %s\n", left, option->help);
    }
}

static int refuse_unknown(const rmsnorm_cli_usage *usage, const char *word)
{
    const size_t length = strcspn(word, "=");
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), word);
    const char *bare = name + strspn(name, "-");
    const int nearest = rmsnorm_cli_nearest(bare, option_name, usage);
    if (nearest >= 0) {
        (void)rmsnorm_cli_fail("unknown option '%s', did you mean '--%s'? 'rmsnorm %s --help' lists the options", name,
                               option_name(usage, (size_t)nearest), usage->command);
    } else {
        (void)rmsnorm_cli_fail("unknown option '%s', 'rmsnorm %s --help' lists the options", name, usage->command);
    }
    return RMSNORM_CLI_REFUSED;
}

/* Finds the option of a word that starts with '-', and its place; *value is what is attached to it, or NULL. */
static const rmsnorm_cli_option *find(const rmsnorm_cli_usage *usage, const char *word, const char **value,
                                      size_t *place)
{
    const bool is_long = word[1] == '-';
    const char *name = word + (is_long ? 2 : 1);
    const size_t length = strcspn(name, "=");
    *value = NULL;
    const rmsnorm_cli_option *option;
    for (size_t i = 0; (option = option_at(usage, i)) != NULL; ++i) {
        *place = i;
        if (is_long && strlen(option->name) == length && strncmp(option->name, name, length) == 0) {
            *value = name[length] == '=' ? name + length + 1 : NULL;
            return option;
        }
        if (!is_long && option->letter != 0 && option->letter == name[0]) {
            *value = name[1] != '\0' ? name + 1 + (name[1] == '=') : NULL;
            return option;
        }
    }
    return NULL;
}

/* Serves a common option; any other goes to the caller. */
static int serve(rmsnorm_cli_args *args, int id, const char *value)
{
    long long number;
    switch (id) {
    case ISA:
        if (rmsnorm_isa_from_name(value, &args->max_isa) != RMSNORM_OK) {
            (void)rmsnorm_cli_fail("--isa: %s", rmsnorm_last_error());
            return RMSNORM_CLI_REFUSED;
        }
        if (args->max_isa != RMSNORM_ISA_AUTO && !rmsnorm_isa_compiled(args->max_isa)) {
            (void)rmsnorm_cli_fail("--isa is '%s', which this build does not have; rmsnorm info lists those it has",
                                   value);
            return RMSNORM_CLI_REFUSED;
        }
        return 0;
    case THREADS:
        if (!rmsnorm_cli_integer(value, 1, 1024, &number)) {
            (void)rmsnorm_cli_fail("--threads is '%s', allowed are whole numbers from 1 to 1024", value);
            return RMSNORM_CLI_REFUSED;
        }
        args->threads = (size_t)number;
        return 0;
    case JSON:
        args->json = true;
        return 0;
    case HELP:
        print_help(args->usage);
        return RMSNORM_CLI_STOP;
    case VERSION:
        printf("rmsnorm %s\n", rmsnorm_version());
        return RMSNORM_CLI_STOP;
    default:
        return id;
    }
}

/* The value of an option that was found, attached or as the next word. */
static int take_value(rmsnorm_cli_args *args, const rmsnorm_cli_option *option, size_t place, const char **value)
{
    if (option->value == NULL) {
        return *value == NULL ? RMSNORM_CLI_DONE
                              : rmsnorm_cli_fail("option '--%s' takes no value, '%s' was given", option->name, *value);
    }
    if (*value == NULL) {
        if (args->at + 1 >= args->argc) {
            return rmsnorm_cli_fail("option '--%s' needs a value: --%s %s", option->name, option->name, option->value);
        }
        *value = args->argv[++args->at];
    }
    const bool own = place < args->usage->option_count;
    const bool again = own && (args->usage->again >> option->id & 1) != 0;
    if (!again && (args->seen >> place & 1) != 0) {
        return rmsnorm_cli_fail("option '--%s' is given twice, once is allowed", option->name);
    }
    args->seen |= 1UL << place;
    return RMSNORM_CLI_DONE;
}

int rmsnorm_cli_next(rmsnorm_cli_args *args, const char **value)
{
    while (args->at + 1 < args->argc) {
        const char *word = args->argv[++args->at];
        if (args->ended || word[0] != '-' || word[1] == '\0') {
            *value = word;
            return RMSNORM_CLI_POSITIONAL;
        }
        if (strcmp(word, "--") == 0) {
            args->ended = true;
            continue;
        }
        size_t place = 0;
        const rmsnorm_cli_option *option = find(args->usage, word, value, &place);
        if (option == NULL) {
            return refuse_unknown(args->usage, word);
        }
        if (take_value(args, option, place, value) != RMSNORM_CLI_DONE) {
            return RMSNORM_CLI_REFUSED;
        }
        const int id = serve(args, option->id, *value);
        if (id != 0) {
            return id;
        }
    }
    return RMSNORM_CLI_END;
}

int rmsnorm_cli_stopped(int code)
{
    return code == RMSNORM_CLI_STOP ? RMSNORM_CLI_DONE : RMSNORM_CLI_BAD;
}
