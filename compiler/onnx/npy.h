/* NumPy's .npy files of any rank, as constants, and back as the rows that programs read. Their headers are read as
 * programs read them (runtime/npy_header.h); the numbers are not: --check-with judges programs. */
#ifndef MLPC_ONNX_NPY_H
#define MLPC_ONNX_NPY_H

#include "model.h"

/* A little-endian array; NULL with a message ("is no .npy file"), or without one where the file cannot be read, which
 * has been said on standard error then. */
struct constant *npy_constant(struct arena *arena, const char *path, const char *name, const char **message);

/* The same elements as an array [rows, width], to a new file. False after a message on standard error. */
bool npy_write_rows(const char *path, const struct constant *constant, size_t width);

#endif
