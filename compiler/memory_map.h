/* The memory of a network as people read it: what there is of it, and the arena over time, steps to the right and
 * buffers below each other. */
#ifndef MLPC_MEMORY_MAP_H
#define MLPC_MEMORY_MAP_H

#include <stdio.h>

#include "plan.h"

/* As text. `embedded`: the weights are in the program. */
void memory_map_print(const struct plan *plan, bool embedded, FILE *to);
/* memory_svg.c: as a picture. */
void memory_svg_print(const struct plan *plan, bool embedded, FILE *to);

/* What both are made of: the arena's buffers in the order of their birth, and what is alive at each step. */
struct tenant {                     /* a buffer */
    const char *name;               /* of its widest value */
    const char *others;             /* those of the values that stand in it, ", a, b"; "" */
    int64_t offset, bytes;
    int first, last;                /* as in struct buffer */
};

struct memory_map {
    struct tenant *tenants;
    int count;
    int steps;
    int64_t *alive;                 /* bytes, rounded up to the alignment: [0] before the first step, [1 + i] at step i,
                                       [1 + steps] behind the last one */
    int peak;                       /* the first index at which most are alive */
    const char *nowhere;            /* values that one kernel keeps to itself: "a, b"; "" */
};

struct memory_map memory_map(const struct plan *plan);

#endif
