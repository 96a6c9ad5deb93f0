#include "quote.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST = 120, HEAD = 60, TAIL = 40 };   /* bytes */

static bool inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;    /* a later byte of a UTF-8 sequence */
}

static const char *shorten(struct arena *arena, const char *text)
{
    size_t length = strlen(text), head = HEAD, tail = length - TAIL;
    if (length <= LONGEST)
        return text;
    while (head && inside_character(text[head]))
        head--;
    while (inside_character(text[tail]))
        tail++;
    return arena_format(arena, "%.*s...%s", (int)head, text, text + tail);
}

static bool is_control(char byte)
{
    return (unsigned char)byte < 0x20 || byte == 0x7f;
}

const char *quote(struct arena *arena, const char *text)
{
    text = shorten(arena, text);
    char *quoted = arena_array(arena, 4 * strlen(text) + 3, 1), *end = quoted;
    *end++ = '\'';
    for (; *text; text++) {
        if (*text == '\n' || *text == '\t')
            end += sprintf(end, "\\%c", *text == '\n' ? 'n' : 't');
        else if (is_control(*text))
            end += sprintf(end, "\\x%02x", (unsigned char)*text);
        else
            *end++ = *text;
    }
    *end = '\'';
    return quoted;
}
