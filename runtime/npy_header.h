/* The header of a .npy file, of any type and shape: programs read arrays of rows, mlpc import reads others, too. */
#ifndef MLP_NPY_HEADER_H
#define MLP_NPY_HEADER_H

#include <stddef.h>

enum { MLP_NPY_MOST_DIMENSIONS = 8 };

typedef struct mlp_npy_header {
    char type[32];                  /* as it stands there: "<f4" */
    int fortran;
    size_t rank, dims[MLP_NPY_MOST_DIMENSIONS];     /* of a larger rank the first ones */
    size_t offset;                  /* where the data begin */
    char error[256];                /* what is wrong, without the path: "its header is cut short" */
} mlp_npy_header;

/* From the first `size` bytes of a file; 0 with an error. */
int mlp_npy_read_header(mlp_npy_header *header, const unsigned char *bytes, size_t size);

#endif
