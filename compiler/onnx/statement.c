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

/* A string of the language, in its quotes. */
static const char *string_text(struct arena *arena, const char *text)
{
    char *quoted = arena_array(arena, 2 * strlen(text) + 3, 1), *end = quoted;
    *end++ = '"';
    for (; *text; text++) {
        if (*text == '{' || *text == '}')
            *end++ = *text;
        else if (*text == '"' || *text == '\\')
            *end++ = '\\';
        *end++ = *text;
    }
    *end = '"';
    return quoted;
}

static const char *token_text(struct arena *arena, const struct token *token)
{
    switch (token->kind) {
    case TOKEN_VALUE:
        return token->value->name;
    case TOKEN_STRING:
        return string_text(arena, token->text);
    case TOKEN_TEXT:
        break;
    }
    return token->text;
}

const char *statement_text(struct arena *arena, const struct statement *statement)
{
    struct page page = {.arena = arena};
    for (size_t i = 0; i < statement->tokens.count; i++)
        page_add(&page, token_text(arena, &statement->tokens.at[i]));
    VEC_PUSH(arena, &page.text, '\0');
    return page.text.at;
}
