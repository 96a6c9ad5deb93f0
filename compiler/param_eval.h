/* The value of a parameter: its expression over source tensors, computed in double. */
#ifndef MLPC_PARAM_EVAL_H
#define MLPC_PARAM_EVAL_H

#include "graph.h"
#include "weights.h"

/* How many rows of `cols` doubles make a block of convenient size; at least one. */
int64_t param_block_rows(int64_t cols);

/* Rows [row, row + rows) of `param`, dense. Besides `to`, memory for vectors and for one block more is used. */
void param_eval(const struct weights *weights, const struct param *param, int64_t row, int64_t rows, double *to);

#endif
