/* Rows of numbers that look like data and are the same on every machine. */
#ifndef MLP_RANDOM_H
#define MLP_RANDOM_H

#include "mlp_runtime.h"

/* Fills dense rows of `dtype`; row r depends on seed and r alone. */
void mlp_random_rows(mlp_dtype dtype, size_t rows, size_t width, uint64_t seed, void *to);

#endif
