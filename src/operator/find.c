/* find.c: operators by name, and what to say to someone who spelled one almost right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "operator/error.h"
#include "operator/meant.h"
#include "operator/text.h"

enum { MAX_DOMAIN = 64 };

/* The operator that was probably meant: few typing errors, or the beginning of its name ("RMSNorm"). LayerNormalization and
 * SkipLayerNormalization, which are other operators, are far from all of ours. */
static const rmsnorm_operator *near_miss(const char *name)
{
    const rmsnorm_operator *best = NULL;
    size_t least = RMSNORM_NOT_MEANT;
    const rmsnorm_operator *op;
    for (size_t i = 0; (op = rmsnorm_operator_at(i)) != NULL; ++i) {
        const size_t errors = rmsnorm_meant_distance(name, strlen(name), op->name, 4);
        if (errors < least) {
            best = op;
            least = errors;
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
        char domain[MAX_DOMAIN];
        const int length = snprintf(domain, sizeof domain, "%.*s",
                                    (int)(colons - name < MAX_DOMAIN ? colons - name : MAX_DOMAIN), name);
        if (length < 0 || length >= MAX_DOMAIN) {
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
