#include "name.h"

#include <ctype.h>
#include <string.h>

#include "../output.h"

static const char *const reserved[] = {"model", "input", "output", "batch", "dtype", "weights", "const", "block",
                                       "return", "repeat", "in", "true", "false"};
enum { RESERVED = sizeof reserved / sizeof *reserved };

struct names *name_set(struct arena *arena)
{
    struct names *names = names_new(arena);
    for (size_t i = 0; i < RESERVED; i++)
        names_make(names, reserved[i]);
    names_make(names, "_");
    return names;
}

bool name_is_reserved(const char *name)
{
    for (size_t i = 0; i < RESERVED; i++) {
        if (!strcmp(name, reserved[i]))
            return true;
    }
    return false;
}

/* Letters, digits and single underscores; NULL where nothing is left. */
static const char *identifier(struct arena *arena, const char *text, size_t length)
{
    char *name = arena_array(arena, length + 2, 1), *end = name;
    for (size_t i = 0; i < length; i++) {
        bool letter = (unsigned char)text[i] < 0x80 && isalnum((unsigned char)text[i]);
        if (letter)
            *end++ = text[i];
        else if (end > name && end[-1] != '_')
            *end++ = '_';
    }
    while (end > name && end[-1] == '_')
        end--;
    *end = '\0';
    if (!*name)
        return NULL;
    return isdigit((unsigned char)*name) ? arena_format(arena, "h%s", name) : name;
}

const char *name_value(struct names *names, struct arena *arena, const char *hint)
{
    static const char *const tails[] = {"_output_0", ":0"};
    size_t length = hint ? strlen(hint) : 0;
    if (hint && !strncmp(hint, "onnx::", 6)) {
        hint += 6;
        length -= 6;
    }
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        size_t tail = strlen(tails[i]);
        if (length > tail && !strncmp(hint + length - tail, tails[i], tail))
            length -= tail;
    }
    const char *name = length ? identifier(arena, hint, length) : NULL;
    return names_make(names, name ? name : "h");
}

const char *name_model(struct arena *arena, const char *path)
{
    const char *base = path_name(path);
    const char *dot = strrchr(base, '.');
    size_t length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
    const char *name = identifier(arena, base, length);
    return name && !name_is_reserved(name) ? names_make(name_set(arena), name) : "network";
}
