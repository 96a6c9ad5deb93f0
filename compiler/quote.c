#include "quote.h"

#include <stdbool.h>
#include <string.h>

#include "utf8.h"

enum { LONGEST = 120, HEAD = 60, TAIL = 40 };   /* bytes */
enum { LISTED_MAX = 4 };

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

const char *quote(struct arena *arena, const char *text)
{
    return arena_format(arena, "'%s'", utf8_printable(arena, shorten(arena, text)));
}

const char *quote_list(struct arena *arena, const char *const *names, size_t count)
{
    const size_t listed = count < LISTED_MAX ? count : LISTED_MAX;
    const char *list = quote(arena, names[0]);
    for (size_t i = 1; i < listed; i++)
        list = arena_format(arena, "%s%s%s", list, i + 1 < count ? ", " : " and ", quote(arena, names[i]));
    return listed < count ? arena_format(arena, "%s and %zu more", list, count - listed) : list;
}
