/* Arrays in NumPy's .npy format: read as rows of a network's input, written as rows of its output. */
#ifndef MLP_NPY_H
#define MLP_NPY_H

#include <stdio.h>

#include "mlp_runtime.h"
#include "staged_file.h"

typedef enum mlp_npy_result {
    MLP_NPY_OK,
    MLP_NPY_WRONG,                  /* the content is not what it must be: the user's mistake */
    MLP_NPY_FAILED                  /* the environment: a file, the disk, memory */
} mlp_npy_result;

typedef enum mlp_npy_type { MLP_NPY_F2, MLP_NPY_F4, MLP_NPY_F8, MLP_NPY_BF16 } mlp_npy_type;

/* What the header of a file says. */
typedef struct mlp_npy {
    mlp_npy_type type;
    int big_endian, fortran;
    size_t rows, width;             /* [width] is one row */
    size_t offset;                  /* where the data begin */
    FILE *file;
    char error[256];                /* after any result but MLP_NPY_OK: what is wrong, without the path */
} mlp_npy;

/* Bytes of an element in the file. */
size_t mlp_npy_type_size(mlp_npy_type type);

/* Reads a header from the first `size` bytes of a file of `file_size` bytes, and checks that the data it announces are
 * exactly what follows it. */
mlp_npy_result mlp_npy_parse(mlp_npy *npy, const unsigned char *bytes, size_t size, uint64_t file_size);

/* Opens a file and parses its header; the file stays open only after MLP_NPY_OK. */
mlp_npy_result mlp_npy_open(mlp_npy *npy, const char *path);
/* Reads the data as dense rows of `dtype`; `to` has room for rows * width elements. */
mlp_npy_result mlp_npy_load(mlp_npy *npy, mlp_dtype dtype, void *to);
void mlp_npy_close(mlp_npy *npy);

/* Writes a file aside; commit or discard it. MLP_NPY_FAILED with file->error. */
mlp_npy_result mlp_npy_stage(mlp_staged_file *file, const char *path, mlp_dtype dtype, size_t rows, size_t width,
                             const void *data);

#endif
