/* Where source tensors come from, and reading them: a safetensors file or a seed -> rows of doubles. */
#ifndef MLPC_TENSOR_READ_H
#define MLPC_TENSOR_READ_H

#include "graph.h"
#include "safetensors.h"
#include "weights.h"

struct weights {
    struct arena *arena;
    const char *path;               /* of the file, as given; NULL: values come from the seed */
    struct safetensors file;
    uint64_t seed;
};

/* Rows [row, row + rows) of `source` as it is used (transposed, where it is stored the other way), dense. The source
 * has passed weights_check. */
void tensor_read(const struct weights *weights, const struct param *source, int64_t row, int64_t rows, double *to);

#endif
