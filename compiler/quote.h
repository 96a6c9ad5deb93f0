/* A name that the user chose, for a message: in quotes, on one line, not longer than a line can be. */
#ifndef MLPC_QUOTE_H
#define MLPC_QUOTE_H

#include "arena.h"

/* 'fc.weight'. What could steer a terminal is spelt out (utf8.h); a very long name loses its middle. */
const char *quote(struct arena *arena, const char *text);

/* "'a', 'b', 'c', 'd' and 7 more": at most four of at least one name. */
const char *quote_list(struct arena *arena, const char *const *names, size_t count);

#endif
