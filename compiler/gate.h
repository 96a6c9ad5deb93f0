/* Gated blocks, act(linear(x)) * linear(x): the gate and up projections read the same rows, so they become one
 * product of twice the width, of which the gating reads two slices: one launch on a GPU. (On a CPU the gating is the up
 * projection's epilogue.) */
#ifndef MLPC_GATE_H
#define MLPC_GATE_H

#include "graph.h"

struct graph *gate_merge(const struct graph *graph);

#endif
