#include "names.h"

#include <stdbool.h>
#include <string.h>

#include "map.h"

enum { LONGEST_NAME = 48 };

struct names {
    struct arena *arena;
    struct map *next;               /* from a name to the number to try when it is asked for again */
};

struct names *names_new(struct arena *arena)
{
    struct names *names = ARENA_NEW(arena, struct names);
    *names = (struct names){.arena = arena, .next = map_new(arena)};
    return names;
}

static bool take(struct names *names, const char *name)
{
    void **place = map_place(names->next, name);
    if (*place)
        return false;
    int *next = ARENA_NEW(names->arena, int);
    *next = 2;
    *place = next;
    return true;
}

static char *clean(struct arena *arena, const char *text)
{
    size_t length = strlen(text);
    char *name = arena_copy(arena, text, length < LONGEST_NAME ? length : LONGEST_NAME);
    for (char *c = name; *c; c++) {
        bool letter = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        if (!letter)
            *c = '_';
    }
    return *name ? name : arena_copy(arena, "_", 1);
}

const char *names_make(struct names *names, const char *text)
{
    const char *base = clean(names->arena, text);
    if (take(names, base))
        return base;
    for (int *next = map_find(names->next, base);;) {
        const char *name = arena_format(names->arena, "%s_%d", base, (*next)++);
        if (take(names, name))
            return name;
    }
}
