#include <stdarg.h>
#include <stdlib.h>

#include "network.h"

struct piece {
    struct piece *older;
    _Alignas(16) char bytes[];
};

static struct piece *newest;

void *pool_take(size_t size)
{
    struct piece *piece = calloc(1, sizeof *piece + size);
    if (!piece)
        abort();
    piece->older = newest;
    newest = piece;
    return piece->bytes;
}

char *pool_text(const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = pool_take((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    va_end(arguments);
    return text;
}

void pool_free(void)
{
    while (newest) {
        struct piece *older = newest->older;
        free(newest);
        newest = older;
    }
}
