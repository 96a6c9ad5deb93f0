/* Reading .npy files: from any of the known types, byte orders and memory orders to dense rows of one type. */
#include "npy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "element.h"
#include "mlp_number.h"
#include "open_file.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packed weights and arrays are little endian, and so must the machine be"
#endif

enum { LONGEST_HEADER = 12 + 0x10000 };

static mlp_npy_result failed(mlp_npy *npy, const char *reason)
{
    snprintf(npy->error, sizeof npy->error, "%s", reason);
    return MLP_NPY_FAILED;
}

static mlp_npy_result read_header(mlp_npy *npy, FILE *file)
{
    static unsigned char bytes[LONGEST_HEADER];
    struct stat info;
    *npy = (mlp_npy){.file = NULL};
    if (fstat(fileno(file), &info))
        return failed(npy, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return failed(npy, "it is not a regular file");
    size_t size = fread(bytes, 1, sizeof bytes, file);
    if (ferror(file))
        return failed(npy, strerror(errno));
    return mlp_npy_parse(npy, bytes, size, (uint64_t)info.st_size);
}

mlp_npy_result mlp_npy_open(mlp_npy *npy, const char *path)
{
    FILE *file = mlp_open_file(path);
    if (!file) {
        *npy = (mlp_npy){.file = NULL};
        return failed(npy, strerror(errno));
    }
    mlp_npy_result result = read_header(npy, file);
    if (result == MLP_NPY_OK)
        npy->file = file;
    else
        fclose(file);
    return result;
}

void mlp_npy_close(mlp_npy *npy)
{
    if (npy->file)
        fclose(npy->file);
    npy->file = NULL;
}

static mlp_npy_result read_data(mlp_npy *npy, void *to, size_t bytes)
{
    if (fseeko(npy->file, (off_t)npy->offset, SEEK_SET))
        return failed(npy, strerror(errno));
    if (fread(to, 1, bytes, npy->file) == bytes)
        return MLP_NPY_OK;
    return failed(npy, ferror(npy->file) ? strerror(errno) : "it became shorter while it was read");
}

static uint64_t element_bits(const mlp_npy *npy, const unsigned char *at)
{
    size_t size = mlp_npy_type_size(npy->type);
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++)
        bits = bits << 8 | at[npy->big_endian ? i : size - 1 - i];
    return bits;
}

static double element_value(mlp_npy_type type, uint64_t bits)
{
    double value;
    switch (type) {
    case MLP_NPY_F2:
        return mlp_f16_load((mlp_f16)bits);
    case MLP_NPY_BF16:
        return mlp_bf16_load((mlp_bf16)bits);
    case MLP_NPY_F4:
        return mlp_float_of_bits((uint32_t)bits);
    case MLP_NPY_F8:
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    return 0;
}

/* Row by row through double, which holds every source type exactly, so that only storing rounds. */
static mlp_npy_result convert(mlp_npy *npy, mlp_dtype dtype, const unsigned char *raw, unsigned char *to)
{
    double *row = malloc((npy->width + 1) * sizeof *row);
    if (!row)
        return failed(npy, "out of memory");
    for (size_t r = 0; r < npy->rows; r++) {
        for (size_t c = 0; c < npy->width; c++) {
            size_t index = npy->fortran ? c * npy->rows + r : r * npy->width + c;
            row[c] = element_value(npy->type, element_bits(npy, raw + index * mlp_npy_type_size(npy->type)));
        }
        mlp_row_store(dtype, row, npy->width, to + r * npy->width * mlp_dtype_size(dtype));
    }
    free(row);
    return MLP_NPY_OK;
}

static int stored_alike(const mlp_npy *npy, mlp_dtype dtype)
{
    static const mlp_npy_type same[] = {
        [MLP_F32] = MLP_NPY_F4, [MLP_TF32] = MLP_NPY_F4, [MLP_F16] = MLP_NPY_F2, [MLP_BF16] = MLP_NPY_BF16,
    };
    return npy->type == same[dtype] && !npy->big_endian && !npy->fortran;
}

mlp_npy_result mlp_npy_load(mlp_npy *npy, mlp_dtype dtype, void *to)
{
    size_t bytes = npy->rows * npy->width * mlp_npy_type_size(npy->type);
    if (!bytes)
        return MLP_NPY_OK;
    if (stored_alike(npy, dtype))
        return read_data(npy, to, bytes);
    unsigned char *raw = malloc(bytes);
    if (!raw)
        return failed(npy, "out of memory");
    mlp_npy_result result = read_data(npy, raw, bytes);
    if (result == MLP_NPY_OK)
        result = convert(npy, dtype, raw, to);
    free(raw);
    return result;
}
