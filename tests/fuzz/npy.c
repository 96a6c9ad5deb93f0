/* Fuzzes both readers of .npy files, the runtime's and the importer's, and the runtime's writer: what is read fits into
 * its rows, what is written reads as the same, and where both readers take a file they see the same array. */
#include "npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "common/fuzz.h"
#include "element.h"
#include "onnx/npy.h"
#include "onnx/tensor.h"

static void *load(mlp_npy *npy, mlp_dtype dtype, size_t *bytes)
{
    *bytes = npy->rows * npy->width * mlp_dtype_size(dtype);
    void *rows = malloc(*bytes ? *bytes : 1);
    REQUIRE(rows && mlp_npy_load(npy, dtype, rows) == MLP_NPY_OK);
    return rows;
}

/* Opens what the folder's one file holds. */
static void check_written(const char *path, mlp_dtype dtype, const mlp_npy *as, const void *rows, size_t bytes)
{
    mlp_npy npy;
    size_t again_bytes;
    REQUIRE(mlp_npy_open(&npy, path) == MLP_NPY_OK && !npy.big_endian && !npy.fortran && npy.offset % 64 == 0);
    REQUIRE(npy.rows == as->rows && npy.width == as->width);
    void *again = load(&npy, dtype, &again_bytes);
    REQUIRE(again_bytes == bytes && (!bytes || !memcmp(rows, again, bytes)));
    free(again);
    mlp_npy_close(&npy);
}

static void write_and_read(mlp_dtype dtype, const mlp_npy *as, const void *rows, size_t bytes)
{
    char path[512];
    mlp_staged_file file;
    snprintf(path, sizeof path, "%s/y.npy", fuzz_folder());
    REQUIRE(mlp_npy_stage(&file, path, dtype, as->rows, as->width, rows) == MLP_NPY_OK && mlp_staged_commit(&file));
    mlp_staged_discard(&file);
    check_written(path, dtype, as, rows, bytes);
}

static int same_number(double a, double b)
{
    return a == b ? signbit(a) == signbit(b) : isnan(a) && isnan(b);
}

/* The importer's, of the same file. */
static void compare_readers(const char *path, mlp_npy *npy)
{
    static const enum element types[] = {[MLP_NPY_F2] = ELEMENT_F16, [MLP_NPY_F4] = ELEMENT_F32,
                                         [MLP_NPY_F8] = ELEMENT_F64, [MLP_NPY_BF16] = ELEMENT_BF16};
    struct arena *arena = arena_new();
    const char *message;
    struct constant *constant = npy_constant(arena, path, "x", &message);
    size_t bytes;
    if (constant && npy->type != MLP_NPY_F8) {
        float *rows = load(npy, MLP_F32, &bytes);
        const double *numbers = tensor_numbers(arena, constant);
        REQUIRE(constant->type == types[npy->type] && constant->count == npy->rows * npy->width);
        for (size_t i = 0; i < constant->count; i++)
            REQUIRE(same_number(rows[i], numbers[i]));
        free(rows);
    }
    arena_free(arena);
}

static void read_as(const char *path, mlp_dtype dtype)
{
    mlp_npy npy;
    const mlp_npy_result result = mlp_npy_open(&npy, path);
    size_t bytes;
    REQUIRE(result != MLP_NPY_FAILED);
    if (result == MLP_NPY_WRONG) {
        REQUIRE(npy.error[0] && fuzz_is_plain(npy.error, strlen(npy.error)) && !strchr(npy.error, '\n'));
    } else {
        void *rows = load(&npy, dtype, &bytes);
        write_and_read(dtype, &npy, rows, bytes);
        if (dtype == MLP_F32)
            compare_readers(path, &npy);
        free(rows);
    }
    if (result == MLP_NPY_OK)
        mlp_npy_close(&npy);
}

/* By the importer's reader alone, which takes other types and shapes, too. */
static void read_constant(const char *path)
{
    struct arena *arena = arena_new();
    const char *message;
    struct constant *constant = npy_constant(arena, path, "x", &message);
    size_t count;
    REQUIRE(constant ? shape_count(&constant->shape, &count) && count == constant->count : *message != '\0');
    arena_free(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    static const mlp_dtype dtypes[] = {MLP_F32, MLP_TF32, MLP_F16, MLP_BF16};
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++)
        read_as(path, dtypes[i]);
    read_constant(path);
    return 0;
}
