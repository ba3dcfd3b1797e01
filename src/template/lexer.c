#include <string.h>

#include "template/syntax.h"

static const struct {
    char text[3];
    rmsnorm_token_kind kind;
} signs[] = {
    {"{%", TOKEN_OPEN_STATEMENT},
    {"%}", TOKEN_CLOSE_STATEMENT},
    {"{{", TOKEN_OPEN_EXPRESSION},
    {"}}", TOKEN_CLOSE_EXPRESSION},
    {"(", TOKEN_PARENTHESIS},
    {")", TOKEN_PARENTHESIS_END},
    {"{", TOKEN_BRACE},
    {"}", TOKEN_BRACE_END},
    {"[", TOKEN_BRACKET},
    {"]", TOKEN_BRACKET_END},
    {",", TOKEN_COMMA},
    {".", TOKEN_DOT},
    {":", TOKEN_COLON},
    {"|", TOKEN_PIPE},
    {"<=", TOKEN_LESS_EQUAL},
    {">=", TOKEN_GREATER_EQUAL},
    {"==", TOKEN_EQUAL},
    {"!=", TOKEN_NOT_EQUAL},
    {"<", TOKEN_LESS},
    {">", TOKEN_GREATER},
    {"+", TOKEN_PLUS},
    {"-", TOKEN_MINUS},
    {"~", TOKEN_TILDE},
    {"**", TOKEN_POWER}, /* before the shorter ones */
    {"*", TOKEN_TIMES},
    {"//", TOKEN_FLOOR_DIVIDE},
    {"/", TOKEN_DIVIDE},
    {"%", TOKEN_MODULO},
    {"=", TOKEN_ASSIGN},
};

static bool starts(const rmsnorm_lexer *lexer, const char *with)
{
    const size_t bytes = strlen(with);
    return lexer->unit->length - lexer->at >= bytes && memcmp(lexer->unit->text + lexer->at, with, bytes) == 0;
}

static void skip_space(rmsnorm_lexer *lexer)
{
    size_t bytes;
    while ((bytes = rmsnorm_space_first(lexer->unit->text + lexer->at, lexer->unit->length - lexer->at)) > 0) {
        lexer->at += bytes;
    }
}

static bool is_word(char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_';
}

static bool is_digit(const rmsnorm_lexer *lexer, size_t at)
{
    return at < lexer->unit->length && lexer->unit->text[at] >= '0' && lexer->unit->text[at] <= '9';
}

/* ---- Texts and comments ---------------------------------------------------------------------- */

static bool at_tag(const rmsnorm_lexer *lexer)
{
    return starts(lexer, "{%") || starts(lexer, "{{") || starts(lexer, "{#");
}

/* Text up to the next tag; nothing where a tag begins at once. A - in that tag takes the white space at the text's end. */
static bool read_text(rmsnorm_lexer *lexer, rmsnorm_token *token)
{
    token->at = lexer->at;
    while (lexer->at < lexer->unit->length && !at_tag(lexer)) {
        lexer->at++;
    }
    token->text = lexer->unit->text + token->at;
    token->length = lexer->at - token->at;
    if (token->length == 0) {
        return false;
    }
    if (lexer->unit->length - lexer->at > 2 && lexer->unit->text[lexer->at + 2] == '-') {
        rmsnorm_space_strip(&token->text, &token->length, false, true);
    }
    token->kind = lexer->last = TOKEN_TEXT;
    token->end = lexer->at;
    return true;
}

static rmsnorm_status skip_comment(rmsnorm_lexer *lexer)
{
    const size_t start = lexer->at;
    lexer->at += 2;
    if (starts(lexer, "-")) {
        lexer->at++;
    }
    const size_t first = lexer->at;
    while (!starts(lexer, "#}")) {
        if (lexer->at >= lexer->unit->length) {
            return rmsnorm_unit_fail(lexer->unit, start, RMSNORM_MALFORMED, "this comment has no end");
        }
        lexer->at++;
    }
    const bool strip = lexer->at > first && lexer->unit->text[lexer->at - 1] == '-';
    lexer->at += 2;
    lexer->last = TOKEN_COMMENT;
    if (strip) {
        skip_space(lexer);
    }
    return RMSNORM_OK;
}

/* {% NAME %} with its signs at this place; where it ends, and whether it begins or ends with -. */
static bool is_plain_tag(const rmsnorm_lexer *lexer, const char *name, size_t *end, bool *before, bool *behind)
{
    rmsnorm_lexer reader = *lexer;
    if (!starts(&reader, "{%")) {
        return false;
    }
    reader.at += 2;
    *before = starts(&reader, "-");
    reader.at += *before;
    skip_space(&reader);
    if (!starts(&reader, name)) {
        return false;
    }
    reader.at += strlen(name);
    skip_space(&reader);
    *behind = starts(&reader, "-");
    reader.at += *behind;
    *end = reader.at + 2;
    return starts(&reader, "%}");
}

rmsnorm_status rmsnorm_lexer_raw(rmsnorm_lexer *lexer, rmsnorm_token *token)
{
    *token = (rmsnorm_token){.kind = TOKEN_TEXT, .at = lexer->at, .text = lexer->unit->text + lexer->at};
    size_t end = 0;
    bool before = false, behind = false;
    while (!is_plain_tag(lexer, "endraw", &end, &before, &behind)) {
        if (lexer->at >= lexer->unit->length) {
            return rmsnorm_unit_fail(lexer->unit, token->at, RMSNORM_MALFORMED, "raw has no endraw");
        }
        lexer->at++;
    }
    token->length = lexer->at - token->at;
    token->end = lexer->at;
    if (before) {
        rmsnorm_space_strip(&token->text, &token->length, false, true);
    }
    lexer->at = end;
    lexer->last = TOKEN_CLOSE_STATEMENT;
    if (behind) {
        skip_space(lexer);
    }
    return RMSNORM_OK;
}

/* ---- Strings and numbers --------------------------------------------------------------------- */

static bool read_hexadecimal(const rmsnorm_lexer *lexer, size_t at, size_t digits, uint32_t *character)
{
    *character = 0;
    for (size_t i = at; i < at + digits; i++) {
        const char digit = i < lexer->unit->length ? lexer->unit->text[i] : ' ';
        if (digit >= '0' && digit <= '9') {
            *character = *character * 16 + (uint32_t)(digit - '0');
        } else if ((digit | 0x20) >= 'a' && (digit | 0x20) <= 'f') {
            *character = *character * 16 + (uint32_t)((digit | 0x20) - 'a') + 10;
        } else {
            return false;
        }
    }
    return true;
}

/* What stands behind a backslash. */
static rmsnorm_status read_escape(rmsnorm_lexer *lexer, rmsnorm_buffer *buffer)
{
    static const char from[] = "ntrbfv'\"\\", to[] = "\n\t\r\b\f\v'\"\\";
    const size_t start = lexer->at++;
    const char escape = lexer->at < lexer->unit->length ? lexer->unit->text[lexer->at] : '\0';
    const char *const known = escape == '\0' ? NULL : strchr(from, escape);
    char bytes[4];
    size_t length = 1;
    if (known != NULL) {
        bytes[0] = to[known - from];
        lexer->at++;
    } else if (escape == 'x' || escape == 'u') {
        const size_t digits = escape == 'x' ? 2 : 4;
        uint32_t character;
        if (!read_hexadecimal(lexer, lexer->at + 1, digits, &character)) {
            return rmsnorm_unit_fail(lexer->unit, start, RMSNORM_MALFORMED, "\\%c takes %zu hexadecimal digits", escape,
                                     digits);
        }
        if (character >= 0xD800 && character < 0xE000) {
            return rmsnorm_unit_fail(lexer->unit, start, RMSNORM_UNSUPPORTED, "half of a character is not supported");
        }
        length = rmsnorm_utf8_write(character, bytes);
        lexer->at += 1 + digits;
    } else {
        return rmsnorm_unit_fail(lexer->unit, start, RMSNORM_MALFORMED, "there is no such escape");
    }
    return rmsnorm_buffer_add(buffer, bytes, length) ? RMSNORM_OK : RMSNORM_OUT_OF_MEMORY;
}

static rmsnorm_status read_string(rmsnorm_lexer *lexer, rmsnorm_token *token)
{
    const rmsnorm_unit *const unit = lexer->unit;
    const char quote = unit->text[lexer->at++];
    rmsnorm_buffer buffer = {.arena = lexer->arena, .limit = SIZE_MAX};
    size_t from = lexer->at; /* what is not yet in the buffer */
    bool escaped = false;
    while (lexer->at < unit->length && unit->text[lexer->at] != quote) {
        if (unit->text[lexer->at] != '\\') {
            lexer->at++;
            continue;
        }
        escaped = true;
        if (!rmsnorm_buffer_add(&buffer, unit->text + from, lexer->at - from)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        RMSNORM_TRY(read_escape(lexer, &buffer));
        from = lexer->at;
    }
    if (lexer->at >= unit->length) {
        return rmsnorm_unit_fail(unit, token->at, RMSNORM_MALFORMED, "this string has no end");
    }
    token->kind = TOKEN_STRING;
    token->text = unit->text + from;
    token->length = lexer->at - from;
    if (escaped) {
        if (!rmsnorm_buffer_add(&buffer, unit->text + from, lexer->at - from)) {
            return RMSNORM_OUT_OF_MEMORY;
        }
        token->text = buffer.text;
        token->length = buffer.length;
    }
    lexer->at++;
    return RMSNORM_OK;
}

/* Digits after an optional sign; a fraction where one may be. */
static rmsnorm_status read_number(rmsnorm_lexer *lexer, bool fraction, rmsnorm_token *token)
{
    const char *const text = lexer->unit->text + lexer->at;
    size_t length = 1, used;
    while (is_digit(lexer, lexer->at + length)) {
        length++;
    }
    fraction = fraction && text[length] == '.' && is_digit(lexer, lexer->at + length + 1); /* a terminator is there */
    bool readable;
    if (fraction) {
        length += 2;
        while (is_digit(lexer, lexer->at + length)) {
            length++;
        }
        double number;
        token->kind = TOKEN_FLOAT;
        readable = rmsnorm_number_read(text, length, &number, &used);
        token->number = rmsnorm_any_float(number);
    } else {
        int64_t number;
        token->kind = TOKEN_INTEGER;
        readable = rmsnorm_integer_read(text, length, &number, &used);
        token->number = rmsnorm_any_integer(number);
        token->number.minus_zero = number == 0 && text[0] == '-';
    }
    if (!readable) {
        return rmsnorm_unit_fail(lexer->unit, token->at, RMSNORM_UNSUPPORTED,
                                 "the number is too large or has too many digits");
    }
    lexer->at += length;
    return RMSNORM_OK;
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

static bool ends_operand(rmsnorm_token_kind kind)
{
    return kind == TOKEN_NAME || kind == TOKEN_INTEGER || kind == TOKEN_FLOAT || kind == TOKEN_STRING ||
           kind == TOKEN_PARENTHESIS_END || kind == TOKEN_BRACKET_END;
}

static rmsnorm_status read_sign(rmsnorm_lexer *lexer, rmsnorm_token *token)
{
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        if (!starts(lexer, signs[i].text) || (signs[i].kind == TOKEN_CLOSE_EXPRESSION && lexer->braces > 0)) {
            continue;
        }
        token->kind = signs[i].kind;
        lexer->at += strlen(signs[i].text);
        if (token->kind == TOKEN_OPEN_EXPRESSION || token->kind == TOKEN_OPEN_STATEMENT) {
            lexer->braces = 0;
        } else if (token->kind == TOKEN_BRACE) {
            lexer->braces++;
        } else if (token->kind == TOKEN_BRACE_END && lexer->braces > 0) {
            lexer->braces--;
        }
        return RMSNORM_OK;
    }
    return rmsnorm_unit_fail(lexer->unit, lexer->at, RMSNORM_MALFORMED, "this character has no meaning here");
}

static rmsnorm_status read_inside(rmsnorm_lexer *lexer, rmsnorm_token *token)
{
    const char byte = lexer->unit->text[lexer->at];
    if (starts(lexer, "{#")) {
        return rmsnorm_unit_fail(lexer->unit, lexer->at, RMSNORM_MALFORMED, "a comment cannot stand inside of a tag");
    }
    if (starts(lexer, "-%}") || starts(lexer, "-}}")) {
        token->kind = starts(lexer, "-%}") ? TOKEN_CLOSE_STATEMENT : TOKEN_CLOSE_EXPRESSION;
        lexer->at += 3;
        skip_space(lexer);
        return RMSNORM_OK;
    }
    if ((byte == '+' || byte == '-') && !ends_operand(lexer->last)) {
        if (is_digit(lexer, lexer->at + 1)) {
            return read_number(lexer, true, token);
        }
        token->kind = byte == '+' ? TOKEN_SIGN_PLUS : TOKEN_SIGN_MINUS;
        lexer->at++;
        return RMSNORM_OK;
    }
    if (byte == '\'' || byte == '"') {
        return read_string(lexer, token);
    }
    if (is_digit(lexer, lexer->at)) {
        return read_number(lexer, lexer->last != TOKEN_DOT, token);
    }
    if (is_word(byte)) {
        token->kind = TOKEN_NAME;
        token->text = lexer->unit->text + lexer->at;
        while (lexer->at < lexer->unit->length && is_word(lexer->unit->text[lexer->at])) {
            lexer->at++;
        }
        token->length = lexer->at - token->at;
        return RMSNORM_OK;
    }
    return read_sign(lexer, token);
}

static bool between_tags(const rmsnorm_lexer *lexer)
{
    return lexer->tags && (lexer->last == TOKEN_START || lexer->last == TOKEN_CLOSE_STATEMENT ||
                           lexer->last == TOKEN_CLOSE_EXPRESSION || lexer->last == TOKEN_COMMENT);
}

rmsnorm_status rmsnorm_lexer_next(rmsnorm_lexer *lexer, rmsnorm_token *token)
{
    *token = (rmsnorm_token){.kind = TOKEN_END, .at = lexer->at};
    bool between = between_tags(lexer);
    while (between || (lexer->tags && lexer->last == TOKEN_TEXT)) {
        if (between && read_text(lexer, token)) {
            return RMSNORM_OK;
        }
        if (!starts(lexer, "{#")) {
            between = true;
            break;
        }
        RMSNORM_TRY(skip_comment(lexer));
        between = true;
    }
    if (between && lexer->at < lexer->unit->length) { /* a tag begins */
        token->at = lexer->at;
        RMSNORM_TRY(read_sign(lexer, token));
        lexer->at += starts(lexer, "-");
        token->end = lexer->at;
        lexer->last = token->kind;
        return RMSNORM_OK;
    }
    skip_space(lexer);
    token->at = token->end = lexer->at;
    if (lexer->at < lexer->unit->length) {
        RMSNORM_TRY(read_inside(lexer, token));
        token->end = lexer->at;
    }
    lexer->last = token->kind;
    return RMSNORM_OK;
}
