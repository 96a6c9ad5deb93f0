/* Open addressing; a table that is half full doubles. */
#include "map.h"

#include <string.h>

#include "hash.h"

struct slot {
    const char *name;
    void *value;
};

struct map {
    struct arena *arena;
    struct slot *slots;
    size_t size, used;              /* size: a power of two */
};

struct map *map_new(struct arena *arena)
{
    struct map *map = ARENA_NEW(arena, struct map);
    *map = (struct map){.arena = arena, .size = 64, .slots = ARENA_ARRAY(arena, struct slot, 64)};
    return map;
}

static struct slot *find(const struct map *map, const char *name)
{
    for (size_t i = hash_text(HASH_START, name) & (map->size - 1);; i = (i + 1) & (map->size - 1)) {
        struct slot *slot = &map->slots[i];
        if (!slot->name || !strcmp(slot->name, name))
            return slot;
    }
}

static void grow(struct map *map)
{
    const struct map old = *map;
    map->size *= 2;
    map->slots = ARENA_ARRAY(map->arena, struct slot, map->size);
    for (size_t i = 0; i < old.size; i++) {
        if (old.slots[i].name)
            *find(map, old.slots[i].name) = old.slots[i];
    }
}

void **map_place(struct map *map, const char *name)
{
    struct slot *slot = find(map, name);
    if (slot->name)
        return &slot->value;
    if (2 * ++map->used > map->size) {
        grow(map);
        slot = find(map, name);
    }
    slot->name = name;
    return &slot->value;
}

void *map_find(const struct map *map, const char *name)
{
    return find(map, name)->value;
}
