/* Writing .npy files, version 1.0: a header in front of the rows as they are in memory. */
#include "npy.h"

#include <stdio.h>
#include <string.h>

#include "element.h"

/* Text of `size` bytes, a multiple of 64, the first 10 of them magic, version and length. */
static size_t header_text(char text[192], mlp_dtype dtype, size_t rows, size_t width)
{
    static const char *const types[] = {[MLP_F32] = "<f4", [MLP_TF32] = "<f4", [MLP_F16] = "<f2", [MLP_BF16] = "<V2"};
    int length = snprintf(text + 10, 192 - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%zu, %zu), }",
                          types[dtype], rows, width);
    size_t used = 10 + (size_t)length, size = (used + 1 + 63) / 64 * 64;
    memset(text + used, ' ', size - used);
    text[size - 1] = '\n';
    memcpy(text, "\x93NUMPY\x01\x00", 8);
    text[8] = (char)((size - 10) & 0xff);
    text[9] = (char)((size - 10) >> 8);
    return size;
}

mlp_npy_result mlp_npy_stage(mlp_staged_file *file, const char *path, mlp_dtype dtype, size_t rows, size_t width,
                             const void *data)
{
    char header[192];
    size_t size = header_text(header, dtype, rows, width);
    return mlp_staged_write(file, path, header, size, data, rows * width * mlp_dtype_size(dtype)) ? MLP_NPY_OK
                                                                                                  : MLP_NPY_FAILED;
}
