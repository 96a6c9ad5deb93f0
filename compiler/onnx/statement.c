#include "statement.h"

#include <string.h>

void page_add(struct page *page, const char *text)
{
    for (; *text; text++)
        VEC_PUSH(page->arena, &page->text, *text);
}

void page_line(struct page *page, const char *line)
{
    page_add(page, line);
    page_add(page, "\n");
}

/* A part of a string of the language. */
static const char *escaped(struct arena *arena, const char *text, size_t length)
{
    char *quoted = arena_array(arena, 2 * length + 1, 1), *end = quoted;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '{' || text[i] == '}')
            *end++ = text[i];
        else if (text[i] == '"' || text[i] == '\\')
            *end++ = '\\';
        *end++ = text[i];
    }
    return quoted;
}

static const char *string_text(struct arena *arena, const struct token *token, const char *number)
{
    const char *text = token->text, *tail = text + token->end;
    if (token->begin == token->end)
        return arena_format(arena, "\"%s\"", escaped(arena, text, strlen(text)));
    return arena_format(arena, "\"%s{%s}%s\"", escaped(arena, text, token->begin), number,
                        escaped(arena, tail, strlen(tail)));
}

static const char *token_text(struct arena *arena, const struct token *token, const char *number)
{
    switch (token->kind) {
    case TOKEN_VALUE:
        return token->value->name;
    case TOKEN_STRING:
        return string_text(arena, token, number);
    case TOKEN_TEXT:
        break;
    }
    return token->text;
}

const char *statement_text(struct arena *arena, const struct statement *statement, const char *number)
{
    struct page page = {.arena = arena};
    for (size_t i = 0; i < statement->tokens.count; i++)
        page_add(&page, token_text(arena, &statement->tokens.at[i], number));
    VEC_PUSH(arena, &page.text, '\0');
    return page.text.at;
}
