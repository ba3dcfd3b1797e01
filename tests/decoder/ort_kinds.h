/* ort_kinds.h: the nodes of a model, counted by kind. */
#ifndef RMSNORM_TESTS_DECODER_ORT_KINDS_H
#define RMSNORM_TESTS_DECODER_ORT_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { ORT_MOST_KINDS = 64 };

typedef struct ort_kinds {
    struct {
        char name[64]; /* the operator's, without its domain */
        size_t count;
    } kinds[ORT_MOST_KINDS];
    size_t count;
} ort_kinds;

/* Of a model file, its main graph; Constants are none. false: a sentence is in `why`. */
bool ort_kinds_read(const char *path, ort_kinds *kinds, char why[256]);
size_t ort_kinds_count(const ort_kinds *kinds, const char *name);
void ort_kinds_print(FILE *file, const ort_kinds *kinds);
void ort_kinds_print_json(FILE *file, const ort_kinds *kinds);

#endif
