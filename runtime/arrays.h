/* Arrays in host memory, one for each input or output of a network, all of the same number of rows. */
#ifndef MLP_ARRAYS_H
#define MLP_ARRAYS_H

#include "command.h"

typedef struct mlp_arrays {
    const mlp_port *ports;
    size_t count, rows;
    void **at;                      /* dense [rows, width] of the port's type */
} mlp_arrays;

mlp_arrays mlp_arrays_random(const mlp_command *command, size_t rows);     /* the inputs */
mlp_arrays mlp_arrays_outputs(const mlp_command *command, size_t rows);
/* Reads the files of all inputs; complains and returns the exit status if one is wrong. */
int mlp_arrays_load(const mlp_command *command, mlp_arrays *inputs);
void mlp_arrays_free(mlp_arrays *arrays);

/* Pointers to row `row` of every array. */
void mlp_arrays_from(const mlp_arrays *arrays, size_t row, void **pointers);

#endif
