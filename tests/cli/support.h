/* support.h: what the tests of the command share: running it through a shell in a folder of its own, and making its files. */
#ifndef RMSNORM_TESTS_CLI_SUPPORT_H
#define RMSNORM_TESTS_CLI_SUPPORT_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "rmsnorm/rmsnorm.h"

/* A cmocka group's setup and teardown: a new folder to work in, removed afterwards. */
int folder_make(void **state);
int folder_remove(void **state);

typedef struct outcome {
    int code;  /* exit code; 128 and more: ended by a signal */
    char *out; /* standard output, NUL added */
    char *err;
} outcome;

/* Runs a shell script, written like printf, in which `rmsnorm` is the command under test. */
outcome shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
void outcome_free(outcome *result);

/* Asserts, and frees. */
void expect_done(outcome result,
                 const char *const *parts); /* exit 0, nothing on standard error, parts in the output in order */
void expect_refused(outcome result,
                    const char *const *parts); /* exit 2, no output, one "rmsnorm: " line, with the parts */
/* The same of a script, the first word; the rest are the parts. */
void run_done(const char *const *words);
void run_refused(const char *const *words);
#define DONE(...) run_done((const char *const[]){__VA_ARGS__, NULL})
#define REFUSED(...) run_refused((const char *const[]){__VA_ARGS__, NULL})

/* Standard output as JSON, after exit code `code` and nothing on standard error. */
json_t *json_of(const char *script, int code);
/* json_of(...)["a"]["b"][0] by path "a.b.0", asserted to be there. */
json_t *at(json_t *root, const char *path);

bool exists(const char *path);
/* Entries of the directory, without "." and "..". */
size_t entry_count(const char *directory);
void write_bytes(const char *path, const void *bytes, size_t size);

/* A tensor file of float values rounded to dtype by the caller's choice of values: dims "2,4", "" for a scalar. */
void write_tensor(const char *path, rmsnorm_dtype dtype, const char *dims, const double *values, size_t count);
#define WRITE(path, dtype, dims, ...)                              \
    write_tensor(path, dtype, dims, (const double[]){__VA_ARGS__}, \
                 sizeof((const double[]){__VA_ARGS__}) / sizeof(double))
/* Asserts type, shape and exact values of a tensor file. */
void expect_tensor(const char *path, rmsnorm_dtype dtype, const char *dims, const double *values, size_t count);
#define EXPECT(path, dtype, dims, ...)                              \
    expect_tensor(path, dtype, dims, (const double[]){__VA_ARGS__}, \
                  sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

#endif
