/* Says for each step what was fused into it, and why what reads its result was not. */
#ifndef MLPC_EXPLAIN_H
#define MLPC_EXPLAIN_H

#include <stdio.h>

#include "fuse.h"
#include "plan.h"

void explain_print(const struct graph *graph, const struct fusion *fusion, const struct plan *plan, FILE *to);

#endif
