/* Did you mean ...? Collects, of many names, the few that are spelled most like a given one. */
#ifndef MLPC_NEAREST_H
#define MLPC_NEAREST_H

#include "arena.h"

enum { NEAREST_MOST = 3 };

struct nearest {
    const char *name;
    const char *found[NEAREST_MOST];    /* nearest first */
    int distance[NEAREST_MOST];
    int count;
};

struct nearest nearest_to(const char *name);
void nearest_offer(struct nearest *nearest, const char *candidate);

/* "; did you mean 'a', 'b'?" of those that are equally near, or "" where nothing is. */
const char *nearest_text(struct arena *arena, const struct nearest *nearest);
/* The name that is nearer than all others, or NULL: the one to put in its place. */
const char *nearest_only(const struct nearest *nearest);

#endif
