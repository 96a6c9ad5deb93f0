/* Rows of stored elements to and from double. */
#ifndef MLP_ELEMENT_H
#define MLP_ELEMENT_H

#include "mlp_runtime.h"

const char *mlp_dtype_text(mlp_dtype dtype);
size_t mlp_dtype_size(mlp_dtype dtype);

void mlp_row_load(mlp_dtype dtype, const void *from, size_t count, double *to);
/* Each number is rounded once, to nearest even. */
void mlp_row_store(mlp_dtype dtype, const double *from, size_t count, void *to);

/* Half the distance between neighbours at `size`: how far one rounding moves a number of that size. */
double mlp_dtype_half_step(mlp_dtype dtype, double size);
/* Numbers of this size and above are stored as infinity. */
double mlp_dtype_limit(mlp_dtype dtype);

#endif
