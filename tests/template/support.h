/* support.h: what the tests of templates share. */
#ifndef RMSNORM_TESTS_TEMPLATE_SUPPORT_H
#define RMSNORM_TESTS_TEMPLATE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "template/template.h"

/* A place where a text is evaluated: variables, functions, templates to include, limits. Zero fields mean the usual. */
typedef struct bench {
    rmsnorm_arena arena;
    rmsnorm_map *variables;
    const rmsnorm_function *functions;
    size_t function_count;
    const rmsnorm_library *library;
    int64_t steps;
    size_t text_limit;
} bench;

enum { BENCH_MEMORY = 1 << 24, BENCH_STEPS = 1000000, BENCH_TEXT = 1 << 20 };

void bench_open(bench *at);
void bench_close(bench *at);
void bench_set(bench *at, const char *name, rmsnorm_any value);

/* The expression's value. */
rmsnorm_status bench_evaluate(bench *at, const char *text, rmsnorm_any *value);

/* The template's text, terminated. */
rmsnorm_status bench_render(bench *at, const char *name, const char *text, size_t length, const char **rendered);

/* A template that gives this text; one that is refused with this status and this sentence. */
void expect_text(bench *at, const char *text, const char *expected);
void expect_refusal(bench *at, const char *text, rmsnorm_status status, const char *sentence);

#endif
