/* Removes what computes nothing: dead nodes, slices of slices, concats inside concats, and concats of which only
 * columns of single operands are read. Whatever reads whole rows of stored memory (products, views, row operations,
 * outputs) reads real tensors afterwards, never a bare number or parameter row. */
#ifndef MLPC_SIMPLIFY_H
#define MLPC_SIMPLIFY_H

#include "graph.h"

struct graph *simplify_graph(const struct graph *graph);

#endif
