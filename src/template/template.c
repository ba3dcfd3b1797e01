/* template.c: the reader of templates: texts and tags. */
#include "template/template.h"

#include <string.h>

#include "template/statement.h"

static rmsnorm_status parse_body(rmsnorm_parser *parser, const char *const *ends, const rmsnorm_statement **body);

static rmsnorm_status malformed(rmsnorm_parser *parser, const char *expected)
{
    return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected %s", expected);
}

static rmsnorm_status close_tag(rmsnorm_parser *parser)
{
    return rmsnorm_parser_expect(parser, TOKEN_CLOSE_STATEMENT, "%}");
}

/* The name of the tag that parse_body ended before, and its end. */
static rmsnorm_status end_tag(rmsnorm_parser *parser)
{
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    return close_tag(parser);
}

/* A body that belongs to a tag. */
static rmsnorm_status parse_block(rmsnorm_parser *parser, const char *const *ends, const rmsnorm_statement **body)
{
    RMSNORM_TRY(close_tag(parser));
    RMSNORM_TRY(rmsnorm_parser_enter(parser));
    RMSNORM_TRY(parse_body(parser, ends, body));
    parser->depth--;
    return RMSNORM_OK;
}

/* ---- Tags ------------------------------------------------------------------------------------ */

static rmsnorm_status parse_if(rmsnorm_parser *parser, rmsnorm_statement *statement)
{
    static const char *const any[] = {"elif", "else", "endif", NULL}, *const last[] = {"endif", NULL};
    rmsnorm_branch *before = NULL;
    bool otherwise = false, done = false;
    statement->kind = STATEMENT_IF;
    while (!done) {
        rmsnorm_branch *const branch = rmsnorm_arena_allocate(parser->arena, sizeof *branch);
        if (branch == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        if (before == NULL) {
            statement->as.branches = branch;
        } else {
            before->next = branch;
        }
        before = branch;
        RMSNORM_TRY(rmsnorm_parser_next(parser)); /* if, elif or else */
        if (!otherwise) {
            RMSNORM_TRY(rmsnorm_parser_expression(parser, false, &branch->condition));
        }
        RMSNORM_TRY(parse_block(parser, otherwise ? last : any, &branch->body));
        done = rmsnorm_parser_is_name(parser, "endif");
        otherwise = rmsnorm_parser_is_name(parser, "else");
    }
    return end_tag(parser);
}

/* a or a, b or (a, b) */
static rmsnorm_status parse_targets(rmsnorm_parser *parser, rmsnorm_targets *targets)
{
    rmsnorm_buffer names = {.arena = parser->arena, .limit = SIZE_MAX};
    const bool enclosed = parser->token.kind == TOKEN_PARENTHESIS;
    if (enclosed) {
        RMSNORM_TRY(rmsnorm_parser_next(parser));
    }
    for (bool more = true; more;) {
        rmsnorm_word name;
        RMSNORM_TRY(rmsnorm_parser_name(parser, "the name of a variable", &name.text, &name.length));
        if (!rmsnorm_buffer_add(&names, (const char *)&name, sizeof name)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        more = parser->token.kind == TOKEN_COMMA;
        if (more) {
            RMSNORM_TRY(rmsnorm_parser_next(parser));
        }
    }
    targets->names = (const rmsnorm_word *)(const void *)names.text;
    targets->count = names.length / sizeof(rmsnorm_word);
    targets->unpack = targets->count > 1;
    return enclosed ? rmsnorm_parser_expect(parser, TOKEN_PARENTHESIS_END, ")") : RMSNORM_OK;
}

static rmsnorm_status parse_for(rmsnorm_parser *parser, rmsnorm_statement *statement)
{
    static const char *const any[] = {"else", "endfor", NULL}, *const last[] = {"endfor", NULL};
    statement->kind = STATEMENT_FOR;
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    RMSNORM_TRY(parse_targets(parser, &statement->as.block.targets));
    if (!rmsnorm_parser_is_name(parser, "in")) {
        return malformed(parser, "in");
    }
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    RMSNORM_TRY(rmsnorm_parser_expression(parser, false, &statement->value));
    RMSNORM_TRY(parse_block(parser, any, &statement->as.block.body));
    if (rmsnorm_parser_is_name(parser, "else")) {
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(parse_block(parser, last, &statement->as.block.otherwise));
    }
    return end_tag(parser);
}

static rmsnorm_status parse_set(rmsnorm_parser *parser, rmsnorm_statement *statement)
{
    static const char *const ends[] = {"endset", NULL};
    rmsnorm_targets *const targets = &statement->as.block.targets;
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    RMSNORM_TRY(parse_targets(parser, targets));
    if (parser->token.kind == TOKEN_ASSIGN) {
        statement->kind = STATEMENT_SET;
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(rmsnorm_parser_expression(parser, true, &statement->value));
        return close_tag(parser);
    }
    if (parser->token.kind == TOKEN_DOT) {
        return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_UNSUPPORTED,
                                 "set of an attribute is not supported");
    }
    if (targets->unpack) {
        return malformed(parser, "=");
    }
    statement->kind = STATEMENT_SET_BLOCK;
    RMSNORM_TRY(parse_block(parser, ends, &statement->as.block.body));
    return end_tag(parser);
}

static bool is_word(const rmsnorm_word *word, const char *text, size_t length)
{
    return word->length == length && memcmp(word->text, text, length) == 0;
}

/* name or name = value; refuses a name that is there already. */
static rmsnorm_status parse_parameter(rmsnorm_parser *parser, bool *named, rmsnorm_buffer *parameters)
{
    rmsnorm_parameter parameter = {0};
    const size_t at = parser->token.at, count = parameters->length / sizeof parameter;
    RMSNORM_TRY(rmsnorm_parser_name(parser, "the name of a parameter", &parameter.name.text, &parameter.name.length));
    if (parser->token.kind == TOKEN_ASSIGN) {
        *named = true;
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(rmsnorm_parser_expression(parser, false, &parameter.fallback));
    } else if (*named) {
        return rmsnorm_unit_fail(parser->unit, at, RMSNORM_MALFORMED, "a parameter without a value behind one with it");
    }
    const rmsnorm_parameter *const known = (const rmsnorm_parameter *)(const void *)parameters->text;
    for (size_t i = 0; i < count; i++) {
        if (is_word(&parameter.name, known[i].name.text, known[i].name.length)) {
            return rmsnorm_unit_fail(parser->unit, at, RMSNORM_MALFORMED, "a second parameter of this name");
        }
    }
    return rmsnorm_buffer_add(parameters, (const char *)&parameter, sizeof parameter) ? RMSNORM_OK
                                                                                      : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status parse_macro(rmsnorm_parser *parser, rmsnorm_statement *statement)
{
    static const char *const ends[] = {"endmacro", NULL};
    rmsnorm_macro *const macro = &statement->as.macro;
    rmsnorm_buffer parameters = {.arena = parser->arena, .limit = SIZE_MAX};
    const bool outer = parser->macro;
    bool named = false;
    statement->kind = STATEMENT_MACRO;
    macro->unit = parser->unit;
    parser->macro = true;
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    RMSNORM_TRY(rmsnorm_parser_name(parser, "the name of a macro", &macro->name.text, &macro->name.length));
    RMSNORM_TRY(rmsnorm_parser_expect(parser, TOKEN_PARENTHESIS, "("));
    while (parser->token.kind != TOKEN_PARENTHESIS_END) {
        RMSNORM_TRY(parse_parameter(parser, &named, &parameters));
        if (parser->token.kind == TOKEN_COMMA) {
            RMSNORM_TRY(rmsnorm_parser_next(parser));
        } else if (parser->token.kind != TOKEN_PARENTHESIS_END) {
            return malformed(parser, ", or )");
        }
    }
    macro->parameters = (const rmsnorm_parameter *)(const void *)parameters.text;
    macro->count = parameters.length / sizeof(rmsnorm_parameter);
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    RMSNORM_TRY(parse_block(parser, ends, &macro->body));
    parser->macro = outer;
    return end_tag(parser);
}

static rmsnorm_status parse_include(rmsnorm_parser *parser, rmsnorm_statement *statement)
{
    statement->kind = STATEMENT_INCLUDE;
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    RMSNORM_TRY(rmsnorm_parser_expression(parser, false, &statement->value));
    return close_tag(parser);
}

static rmsnorm_status parse_raw(rmsnorm_parser *parser, rmsnorm_statement *statement)
{
    RMSNORM_TRY(rmsnorm_parser_next(parser));
    if (parser->token.kind != TOKEN_CLOSE_STATEMENT) {
        return malformed(parser, "%}");
    }
    RMSNORM_TRY(rmsnorm_lexer_raw(&parser->lexer, &parser->token));
    statement->kind = STATEMENT_TEXT;
    statement->as.text = (rmsnorm_word){parser->token.text, parser->token.length};
    return rmsnorm_parser_next(parser);
}

static rmsnorm_status parse_tag(rmsnorm_parser *parser, rmsnorm_statement *statement)
{
    static const struct {
        const char *name;
        rmsnorm_status (*parse)(rmsnorm_parser *parser, rmsnorm_statement *statement);
    } tags[] = {{"if", parse_if},       {"for", parse_for},         {"set", parse_set},
                {"macro", parse_macro}, {"include", parse_include}, {"raw", parse_raw}};
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (rmsnorm_parser_is_name(parser, tags[i].name)) {
            return tags[i].parse(parser, statement);
        }
    }
    if (parser->token.kind != TOKEN_NAME) {
        return malformed(parser, "the name of a tag");
    }
    return rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_UNSUPPORTED,
                             "the tag '%.*s' is not supported, or does not belong here",
                             parser->token.length < 60 ? (int)parser->token.length : 60, parser->token.text);
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

/* One text, {{ }} or tag; *ended when it was one of the tags that end the body, whose name is the next token then. */
static rmsnorm_status parse_statement(rmsnorm_parser *parser, const char *const *ends, bool *ended,
                                      rmsnorm_statement *statement)
{
    statement->at = parser->token.at;
    if (parser->token.kind == TOKEN_TEXT) {
        statement->kind = STATEMENT_TEXT;
        statement->as.text = (rmsnorm_word){parser->token.text, parser->token.length};
        return rmsnorm_parser_next(parser);
    }
    if (parser->token.kind == TOKEN_OPEN_EXPRESSION) {
        statement->kind = STATEMENT_PRINT;
        RMSNORM_TRY(rmsnorm_parser_next(parser));
        RMSNORM_TRY(rmsnorm_parser_expression(parser, false, &statement->value));
        return rmsnorm_parser_expect(parser, TOKEN_CLOSE_EXPRESSION, "}}");
    }
    RMSNORM_TRY(rmsnorm_parser_expect(parser, TOKEN_OPEN_STATEMENT, "text or a tag"));
    statement->at = parser->token.at;
    for (size_t i = 0; ends[i] != NULL; i++) {
        *ended = *ended || rmsnorm_parser_is_name(parser, ends[i]);
    }
    return *ended ? RMSNORM_OK : parse_tag(parser, statement);
}

static rmsnorm_status parse_body(rmsnorm_parser *parser, const char *const *ends, const rmsnorm_statement **body)
{
    rmsnorm_statement *last = NULL;
    *body = NULL;
    while (parser->token.kind != TOKEN_END) {
        bool ended = false;
        rmsnorm_statement *const statement = rmsnorm_arena_allocate(parser->arena, sizeof *statement);
        if (statement == NULL) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        RMSNORM_TRY(parse_statement(parser, ends, &ended, statement));
        if (ended) {
            return RMSNORM_OK;
        }
        if (last == NULL) {
            *body = statement;
        } else {
            last->next = statement;
        }
        last = statement;
    }
    return ends[0] == NULL
               ? RMSNORM_OK
               : rmsnorm_unit_fail(parser->unit, parser->token.at, RMSNORM_MALFORMED, "expected {%% %s %%}", ends[0]);
}

rmsnorm_status rmsnorm_template_parse(rmsnorm_arena *arena, const rmsnorm_text_source *source,
                                      const rmsnorm_template **parsed)
{
    static const char *const none[] = {NULL};
    rmsnorm_unit *unit;
    RMSNORM_TRY(rmsnorm_unit_read(arena, source, &unit));
    RMSNORM_TRY(rmsnorm_unit_trim(arena, unit));
    rmsnorm_template *const made = rmsnorm_arena_allocate(arena, sizeof *made);
    if (made == NULL) {
        return RMSNORM_OUT_OF_MEMORY;
    }
    rmsnorm_parser parser = {.arena = arena, .unit = unit, .lexer = {.arena = arena, .unit = unit, .tags = true}};
    made->unit = unit;
    RMSNORM_TRY(rmsnorm_parser_next(&parser));
    RMSNORM_TRY(parse_body(&parser, none, &made->body));
    *parsed = made;
    return RMSNORM_OK;
}
