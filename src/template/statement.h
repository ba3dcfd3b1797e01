/* statement.h: what templates are read into. Internal to this room. */
#ifndef RMSNORM_TEMPLATE_STATEMENT_H
#define RMSNORM_TEMPLATE_STATEMENT_H

#include "template/run.h"

typedef struct rmsnorm_statement rmsnorm_statement;

typedef struct rmsnorm_word {
    const char *text;
    size_t length;
} rmsnorm_word;

/* One condition of an if and what belongs to it; that of else has none. */
typedef struct rmsnorm_branch {
    const rmsnorm_expression *condition;
    const rmsnorm_statement *body;
    struct rmsnorm_branch *next;
} rmsnorm_branch;

typedef struct rmsnorm_parameter {
    rmsnorm_word name;
    const rmsnorm_expression *fallback; /* NULL: undefined */
} rmsnorm_parameter;

/* The names before in or =. */
typedef struct rmsnorm_targets {
    const rmsnorm_word *names;
    size_t count;
    bool unpack; /* several, or one in a tuple */
} rmsnorm_targets;

typedef struct rmsnorm_macro {
    const rmsnorm_unit *unit;
    rmsnorm_word name;
    const rmsnorm_parameter *parameters;
    size_t count;
    const rmsnorm_statement *body;
} rmsnorm_macro;

typedef enum rmsnorm_statement_kind {
    STATEMENT_TEXT,
    STATEMENT_PRINT,
    STATEMENT_IF,
    STATEMENT_FOR,
    STATEMENT_SET,
    STATEMENT_SET_BLOCK,
    STATEMENT_MACRO,
    STATEMENT_INCLUDE
} rmsnorm_statement_kind;

struct rmsnorm_statement {
    rmsnorm_statement_kind kind;
    size_t at;
    const rmsnorm_statement *next;
    const rmsnorm_expression *value; /* of print, for, set, include */
    union {
        rmsnorm_word text;
        const rmsnorm_branch *branches;
        struct {
            rmsnorm_targets targets;
            const rmsnorm_statement *body, *otherwise;
        } block; /* of for and set */
        rmsnorm_macro macro;
    } as;
};

struct rmsnorm_template {
    const rmsnorm_unit *unit;
    const rmsnorm_statement *body;
};

#endif
