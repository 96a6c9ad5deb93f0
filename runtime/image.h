/* The network's memory as one row sees it, in double: for each row under examination, the elements of every value at
 * places that overlap as they do in the network, so that a slice or the parts of a concat find what others stored. */
#ifndef MLP_IMAGE_H
#define MLP_IMAGE_H

#include "mlp_runtime.h"

typedef struct mlp_image {
    const mlp_model *model;
    size_t *place;                  /* of each value: its first element in a row of the image */
    size_t row_size;
    double *at;                     /* [rows, row_size] */
} mlp_image;

/* 0 when memory ran out. */
int mlp_image_open(mlp_image *image, const mlp_model *model, size_t rows);
void mlp_image_close(mlp_image *image);

void mlp_image_write(mlp_image *image, size_t row, size_t value, const double *from);
void mlp_image_read(const mlp_image *image, size_t row, size_t value, double *to);

#endif
