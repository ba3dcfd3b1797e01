#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "template/text.h"

/* The most digits a number may be written with here, and that a double's shortest form has. */
enum { LONGEST = 300, DIGITS = 17 };

/* digits * 10^exponent. Without a point, so that no locale can change what is read. */
static double value_of(const char *digits, size_t count, long exponent)
{
    char text[LONGEST + 32];
    snprintf(text, sizeof text, "%.*se%ld", (int)count, digits, exponent);
    return strtod(text, NULL);
}

/* The digits of number > 0 rounded to so many; returns the exponent of a number 0.DIGITS. */
static int digits_of(double number, int count, char digits[DIGITS + 1])
{
    char text[DIGITS + 32];
    snprintf(text, sizeof text, "%.*e", count - 1, number);
    int found = 0;
    const char *at = text;
    for (; *at != 'e'; at++) {
        if (*at >= '0' && *at <= '9') { /* the point may be any bytes, by the locale */
            digits[found++] = *at;
        }
    }
    digits[found] = '\0';
    return (int)strtol(at + 1, NULL, 10) + 1;
}

static bool reads_back(double number, const char *digits, int count, int exponent)
{
    return value_of(digits, (size_t)count, exponent - count) == number;
}

/* One up or down in the last place, without a carry: the neighbours of a rounded form. */
static bool step_last(char *digits, int count, int step)
{
    const char last = digits[count - 1];
    if ((step > 0 && last == '9') || (step < 0 && last == '0')) {
        return false;
    }
    digits[count - 1] = (char)(last + step);
    return true;
}

/* At a power of two the gap below is half of that above: the nearest of these digits may not read back while its neighbour does. */
static bool neighbour_reads_back(double number, char *digits, int count, int exponent)
{
    for (int step = -1; step <= 1; step += 2) {
        char other[DIGITS + 1];
        memcpy(other, digits, (size_t)count + 1);
        if (step_last(other, count, step) && reads_back(number, other, count, exponent)) {
            memcpy(digits, other, (size_t)count + 1);
            return true;
        }
    }
    return false;
}

static int shortest(double number, char digits[DIGITS + 1])
{
    /* 15 digits or fewer are always kept by a normal double, so the shorter forms need no search; smaller ones keep less. */
    const int first = number >= 1e-290 ? 15 : 1;
    int mantissa_exponent;
    const bool power_of_two = frexp(number, &mantissa_exponent) == 0.5;
    int exponent = 0;
    for (int count = first; count <= DIGITS; count++) {
        exponent = digits_of(number, count, digits);
        if (count == DIGITS || reads_back(number, digits, count, exponent) ||
            (power_of_two && neighbour_reads_back(number, digits, count, exponent))) {
            break;
        }
    }
    size_t count = strlen(digits);
    while (count > 1 && digits[count - 1] == '0') {
        digits[--count] = '\0';
    }
    return exponent;
}

size_t rmsnorm_number_write(double number, char to[RMSNORM_NUMBER_SIZE])
{
    char digits[DIGITS + 1];
    if (number == 0) {
        to[0] = '0';
        return 1;
    }
    const int exponent = shortest(fabs(number), digits), count = (int)strlen(digits);
    const char *const sign = number < 0 ? "-" : "";
    int written;
    if (exponent > 21 || exponent <= -6) {
        written = snprintf(to, RMSNORM_NUMBER_SIZE, "%s%c%s%se%+d", sign, digits[0], count > 1 ? "." : "", digits + 1,
                           exponent - 1);
    } else if (exponent <= 0) {
        written = snprintf(to, RMSNORM_NUMBER_SIZE, "%s0.%.*s%s", sign, -exponent, "00000", digits);
    } else if (exponent >= count) {
        written = snprintf(to, RMSNORM_NUMBER_SIZE, "%s%s%.*s", sign, digits, exponent - count, "00000000000000000000");
    } else {
        written = snprintf(to, RMSNORM_NUMBER_SIZE, "%s%.*s.%s", sign, exponent, digits, digits + exponent);
    }
    return (size_t)written;
}

static size_t count_digits(const char *text, size_t length)
{
    size_t count = 0;
    while (count < length && text[count] >= '0' && text[count] <= '9') {
        count++;
    }
    return count;
}

/* e, a sign and digits; 0 bytes when they are not there. */
static size_t read_exponent(const char *text, size_t length, long *exponent)
{
    size_t i = 1;
    *exponent = 0;
    if (length < 2 || (text[0] != 'e' && text[0] != 'E')) {
        return 0;
    }
    const bool negative = text[1] == '-';
    i += negative || text[1] == '+';
    const size_t digits = count_digits(text + i, length - i);
    for (size_t k = 0; k < digits; k++) {
        *exponent = *exponent < 100000 ? *exponent * 10 + (text[i + k] - '0') : *exponent;
    }
    *exponent = negative ? -*exponent : *exponent;
    return digits == 0 ? 0 : i + digits;
}

bool rmsnorm_number_read(const char *text, size_t length, double *number, size_t *used)
{
    const bool negative = length > 0 && text[0] == '-';
    const size_t sign = length > 0 && (negative || text[0] == '+');
    const size_t whole = count_digits(text + sign, length - sign);
    const bool point = sign + whole < length && text[sign + whole] == '.';
    const char *const fraction = text + sign + whole + point;
    const size_t places = point ? count_digits(fraction, length - sign - whole - 1) : 0;
    *used = 0;
    *number = 0;
    if (whole + places == 0) {
        return true;
    }
    if (whole > LONGEST || places > LONGEST || whole + places > LONGEST) {
        return false;
    }
    char digits[LONGEST];
    memcpy(digits, text + sign, whole);
    memcpy(digits + whole, fraction, places);
    *used = sign + whole + point + places;
    long exponent;
    *used += read_exponent(text + *used, length - *used, &exponent);
    *number = value_of(digits, whole + places, exponent - (long)places);
    *number = negative ? -*number : *number;
    return isfinite(*number);
}

bool rmsnorm_integer_read(const char *text, size_t length, int64_t *integer, size_t *used)
{
    const bool negative = length > 0 && text[0] == '-';
    const size_t sign = length > 0 && (negative || text[0] == '+');
    const size_t digits = count_digits(text + sign, length - sign);
    *used = digits == 0 ? 0 : sign + digits;
    *integer = 0;
    for (size_t i = sign; i < *used; i++) {
        *integer = *integer * 10 + (text[i] - '0');
        if (*integer > RMSNORM_LARGEST_INTEGER) {
            return false;
        }
    }
    *integer = negative ? -*integer : *integer;
    return true;
}
