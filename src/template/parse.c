/* parse.c: expressions: the levels of precedence, from if-else down to the signs. */
#include <string.h>

#include "template/run.h"

rmsnorm_status rmsnorm_parser_next(rmsnorm_parser *parser)
{
    return rmsnorm_lexer_next(&parser->lexer, &parser->token);
}

rmsnorm_status rmsnorm_parser_enter(rmsnorm_parser *parser)
{
    if (parser->depth >= RMSNORM_TEMPLATE_DEPTH) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_INVALID_ARGUMENT,
                                 "more than %d levels are nested", RMSNORM_TEMPLATE_DEPTH);
    }
    parser->depth++;
    if (parser->depth > parser->deepest) {
        parser->deepest = parser->depth;
    }
    return RMSNORM_OK;
}

bool rmsnorm_parser_is_name(const rmsnorm_parser *parser, const char *name)
{
    return parser->token.kind == TOKEN_NAME && parser->token.length == strlen(name) &&
           memcmp(parser->token.text, name, parser->token.length) == 0;
}

rmsnorm_status rmsnorm_parser_expect(rmsnorm_parser *parser, rmsnorm_token_kind kind, const char *what)
{
    if (parser->token.kind != kind) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected %s", what);
    }
    return rmsnorm_parser_next(parser);
}

rmsnorm_term *rmsnorm_parser_make(rmsnorm_parser *parser, rmsnorm_term_kind kind, size_t at)
{
    rmsnorm_term *const term = rmsnorm_arena_allocate(parser->arena, sizeof *term);
    if (term != NULL) {
        term->kind = kind;
        term->at = (uint32_t)at;
    }
    return term;
}

/* ---- Chains ---------------------------------------------------------------------------------- */

/* A chain that grows at its end. term is the whole of it, the plain first term while nothing was added. */
typedef struct chain {
    const rmsnorm_term *term;
    rmsnorm_term *head;
    rmsnorm_link *last;
} chain;

static rmsnorm_status add_link(rmsnorm_parser *parser, chain *to, const rmsnorm_link *link)
{
    if (to->head == NULL) {
        to->head = rmsnorm_parser_make(parser, TERM_CHAIN, to->term->at);
        if (to->head == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        to->head->as.chain.first = to->term;
        to->term = to->head;
    }
    rmsnorm_link *const copy = rmsnorm_arena_allocate(parser->arena, sizeof *copy);
    if (copy == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    *copy = *link;
    if (to->last == NULL) {
        to->head->as.chain.links = copy;
    } else {
        to->last->next = copy;
    }
    to->last = copy;
    return RMSNORM_OK;
}

/* ---- Levels ---------------------------------------------------------------------------------- */

typedef enum level {
    LEVEL_OR,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_ADD,
    LEVEL_MULTIPLY,
    LEVEL_POWER,
    LEVEL_TEST
} level;

/* The operators that are one token. */
static const struct {
    rmsnorm_token_kind token;
    level level;
    rmsnorm_link_kind link;
} operators[] = {
    {TOKEN_EQUAL, LEVEL_COMPARE, LINK_EQUAL},
    {TOKEN_NOT_EQUAL, LEVEL_COMPARE, LINK_NOT_EQUAL},
    {TOKEN_LESS, LEVEL_COMPARE, LINK_LESS},
    {TOKEN_LESS_EQUAL, LEVEL_COMPARE, LINK_LESS_EQUAL},
    {TOKEN_GREATER, LEVEL_COMPARE, LINK_GREATER},
    {TOKEN_GREATER_EQUAL, LEVEL_COMPARE, LINK_GREATER_EQUAL},
    {TOKEN_PLUS, LEVEL_ADD, LINK_ADD},
    {TOKEN_MINUS, LEVEL_ADD, LINK_SUBTRACT},
    {TOKEN_TILDE, LEVEL_ADD, LINK_JOIN},
    {TOKEN_TIMES, LEVEL_MULTIPLY, LINK_MULTIPLY},
    {TOKEN_DIVIDE, LEVEL_MULTIPLY, LINK_DIVIDE},
    {TOKEN_FLOOR_DIVIDE, LEVEL_MULTIPLY, LINK_FLOOR_DIVIDE},
    {TOKEN_MODULO, LEVEL_MULTIPLY, LINK_MODULO},
    {TOKEN_POWER, LEVEL_POWER, LINK_POWER},
};

/* Whether the next token is an operator of the level, which is read then. */
static rmsnorm_status read_operator(rmsnorm_parser *parser, level wanted, bool *found, rmsnorm_link *link)
{
    *link = (rmsnorm_link){.at = (uint32_t)parser->token.at};
    *found = true;
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++) {
        if (operators[i].token == parser->token.kind && operators[i].level == wanted) {
            link->kind = operators[i].link;
            return rmsnorm_parser_next(parser);
        }
    }
    if (wanted == LEVEL_OR && rmsnorm_parser_is_name(parser, "or")) {
        link->kind = LINK_OR;
        return rmsnorm_parser_next(parser);
    }
    if (wanted == LEVEL_AND && rmsnorm_parser_is_name(parser, "and")) {
        link->kind = LINK_AND;
        return rmsnorm_parser_next(parser);
    }
    if (wanted == LEVEL_COMPARE && rmsnorm_parser_is_name(parser, "in")) {
        link->kind = LINK_IN;
        return rmsnorm_parser_next(parser);
    }
    if (wanted == LEVEL_COMPARE && rmsnorm_parser_is_name(parser, "not")) {
        link->kind = LINK_NOT_IN;
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        return rmsnorm_parser_is_name(parser, "in")
                   ? rmsnorm_parser_next(parser)
                   : rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected in after not");
    }
    *found = false;
    return RMSNORM_OK;
}

static rmsnorm_status parse_tests(rmsnorm_parser *parser, const rmsnorm_term **term);

static rmsnorm_status parse_level(rmsnorm_parser *parser, level wanted, const rmsnorm_term **term)
{
    if (wanted == LEVEL_TEST) {
        return parse_tests(parser, term);
    }
    if (wanted == LEVEL_NOT && rmsnorm_parser_is_name(parser, "not")) {
        rmsnorm_term *const made = rmsnorm_parser_make(parser, TERM_NOT, parser->token.at);
        if (made == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        RMSNORM_TRY(rmsnorm_parser_enter(parser));
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(parse_level(parser, LEVEL_NOT, &made->as.operand));
        parser->depth--;
        *term = made;
        return RMSNORM_OK;
    }
    chain made = {0};
    RMSNORM_TRY(parse_level(parser, wanted + 1, &made.term));
    while (wanted != LEVEL_NOT) {
        bool found;
        rmsnorm_link link;
        RMSNORM_TRY(read_operator(parser, wanted, &found, &link));
        if (!found) {
            break;
        }
        RMSNORM_TRY(parse_level(parser, wanted + 1, &link.operands[0]));
        RMSNORM_TRY(add_link(parser, &made, &link));
    }
    *term = made.term;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_parser_term(rmsnorm_parser *parser, const rmsnorm_term **term)
{
    RMSNORM_TRY(rmsnorm_parser_enter(parser));
    RMSNORM_TRY(parse_level(parser, LEVEL_OR, term));
    if (rmsnorm_parser_is_name(parser, "if")) {
        rmsnorm_term *const made = rmsnorm_parser_make(parser, TERM_CHOICE, (*term)->at);
        if (made == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        made->as.choice.value = *term;
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(parse_level(parser, LEVEL_OR, &made->as.choice.condition));
        if (rmsnorm_parser_is_name(parser, "else")) {
            RMSNORM_TRY(rmsnorm_parser_next(parser));
            RMSNORM_TRY(rmsnorm_parser_term(parser, &made->as.choice.otherwise));
        }
        *term = made;
    }
    parser->depth--;
    return RMSNORM_OK;
}

/* ---- Signs, members, filters, tests ---------------------------------------------------------- */

static rmsnorm_status refuse_name(rmsnorm_parser *parser, const char *what)
{
    return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_UNSUPPORTED, "the %s '%.*s' is not supported",
                             what, parser->token.length < 60 ? (int)parser->token.length : 60, parser->token.text);
}

/* Arguments by place and by name, each to the place that the table gives it. */
static rmsnorm_status place_arguments(rmsnorm_parser *parser, const rmsnorm_builtin *builtin,
                                      const rmsnorm_argument *arguments, size_t count, rmsnorm_link *link)
{
    size_t by_place = 0;
    for (size_t i = 0; i < count; i++) {
        size_t place = by_place;
        if (arguments[i].name == NULL) {
            by_place++;
        } else {
            for (place = 0; place < RMSNORM_ARGUMENTS; place++) {
                const char *const keyword = builtin->keywords[place];
                if (keyword != NULL && strlen(keyword) == arguments[i].length &&
                    memcmp(keyword, arguments[i].name, arguments[i].length) == 0) {
                    break;
                }
            }
        }
        if (place >= (arguments[i].name == NULL ? builtin->most : RMSNORM_ARGUMENTS) || link->operands[place] != NULL) {
            return rmsnorm_unit_fail(parser->unit, arguments[i].value->at, RMSNORM_UNSUPPORTED,
                                     "'%s' does not take this argument", builtin->name);
        }
        link->operands[place] = arguments[i].value;
    }
    if (by_place < builtin->least) {
        return rmsnorm_unit_fail(parser->unit, link->at, RMSNORM_INVALID_ARGUMENT, "'%s' takes at least %d argument%s",
                                 builtin->name, builtin->least, builtin->least == 1 ? "" : "s");
    }
    return RMSNORM_OK;
}

static rmsnorm_status parse_filter(rmsnorm_parser *parser, chain *made)
{
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    if (parser->token.kind != TOKEN_NAME) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected the name of a filter");
    }
    rmsnorm_link link = {.kind = LINK_FILTER, .at = (uint32_t)parser->token.at};
    link.builtin = rmsnorm_filter_find(parser->token.text, parser->token.length);
    if (link.builtin == NULL) {
        return refuse_name(parser, "filter");
    }
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    link.called = parser->token.kind == TOKEN_PARENTHESIS;
    if (link.called ? !link.builtin->called : !link.builtin->bare) {
        return rmsnorm_unit_fail(parser->unit, link.at, RMSNORM_UNSUPPORTED, "the filter '%s' is only supported %s ()",
                                 link.builtin->name, link.called ? "without" : "with");
    }
    if (link.called) {
        const rmsnorm_argument *arguments;
        size_t count;
        RMSNORM_TRY(rmsnorm_parser_arguments(parser, &arguments, &count));
        RMSNORM_TRY(place_arguments(parser, link.builtin, arguments, count, &link));
    }
    return add_link(parser, made, &link);
}

static rmsnorm_status parse_test(rmsnorm_parser *parser, chain *made)
{
    rmsnorm_link link = {.kind = LINK_TEST, .at = (uint32_t)parser->token.at};
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    if (rmsnorm_parser_is_name(parser, "not")) {
        link.negated = true;
        RMSNORM_TRY(rmsnorm_parser_next(parser));
    }
    if (parser->token.kind != TOKEN_NAME) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected the name of a test");
    }
    link.test = rmsnorm_test_find(parser->token.text, parser->token.length);
    if (link.test == NULL) {
        return refuse_name(parser, "test");
    }
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    return add_link(parser, made, &link);
}

static rmsnorm_status parse_attribute(rmsnorm_parser *parser, chain *made)
{
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    rmsnorm_link link = {.kind = LINK_ATTRIBUTE, .at = (uint32_t)parser->token.at};
    if (parser->token.kind == TOKEN_INTEGER) {
        rmsnorm_term *const index = rmsnorm_parser_make(parser, TERM_LITERAL, parser->token.at);
        if (index == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        index->as.literal = parser->token.number;
        link.kind = LINK_INDEX;
        link.operands[0] = index;
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        return add_link(parser, made, &link);
    }
    if (parser->token.kind != TOKEN_NAME) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected a name after the dot");
    }
    const rmsnorm_token name = parser->token;
    link.name = name.text; /* in the unit's text, which stays */
    link.length = name.length;
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    if (parser->token.kind == TOKEN_PARENTHESIS) {
        const rmsnorm_argument *arguments;
        size_t count;
        link.kind = LINK_METHOD;
        link.builtin = rmsnorm_method_find(name.text, name.length);
        if (link.builtin == NULL) {
            parser->token = name;
            return refuse_name(parser, "method");
        }
        link.called = true;
        RMSNORM_TRY(rmsnorm_parser_arguments(parser, &arguments, &count));
        RMSNORM_TRY(place_arguments(parser, link.builtin, arguments, count, &link));
    }
    return add_link(parser, made, &link);
}

static rmsnorm_status parse_index(rmsnorm_parser *parser, chain *made)
{
    rmsnorm_link link = {.kind = LINK_INDEX, .at = (uint32_t)parser->token.at};
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    size_t place = 0;
    while (parser->token.kind != TOKEN_BRACKET_END) {
        if (parser->token.kind == TOKEN_COLON && place < RMSNORM_ARGUMENTS - 1) {
            link.kind = LINK_SLICE;
            place++;
            RMSNORM_TRY(rmsnorm_parser_next(parser));
        } else if (link.operands[place] == NULL) {
            RMSNORM_TRY(rmsnorm_parser_term(parser, &link.operands[place]));
        } else {
            break;
        }
    }
    if (link.kind == LINK_INDEX && link.operands[0] == NULL) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected an index");
    }
    RMSNORM_TRY(rmsnorm_parser_expect(parser, TOKEN_BRACKET_END, "]"));
    return add_link(parser, made, &link);
}

static rmsnorm_status parse_signed(rmsnorm_parser *parser, chain *made)
{
    const rmsnorm_token_kind kind = parser->token.kind;
    if (kind == TOKEN_SIGN_MINUS || kind == TOKEN_MINUS || kind == TOKEN_SIGN_PLUS || kind == TOKEN_PLUS) {
        const bool minus = kind == TOKEN_SIGN_MINUS || kind == TOKEN_MINUS;
        rmsnorm_term *const term = rmsnorm_parser_make(parser, minus ? TERM_MINUS : TERM_PLUS, parser->token.at);
        if (term == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        chain operand = {0};
        RMSNORM_TRY(rmsnorm_parser_enter(parser));
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(parse_signed(parser, &operand));
        parser->depth--;
        term->as.operand = operand.term;
        made->term = term;
        return RMSNORM_OK;
    }
    RMSNORM_TRY(rmsnorm_parser_primary(parser, &made->term));
    while (parser->token.kind == TOKEN_DOT || parser->token.kind == TOKEN_BRACKET) {
        RMSNORM_TRY(parser->token.kind == TOKEN_DOT ? parse_attribute(parser, made) : parse_index(parser, made));
    }
    if (parser->token.kind == TOKEN_PARENTHESIS) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_UNSUPPORTED,
                                 "only a function, a macro or a method can be called, by its name");
    }
    return RMSNORM_OK;
}

static rmsnorm_status parse_tests(rmsnorm_parser *parser, const rmsnorm_term **term)
{
    chain made = {0};
    RMSNORM_TRY(parse_signed(parser, &made));
    while (parser->token.kind == TOKEN_PIPE) {
        RMSNORM_TRY(parse_filter(parser, &made));
    }
    while (rmsnorm_parser_is_name(parser, "is")) {
        RMSNORM_TRY(parse_test(parser, &made));
    }
    *term = made.term;
    return RMSNORM_OK;
}
