/* The tree becomes the graph: blocks and repeats are expanded, numbers and strings computed, widths inferred. */
#ifndef MLPC_LOWER_H
#define MLPC_LOWER_H

#include "ast.h"
#include "graph.h"

/* Of a spec that check_spec has found sound. NULL after recorded errors; may record warnings. */
struct graph *lower_spec(struct arena *arena, const struct spec *spec, struct diags *diags);

#endif
