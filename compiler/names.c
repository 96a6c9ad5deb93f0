#include "names.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST_NAME = 48 };

struct entry {
    const char *name;
    int next;                       /* the number to try when the name is asked for again */
};

struct names {
    struct arena *arena;
    struct entry *slots;
    size_t size, used;              /* size: a power of two */
};

struct names *names_new(struct arena *arena)
{
    struct names *names = ARENA_NEW(arena, struct names);
    *names = (struct names){.arena = arena, .size = 64, .slots = ARENA_ARRAY(arena, struct entry, 64)};
    return names;
}

static struct entry *find_slot(const struct names *names, const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 0x100000001b3u;
    for (size_t i = hash & (names->size - 1);; i = (i + 1) & (names->size - 1)) {
        struct entry *entry = &names->slots[i];
        if (!entry->name || !strcmp(entry->name, name))
            return entry;
    }
}

static void grow(struct names *names)
{
    struct names old = *names;
    names->size *= 2;
    names->slots = ARENA_ARRAY(names->arena, struct entry, names->size);
    for (size_t i = 0; i < old.size; i++) {
        if (old.slots[i].name)
            *find_slot(names, old.slots[i].name) = old.slots[i];
    }
}

static bool take(struct names *names, const char *name)
{
    struct entry *entry = find_slot(names, name);
    if (entry->name)
        return false;
    *entry = (struct entry){.name = name, .next = 2};
    if (2 * ++names->used > names->size)
        grow(names);
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
    for (;;) {
        struct entry *entry = find_slot(names, base);
        const char *name = arena_format(names->arena, "%s_%d", base, entry->next++);
        if (take(names, name))
            return name;
    }
}
