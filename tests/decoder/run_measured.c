/* run_measured: runs a command and writes how long it took and the most memory it had into a file: "SECONDS KIBIBYTES".
 *
 * usage: run_measured FILE COMMAND [ARGUMENT]...
 * Exit status: the command's; 126 where it cannot be started or measured. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { NOT_STARTED = 126, SIGNALLED = 128 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: run_measured FILE COMMAND [ARGUMENT]...\n");
        return NOT_STARTED;
    }
    const double start = now();
    const pid_t child = fork();
    if (child == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(NOT_STARTED);
    }
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child) {
        perror("run_measured");
        return NOT_STARTED;
    }
    const double seconds = now() - start;
    FILE *const file = fopen(argv[1], "w");
    if (file == NULL || fprintf(file, "%.3f %ld\n", seconds, usage.ru_maxrss) < 0 || fclose(file) != 0) {
        perror(argv[1]);
        return NOT_STARTED;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : SIGNALLED + WTERMSIG(status);
}
