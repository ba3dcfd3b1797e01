/* signals.c: what a signal does depends on what the command is about. The handler may run in any thread: a driver has some. */
#define _XOPEN_SOURCE 700

#include "signals.h"

#include <signal.h>
#include <stddef.h>

#include "cli.h"

static volatile sig_atomic_t patience = RMSNORM_CLI_AT_ONCE;
static volatile sig_atomic_t came, broken_pipe;

static void end_by(int number)
{
    sigset_t only;
    (void)signal(number, SIG_DFL);
    (void)sigemptyset(&only);
    (void)sigaddset(&only, number);
    (void)sigprocmask(SIG_UNBLOCK, &only, NULL);
    (void)raise(number);
}

static void on_signal(int number)
{
    if (number == SIGPIPE) { /* where a network is asked, it may be a socket's */
        broken_pipe = broken_pipe != 0 || patience != RMSNORM_CLI_ASKED;
    } else if (patience == RMSNORM_CLI_NOTED || (patience == RMSNORM_CLI_ASKED && came == 0)) {
        came = number;
    } else {
        end_by(number);
    }
}

void rmsnorm_cli_signals_start(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        struct sigaction before;
        (void)sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            (void)sigaction(numbers[i], &action, NULL);
        }
    }
#ifdef SIGXFSZ
    (void)signal(SIGXFSZ, SIG_IGN); /* a file over the limit on sizes becomes a failed write with a sentence */
#endif
}

rmsnorm_cli_patience rmsnorm_cli_signals_enter(rmsnorm_cli_patience wanted)
{
    const rmsnorm_cli_patience before = (rmsnorm_cli_patience)patience;
    patience = (sig_atomic_t)wanted;
    return before;
}

int rmsnorm_cli_signals_leave(rmsnorm_cli_patience before, int code)
{
    patience = (sig_atomic_t)before;
    return before == RMSNORM_CLI_AT_ONCE && came != 0 && code == RMSNORM_CLI_DONE ? rmsnorm_cli_fail("interrupted")
                                                                                  : code;
}

bool rmsnorm_cli_signals_came(void)
{
    return came != 0;
}

bool rmsnorm_cli_signals_broken_pipe(void)
{
    return broken_pipe != 0;
}

void rmsnorm_cli_signals_end(int code)
{
    if (came != 0) {
        end_by((int)came);
    } else if (broken_pipe != 0 && code == RMSNORM_CLI_BAD) {
        end_by(SIGPIPE);
    }
}
