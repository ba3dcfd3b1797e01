/* The dict literal of a .npy header. Only what NumPy writes is understood: three keys, a string, a truth value and a
 * tuple of numbers; no expressions, no escapes. */
#include "graph/bytes.h"
#include "graph/npy.h"
#include "operator/error.h"

#include <string.h>

typedef struct parser {
    const char *file;
    const char *at, *end;
} parser;

static void skip_space(parser *p)
{
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r')) {
        p->at++;
    }
}

/* Consumes the character, with the space around it, if it is next. */
static bool accept(parser *p, char wanted)
{
    skip_space(p);
    if (p->at == p->end || *p->at != wanted) {
        return false;
    }
    p->at++;
    skip_space(p);
    return true;
}

static bool accept_word(parser *p, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(p->end - p->at) < length || memcmp(p->at, word, length) != 0) {
        return false;
    }
    p->at += length;
    return true;
}

static rmsnorm_status expect(parser *p, char wanted)
{
    RMSNORM_CHECK(accept(p, wanted), RMSNORM_MALFORMED, "%s: the .npy header lacks a '%c' where one is due", p->file,
                  wanted);
    return RMSNORM_OK;
}

static rmsnorm_status parse_string(parser *p, char *text, size_t size)
{
    const char quote = p->at < p->end ? *p->at : '\0';
    RMSNORM_CHECK(quote == '\'' || quote == '"', RMSNORM_MALFORMED,
                  "%s: the .npy header lacks a quoted string where one is due", p->file);
    const char *const start = ++p->at;
    while (p->at < p->end && *p->at != quote && *p->at != '\\') {
        p->at++;
    }
    const size_t length = (size_t)(p->at - start);
    RMSNORM_CHECK(p->at < p->end && *p->at == quote && length < size && memchr(start, 0, length) == NULL,
                  RMSNORM_MALFORMED, "%s: the .npy header has an unending, too long or escaped string", p->file);
    memcpy(text, start, length);
    text[length] = '\0';
    p->at++;
    return RMSNORM_OK;
}

static rmsnorm_status parse_descr(parser *p, rmsnorm_npy_header *header)
{
    RMSNORM_CHECK(p->at == p->end || *p->at != '[', RMSNORM_UNSUPPORTED,
                  "%s: has structured elements (a list as \"descr\"); plain floats are allowed", p->file);
    return parse_string(p, header->descr, sizeof header->descr);
}

static rmsnorm_status parse_order(parser *p, rmsnorm_npy_header *header)
{
    header->fortran_order = accept_word(p, "True");
    RMSNORM_CHECK(header->fortran_order || accept_word(p, "False"), RMSNORM_MALFORMED,
                  "%s: the .npy header gives \"fortran_order\" as neither True nor False", p->file);
    return RMSNORM_OK;
}

static rmsnorm_status parse_dim(parser *p, int64_t *dim)
{
    const char *const start = p->at;
    int64_t value = 0;
    while (p->at < p->end && *p->at >= '0' && *p->at <= '9') {
        const int digit = *p->at++ - '0';
        RMSNORM_CHECK(value <= (INT64_MAX - digit) / 10, RMSNORM_MALFORMED,
                      "%s: the .npy header has a dim beyond 63 bits", p->file);
        value = value * 10 + digit;
    }
    RMSNORM_CHECK(p->at > start, RMSNORM_MALFORMED,
                  "%s: the .npy header has a \"shape\" that is no tuple of numbers >= 0", p->file);
    accept_word(p, "L"); /* Python 2's long numbers */
    *dim = value;
    return RMSNORM_OK;
}

/* () or (3,) or (2, 3): a single number without a comma is no tuple in Python. */
static rmsnorm_status parse_shape(parser *p, rmsnorm_npy_header *header)
{
    RMSNORM_TRY(expect(p, '('));
    bool comma = true;
    while (!accept(p, ')')) {
        RMSNORM_CHECK(comma, RMSNORM_MALFORMED, "%s: the .npy header has a \"shape\" with a comma missing", p->file);
        RMSNORM_CHECK(header->rank < RMSNORM_MAX_RANK, RMSNORM_MALFORMED,
                      "%s: has more than %d dims, the most supported", p->file, RMSNORM_MAX_RANK);
        RMSNORM_TRY(parse_dim(p, &header->dims[header->rank++]));
        comma = accept(p, ',');
    }
    RMSNORM_CHECK(header->rank != 1 || comma, RMSNORM_MALFORMED, "%s: the .npy header has a \"shape\" that is no tuple",
                  p->file);
    return RMSNORM_OK;
}

static rmsnorm_status parse_value(parser *p, rmsnorm_npy_header *header, unsigned *seen)
{
    static const struct {
        const char *key;
        rmsnorm_status (*parse)(parser *p, rmsnorm_npy_header *header);
    } fields[] = {{"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};
    char key[32];
    RMSNORM_TRY(parse_string(p, key, sizeof key));
    RMSNORM_TRY(expect(p, ':'));
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (strcmp(key, fields[i].key) == 0) {
            RMSNORM_CHECK((*seen & 1U << i) == 0, RMSNORM_MALFORMED, "%s: the .npy header has \"%s\" twice", p->file,
                          key);
            *seen |= 1U << i;
            return fields[i].parse(p, header);
        }
    }
    return rmsnorm_fail(
        RMSNORM_MALFORMED,
        "%s: the .npy header has the key \"%s\"; \"descr\", \"fortran_order\" and \"shape\" are allowed", p->file, key);
}

rmsnorm_status rmsnorm_npy_parse(const char *file, const char *text, size_t size, rmsnorm_npy_header *header)
{
    parser p = {file, text, text + size};
    unsigned seen = 0;
    *header = (rmsnorm_npy_header){.rank = 0};
    RMSNORM_TRY(expect(&p, '{'));
    bool comma = true;
    while (!accept(&p, '}')) {
        RMSNORM_CHECK(comma, RMSNORM_MALFORMED, "%s: the .npy header has a comma missing between two keys", file);
        RMSNORM_TRY(parse_value(&p, header, &seen));
        comma = accept(&p, ',');
    }
    RMSNORM_CHECK(seen == 7, RMSNORM_MALFORMED,
                  "%s: the .npy header lacks one of \"descr\", \"fortran_order\" and \"shape\"", file);
    RMSNORM_CHECK(p.at == p.end, RMSNORM_MALFORMED, "%s: the .npy header goes on after its closing brace", file);
    return RMSNORM_OK;
}
