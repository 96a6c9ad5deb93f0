/* One step of a network in double precision, and how far honest f32 arithmetic may be from it. */
#ifndef MLP_REFERENCE_H
#define MLP_REFERENCE_H

#include "bounded.h"

/* What a step reads. */
typedef struct mlp_reading {
    const mlp_model *model;
    const mlp_step *step;
    size_t rows;
    double *const *values;                  /* by index of the value: dense rows of those that the step reads */
    unsigned char *const *params;           /* by index of the parameter: packed bytes of those that it reads */
    double *const *bounds;                  /* of the values, alike, or NULL: they are exact */
} mlp_reading;

/* The step's result as dense rows, before it is rounded to be stored; the caller frees it. NULL: out of memory. */
mlp_bounded *mlp_reference_step(const mlp_reading *reading);

/* What storing adds: one rounding to `dtype`, or infinity. */
mlp_bounded mlp_reference_stored(mlp_dtype dtype, mlp_bounded exact);
/* How much of the bound `got` uses up: at most 1 is right, infinity is beyond any bound. */
double mlp_reference_excess(double got, mlp_bounded stored);

#endif
