/* text.c: words, numbers and shapes as the command prints them. */
#include "text.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* The code point of the well-formed UTF-8 character at text, and its bytes; 0 bytes: there is none. */
static size_t decode(const unsigned char *text, unsigned long *result)
{
    *result = text[0];
    if (text[0] < 0x80) {
        return 1;
    }
    const size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    unsigned long code = text[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; ++i) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = (code << 6) | (text[i] & 0x3fU);
    }
    static const unsigned long least[] = {0, 0, 0x80, 0x800, 0x10000};
    *result = code;
    const bool well_formed = text[0] >= 0xc2 && text[0] <= 0xf4 && code >= least[length] && code <= 0x10ffff &&
                             (code < 0xd800 || code > 0xdfff);
    return well_formed ? length : 0;
}

/* Bytes of the well-formed, printable UTF-8 character at text, or 0. */
static size_t printable(const unsigned char *text)
{
    unsigned long code;
    const size_t length = decode(text, &code);
    const bool control = code < 0x20 || (code >= 0x7f && code <= 0x9f);
    /* Line separators and the characters that turn the direction of the text around. */
    const bool misleading = (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
    return control || misleading ? 0 : length;
}

void rmsnorm_cli_repair(const char *text, char *repaired)
{
    static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */
    while (*text != '\0') {
        unsigned long code;
        const size_t length = decode((const unsigned char *)text, &code);
        const size_t written = length > 0 ? length : sizeof replacement - 1;
        memcpy(repaired, length > 0 ? text : replacement, written);
        repaired += written;
        text += length > 0 ? length : 1;
    }
    *repaired = '\0';
}

void rmsnorm_cli_clean(char *text)
{
    for (size_t length; *text != '\0'; text += length) {
        length = printable((const unsigned char *)text);
        if (length == 0) {
            *text = '?';
            length = 1;
        }
    }
}

void rmsnorm_cli_show(FILE *file, const char *text)
{
    for (size_t length; *text != '\0'; text += length) {
        length = printable((const unsigned char *)text);
        if (length == 0) {
            fputc('?', file);
            length = 1;
        } else {
            fwrite(text, 1, length, file);
        }
    }
}

void rmsnorm_cli_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

/* "1e-05" as "1e-5", "1e+06" as "1e6". */
static void trim_exponent(char *text)
{
    char *from = strchr(text, 'e');
    if (from == NULL) {
        return;
    }
    char *to = ++from;
    if (*from == '-') {
        ++to;
    }
    ++from;
    while (*from == '0' && from[1] != '\0') {
        ++from;
    }
    memmove(to, from, strlen(from) + 1);
}

static const char *format_number(double value, int first_digits, int last_digits, bool narrow,
                                 char text[RMSNORM_CLI_NUMBER])
{
    if (!isfinite(value)) {
        (void)snprintf(text, RMSNORM_CLI_NUMBER, "%s", isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return text;
    }
    for (int digits = first_digits; digits <= last_digits; ++digits) {
        (void)snprintf(text, RMSNORM_CLI_NUMBER, "%.*g", digits, value);
        const bool same = narrow ? strtof(text, NULL) == (float)value : strtod(text, NULL) == value;
        if (same) {
            break;
        }
    }
    trim_exponent(text);
    return text;
}

const char *rmsnorm_cli_number(double value, bool narrow, char text[RMSNORM_CLI_NUMBER])
{
    return format_number(value, 1, narrow ? 9 : 17, narrow, text);
}

const char *rmsnorm_cli_rounded(double value, char text[RMSNORM_CLI_NUMBER])
{
    return format_number(value, 6, 6, true, text);
}

const char *rmsnorm_cli_shape(const rmsnorm_tensor *tensor, char text[RMSNORM_CLI_SHAPE])
{
    if (tensor->rank < 0) {
        (void)snprintf(text, RMSNORM_CLI_SHAPE, "of unknown rank");
        return text;
    }
    (void)snprintf(text, RMSNORM_CLI_SHAPE, "[");
    for (int32_t i = 0; i < tensor->rank; ++i) {
        const char *comma = i == 0 ? "" : ",";
        if (tensor->dims[i] >= 0) {
            rmsnorm_cli_append(text, RMSNORM_CLI_SHAPE, "%s%" PRId64, comma, tensor->dims[i]);
        } else {
            const char *name = tensor->dim_names[i] != NULL ? tensor->dim_names[i] : "?";
            rmsnorm_cli_append(text, RMSNORM_CLI_SHAPE, "%s%.100s", comma, name);
        }
    }
    rmsnorm_cli_append(text, RMSNORM_CLI_SHAPE, "]");
    rmsnorm_cli_clean(text);
    return text;
}

const char *rmsnorm_cli_types(rmsnorm_dtypes set, char text[RMSNORM_CLI_TYPES])
{
    text[0] = '\0';
    for (int type = 0; type < 32; ++type) {
        if ((set & RMSNORM_DTYPES(type)) != 0) {
            rmsnorm_cli_append(text, RMSNORM_CLI_TYPES, "%s%s", text[0] == '\0' ? "" : ", ",
                               rmsnorm_dtype_name((rmsnorm_dtype)type));
        }
    }
    return text[0] == '\0' ? "none" : text;
}

const char *rmsnorm_cli_domain(const char *domain)
{
    return domain[0] == '\0' ? "ai.onnx" : domain;
}

static const struct {
    const char *name, *key;
} devices[RMSNORM_DEVICE_COUNT] = {
    [RMSNORM_DEVICE_CPU] = {"CPU", "cpu"},
    [RMSNORM_DEVICE_WEBGPU] = {"WebGPU", "webgpu"},
};

const char *rmsnorm_cli_device_name(int device)
{
    return devices[device].name;
}

const char *rmsnorm_cli_device_key(int device)
{
    return devices[device].key;
}

void rmsnorm_cli_wrap(FILE *file, const char *text, int indent)
{
    int column = 0;
    while (*(text += strspn(text, " \n")) != '\0') {
        const int length = (int)strcspn(text, " \n");
        if (column > 0 && column + 1 + length > 100) {
            fputc('\n', file);
            column = 0;
        }
        if (column == 0) {
            fprintf(file, "%*s%.*s", indent, "", length, text);
            column = indent + length;
        } else {
            fprintf(file, " %.*s", length, text);
            column += 1 + length;
        }
        text += length;
    }
    if (column > 0) {
        fputc('\n', file);
    }
}

bool rmsnorm_cli_integer(const char *text, long long minimum, long long maximum, long long *value)
{
    const char *digits = text[0] == '-' ? text + 1 : text;
    if (digits[0] == '\0' || strspn(digits, "0123456789") != strlen(digits)) {
        return false;
    }
    errno = 0;
    *value = strtoll(text, NULL, 10);
    return errno == 0 && *value >= minimum && *value <= maximum;
}
