/* find.c: operators by name, and what to say to someone who spelled one almost right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "operator/error.h"
#include "operator/text.h"

enum { MAX_NAME = 64 };

/* Letters and digits of a name in lower case: "rms_normalization" and "RMSNormalization" fold to the same. Length, or 0 when
 * the name is empty or too long to be meant as one of ours. */
static size_t fold(const char *name, char folded[MAX_NAME])
{
    size_t length = 0;
    for (; *name != '\0'; ++name) {
        const char c = *name >= 'A' && *name <= 'Z' ? (char)(*name - 'A' + 'a') : *name;
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
            if (length == MAX_NAME) {
                return 0;
            }
            folded[length++] = c;
        }
    }
    return length;
}

/* Levenshtein's distance: insertions, deletions and substitutions that turn a into b. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
    size_t row[MAX_NAME + 1];
    for (size_t j = 0; j <= b_length; ++j) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_length; ++i) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b_length; ++j) {
            const size_t substituted = diagonal + (a[i - 1] != b[j - 1]);
            const size_t shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = substituted < shorter ? substituted : shorter;
        }
    }
    return row[b_length];
}

/* The operator that was probably meant: few typing errors, or the beginning of its name ("RMSNorm"). LayerNormalization and
 * SkipLayerNormalization, which are other operators, are far from all of ours. */
static const rmsnorm_operator *near_miss(const char *name)
{
    char given[MAX_NAME];
    const size_t length = fold(name, given);
    const rmsnorm_operator *best = NULL;
    size_t best_distance = 4;
    const rmsnorm_operator *op;
    for (size_t i = 0; length >= 4 && (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        char folded[MAX_NAME];
        const size_t op_length = fold(op->name, folded);
        const bool beginning = length <= op_length && memcmp(given, folded, length) == 0;
        const size_t d = beginning ? 0 : distance(given, length, folded, op_length);
        if (d < best_distance) {
            best = op;
            best_distance = d;
        }
    }
    return best;
}

static const rmsnorm_operator *not_found(const char *domain, const char *name)
{
    const char *const prefix = domain != NULL ? rmsnorm_words_domain(domain) : "";
    const char *const colons = domain != NULL ? "::" : "";
    const rmsnorm_operator *const meant = near_miss(name);
    if (meant != NULL) {
        rmsnorm_fail(RMSNORM_NOT_FOUND, "no operator %.100s%s%.100s; did you mean %s::%s?", prefix, colons, name,
                     rmsnorm_words_domain(meant->domain), meant->name);
        return NULL;
    }
    rmsnorm_words words = {""};
    rmsnorm_text list = {words.text, sizeof words.text, 0};
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        rmsnorm_text_add(&list, "%s%s::%s", i == 0 ? "" : ", ", rmsnorm_words_domain(op->domain), op->name);
    }
    rmsnorm_fail(RMSNORM_NOT_FOUND, "no operator %.100s%s%.100s; there are %s", prefix, colons, name, words.text);
    return NULL;
}

const rmsnorm_operator *rmsnorm_operator_find(const char *domain, const char *name, int64_t opset)
{
    if (name == NULL) {
        rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "rmsnorm_operator_find: the name is NULL");
        return NULL;
    }
    if (domain == NULL || strcmp(domain, "ai.onnx") == 0) {
        domain = "";
    }
    if (opset < 0) {
        rmsnorm_fail(RMSNORM_INVALID_ARGUMENT,
                     "%.100s: the opset version is %" PRId64 "; allowed: 0 for the newest, or 1 and up", name, opset);
        return NULL;
    }
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        const bool in_domain =
            strcmp(domain, op->domain) == 0 || (op->other_domain != NULL && strcmp(domain, op->other_domain) == 0);
        if (strcmp(name, op->name) != 0 || !in_domain) {
            continue;
        }
        if (opset != 0 && opset < op->since_version) {
            rmsnorm_fail(RMSNORM_NOT_FOUND, "%s: not in opset %" PRId64 " of %.100s; it is there since opset %d",
                         op->name, opset, rmsnorm_words_domain(domain), op->since_version);
            return NULL;
        }
        return op;
    }
    return not_found(domain, name);
}

const rmsnorm_operator *rmsnorm_operator_parse(const char *name)
{
    if (name == NULL) {
        rmsnorm_fail(RMSNORM_INVALID_ARGUMENT, "rmsnorm_operator_parse: the name is NULL");
        return NULL;
    }
    const char *const colons = strstr(name, "::");
    if (colons != NULL) {
        char domain[MAX_NAME];
        const int length =
            snprintf(domain, sizeof domain, "%.*s", (int)(colons - name < MAX_NAME ? colons - name : MAX_NAME), name);
        if (length < 0 || length >= MAX_NAME) {
            return not_found(NULL, name);
        }
        return rmsnorm_operator_find(domain, colons + 2, 0);
    }
    /* The names differ from each other, so a bare one needs no domain. */
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        if (strcmp(name, op->name) == 0) {
            return op;
        }
    }
    return not_found(NULL, name);
}
