#include "lexemes.h"

#include <assert.h>
#include <string.h>

#include "parse.h"

#include "lex.h"
#include "utf8.h"

int lexeme_columns(const char *text, size_t length)
{
    int columns = 0;
    uint32_t character;
    for (size_t at = 0, used; at < length; at += used) {
        used = utf8_decode(text + at, length - at, &character);
        int cells = used ? utf8_cells(character) : -1;
        columns += cells < 0 ? 1 : cells;
        used += !used;
    }
    return columns;
}

/* ---- Reading ---- */

static int column_of(const struct source *source, size_t offset)
{
    size_t begin = offset;
    while (begin && source->text[begin - 1] != '\n')
        begin--;
    return lexeme_columns(source->text + begin, offset - begin);
}

/* The comment that begins at `begin`; returns the end of its line. */
static size_t add_comment(struct arena *arena, struct lexemes *lexemes, const struct source *source, size_t begin,
                          int line_ends)
{
    const char *text = source->text + begin, *newline = memchr(text, '\n', source->length - begin);
    size_t end = newline ? (size_t)(newline - source->text) : source->length, length = end - begin;
    while (strchr(" \t\r\f\v", text[length - 1]))
        length--;
    struct lexeme comment = {.kind = LEXEME_COMMENT, .text = text, .length = length, .line_ends = line_ends,
                             .column = column_of(source, begin)};
    VEC_PUSH(arena, &lexemes->list, comment);
    return end;
}

/* Between two tokens there are blanks and comments. Returns the line ends behind the last comment. */
static int add_comments(struct arena *arena, struct lexemes *lexemes, const struct source *source, size_t begin,
                        size_t end)
{
    int line_ends = 0;
    while (begin < end) {
        if (source->text[begin] == '#') {
            begin = add_comment(arena, lexemes, source, begin, line_ends);
            line_ends = 0;
        } else {
            line_ends += source->text[begin++] == '\n' && line_ends < 2;
        }
    }
    return line_ends;
}

static struct lexemes scan(struct arena *arena, struct diags *diags, const struct source *source)
{
    struct lexemes lexemes = {0};
    struct parser parser = {.arena = arena, .diags = diags, .spec = ARENA_NEW(arena, struct spec)};
    parser.spec->source = source;
    yyscan_t scanner;
    if (!parser_scanner(&parser, source, &scanner))
        return lexemes;
    size_t end = parser.position;
    YYSTYPE value;
    struct span span = {0, 0};
    for (int kind; (kind = lex_token(&value, &span, scanner)) != TOKEN_END; end = span.end) {
        int line_ends = add_comments(arena, &lexemes, source, end, span.begin);
        struct lexeme token = {.kind = kind, .text = source->text + span.begin, .length = span.end - span.begin,
                               .line_ends = line_ends};
        VEC_PUSH(arena, &lexemes.list, token);
    }
    add_comments(arena, &lexemes, source, end, source->length);
    yylex_destroy(scanner);
    return lexemes;
}

/* ---- What stands around each ---- */

static bool ends_operand(int kind)
{
    return kind == TOKEN_NAME || kind == TOKEN_NUMBER || kind == TOKEN_STRING || kind == TOKEN_CLOSE_PAREN ||
           kind == TOKEN_CLOSE_BRACKET;
}

/* What is known while going through the tokens. */
struct context {
    VEC(int) open;                  /* parentheses and brackets around the token */
    const struct lexeme *before;    /* the token before, or NULL */
    bool is_sign;                   /* that token is one */
};

static int innermost(const struct context *context)
{
    return context->open.count ? context->open.at[context->open.count - 1] : 0;
}

/* "2." and ".." must not become "2..." */
static bool ends_in_point(const struct lexeme *lexeme)
{
    return lexeme->kind == TOKEN_NUMBER && lexeme->text[lexeme->length - 1] == '.';
}

static bool has_space(const struct context *context, const struct lexeme *token)
{
    const struct lexeme *before = context->before;
    if (!before || context->is_sign)
        return false;
    switch (token->kind) {
    case TOKEN_COMMA: case TOKEN_SEMICOLON: case TOKEN_COLON: case TOKEN_OPEN_BRACKET:
    case TOKEN_CLOSE_PAREN: case TOKEN_CLOSE_BRACKET:
        return false;
    case TOKEN_OPEN_PAREN:
        if (before->kind == TOKEN_NAME)
            return false;
        break;
    case TOKEN_DOTS:
        return ends_in_point(before);
    case TOKEN_EQUALS:
        return innermost(context) != TOKEN_OPEN_PAREN;
    default:
        break;
    }
    switch (before->kind) {
    case TOKEN_OPEN_PAREN: case TOKEN_OPEN_BRACKET:
        return false;
    case TOKEN_COLON:
        return innermost(context) != TOKEN_OPEN_BRACKET;
    case TOKEN_EQUALS:
        return innermost(context) != TOKEN_OPEN_PAREN;
    case TOKEN_DOTS:
        return before->space;
    default:
        return true;
    }
}

/* Behind commas rather than before operators, between terms rather than factors, outside rather than inside. */
static int rank_of(const struct context *context, const struct lexeme *token, bool is_sign)
{
    enum { COMMA, SUM, PRODUCT, RANKS };
    int outside = RANKS * (int)context->open.count;
    if (context->before && context->before->kind == TOKEN_COMMA)
        return outside + COMMA;
    if (token->kind == TOKEN_TIMES || token->kind == TOKEN_OVER)
        return outside + PRODUCT;
    return (token->kind == TOKEN_PLUS || token->kind == TOKEN_MINUS) && !is_sign ? outside + SUM : NO_BREAK;
}

static void describe(struct arena *arena, struct context *context, struct lexeme *token)
{
    bool opens = token->kind == TOKEN_OPEN_PAREN || token->kind == TOKEN_OPEN_BRACKET;
    bool closes = token->kind == TOKEN_CLOSE_PAREN || token->kind == TOKEN_CLOSE_BRACKET;
    bool is_sign = token->kind == TOKEN_MINUS && !(context->before && ends_operand(context->before->kind));
    token->space = has_space(context, token);
    token->rank = rank_of(context, token, is_sign);
    if (closes)
        context->open.count--;
    token->depth = (int)context->open.count;
    if (opens)
        VEC_PUSH(arena, &context->open, token->kind);
    context->before = token;
    context->is_sign = is_sign;
}

struct lexemes read_lexemes(struct arena *arena, struct diags *diags, const struct source *source)
{
    struct lexemes lexemes = scan(arena, diags, source);
    struct context context = {.before = NULL};
    for (size_t i = 0; i < lexemes.list.count; i++) {
        struct lexeme *lexeme = &lexemes.list.at[i];
        if (lexeme->kind == LEXEME_COMMENT)
            lexeme->depth = (int)context.open.count;
        else
            describe(arena, &context, lexeme);
    }
    assert(!context.open.count && diags_status(diags) == EXIT_DONE);
    return lexemes;
}
