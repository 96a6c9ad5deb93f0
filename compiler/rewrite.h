/* How a pass turns one graph into another: it walks the old nodes in order, copies or replaces each, and notes in
 * `map` what stands for it in the new graph. */
#ifndef MLPC_REWRITE_H
#define MLPC_REWRITE_H

#include "graph.h"

struct rewrite {
    const struct graph *from;
    struct graph *to;
    int *map;                       /* old node -> new node; -1 where there is none yet */
    int *uses;                      /* of the old nodes, by live readers and outputs; 0: dead */
};

struct rewrite rewrite_begin(const struct graph *from);
/* Copies old node `index`, its operands mapped; returns the new node and notes it in the map. */
int rewrite_copy(struct rewrite *rewrite, int index);
/* Lets `index` be represented by the new node `by`, which takes over its name if it has none. */
void rewrite_replace(struct rewrite *rewrite, int index, int by);
/* Moves inputs and outputs over and returns the new graph. */
struct graph *rewrite_end(struct rewrite *rewrite);

#endif
