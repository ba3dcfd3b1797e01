/* faults.h: a command that writes, run again and again with the system failing at another of its calls each time, or a signal
 * coming there. Everything is in the current folder: in/ is only read, was/ what stood in to/ before, to/ what is written. */
#ifndef RMSNORM_TESTS_HARDENING_FAULTS_H
#define RMSNORM_TESTS_HARDENING_FAULTS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct fault_command {
    const char *words;  /* in the shell's words, without the command's name */
    const char *before; /* a script that makes what is in was/, which is the current folder then; "" for nothing */
    bool varies;        /* each run writes other bytes: only names and kinds are compared */
    bool named;         /* it makes no files without a name first */
    bool grows; /* what is left may be more than before: a repetition, in the folder as it is, has to make all good */
} fault_command;

/* All in to/ as one text, to be freed: names, kinds, permissions, links, contents. */
char *fault_tree(bool names_only);

/* Each call that changes something in to/ fails, one after the other, with each of several reasons: exit code 2 and one sentence with
 * the reason, and to/ as before; or exit code 0, and to/ as it should be. At least `least` calls have to be there. */
void fault_sweep_errors(const fault_command *command, int least);

/* SIGINT, SIGTERM or SIGHUP at each of them: the command ends by it, and to/ is as before or as it should be. */
void fault_sweep_signals(const fault_command *command);

/* Reads that give a byte at a time and are interrupted change nothing. */
void fault_slow_reads(const fault_command *command);

#endif
