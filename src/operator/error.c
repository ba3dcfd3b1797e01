#include "operator/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "operator/text.h"

enum { SENTENCE_SIZE = 1024 };

static _Thread_local char last_error[SENTENCE_SIZE];

const char *rmsnorm_last_error(void)
{
    return last_error;
}

rmsnorm_status(rmsnorm_fail)(rmsnorm_status status, const char *format, ...)
{
    /* Not straight into last_error: callers pass the last sentence on as an argument of a longer one. */
    char sentence[SENTENCE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    if (length < 0) {
        sentence[0] = '\0';
    }
    rmsnorm_text_clean(sentence);
    memcpy(last_error, sentence, strlen(sentence) + 1);
    return status;
}

#define STRING_OF(token) #token
#define VERSION_TEXT(major, minor, patch) STRING_OF(major) "." STRING_OF(minor) "." STRING_OF(patch)

const char *rmsnorm_version(void)
{
    return VERSION_TEXT(RMSNORM_VERSION_MAJOR, RMSNORM_VERSION_MINOR, RMSNORM_VERSION_PATCH);
}
