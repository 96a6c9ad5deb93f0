/* NumPy's .npy files of any rank, as constants, and back as the rows that programs read. The runtime's reader is the
 * programs' own; this one shares nothing with it, since --check-with judges them. */
#ifndef MLPC_ONNX_NPY_H
#define MLPC_ONNX_NPY_H

#include "model.h"

/* A little-endian array; NULL with a message ("is no .npy file"), or without one where the file cannot be read, which has
 * been said on standard error then. */
struct constant *npy_constant(struct arena *arena, const char *path, const char *name, const char **message);

/* The same elements as an array [rows, width], to a new file. False after a message on standard error. */
bool npy_write_rows(const char *path, const struct constant *constant, size_t width);

#endif
