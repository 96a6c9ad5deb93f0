/* Quantities in words, with three digits that count: "69.1 KiB", "33.2 k", "14.7 ns". */
#ifndef MLPC_QUANTITY_H
#define MLPC_QUANTITY_H

#include <stdint.h>

#include "arena.h"

const char *quantity_bytes(struct arena *arena, double bytes);      /* B, KiB, MiB, GiB, TiB */
const char *quantity_count(struct arena *arena, double count);      /* k, M, G, T, P */
const char *quantity_time(struct arena *arena, double seconds);     /* ps, ns, us, ms, s */
const char *quantity_rows(struct arena *arena, int64_t rows);       /* "1 row", "2 rows" */

#endif
