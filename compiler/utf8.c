/* Decoding checks the shortest form through the smallest number that each length may hold. */
#include "utf8.h"

#include <stdlib.h>
#include <string.h>

static const struct {
    unsigned char mask, lead;       /* the first byte */
    uint32_t smallest;
} forms[] = {
    {0x80, 0x00, 0x0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000},
};

size_t utf8_decode(const char *text, size_t length, uint32_t *character)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t tail = 0; tail < 4 && tail < length; tail++) {
        if ((bytes[0] & forms[tail].mask) != forms[tail].lead)
            continue;
        uint32_t value = bytes[0] & (unsigned char)~forms[tail].mask;
        for (size_t i = 1; i <= tail; i++) {
            if ((bytes[i] & 0xc0) != 0x80)
                return 0;
            value = value << 6 | (bytes[i] & 0x3f);
        }
        if (value < forms[tail].smallest || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
            return 0;
        *character = value;
        return tail + 1;
    }
    return 0;
}

/* Ascending; what is not listed takes one cell. */
static const struct {
    uint32_t first, last;
    int cells;
} ranges[] = {
    {0x0, 0x1f, -1},        {0x7f, 0x9f, -1},       {0x300, 0x36f, 0},      {0x61c, 0x61c, -1},
    {0x1100, 0x115f, 2},    {0x1ab0, 0x1aff, 0},    {0x200b, 0x200f, -1},   {0x2028, 0x202e, -1},
    {0x2060, 0x206f, -1},   {0x20d0, 0x20ff, 0},    {0x2e80, 0x303e, 2},    {0x3041, 0xa4cf, 2},
    {0xac00, 0xd7a3, 2},    {0xf900, 0xfaff, 2},    {0xfe00, 0xfe0f, 0},    {0xfe30, 0xfe6f, 2},
    {0xfeff, 0xfeff, -1},   {0xff00, 0xff60, 2},    {0xffe0, 0xffe6, 2},    {0xfff9, 0xfffb, -1},
    {0xfffe, 0xffff, -1},   {0x1f300, 0x1faff, 2},  {0x20000, 0x3fffd, 2},  {0xe0000, 0xe0fff, -1},
};

int utf8_cells(uint32_t character)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && ranges[i].first <= character; i++) {
        if (character <= ranges[i].last)
            return ranges[i].cells;
    }
    return 1;
}

size_t utf8_cut(const char *text, size_t length)
{
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

size_t utf8_spell(const char *text, size_t left, char to[UTF8_SPELT + 1], size_t *used)
{
    uint32_t character;
    size_t length = utf8_decode(text, left, &character);
    *used = length ? length : 1;
    if (length && utf8_cells(character) >= 0) {
        memcpy(to, text, length);
        return length;
    }
    if (*text == '\n' || *text == '\t')
        return (size_t)sprintf(to, "\\%c", *text == '\n' ? 'n' : 't');
    for (size_t i = 0; i < *used; i++)
        sprintf(to + 4 * i, "\\x%02x", (unsigned char)text[i]);
    return 4 * *used;
}

void utf8_print(FILE *to, const char *text)
{
    char spelt[UTF8_SPELT + 1];
    for (size_t left = strlen(text), used; left; text += used, left -= used)
        fwrite(spelt, 1, utf8_spell(text, left, spelt, &used), to);
}

const char *utf8_printable(struct arena *arena, const char *text)
{
    char *out = arena_array(arena, 4 * strlen(text) + 1, 1), *to = out, spelt[UTF8_SPELT + 1];
    for (size_t left = strlen(text), used; left; text += used, left -= used) {
        size_t length = utf8_spell(text, left, spelt, &used);
        memcpy(to, spelt, length);
        to += length;
    }
    return out;
}

void utf8_print_list(FILE *to, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const size_t size = (size_t)vsnprintf(NULL, 0, format, args) + 1;
    char *text = sure_malloc(size);
    vsnprintf(text, size, format, again);
    va_end(again);
    utf8_print(to, text);
    free(text);
}

void utf8_print_line(FILE *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    utf8_print_list(to, format, args);
    va_end(args);
    fputc('\n', to);
}
