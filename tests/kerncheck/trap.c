/* Forbidden memory touched is a failure to report, not the end of the run. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

#include "check.h"

/* Of each thread that calls. */
static _Thread_local sigjmp_buf before_the_call;
static _Thread_local volatile sig_atomic_t inside;

static void on_fault(int number)
{
    if (inside) {
        siglongjmp(before_the_call, 1);
    }
    (void)signal(number, SIG_DFL); /* not ours: returning meets the fault again */
}

static void install(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_handler = on_fault;
    (void)sigemptyset(&action.sa_mask);
    action.sa_flags = SA_NODEFER;
    (void)sigaction(SIGSEGV, &action, NULL);
    (void)sigaction(SIGBUS, &action, NULL);
}

bool survives(void (*f)(void *argument), void *argument)
{
    static pthread_once_t installed = PTHREAD_ONCE_INIT;
    (void)pthread_once(&installed, install);
    if (sigsetjmp(before_the_call, 0) != 0) {
        inside = 0;
        return false;
    }
    inside = 1;
    f(argument);
    inside = 0;
    return true;
}
