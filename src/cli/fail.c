/* fail.c: the one sentence a failing command leaves behind. */
#include "cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text.h"
#include "rmsnorm/rmsnorm.h"

/* The command is one thread; only the library's tasks run on others, and they do not come here. */
static char sentence[1024];

int rmsnorm_cli_fail(const char *format, ...)
{
    /* Apart from `sentence`, which may itself be among the arguments. */
    char text[sizeof sentence];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    rmsnorm_cli_clean(text);
    memcpy(sentence, text, strlen(text) + 1);
    return RMSNORM_CLI_BAD;
}

int rmsnorm_cli_fail_library(void)
{
    return rmsnorm_cli_fail("%s", rmsnorm_last_error());
}

const char *rmsnorm_cli_sentence(void)
{
    return sentence;
}

void rmsnorm_cli_report(void)
{
    fprintf(stderr, "rmsnorm: %s\n", sentence);
}

void *rmsnorm_cli_allocate(size_t count, size_t size)
{
    void *memory = calloc(count > 0 ? count : 1, size);
    if (memory == NULL) {
        (void)rmsnorm_cli_fail("out of memory: %zu times %zu bytes were needed", count, size);
        rmsnorm_cli_report();
        exit(RMSNORM_CLI_BAD);
    }
    return memory;
}
