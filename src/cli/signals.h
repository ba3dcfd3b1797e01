/* signals.h: SIGINT, SIGTERM and SIGHUP end the command, at once or when what it is about is whole or taken back. */
#ifndef RMSNORM_CLI_SIGNALS_H
#define RMSNORM_CLI_SIGNALS_H

#include <stdbool.h>

typedef enum rmsnorm_cli_patience {
    RMSNORM_CLI_AT_ONCE,
    RMSNORM_CLI_ASKED, /* the first is noted, the second ends the command at once: somebody looks often, but may hang */
    RMSNORM_CLI_NOTED  /* all are noted: a file has not yet its final name */
} rmsnorm_cli_patience;

/* Once, before all else. What is ignored by whoever started the command stays ignored. A SIGPIPE is noted. */
void rmsnorm_cli_signals_start(void);

/* What was before is to be given to rmsnorm_cli_signals_leave. */
rmsnorm_cli_patience rmsnorm_cli_signals_enter(rmsnorm_cli_patience wanted);
/* The code, or RMSNORM_CLI_BAD where a signal came and nothing before has failed: the command goes no further. */
int rmsnorm_cli_signals_leave(rmsnorm_cli_patience before, int code);

bool rmsnorm_cli_signals_came(void);

/* Whether a reader was gone, which is not worth a sentence. */
bool rmsnorm_cli_signals_broken_pipe(void);

/* Ends the command by the signal that came, or by SIGPIPE where it failed and a reader was gone; else returns. */
void rmsnorm_cli_signals_end(int code);

#endif
