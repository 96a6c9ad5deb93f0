/* Folds batchnorms into the products beside them: y = (x W + b) s + t is a product with scaled rows, and a product of
 * x s + t one with scaled columns. The arithmetic is done once, in double, when the weights are packed. */
#ifndef MLPC_FOLD_H
#define MLPC_FOLD_H

#include "graph.h"

struct graph *fold_batchnorm(const struct graph *graph);

/* Whether so many batchnorms are in a product's weights that the next one stays a step. */
bool fold_is_full(const struct node *linear);

#endif
