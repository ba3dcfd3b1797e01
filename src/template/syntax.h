/* syntax.h: what texts are read into: units, tokens, terms. Internal to this room. */
#ifndef RMSNORM_TEMPLATE_SYNTAX_H
#define RMSNORM_TEMPLATE_SYNTAX_H

#include "template/template.h"
#include "template/text.h"

/* ---- Units: what was read, kept for messages ------------------------------------------------- */

/* Before this place of the text that is read, so many bytes of the text that was given are left out. */
typedef struct rmsnorm_cut {
    size_t at, removed;
} rmsnorm_cut;

typedef struct rmsnorm_unit {
    const char *name;
    const char *given; /* the text as it came */
    size_t given_length;
    const char *text; /* the text as it is read: without what trim_blocks and lstrip_blocks take */
    size_t length;
    const rmsnorm_cut *cuts;
    size_t cut_count;
} rmsnorm_unit;

/* Copies name and text. Refuses what is no UTF-8, and what is larger than places can be counted in. */
rmsnorm_status rmsnorm_unit_read(rmsnorm_arena *arena, const rmsnorm_text_source *source, rmsnorm_unit **unit);

/* Takes from the text what trim_blocks, lstrip_blocks and the rule of the last line break take. */
rmsnorm_status rmsnorm_unit_trim(rmsnorm_arena *arena, rmsnorm_unit *unit);

/* "name:line:column: SENTENCE, at "the text there"". */
RMSNORM_COLD rmsnorm_status rmsnorm_unit_fail(const rmsnorm_unit *unit, size_t at, rmsnorm_status status,
                                              const char *format, ...) RMSNORM_PRINTF(4, 5);
#ifdef __clang_analyzer__ /* as rmsnorm_fail */
#define rmsnorm_unit_fail(unit, at, status, ...) (rmsnorm_unit_fail((unit), (at), (status), __VA_ARGS__), (status))
#endif

/* ---- Tokens ---------------------------------------------------------------------------------- */

typedef enum rmsnorm_token_kind {
    TOKEN_START, /* before the first */
    TOKEN_END,
    TOKEN_TEXT,    /* between tags */
    TOKEN_COMMENT, /* never given out */
    TOKEN_OPEN_STATEMENT,
    TOKEN_CLOSE_STATEMENT,
    TOKEN_OPEN_EXPRESSION,
    TOKEN_CLOSE_EXPRESSION,
    TOKEN_NAME,
    TOKEN_STRING,
    TOKEN_INTEGER,
    TOKEN_FLOAT,
    TOKEN_SIGN_PLUS, /* + and - where no operand came before */
    TOKEN_SIGN_MINUS,
    TOKEN_PARENTHESIS,
    TOKEN_PARENTHESIS_END,
    TOKEN_BRACE,
    TOKEN_BRACE_END,
    TOKEN_BRACKET,
    TOKEN_BRACKET_END,
    TOKEN_COMMA,
    TOKEN_DOT,
    TOKEN_COLON,
    TOKEN_PIPE,
    TOKEN_LESS_EQUAL,
    TOKEN_GREATER_EQUAL,
    TOKEN_EQUAL,
    TOKEN_NOT_EQUAL,
    TOKEN_LESS,
    TOKEN_GREATER,
    TOKEN_PLUS,
    TOKEN_MINUS,
    TOKEN_TILDE,
    TOKEN_POWER,
    TOKEN_TIMES,
    TOKEN_FLOOR_DIVIDE,
    TOKEN_DIVIDE,
    TOKEN_MODULO,
    TOKEN_ASSIGN
} rmsnorm_token_kind;

typedef struct rmsnorm_token {
    rmsnorm_token_kind kind;
    size_t at, end;   /* places in the unit's text */
    const char *text; /* of texts, names and strings */
    size_t length;
    rmsnorm_any number;
} rmsnorm_token;

typedef struct rmsnorm_lexer {
    rmsnorm_arena *arena;
    const rmsnorm_unit *unit;
    bool tags; /* a template; else the whole text is one expression */
    size_t at;
    rmsnorm_token_kind last;
    size_t braces; /* open ones of the tag, in which }} are two ends */
} rmsnorm_lexer;

rmsnorm_status rmsnorm_lexer_next(rmsnorm_lexer *lexer, rmsnorm_token *token);

/* Behind {% raw %}: the text up to {% endraw %}, and over that tag. */
rmsnorm_status rmsnorm_lexer_raw(rmsnorm_lexer *lexer, rmsnorm_token *token);

/* ---- Terms ----------------------------------------------------------------------------------- */

typedef struct rmsnorm_term rmsnorm_term;
typedef struct rmsnorm_link rmsnorm_link;

typedef struct rmsnorm_pair {
    const rmsnorm_term *key; /* NULL in lists */
    const rmsnorm_term *value;
} rmsnorm_pair;

typedef struct rmsnorm_argument {
    const char *name; /* NULL for one by its place */
    size_t length;
    const rmsnorm_term *value;
} rmsnorm_argument;

typedef enum rmsnorm_term_kind {
    TERM_LITERAL,
    TERM_NAME,
    TERM_CALL, /* of a function or macro by its name */
    TERM_LIST,
    TERM_TUPLE,
    TERM_MAP,
    TERM_PLUS,
    TERM_MINUS,
    TERM_NOT,
    TERM_CHOICE, /* value if condition else otherwise */
    TERM_CHAIN   /* a term, and what is done to it from left to right */
} rmsnorm_term_kind;

struct rmsnorm_term {
    rmsnorm_term_kind kind;
    uint32_t at;
    union {
        rmsnorm_any literal;
        struct {
            const char *text;
            size_t length;
            const rmsnorm_argument *arguments;
            size_t count, depth; /* of a call: how deep in its expression it stands */
        } name;
        struct {
            const rmsnorm_pair *items;
            size_t count;
        } list;
        const rmsnorm_term *operand;
        struct {
            const rmsnorm_term *condition, *value, *otherwise; /* NULL: undefined */
        } choice;
        struct {
            const rmsnorm_term *first;
            const rmsnorm_link *links;
        } chain;
    } as;
};

typedef enum rmsnorm_link_kind {
    LINK_OR,
    LINK_AND,
    LINK_IN,
    LINK_NOT_IN,
    LINK_EQUAL,
    LINK_NOT_EQUAL,
    LINK_LESS,
    LINK_LESS_EQUAL,
    LINK_GREATER,
    LINK_GREATER_EQUAL,
    LINK_ADD,
    LINK_SUBTRACT,
    LINK_JOIN,
    LINK_MULTIPLY,
    LINK_DIVIDE,
    LINK_FLOOR_DIVIDE,
    LINK_MODULO,
    LINK_POWER,
    LINK_ATTRIBUTE,
    LINK_INDEX,
    LINK_SLICE,
    LINK_METHOD,
    LINK_FILTER,
    LINK_TEST
} rmsnorm_link_kind;

enum { RMSNORM_ARGUMENTS = 3 }; /* the most that a filter or method takes; and a slice */

struct rmsnorm_link {
    rmsnorm_link_kind kind;
    uint32_t at;
    const rmsnorm_link *next;
    const rmsnorm_term *operands[RMSNORM_ARGUMENTS]; /* NULL where not given */
    const char *name;                                /* of an attribute or method */
    size_t length;
    const struct rmsnorm_builtin *builtin; /* of methods and filters */
    const struct rmsnorm_test *test;
    bool negated; /* is not */
    bool called;  /* a filter with parentheses, or a method */
};

struct rmsnorm_expression {
    const rmsnorm_unit *unit;
    const rmsnorm_term *root;
    size_t depth; /* levels it nests */
};

/* ---- The parser of expressions --------------------------------------------------------------- */

typedef struct rmsnorm_parser {
    rmsnorm_arena *arena;
    const rmsnorm_unit *unit;
    rmsnorm_lexer lexer;
    rmsnorm_token token;         /* the next one */
    size_t depth, deepest, root; /* levels open now; the most; and where the expression began */
    bool macro;                  /* in the body of one */
} rmsnorm_parser;

rmsnorm_status rmsnorm_parser_next(rmsnorm_parser *parser);
rmsnorm_status rmsnorm_parser_enter(rmsnorm_parser *parser);
bool rmsnorm_parser_is_name(const rmsnorm_parser *parser, const char *name);
rmsnorm_status rmsnorm_parser_expect(rmsnorm_parser *parser, rmsnorm_token_kind kind, const char *what);

/* A name that is none of the language's own words. */
rmsnorm_status rmsnorm_parser_name(rmsnorm_parser *parser, const char *what, const char **name, size_t *length);

/* An expression, up to the first token that is no part of it. With sequence: a, b is a tuple. */
rmsnorm_status rmsnorm_parser_expression(rmsnorm_parser *parser, bool sequence, const rmsnorm_expression **expression);

/* ( .. ): arguments of a call. */
rmsnorm_status rmsnorm_parser_arguments(rmsnorm_parser *parser, const rmsnorm_argument **arguments, size_t *count);

/* One term, for the parts of this parser that lie in two files. */
rmsnorm_status rmsnorm_parser_term(rmsnorm_parser *parser, const rmsnorm_term **term);
rmsnorm_status rmsnorm_parser_primary(rmsnorm_parser *parser, const rmsnorm_term **term);
rmsnorm_term *rmsnorm_parser_make(rmsnorm_parser *parser, rmsnorm_term_kind kind, size_t at);

#endif
