/* primary.c: the ends of expressions: literals, names, calls, brackets; and whole expressions. */
#include <string.h>

#include "template/run.h"

static bool is_word(const rmsnorm_token *token, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (token->length == strlen(words[i]) && memcmp(token->text, words[i], token->length) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_reserved(const rmsnorm_token *token)
{
    static const char *const words[] = {"and",  "or",   "not",   "in",    "is",   "if",  "else",
                                        "true", "True", "false", "False", "none", "None"};
    return is_word(token, words, sizeof words / sizeof words[0]);
}

rmsnorm_status rmsnorm_parser_name(rmsnorm_parser *parser, const char *what, const char **name, size_t *length)
{
    if (parser->token.kind != TOKEN_NAME || is_reserved(&parser->token)) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected %s", what);
    }
    *name = parser->token.text;
    *length = parser->token.length;
    return rmsnorm_parser_next(parser);
}

/* ---- Lists that grow ------------------------------------------------------------------------- */

/* Items of one size behind each other, in a buffer of bytes. */
static bool push(rmsnorm_buffer *items, const void *item, size_t size)
{
    return rmsnorm_buffer_add(items, item, size);
}

static rmsnorm_buffer no_items(rmsnorm_parser *parser)
{
    return (rmsnorm_buffer){.arena = parser->arena, .limit = SIZE_MAX};
}

/* Behind an item: a comma, or the end. */
static rmsnorm_status parse_comma(rmsnorm_parser *parser, rmsnorm_token_kind end, const char *expected)
{
    if (parser->token.kind == TOKEN_COMMA) {
        return rmsnorm_parser_next(parser);
    }
    if (parser->token.kind != end) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected %s", expected);
    }
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_parser_arguments(rmsnorm_parser *parser, const rmsnorm_argument **arguments, size_t *count)
{
    rmsnorm_buffer items = no_items(parser);
    bool named = false;
    RMSNORM_TRY(rmsnorm_parser_expect(parser, TOKEN_PARENTHESIS, "("));
    while (parser->token.kind != TOKEN_PARENTHESIS_END) {
        if (parser->token.kind == TOKEN_TIMES || parser->token.kind == TOKEN_POWER) {
            return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_UNSUPPORTED,
                                     "unpacking of arguments is not supported");
        }
        rmsnorm_argument argument = {0};
        const rmsnorm_token first = parser->token;
        RMSNORM_TRY(rmsnorm_parser_term(parser, &argument.value));
        if (parser->token.kind == TOKEN_ASSIGN) {
            if (argument.value->kind != TERM_NAME || is_reserved(&first)) {
                return rmsnorm_unit_fail(parser->unit, first.at, RMSNORM_MALFORMED, "expected a name before =");
            }
            argument.name = argument.value->as.name.text;
            argument.length = argument.value->as.name.length;
            RMSNORM_TRY(rmsnorm_parser_next(parser));
            RMSNORM_TRY(rmsnorm_parser_term(parser, &argument.value));
            named = true;
        } else if (named) {
            return rmsnorm_unit_fail(parser->unit, first.at, RMSNORM_MALFORMED,
                                     "an argument without a name behind one with a name");
        }
        if (!push(&items, &argument, sizeof argument)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        RMSNORM_TRY(parse_comma(parser, TOKEN_PARENTHESIS_END, ", or )"));
    }
    *arguments = (const rmsnorm_argument *)(const void *)items.text;
    *count = items.length / sizeof **arguments;
    return rmsnorm_parser_next(parser);
}

/* ---- Literals and brackets ------------------------------------------------------------------- */

/* Adjacent strings are one. */
static rmsnorm_status parse_string(rmsnorm_parser *parser, rmsnorm_term *term)
{
    const rmsnorm_token first = parser->token;
    term->as.literal = rmsnorm_any_string(first.text, first.length);
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    if (parser->token.kind != TOKEN_STRING) {
        return RMSNORM_OK;
    }
    rmsnorm_buffer text = no_items(parser);
    bool added = rmsnorm_buffer_add(&text, first.text, first.length);
    while (added && parser->token.kind == TOKEN_STRING) {
        added = rmsnorm_buffer_add(&text, parser->token.text, parser->token.length);
        RMSNORM_TRY(rmsnorm_parser_next(parser));
    }
    term->as.literal = rmsnorm_any_string(text.text, text.length);
    return added ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status parse_name(rmsnorm_parser *parser, rmsnorm_term *term)
{
    static const char *const yes[] = {"true", "True"}, *const no[] = {"false", "False"},
                             *const none[] = {"none", "None"};
    static const char *const special[] = {"varargs", "kwargs", "caller"};
    const rmsnorm_token name = parser->token;
    const bool is_true = is_word(&name, yes, 2);
    if (is_true || is_word(&name, no, 2) || is_word(&name, none, 2)) {
        term->as.literal = is_word(&name, none, 2) ? rmsnorm_any_null() : rmsnorm_any_boolean(is_true);
        return rmsnorm_parser_next(parser);
    }
    if (is_reserved(&name)) {
        return rmsnorm_unit_fail(parser->unit, name.at, RMSNORM_MALFORMED, "expected a value");
    }
    if (parser->macro && is_word(&name, special, 3)) {
        return rmsnorm_unit_fail(parser->unit, name.at, RMSNORM_UNSUPPORTED, "'%.*s' is not supported in macros",
                                 (int)name.length, name.text);
    }
    term->kind = TERM_NAME;
    term->as.name.text = name.text;
    term->as.name.length = name.length;
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    if (parser->token.kind == TOKEN_PARENTHESIS) {
        term->kind = TERM_CALL;
        term->as.name.depth = parser->depth - parser->root;
        return rmsnorm_parser_arguments(parser, &term->as.name.arguments, &term->as.name.count);
    }
    return RMSNORM_OK;
}

/* a, b: up to the token that is no comma. */
static rmsnorm_status parse_sequence(rmsnorm_parser *parser, const rmsnorm_term **term)
{
    rmsnorm_pair item = {0};
    rmsnorm_buffer items = no_items(parser);
    RMSNORM_TRY(rmsnorm_parser_term(parser, &item.value));
    if (parser->token.kind != TOKEN_COMMA) {
        *term = item.value;
        return RMSNORM_OK;
    }
    rmsnorm_term *const tuple = rmsnorm_parser_make(parser, TERM_TUPLE, item.value->at);
    bool added = tuple != NULL && push(&items, &item, sizeof item);
    while (added && parser->token.kind == TOKEN_COMMA) {
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(rmsnorm_parser_term(parser, &item.value));
        added = push(&items, &item, sizeof item);
    }
    if (!added) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    tuple->as.list.items = (const rmsnorm_pair *)(const void *)items.text;
    tuple->as.list.count = items.length / sizeof item;
    *term = tuple;
    return RMSNORM_OK;
}

static rmsnorm_status parse_items(rmsnorm_parser *parser, bool map, rmsnorm_term *term)
{
    const rmsnorm_token_kind end = map ? TOKEN_BRACE_END : TOKEN_BRACKET_END;
    rmsnorm_buffer items = no_items(parser);
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    while (parser->token.kind != end) {
        rmsnorm_pair item = {0};
        if (map) {
            RMSNORM_TRY(rmsnorm_parser_term(parser, &item.key));
            RMSNORM_TRY(rmsnorm_parser_expect(parser, TOKEN_COLON, ": between key and value"));
        }
        RMSNORM_TRY(rmsnorm_parser_term(parser, &item.value));
        if (!push(&items, &item, sizeof item)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        RMSNORM_TRY(parse_comma(parser, end, map ? ", or }" : ", or ]"));
    }
    term->kind = map ? TERM_MAP : TERM_LIST;
    term->as.list.items = (const rmsnorm_pair *)(const void *)items.text;
    term->as.list.count = items.length / sizeof(rmsnorm_pair);
    return rmsnorm_parser_next(parser);
}

rmsnorm_status rmsnorm_parser_primary(rmsnorm_parser *parser, const rmsnorm_term **term)
{
    if (parser->token.kind == TOKEN_PARENTHESIS) {
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(parse_sequence(parser, term));
        return rmsnorm_parser_expect(parser, TOKEN_PARENTHESIS_END, ")");
    }
    rmsnorm_term *const made = rmsnorm_parser_make(parser, TERM_LITERAL, parser->token.at);
    if (made == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    *term = made;
    switch (parser->token.kind) {
    case TOKEN_INTEGER:
    case TOKEN_FLOAT:
        made->as.literal = parser->token.number;
        return rmsnorm_parser_next(parser);
    case TOKEN_STRING:
        return parse_string(parser, made);
    case TOKEN_NAME:
        return parse_name(parser, made);
    case TOKEN_BRACKET:
    case TOKEN_BRACE:
        return parse_items(parser, parser->token.kind == TOKEN_BRACE, made);
    default:
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected a value");
    }
}

/* ---- Whole expressions ----------------------------------------------------------------------- */

rmsnorm_status rmsnorm_parser_expression(rmsnorm_parser *parser, bool sequence, const rmsnorm_expression **expression)
{
    rmsnorm_expression *const made = rmsnorm_arena_allocate(parser->arena, sizeof *made);
    if (made == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    const size_t outer = parser->deepest;
    parser->root = parser->deepest = parser->depth;
    RMSNORM_TRY(sequence ? parse_sequence(parser, &made->root) : rmsnorm_parser_term(parser, &made->root));
    made->unit = parser->unit;
    made->depth = parser->deepest - parser->root;
    parser->deepest = outer > parser->deepest ? outer : parser->deepest;
    *expression = made;
    return RMSNORM_OK;
}

rmsnorm_status rmsnorm_expression_parse(rmsnorm_arena *arena, const rmsnorm_text_source *source,
                                        const rmsnorm_expression **expression)
{
    rmsnorm_unit *unit;
    RMSNORM_TRY(rmsnorm_unit_read(arena, source, &unit));
    rmsnorm_parser parser = {.arena = arena, .unit = unit, .lexer = {.arena = arena, .unit = unit}};
    RMSNORM_TRY(rmsnorm_parser_next(&parser));
    RMSNORM_TRY(rmsnorm_parser_expression(&parser, false, expression));
    if (parser.token.kind != TOKEN_END) {
        return rmsnorm_unit_fail(unit, parser.token.at, RMSNORM_MALFORMED, "expected the end of the expression");
    }
    return RMSNORM_OK;
}
