/* Files that are read as memory. One that becomes shorter meanwhile ends mlpc, with a message and exit status 3: what
 * was there cannot be read any more. */
#ifndef MLPC_FILE_MAP_H
#define MLPC_FILE_MAP_H

#include <stddef.h>

/* Maps a regular file; NULL, or why it cannot be. An empty file has no map: *map is NULL. */
const char *file_map(int descriptor, void **map, size_t *size);
void file_unmap(void *map, size_t size);

#endif
