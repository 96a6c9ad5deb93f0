/* From names to whatever they stand for. */
#ifndef MLPC_MAP_H
#define MLPC_MAP_H

#include "arena.h"

struct map;

struct map *map_new(struct arena *arena);
/* The place of this name's value, NULL in it where the name is new. Good until the next call. */
void **map_place(struct map *map, const char *name);
/* NULL where there is none. */
void *map_find(const struct map *map, const char *name);

#endif
